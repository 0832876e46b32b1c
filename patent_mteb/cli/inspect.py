"""``patent-mteb data inspect``: the contents of records, and the benchmarks that they make."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from patent_mteb.cli import common
from patent_mteb.cli.app import command
from patent_mteb.cli.options import SESSION, WHOLE, Session

if TYPE_CHECKING:
    from patent_mteb.experiments.inspection import Inspection, Plan

Families = Literal["given", "application", "simple", "extended"]
"""Those of :mod:`patent_mteb.patents.families`, which ``--help`` does not import."""

_WIDTH = 80


@command("data inspect", "patent-mteb data inspect records")
def inspect(
    records: Path,
    citations: Path | None = None,
    /,
    *,
    families: Families = "given",
    most: Annotated[int, WHOLE] = 3000,
    session: Session = SESSION,
) -> int:
    """Show the contents of your records, and the benchmarks and tasks that they make, before a build.

    Args:
        records: Records directory of 'patent-mteb data import', or patents.parquet, patents.jsonl.
        citations: citations.parquet or citations.jsonl, where the first is a table.
        families: Definition of a patent family.
        most: Publications on which benchmarks are tried, a connected subset of more; 0: try none.
    """
    from patent_mteb.experiments.inspection import inspect, summary
    from patent_mteb.patents.collection import read_collection

    collection = read_collection(records, citations, families)
    found = inspect(collection, most) if most > 0 else summary(collection)
    if session.json:
        common.result(found.as_json())
        return 0
    _show_records(found)
    _show_citations(found)
    if found.plans:
        _show_plans(found, [str(path) for path in (records, citations) if path])
    return 0


def _show_records(found: Inspection) -> None:
    common.say(f"{found.publications:,} publications of {found.families:,} patent families ({found.family_definition})")
    for name, (first, last) in found.dates.items():
        common.say(f"  {name.replace('_', ' ')} {first} to {last}")
    for what, counts in (("offices", found.offices), ("languages", found.languages)):
        _say_counts(what, counts)
    if found.members_without_record:
        common.say(f"  {found.members_without_record:,} further publications are known by their family only")
    if found.unreadable:
        common.say(f"  {found.unreadable:,} publication numbers are none; citations find them only if written the same")
    common.say()
    rows = [
        (has.what, f"{has.publications:,}", f"{has.families:,}", _share(has.families, found.families))
        for has in found.has
    ]
    common.show(("with", "publications", "families", "share"), rows, right=("publications", "families", "share"))
    if found.landscapes:
        common.say()
        labels = [(one.name, f"{one.publications:,}", one.coarse, one.fine) for one in found.landscapes]
        columns = ("landscape", "publications", "coarse labels", "fine labels")
        common.show(columns, labels, right=columns[1:])
    same = found.twins
    if same.groups:
        common.say()
        where = f"{same.groups:,} texts (title and abstract) occur in several families,"
        cite = f"{same.citing:,} of these cite, and a search finds their duplicates (--set twins=merge, or drop)."
        _say_wrapped("", f"{where} {same.publications:,} publications of {same.families:,} families; {cite}")


def _show_citations(found: Inspection) -> None:
    common.say()
    common.say(f"{found.citations:,} citations")
    if not found.citations:
        return
    _say_counts("categories", found.letters)
    columns = ("matched by", "links", "no record citing", "no record cited", "own family", "repeated")
    rows = [
        (
            step,
            *(
                f"{value:,}"
                for value in (one.links, one.unknown_citing, one.unknown_cited, one.own_family, one.duplicates)
            ),
        )
        for step, one in found.matching.items()
    ]
    common.show(columns, rows, right=columns[1:])
    worst = found.matching[found.step]
    if worst.unreadable:
        common.say(f"  {worst.unreadable:,} different numbers cannot be read")
    if worst.examples:
        common.say(f"  without a record: {', '.join(worst.examples[:3])}")


def _show_plans(found: Inspection, places: Sequence[str]) -> None:
    common.say()
    if found.tried_on < found.publications:
        common.say(f"tried on {found.tried_on:,} publications that cite one another; the whole has more of everything")
    rows = [row for plan in found.plans for row in _plan_rows(plan)]
    right = ("tasks", "queries or rows", "texts to encode")
    common.show(("benchmark", "type", *right), rows, right=right)
    for plan in found.plans:
        common.say()
        if not plan.possible:
            _say_wrapped(f"{plan.benchmark} cannot be built: ", plan.problem.removeprefix(f"{plan.benchmark}: "))
        else:
            few = f" ({plan.queries:,} queries or rows of its headline task are few)" if plan.few else ""
            common.say(f"{plan.benchmark}{few}:")
            matched = [] if found.step == "number" else [f"match={found.step}"]
            matched += [] if found.family_definition == "given" else [f"families={found.family_definition}"]
            settings = [f"--set {shlex.quote(setting)}" for setting in (*matched, *plan.settings)]
            _say_command([f"patent-mteb data build {plan.recipe}", *map(shlex.quote, places), "--out ROOT", *settings])
        if plan.lacking:
            _say_wrapped(
                "  no record has ", "; ".join(f"{field} (for {serves})" for field, serves in plan.lacking.items())
            )


def _plan_rows(plan: Plan) -> Iterator[tuple[str, ...]]:
    types = dict.fromkeys(task.type for task in plan.tasks)
    for row, kind in enumerate(types):
        sizes = [task.queries for task in plan.tasks if task.type == kind]
        counts = f"{min(sizes):,}" + (f" to {max(sizes):,}" if max(sizes) > min(sizes) else "")
        yield (
            plan.benchmark if not row else "",
            kind,
            f"{len(sizes)}",
            counts,
            f"{plan.distinct_texts:,}" if not row else "",
        )
    if not types:
        yield plan.benchmark, "", f"0 of {plan.all_tasks}", "", ""


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else ""


def _say_counts(what: str, counts: Mapping[str, int]) -> None:
    if set(counts) - {""}:
        _say_wrapped(f"  {what}: ", ", ".join(f"{name or 'not said'} {count:,}" for name, count in counts.items()))


def _lines(words: Iterable[str], first: str, others: str, margin: int = 0) -> Iterator[str]:
    """Yield the words in lines of the width of a terminal less a margin; a longer word has its own line."""
    line = first
    for word in words:
        if line.strip() and len(line) + len(word) + 1 + margin > _WIDTH:
            yield line
            line = others
        line += word if line.endswith(" ") or not line else f" {word}"
    yield line


def _say_wrapped(head: str, text: str) -> None:
    for line in _lines(text.split(), head, "    "):
        common.say(line)


def _say_command(words: Sequence[str]) -> None:
    """Print a command that can be pasted: all lines but the last end with a backslash."""
    *lines, last = _lines(words, "  ", "    ", margin=2)
    for line in lines:
        common.say(f"{line} \\")
    common.say(last)
