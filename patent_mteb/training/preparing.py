"""What stands before a run: the job and its identity, the tables of pairs, and the leak check; done once, found again
by a resumed run.

A run directory::

    OUT/job.json                 what was asked for; another job is refused here
    OUT/pairs/*.parquet          the tables, by split, with their provenance (OUT/pairs/pairs.json: counts, leak record)
    OUT/seed-42/                 checkpoints, history, geometry
    OUT/models/NAME/             finished checkpoints, named after their content

Hard negatives: texts that the base (BM25 for late interaction) finds near an anchor and that are no prior art of it.

Left out for an anchor are its own patent family, that of its positive, and every family that is linked to either of the
two by a citation, in both directions: what is near and cited is a positive that nobody labelled (PatenTEB §3).

From the name of a signal, as recipes have it, to its pairs.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import bm25s
import numpy as np
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer

from patent_mteb.errors import DataError
from patent_mteb.files import load_json, read_batches, read_json, write_json
from patent_mteb.identity import content_revision
from patent_mteb.patents.views import VIEWS
from patent_mteb.recipes.dataset import file_hash
from patent_mteb.recipes.graph import FamilyGraph, family_graph
from patent_mteb.training import pairs
from patent_mteb.training.bases import open_model, unit, vectors_of
from patent_mteb.training.corpus import Corpus
from patent_mteb.training.leaks import LeakRecord, check_pairs
from patent_mteb.training.losses import Kind
from patent_mteb.training.pairs import Pair, read_pairs, write_pairs
from patent_mteb.training.recipes import Recipe, Settings

Matrix = NDArray[np.float32]

Nearness = Callable[[Sequence[str]], Matrix]
"""Anchors -> [anchors, documents]: how near each document is."""


_AT_ONCE = 64


def by_vectors(model: SentenceTransformer, texts: Sequence[str]) -> Nearness:
    """Nearness to some texts as the cosine of a model's vectors."""
    matrix = unit(vectors_of(model, texts, "the base (documents for hard negatives)"))
    return lambda anchors: unit(vectors_of(model, anchors, "the base (anchors for hard negatives)")) @ matrix.T


def by_words(texts: Sequence[str]) -> Nearness:
    """Nearness to some texts by BM25 (bm25s, its defaults, English stop words)."""
    index = bm25s.BM25()
    index.index(bm25s.tokenize(list(texts), stopwords="en", show_progress=False), show_progress=False)

    def nearness(anchors: Sequence[str]) -> Matrix:
        tokens = bm25s.tokenize(list(anchors), stopwords="en", return_ids=False, show_progress=False)
        return np.stack([index.get_scores(words) if words else np.zeros(len(texts), np.float32) for words in tokens])

    return nearness


def mined(
    pairs: Iterator[Pair],
    nearness: Nearness,
    documents: list[tuple[str, str, str]],
    graph: FamilyGraph,
    settings: Settings,
    left_out: dict[str, int],
) -> Iterator[Pair]:
    """The pairs with ``hard_negatives`` negatives each, a row for each negative; a pair that has none is counted."""
    places: dict[str, list[int]] = defaultdict(list)
    for place, (_, family, _) in enumerate(documents):
        places[family].append(place)
    while some := list(islice(pairs, _AT_ONCE)):
        for pair, near in zip(some, nearness([pair.anchor for pair in some]), strict=True):
            own = {pair.anchor_family, pair.positive_family}
            excluded = own | graph.linked(pair.anchor_family) | graph.linked(pair.positive_family)
            near[[place for family in excluded for place in places.get(family, ())]] = -np.inf
            chosen = _first(near, settings.negatives_from + settings.hard_negatives)[settings.negatives_from :]
            if not len(chosen):
                left_out["pairs without a hard negative"] = left_out.get("pairs without a hard negative", 0) + 1
            for place in chosen:
                key, family, text = documents[place]
                yield replace(pair, negative=text, negative_id=key, negative_family=family)


def _first(near: NDArray[np.floating[Any]], number: int) -> NDArray[np.intp]:
    """Places of the ``number`` nearest, equal ones in their order; without those that are excluded."""
    least = np.partition(near, -number)[-number] if number < len(near) else -np.inf
    found = np.flatnonzero((near >= least) & (near > -np.inf))
    return found[np.argsort(-near[found], kind="stable")[:number]]


def with_negatives(
    path: Path, corpus: Corpus, split: str, base: str, settings: Settings, device: str | None, lexical: bool
) -> dict[str, int]:
    """Mine negatives for a table of pairs among the publications that it holds, and write it anew; what was left out is
    returned.
    """
    held = {key for pair in read_pairs(path) for key in (pair.anchor_id, pair.positive_id)}
    if not held:
        return {}
    members = [patent for patent in corpus.members(split) if patent.publication_number in held]
    documents = [(patent.publication_number, patent.family_id, VIEWS["TAC"](patent)) for patent in members]
    graph = family_graph(corpus.citations, {patent.publication_number: patent.family_id for patent in corpus.patents})
    left_out: dict[str, int] = {}
    texts = [text for _, _, text in documents]
    nearness = by_words(texts) if lexical else by_vectors(open_model(base, device), texts)
    write_pairs(path, mined(read_pairs(path), nearness, documents, graph, settings, left_out))
    return left_out


