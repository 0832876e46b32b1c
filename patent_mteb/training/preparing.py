"""Prepare a training run: the job, its folder, the tables of pairs, hard negatives and the leak check.

A run directory::

    OUT/job.json                 the job; a different job is refused in this folder
    OUT/pairs/*.parquet          the tables of pairs by split (OUT/pairs/pairs.json: counts and leak record)
    OUT/seed-42/                 checkpoints, history, geometry
    OUT/models/NAME/             finished checkpoints, named after their content

Hard negatives are texts that rank high for an anchor, by the base, or by BM25 for other models than encoders. The
families of anchor and positive are excluded, and so are all families linked to either by a citation, in both
directions: a near and cited text is probably an unlabelled positive (PatenTEB §3).
"""

from __future__ import annotations

import json
import logging
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import torch
from datasets import Dataset
from numpy.typing import NDArray
from sentence_transformers import CrossEncoder, SentenceTransformer
from sentence_transformers.util import cos_sim, mine_hard_negatives, pairwise_cos_sim

from patent_mteb.errors import DataError
from patent_mteb.files import file_hash, load_json, read_json, write_json
from patent_mteb.identity import content_revision
from patent_mteb.patents.on_disk import publications as outlines
from patent_mteb.patents.views import VIEWS
from patent_mteb.recipes.graph import FamilyGraph, family_graph
from patent_mteb.recipes.sampling import grouped
from patent_mteb.search.analysers import ENGLISH, analyser_of_documents
from patent_mteb.search.bm25 import SETTINGS, BM25Index, BM25Settings
from patent_mteb.training.bases import Kind, open_model, unit, vectors_of
from patent_mteb.training.corpus import Corpus
from patent_mteb.training.leaks import LeakRecord, check_pairs
from patent_mteb.training.pairs import Pair, pairs_of, read_pairs, write_pairs
from patent_mteb.training.recipes import Recipe, Settings

logger = logging.getLogger(__name__)
_AT_ONCE = 4_096  # pairs that are prepared at a time
_CANDIDATES = 10
"""Candidates per negative for a margin, which excludes some of them."""


class Dense:
    """Lets :func:`mine_hard_negatives` search rows of texts by a model's vectors, so that its results are small."""

    device = torch.device("cpu")

    def __init__(self, model: SentenceTransformer, documents: Sequence[str]) -> None:
        self._model, self.anchors = model, list[str]()
        self._documents = unit(vectors_of(model, documents, "the base (documents for hard negatives)"))
        self.similarity, self.similarity_pairwise = cos_sim, pairwise_cos_sim
        self.get_embedding_dimension = model.get_embedding_dimension

    def encode_document(self, rows: list[int], **options: Any) -> NDArray[Any]:
        return self._documents[rows]

    def encode_query(self, rows: list[int], **options: Any) -> NDArray[Any]:
        texts = [self.anchors[row] for row in rows]
        return unit(vectors_of(self._model, texts, "the base (anchors for hard negatives)"))


class Lexical:
    """The same by BM25 with the analyser of the documents, in English that of bm25s' defaults, without a stemmer.

    The vectors are rows, the similarities scores.
    """

    device = torch.device("cpu")

    def __init__(self, documents: Sequence[str]) -> None:
        analyser = analyser_of_documents(documents)
        logger.info("negatives by BM25: the analyser of these texts is '%s'", analyser)
        settings = BM25Settings(stemmer=None) if analyser == ENGLISH else SETTINGS[analyser]
        self._index, self.anchors = BM25Index(documents, settings), list[str]()

    def encode_document(self, rows: list[int], **options: Any) -> NDArray[Any]:
        return np.asarray(rows)

    encode_query = encode_document

    def similarity(self, anchors: NDArray[Any], documents: Any) -> torch.Tensor:
        scores = self._index.scores([self.anchors[row] for row in anchors]).toarray()
        return torch.from_numpy(scores[:, np.asarray(documents)])

    def similarity_pairwise(self, anchors: NDArray[Any], documents: Any) -> torch.Tensor:
        scores = (self.similarity(anchors[row : row + 1], [one]) for row, one in enumerate(documents))
        return torch.cat([one[0] for one in scores])


class _Rescored:
    """A cross-encoder on rows of texts."""

    def __init__(self, model: Any, anchors: Sequence[str], documents: Sequence[str]) -> None:
        self._model, self._anchors, self._documents = model, anchors, documents

    def predict(self, pairs: list[tuple[int, int]], **options: Any) -> Any:
        texts = [(self._anchors[anchor], self._documents[document]) for anchor, document in pairs]
        return self._model.predict(texts, show_progress_bar=False, **options)


