"""A BEIR directory as several retrieval tasks read it: read once, with families and IPC codes, and slices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from patent_mteb.metrics import slices
from patent_mteb.metrics.slices import Qrels
from patent_mteb.patents.corpus import Composed, Texts
from patent_mteb.recipes import beir
from patent_mteb.tasks.retrieval import RetrievalTables


@dataclass(frozen=True)
class Folder:
    """The tables of a directory with the rows of ``metadata.parquet``, and what all tasks have in common."""

    tables: beir.BeirFolder
    rows: Any
    documents: Texts
    hidden: Mapping[str, frozenset[str]]
    codes: Mapping[str, list[str]]
    slices: Mapping[str, Qrels] = field(default_factory=dict)
    unformed: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, place: Path) -> tuple[Self, Counter[str]]:
        """Read a directory, and return it with the counts of unusual rows; the benchmark adds the slices."""
        tables = beir.read_beir(place)
        rows, counts = beir.metadata_rows(place, tables)
        families = {key: family or "" for key, family in rows.column("family_id")}
        hidden = slices.own_family(families, tables.queries, tables.corpus)
        codes = Composed(rows, lambda row: list(row.get("ipc") or ()))
        return cls(tables, rows, tables.corpus.joined(), hidden, codes), Counter(counts)

    def retrieval_tables(self, corpus: Mapping[str, str], queries: Mapping[str, str]) -> RetrievalTables:
        """Return the tables of a task with these texts."""
        return RetrievalTables(
            corpus=corpus,
            queries=queries,
            qrels=self.tables.qrels,
            slices=self.slices,
            hidden=self.hidden,
            unformed=self.unformed,
            document_codes=self.codes,
            query_codes=self.codes,
        )
