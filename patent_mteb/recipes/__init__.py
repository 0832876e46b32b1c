"""Recipes: canonical records in, exactly the tables that a family publishes out.

Every recipe module offers ``build(patents, citations, root, params=Params()) -> BuildLog``. It writes below ``root`` in the
layout that :mod:`patent_mteb.data.sources` resolves (``root/<hub repository id or family name>/...``), so that a finished ``root``
can be used as ``PATENT_MTEB_DATA`` as it is. The sample is built by the same recipes as a user's own patents.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from patent_mteb.errors import DataError
from patent_mteb.patents.records import Citation, Patent

__all__ = ["RECIPES", "BuildLog", "Step", "run"]

logger = logging.getLogger(__name__)

RECIPES = ("wipo_at", "dapfam", "patenteb", "sophia", "patentmap")


@dataclass(frozen=True)
class Step:
    """One step of a recipe: how many rows went in, how many came out, and why they differ."""

    name: str
    rows_in: int
    rows_out: int
    note: str = ""


@dataclass
class BuildLog:
    """What a recipe did, step by step, and the files it wrote (relative to the root, sorted)."""

    family: str
    steps: list[Step] = field(default_factory=list)
    files: list[str] = field(default_factory=list)

    def step(self, name: str, rows_in: int, rows_out: int, note: str = "") -> None:
        """Record a step and log it."""
        self.steps.append(Step(name, rows_in, rows_out, note))
        logger.info("%s: %s: %d -> %d%s", self.family, name, rows_in, rows_out, f" ({note})" if note else "")


def run(recipe: str, patents: Sequence[Patent], citations: Sequence[Citation], root: Path, settings: Sequence[str] = ()) -> BuildLog:
    """Run a recipe by name.

    Args:
        settings: changes to the recipe's default ``Params``, as ``name=value`` with a Python literal or a date as value.

    Raises:
        DataError: an unknown recipe or setting, or input that the recipe cannot use.
    """
    if recipe not in RECIPES:
        raise DataError(f"there is no recipe '{recipe}'", remedy=f"choose one of {', '.join(RECIPES)}")
    module = importlib.import_module(f"patent_mteb.recipes.{recipe}")
    known = {spec.name: getattr(module.Params(), spec.name) for spec in dataclasses.fields(module.Params)}
    changes = {}
    for setting in settings:
        name, _, text = setting.partition("=")
        if name not in known:
            raise DataError(f"recipe {recipe} has no setting '{name}'", remedy=f"choose among {', '.join(known)}")
        kind = type(known[name])
        try:
            changes[name] = (
                json.loads(text.lower()) if kind is bool else kind.fromisoformat(text) if hasattr(kind, "fromisoformat") else kind(text)
            )
        except ValueError as error:
            raise DataError(f"setting '{setting}' is no {kind.__name__}", remedy=f"the default is {known[name]!r}") from error
    log: BuildLog = module.build(patents, citations, root, module.Params(**changes))
    return log
