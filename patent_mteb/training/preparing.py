"""Prepare a training run: the job, its folder, the tables of pairs, hard negatives and the leak check.

A run directory::

    OUT/job.json                 the job; a different job is refused in this folder
    OUT/pairs/*.parquet          the tables of pairs by split (OUT/pairs/pairs.json: counts and leak record)
    OUT/seed-42/                 checkpoints, history, geometry
    OUT/models/NAME/             finished checkpoints, named after their content

Hard negatives are texts that rank high for an anchor (by the base, or by BM25 for late interaction). The families of
anchor and positive are excluded, and so are all families linked to either by a citation, in both directions: a near and
cited text is probably an unlabelled positive (PatenTEB §3).
"""

from __future__ import annotations

import json
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import bm25s
import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer

from patent_mteb.errors import DataError
from patent_mteb.files import file_hash, load_json, read_json, write_json
from patent_mteb.identity import content_revision
from patent_mteb.patents.views import VIEWS
from patent_mteb.recipes.graph import FamilyGraph, family_graph
from patent_mteb.training.bases import Kind, open_model, unit, vectors_of
from patent_mteb.training.corpus import Corpus
from patent_mteb.training.leaks import LeakRecord, check_pairs
from patent_mteb.training.pairs import Pair, pairs_of, read_pairs, write_pairs
from patent_mteb.training.recipes import Recipe, Settings

Matrix = NDArray[np.float32]
Scorer = Callable[[Sequence[str]], Matrix]
"""Scores documents for anchors: [anchors, documents]."""

_AT_ONCE = 64


def by_vectors(model: SentenceTransformer, texts: Sequence[str]) -> Scorer:
    """Score texts by the cosine of a model's vectors."""
    matrix = unit(vectors_of(model, texts, "the base (documents for hard negatives)"))
    return lambda anchors: unit(vectors_of(model, anchors, "the base (anchors for hard negatives)")) @ matrix.T


def by_words(texts: Sequence[str]) -> Scorer:
    """Score texts by BM25 (bm25s, its defaults, English stop words)."""
    index = bm25s.BM25()
    index.index(bm25s.tokenize(list(texts), stopwords="en", show_progress=False), show_progress=False)

    def score(anchors: Sequence[str]) -> Matrix:
        tokens = bm25s.tokenize(list(anchors), stopwords="en", return_ids=False, show_progress=False)
        return np.stack([index.get_scores(words) if words else np.zeros(len(texts), np.float32) for words in tokens])

    return score


def mined(
    pairs: Iterator[Pair],
    scorer: Scorer,
    documents: list[tuple[str, str, str]],
    graph: FamilyGraph,
    settings: Settings,
    left_out: Counter[str],
) -> Iterator[Pair]:
    """Yield each pair with each of its negatives among ``documents``, given as (publication, family, text)."""
    rows: dict[str, list[int]] = defaultdict(list)
    for row, (_, family, _) in enumerate(documents):
        rows[family].append(row)
    while block := list(islice(pairs, _AT_ONCE)):
        for pair, scores in zip(block, scorer([pair.anchor for pair in block]), strict=True):
            families = {pair.anchor_family, pair.positive_family}
            excluded = families | graph.linked(pair.anchor_family) | graph.linked(pair.positive_family)
            scores[[row for family in excluded for row in rows.get(family, ())]] = -np.inf
            chosen = _top(scores, settings.negatives_from + settings.hard_negatives)[settings.negatives_from :]
            if not len(chosen):
                left_out["pairs without a hard negative"] += 1
            for row in chosen:
                key, family, text = documents[row]
                yield replace(pair, negative=text, negative_id=key, negative_family=family)


def _top(scores: NDArray[np.floating[Any]], number: int) -> NDArray[np.intp]:
    """Indices of the ``number`` highest scores, ties in their order, without excluded ones."""
    least = np.partition(scores, -number)[-number] if number < len(scores) else -np.inf
    found = np.flatnonzero((scores >= least) & (scores > -np.inf))
    return found[np.argsort(-scores[found], kind="stable")[:number]]


@dataclass(frozen=True, kw_only=True)
class Job:
    """A training job."""

    recipe: Recipe
    settings: Settings
    base: str  # hub id or directory
    out: Path  # run directory
    seeds: tuple[int, ...] = (42,)  # one run each
    max_steps: int | None = None  # limit on the steps of a run; None for the number of epochs
    lora: int | None = None  # rank of the adapters; None trains all weights
    drop_leaks: bool = False  # remove leaking pairs instead of raising an error
    device: str | None = None
    teacher: str = ""  # model for the distillation of late interaction
    paraphrases: Path | None = None  # file for patentmap-paraphrase
    geometry: int = 0  # steps between two measurements of the geometry; 0 for none

    def identity(self, corpus: Corpus) -> dict[str, Any]:
        """All settings of a job except for its seeds, which may be added later."""

        def revision(model: str) -> str:
            return content_revision(Path(model)) if model and Path(model).is_dir() else ""

        return {
            "recipe": self.recipe.name,
            "settings": asdict(self.settings),
            "base": Path(self.base).resolve().name if Path(self.base).is_dir() else self.base,
            "base_revision": revision(self.base),
            "data": corpus.name,
            "data_revision": corpus.revision,
            "families": corpus.sizes(),
            "max_steps": self.max_steps,
            "lora": self.lora,
            "drop_leaks": self.drop_leaks,
            "teacher": self.teacher,
            "teacher_revision": revision(self.teacher),
            "paraphrases": file_hash(self.paraphrases) if self.paraphrases and self.paraphrases.is_file() else "",
            "geometry": self.geometry,
        }


