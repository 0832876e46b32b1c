"""TREC files: runs (``query Q0 document rank score tag``, ranks from 1) and qrels (``query 0 document gain``)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from patent_mteb.errors import DataError

__all__ = ["write_qrels", "write_run"]


def _check(*names: str) -> None:
    for name in names:
        if not name or any(character.isspace() for character in name):
            raise DataError(f"the id {name!r} cannot stand in a TREC file", remedy="use ids without white space")


def write_run(path: Path, results: Mapping[str, Mapping[str, float]], tag: str) -> None:
    """Write a run, best document first, ties broken by document id in descending order (as mteb and trec_eval break them)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as out:
        for query, scores in results.items():
            _check(query, *scores)
            order = sorted(scores.items(), key=lambda item: (item[1], item[0]), reverse=True)
            for rank, (document, score) in enumerate(order, start=1):
                out.write(f"{query} Q0 {document} {rank} {score!r} {tag}\n")


def write_qrels(path: Path, qrels: Mapping[str, Mapping[str, int]]) -> None:
    """Write judgements."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as out:
        for query, judged in qrels.items():
            _check(query, *judged)
            for document, gain in judged.items():
                out.write(f"{query} 0 {document} {gain}\n")
