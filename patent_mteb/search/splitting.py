"""Cutting documents into passages: windows of tokens, or the sections that a corpus brings along."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from patent_mteb.errors import DataError, ModelError
from patent_mteb.search.base import document_text
from patent_mteb.search.bm25 import BM25

__all__ = [
    "ModelTokenizer",
    "RememberedTokens",
    "Sections",
    "Splitter",
    "TokenWindows",
    "Tokenizer",
    "WordTokenizer",
    "inner_models",
    "tokenizer_of",
    "windows",
]

Row = Mapping[str, Any]


class Tokenizer(Protocol):
    """Finds the tokens of texts; ``name`` identifies it in a model's identity."""

    name: str

    def starts(self, texts: Sequence[str]) -> list[NDArray[np.int64]]:
        """For each text the position of the first character of each token, ascending."""
        ...


class WordTokenizer:
    """Tokens are runs of word characters (letters, digits, underscore)."""

    name = "words"
    _word = re.compile(r"\w+")

    def starts(self, texts: Sequence[str]) -> list[NDArray[np.int64]]:
        return [np.array([match.start() for match in self._word.finditer(text)], np.int64) for text in texts]


class ModelTokenizer:
    """Tokens of a model's own tokenizer, without special tokens."""

    name = "model"

    def __init__(self, tokenizer: Any) -> None:
        if not (getattr(tokenizer, "is_fast", False) or hasattr(tokenizer, "encode_batch")):
            raise ModelError(
                f"the tokenizer {type(tokenizer).__name__} does not report the position of its tokens in the text. "
                "Remedy: pass splitter=TokenWindows(tokens, tokenizer=WordTokenizer())"
            )
        self._tokenizer = tokenizer

    def starts(self, texts: Sequence[str]) -> list[NDArray[np.int64]]:
        if getattr(self._tokenizer, "is_fast", False):
            encoded = self._tokenizer(
                list(texts),
                add_special_tokens=False,
                truncation=False,
                padding=False,
                return_offsets_mapping=True,
                verbose=False,
            )["offset_mapping"]
        else:
            encoded = [
                encoding.offsets for encoding in self._untruncated().encode_batch(list(texts), add_special_tokens=False)
            ]
        return [np.maximum.accumulate(np.array([start for start, _ in offsets], np.int64)) for offsets in encoded]

    def _untruncated(self) -> Any:
        """Copy without truncation and padding; the model's own tokenizer stays unchanged."""
        copy = type(self._tokenizer).from_str(self._tokenizer.to_str())
        copy.no_truncation()
        copy.no_padding()
        return copy


