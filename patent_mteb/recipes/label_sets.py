"""The label files of a directory, ``labels/<Set>.parquet``, as ``_id``, ``split`` and ``labels``, and ``labels/taxonomy.json`` beside them.

A document, or a family, that stands in two splits is known to a classifier before it is tested: the score would be too high, and
nothing in it would show why. Whoever wrote the file can mend it, so it is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from patent_mteb.errors import DataError
from patent_mteb.files import load_json, read_parquet
from patent_mteb.recipes.landscapes import camel_case

__all__ = ["SPLITS", "Labelled", "label_files", "label_names", "read_labels", "read_taxonomy", "refuse_straddling"]

SPLITS = ("train", "validation", "test")

_COLUMNS: dict[str, Any] = {"_id": pa.string(), "split": pa.string(), "labels": pa.list_(pa.string())}
_ONE_SPLIT = "assign all documents of a family to one split"


class Labelled(NamedTuple):
    """One row of a label file."""

    key: str
    split: str
    labels: list[str]


def refuse_straddling(rows: Mapping[str, str], families: Mapping[str, str], path: Path) -> None:
    """Stop at a family whose documents stand in two splits.

    Args:
        rows: split by document.
        families: family by document, empty or missing where unknown.

    Raises:
        DataError: there is one; names it and a document in each split.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.recipes.label_sets import refuse_straddling
        >>> refuse_straddling({"d1": "train", "d2": "test"}, {"d1": "F1", "d2": "F2"}, Path("metadata.parquet"))
    """
    home: dict[str, tuple[str, str]] = {}
    for key, split in rows.items():
        if not (family := families.get(key)):
            continue
        first, its = home.setdefault(family, (key, split))
        if split != its:
            problem = f"family '{family}' straddles two splits: {first} is in {its}, {key} in {split}"
            raise DataError(problem, path=path, remedy=_ONE_SPLIT)


def label_names(folder: Path) -> list[str]:
    """The label sets of a directory, as their files are named.

    Example:
        >>> from patent_mteb.data.sources import sample_root
        >>> from patent_mteb.recipes.label_sets import label_names
        >>> label_names(sample_root("wipo_at") / "WIPO-AT")[:2]
        ['Conventional', 'ConventionalEnvironment']
    """
    return sorted(path.stem for path in (folder / "labels").glob("*.parquet"))


def label_files(folder: Path) -> dict[str, str]:
    """The label sets of a directory by the names that their tasks have, which are in camel case: ``green-energy`` is ``GreenEnergy``.

    Raises:
        DataError: two sets that would have one name, or one whose file name holds no letter and no digit.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.files import write_text
        >>> from patent_mteb.recipes.label_sets import label_files
        >>> _ = write_text(Path("mine/labels/green-energy.parquet"), "")
        >>> label_files(Path("mine"))
        {'GreenEnergy': 'green-energy'}
    """
    found: dict[str, str] = {}
    for name in label_names(folder):
        path, task = folder / "labels" / f"{name}.parquet", camel_case(name)
        if not task:
            raise DataError("no task can be named after this label set", path=path, remedy="give the file a name of letters and digits")
        if task in found:
            problem = f"the tasks of the label sets {found[task]} and {name} would both be named {task}"
            raise DataError(problem, path=path, remedy="give one of the two files another name")
        found[task] = name
    return found


def read_taxonomy(folder: Path) -> dict[str, list[str]]:
    """The labels that each set may use, by set; empty if the directory has no ``labels/taxonomy.json``.

    Raises:
        DataError: no object of lists of strings.

    Example:
        >>> from patent_mteb.data.sources import sample_root
        >>> from patent_mteb.recipes.label_sets import read_taxonomy
        >>> sorted(read_taxonomy(sample_root("wipo_at") / "WIPO-AT"))[0]
        'Conventional'
    """
    path = folder / "labels" / "taxonomy.json"
    if not path.exists():
        return {}
    taxonomy = load_json(path)
    if not isinstance(taxonomy, dict):
        raise DataError(f"a JSON {type(taxonomy).__name__} where an object is expected", path=path, remedy="mend the file")
    for name, allowed in taxonomy.items():
        if not isinstance(allowed, list) or not all(isinstance(label, str) for label in allowed):
            raise DataError(f"the labels of {name} are no list of strings", path=path, remedy='write {"SET": ["label", ...]}')
    return taxonomy


def read_labels(folder: Path, name: str, families: Mapping[str, str]) -> list[Labelled]:
    """The rows of ``labels/<name>.parquet``, checked.

    Args:
        families: family by document, empty or missing where unknown.

    Raises:
        DataError: missing file or column, an id that is missing or occurs twice (in two splits above all), an unknown split, a
            document without label, an empty label or one outside the taxonomy, or a family in two splits.

    Example:
        >>> from patent_mteb.data.sources import sample_root
        >>> from patent_mteb.recipes.label_sets import read_labels
        >>> sorted({row.split for row in read_labels(sample_root("wipo_at") / "WIPO-AT", "Emerging", {})})
        ['test', 'train', 'validation']
    """
    path = folder / "labels" / f"{name}.parquet"
    allowed = read_taxonomy(folder).get(name)
    seen: dict[str, tuple[int, str]] = {}
    found = []
    for number, record in enumerate(read_parquet(path, _COLUMNS).to_pylist(), start=1):
        key, split, labels = record["_id"], record["split"], record["labels"]
        problem = remedy = ""
        if not key:
            problem, remedy = "_id is empty", "name the document"
        elif split not in SPLITS:
            problem, remedy = f"split '{split}' of '{key}' is none of {', '.join(SPLITS)}", "correct the split"
        elif key in seen:
            first, its = seen[key]
            two = f"in the splits {its} and {split}" if its != split else "twice"
            problem, remedy = f"document '{key}' occurs {two} (first in row {first})", "keep one of the two rows"
        elif not labels:
            problem, remedy = f"document '{key}' has no label", "label it or delete the row"
        elif wrong := [label for label in labels if not (label or "").strip()]:
            problem, remedy = f"a label of '{key}' is {'null' if wrong[0] is None else 'empty'}", "correct the labels"
        elif allowed is not None and (strange := [label for label in labels if label not in allowed]):
            problem = f"label '{strange[0]}' of '{key}' is outside the taxonomy of {name}"
            remedy = "correct the label or add it to taxonomy.json"
        if problem:
            raise DataError(problem, path=path, row=number, remedy=remedy)
        seen[key] = number, split
        found.append(Labelled(key, split, list(dict.fromkeys(labels))))
    refuse_straddling({row.key: row.split for row in found}, families, path)
    return found
