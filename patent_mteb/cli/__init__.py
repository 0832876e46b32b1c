"""The command ``patent-mteb``: one module a command, each with ``HELP``, ``arguments(parser)`` and ``main(args)``.

The modules only parse, call and print, and import what they call when they are called: ``patent-mteb --help`` loads
neither mteb nor torch. What several commands share is in :mod:`patent_mteb.cli.common`, :mod:`patent_mteb.cli.models`
and :mod:`patent_mteb.cli.language_models`.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import traceback
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import shtab
from rich.logging import RichHandler
from rich.text import Text

from patent_mteb.cli import (
    beir,
    build,
    candidates,
    common,
    doctor,
    edition,
    encode,
    export,
    fuse,
    geometry,
    import_,
    inspect,
    leaderboard,
    listing,
    report,
    reproduce,
    run,
    score,
    store,
    summarise,
    sweep,
    train,
    upstream,
    validate,
)
from patent_mteb.errors import PatentMTEBError
from patent_mteb.report.words import visible

__all__ = ["COMMANDS", "Command", "command_parser", "main", "parser"]


class Command(Protocol):
    """What the module of a command offers; ``EXAMPLES`` too, if it has lines for the end of its help that can be typed
    as they stand.
    """

    HELP: str

    def arguments(self, parser: argparse.ArgumentParser, /) -> None:
        """Add the options that belong to this command."""

    def main(self, args: argparse.Namespace, /) -> int:
        """Do it and return the exit status."""


COMMANDS: Mapping[str, Command] = {
    "list": listing,
    "run": run,
    "encode": encode,
    "sweep": sweep,
    "candidates": candidates,
    "score": score,
    "fuse": fuse,
    "report": report,
    "export": export,
    "leaderboard": leaderboard,
    "upstream": upstream,
    "reproduce": reproduce,
    "geometry": geometry,
    "store": store,
    "import": import_,
    "inspect": inspect,
    "summarise": summarise,
    "build": build,
    "edition": edition,
    "beir": beir,
    "train": train,
    "validate": validate,
    "doctor": doctor,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point."""
    common.ready_streams()
    args = parser().parse_args(_with_dashes(sys.argv[1:] if argv is None else argv))
    _log(args.verbosity, common.bars(args))
    try:
        return COMMANDS[args.command].main(args)
    except PatentMTEBError as error:
        common.warn(Text("patent-mteb:", style="bold red"), error)
        return 2
    except BrokenPipeError:
        raise
    except Exception as error:
        if args.debug:
            raise
        common.warn(Text("patent-mteb:", style="bold red"), _unforeseen(args.command, error))
        return 1
    except KeyboardInterrupt:
        common.warn(Text("interrupted", style="bold red"))
        return 130


class _Version(argparse.Action):
    """Prints the version, which takes reading the package, only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *args: object) -> None:
        from patent_mteb.identity import version

        print(f"patent-mteb {version()}")
        parser.exit()


def parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    whole = common.Parser(
        prog="patent-mteb",
        description="Patent embedding benchmarks as ordinary mteb tasks.",
        epilog="'patent-mteb COMMAND --help' says what a command can be told, with examples.",
        formatter_class=common.Help,
    )
    shtab.add_argument_to(
        whole, "--print-completion", help="print what makes a shell complete names: eval it, or put it where it looks"
    )
    whole.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    commands = whole.add_subparsers(required=True, metavar="COMMAND", dest="command")
    for name, command in COMMANDS.items():
        _add(commands, name, command)
    return whole


def command_parser(name: str) -> argparse.ArgumentParser:
    """The parser of one command."""
    commands = argparse.ArgumentParser(prog="patent-mteb").add_subparsers(parser_class=common.Parser)
    return _add(commands, name, COMMANDS[name])


def _add(commands: Any, name: str, command: Command) -> argparse.ArgumentParser:
    examples = "\n".join(("examples:", *(f"  {line}" for line in getattr(command, "EXAMPLES", ()))))
    single: argparse.ArgumentParser = commands.add_parser(
        name, help=command.HELP, description=common.wrapped(command.HELP), epilog=examples, formatter_class=common.Help
    )
    command.arguments(single)
    common.add_verbosity(single)
    single.add_argument("--debug", action="store_true", help="print the traceback of an error that was not foreseen")
    return single


def _unforeseen(command: str, error: Exception) -> str:
    """One line on an error that nobody foresaw: what it is, and where it came up."""
    ours = [step for step in traceback.extract_tb(error.__traceback__) if "patent_mteb" in step.filename]
    place = f", at {ours[-1].filename}:{ours[-1].lineno}" if ours else ""
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"{command} failed ({said}{place}). Remedy: --debug prints the traceback; please report it."


def _with_dashes(words: Sequence[str]) -> list[str]:
    """Every long option may be written with underscores, as some of mteb's are; ``--order -score`` becomes one word."""
    options: list[str] = []
    for position, word in enumerate(words):
        if word == "--":
            return [*options, *words[position:]]
        if word.startswith("--"):
            name, equals, value = word.partition("=")
            word = name.replace("_", "-") + equals + value
        elif word == "-score" and options[-1:] == ["--order"]:  # argparse takes a value with a dash for an option
            word = f"{options.pop()}={word}"
        options.append(word)
    return options


class _Line(logging.Formatter):
    """A record as one line, its control characters written out; a traceback keeps its lines."""

    def format(self, record: logging.LogRecord) -> str:
        return visible(super().format(record), lines=record.exc_info is not None)


class _Loud(logging.Filter):
    """Lets through of bm25s what is a warning at least: its import sets its level back to everything."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not record.name.startswith("bm25s") or record.levelno >= logging.WARNING


def _no_bars() -> None:
    """Tell the libraries that draw bars of their own, before they are imported."""
    for variable in ("DISABLE_TQDM", "HF_HUB_DISABLE_PROGRESS_BARS", "HF_DATASETS_DISABLE_PROGRESS_BARS"):
        os.environ.setdefault(variable, "1")


def _log(verbosity: int, bars: bool) -> None:
    if not bars:
        _no_bars()
    level = (logging.CRITICAL, logging.WARNING, logging.INFO, logging.DEBUG)[verbosity]
    handler: logging.Handler = RichHandler(console=common.messages, show_path=False, log_time_format="[%X]")
    if not common.messages.is_terminal:  # in a file a message is one line, however long
        handler = logging.StreamHandler()
        handler.setFormatter(_Line("[%(asctime)s] %(levelname)-8s %(message)s", "%X"))
    handler.addFilter(_Loud())
    logging.basicConfig(level=logging.WARNING, format="%(message)s", handlers=[handler], force=True)
    logging.getLogger("patent_mteb").setLevel(level)
    logging.getLogger("mteb").setLevel(logging.DEBUG if verbosity == 3 else logging.WARNING)
    if verbosity < 3:
        logging.getLogger("mteb.models.model_meta").setLevel(
            logging.ERROR
        )  # it guesses at parameters that the folder's files tell
        warnings.filterwarnings("ignore", category=FutureWarning, module="mteb")
        warnings.filterwarnings("ignore", category=UserWarning, module="mteb")
