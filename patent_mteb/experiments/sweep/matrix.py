"""The run matrix of DAPFAM (§5.6): what can be combined, and the 249 runs that the paper made of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from patent_mteb.errors import DataError
from patent_mteb.search.aggregation import AGGREGATES
from patent_mteb.search.fusion import RRF, Fusion, Linear
from patent_mteb.tasks import dapfam

__all__ = ["PAPER", "Matrix", "Setting", "tag_of"]

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

    ``tokens`` says what passage lengths are measured in: "own" are those of the encoder's tokenizer, and words for BM25; "words" are
    the same windows for every backend (§5.1 speaks of consistent ones).

    Raises:
        DataError: a value that a factor does not have, or no pair of query and corpus that is a task.

    Example:
        >>> from patent_mteb.experiments.sweep import Matrix
        >>> matrix = Matrix(backends=["bm25"], granularities=["passage"], queries=["TA"], corpora=["FullText"], lengths=[64])
        >>> [setting.aggregate for setting in matrix.settings()]
        ['maxP', 'avg_top3', 'avgP', 'sumP']
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
            raise DataError("no chosen pair of query and corpus is a task", remedy="see 'patent-mteb list' for the DAPFAM tasks")

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
        """The runs, in groups that are computed together; groups that share a corpus and its passages follow each other."""
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
    """The fusion's tag, its number in full: a tag shows six digits of it.

    Example:
        >>> from patent_mteb.experiments.sweep.matrix import tag_of
        >>> from patent_mteb.search.fusion import RRF
        >>> tag_of(RRF(30)), tag_of(RRF(1234567.5))
        ('rrf-30', 'rrf-1234567.5')
    """
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
