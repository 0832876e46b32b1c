"""The run matrix of DAPFAM (§5.6): backend x granularity x query x corpus x aggregation x length, and fusions of two
backends.

One row a run: the model with all its settings, the factors, nDCG and Recall at 100 and 10 for ALL, IN and OUT, the
times of indexing, splitting and encoding, and ``seconds``, that of scoring and aggregation (§5.7). The runs of one
group (the aggregations of one passage pass, the fusion settings of one pair of rankings) share their component
rankings, and with them the times; a ranking that was kept costs none.

The table is written after every group by replacing the file, and rankings are kept in a folder beside it, so a sweep
that was stopped goes on where it stopped: finished groups are not run again, and the table comes out the same (but for
the times).

The run matrix of DAPFAM (§5.6): what can be combined, and the 249 runs that the paper made of it.

Rows of a table that can be told from edited ones: each carries a digest of its values.

The table of a sweep: one row a run, beside what the paper prints for it.

``model`` (with revision and settings), ``data`` (the revision that was ranked) and the factors make a row the only one
of its kind, so that runs of any models and backends stand in one file. ``printed_<score>`` is the number of Tables 17
to 20 with the same backend, granularity, views, length and aggregation, ``difference_<score>`` ours minus that: on the
released data only, and in the paper's own protocol where a result has it. Its dense numbers are those of one encoder in
int8 (``printed_model``).

The backends of a sweep, and every model that the matrix makes of them, with what they can share.

A corpus view is one data set for all query views, so that BM25 indexes it once (its passages once a length), and a text
is tokenised once for all lengths. An encoder encodes a corpus for each query view anew unless it has a store.

Running what is not yet in the table of a sweep.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import mteb
import polars as pl
from mteb.types import EncodeKwargs

from patent_mteb import published
from patent_mteb._mteb import registered
from patent_mteb.errors import DataError, ModelError
from patent_mteb.files import replacing
from patent_mteb.identity import digest, identity_of
from patent_mteb.search.base import ArraySearch, SearchContext
from patent_mteb.search.bm25 import BM25
from patent_mteb.search.cache import Cached, RunCache, content_of
from patent_mteb.search.engine import engine
from patent_mteb.search.fusion import RRF, Fusion, Hybrid, Linear
from patent_mteb.search.passages import AGGREGATES, CachedTokenizer, Passages, TokenWindows, WordTokenizer, tokenizer_of
from patent_mteb.search.run import Run
from patent_mteb.search.timing import phase, timed
from patent_mteb.search.vectors import is_encoder
from patent_mteb.store.settings import with_current_settings
from patent_mteb.tasks import dapfam

if TYPE_CHECKING:
    from datasets import Dataset
    from mteb.models import EncoderProtocol, MTEBModels
    from mteb.models.model_meta import ModelMeta

__all__ = ["PAPER", "Matrix", "Setting", "printed_rows", "sweep"]

logger = logging.getLogger(__name__)


BACKENDS = ("bm25", "dense", "hybrid")

GRANULARITIES = ("document", "passage")

TOKENS = ("own", "words")


@dataclass(frozen=True)
class Setting:
    """One run of a backend: every factor of the matrix. Empty or 0 where one does not apply."""

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
    """A chosen part of the matrix.

    ``tokens`` says what passage lengths are measured in: "own" are those of the encoder's tokenizer, and words for
    BM25; "words" are the same windows for every backend (§5.1 speaks of consistent ones).
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
            "backend": (self.backends, BACKENDS),
            "granularity": (self.granularities, GRANULARITIES),
            "aggregate": (self.aggregates, tuple(AGGREGATES)),
            "tokens": (self.tokens, TOKENS),
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
        """Chosen pairs, those of one corpus together."""
        chosen = [pair for pair in dapfam.PAIRS if pair[0] in self.queries and pair[1] in self.corpora]
        corpora = list(dict.fromkeys(corpus for _, corpus in chosen))
        return sorted(chosen, key=lambda pair: corpora.index(pair[1]))

    @property
    def fusions(self) -> dict[str, Fusion]:
        """Fusion settings by the name that the table gives them."""
        chosen: list[Fusion] = [*map(RRF, self.rrf), *map(Linear, self.alphas)]
        return {tag_of(fusion): fusion for fusion in chosen}

    def groups(self) -> Iterator[list[Setting]]:
        """The runs, in groups that are computed together; groups that share a corpus and its passages follow each
        other.
        """
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
        """All runs."""
        return [setting for group in self.groups() for setting in group]


