"""Text patterns: ``[a|b]`` picks one of the alternatives, ``{slot}`` is filled in, ``{Slot}`` likewise with a capital letter.

What fills a slot is itself a pattern. Articles are written ``a`` throughout and set right at the end, by sound.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from patent_mteb.sample.dice import Dice

__all__ = ["Slots", "eligible", "expand", "finish", "sentence"]

Slots = Mapping[str, str]


class _Choice(NamedTuple):
    options: tuple[_Pattern, ...]


class _Slot(NamedTuple):
    name: str
    capital: bool


_Pattern = tuple["str | _Choice | _Slot", ...]

_TOKEN = re.compile(r"[\[\]|]|\{\w+\}|[^\[\]|{}]+")
_SLOT = re.compile(r"\{(\w+)\}")
_LITERAL = re.compile(r"\[([Pp]roblem|[Ss]olution)\]")
_ARTICLE = re.compile(r"\b([Aa])n?(?= ([A-Za-z]+-?))")
_VOWEL_SOUND = re.compile(r"(?!uni|use|usu|one|eu)[aeiouAEIOU]|hour|honest|[FHLMNRSX]-")
_AFTER_STOP = re.compile(r"(?<=[.!?] )([a-z])")


@cache
def _parse(pattern: str) -> _Pattern:
    stack: list[list[list[str | _Choice | _Slot]]] = [[[]]]
    for token in _TOKEN.findall(pattern):
        if token == "[":
            stack.append([[]])
        elif token == "|":
            stack[-1].append([])
        elif token == "]":
            options = stack.pop()
            stack[-1][-1].append(_Choice(tuple(tuple(option) for option in options)))
        elif token[0] == "{":
            name = token[1:-1]
            stack[-1][-1].append(_Slot(name.lower(), name[0].isupper()))
        else:
            stack[-1][-1].append(token)
    if len(stack) != 1 or len(stack[0]) != 1:
        raise ValueError(f"unbalanced brackets in the pattern: {pattern}")
    return tuple(stack[0][0])


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _render(pattern: _Pattern, slots: Slots, dice: Dice) -> str:
    out: list[str] = []
    for piece in pattern:
        if isinstance(piece, str):
            out.append(piece)
        elif isinstance(piece, _Choice):
            out.append(_render(dice.pick(piece.options), slots, dice))
        else:
            text = _render(_parse(slots[piece.name]), slots, dice)
            out.append(_capital(text) if piece.capital else text)
    return "".join(out)


def expand(pattern: str, slots: Slots, dice: Dice) -> str:
    """Fill a pattern. Field markers such as ``[problem]`` stay as they are.

    Raises:
        KeyError: the pattern names a slot that is not given.

    Example:
        >>> from patent_mteb.sample.dice import Dice
        >>> from patent_mteb.sample.grammar import expand
        >>> expand("{Device} [with|having] a {part}", {"device": "walker", "part": "brake"}, Dice("seed"))
        'Walker with a brake'
    """
    guarded = _LITERAL.sub(r"<<\1>>", pattern)
    return _render(_parse(guarded), slots, dice).replace("<<", "[").replace(">>", "]")


@cache
def _slots_of(pattern: str) -> frozenset[str]:
    return frozenset(name.lower() for name in _SLOT.findall(pattern))


def eligible(patterns: Sequence[str], slots: Slots) -> list[str]:
    """The patterns all of whose slots are given, in their order.

    Example:
        >>> from patent_mteb.sample.grammar import eligible
        >>> eligible(["a {device} with {part}", "a {device}"], {"device": "walker"})
        ['a {device}']
    """
    return [pattern for pattern in patterns if _slots_of(pattern) <= slots.keys()]


def _article(match: re.Match[str]) -> str:
    return match.group(1) + ("n" if _VOWEL_SOUND.match(match.group(2)) else "")


def finish(text: str) -> str:
    """Set the articles right and begin every sentence with a capital letter.

    Example:
        >>> from patent_mteb.sample.grammar import finish
        >>> finish("a axle turns. a wheel follows.")
        'An axle turns. A wheel follows.'
    """
    return _capital(_AFTER_STOP.sub(lambda match: match.group(1).upper(), _ARTICLE.sub(_article, text)))


def sentence(patterns: Sequence[str], slots: Slots, dice: Dice) -> str:
    """One of the eligible patterns, filled and finished.

    Example:
        >>> from patent_mteb.sample.dice import Dice
        >>> from patent_mteb.sample.grammar import sentence
        >>> sentence(["a {device} is shown."], {"device": "orthosis"}, Dice("seed"))
        'An orthosis is shown.'
    """
    return finish(expand(dice.pick(eligible(patterns, slots)), slots, dice))
