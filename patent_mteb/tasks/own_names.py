"""A benchmark's tasks on somebody's own data, under that data set's name.

``dataset.json`` says the name. ``PatentCitationRetrieval`` on the data set Acme is ``AcmeCitationRetrieval``,
``PatentDAPFAMTAToTARetrieval`` is ``AcmeDAPFAMTAToTARetrieval``: the same tables, texts, search and scores, and nothing
of the paper's data: no reference, no published rows, no protocol of the paper beside the suite's.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from mteb.types import Licenses

from patent_mteb.data.loading import DataSet
from patent_mteb.data.roots import Own
from patent_mteb.models import prompts
from patent_mteb.tasks.benchmark import Facts

if TYPE_CHECKING:
    from patent_mteb.tasks.base import PatentTask


_Task = TypeVar("_Task", bound="PatentTask")


_OWNED: dict[tuple[type, Own, Path | None], type] = {}


def own_name(facts: Facts, task: str, name: str) -> str:
    """What a task, or a benchmark's prefix, is called on the data set of this name; one that is called after the
    benchmark (an edition of it) stands in place of the benchmark's whole name.
    """
    words = (facts.name, *facts.replaced) if name.startswith(facts.name) else facts.replaced
    outer = next((word for word in words if task.startswith(word)), "")
    return name + task.removeprefix(outer)


def own_data(facts: Facts, data: DataSet, name: str) -> DataSet:
    """A benchmark's data set as results and reports call it when it holds own data; it is released nowhere."""
    organisation, _, table = data.key.rpartition("/")
    benchmark = own_name(facts, facts.name, name)
    return DataSet(f"{benchmark}/{table}" if organisation else benchmark, "")


def own_facts(facts: Facts, own: Own) -> Facts:
    """The record of a benchmark's tasks on own data."""

    def named(task: str) -> str:
        return own_name(facts, task, own.name)

    return replace(
        facts,
        name=own_name(facts, facts.name, own.name),
        description=_whose(own),
        reference=None,
        bibtex="",
        license=_licence(own),
        prefix=named(facts.prefix),
        headline=named(facts.headline) if facts.headline else "",
        short_names={named(task): short for task, short in facts.short_names.items()},
        domain_tasks={
            named(task): {side: named(part) for side, part in sides.items()}
            for task, sides in facts.domain_tasks.items()
        },
        section_grid={named(task): cell for task, cell in facts.section_grid.items()},
        prompt_rows=(),
        paper="",
        paper_queries=0,
    )


def owned(task: type[_Task], own: Own, root: Path | None) -> type[_Task]:
    """The class of a task on own data, the same one for the same arguments."""
    key = (task, own, root)
    if key not in _OWNED:
        facts = own_facts(task.facts, own)
        metadata = _metadata(task, facts, own)
        name = metadata.name.replace(".", "_")
        attributes = {"__module__": __name__, "__doc__": metadata.description, "metadata": metadata, "facts": facts}
        _OWNED[key] = type(name, (task,), {**attributes, "own": own, "root": root, "published_as": task})
        _module().__dict__[name] = _OWNED[key]  # where it is looked for when it is unpickled
        prompts.same_row(metadata.name, task.metadata.name)
    return _OWNED[key]


def _module() -> ModuleType:
    return sys.modules[__name__]


def _metadata(task: type[PatentTask], facts: Facts, own: Own) -> Any:
    known, subject = task.metadata, task.facts.subject
    description = f"{known.description.replace(subject, '')} Data: {_whose(own)}"
    if own.deviations:
        description += f" Unlike the benchmark whose rules they follow: {'; '.join(own.deviations)}."
    data = own_data(task.facts, task.data, own.name)
    return known.model_copy(
        update={
            "name": own_name(task.facts, known.name, own.name),
            "description": description,
            "prompt": _without(subject, known.prompt),
            "reference": None,
            "bibtex_citation": "",
            "license": facts.license,
            "dataset": {"path": data.key, "revision": "own"},
            "adapted_from": None,
        }
    )


def _without(subject: str, prompt: Any) -> Any:
    """An instruction, or one for each role, without the words on the paper's landscape."""
    if not subject:
        return prompt
    if isinstance(prompt, Mapping):
        return {role: text.replace(subject, "") for role, text in prompt.items()}
    return prompt.replace(subject, "") if isinstance(prompt, str) else prompt


def _whose(own: Own) -> str:
    said = f"the data set {own.name}, version {own.version}"
    said += f", of {own.owner.rstrip('.')}" if own.owner else ""
    said += f" (licence: {own.licence})" if own.licence else ""
    return f"{said[0].upper()}{said[1:]}."


def _licence(own: Own) -> str | None:
    """The licence if mteb has a word for it."""
    return own.licence.lower() if own.licence.lower() in get_args(Licenses) else None