def mined(
    pairs: Iterator[Pair],
    searcher: Any,
    documents: list[tuple[str, str, str]],
    graph: FamilyGraph,
    settings: Settings,
    left_out: Counter[str],
    reranker: Any = None,
) -> Iterator[Pair]:
    """Yield each pair with each of its negatives among ``documents``, given as (publication, family, text).

    sentence-transformers mines; ranks are counted without the excluded families. A margin compares with the score of
    the positive's publication, and applies to the first :data:`_CANDIDATES` candidates per negative. Equal scores have
    no defined order.
    """
    rows = grouped(range(len(documents)), lambda row: documents[row][1])
    row_of = {key: row for row, (key, _, _) in enumerate(documents)}
    every: list[Any] = list(range(len(documents)))
    texts = [text for _, _, text in documents]
    margin, wanted = settings.negatives_margin, settings.negatives_from + settings.hard_negatives
    while block := list(islice(pairs, _AT_ONCE)):
        searcher.anchors = [pair.anchor for pair in block]
        excluded: list[set[int]] = []
        for pair in block:
            families = {pair.anchor_family, pair.positive_family}
            families |= graph.linked(pair.anchor_family) | graph.linked(pair.positive_family)
            excluded.append({row for family in families for row in rows.get(family, ())})
        number = wanted * (1 if margin is None else _CANDIDATES) + max(map(len, excluded))
        number = max(1, min(number, len(documents) - 1))
        positives = [row_of[pair.positive_id] for pair in block]
        rescored: Any = None if reranker is None else _Rescored(reranker, searcher.anchors, texts)
        found = mine_hard_negatives(
            Dataset.from_dict({"anchor": range(len(block)), "positive": positives}),
            searcher,
            corpus=every,
            cross_encoder=rescored,
            range_max=number,
            num_negatives=number,
            relative_margin=margin,
            use_faiss=settings.negatives_faiss,
            verbose=False,
        )
        nearest: dict[int, list[int]] = defaultdict(list)
        for anchor, negative in zip(found["anchor"], found["negative"], strict=True):
            if negative not in excluded[anchor]:
                nearest[anchor].append(negative)
        for number, pair in enumerate(block):
            chosen = nearest[number][settings.negatives_from : wanted]
            left_out["pairs without a hard negative"] += not chosen
            for row in chosen:
                key, family, text = documents[row]
                yield replace(pair, negative=text, negative_id=key, negative_family=family)


@dataclass(frozen=True, kw_only=True)
class Job:
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
    trackers: tuple[str, ...] = ()  # experiment trackers of transformers; they do not change the weights

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
            "guide_revision": revision(self.settings.guide),
            "reranker_revision": revision(self.settings.negatives_reranker),
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
    members = (patent for patent in corpus.members(split) if patent.publication_number in publications)
    documents = [(patent.publication_number, patent.family_id, VIEWS["TAC"](patent)) for patent in members]
    graph = family_graph(corpus.citations, outlines(corpus.patents))
    left_out = Counter[str]()
    texts = [text for _, _, text in documents]
    dense = job.recipe.loss == "ranking"
    searcher = Dense(open_model(job.base, job.device), texts) if dense else Lexical(texts)
    name = job.settings.negatives_reranker
    reranker = open_model(name, job.device, kind=CrossEncoder, what="cross-encoder") if name else None
    write_pairs(path, mined(read_pairs(path), searcher, documents, graph, job.settings, left_out, reranker))
    return +left_out


def prepare(job: Job, corpus: Corpus) -> Prepared:
    """Write the tables of pairs and check them for leaks."""
    folder = job.out / "pairs"
    left_out: dict[str, dict[str, int]] = {}
    counts: dict[str, int] = {}
    signal = job.settings.signal or job.recipe.signal
    for split in ("train", "validation", "test"):
        excluded = Counter[str]()
        try:
            pairs = pairs_of(signal, corpus, split, job.settings, excluded, job.paraphrases)
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
        if left_out["train"]:
            problem += f" (left out: {', '.join(f'{number} {what}' for what, number in left_out['train'].items())})"
        smaller = f", or --set batch={max(2, one.rows // 4)}" if one.rows > 1 else ""
        raise DataError(problem, remedy=f"give more records that have the texts of these pairs{smaller}")
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