_Maker = Callable[[Corpus, str, Counter[str]], Iterator[Pair]]


def pairs_of(
    signal: str, corpus: Corpus, split: str, settings: Settings, left_out: Counter[str], paraphrases: Path | None = None
) -> Iterator[Pair]:
    """The pairs of a signal in a split."""
    if signal == "matched":
        size = sum(1 for _ in _union(corpus, split, settings, Counter()))
        return pairs.matched_size(lambda: pairs.abstract_and_claim(corpus, split, Counter()), size, settings.pair_seed)
    if signal == "union":
        return _union(corpus, split, settings, left_out)
    return _maker(signal, settings, paraphrases)(corpus, split, left_out)


def _union(corpus: Corpus, split: str, settings: Settings, left_out: Counter[str]) -> Iterator[Pair]:
    """R1, R2 and R3 one after the other; a signal that gives nothing in a small validation split is left out and
    counted there.
    """

    def part(name: str) -> Iterator[Pair]:
        try:
            yield from _maker(name, settings, None)(corpus, split, left_out)
        except DataError:
            if split == "train":
                raise
            left_out[f"signal {name}: no pair"] += 1

    return chain.from_iterable(part(name) for name in ("co-label", "citations", "cross-section"))


def _maker(signal: str, settings: Settings, paraphrases: Path | None) -> _Maker:
    seed, swap = settings.pair_seed, settings.swap
    if signal.startswith("view:"):
        return partial(pairs.two_views, policy=signal.removeprefix("view:"), swap=swap, seed=seed)
    if signal == "paraphrase":
        if paraphrases is None:
            raise DataError("the paraphrases are missing", remedy="give --paraphrases FILE, JSON lines of id and text")
        return partial(pairs.paraphrased, path=paraphrases, swap=swap, seed=seed)
    makers: dict[str, _Maker] = {
        "co-label": partial(pairs.co_labelled, seed=seed),
        "citations": pairs.citing_and_cited,
        "cross-section": pairs.abstract_and_claim,
        "ipc": partial(pairs.ipc_matched, swap=swap, seed=seed),
        "citations-and-self": partial(pairs.with_self_alignment, share=settings.self_share, seed=seed),
    }
    return makers[signal]


@dataclass(frozen=True)
class Job:
    """What is trained.

    Attributes:
        base: hub id or directory.
        seeds: one run each.
        max_steps: most steps of a run; None: what the epochs give.
        lora: rank of the adapters; None: all weights.
        drop_leaks: whether pairs that leak are removed, instead of stopping.
        teacher: of a distillation.
        paraphrases: file of ``patentmap-paraphrase``.
        geometry: steps between two looks at the geometry; 0: none.
    """

    recipe: Recipe
    settings: Settings
    base: str
    out: Path
    seeds: tuple[int, ...] = (42,)
    max_steps: int | None = None
    lora: int | None = None
    drop_leaks: bool = False
    device: str | None = None
    teacher: str = ""
    paraphrases: Path | None = None
    geometry: int = 0

    def identity(self, corpus: Corpus) -> dict[str, Any]:
        """What makes two jobs the same; seeds may be added later."""
        base = Path(self.base)
        return {
            "recipe": self.recipe.name,
            "settings": asdict(self.settings),
            "base": base.resolve().name if base.is_dir() else self.base,
            "base_revision": content_revision(base) if base.is_dir() else "",
            "data": corpus.name,
            "data_revision": corpus.revision,
            "families": corpus.sizes(),
            "max_steps": self.max_steps,
            "lora": self.lora,
            "drop_leaks": self.drop_leaks,
            "teacher": self.teacher,
            "teacher_revision": (
                content_revision(Path(self.teacher)) if self.teacher and Path(self.teacher).is_dir() else ""
            ),
            "paraphrases": file_hash(self.paraphrases) if self.paraphrases and self.paraphrases.is_file() else "",
            "geometry": self.geometry,
        }


@dataclass(frozen=True)
class TrainSet:
    """One table that is trained on: its loss, the columns of texts, and its files. ``labels`` are the names that labels
    count through.
    """

    name: str
    kind: Kind
    columns: tuple[str, ...]
    train: str
    validation: str = ""
    prompts: Mapping[str, str] = dataclasses.field(default_factory=dict)
    labels: tuple[str, ...] = ()
    rows: int = 0
    validation_rows: int = 0


