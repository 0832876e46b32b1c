"""Label sets: each landscape of the records by its coarse labels, and each coarse category by its fine labels.

The paper's two landscapes give the paper's five sets (Table 2). Every other landscape gives one set of its coarse labels and one of the
fine labels under each coarse category that has enough documents; its sets are named after it, in CamelCase.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from patent_mteb.patents.records import Label
from patent_mteb.recipes.log import BuildLog

__all__ = ["LABEL_SETS", "HasLabels", "LabelSet", "camel_case", "label_sets"]


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
    """The words as part of a name.

    Example:
        >>> from patent_mteb.recipes.landscapes import camel_case
        >>> camel_case("green energy"), camel_case("Self-Care"), camel_case("EV")
        ('GreenEnergy', 'SelfCare', 'EV')
    """
    return "".join(word[0].upper() + word[1:] for word in re.findall(r"[^\W_]+", words))


def label_sets(patents: Sequence[HasLabels], fine_documents: int, log: BuildLog) -> list[LabelSet]:
    """The label sets of some patents; what becomes no set is counted in the log.

    Args:
        fine_documents: least number of documents of a set of fine labels.

    Example:
        >>> from patent_mteb.patents.records import Label, Patent
        >>> from patent_mteb.recipes.landscapes import label_sets
        >>> from patent_mteb.recipes.log import BuildLog
        >>> patents = [Patent(f"US{n}A", f"F{n}", labels=(Label("my area", "AB"[n % 2], "xyz"[n % 3]),)) for n in range(6)]
        >>> [one.name for one in label_sets(patents, 3, BuildLog("mine"))]
        ['MyArea', 'MyAreaA', 'MyAreaB']
    """
    coarse = _coarse(patents)
    papers = {name for name in _PAPER & coarse.keys() if coarse[name] <= _PAPER_LABELS}
    found = [one for one in LABEL_SETS if one.landscape in papers]
    for landscape in sorted(coarse.keys() - papers):
        found += _own_sets(landscape, sorted(coarse[landscape]), patents, fine_documents, {one.name for one in found}, log)
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
            why = "all have one label" if enough else f"fewer than {least} documents: fine_documents={len(rows)} takes it"
            log.step(f"0.8b labels {one.name}", len(rows), 0, f"no set: {why}")
    return chosen


def _free(name: str, taken: set[str]) -> str:
    """The name, with a number where another set has it."""
    number = 2
    free = name
    while free in taken:
        free, number = f"{name}{number}", number + 1
    return free
