"""The run matrix of DAPFAM (§5.6): backend x granularity x query x corpus x aggregation x length, and fusions of the two backends.

One row a run: its settings, nDCG and Recall at 100 and 10 for ALL, IN and OUT, and ``seconds``, the time of scoring and
aggregation without encoding (§5.7). The runs of one group (the aggregations of one passage pass, the fusion settings of one pair
of rankings) share their component rankings, and with them ``seconds``.

The table is written after every group by replacing the file, and rankings are kept in a folder beside it, so a sweep that was
stopped goes on where it stopped: finished groups are not run again, and the table comes out the same (but for ``seconds``). Each row
carries a digest of its values: one that was edited is run again.
"""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import mteb
import polars as pl
from mteb.types import EncodeKwargs

from patent_mteb._mteb import registered
from patent_mteb.errors import DataError, ModelError
from patent_mteb.experiments.sealed import sealed, unbroken
from patent_mteb.files import replacing
from patent_mteb.identity import digest, identity_of
from patent_mteb.search.aggregation import AGGREGATES
from patent_mteb.search.base import ArraySearch, SearchContext
from patent_mteb.search.bm25 import BM25
from patent_mteb.search.cache import Cached, RunCache
from patent_mteb.search.engine import engine
from patent_mteb.search.fusion import RRF, Fusion, Hybrid, Linear
from patent_mteb.search.passages import Passages
from patent_mteb.search.run import Run
from patent_mteb.store.settings import settled
from patent_mteb.tasks import dapfam

if TYPE_CHECKING:
    from datasets import Dataset
    from mteb.models import EncoderProtocol, MTEBModels
    from mteb.models.model_meta import ModelMeta

logger = logging.getLogger(__name__)

__all__ = ["Matrix", "Setting", "sweep"]

BACKENDS = ("bm25", "dense", "hybrid")
GRANULARITIES = ("document", "passage")
SCORES = ("ndcg_at_100", "recall_at_100", "ndcg_at_10", "recall_at_10")


@dataclass(frozen=True)
class Setting:
    """One run: everything that changes its scores. Empty or 0 where a factor does not apply."""

    task: str
    backend: str
    granularity: str
    query: str
    corpus: str
    length: int = 0
    aggregate: str = ""
    fusion: str = ""


@dataclass(frozen=True)
class Matrix:
    """A chosen part of the matrix.

    Raises:
        DataError: a value that a factor does not have, or no pair of query and corpus that is a task.
    """

    backends: Sequence[str] = ("bm25", "dense")
    granularities: Sequence[str] = ("document",)
    queries: Sequence[str] = ("TA", "TAC")
    corpora: Sequence[str] = ("TAC", "FullText")
    aggregates: Sequence[str] = ("maxP", "avg_top3", "avgP", "sumP")
    lengths: Sequence[int] = (256, 1024)
    rrf: Sequence[float] = (10, 30, 60, 100)
    alphas: Sequence[float] = ()

    def __post_init__(self) -> None:
        factors: dict[str, tuple[Sequence[Any], Sequence[Any]]] = {
            "backend": (self.backends, BACKENDS),
            "granularity": (self.granularities, GRANULARITIES),
            "aggregate": (self.aggregates, tuple(AGGREGATES)),
            "query": (self.queries, tuple(dict.fromkeys(query for query, _ in dapfam.PAIRS))),
            "corpus": (self.corpora, tuple(dict.fromkeys(corpus for _, corpus in dapfam.PAIRS))),
        }
        for name, (chosen, known) in factors.items():
            if unknown := [value for value in chosen if value not in known]:
                raise DataError(f"{name} '{unknown[0]}' is unknown", remedy=f"choose among {', '.join(known)}")
        if not self.pairs:
            raise DataError("no chosen pair of query and corpus is a task", remedy="see 'patent-mteb list' for the DAPFAM tasks")

    @property
    def pairs(self) -> list[tuple[str, str]]:
        return [pair for pair in dapfam.PAIRS if pair[0] in self.queries and pair[1] in self.corpora]

    @property
    def fusions(self) -> list[Fusion]:
        return [*(RRF(k) for k in self.rrf), *(Linear(alpha) for alpha in self.alphas)]

    def groups(self) -> Iterator[list[Setting]]:
        """The runs, in groups that are computed together."""
        for query, corpus in self.pairs:
            task = dapfam.Pair(query, corpus).name
            for backend, granularity in itertools.product(self.backends, self.granularities):
                one = Setting(task, backend, granularity, query, corpus)
                cuts = [(0, "")] if granularity == "document" else [(length, name) for length in self.lengths for name in self.aggregates]
                cut_runs = [replace(one, length=length, aggregate=name) for length, name in cuts]
                if backend == "hybrid":
                    yield from ([replace(run, fusion=_tag(fusion)) for fusion in self.fusions] for run in cut_runs)
                else:
                    yield from (list(group) for _, group in itertools.groupby(cut_runs, key=lambda run: run.length))


