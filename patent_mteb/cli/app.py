"""The tree of commands: groups, names, examples, and the words of a command line."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from inspect import BoundArguments
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from cyclopts import App, CycloptsError, Group, Parameter
from rich.text import Text

from patent_mteb.cli import common
from patent_mteb.cli.options import WithData
from patent_mteb.errors import PatentMTEBError

Function = TypeVar("Function", bound=Callable[..., int | None])

_IN_GROUPS = {
    "": "try list run report compare reproduce geometry train contamination doctor",
    "data": "import inspect build validate summarise forget",
    "runs": "candidates score fuse sweep",
    "store": "encode info verify prune merge",
    "models": "verify",
    "publish": "model results board check anonymous mteb beir",
    "edition": "build baselines rebuild verify audit",
}
COMMANDS: dict[str, tuple[str, ...]] = {
    f"{group} {name}".strip(): () for group, names in _IN_GROUPS.items() for name in names.split()
}
"""Name of every command, in the order of the help, and its examples, which can be typed as they are printed."""

_NAMES: dict[Callable[..., Any], str] = {}

RENAMED = {
    **{name: f"data {name}" for name in ("import", "inspect", "build", "validate", "summarise")},
    **{name: f"runs {name}" for name in _IN_GROUPS["runs"].split()},
    "encode": "store encode",
    "beir": "publish beir",
    "upstream": "publish mteb",
    "export": "publish results",
    "leaderboard": "publish board",
}
"""Former name of a command and its name today. The former names work until version 0.2."""


def _default(value: Any) -> str | None:
    """A default as the user would type it; None hides it."""
    if value is None or value is False or value in ("", ()):
        return None
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


app = App(
    name="patent-mteb",
    help="Patent embedding benchmarks as mteb tasks. See 'patent-mteb COMMAND --help' for options and examples.",
    help_format="plaintext",
    version=lambda: f"patent-mteb {common.version()}",
    version_format="plaintext",
    default_parameter=Parameter(negative="", allow_repeating=True, show_default=_default),
    group_parameters=Group("Options", sort_key=0),
    group_arguments=Group("Arguments", sort_key=-1),
)
_GROUPS = Group("Groups of commands", sort_key=1)
_HELP_OF_GROUPS = {
    "data": "Make benchmarks from patents: import, inspect, build, validate, forget.",
    "runs": "Work with rankings: candidates, score, fuse, sweep.",
    "store": "Fill, look at, check and merge the embedding store.",
    "models": "Check registered models against their files: verify.",
    "publish": "Prepare results and tasks for others: mteb, a board, BEIR, without numbers.",
    "edition": "Editions of the open benchmark: build, rebuild, verify, audit.",
}
GROUPS = {
    name: App(name=name, help=text, sort_key=place, group=_GROUPS)
    for place, (name, text) in enumerate(_HELP_OF_GROUPS.items(), 10)
}
for _group in GROUPS.values():
    app.command(_group)


def command(
    name: str, *examples: str, requires: Mapping[str, str] | None = None, unless: Sequence[str] = ()
) -> Callable[[Function], Function]:
    """Register a function as a command, such as ``"data import"``; the first line of its docstring is its help.

    ``requires`` maps optional parameters to their names in messages. They are required unless an option of ``unless``
    is named.
    """

    def check(**arguments: Any) -> None:
        lacking = [label for parameter, label in (requires or {}).items() if parameter not in arguments]
        if lacking and not any(arguments.get(option) for option in unless):
            raise ValueError(f"{', '.join(lacking)} {'is' if len(lacking) == 1 else 'are'} required")

    def register(function: Function) -> Function:
        group, _, last = name.rpartition(" ")
        place = list(COMMANDS).index(name)
        (GROUPS[group] if group else app).command(function, name=last, sort_key=place, validator=check)
        COMMANDS[name] = examples
        _NAMES[function] = name
        return function

    return register


@app.command(name="--print-completion", sort_key=50)
def print_completion(shell: str, /) -> None:
    """Print the completion script of a shell: bash, zsh, fish or powershell."""
    if shell not in ("bash", "zsh", "fish", "powershell"):
        raise CycloptsError(msg=f"there is no completion for {shell}; choose from bash, zsh, fish, powershell")
    print(app.generate_completion(shell=shell))  # type: ignore[arg-type]


@app.command(name="--include", sort_key=49)
def include(file: Path, /) -> int:
    """Register the benchmarks of a Python file for the command that follows."""
    raise CycloptsError(msg="a command is missing: patent-mteb --include FILE COMMAND")


def included(words: Sequence[str]) -> tuple[list[Path], list[str]]:
    """Return the files of ``--include``, which may be anywhere in a command line, and the line without them."""
    files, rest = list[Path](), list(words)
    for place in reversed([place for place, word in enumerate(rest) if word.partition("=")[0] == "--include"]):
        _, equals, name = rest[place].partition("=")
        if not equals and len(rest) - place > 1:
            name = rest.pop(place + 1)
        if len(rest) > 1 and name and name not in COMMANDS:
            files.insert(0, Path(name))
            del rest[place]
    return files, rest


def parse(words: Sequence[str]) -> tuple[Callable[..., Any], BoundArguments]:
    """Return the function of a command line and its arguments. Print help, or a usage error, and exit."""
    words = _current(words)
    console = common.Terminal()
    try:
        function, bound, _ = app.parse_args(words, console=console, print_error=False, exit_on_error=False)
    except CycloptsError as error:
        refuse(error)
    if function == app.help_print or function in [group.help_print for group in GROUPS.values()]:
        wanted = not {"--help", "-h"}.isdisjoint(words)
        print_help(" ".join(word for word in words if not word.startswith("-")), console if wanted else common.messages)
        raise SystemExit(0 if wanted else 2)
    if function not in _NAMES:
        try:
            function(*bound.args, **bound.kwargs)
        except CycloptsError as error:
            refuse(error)
        raise SystemExit(0)
    return function, bound


def execute(function: Callable[..., Any], bound: BoundArguments, **further: Any) -> int:
    """Call a command on the tables of its ``--data`` and return its exit status."""
    given = (value for value in bound.arguments.values() if isinstance(value, WithData))
    folder = next((options.data for options in given if options.data), None)
    if folder:
        from patent_mteb.data.loading import data_root

        data_root(folder)  # refuses another folder
    with common.set_environment({"PATENT_MTEB_DATA": folder.resolve()} if folder else {}):
        return function(*bound.args, **bound.kwargs, **further) or 0


def print_help(name: str, console: common.Terminal) -> None:
    """Print the help of a command or group; its examples keep their lines, so that they can be copied."""
    words = name.split()
    while words and " ".join(words) not in COMMANDS and " ".join(words) not in GROUPS:
        words.pop()
    app.help_print(words, console=console)
    if examples := COMMANDS.get(" ".join(words)):
        console.print("\n".join(("Examples:", *(f"  {line}" for line in examples))), soft_wrap=True, markup=False)


def help_text(name: str, width: int) -> str:
    """The help of a command or group in lines of a width."""
    text = io.StringIO()
    print_help(name, common.Terminal(width=width, file=text))
    return text.getvalue()


class UsageError(PatentMTEBError):
    """A command line that cannot be parsed."""


def refuse(error: CycloptsError, function: Callable[..., Any] | None = None) -> NoReturn:
    """Print a usage error and exit with status 2."""
    name = name_of(function) if function else " ".join(error.command_chain or ())
    chain = f"patent-mteb {name}".rstrip()
    error.verbose = False
    usage = UsageError(str(error), remedy=f"see '{chain} --help'")
    common.finish(name, 2, usage)
    common.warn(Text(f"{chain}:", style="bold red"), usage)
    raise SystemExit(2) from error


def name_of(function: Callable[..., Any]) -> str:
    return _NAMES.get(function, "patent-mteb")


def _current(words: Sequence[str]) -> list[str]:
    """A command line in today's names, with the command behind its group directly: ``store --store DIR info``."""
    words = list(words)
    if words and (name := RENAMED.get(words[0])):
        common.warn(f"note: 'patent-mteb {words[0]}' is now 'patent-mteb {name}'")
        words[:1] = name.split()
    if words and words[0] in GROUPS:
        found = next((place for place, word in enumerate(words[1:], 1) if f"{words[0]} {word}" in COMMANDS), 0)
        if found:
            words.insert(1, words.pop(found))
    return words