class RememberedTokens:
    """Caches token positions of each text, four bytes each, in a temporary file."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.name = tokenizer.name
        self._tokenizer = tokenizer
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  (as long as the tokenizer lives)
        self._places: dict[bytes, tuple[int, int]] = {}

    def starts(self, texts: Sequence[str]) -> list[NDArray[np.int64]]:
        keys = [hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._places}
        found = self._tokenizer.starts(list(missing.values())) if missing else []
        for key, starts in zip(missing, found, strict=True):
            self._places[key] = self._file.seek(0, os.SEEK_END), len(starts)
            self._file.write(starts.astype(np.int32).tobytes())
        return [self._read(*self._places[key]) for key in keys]

    def _read(self, place: int, count: int) -> NDArray[np.int64]:
        self._file.seek(place)
        return np.frombuffer(self._file.read(4 * count), np.int32).astype(np.int64)


def windows(n_tokens: int, size: int, stride: int) -> list[tuple[int, int]]:
    """Half-open token ranges of the windows over a text.

    They start every ``stride`` tokens and end when one reaches the end of the text. A text without tokens has the empty
    window (0, 0).
    """
    last = max(n_tokens - size, 0)
    n_windows = -(-last // stride) + 1
    return [(start, min(start + size, n_tokens)) for start in range(0, n_windows * stride, stride)]


class Splitter(Protocol):
    """Splits corpus rows; ``settings`` and ``tag`` enter identity and name of a model."""

    @property
    def settings(self) -> dict[str, Any]: ...

    @property
    def tag(self) -> str: ...

    def __call__(self, rows: Sequence[Row]) -> list[list[str]]:
        """The passages of each row, at least one."""
        ...


@dataclass(frozen=True)
class TokenWindows:
    """Windows over the text of a document (title, blank, text); see the module.

    Attributes:
        tokens: tokens of a window.
        stride: tokens between the starts of two windows, at most ``tokens``; without overlap if None.
        tokenizer: defines tokens.
    """

    tokens: int
    stride: int | None = None
    tokenizer: Tokenizer = field(default_factory=WordTokenizer)

    def __post_init__(self) -> None:
        if self.tokens < 1:
            raise ValueError(f"a window holds at least one token, not {self.tokens}")
        if self.stride is not None and not 1 <= self.stride <= self.tokens:
            raise ValueError(
                f"the stride of windows of {self.tokens} tokens is 1 to {self.tokens}, not {self.stride}: text would be"
                " skipped"
            )

    @property
    def step(self) -> int:
        return self.stride or self.tokens

    @property
    def settings(self) -> dict[str, Any]:
        return {"tokens": self.tokens, "stride": self.step, "tokenizer": self.tokenizer.name}

    @property
    def tag(self) -> str:
        return f"{self.tokens}" if self.step == self.tokens else f"{self.tokens}s{self.step}"

    def __call__(self, rows: Sequence[Row]) -> list[list[str]]:
        texts = [document_text(row) for row in rows]
        return [self._cut(text, starts) for text, starts in zip(texts, self.tokenizer.starts(texts), strict=True)]

    def _cut(self, text: str, starts: NDArray[np.int64]) -> list[str]:
        passages = []
        for first, end in windows(len(starts), self.tokens, self.step):
            begin = 0 if first == 0 else int(starts[first])
            stop = len(text) if end >= len(starts) else int(starts[end])
            passages.append(text[begin:stop].strip())
        return passages


@dataclass(frozen=True)
class Sections:
    """Sections in the corpus: a column with a list of texts, or a separated text.

    Blank sections are dropped; a document without any other is one empty passage.

    Attributes:
        column: name of the column with the list.
        separator: splits the text (title, blank, text) instead.
    """

    column: str = "sections"
    separator: str | None = None

    @property
    def settings(self) -> dict[str, Any]:
        return {"column": self.column} if self.separator is None else {"separator": self.separator}

    @property
    def tag(self) -> str:
        return "sections"

    def __call__(self, rows: Sequence[Row]) -> list[list[str]]:
        return [[text for section in self._sections(row) if (text := section.strip())] or [""] for row in rows]

    def _sections(self, row: Row) -> Sequence[str]:
        if self.separator is not None:
            return document_text(row).split(self.separator)
        sections = row.get(self.column)
        if sections is None or isinstance(sections, str):
            raise DataError(
                f"document {row.get('id')!r} has no list of texts in column {self.column!r}",
                remedy="name the column that holds the sections, or give a separator",
            )
        return list(sections)


def inner_models(model: Any) -> Iterator[Any]:
    """A model and the models that it wraps, from the outside in."""
    seen: set[int] = set()
    while model is not None and id(model) not in seen:
        seen.add(id(model))
        yield model
        model = getattr(model, "model", None)


def tokenizer_of(model: Any) -> Tokenizer:
    """Words for BM25, else the tokens of the model's own tokenizer."""
    if isinstance(model, BM25):
        return WordTokenizer()
    for inner in inner_models(model):
        if (tokenizer := getattr(inner, "tokenizer", None)) is not None:
            return ModelTokenizer(tokenizer)
    raise ModelError(
        f"{type(model).__name__} shows no tokenizer to measure windows with. Remedy: pass splitter=TokenWindows(tokens,"
        " tokenizer=...)"
    )
