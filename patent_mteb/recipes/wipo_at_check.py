"""Quality assurance of WIPO-AT's directory (§3.1.3, step 0.9), whoever wrote it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from patent_mteb.errors import DataError
from patent_mteb.files import read_keyed
from patent_mteb.patents import views
from patent_mteb.patents.corpus import Texts, TitledTexts
from patent_mteb.recipes.beir import BeirFolder, read_beir, view_rows
from patent_mteb.recipes.label_sets import SPLITS, label_files, label_names, read_labels, refuse_straddling
from patent_mteb.recipes.metadata import metadata_rows

__all__ = ["check"]


def check(folder: Path, strict_views: bool = False) -> dict[str, int]:
    """Quality assurance (step 0.9) of a directory, whoever wrote it.

    Returns:
        what was found odd but usable, with counts.

    Raises:
        DataError: a family or document that straddles splits, a label outside the taxonomy, a judgement of an unknown document,
            with ``strict_views`` an empty view; names the offender.

    Example:
        >>> from patent_mteb.data.sources import sample_root
        >>> from patent_mteb.recipes.wipo_at import NAME, check
        >>> check(sample_root("wipo_at") / NAME)
        {}
    """
    tables = read_beir(folder) if (folder / "corpus.jsonl").exists() or not label_names(folder) else _without_retrieval(folder)
    rows, odd = metadata_rows(folder, tables)
    counts = tables.counts | {what: number for what, number in odd.items() if number}
    families = {key: family or "" for key, family in rows.column("family_id")}
    refuse_straddling({key: split for key, split in rows.column("split") if split}, families, folder / "metadata.parquet")
    for name in tables.views:
        empty, number = _empty_rows(view_rows(folder, name))
        if empty and strict_views:
            raise DataError(
                f"view {name} is empty for {len(empty)} of {number} rows, first for '{empty[0]}'",
                path=folder / "views.parquet",
                remedy="complete the texts, leave the documents out (require), or set strict_views=false",
            )
        if empty:
            counts[f"rows of view {name} without text"] = len(empty)
    if other := _not_tac(folder, tables):
        counts[f"of {len(tables.queries)} queries have another text in queries.jsonl (which TAC tasks read) than their TAC view"] = other
    return counts | _check_labels(folder, set(tables.corpus or rows), families)


def _without_retrieval(folder: Path) -> BeirFolder:
    """A directory that has label sets only."""
    path = folder / "metadata.parquet"
    return BeirFolder(TitledTexts(()), Texts.of({}), {}, read_keyed(path) if path.exists() else None)


def _empty_rows(rows: Iterable[tuple[str, str]]) -> tuple[list[str], int]:
    """The ids of the rows without text, and the number of all rows."""
    empty, number = [], 0
    for key, text in rows:
        number += 1
        if not text.strip():
            empty.append(key)
    return empty, number


def _not_tac(folder: Path, tables: BeirFolder) -> int:
    """Queries whose text is not title, abstract and claims, by views.parquet or else by corpus.jsonl; white space apart."""
    other = {key: not _alike(views.join_sections(tables.corpus[key]), text) for key, text in tables.queries.items() if key in tables.corpus}
    if "TAC" in tables.views:
        other |= {key: not _alike(text, tables.queries[key]) for key, text in view_rows(folder, "TAC") if key in tables.queries}
    return sum(other.values())


def _alike(document: str, query: str) -> bool:
    """Whether two texts have the same words; a document without text tells nothing."""
    return not document or document.split() == query.split()


def _check_labels(folder: Path, known: set[str], families: Mapping[str, str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name in label_files(folder).values():
        rows = read_labels(folder, name, families)
        seen = {split: {label for row in rows if row.split == split for label in row.labels} for split in SPLITS}
        if strangers := sum(row.key not in known for row in rows):
            counts[f"documents of {name} that are not in corpus.jsonl"] = strangers
        if untrained := (seen["test"] | seen["validation"]) - seen["train"]:
            counts[f"labels of {name} without a training example"] = len(untrained)
    return counts
