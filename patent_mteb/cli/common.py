"""What the commands share: options that mean the same everywhere, and printing."""

from __future__ import annotations

import argparse
import atexit
import io
import math
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook, RenderResult
from rich.segment import Segment
from rich.text import Text
from rich_argparse import RawDescriptionRichHelpFormatter

from patent_mteb.errors import DataError, did_you_mean
from patent_mteb.parallel import ENGINES
from patent_mteb.report.words import visible

_NAMED = 3
"""Names that stand before a reason that many share; --json names all."""


class _Literal(RenderHook):
    """Writes out the control characters of whatever is printed, logged lines and tables among it."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Shown(renderable) for renderable in renderables]


class _Shown:
    def __init__(self, inner: ConsoleRenderable) -> None:
        self.inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self.inner, options):
            yield segment if segment.control else Segment(visible(segment.text, lines=True), segment.style)


class _Terminal(Console):
    """A console on which names do nothing but stand there, and that lets a command go on when nobody reads any more."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.push_render_hook(_Literal())

    def on_broken_pipe(self) -> None:
        self.quiet = True
        _to_nowhere(sys.stderr if self.stderr else sys.stdout)


console = _Terminal(width=None if sys.stdout is not None and sys.stdout.isatty() else 200)
messages = _Terminal(stderr=True)


def ready_streams() -> None:
    """Make the standard streams fit to be printed to, however the command was started.

    Closed ones lead nowhere (otherwise the next file that is opened would take their number, and what is printed), and
    those that are not Unicode show what they lack as escapes.
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
    """What is still to be printed at the end may find nobody who reads it."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            _to_nowhere(stream)
        except (OSError, ValueError):
            pass


def _to_nowhere(stream: Any) -> None:
    try:
        number = stream.fileno()
    except (OSError, ValueError, AttributeError):
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)


class Parser(argparse.ArgumentParser):
    """Shows what it refuses with its control characters written out, and what may have been meant."""

    def error(self, message: str) -> NoReturn:
        super().error(visible(message + self._meant(message), lines=True))

    def _meant(self, message: str) -> str:
        """What a word that is refused stands near to: a choice, or an option."""
        if found := re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message):
            return did_you_mean(found[1], re.findall(r"'([^']*)'", found[2]) or found[2].split(", "))
        if found := re.search(r"unrecognized arguments: (-\S+)", message):
            return did_you_mean(found[1].partition("=")[0], self.options())
        return ""

    def add_argument_group(
        self, title: str | None = None, description: str | None = None, **more: Any
    ) -> argparse._ArgumentGroup:
        return super().add_argument_group(title, description and wrapped(description), **more)

    def options(self) -> list[str]:
        """Every long option of the parser and of its commands."""
        inner = [one for action in self._actions if isinstance(action.choices, dict) for one in action.choices.values()]
        return sorted(
            {
                name
                for one in (self, *inner)
                for action in one._actions
                for name in action.option_strings
                if name.startswith("--")
            }
        )


class Help(RawDescriptionRichHelpFormatter):
    """Help in colours where there are any, each option with its default, where it has one; examples keep their
    lines.
    """

    group_name_formatter = str
    help_markup = False
    text_markup = False

    def _get_help_string(self, action: argparse.Action) -> str | None:
        default = action.default
        if default in (None, False, [], argparse.SUPPRESS) or not action.help:
            return action.help
        return f"{action.help} (default: {' '.join(map(str, default)) if isinstance(default, list) else default})"


def wrapped(text: str) -> str:
    """A description in lines of the terminal, as help wraps what it says of options."""
    return textwrap.fill(
        text, max(shutil.get_terminal_size().columns - 2, 40), break_long_words=False, break_on_hyphens=False
    )


class Instead(argparse.Action):
    """An option that is given instead of positional arguments: with it they are not required."""

    def __init__(
        self, option_strings: Sequence[str], dest: str, *, of: Sequence[argparse.Action], **options: Any
    ) -> None:
        super().__init__(option_strings, dest, **options)
        self.of = of

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        setattr(namespace, self.dest, True if self.nargs == 0 else values)
        for positional in self.of:
            positional.required = False


def add_verbosity(parser: argparse.ArgumentParser, *, step: bool = False) -> None:
    """``-v``, ``--quiet`` and ``--no-progress``."""
    level, drawn = (argparse.SUPPRESS, argparse.SUPPRESS) if step else (2, False)
    told = "0: errors only, 1: and warnings, 2: and progress, 3: everything"
    parser.add_argument("-v", "--verbosity", type=int, default=level, choices=range(4), help=told)
    parser.add_argument(
        "-q",
        "--quiet",
        action="store_const",
        dest="verbosity",
        const=0,
        default=argparse.SUPPRESS,
        help="the same as -v 0",
    )
    told = "no bars; without it there are bars on a terminal only"
    parser.add_argument("--no-progress", action="store_true", default=drawn, help=told)


