"""The run matrix of DAPFAM (§5.6), with the 249 runs of the paper.

A run is a row of the table; ``model`` (with revision and settings), ``data`` and the factors are its key.
``printed_<score>`` is the number of Tables 17 to 20, ``difference_<score>`` that of the run, in the paper's protocol if
the result has it, minus the printed one (published data only). The runs of a group share their rankings and times; a
cached ranking has no times. The table is replaced after every group, so that a stopped sweep continues with the next.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import mteb
import polars as pl
from mteb.types import EncodeKwargs

from patent_mteb import published
from patent_mteb._mteb import registered
from patent_mteb.errors import DataError, ModelError
from patent_mteb.experiments.run import evaluate_with_mteb
from patent_mteb.files import write_text
from patent_mteb.identity import digest, identity_of
from patent_mteb.model_identity.loaded import with_arguments
from patent_mteb.search.base import ArraySearch, SearchContext
from patent_mteb.search.bm25 import BM25
from patent_mteb.search.cache import Cached, RunCache, content_of
from patent_mteb.search.engine import engine
from patent_mteb.search.fusion import RRF, Fusion, Hybrid, Linear
from patent_mteb.search.passages import AGGREGATES, CachedTokenizer, Passages, TokenWindows, WordTokenizer, tokenizer_of
from patent_mteb.search.run import Run
from patent_mteb.search.timing import phase, timed
from patent_mteb.tasks import dapfam

if TYPE_CHECKING:
    from datasets import Dataset
    from mteb.models import EncoderProtocol, MTEBModels
    from mteb.models.model_meta import ModelMeta

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Setting:
    """The factors of a run; empty or 0 where one does not apply."""

    backend: str
    granularity: str
    query: str
    corpus: str
    length: int = 0
    aggregate: str = ""
    fusion: str = ""
    tokens: str = ""

    @property
    def task(self) -> str:
        return dapfam.Pair(self.query, self.corpus).name


@dataclass(frozen=True)
class Matrix:
    """A part of the matrix. ``tokens`` is the unit of passage lengths.

    "own" are tokens of the encoder, and words for BM25; "words" are equal windows for every backend (§5.1).
    """

    backends: Sequence[str] = ("bm25", "dense")
    granularities: Sequence[str] = ("document",)
    queries: Sequence[str] = ("TA", "TAC")
    corpora: Sequence[str] = ("TAC", "FullText")
    aggregates: Sequence[str] = ("maxP", "avg_top3", "avgP", "sumP")
    lengths: Sequence[int] = (256, 1024)
    rrf: Sequence[float] = (10, 30, 60, 100)
    alphas: Sequence[float] = ()
    tokens: Sequence[str] = ("own",)

    def __post_init__(self) -> None:
        factors: dict[str, tuple[Sequence[Any], Sequence[Any]]] = {
            "backend": (self.backends, ("bm25", "dense", "hybrid")),
            "granularity": (self.granularities, ("document", "passage")),
            "aggregate": (self.aggregates, tuple(AGGREGATES)),
            "tokens": (self.tokens, ("own", "words")),
            "query": (self.queries, tuple(dict.fromkeys(query for query, _ in dapfam.PAIRS))),
            "corpus": (self.corpora, tuple(dict.fromkeys(corpus for _, corpus in dapfam.PAIRS))),
        }
        for name, (chosen, known) in factors.items():
            if unknown := [value for value in chosen if value not in known]:
                raise DataError(f"{name} '{unknown[0]}' is unknown", remedy=f"choose among {', '.join(known)}")
        if not self.pairs:
            raise DataError(
                "no chosen pair of query and corpus is a task", remedy="see 'patent-mteb list' for the DAPFAM tasks"
            )

    @property
    def pairs(self) -> list[tuple[str, str]]:
        chosen = [pair for pair in dapfam.PAIRS if pair[0] in self.queries and pair[1] in self.corpora]
        corpora = list(dict.fromkeys(corpus for _, corpus in chosen))
        return sorted(chosen, key=lambda pair: corpora.index(pair[1]))

    @property
    def fusions(self) -> dict[str, Fusion]:
        chosen: list[Fusion] = [*map(RRF, self.rrf), *map(Linear, self.alphas)]
        return {tag_of(fusion): fusion for fusion in chosen}

    def groups(self) -> Iterator[list[Setting]]:
        """Yield the runs in groups that are computed together, grouped by corpus."""
        for corpus, pairs in itertools.groupby(self.pairs, key=lambda pair: pair[1]):
            queries = [query for query, _ in pairs]
            for backend, granularity in itertools.product(self.backends, self.granularities):
                windows = itertools.product(self.tokens, self.lengths) if granularity == "passage" else [("", 0)]
                for tokens, length in windows:
                    for query in queries:
                        yield from self._group(Setting(backend, granularity, query, corpus, length, tokens=tokens))

    def _group(self, one: Setting) -> Iterator[list[Setting]]:
        runs = [one] if one.granularity == "document" else [replace(one, aggregate=name) for name in self.aggregates]
        if one.backend == "hybrid":
            yield from ([replace(run, fusion=name) for name in self.fusions] for run in runs)
        else:
            yield runs

    def settings(self) -> list[Setting]:
        return [setting for group in self.groups() for setting in group]


def tag_of(fusion: Fusion) -> str:
    """Return the tag of a fusion with all digits of its number; the tag has six."""
    kind, _, shown = fusion.tag.partition("-")
    (number,) = (value for value in asdict(fusion).values() if isinstance(value, (int, float)))
    return fusion.tag if float(shown) == number else f"{kind}-{number!r}"


_BM25 = ("TA", "TAC", "Abstract", "Keywords")
_DENSE = ("TA", "TAC", "Abstract")
_LENGTHS = (64, 128, 256, 512, 1024, 2048, 4096, 8192)

PAPER: tuple[Matrix, ...] = (
    Matrix(["bm25"], ["document"], _BM25, ("FullText", "TA", "Description", "TAC")),
    Matrix(["bm25"], ["passage"], _BM25, ("FullText",), lengths=_LENGTHS),
    Matrix(["dense"], ["document"], _DENSE, ("TA", "Abstract", "TAC")),
    Matrix(["dense"], ["passage"], _DENSE, ("FullText",), lengths=_LENGTHS),
)
"""The runs of Tables 17, 18, 19 and 20: 16, 128, 9 and 96, together 249."""

_DIGEST = "digest"


def _row_digest(row: dict[str, Any]) -> str:
    """Return the digest of the values that are not empty, without times."""
    ignored = {name for name, value in row.items() if name.endswith("seconds") or value in (None, "")}
    return digest({name: str(value) for name, value in row.items() if name not in {_DIGEST, *ignored}})


def with_digests(table: pl.DataFrame) -> pl.DataFrame:
    rows = table.drop(_DIGEST, strict=False)
    return rows.with_columns(pl.Series(_DIGEST, [_row_digest(row) for row in rows.iter_rows(named=True)], pl.String))


def unedited_rows(table: pl.DataFrame) -> pl.DataFrame:
    """Return the rows that match their digest, without it; a row without a digest does not."""
    if _DIGEST not in table.columns:
        return table.clear()
    return table.filter([row[_DIGEST] == _row_digest(row) for row in table.iter_rows(named=True)]).drop(_DIGEST)


SCORES = tuple(
    f"{part}{name}"
    for part in ("", "in_", "out_")
    for name in ("ndcg_at_100", "recall_at_100", "ndcg_at_10", "recall_at_10")
)

COUNTS = ("n_queries", "in_n_queries", "out_n_queries")
"""The numbers of queries of the scores for all queries, IN and OUT."""

PHASES = {"index_seconds": "index", "split_seconds": "split", "encode_seconds": "encode", "seconds": "score"}
"""Columns of times by phase; ``seconds`` is scoring and aggregation (§5.7)."""

PRINTED = {
    f"{name}_{slice_}": f"{prefix}{name}_at_100"
    for name in ("ndcg", "recall")
    for slice_, prefix in (("all", ""), ("in", "in_"), ("out", "out_"))
}
"""The score of each column of Tables 17 to 20."""

_TABLES = {17: ("bm25", "document"), 18: ("bm25", "passage"), 19: ("dense", "document"), 20: ("dense", "passage")}
_FACTORS = list(Setting.__dataclass_fields__)
_KEYS = ["model", "data", *_FACTORS]
_DIGITS = 5  # as mteb rounds the scores of its results
_PRINTED_DIGITS = 4  # of WIPO-AT's Table 6


@lru_cache
def printed_rows() -> Mapping[Setting, Mapping[str, Any]]:
    """Return the rows of Tables 17 to 20 by run; passages are those of the full text (§5.7)."""
    found: dict[Setting, dict[str, Any]] = {}
    for number, (backend, granularity) in _TABLES.items():
        for row in published.printed("dapfam", number).iter_rows(named=True):
            setting = Setting(backend, granularity, row["query"], row.get("corpus", "FullText"))
            if granularity == "passage":
                setting = replace(setting, length=row["passage_tokens"], aggregate=row["aggregation"], tokens="own")
            found[setting] = {"model": row["model_id"], **{score: row[column] for column, score in PRINTED.items()}}
    return found


def row_of(
    setting: Setting, identity: Mapping[str, str], task: str, scores: Mapping[str, Any], seconds: Mapping[str, float]
) -> dict[str, Any]:
    row: dict[str, Any] = {**identity, **asdict(setting), "task": task}
    row |= {name: None if scores.get(name) is None else round(scores[name], _DIGITS) for name in SCORES}
    row |= {name: None if scores.get(name) is None else int(scores[name]) for name in COUNTS}
    row |= {column: round(seconds.get(phase, 0.0), 3) for column, phase in PHASES.items()}
    if (printed := printed_rows().get(setting)) is not None:
        row["printed_model"] = printed["model"]
        for name in PRINTED.values():
            ours = scores.get(f"paper_{name}", scores.get(name))
            comparable = identity["data"] == dapfam.DATA.revision and ours is not None
            row[f"printed_{name}"] = printed[name]
            row[f"difference_{name}"] = round(ours - printed[name], _PRINTED_DIGITS) if comparable else None
    return row


class SweepTable:
    """A csv file that every group extends; rows that were edited are run again."""

    def __init__(self, path: Path, data: str) -> None:
        self.path = path
        self.frame = _read(path)
        if self.frame.height and set(self.frame["data"]) != {data}:
            raise DataError("the table was made with other data", path=path, remedy="choose another file, or delete it")

    def has(self, model: str, setting: Setting) -> bool:
        return bool(self.frame.height) and (model, *astuple(setting)) in self.frame.select("model", *_FACTORS).rows()

    def add(self, rows: list[dict[str, Any]]) -> None:
        added = pl.DataFrame(rows, infer_schema_length=None)
        table = pl.concat([self.frame, added], how="diagonal_relaxed") if self.frame.height else added
        self.frame = table.unique(_KEYS, keep="last", maintain_order=True)
        write_text(self.path, with_digests(self.frame).write_csv())


def _read(path: Path) -> pl.DataFrame:
    if not path.exists():
        return pl.DataFrame()
    texts = dict.fromkeys(("model", "data", "aggregate", "fusion", "tokens", "digest"), pl.String)
    try:
        table = pl.read_csv(path, schema_overrides=texts, infer_schema_length=None)
    except pl.exceptions.PolarsError as error:
        remedy = "choose another file, or delete it"
        raise DataError(f"the table cannot be read ({error})", path=path, remedy=remedy) from error
    if not {*_KEYS, "task"} <= set(table.columns):
        raise DataError("the file is not a table of a sweep", path=path, remedy="choose another file")
    unedited = unedited_rows(table.with_columns(pl.col("aggregate", "fusion", "tokens").fill_null("")))
    if edited := table.height - unedited.height:
        logger.warning("%s: %d of %d rows were edited; they are run again", path, edited, table.height)
    return unedited


def label_of(*metas: ModelMeta) -> str:
    """Return the name of models in a table: name, revision, digest of other settings."""

    def label(meta: ModelMeta) -> str:
        known = registered("models").get(meta.name or "")
        usual = known is not None and (known.experiment_kwargs or {}) == (meta.experiment_kwargs or {})
        settings = "" if usual or not meta.experiment_kwargs else f"#{digest(identity_of(meta))}"
        return f"{meta.name}@{meta.revision}{settings}"

    return " + ".join(map(label, metas))


class Corpora:
    """Maps equal data sets to one object, and stores the last one."""

    def __init__(self) -> None:
        self._corpus: Dataset | None = None

    def same(self, corpus: Dataset) -> Dataset:
        """Return the previous data set if it has the same rows, else this one."""
        if self._corpus is None or content_of(corpus) != content_of(self._corpus):
            self._corpus = corpus
        return self._corpus


class Timed(ArraySearch):
    """A search model with timed phases, which recognises equal corpora."""

    hides = True

    def __init__(self, model: MTEBModels, corpora: Corpora) -> None:
        self.mteb_model_meta = model.mteb_model_meta
        self._corpora = corpora
        self._system = engine(model)
        self.cuts_documents = self._system.cuts_documents

    def prepare(self, context: SearchContext) -> None:
        with phase("index"):
            self.corpus = self._corpora.same(self.corpus)
            self._system.ensure_indexed(self.corpus, context)

    def search_run(self, queries: Dataset, top_k: int, context: SearchContext) -> Run:
        with phase("score"):
            return self._system.rank(queries, top_k, context)

    def rank_both(self, queries: Dataset, top_k: int, context: SearchContext) -> tuple[Run, Run]:
        with phase("score"):
            return self._system.rank_both(queries, top_k, context)


class System:
    """One backend with its model, an encoder or BM25."""

    def __init__(self, model: Any, runs: RunCache, aggregates: Sequence[str]) -> None:
        self.meta: ModelMeta = model.mteb_model_meta
        self.model = model
        self.runs = runs
        self.aggregates = aggregates
        self._tokenizer = cache(
            lambda tokens: CachedTokenizer(WordTokenizer() if tokens == "words" else tokenizer_of(model))
        )
        self._passages = lru_cache(maxsize=1)(self._new_passages)

    def models(self, group: Sequence[Setting]) -> list[Any]:
        """Return one model per setting of a group without fusion."""
        if group[0].granularity == "document":
            return [Cached(self.model, self.runs) for _ in group]
        by_name = dict(zip(self.aggregates, self._passages(group[0].length, group[0].tokens), strict=True))
        return [by_name[setting.aggregate] for setting in group]

    def _new_passages(self, length: int, tokens: str) -> list[Passages]:
        splitter = TokenWindows(length, None, self._tokenizer(tokens))
        return Passages.sweep(self.model, aggregates=self.aggregates, cache=self.runs, splitter=splitter)


def models_of(systems: Sequence[System], group: Sequence[Setting], fusions: Mapping[str, Fusion]) -> list[Any]:
    """Return one model per setting of a group: of one system, or of fusions of the same two rankings."""
    if len(systems) == 1:
        return systems[0].models(group)
    (first,), (second,) = (system.models(group[:1]) for system in systems)
    return list(Hybrid.sweep(first, second, [fusions[setting.fusion] for setting in group], cache=systems[0].runs))


def sweep(
    matrices: Sequence[Matrix],
    encoders: Sequence[EncoderProtocol],
    lexical: BM25,
    out: Path,
    *,
    encode_kwargs: Mapping[str, Any] | None = None,
) -> pl.DataFrame:
    """Run the settings that the table ``out`` (csv) lacks, and return the table."""
    groups = [group for part in matrices for group in part.groups()]
    if not encoders and (dense_backends := [group[0].backend for group in groups if group[0].backend != "bm25"]):
        raise ModelError(f"backend {dense_backends[0]} needs an encoder", remedy="name one with -m")
    data = mteb.get_task(groups[0][0].task).source.revision  # type: ignore[attr-defined]
    table, runs, corpora = SweepTable(out, data), RunCache(), Corpora()
    aggregates = tuple(dict.fromkeys(name for part in matrices for name in part.aggregates))
    fusions = {tag: fusion for part in matrices for tag, fusion in part.fusions.items()}
    words = System(lexical, runs, aggregates)
    embedded = [System(with_arguments(encoder, encode_kwargs), runs, aggregates) for encoder in encoders]
    systems_of: dict[str, list[tuple[System, ...]]] = {
        "bm25": [(words,)],
        "dense": [(one,) for one in embedded],
        "hybrid": [(words, one) for one in embedded],
    }
    for number, group in enumerate(groups, start=1):
        for systems in systems_of[group[0].backend]:
            label = label_of(*(system.meta for system in systems))
            if all(table.has(label, setting) for setting in group):
                continue
            factors = ", ".join(str(value) for value in astuple(group[0]) if value)
            logger.info("[%d/%d] %s", number, len(groups), factors)
            models, identity = models_of(systems, group, fusions), {"model": label, "data": data}
            table.add(_run(group, models, corpora, identity, dict(encode_kwargs or {})))
    return table.frame


def _run(
    group: Sequence[Setting],
    models: Sequence[Any],
    corpora: Corpora,
    identity: Mapping[str, str],
    encode_kwargs: dict[str, Any],
) -> list[dict[str, Any]]:
    """Run a group, and return its rows; the runs share their rankings, and therefore their times."""
    task = mteb.get_task(group[0].task)
    found: list[Mapping[str, Any]] = []
    with timed() as seconds:
        for model in models:
            result = evaluate_with_mteb(
                with_arguments(Timed(model, corpora), encode_kwargs),
                task,
                cache=None,
                encode_kwargs=cast("EncodeKwargs", dict(encode_kwargs)),
                show_progress_bar=False,
            )
            ((scores,),) = result.scores.values()
            found.append(scores)
    return [
        row_of(setting, identity, task.metadata.name, scores, seconds)
        for setting, scores in zip(group, found, strict=True)
    ]
