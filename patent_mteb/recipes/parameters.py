"""Settings of a recipe: the fields of its ``Params`` that a command line can give.

The annotation of a field says how its value is read and written: ``bool``, ``int``, ``float``, ``str`` and
``datetime.date``; ``Literal``; ``X | None``; tuples, as values separated by commas; and ``Annotated[X, Bounds(...)]``.
A field with any other annotation can be given in Python only.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import inspect
import math
import re
import types
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from patent_mteb.errors import DataError


@dataclass(frozen=True)
class Bounds:
    """Least and greatest value of a number, both included."""

    least: float = -math.inf
    greatest: float = math.inf

    def __str__(self) -> str:
        if math.isinf(self.greatest):
            return f"of at least {self.least}"
        return f"from {self.least} to {self.greatest}"


Count = Annotated[int, Bounds(0)]  # a count that may be zero

Positive = Annotated[int, Bounds(1)]  # a count of at least one

Share = Annotated[float, Bounds(0, 1)]  # a fraction from 0 to 1

_SCALARS = {bool: "true or false", int: "integer", float: "number", str: "text", dt.date: "date (YYYY-MM-DD)"}
_WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True)
class Setting:
    """A setting of a recipe as a command line shows it."""

    name: str
    type: str
    default: str
    description: str


def settings_of(params: type, base: Any = None) -> list[Setting]:
    """Return the settings of a dataclass, with the ``Attributes`` of its docstring and the defaults of ``base``."""
    hints = get_type_hints(params, include_extras=True)
    defaults, descriptions = params() if base is None else base, _descriptions(params)
    settings = []
    for name in (field.name for field in fields(params)):
        with contextlib.suppress(KeyError):  # a field that can be given in Python only
            words = _in_words(hints[name])
            settings.append(Setting(name, words, written(getattr(defaults, name)), descriptions.get(name, "")))
    return settings


def read_params(
    params: type, assignments: Sequence[str], recipe: str, others: Sequence[str] = (), base: Any = None
) -> Any:
    """Change settings of ``base``, by default ``params()``, each as ``NAME=VALUE``."""
    hints = get_type_hints(params, include_extras=True)
    settings = {setting.name: setting for setting in settings_of(params, base)}
    changes: dict[str, Any] = {}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        setting = settings.get(name.strip())
        if setting is None:
            problem = f"recipe {recipe} has no setting '{name}'"
            raise DataError(problem, remedy=f"choose among {', '.join([*settings, *others])}")
        expected = f"expected: {setting.type}"
        default = f"the default is {setting.name}={setting.default}"
        if not equals:
            problem = f"setting {setting.name} of recipe {recipe} has no value, {expected}"
            raise DataError(problem, remedy=f"write NAME=VALUE; {default}")
        try:
            changes[setting.name] = _read(hints[setting.name], text.strip())
        except (ValueError, KeyError) as error:
            problem = f"setting {setting.name} of recipe {recipe} cannot be '{text}', {expected}"
            raise DataError(problem, remedy=f"correct the value or omit the setting; {default}") from error
    try:
        return replace(params() if base is None else base, **changes)
    except ValueError as error:
        problem = f"these settings of recipe {recipe} do not go together: {error}"
        raise DataError(problem, remedy="correct one of them") from error


def _optional(annotation: Any) -> Any | None:
    """Return X of an annotation ``X | None``, None for any other annotation."""
    if get_origin(annotation) not in (Union, types.UnionType):
        return None
    rest = [kind for kind in get_args(annotation) if kind is not type(None)]
    return rest[0] if len(rest) == 1 and len(rest) < len(get_args(annotation)) else None


def _items(annotation: Any) -> tuple[tuple[Any, ...], bool]:
    """Return the annotations of a tuple's items, and whether its length is variable."""
    kinds = get_args(annotation)
    return (kinds[:1], True) if kinds[1:] == (Ellipsis,) else (kinds, False)


def _in_words(annotation: Any) -> str:
    """Describe the values of an annotation; raise KeyError for one that a command line cannot give."""
    if get_origin(annotation) is Annotated:
        kind, *bounds = get_args(annotation)
        return " ".join([_in_words(kind), *map(str, bounds)])
    if get_origin(annotation) is Literal:
        return f"one of {', '.join(map(written, get_args(annotation)))}"
    if get_origin(annotation) is tuple:
        kinds, variable = _items(annotation)
        if any(get_origin(kind) is tuple for kind in kinds):
            raise KeyError(annotation)
        number = "values" if variable else f"{len(kinds)} values"
        each = f"each {_in_words(kinds[0])}" if len(set(kinds)) == 1 else ", ".join(map(_in_words, kinds))
        return f"{number} separated by commas ({each})"
    if (rest := _optional(annotation)) is not None:
        return f"{_in_words(rest)}, or None"
    return _SCALARS[annotation]


def written(value: Any) -> str:
    """Return the text of a value, as :func:`read_params` reads it."""
    if isinstance(value, tuple):
        return ",".join(map(written, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _read(annotation: Any, text: str) -> Any:
    """Parse a text by an annotation; raise ValueError or KeyError if it is invalid."""
    if get_origin(annotation) is Annotated:
        kind, *bounds = get_args(annotation)
        value = _read(kind, text)
        if not all(one.least <= value <= one.greatest for one in bounds):
            raise ValueError(f"{text} is out of bounds")
        return value
    if get_origin(annotation) is Literal:
        return {written(choice): choice for choice in get_args(annotation)}[text]
    if get_origin(annotation) is tuple:
        kinds, variable = _items(annotation)
        words = [word.strip() for word in text.split(",")] if text else []
        if not all(words):
            raise ValueError("an empty value between commas")
        if variable:
            kinds = kinds * len(words)
        return tuple(_read(kind, word) for kind, word in zip(kinds, words, strict=True))
    if (rest := _optional(annotation)) is not None:
        return None if text.lower() == "none" else _read(rest, text)
    if annotation is bool:
        return _WORDS[text.lower()]
    if annotation is dt.date:
        return dt.date.fromisoformat(text)
    value = annotation(text)
    if annotation is float and not math.isfinite(value):
        raise ValueError(f"{text} is not finite")
    return value


def _descriptions(params: type) -> dict[str, str]:
    """Return the ``Attributes`` of the docstrings of a class and its bases; ``first, second: text`` is for both."""
    descriptions: dict[str, str] = {}
    for parent in reversed(params.__mro__):
        _, _, section = inspect.cleandoc(parent.__doc__ or "").partition("Attributes:\n")
        names: list[str] = []
        for line in section.splitlines():
            if head := re.fullmatch(r" {4}(\w+(?:, \w+)*): (.+)", line):
                names = head[1].split(", ")
                descriptions |= dict.fromkeys(names, head[2])
            elif line.startswith(" " * 5):
                descriptions |= {name: f"{descriptions[name]} {line.strip()}" for name in names}
            else:
                names = []
    return descriptions