def _tag(fusion: Fusion) -> str:
    """The fusion's tag, its number in full: a tag shows six digits of it."""
    kind, _, shown = fusion.tag.partition("-")
    (number,) = (value for value in asdict(fusion).values() if isinstance(value, (int, float)))
    return fusion.tag if float(shown) == number else f"{kind}-{number!r}"


def _name(meta: ModelMeta) -> str:
    """A model as the table names it: name and revision, and a digest of its settings if they are not those that mteb knows it with."""
    known = registered("models").get(meta.name or "")
    usual = known is not None and (known.experiment_kwargs or {}) == (meta.experiment_kwargs or {})
    settings = "" if usual or not meta.experiment_kwargs else f"#{digest(identity_of(meta))}"
    return f"{meta.name}@{meta.revision}{settings}"


class _Clock(ArraySearch):
    """A search model whose search is timed, its encoder's own time taken off."""

    hides = True

    def __init__(self, model: MTEBModels, spent: dict[str, float], encoder: _EncoderClock | None) -> None:
        self.mteb_model_meta = model.mteb_model_meta
        self.spent = spent
        self.encoder = encoder
        self._system = engine(model)
        self.cuts_documents = self._system.cuts_documents

    def search_run(self, queries: Dataset, top_k: int, context: SearchContext) -> Run:
        self._system.ensure_indexed(self.corpus, context)
        before = self.encoder.seconds if self.encoder else 0.0
        started = time.perf_counter()
        run = self._system.rank(queries, top_k, context)
        encoding = (self.encoder.seconds if self.encoder else 0.0) - before
        self.spent["seconds"] = self.spent.get("seconds", 0.0) + time.perf_counter() - started - encoding
        return run


class _EncoderClock:
    """An encoder that adds up the time it spends."""

    def __init__(self, model: EncoderProtocol) -> None:
        self.model = model
        self.mteb_model_meta = model.mteb_model_meta
        self.seconds = 0.0

    def encode(self, *args: Any, **kwargs: Any) -> Any:
        started = time.perf_counter()
        try:
            return self.model.encode(*args, **kwargs)
        finally:
            self.seconds += time.perf_counter() - started

    def similarity(self, first: Any, second: Any) -> Any:
        return self.model.similarity(first, second)

    def similarity_pairwise(self, first: Any, second: Any) -> Any:
        return self.model.similarity_pairwise(first, second)


class _Systems:
    """The two backends and every model that the matrix makes of them."""

    def __init__(self, dense: EncoderProtocol | None, lexical: BM25, cache: RunCache) -> None:
        self.dense = None if dense is None else _EncoderClock(dense)
        self.lexical = lexical
        self.cache = cache

    def _backend(self, name: str) -> Any:
        if name == "bm25":
            return self.lexical
        if self.dense is None:
            raise ModelError(f"backend {name} needs an encoder. Remedy: name one with -m")
        return self.dense

    def _single(self, backend: str, group: Sequence[Setting]) -> list[Any]:
        model = self._backend(backend)
        if group[0].granularity == "document":
            return [Cached(model, self.cache)]
        return list(Passages.sweep(model, group[0].length, [setting.aggregate for setting in group], cache=self.cache))

    def models(self, group: Sequence[Setting], fusions: Mapping[str, Fusion]) -> list[Any]:
        """One model a setting of the group."""
        if group[0].backend != "hybrid":
            return self._single(group[0].backend, group)
        (lexical,), (dense,) = self._single("bm25", group[:1]), self._single("dense", group[:1])
        return Hybrid.sweep(lexical, dense, [fusions[setting.fusion] for setting in group], cache=self.cache)

    def clock(self, model: MTEBModels, spent: dict[str, float]) -> _Clock:
        return _Clock(model, spent, self.dense)


