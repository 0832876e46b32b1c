"""``patent-mteb edition``: editions of the open benchmark, built by anyone and compared with a published manifest."""

from __future__ import annotations

import argparse
from pathlib import Path

from patent_mteb.cli import common

HELP = "build an edition of the open benchmark with its manifest, or compare a rebuild with a published one"
EXAMPLES: tuple[str, ...] = (
    "patent-mteb edition build open-us records edition --window 2023Q1 --set documents=100000",
    "patent-mteb edition verify manifest edition",
)
_SHOWN = 50


def arguments(parser: argparse.ArgumentParser) -> None:
    steps = parser.add_subparsers(
        required=True, metavar="STEP", dest="step", help="build an edition, or verify a rebuild"
    )
    build = steps.add_parser("build", help="records in, an edition and its manifest out", formatter_class=common.Help)
    build.add_argument("benchmark", help="open-us, open-us-grants (without office actions), or open-ep (cross-lingual)")
    build.add_argument("records", type=Path, help="a records directory, as patent-mteb import writes it")
    build.add_argument("root", type=Path, metavar="OUT", help="directory of the edition, for PATENT_MTEB_DATA")
    build.add_argument(
        "--window",
        required=True,
        help=(
            "office actions (open-ep: search reports) of a year, quarter, month or of days: 2026, 2026Q3, 2026-07,"
            " DAY:DAY"
        ),
    )
    build.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="change a rule; 'patent-mteb build open-us --settings'",
    )
    build.add_argument("--licence", default="", help="what others may do with the tables")
    verify = steps.add_parser(
        "verify", help="name what differs between a manifest and a rebuild", formatter_class=common.Help
    )
    verify.add_argument("manifest", type=Path, help="the folder 'manifest' that was published")
    verify.add_argument("root", type=Path, metavar="OUT", help="the directory of the rebuild")
    verify.add_argument("--all", action="store_true", help=f"print every difference, not the first {_SHOWN}")
    for step in (build, verify):
        common.add_verbosity(step, step=True)


def main(args: argparse.Namespace) -> int:
    from patent_mteb.experiments import editions
    from patent_mteb.patents.collection import read_collection

    if args.step == "verify":
        found = editions.verify(args.manifest, args.root)
        for difference in found if args.all else found[:_SHOWN]:
            common.say(difference)
        left = 0 if args.all else max(len(found) - _SHOWN, 0)
        common.say(
            f"{len(found)} differences" + (f", {left} not shown (--all)" if left else "")
            if found
            else "the same edition"
        )
        return int(bool(found))
    editions.window_of(args.window)  # a wrong word shall not wait for the records
    root = args.root.resolve()
    log, name = editions.build(read_collection(args.records), root, args.window, args.benchmark, args.set, args.licence)
    common.show(
        ("step", "in", "out", "note"),
        [(step.name, step.rows_in, step.rows_out, step.note) for step in log.steps],
        right=("in", "out"),
    )
    common.say(
        f"edition {name} in {root}; its manifest is {root / editions.MANIFEST}; use it with PATENT_MTEB_DATA={root}"
    )
    return 0
