"""Names from outside (models, revisions, settings, paths) as they may be shown: nothing in them acts on a terminal, a spreadsheet or a
plot, and nothing in them is invisible."""

from __future__ import annotations

import unicodedata

__all__ = ["inert", "shortened", "visible"]

_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode's controls (escape sequences and line breaks among them), formats (bidirectional controls), surrogates, separators of lines."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""What makes a spreadsheet calculate, in wide letters too."""


def visible(text: str, *, lines: bool = False) -> str:
    r"""A text with its control characters written out, so that it is one line which does nothing to a terminal.

    Args:
        lines: line breaks are meant as such and stay.

    Example:
        >>> from patent_mteb.report.names import visible
        >>> visible("acme/\x1b[31mred"), visible("two\nlines"), visible("größe/模型")
        ('acme/\\x1b[31mred', 'two\\nlines', 'größe/模型')
    """
    if text.isprintable():
        return text
    return "".join(character if (lines and character == "\n") else _visible(character) for character in text)


def _visible(character: str) -> str:
    if unicodedata.category(character) not in _INVISIBLE:
        return character
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def inert(text: str) -> str:
    """A text as a cell of a csv file: visible, and with an apostrophe before what a spreadsheet would run as a formula.

    Example:
        >>> from patent_mteb.report.names import inert
        >>> inert("=1+1"), inert("acme/a=b")
        ("'=1+1", 'acme/a=b')
    """
    return ("'" if text.startswith(_FORMULA) else "") + visible(text)


def shortened(text: str, length: int) -> str:
    """A text that is too long for its place, with its middle left out.

    Example:
        >>> from patent_mteb.report.names import shortened
        >>> shortened("a model with a very long name", 12)
        'a mode… name'
    """
    if len(text) <= length:
        return text
    head = length // 2
    return f"{text[:head]}…{text[len(text) - (length - head - 1) :]}"
