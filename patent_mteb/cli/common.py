"""Printing: the two streams, tables, lines and warnings, with control characters written out, and ``--json``."""

from __future__ import annotations

import atexit
import io
import json
import os
import re
import shlex
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook, RenderResult
from rich.segment import Segment
from rich.text import Text

from patent_mteb.report.words import visible

if TYPE_CHECKING:
    from patent_mteb.recipes.steps import BuildLog

_NAMED = 3  # names printed before a reason that many tasks share; --json names all


class _Literal(RenderHook):
    """Escape the control characters of everything that is printed, log lines and tables included."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Shown(renderable) for renderable in renderables]


class _Shown:
    def __init__(self, renderable: ConsoleRenderable) -> None:
        self.renderable = renderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self.renderable, options):
            yield segment if segment.control else Segment(visible(segment.text, lines=True), segment.style)


class Terminal(Console):
    """A console that escapes control characters and ignores a closed pipe."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.push_render_hook(_Literal())

    def on_broken_pipe(self) -> None:
        self.quiet = True
        _discard(sys.stderr if self.stderr else sys.stdout)


_PIPE_WIDTH = 200  # a choice: wider than terminals, so that few lines of a file are broken
console = Terminal(width=None if sys.stdout is not None and sys.stdout.isatty() else _PIPE_WIDTH)
messages = Terminal(stderr=True)


@dataclass
class _Document:
    """What a command shows and says under ``--json``."""

    result: Any = None
    tables: list[list[dict[str, object]]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


_document: _Document | None = None


def version() -> str:
    """Return the version of the package; its module reads Arrow files, which the help does not need."""
    from patent_mteb import identity

    return identity.version()


def begin(as_json: bool) -> None:
    """Begin the output of a command: text, or a document that :func:`finish` prints."""
    global _document
    _document = _Document() if as_json else None
    console.quiet = as_json
    if sys.stdout is None or not sys.stdout.isatty():  # a pipe is as wide as COLUMNS says
        columns = os.environ.get("COLUMNS", "")
        console.width = int(columns) if columns.isdecimal() else _PIPE_WIDTH


@contextmanager
def hushed(quiet: bool = True) -> Iterator[None]:
    """Print and record warnings only."""
    global _document
    document, before = _document, console.quiet
    if quiet:
        _document, console.quiet = None, True
    try:
        yield
    finally:
        _document, console.quiet = document, before


@contextmanager
def set_environment(environment: Mapping[str, object]) -> Iterator[None]:
    """Set variables of the environment during the block."""
    before = {name: os.environ.get(name) for name in environment}
    os.environ.update({name: str(value) for name, value in environment.items()})
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            os.environ.update({} if value is None else {name: value})


def result(value: Any) -> None:
    """Set the result in the document; without this call it is the printed tables."""
    if _document is not None:
        _document.result = value


def _fields(error: BaseException, message: str) -> dict[str, Any]:
    found = {"type": type(error).__name__, "message": message}
    return {**found, **{name: getattr(error, name, None) for name in ("problem", "path", "row", "remedy")}}


def finish(command: str, status: int, error: BaseException | None = None, message: str = "") -> int:
    """Print the document of ``--json`` (docs/commands.md), the only place that writes it, and return the status.

    The message is that of the error, unless another is given.
    """
    global _document
    if _document is None:
        return status
    tables = {"tables": _document.tables} if _document.tables else None
    document = {
        "command": command,
        "version": version(),
        "ok": status == 0,
        "result": tables if _document.result is None else _document.result,
        "notes": _document.notes,
        "error": None if error is None else _fields(error, message or str(error)),
    }
    _document, console.quiet = None, False
    finite = json.loads(json.dumps(document, default=str), parse_constant=lambda _: None)
    try:
        print(json.dumps(finite, indent=2), flush=True)
    except BrokenPipeError:
        console.on_broken_pipe()
    return status


def ready_streams() -> None:
    """Make the standard streams printable, however the command was started.

    A closed stream goes to the null device; otherwise the next opened file would take its number and the printed text.
    A stream that is not Unicode prints missing characters as escapes.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and not stream.encoding.lower().startswith("utf"):
            stream.reconfigure(errors="backslashreplace")
    atexit.register(_flush)


def _flush() -> None:
    """Flush at the end; a reader that is gone is not an error."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            _discard(stream)
        except (OSError, ValueError):
            pass


def _discard(stream: Any) -> None:
    try:
        number = stream.fileno()
    except (OSError, ValueError, AttributeError):
        return
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, number)
    os.close(null)


