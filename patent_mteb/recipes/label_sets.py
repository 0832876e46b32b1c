"""Label sets of WIPO-AT, and their files.

The paper's two landscapes give the paper's five sets (Table 2). Every other landscape gives a set of its coarse labels,
and a set of the fine labels of each coarse category with enough documents. These sets are named after the landscape, in
CamelCase.

A set is the file ``labels/<Set>.parquet`` with the columns ``_id``, ``split`` and ``labels``. ``labels/taxonomy.json``
lists the labels that each set may use. A document or a family in two splits is refused, because its label in the
training split would inflate the score.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from patent_mteb.errors import DataError
from patent_mteb.files import load_json, read_parquet
from patent_mteb.patents.records import Label
from patent_mteb.recipes.steps import BuildLog


@dataclass(frozen=True)
class LabelSet:
    """The coarse labels of a landscape, or the fine labels of one coarse category."""

    name: str
    landscape: str
    coarse: str = ""

    def labels(self, labels: Sequence[Label]) -> list[str]:
        """Return the distinct ones of some labels that are in this set, sorted."""
        rows = [label for label in labels if label.landscape == self.landscape]
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

_PAPER_LANDSCAPES = {label_set.landscape for label_set in LABEL_SETS}
_PAPER_LABELS = {"Mobility", "Environment", "Self-Care", "Hearing", "Communication", "Cognition", "Vision"}
"""The coarse labels of the paper's landscapes (§3.1.1)."""

_UNNAMED = "Topics"


def camel_case(words: str) -> str:
    """Join words to a name."""
    return "".join(word[0].upper() + word[1:] for word in re.findall(r"[^\W_]+", words))


def label_sets(labels_of: Sequence[Sequence[Label]], fine_documents: int, log: BuildLog) -> list[LabelSet]:
    """Return the label sets of documents with these labels; labels outside every set are logged."""
    coarse: dict[str, set[str]] = {}
    for label in (label for labels in labels_of for label in labels if label.coarse):
        coarse.setdefault(label.landscape, set()).add(label.coarse)
    papers = {name for name in _PAPER_LANDSCAPES & coarse.keys() if coarse[name] <= _PAPER_LABELS}
    found = [one for one in LABEL_SETS if one.landscape in papers]
    for landscape in sorted(coarse.keys() - papers):
        used = {one.name for one in found}
        found += _landscape_sets(landscape, sorted(coarse[landscape]), labels_of, fine_documents, used, log)
    if nameless := sum(not label.coarse for labels in labels_of for label in labels):
        log.step("0.8b labels with a coarse category", nameless, 0, "labels without one are in no set")
    return found


def _landscape_sets(
    landscape: str,
    categories: Sequence[str],
    labels_of: Sequence[Sequence[Label]],
    least: int,
    used: set[str],
    log: BuildLog,
) -> list[LabelSet]:
    """Return the sets, each with two labels or more, of a landscape of the user."""
    stem = camel_case(landscape) or _UNNAMED
    chosen = []
    for category in ("", *categories):
        name = stem + camel_case(category)
        numbered = (f"{name}{number}" for number in count(2))
        one = LabelSet(next(free for free in chain([name], numbered) if free not in used), landscape, category)
        rows = [found for labels in labels_of if (found := one.labels(labels))]
        if category and not rows:
            continue
        enough = not category or len(rows) >= least
        if enough and len({label for labels in rows for label in labels}) > 1:
            used.add(one.name)
            chosen.append(one)
        else:
            too_few = f"fewer than {least} documents: fine_documents={len(rows)} takes it"
            why = "all have one label" if enough else too_few
            log.step(f"0.8b labels {one.name}", len(rows), 0, f"no set: {why}")
    return chosen


SPLITS = ("train", "validation", "test")
LABEL_COLUMNS: dict[str, Any] = {"_id": pa.string(), "split": pa.string(), "labels": pa.list_(pa.string())}
_ONE_SPLIT = "assign all documents of a family to one split"


class Labelled(NamedTuple):
    """A row of a label file."""

    key: str
    split: str
    labels: list[str]