@dataclass(frozen=True)
class TrainSet:
    """A training table: its loss, text columns and files. ``labels`` are the names of the classes."""

    name: str
    kind: Kind
    columns: tuple[str, ...]
    train: str
    validation: str = ""
    prompts: Mapping[str, str] = field(default_factory=dict)
    labels: tuple[str, ...] = ()
    rows: int = 0
    validation_rows: int = 0


@dataclass(frozen=True)
class Prepared:
    """The prepared tables of a run."""

    sets: tuple[TrainSet, ...]
    test: str  # file of the held-out pairs of the test split; empty if there are none
    counts: Mapping[str, int]
    left_out: Mapping[str, Mapping[str, int]]  # excluded publications, citations and pairs, by split and reason
    leaks: LeakRecord


_BEGUN = "begun.json"
"""Marks the folder of a job that has not trained a step: its ``pairs`` and ``tables`` may be removed."""


def open_folder(job: Job, corpus: Corpus) -> None:
    """Refuse the folder of another job, and remove the tables of jobs that never trained a step."""
    path, identity = job.out / "job.json", json.loads(json.dumps(job.identity(corpus)))
    if not path.is_file():
        for folder in (job.out / "pairs", job.out / "tables"):
            if folder.exists() and not (job.out / _BEGUN).is_file():
                problem = "the training would overwrite a folder that no training has written"
                raise DataError(problem, path=folder, remedy="choose another --out")
            shutil.rmtree(folder, ignore_errors=True)
        write_json(job.out / _BEGUN, identity)
        return
    found = load_json(path)
    if found != identity:
        differ = sorted(name for name in identity if not isinstance(found, dict) or found.get(name) != identity[name])
        problem = f"the folder holds another run (other {', '.join(differ)})"
        raise DataError(problem, path=job.out, remedy="choose another --out, or repeat the same command to resume it")


def record_job(job: Job, corpus: Corpus) -> None:
    """Write the job to its folder. This happens at the first step, so that a refused job leaves the folder free."""
    write_json(job.out / "job.json", job.identity(corpus))
    (job.out / _BEGUN).unlink(missing_ok=True)


def _with_negatives(job: Job, corpus: Corpus, split: str) -> dict[str, int]:
    """Mine negatives among the publications of a table of pairs, and rewrite it. Returns counts of excluded pairs."""
    path = job.out / "pairs" / f"{split}.parquet"
    publications = {key for pair in read_pairs(path) for key in (pair.anchor_id, pair.positive_id)}
    if not publications:
        return {}
    members = [patent for patent in corpus.members(split) if patent.publication_number in publications]
    documents = [(patent.publication_number, patent.family_id, VIEWS["TAC"](patent)) for patent in members]
    graph = family_graph(corpus.citations, {patent.publication_number: patent.family_id for patent in corpus.patents})
    left_out = Counter[str]()
    texts = [text for _, _, text in documents]
    late = job.recipe.loss.startswith("late")
    scorer = by_words(texts) if late else by_vectors(open_model(job.base, job.device), texts)
    write_pairs(path, mined(read_pairs(path), scorer, documents, graph, job.settings, left_out))
    return left_out


def prepare(job: Job, corpus: Corpus) -> Prepared:
    """Write the tables of pairs and check them for leaks."""
    folder = job.out / "pairs"
    left_out: dict[str, dict[str, int]] = {}
    counts: dict[str, int] = {}
    for split in ("train", "validation", "test"):
        excluded = Counter[str]()
        try:
            pairs = pairs_of(job.recipe.signal, corpus, split, job.settings, excluded, job.paraphrases)
            counts[split] = write_pairs(folder / f"{split}.parquet", pairs)
        except DataError:
            if split == "train":
                raise
            counts[split] = write_pairs(folder / f"{split}.parquet", [])
        left_out[split] = dict(excluded)
    leaks = check_pairs([folder / "train.parquet", folder / "validation.parquet"], corpus, job.drop_leaks)
    columns: tuple[str, ...] = ("anchor", "positive")
    if job.settings.hard_negatives:
        columns = (*columns, "negative")
        for split in ("train", "validation"):
            left_out[split] |= _with_negatives(job, corpus, split)
    one = with_row_counts(folder, TrainSet("pairs", "ranking", columns, "train.parquet", "validation.parquet"))
    if one.rows < job.settings.batch:
        problem = f"{one.rows} training pairs ({one.name}) are fewer than one batch of {job.settings.batch}"
        raise DataError(problem, remedy=f"give more records, or --set batch={max(2, one.rows // 4)}")
    counts |= {"train": one.rows, "validation": one.validation_rows}
    return Prepared((one,), "test.parquet" if counts["test"] else "", counts, left_out, leaks)


def with_row_counts(folder: Path, one: TrainSet) -> TrainSet:
    """Count the rows of a table. A validation file with fewer than two rows is not used."""
    rows, validation_rows = (pq.read_metadata(folder / name).num_rows for name in (one.train, one.validation))
    validation = one.validation if validation_rows > 1 else ""
    return replace(one, rows=rows, validation_rows=validation_rows, validation=validation)


def read_prepared(path: Path) -> Prepared | None:
    """Read a preparation, None if it is missing or incomplete."""
    known = read_json(path)
    if not isinstance(known, dict):
        return None
    lists = ("columns", "labels")
    sets = tuple(TrainSet(**{**one, **{name: tuple(one[name]) for name in lists}}) for one in known["sets"])
    return Prepared(sets, known["test"], known["counts"], known["left_out"], LeakRecord(**known["leaks"]))
