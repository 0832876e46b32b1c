"""Before and after: what training changed, with interval and p.

Two measurements:

* **held-out pairs** (:func:`known_item`): for each pair of the test split, is the positive found among the positives of all families of the
  split? Other publications of the pair's own families are left out. Needs no citations, so that any data can be measured.
* **tasks** (:func:`compare_tasks`): the results of ``--evaluate`` by query. Where the task is of the very data that were trained on, only
  queries of test families count; the corpus stays whole.

Several seeds: the score is the mean over seeds with its standard deviation (n - 1), as in WIPO-AT's Tables 13 and 14; the difference is
that of each query's mean over seeds from its score before, resampled by query (WIPO-AT §3.7: paired bootstrap, 10,000 resamples, seed 42).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from patent_mteb.metrics.significance import bootstrap
from patent_mteb.training.corpus import Corpus
from patent_mteb.training.pairs import read_pairs

__all__ = ["Change", "change", "compare_tasks", "known_item", "test_queries"]

Floats = NDArray[np.float64]
_DEPTH = 10


@dataclass(frozen=True)
class Change:
    """One measure before and after.

    Attributes:
        before: R0. after: mean over seeds. spread: standard deviation over seeds, None for one seed.
        difference, low, high: after - before and its 95 % interval.
        p: one-sided, paired: how often the worse of the two is better in a resample.
    """

    what: str
    measure: str
    n_queries: int
    before: float
    after: float
    spread: float | None
    difference: float
    low: float
    high: float
    p: float
    seeds: tuple[float, ...]


def change(what: str, measure: str, before: Floats, after: Sequence[Floats]) -> Change:
    """The change of one measure.

    Args:
        before: [queries] score of each query.
        after: the same for each seed.

    Example:
        >>> import numpy as np
        >>> from patent_mteb.training.comparing import change
        >>> found = change("pairs", "ndcg@10", np.array([0.0, 0.5]), [np.array([0.5, 1.0]), np.array([1.0, 1.0])])
        >>> found.difference, found.p, round(found.spread, 4)
        (0.625, 0.0, 0.1768)
    """
    mean = np.mean(after, axis=0)
    both = bootstrap(np.column_stack([before, mean]))
    gained = both.resampled[:, 1] - both.resampled[:, 0]
    low, high = np.percentile(gained, [2.5, 97.5])
    scores = tuple(float(values.mean()) for values in after)
    return Change(
        what,
        measure,
        len(before),
        float(before.mean()),
        float(mean.mean()),
        float(np.std(scores, ddof=1)) if len(scores) > 1 else None,
        float(mean.mean() - before.mean()),
        float(low),
        float(high),
        float(both.p_values()[0, 1]),
        scores,
    )


def known_item(model: Any, path: Path) -> dict[str, Floats]:
    """nDCG@10 and P@1 of each pair of a table: the anchor searches the positives of all pairs for its own.

    Args:
        model: encodes texts as sentence-transformers models do.

    Example:
        >>> from pathlib import Path
        >>> from sentence_transformers import SentenceTransformer
        >>> from sentence_transformers.sentence_transformer.modules import BoW
        >>> from patent_mteb.training.comparing import known_item
        >>> from patent_mteb.training.pairs import Pair, write_pairs
        >>> pairs = [Pair("pump", "pump rotor", "1", "1", "F1", "F1", "x"), Pair("lens", "pump", "2", "2", "F2", "F2", "x")]
        >>> number = write_pairs(Path("test.parquet"), pairs)
        >>> model = SentenceTransformer(modules=[BoW(["pump", "rotor", "lens"])], device="cpu")
        >>> known_item(model, Path("test.parquet"))["p@1"].tolist()
        [0.0, 0.0]
    """
    pairs = list(read_pairs(path))
    anchors, positives = (_encoded(model, texts) for texts in ([pair.anchor for pair in pairs], [pair.positive for pair in pairs]))
    families = np.array([pair.positive_family for pair in pairs])
    asking = np.array([pair.anchor_family for pair in pairs])
    ranks = np.empty(len(pairs))
    for place in range(len(pairs)):
        scores = anchors[place] @ positives.T
        rivals = (families != families[place]) & (families != asking[place])
        ranks[place] = 1 + np.sum(scores[rivals] >= scores[place])
    return {"ndcg@10": np.where(ranks <= _DEPTH, 1 / np.log2(1 + ranks), 0.0), "p@1": (ranks == 1).astype(np.float64)}


def _encoded(model: Any, texts: list[str]) -> Floats:
    return np.asarray(model.encode(texts, normalize_embeddings=True, show_progress_bar=False, convert_to_numpy=True), np.float64)


def test_queries(corpus: Corpus) -> frozenset[str]:
    """The publications of the test families.

    Example:
        >>> from patent_mteb.training.comparing import test_queries
        >>> from patent_mteb.training.corpus import read_corpus
        >>> len(test_queries(read_corpus("sample")))
        139
    """
    return frozenset(patent.publication_number for patent in corpus.members("test"))


test_queries.__test__ = False  # type: ignore[attr-defined]


def compare_tasks(results: Path, before: str, after: Sequence[str], only: Mapping[str, frozenset[str]]) -> list[Change]:
    """The change of each task's main score and of nDCG@10, from the scores by query below a results folder.

    Args:
        before: name of the base, as its results are filed (``org/name``).
        after: names of the checkpoints.
        only: by task, the queries that count; all where a task is not there.
    """
    tables = {name: _by_query(results, name) for name in (before, *after)}
    changes = []
    for task, (base, main) in sorted(tables[before].items()):
        others = [tables[name][task][0] for name in after if task in tables[name]]
        if len(others) < len(after):
            continue
        chosen = [query for query in base if query in only[task]] if task in only else list(base)
        if chosen:
            what = f"{task}, test families" if task in only else task
            scores = [np.array([one[query] for query in chosen]) for one in (base, *others)]
            changes.append(change(what, main, scores[0], scores[1:]))
    return changes


def _by_query(results: Path, model: str) -> dict[str, tuple[dict[str, float], str]]:
    """Task -> (score by query, measure) of one model."""
    found: dict[str, tuple[dict[str, float], str]] = {}
    for path in sorted(results.rglob("*.queries.parquet")):
        known = json.loads((pq.read_schema(path).metadata or {}).get(b"patent_mteb", b"{}"))
        if known.get("model") != model:
            continue
        table = pq.read_table(path)
        wanted = str(known["main_score"]).replace("_at_", "@")
        measure = wanted if wanted in table.column_names else "ndcg@10"
        found[known["task"]] = dict(zip(table["query"].to_pylist(), table[measure].to_pylist(), strict=True)), measure
    return found
