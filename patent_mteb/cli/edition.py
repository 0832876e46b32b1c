"""``patent-mteb edition``: editions of the open benchmark, built from records, rebuilt and verified by a manifest."""

from __future__ import annotations

from dataclasses import asdict
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
    collection, sources = read_collection(records), editions.sources_of(records)
    log, name = editions.build(collection, root, window, benchmark, list(settings), licence, sources)
    common.show_steps(log)
    common.say(
        f"edition {name} in {root}; its manifest is {root / editions.MANIFEST}; use it with PATENT_MTEB_DATA={root}"
    )
    return 0


@command("edition rebuild", "patent-mteb edition rebuild manifest records edition")
def rebuild(
    manifest: Path,
    records: Path,
    root: Annotated[Path, Parameter(metavar="OUT")],
    /,
    *,
    session: Session = SESSION,
) -> int:
    """Build an edition from its manifest, with the texts of your records, and print the differences.

    Args:
        manifest: The published folder 'manifest'.
        records: Records directory with the full text of the publications; its citations are not used.
        root: Directory of the rebuild, for PATENT_MTEB_DATA.
    """
    from patent_mteb.experiments import editions
    from patent_mteb.patents.collection import read_collection

    root = root.resolve()
    log, missing = editions.rebuild(manifest, read_collection(records), root, editions.sources_of(records))
    common.show_steps(log)
    if missing:
        common.warn(f"{len(missing)} publications of the manifest have no text here: {'; '.join(missing[:5])}")
    return _show(editions.verify(manifest, root), every=False)


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

    return _show(editions.verify(manifest, root), every=show_all)


def _show(found: list[str], *, every: bool) -> int:
    common.result(found)
    shown = found if every else found[:_SHOWN]
    for difference in shown:
        common.say(difference)
    hidden = f", {len(found) - len(shown)} not shown (--all)" if len(found) > len(shown) else ""
    common.say(f"{len(found)} differences{hidden}" if found else "the same edition")
    return int(bool(found))


@command("edition audit", "patent-mteb edition audit PANORAMA", "patent-mteb edition audit PANORAMA --edition edition")
def audit(
    actions: Path,
    /,
    *,
    edition: Annotated[Path | None, Parameter(help="Compare the judgements of this edition, too.")] = None,
    session: Session = SESSION,
) -> int:
    """Print precision and recall of the rules of judgement against office actions that experts parsed.

    Args:
        actions: Folder with 'parsed_CTNF' and 'record' of PANORAMA.
    """
    from patent_mteb.experiments import label_audit

    read = label_audit.read_actions(actions)
    rows = label_audit.audit(read, edition)
    common.result([asdict(row) | {"precision": row.precision, "recall": row.recall} for row in rows])
    numbers = ("ours", "experts", "both", "precision", "recall")
    cells = [[row.rule, *(_cell(getattr(row, name)) for name in numbers)] for row in rows]
    common.show(("rule", *numbers), cells, right=numbers)
    with_text = sum(one.text is not None for one in read)
    common.say(f"{len(read)} office actions, {with_text} of them with their text; the first two rules need it")
    return 0


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)
