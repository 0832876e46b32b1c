"""The label files of a directory, ``labels/<Set>.parquet``, as ``_id``, ``split`` and ``labels``, and
``labels/taxonomy.json`` beside them.

A document, or a family, that stands in two splits is known to a classifier before it is tested: the score would be too
high, and nothing in it would show why. Whoever wrote the file can mend it, so it is refused.

Label sets: each landscape of the records by its coarse labels, and each coarse category by its fine labels.

The paper's two landscapes give the paper's five sets (Table 2). Every other landscape gives one set of its coarse
labels and one of the fine labels under each coarse category that has enough documents; its sets are named after it, in
CamelCase.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from patent_mteb.errors import DataError
from patent_mteb.files import load_json, read_parquet
from patent_mteb.patents.records import Label
from patent_mteb.recipes.log import BuildLog


class HasLabels(Protocol):
    """A patent, or what is held of one."""

    @property
    def labels(self) -> tuple[Label, ...]: ...


@dataclass(frozen=True)
class LabelSet:
    """Coarse labels of a landscape, or the fine labels under one coarse category."""

    name: str
    landscape: str
    coarse: str = ""

    def labels(self, patent: HasLabels) -> list[str]:
        """The set's labels of a patent, distinct and sorted; empty if the patent is not in the set."""
        rows = [label for label in patent.labels if label.landscape == self.landscape]
        if self.coarse:
            return sorted({label.fine for label in rows if label.coarse == self.coarse and label.fine})
        return sorted({label.coarse for label in rows if label.coarse})


LABEL_SETS = (
    LabelSet("Emerging", "Emerging"),
    LabelSet("Conventional", "Conventional"),
    LabelSet("EmergingVision", "Emerging", "Vision"),
    LabelSet("EmergingMobility", "Emerging", "Mobility"),
    LabelSet("ConventionalEnvironment", "Conventional", "Environment"),
)
"""The paper's five sets (Table 2)."""


_PAPER = {label_set.landscape for label_set in LABEL_SETS}

_PAPER_LABELS = {"Mobility", "Environment", "Self-Care", "Hearing", "Communication", "Cognition", "Vision"}
"""Its landscapes and their coarse labels (§3.1.1)."""


_UNNAMED = "Topics"


def camel_case(words: str) -> str:
    """The words as part of a name."""
    return "".join(word[0].upper() + word[1:] for word in re.findall(r"[^\W_]+", words))


def label_sets(patents: Sequence[HasLabels], fine_documents: int, log: BuildLog) -> list[LabelSet]:
    """The label sets of some patents; what becomes no set is counted in the log."""
    coarse = _coarse(patents)
    papers = {name for name in _PAPER & coarse.keys() if coarse[name] <= _PAPER_LABELS}
    found = [one for one in LABEL_SETS if one.landscape in papers]
    for landscape in sorted(coarse.keys() - papers):
        found += _own_sets(
            landscape, sorted(coarse[landscape]), patents, fine_documents, {one.name for one in found}, log
        )
    if nameless := sum(not label.coarse for patent in patents for label in patent.labels):
        log.step("0.8b labels with a coarse category", nameless, 0, "labels without one are in no set")
    return found


def _coarse(patents: Sequence[HasLabels]) -> dict[str, set[str]]:
    """The coarse labels of each landscape."""
    coarse: dict[str, set[str]] = {}
    for patent in patents:
        for label in patent.labels:
            if label.coarse:
                coarse.setdefault(label.landscape, set()).add(label.coarse)
    return coarse


def _own_sets(
    landscape: str, categories: Sequence[str], patents: Sequence[HasLabels], least: int, taken: set[str], log: BuildLog
) -> list[LabelSet]:
    """The sets of a landscape that is not the paper's; one of a single label is none."""
    stem = camel_case(landscape) or _UNNAMED
    chosen = []
    for category in ("", *categories):
        one = LabelSet(_free(stem + camel_case(category), taken), landscape, category)
        rows = [labels for patent in patents if (labels := one.labels(patent))]
        if category and not rows:
            continue
        enough = not category or len(rows) >= least
        if enough and len({label for labels in rows for label in labels}) > 1:
            taken.add(one.name)
            chosen.append(one)
        else:
            why = (
                "all have one label" if enough else f"fewer than {least} documents: fine_documents={len(rows)} takes it"
            )
            log.step(f"0.8b labels {one.name}", len(rows), 0, f"no set: {why}")
    return chosen


def _free(name: str, taken: set[str]) -> str:
    """The name, with a number where another set has it."""
    number = 2
    free = name
    while free in taken:
        free, number = f"{name}{number}", number + 1
    return free


SPLITS = ("train", "validation", "test")


_COLUMNS: dict[str, Any] = {"_id": pa.string(), "split": pa.string(), "labels": pa.list_(pa.string())}

_ONE_SPLIT = "assign all documents of a family to one split"


class Labelled(NamedTuple):
    """One row of a label file."""

    key: str
    split: str
    labels: list[str]


def refuse_straddling(rows: Mapping[str, str], families: Mapping[str, str], path: Path) -> None:
    """Stop at a family whose documents stand in two splits."""
    home: dict[str, tuple[str, str]] = {}
    for key, split in rows.items():
        if not (family := families.get(key)):
            continue
        first, its = home.setdefault(family, (key, split))
        if split != its:
            problem = f"family '{family}' straddles two splits: {first} is in {its}, {key} in {split}"
            raise DataError(problem, path=path, remedy=_ONE_SPLIT)


def label_names(folder: Path) -> list[str]:
    """The label sets of a directory, as their files are named."""
    return sorted(path.stem for path in (folder / "labels").glob("*.parquet"))


def label_files(folder: Path) -> dict[str, str]:
    """The label sets of a directory by the names that their tasks have, which are in camel case: ``green-energy`` is
    ``GreenEnergy``.
    """
    found: dict[str, str] = {}
    for name in label_names(folder):
        path, task = folder / "labels" / f"{name}.parquet", camel_case(name)
        if not task:
            raise DataError(
                "no task can be named after this label set",
                path=path,
                remedy="give the file a name of letters and digits",
            )
        if task in found:
            problem = f"the tasks of the label sets {found[task]} and {name} would both be named {task}"
            raise DataError(problem, path=path, remedy="give one of the two files another name")
        found[task] = name
    return found


def read_taxonomy(folder: Path) -> dict[str, list[str]]:
    """The labels that each set may use, by set; empty if the directory has no ``labels/taxonomy.json``."""
    path = folder / "labels" / "taxonomy.json"
    if not path.exists():
        return {}
    taxonomy = load_json(path)
    if not isinstance(taxonomy, dict):
        raise DataError(
            f"a JSON {type(taxonomy).__name__} where an object is expected", path=path, remedy="mend the file"
        )
    for name, allowed in taxonomy.items():
        if not isinstance(allowed, list) or not all(isinstance(label, str) for label in allowed):
            raise DataError(
                f"the labels of {name} are no list of strings", path=path, remedy='write {"SET": ["label", ...]}'
            )
    return taxonomy


def read_labels(folder: Path, name: str, families: Mapping[str, str]) -> list[Labelled]:
    """The rows of ``labels/<name>.parquet``, checked."""
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