_DIFFERING = re.compile(
    r"^(\w+: )?\S+: the data set |(?<=/)\S+ at revision \S+|\S*https?://\S+|\$\S+|, which an? \w+ task needs"
)
"""What differs between reasons that are otherwise the same: file, data set, address, type of task."""


def warn_by_reason(head: str, pairs: Iterable[tuple[str, str]]) -> None:
    """Print a warning for each reason, with the first names that share it.

    Reasons that differ in the name of a data set of one owner, or in the type of a task, are one.
    """
    sharing: dict[str, list[tuple[str, str]]] = {}
    for name, reason in pairs:
        sharing.setdefault(_DIFFERING.sub("", reason), []).append((name, reason))
    for found in sharing.values():
        names, reasons = zip(*found, strict=True)
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        others = len(set(reasons)) - 1
        alike = f" (the first of {others + 1} like it)" if others else ""
        warn(f"{head}{', '.join(names[:_NAMED])}{more}: {reasons[0]}{alike}")


def number(value: float | None, digits: int = 4) -> str:
    """Return a number as a table shows it; empty for None."""
    return "" if value is None else f"{value:.{digits}f}"


def show(columns: Sequence[str], rows: Iterable[Sequence[object]], *, right: Collection[str] = ()) -> None:
    """Print a table; names and numbers are never cut (:mod:`patent_mteb.report.terminal`).

    A column that is empty in all rows is not printed.
    """
    from patent_mteb.report.terminal import Sheet

    rows = list(rows)
    if _document is not None:
        _document.tables.append([dict(zip(columns, row, strict=True)) for row in rows])
    cells = [[Text("" if value is None else visible(str(value))) for value in row] for row in rows]
    kept = [place for place in range(len(columns)) if not rows or any(row[place].plain for row in cells)]
    titles = [columns[place] for place in kept]
    places = [place for place, title in enumerate(titles) if title in right]
    console.print(Sheet(titles, [[row[place] for place in kept] for row in cells], right=places), crop=False)


def show_steps(log: BuildLog) -> None:
    """Print the steps of a build with their numbers of rows."""
    rows = [(step.name, step.rows_in, step.rows_out, step.note) for step in log.steps]
    show(("step", "in", "out", "note"), rows, right=("in", "out"))


def command_line(*words: object) -> str:
    """Return words as a command that runs as it is in sh, PowerShell and cmd.

    Double quotes are the only ones that all three know. Words with a character that is special within them are quoted
    for sh and PowerShell.
    """
    return " ".join(_quoted(str(word)) for word in words)


def _quoted(word: str) -> str:
    path = r"-\w./:=+" + ("" if os.sep == "/" else r"\\")
    if re.fullmatch(f"[{path}]+", word):  # other characters, such as a comma, are special to one of the shells
        return word
    return f'"{word}"' if re.fullmatch(f"[{path} ,;@#&()]+", word) else shlex.quote(word)


def say(*parts: object) -> None:
    """Print a line without markup, its control characters escaped.

    A narrow terminal breaks it between words, but never within a path; the lines that continue it are indented. A rich
    ``Text`` keeps its style.
    """
    _print(console, parts)


RUNS = "scores, the names of models, and the patent numbers of queries and documents; no texts"
"""What the files of runs and of their results hold."""


def say_content(content: str) -> None:
    """Print the content of files that a user may share; tests/cli/test_confidential.py compares it with the files."""
    say(f"These files hold {content} (docs/confidential.md).")


def warn(*parts: object) -> None:
    """Print a line to standard error."""
    _print(messages, parts)


def _print(to: Console, parts: Sequence[object]) -> None:
    from patent_mteb.report.terminal import Hanging

    texts = (
        part if isinstance(part, Text) else Text(visible(str(part), lines=not isinstance(part, Path))) for part in parts
    )
    line = Text(" ").join(texts)
    if _document is not None:
        _document.notes.append(line.plain)
    is_command = line.plain.startswith("  ") and "patent-mteb " in line.plain  # to copy in one piece
    shown = Hanging(line)
    unbroken = is_command or shown.least > to.width or not (to.is_terminal or "COLUMNS" in os.environ)
    to.print(line if unbroken else shown, soft_wrap=unbroken)
