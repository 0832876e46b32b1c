"""Quality assurance of WIPO-AT's directory (§3.1.3, step 0.9), whoever wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from patent_mteb.errors import DataError
from patent_mteb.files import read_keyed
from patent_mteb.patents import views
from patent_mteb.patents.corpus import Texts, TitledTexts
from patent_mteb.recipes.beir import BeirFolder, metadata_rows, read_beir, view_rows
from patent_mteb.recipes.label_sets import SPLITS, label_files, label_names, read_labels, refuse_straddling

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
    families = {key: row.get("family_id") or "" for key, row in rows.items()}
    refuse_straddling({key: row["split"] for key, row in rows.items() if row.get("split")}, families, folder / "metadata.parquet")
    for name in tables.views:
        filled = {key: bool(text.strip()) for key, text in view_rows(folder, name)}
        empty = [key for key, found in filled.items() if not found]
        if empty and strict_views:
            raise DataError(
                f"view {name} is empty for {len(empty)} of {len(filled)} rows, first for '{empty[0]}'",
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


def _not_tac(folder: Path, tables: BeirFolder) -> int:
    """Queries whose text is not title, abstract and claims, by views.parquet or else by corpus.jsonl; white space apart."""
    texts = {key: views.join_sections(parts) for key, parts in tables.corpus.items() if key in tables.queries}
    if "TAC" in tables.views:
        texts |= {key: text for key, text in view_rows(folder, "TAC") if key in tables.queries}
    return sum((texts.get(key) or text).split() != text.split() for key, text in tables.queries.items())


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