@dataclass(frozen=True)
class Prepared:
    """The tables of a run and what was found on the way.

    Attributes:
        test: table of the pairs of the test split, on which the model is measured before and after; empty if there is
            none.
        left_out: what made no pair, by split.
    """

    sets: tuple[TrainSet, ...]
    test: str
    counts: Mapping[str, int]
    left_out: Mapping[str, Mapping[str, int]]
    leaks: LeakRecord


_BEGUN = "begun.json"
"""Stands in a folder whose ``pairs`` and ``tables`` a job makes that has not come to a step yet."""


def open_folder(job: Job, corpus: Corpus) -> None:
    """See whose folder it is: another job's is refused; in one that is nobody's, what a job left that never came to a
    step is removed.
    """
    path, wanted = job.out / "job.json", _as_json(job.identity(corpus))
    if not path.is_file():
        for left in (job.out / "pairs", job.out / "tables"):
            if left.exists() and not (job.out / _BEGUN).is_file():
                raise DataError(
                    "this lies where the training writes, and is of no training",
                    path=left,
                    remedy="choose another --out",
                )
            shutil.rmtree(left, ignore_errors=True)
        write_json(job.out / _BEGUN, wanted)
        return
    there = load_json(path)
    if there != wanted:
        differ = sorted(name for name in wanted if not isinstance(there, dict) or there.get(name) != wanted[name])
        problem = f"the folder holds another run (other {', '.join(differ)})"
        raise DataError(problem, path=job.out, remedy="choose another --out, or ask for the same again to resume it")


def claim_folder(job: Job, corpus: Corpus) -> None:
    """Note the job in its folder; done at its first step, so that a job that was refused leaves the folder free."""
    write_json(job.out / "job.json", job.identity(corpus))
    (job.out / _BEGUN).unlink(missing_ok=True)


def _as_json(document: dict[str, Any]) -> Any:
    return json.loads(json.dumps(document))


def refuse_too_few(sets: Sequence[TrainSet], settings: Settings) -> None:
    """Stop where a table has fewer rows than one batch."""
    for one in sets:
        if one.rows < settings.batch:
            raise DataError(
                f"{one.rows} training pairs ({one.name}) make no batch of {settings.batch}",
                remedy=f"give more records, or --set batch={max(2, one.rows // 4)}",
            )


def prepare(job: Job, corpus: Corpus) -> Prepared:
    """Make the tables of pairs and check them for leaks; what was made before is taken as it is."""
    folder = job.out / "pairs"
    if (known := ready(folder)) is not None:
        return known
    left_out: dict[str, dict[str, int]] = {}
    counts: dict[str, int] = {}
    for split in ("train", "validation", "test"):
        found: Counter[str] = Counter()
        try:
            pairs = pairs_of(job.recipe.signal, corpus, split, job.settings, found, job.paraphrases)
            counts[split] = write_pairs(folder / f"{split}.parquet", pairs)
        except DataError:
            if split == "train":
                raise
            counts[split] = write_pairs(folder / f"{split}.parquet", [])
        left_out[split] = dict(found)
    leaks = check_pairs([folder / "train.parquet", folder / "validation.parquet"], corpus, job.drop_leaks)
    columns: tuple[str, ...] = ("anchor", "positive")
    if job.settings.hard_negatives:
        columns = (*columns, "negative")
        for split in ("train", "validation"):
            left_out[split] |= with_negatives(
                folder / f"{split}.parquet",
                corpus,
                split,
                job.base,
                job.settings,
                job.device,
                job.recipe.loss.startswith("late"),
            )
    one = counted(folder, TrainSet("pairs", "ranking", columns, "train.parquet", "validation.parquet"))
    refuse_too_few([one], job.settings)
    counts |= {"train": one.rows, "validation": one.validation_rows}
    return keep(folder, Prepared((one,), "test.parquet" if counts["test"] else "", counts, left_out, leaks))


def counted(folder: Path, one: TrainSet) -> TrainSet:
    """A table with the rows that its files hold; a validation file of fewer than two is not used."""
    rows, held = (
        sum(table.num_rows for table in read_batches(folder / name, ["anchor_id"]))
        for name in (one.train, one.validation)
    )
    return dataclasses.replace(one, rows=rows, validation_rows=held, validation=one.validation if held > 1 else "")


def keep(folder: Path, prepared: Prepared) -> Prepared:
    """Write what :func:`ready` reads, last of all, so that it stands for a whole preparation."""
    write_json(folder / "pairs.json", asdict(prepared))
    return prepared


def ready(folder: Path) -> Prepared | None:
    """What was prepared in a folder, None if nothing was, or not to the end."""
    known = read_json(folder / "pairs.json")
    if not isinstance(known, dict):
        return None
    sets = tuple(
        TrainSet(**{**one, "columns": tuple(one["columns"]), "labels": tuple(one["labels"])}) for one in known["sets"]
    )
    return Prepared(sets, known["test"], known["counts"], known["left_out"], LeakRecord(**known["leaks"]))