def tag_of(fusion: Fusion) -> str:
    """The fusion's tag, its number in full: a tag shows six digits of it."""
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


_SEAL = "digest"


def _seal(row: dict[str, Any]) -> str:
    """Digest of what is not empty, times aside."""
    return digest(
        {
            name: str(value)
            for name, value in row.items()
            if name != _SEAL and not name.endswith("seconds") and value not in (None, "")
        }
    )


def sealed(table: pl.DataFrame) -> pl.DataFrame:
    """The table with the digest of each row in its last column."""
    rows = table.drop(_SEAL, strict=False)
    return rows.with_columns(pl.Series(_SEAL, [_seal(row) for row in rows.iter_rows(named=True)], pl.String))


def unbroken(table: pl.DataFrame) -> pl.DataFrame:
    """The rows that are as they were sealed, without the digest; those that have none are not."""
    if _SEAL not in table.columns:
        return table.clear()
    return table.filter([row[_SEAL] == _seal(row) for row in table.iter_rows(named=True)]).drop(_SEAL)


SCORES = tuple(
    f"{part}{name}"
    for part in ("", "in_", "out_")
    for name in ("ndcg_at_100", "recall_at_100", "ndcg_at_10", "recall_at_10")
)

COUNTS = ("n_queries", "in_n_queries", "out_n_queries")
"""What the scores of all queries, IN and OUT stand on."""

PHASES = {"index_seconds": "index", "split_seconds": "split", "encode_seconds": "encode", "seconds": "score"}
"""Columns of times by phase; ``seconds`` is scoring and aggregation (§5.7)."""

PRINTED = {
    "ndcg_all": "ndcg_at_100",
    "ndcg_in": "in_ndcg_at_100",
    "ndcg_out": "out_ndcg_at_100",
    "recall_all": "recall_at_100",
    "recall_in": "in_recall_at_100",
    "recall_out": "out_recall_at_100",
}
"""Columns of Tables 17 to 20 by the score that they print."""

_TABLES = {17: ("bm25", "document"), 18: ("bm25", "passage"), 19: ("dense", "document"), 20: ("dense", "passage")}

_FACTORS = list(Setting.__dataclass_fields__)

_KEYS = ["model", "data", *_FACTORS]

_DIGITS = 5

_PRINTED_DIGITS = 4


@lru_cache
def printed_rows() -> Mapping[Setting, Mapping[str, Any]]:
    """What Tables 17 to 20 print, by run; passages are those of the full text (§5.7)."""
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
    """A row of the table."""
    row: dict[str, Any] = {**identity, **asdict(setting), "task": task}
    row |= {name: None if (value := scores.get(name)) is None else round(value, _DIGITS) for name in SCORES}
    row |= {name: None if (value := scores.get(name)) is None else int(value) for name in COUNTS}
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
    """A csv that grows; it is written by replacing the file. Each row carries a digest of its values: one that was
    edited is run again.
    """

    def __init__(self, path: Path, data: str) -> None:
        self.path = path
        self.frame = _read(path)
        if self.frame.height and set(self.frame["data"]) != {data}:
            raise DataError("the table was made with other data", path=path, remedy="choose another file, or delete it")

    def has(self, model: str, setting: Setting) -> bool:
        """Whether a run stands in the table."""
        if not self.frame.height:
            return False
        wanted = {"model": model, **asdict(setting)}
        return self.frame.filter(pl.all_horizontal(pl.col(name) == value for name, value in wanted.items())).height > 0

    def add(self, rows: list[dict[str, Any]]) -> None:
        """Add rows and write the table; a run that is there already is replaced."""
        fresh = pl.DataFrame(rows, infer_schema_length=None)
        whole = pl.concat([self.frame, fresh], how="diagonal_relaxed") if self.frame.height else fresh
        self.frame = whole.unique(_KEYS, keep="last", maintain_order=True)
        with replacing(self.path) as partial:
            sealed(self.frame).write_csv(partial)


