"""``patent-mteb edition``: editions of the open benchmark, rebuilt from records and verified by a manifest."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from patent_mteb.cli import common
from patent_mteb.cli.app import command
from patent_mteb.cli.options import SESSION, Session, Settings

_SHOWN = 50
_RULE = "Change a rule; 'patent-mteb data build open-us --settings' lists them."


@command("edition build", "patent-mteb edition build open-us records edition --window 2023Q1 --set documents=100000")
def build(
    benchmark: str,
    records: Path,
    root: Annotated[Path, Parameter(metavar="OUT")],
    /,
    *,
    window: str,
    settings: Annotated[Settings, Parameter(help=_RULE)] = (),
    licence: str = "",
    session: Session = SESSION,
) -> int:
    """Build an edition and its manifest from records.

    Args:
        benchmark: open-us, open-us-grants (without office actions), or open-ep (cross-lingual).
        records: Records directory of 'patent-mteb data import'.
        root: Directory of the edition, for PATENT_MTEB_DATA.
        window: Office actions (open-ep: search reports) of this time: 2026, 2026Q3, 2026-07 or DAY:DAY.
        licence: Licence of the tables.
    """
    from patent_mteb.experiments import editions
    from patent_mteb.patents.collection import read_collection

    editions.window_of(window)  # refuses an invalid window before the records are read
    root = root.resolve()
    log, name = editions.build(read_collection(records), root, window, benchmark, list(settings), licence)
    common.show_steps(log)
    common.say(
        f"edition {name} in {root}; its manifest is {root / editions.MANIFEST}; use it with PATENT_MTEB_DATA={root}"
    )
    return 0


@command("edition verify", "patent-mteb edition verify manifest edition")
def verify(
    manifest: Path,
    root: Annotated[Path, Parameter(metavar="OUT")],
    /,
    *,
    show_all: Annotated[
        bool, Parameter(name="--all", help=f"Print every difference, not the first {_SHOWN} only.")
    ] = False,
    session: Session = SESSION,
) -> int:
    """Print the differences between a manifest and a rebuild.

    Args:
        manifest: The published folder 'manifest'.
        root: Directory of the rebuild.
    """
    from patent_mteb.experiments import editions

    found = editions.verify(manifest, root)
    common.result(found)
    shown = found if show_all else found[:_SHOWN]
    for difference in shown:
        common.say(difference)
    hidden = f", {len(found) - len(shown)} not shown (--all)" if len(found) > len(shown) else ""
    common.say(f"{len(found)} differences{hidden}" if found else "the same edition")
    return int(bool(found))