def refuse_straddling(keys: Iterable[str], families: Iterable[str], splits: Iterable[str], path: Path) -> None:
    """Refuse a family with documents in two splits; documents without a family or a split are skipped."""
    seen: dict[str, tuple[str, str]] = {}
    for key, family, split in zip(keys, families, splits, strict=True):
        if not family or not split:
            continue
        first, its_split = seen.setdefault(family, (key, split))
        if split != its_split:
            where = f"{first} is in {its_split}, {key} in {split}"
            raise DataError(f"family '{family}' straddles two splits: {where}", path=path, remedy=_ONE_SPLIT)


def label_names(folder: Path) -> list[str]:
    """Return the label sets of a directory by their file names."""
    return sorted(path.stem for path in (folder / "labels").glob("*.parquet"))


def label_files(folder: Path) -> dict[str, str]:
    """Return file names by names in tasks: ``GreenEnergy`` for ``green-energy``."""
    found: dict[str, str] = {}
    for name in label_names(folder):
        path, task = folder / "labels" / f"{name}.parquet", camel_case(name)
        if not task:
            problem, remedy = "no task can be named after this label set", "give the file a name of letters and digits"
            raise DataError(problem, path=path, remedy=remedy)
        if task in found:
            problem = f"the tasks of the label sets {found[task]} and {name} would both be named {task}"
            raise DataError(problem, path=path, remedy="give one of the two files another name")
        found[task] = name
    return found


def read_taxonomy(folder: Path) -> dict[str, list[str]]:
    """Read the labels of each set in ``labels/taxonomy.json``, which is optional."""
    path = folder / "labels" / "taxonomy.json"
    if not path.exists():
        return {}
    taxonomy = load_json(path)
    if not isinstance(taxonomy, dict):
        problem = f"a JSON {type(taxonomy).__name__} where an object is expected"
        raise DataError(problem, path=path, remedy="correct the file")
    for name, allowed in taxonomy.items():
        if not isinstance(allowed, list) or not all(isinstance(label, str) for label in allowed):
            problem = f"the labels of {name} are not a list of strings"
            raise DataError(problem, path=path, remedy='write {"SET": ["label", ...]}')
    return taxonomy


def read_labels(folder: Path, name: str, families: Mapping[str, str]) -> list[Labelled]:
    """Read and check the rows of ``labels/<name>.parquet``."""
    path = folder / "labels" / f"{name}.parquet"
    allowed = read_taxonomy(folder).get(name)
    seen: dict[str, tuple[int, str]] = {}
    found = []
    for number, record in enumerate(read_parquet(path, LABEL_COLUMNS).to_pylist(), start=1):
        key, split, labels = record["_id"], record["split"], record["labels"]
        problem = remedy = ""
        if not key:
            problem, remedy = "_id is empty", "name the document"
        elif split not in SPLITS:
            problem, remedy = f"split '{split}' of '{key}' is none of {', '.join(SPLITS)}", "correct the split"
        elif key in seen:
            first, first_split = seen[key]
            two = f"in the splits {first_split} and {split}" if first_split != split else "twice"
            problem, remedy = f"document '{key}' occurs {two} (first in row {first})", "keep one of the two rows"
        elif not labels:
            problem, remedy = f"document '{key}' has no label", "label it or delete the row"
        elif wrong := [label for label in labels if not (label or "").strip()]:
            problem, remedy = f"a label of '{key}' is {'null' if wrong[0] is None else 'empty'}", "correct the labels"
        elif allowed is not None and (unknown := [label for label in labels if label not in allowed]):
            problem = f"label '{unknown[0]}' of '{key}' is outside the taxonomy of {name}"
            remedy = "correct the label or add it to taxonomy.json"
        if problem:
            raise DataError(problem, path=path, row=number, remedy=remedy)
        seen[key] = number, split
        found.append(Labelled(key, split, list(dict.fromkeys(labels))))
    keys = [row.key for row in found]
    refuse_straddling(keys, (families.get(key) or "" for key in keys), (row.split for row in found), path)
    return found