def _read(path: Path) -> pl.DataFrame:
    if not path.exists():
        return pl.DataFrame()
    texts = dict.fromkeys(("model", "data", "aggregate", "fusion", "tokens", "digest"), pl.String)
    try:
        table = pl.read_csv(path, schema_overrides=texts, infer_schema_length=None)
    except pl.exceptions.PolarsError as error:
        raise DataError(
            f"the table cannot be read ({error})", path=path, remedy="choose another file, or delete it"
        ) from error
    if not {*_KEYS, "task"} <= set(table.columns):
        raise DataError("the file is not a table of a sweep", path=path, remedy="choose another file")
    whole = unbroken(table.with_columns(pl.col("aggregate", "fusion", "tokens").fill_null("")))
    if whole.height < table.height:
        logger.warning(
            "%s: %d of %d rows are not as they were written; they are run again",
            path,
            table.height - whole.height,
            table.height,
        )
    return whole


def label_of(*metas: ModelMeta) -> str:
    """Models as a table names them: name and revision, and a digest of all settings if they are not those that mteb
    knows it with.
    """

    def label(meta: ModelMeta) -> str:
        known = registered("models").get(meta.name or "")
        usual = known is not None and (known.experiment_kwargs or {}) == (meta.experiment_kwargs or {})
        settings = "" if usual or not meta.experiment_kwargs else f"#{digest(identity_of(meta))}"
        return f"{meta.name}@{meta.revision}{settings}"

    return " + ".join(map(label, metas))


class Corpora:
    """Equal data sets become one object; the last one is held."""

    def __init__(self) -> None:
        self._content = ""
        self._corpus: Any = None
        self._given: Any = None

    def same(self, corpus: Dataset) -> Dataset:
        """The data set that was given before if it has the same rows, else this one."""
        if corpus is not self._given:
            self._given = corpus
            if (content := content_of(corpus)) != self._content:
                self._content, self._corpus = content, corpus
        return self._corpus


class Timed(ArraySearch):
    """A search model whose phases are named, over corpora that are known again."""

    hides = True
    gates = True

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


class _TimedEncoder:
    """An encoder whose time counts as a phase of its own."""

    def __init__(self, model: EncoderProtocol) -> None:
        self.model = model
        self.mteb_model_meta = model.mteb_model_meta

    def encode(self, *args: Any, **kwargs: Any) -> Any:
        with phase("encode"):
            return self.model.encode(*args, **kwargs)

    def similarity(self, first: Any, second: Any) -> Any:
        return self.model.similarity(first, second)

    def similarity_pairwise(self, first: Any, second: Any) -> Any:
        return self.model.similarity_pairwise(first, second)


@dataclass
class System:
    """One backend with its model, an encoder or BM25."""

    model: Any
    cache: RunCache
    aggregates: Sequence[str]
    _tokens: dict[str, CachedTokenizer] = field(default_factory=dict, init=False)
    _passages: tuple[tuple[int, str], list[Passages]] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.meta: ModelMeta = self.model.mteb_model_meta
        if is_encoder(self.model):
            self.model = _TimedEncoder(self.model)

    def models(self, group: Sequence[Setting]) -> list[Any]:
        """One model a setting of a group without fusion."""
        if group[0].granularity == "document":
            return [Cached(self.model, self.cache) for _ in group]
        by_name = dict(zip(self.aggregates, self._by_passages(group[0].length, group[0].tokens), strict=True))
        return [by_name[setting.aggregate] for setting in group]

    def _by_passages(self, length: int, tokens: str) -> list[Passages]:
        if self._passages is None or self._passages[0] != (length, tokens):
            if tokens not in self._tokens:
                self._tokens[tokens] = CachedTokenizer(
                    WordTokenizer() if tokens == "words" else tokenizer_of(self.model)
                )
            splitter = TokenWindows(length, None, self._tokens[tokens])
            self._passages = (
                (length, tokens),
                Passages.sweep(self.model, aggregates=self.aggregates, cache=self.cache, splitter=splitter),
            )
        return self._passages[1]


