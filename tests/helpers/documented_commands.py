"""The commands that README, CONTRIBUTING and docs print."""

from __future__ import annotations

import contextlib
import io
import itertools
import re
from pathlib import Path

from patent_mteb import cli
from patent_mteb.cli import app

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
_WORDS = r"(?:[A-Z_]+=\S+ )*(?:patent-mteb|mteb|python) "
_LINE = re.compile(rf"^(?: {{4}})?(?:pip install .* && )?({_WORDS}.*)$", re.MULTILINE)
_BLOCK = re.compile(r"^```(?:sh|bash|console)?\n(.*?)^```|((?:^ {4}.*\n)+)", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(rf"`({_WORDS}[^`…[\]]+)`")
"""Code within a sentence, unless it shows the form of a command."""


def printed() -> list[str]:
    """Every command of the pages and of the helps: lines of code blocks, and code within a sentence that is a whole
    command.
    """
    found = []
    for page in PAGES:
        text = page.read_text("utf-8")
        blocks = "\n".join(one or other for one, other in _BLOCK.findall(text))
        found += itertools.chain.from_iterable(choices(bare(line)) for line in _LINE.findall(blocks))
        found += [line for line in _INLINE.findall(text) if is_whole(line)]
    found += [line for examples in cli.COMMANDS.values() for line in examples]
    return list(dict.fromkeys(found))


def bare(line: str) -> str:
    """A printed line without its remark."""
    return line.partition("   #")[0].partition(" # ")[0].strip()


def choices(command: str) -> list[str]:
    """``[a|b]`` and ``a|b`` are choices; each is a command."""
    forms = [command]
    for choice in re.findall(r"\[[\w|]+\|[\w|]+\]|\b\w+(?:\|\w+)+", command):
        forms = [form.replace(choice, one) for form in forms for one in choice.strip("[]").split("|")]
    return forms


def is_whole(line: str) -> bool:
    """Whether it could be typed; ``patent-mteb report`` in a sentence names the command only."""
    words = line.split()
    if words[0] != "patent-mteb":
        return True
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            app.parse(app.included(words[1:])[1])
    except SystemExit:
        return False
    return True