def bars(args: argparse.Namespace) -> bool:
    """Whether bars are drawn: for those who want to see progress, on a terminal."""
    return args.verbosity >= 2 and not args.no_progress and messages.is_terminal


def positive(word: str) -> int:
    """A whole number above 0, for an option."""
    number = int(word)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not above 0")
    return number


def amount(word: str) -> float:
    """A finite number, 0 or above, for an option."""
    number = float(word)
    if not (math.isfinite(number) and number >= 0):
        raise argparse.ArgumentTypeError(f"{word} is no amount")
    return number


def add_memory(parser: argparse.ArgumentParser, what: str) -> None:
    """``--memory``."""
    text = (
        f"refuse a {what} that would take more memory than this, by what was measured, and keep blocks small enough"
        " for it"
    )
    parser.add_argument("--memory", type=amount, metavar="GB", help=text)


def add_shard(parser: argparse.ArgumentParser, text: str) -> None:
    """``--shard``."""
    parser.add_argument("--shard", metavar="I/N", help=text)


def add_engine(parser: argparse.ArgumentParser) -> None:
    """``--engine``."""
    parser.add_argument(
        "--engine",
        choices=ENGINES,
        default="local",
        help="local: this machine; ray: the Ray cluster at hand, or a local one",
    )


def add_order(parser: argparse.ArgumentParser, more: str = "", **options: Any) -> None:
    """What orders the documents of a run: without it the scores, and ranks that contradict them are refused."""
    text = (
        "what orders a run: score, the greatest first; -score, the smallest first (distances); rank. "
        "Without it the scores, unless the ranks say something else"
    )
    parser.add_argument("--order", choices=("score", "rank", "-score"), help=text + more, **options)


def add_out(
    parser: argparse.ArgumentParser, text: str, *aliases: str, metavar: str = "DIR", default: Path | None = None
) -> None:
    """``--out``: what a command writes to."""
    parser.add_argument("--out", *aliases, dest="out", type=Path, metavar=metavar, default=default, help=text)


def add_folder(parser: argparse.ArgumentParser, text: str) -> argparse.Action:
    """``--out`` of a command that must be told a folder, which may as well be its last positional argument."""
    folder = parser.add_argument("folder", type=Path, help="the same as --out")
    parser.add_argument("--out", action=Instead, of=[folder], type=Path, metavar="DIR", help=text)
    return folder


def folder_of(args: argparse.Namespace) -> Path:
    """What :func:`add_folder` was told."""
    if args.out and args.folder:
        raise DataError(f"there are two folders to write to, {args.folder} and {args.out}", remedy="name one")
    folder: Path = args.out or args.folder
    return folder


def by_reason(pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    """One line a reason, with the first names that share it."""
    sharing: dict[str, list[str]] = {}
    for name, reason in pairs:
        sharing.setdefault(reason, []).append(name)
    for reason, names in sharing.items():
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        yield f"{', '.join(names[:_NAMED])}{more}: {reason}"


def number(value: float | None, digits: int = 4) -> str:
    """A number of a table; empty for None."""
    return "" if value is None else f"{value:.{digits}f}"


def show(columns: Sequence[str], rows: Iterable[Sequence[object]], *, right: Collection[str] = ()) -> None:
    """Print a table, with names and numbers in full however narrow the terminal is
    (:mod:`patent_mteb.report.terminal`).
    """
    from patent_mteb.report.terminal import Sheet

    cells = [[Text("" if value is None else visible(str(value))) for value in row] for row in rows]
    places = [place for place, title in enumerate(columns) if title in right]
    console.print(Sheet(columns, cells, right=places), crop=False)


def say(*parts: object) -> None:
    """Print a line as it is: no markup, control characters written out; a terminal that it is too long for breaks it
    between words, but never a path. A part that is a rich ``Text`` keeps its style.
    """
    _print(console, parts)


def warn(*parts: object) -> None:
    """The same to standard error."""
    _print(messages, parts)


def _print(to: Console, parts: Sequence[object]) -> None:
    texts = (
        part if isinstance(part, Text) else Text(visible(str(part), lines=not isinstance(part, Path))) for part in parts
    )
    line = Text(" ").join(texts)
    whole = any(cell_len(word) > to.width for word in line.plain.split())
    to.print(line, soft_wrap=whole or not to.is_terminal)
