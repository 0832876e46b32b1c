"""The labels of the sample's families: what the thing is, what problem it solves, and for some of them what it does for people.

The first two follow from the field and the problem, which every text is about; a classifier finds them nearly always. The third is a
matter of judgement, as in a real taxonomy: half of the families of which a principle does what the aids of another category do are also
filed there. Texts speak of the principle either way, so that no classifier of texts can be right about all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from patent_mteb.patents.records import Label
from patent_mteb.sample.dice import Dice
from patent_mteb.sample.vocabulary import Field, Principle, Problem

__all__ = ["SERVES", "by_function", "by_subject"]

SERVES = {
    "array": "Vision",
    "echo": "Vision",
    "differential": "Hearing",
    "filter": "Hearing",
    "confirm": "Communication",
    "intention": "Communication",
    "counterbalance": "Mobility",
    "feedback": "Mobility",
    "selflock": "Mobility",
    "redundancy": "Environment",
    "wakeup": "Environment",
    "ramping": "Environment",
    "magnet": "Self-Care",
    "modular": "Self-Care",
    "wicking": "Self-Care",
    "personal": "Cognition",
}
"""Principle -> the category whose aids work by it."""
FILED_TWICE = 0.5
"""Chance that a family is filed in the category that one of its two principles serves."""


def by_subject(family_field: Field, problem: Problem, also: Problem | None, also_field: Field, dice: Dice) -> tuple[Label, ...]:
    """Labels in both landscapes: the field's and the problem's own, and those of the second problem.

    The labels of the field's own coarse category are always in the majority.

    Example:
        >>> from patent_mteb.sample.dice import Dice
        >>> from patent_mteb.sample.labels import by_subject
        >>> from patent_mteb.sample.vocabulary import load
        >>> chair = load().fields[0]
        >>> {label.coarse for label in by_subject(chair, chair.problems[0], None, chair, Dice("example"))}
        {'Mobility'}
    """
    if not family_field.conventional or dice.chance(0.01):
        return ()
    modern = bool(family_field.emerging) and dice.chance(0.72 if problem.emerging else 0.5)
    classic = not modern or dice.chance(0.4)
    labels: list[Label] = []

    def add(landscape: str, coarse: str, fine: str) -> None:
        label = Label(landscape, coarse, fine)
        if fine and label not in labels:
            labels.append(label)

    if classic:
        coarse, fine = family_field.conventional
        add("Conventional", coarse, fine)
        add("Conventional", coarse, problem.fine)
    if modern:
        coarse, fine = family_field.emerging
        add("Emerging", coarse, fine)
        add("Emerging", coarse, problem.emerging)
    if also is not None and (also_field.coarse == family_field.coarse or len(labels) > 1):
        if classic:
            add("Conventional", also_field.coarse, also.fine)
        elif also_field.emerging:
            add("Emerging", also_field.coarse, also.emerging)
    return tuple(labels)


def by_function(labels: Sequence[Label], principles: Sequence[Principle], fields: Sequence[Field], dice: Dice) -> tuple[Label, ...]:
    """The labels, and with a chance of a half for each principle one more in each landscape: of a field of the category that it serves.

    Args:
        labels: of :func:`by_subject`, own category first; it stays in the majority.
        principles: the family's, the main one first.
        fields: all of them; the first of the category that knows the principle gives the fine label.

    Example:
        >>> from patent_mteb.patents.records import Label
        >>> from patent_mteb.sample.dice import Dice
        >>> from patent_mteb.sample.labels import by_function
        >>> from patent_mteb.sample.vocabulary import load
        >>> own = [Label("Emerging", "Mobility", "Exoskeletons"), Label("Emerging", "Mobility", "Exoskeleton control")]
        >>> by_function(own, [load().principles["echo"]], load().fields, Dice("example 3"))[-1]
        Label(landscape='Emerging', coarse='Vision', fine='Wearable displays')
    """
    found = list(labels)
    for principle in principles:
        category = SERVES.get(principle.id)
        if not dice.chance(FILED_TWICE) or not category or not labels:
            continue
        homes = [field for field in fields if principle.id in field.principles]
        for landscape in dict.fromkeys(label.landscape for label in labels):
            kinds = (field.emerging if landscape == "Emerging" else field.conventional for field in homes)
            fine = next((fine for coarse, fine in filter(None, kinds) if coarse == category), "")
            counts = Counter(label.coarse for label in found)
            if fine and category != labels[0].coarse and counts[labels[0].coarse] > counts[category] + 1:
                found.append(Label(landscape, category, fine))
    return tuple(dict.fromkeys(found))