def sweep(
    matrix: Matrix,
    dense: EncoderProtocol | None,
    lexical: BM25,
    out: Path,
    *,
    encode_kwargs: Mapping[str, Any] | None = None,
) -> pl.DataFrame:
    """Run what is not yet in the table ``out`` (csv) and return the whole table.

    Args:
        dense: an encoder, stored or not; None if the matrix has no dense backend.
        lexical: the BM25 of the backends ``bm25`` and ``hybrid``.

    Raises:
        DataError: ``out`` exists and is not a table of a sweep with these models and these data.
        ModelError: the matrix needs an encoder and there is none.

    Example:
        >>> import os
        >>> from pathlib import Path
        >>> from patent_mteb.experiments.sweep import Matrix, sweep
        >>> from patent_mteb.models import bm25
        >>> os.environ["PATENT_MTEB_SAMPLE"] = "1"
        >>> matrix = Matrix(backends=["bm25"], queries=["TA"], corpora=["TAC", "FullText"])
        >>> sweep(matrix, None, bm25("dapfam"), Path("sweep.csv"))["corpus"].to_list()
        ['FullText', 'TAC']
    """
    dense = None if dense is None else settled(dense, encode_kwargs)
    done = _read(out)
    names = {"bm25": lexical.mteb_model_meta, "dense": None if dense is None else dense.mteb_model_meta}
    identity = {
        "model": " + ".join(_name(meta) for meta in names.values() if meta is not None),
        "data": mteb.get_task(dapfam.Pair(*matrix.pairs[0]).name).source.revision,  # type: ignore[attr-defined]
    }
    keys = list(Setting.__dataclass_fields__)
    if done.height and set(done.select(identity.keys()).unique().iter_rows()) != {tuple(identity.values())}:
        raise DataError("the table was made with other models or other data", path=out, remedy="choose another file, or delete it")
    finished: Set[Setting] = {Setting(**row) for row in done.select(keys).to_dicts()} if done.height else set()
    systems = _Systems(dense, lexical, RunCache(out.with_suffix(".runs")))
    fusions = {_tag(fusion): fusion for fusion in matrix.fusions}
    groups = list(matrix.groups())
    for number, group in enumerate(groups, start=1):
        if all(setting in finished for setting in group):
            continue
        logger.info("[%d/%d] %s", number, len(groups), ", ".join(str(value) for value in asdict(group[0]).values() if value))
        rows = _run(group, systems, fusions, dict(encode_kwargs or {}))
        fresh = pl.DataFrame([{**identity, **row} for row in rows])
        done = pl.concat([done, fresh], how="diagonal_relaxed").unique(keys, keep="last", maintain_order=True) if done.height else fresh
        _write(out, done)
    return done


def _run(group: Sequence[Setting], systems: _Systems, fusions: Mapping[str, Fusion], encode_kwargs: dict[str, Any]) -> list[dict[str, Any]]:
    task = mteb.get_task(group[0].task)
    spent: dict[str, float] = {}
    rows = []
    for setting, model in zip(group, systems.models(group, fusions), strict=True):
        result = mteb.evaluate(
            settled(systems.clock(model, spent), encode_kwargs),
            task,
            cache=None,
            encode_kwargs=cast("EncodeKwargs", dict(encode_kwargs)),
            show_progress_bar=False,
        )
        ((scores,),) = result.task_results[0].scores.values()
        row: dict[str, Any] = asdict(setting)
        for prefix in ("", "in_", "out_"):
            for name in SCORES:
                row[f"{prefix}{name}"] = scores.get(f"{prefix}{name}")
        rows.append(row)
    return [{**row, "seconds": round(spent["seconds"], 3)} for row in rows]


def _read(out: Path) -> pl.DataFrame:
    if not out.exists():
        return pl.DataFrame()
    expected = {"model", "data", *Setting.__dataclass_fields__}
    try:
        table = pl.read_csv(out, schema_overrides={"aggregate": pl.String, "fusion": pl.String, "digest": pl.String})
    except pl.exceptions.PolarsError as error:
        raise DataError(f"the table cannot be read ({error})", path=out, remedy="choose another file, or delete it") from error
    if not expected <= set(table.columns):
        raise DataError("the file is not a table of a sweep", path=out, remedy="choose another file")
    whole = unbroken(table.with_columns(pl.col("aggregate", "fusion").fill_null("")))
    if whole.height < table.height:
        logger.warning("%s: %d of %d rows are not as they were written; they are run again", out, table.height - whole.height, table.height)
    return whole


def _write(out: Path, table: pl.DataFrame) -> None:
    with replacing(out) as partial:
        sealed(table).write_csv(partial)
