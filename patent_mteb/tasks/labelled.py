"""The texts and labels of WIPO-AT's label sets, as classification and clustering read them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pyarrow as pa

from patent_mteb import files
from patent_mteb.data.sources import Source
from patent_mteb.errors import DataError, NotThereError, check_columns
from patent_mteb.patents import views
from patent_mteb.recipes.label_sets import SPLITS, read_labels
from patent_mteb.recipes.wipo_at import DWPI_FIELDS, PUBLIC_FIELDS
from patent_mteb.tasks.checks import refuse_constant, say, say_unseen

__all__ = ["LabelledTexts", "labelled_texts"]

_FIELDS = (*DWPI_FIELDS, *PUBLIC_FIELDS)


@dataclass(frozen=True)
class LabelledTexts:
    """A label set with its texts: ``texts[split]`` and ``labels[split]`` run in parallel; ``classes`` is the taxonomy."""

    texts: dict[str, list[str]]
    labels: dict[str, list[list[str]]]
    classes: tuple[str, ...]


@lru_cache(maxsize=2)
def _fields(path: Path, revision: str) -> tuple[tuple[str, ...], dict[str, dict[str, str]]]:
    """The fields of the table, among which those of DWPI may be missing, and its rows."""
    there = files.parquet_schema(path).names
    names = tuple(name for name in _FIELDS if name in there or name in PUBLIC_FIELDS)
    say(path, {f"of {len(_FIELDS)} fields are missing, those of DWPI": len(_FIELDS) - len(names)})
    return names, files.table_rows(files.read_keyed(path, dict.fromkeys(names, pa.string())))


@lru_cache(maxsize=2)
def _families(path: Path, revision: str) -> dict[str, str]:
    """Family of each document, empty where ``metadata.parquet`` does not say it."""
    if not path.exists():
        return {}
    table = files.read_keyed(path)
    if "family_id" not in table.column_names:
        return {}
    check_columns(table, {"family_id": pa.string()}, path)
    return {key: family or "" for key, family in zip(table["_id"].to_pylist(), table["family_id"].to_pylist(), strict=True)}


def labelled_texts(source: Source, label_set: str, fields: tuple[str, ...]) -> LabelledTexts:
    """The texts and labels of one set and one text variant, by split.

    Raises:
        DataError: a file or column is missing, what :func:`patent_mteb.recipes.label_sets.read_labels` says, a document has no row of
            fields, two splits share a document word for word, a split is empty, or its labels teach nothing.

    Example:
        >>> from patent_mteb.data.sources import resolve
        >>> from patent_mteb.tasks.labelled import labelled_texts
        >>> from patent_mteb.tasks.wipo_at import DATA
        >>> found = labelled_texts(resolve(DATA, sample=True), "Emerging", ("title", "abstract"))
        >>> {split: len(texts) == len(found.labels[split]) for split, texts in found.texts.items()}
        {'train': True, 'validation': True, 'test': True}
    """
    path = source.path(f"labels/{label_set}.parquet")
    families = _families(source.path("metadata.parquet"), source.revision)
    rows = read_labels(source.path(), label_set, families)
    known, fields_of = _fields(source.path("fields.parquet"), source.revision)
    wanted = [name for name in fields if name in known]
    if not wanted:
        raise NotThereError(
            f"no column of {', '.join(fields)}", path=source.path("fields.parquet"), remedy="add text of DWPI, or leave out the task"
        )
    texts: dict[str, list[str]] = {split: [] for split in SPLITS}
    labels: dict[str, list[list[str]]] = {split: [] for split in SPLITS}
    homes: dict[tuple[str, ...], tuple[str, str]] = {}
    for number, row in enumerate(rows, start=1):
        found = fields_of.get(row.key)
        if found is None:
            raise DataError(f"document '{row.key}' has no row in fields.parquet", path=path, row=number, remedy="add the row")
        words = tuple(found[name] or "" for name in known)
        twin, its = homes.setdefault(words, (row.key, row.split))
        if its != row.split and any(words):
            problem = f"document '{row.key}' of the {row.split} split has the very text of '{twin}' of the {its} split"
            raise DataError(problem, path=path, row=number, remedy="assign both to one split, or delete one")
        texts[row.split].append(views.join_sections([found[name] or "" for name in wanted]))
        labels[row.split].append(row.labels)
    empty = sum(not text for part in texts.values() for text in part)
    if empty == len(rows) > 0:
        raise DataError(f"no document has text in {', '.join(wanted)}", path=source.path("fields.parquet"), remedy="fill these columns")
    without = sum(not families.get(row.key) for row in rows)
    say(
        path,
        {
            f"of {len(rows)} documents have no text in {', '.join(wanted)}": empty,
            f"of {len(rows)} documents have no family_id: their families may stand in two splits": without,
        },
    )
    for split, part in texts.items():
        if not part:
            raise DataError(f"split '{split}' is empty", path=path, remedy="the protocol needs train, validation and test documents")
    refuse_constant([", ".join(sorted(found)) for found in labels["train"]], path, "training documents")
    tested, trained = ({label for found in labels[split] for label in found} for split in ("test", "train"))
    say_unseen(tested, trained, path)
    return LabelledTexts(texts, labels, tuple(sorted({label for part in labels.values() for found in part for label in found})))