def hybrids(lexical: System, dense: System, group: Sequence[Setting], fusions: Mapping[str, Fusion]) -> list[Any]:
    """One model a setting of a group of fusions of the same two rankings."""
    (first,), (second,) = lexical.models(group[:1]), dense.models(group[:1])
    return list(Hybrid.sweep(first, second, [fusions[setting.fusion] for setting in group], cache=lexical.cache))


def sweep(
    matrix: Matrix | Sequence[Matrix],
    dense: EncoderProtocol | Sequence[EncoderProtocol] | None,
    lexical: BM25,
    out: Path,
    *,
    encode_kwargs: Mapping[str, Any] | None = None,
) -> pl.DataFrame:
    """Run what is not yet in the table ``out`` (csv) and return the whole table."""
    parts = [matrix] if isinstance(matrix, Matrix) else list(matrix)
    encoders: list[Any] = [] if dense is None else list(dense) if isinstance(dense, Sequence) else [dense]
    groups = [group for part in parts for group in part.groups()]
    if not encoders and (lacking := [group[0].backend for group in groups if group[0].backend != "bm25"]):
        raise ModelError(f"backend {lacking[0]} needs an encoder. Remedy: name one with -m")
    data = mteb.get_task(groups[0][0].task).source.revision  # type: ignore[attr-defined]
    table = SweepTable(out, data)
    systems = _Systems(
        parts,
        [with_current_settings(encoder, encode_kwargs) for encoder in encoders],
        lexical,
        RunCache(out.with_suffix(".runs")),
    )
    for number, group in enumerate(groups, start=1):
        for label, models in systems.of(group):
            if all(table.has(label, setting) for setting in group):
                continue
            logger.info(
                "[%d/%d] %s", number, len(groups), ", ".join(str(value) for value in asdict(group[0]).values() if value)
            )
            table.add(_run(group, models(), systems.corpora, {"model": label, "data": data}, dict(encode_kwargs or {})))
    return table.frame


class _Systems:
    """What makes the models of a group, for BM25 or for each encoder."""

    def __init__(self, parts: Sequence[Matrix], encoders: Sequence[Any], lexical: BM25, cache: RunCache) -> None:
        aggregates = tuple(dict.fromkeys(name for part in parts for name in part.aggregates))
        self.corpora = Corpora()
        self.fusions: dict[str, Fusion] = {tag: fusion for part in parts for tag, fusion in part.fusions.items()}
        self.lexical = System(lexical, cache, aggregates)
        self.dense = [System(encoder, cache, aggregates) for encoder in encoders]

    def of(self, group: Sequence[Setting]) -> list[tuple[str, Callable[[], list[Any]]]]:
        """The name of each model in the table, and what makes the models of the group's settings with it."""
        backend = group[0].backend
        if backend == "hybrid":
            return [
                (label_of(self.lexical.meta, one.meta), partial(hybrids, self.lexical, one, group, self.fusions))
                for one in self.dense
            ]
        return [
            (label_of(one.meta), partial(one.models, group))
            for one in ([self.lexical] if backend == "bm25" else self.dense)
        ]


def _run(
    group: Sequence[Setting],
    models: Sequence[Any],
    corpora: Corpora,
    identity: Mapping[str, str],
    encode_kwargs: dict[str, Any],
) -> list[dict[str, Any]]:
    """The rows of a group: its runs share their rankings, and with them the times."""
    task = mteb.get_task(group[0].task)
    found: list[Mapping[str, Any]] = []
    with timed() as seconds:
        for model in models:
            result = mteb.evaluate(
                with_current_settings(Timed(model, corpora), encode_kwargs),
                task,
                cache=None,
                encode_kwargs=cast("EncodeKwargs", dict(encode_kwargs)),
                show_progress_bar=False,
            )
            ((scores,),) = result.task_results[0].scores.values()
            found.append(scores)
    return [
        row_of(setting, identity, task.metadata.name, scores, seconds)
        for setting, scores in zip(group, found, strict=True)
    ]
