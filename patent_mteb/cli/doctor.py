"""``patent-mteb doctor``: problems of the installation, the caches and a results folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter, Token

from patent_mteb.cli import common
from patent_mteb.cli.app import command
from patent_mteb.cli.options import SESSION, SEVERAL, Session, StoreFolder


def _share(_: Any, tokens: Sequence[Token]) -> float:
    """A share, as ``5%`` or ``0.05``."""
    word = tokens[0].value
    number = float(word.removesuffix("%")) / (100 if word.endswith("%") else 1)
    if not 0 < number <= 1:
        raise ValueError(f"{word} is not a share between 0 and 100%")
    return number


@command(
    "doctor", "patent-mteb doctor results", "patent-mteb doctor --fix", "patent-mteb doctor results --recompute 5%"
)
def doctor(
    results: Annotated[Path | None, Parameter(metavar="RESULTS")] = None,
    /,
    *,
    fix: bool = False,
    recompute: Annotated[float | None, Parameter(converter=_share, metavar="SHARE")] = None,
    models: Annotated[tuple[str, ...], SEVERAL, Parameter(alias="-m", metavar="MODEL...")] = (),
    store: StoreFolder = None,
    session: Session = SESSION,
) -> int:
    """Find problems of the installation, the caches and a results folder.

    Args:
        results: Results folder; without it ./results if it exists.
        fix: Quarantine unreadable files, and remove damaged and left-over ones.
        recompute: Rank this share of the queries of each retrieval result again (0.05); needs the data and the models.
        models: With --recompute: local checkpoints of results.
    """
    from patent_mteb.experiments import doctor

    findings = doctor.examine(results, store, fix=fix)
    common.result([asdict(finding) for finding in findings])
    for finding in findings:
        common.say("mended" if finding.fixed else "error", finding)
    wrong, skipped = len(findings), 0
    if recompute:
        from patent_mteb.store import default_path

        folder, store = results or Path("results"), store or default_path()
        for done in doctor.recompute(folder, recompute, models=list(models), store=store):
            common.say("error" if done.problem else "note" if done.reason else "right", done)
            wrong += bool(done.problem)
            skipped += bool(done.reason)
    if skipped:
        common.say(f"{skipped} results were not recomputed")
    common.say(f"{wrong} findings" if wrong else "all is well")
    return 1 if wrong else 0
