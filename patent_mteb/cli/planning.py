"""What ``patent-mteb run --dry-run`` prints."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from patent_mteb.cli import common, models

if TYPE_CHECKING:
    from mteb.abstasks import AbsTask

    from patent_mteb.experiments.plan import Plan


_UNCOUNTED = ("section_tags", "dims", "passages", "fuse", "rerank", "layers", "input")
"""Options that make another system of the model; the plan is that of the model alone on whole texts."""


def show(args: argparse.Namespace, tasks: Sequence[AbsTask]) -> int:
    """Print the plan of a run and return the exit status: 1 where data are missing."""
    from patent_mteb.experiments.plan import plan

    found = plan(_model(args), tasks, args.out, encode_kwargs=models.encode_kwargs(args))
    if args.json:
        common.say(json.dumps(asdict(found), indent=2, ensure_ascii=False))
    else:
        _print(found, [name for name in _UNCOUNTED if getattr(args, name)])
    return int(any(task.status == "missing" for task in found.tasks))


def _model(args: argparse.Namespace) -> Any:
    from mteb.models import EncoderProtocol

    from patent_mteb.store import stored

    model = models.load_model(args, layers=None, input=None)
    folder = models.store_folder(args)
    return stored(model, folder) if folder is not None and isinstance(model, EncoderProtocol) else model


def _print(plan: Plan, uncounted: Sequence[str]) -> None:
    common.say(plan.model)
    common.show(
        ("task", "plan", "texts", "new"),
        [(row.task, row.status, row.texts, row.new) for row in plan.tasks],
        right=("texts", "new"),
    )
    for line in _summary(plan):
        common.say(line)
    if uncounted:
        common.say(f"Counted for -m alone on whole texts, without --{', --'.join(uncounted).replace('_', '-')}.")
    for line in common.by_reason((row.task, row.reason) for row in plan.tasks if row.reason):
        common.warn(f"  {line}")


def _summary(plan: Plan) -> Iterator[str]:
    yield f"{plan.distinct} distinct texts, {plan.stored} of them in the store, {plan.distinct - plan.stored} to encode"
    if plan.seconds is not None:
        yield f"about {plan.seconds / 60:.1f} min of encoding, by a probe"
    if plan.disk:
        free = "" if plan.disk_free is None else f" ({plan.disk_free / 1e9:.1f} GB are free there)"
        yield f"{plan.disk / 1e6:.1f} MB on disk for the store{free}"
    yield f"at least {plan.memory / 1e6:.1f} MB of memory for the texts and vectors of the largest task"
