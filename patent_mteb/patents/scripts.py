"""Words and letters of texts in any script."""

from __future__ import annotations

import re
import unicodedata

UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\U00020000-\U0003ffff"  # kana, Han, Hangul
)
"""Characters of a class of ``re``: scripts without blanks between words, and Hangul, whose blanks divide phrases."""

MARKS = "".join(chr(code) for code in range(0x300, 0x1D00) if unicodedata.category(chr(code))[0] == "M")
"""Combining marks, such as the vowels of Hindi. They belong to a word, but ``\\w`` excludes them."""

HAS_UNSPACED = re.compile(f"[{UNSPACED}]")
_WORD_AND_BLANK = re.compile(rf"(?:[{UNSPACED}]{{1,2}}|[^\s{UNSPACED}]+) ?")


def words_and_pieces(text: str, size: int, pattern: re.Pattern[str]) -> list[str]:
    """Split a text into the matches of a pattern; those of :data:`UNSPACED` into overlapping pieces of ``size``."""
    words: list[str] = []
    for run in pattern.findall(text):
        starts = range(max(1, len(run) - size + 1)) if HAS_UNSPACED.match(run) else ()
        words += [run[start : start + size] for start in starts] or [run]
    return words


def split_words(text: str) -> list[str]:
    """Return the words of a text, each with the blank after it. Two letters of an unspaced script count as a word."""
    if HAS_UNSPACED.search(text):
        return _WORD_AND_BLANK.findall(" ".join(text.split()))
    return [f"{word} " for word in text.split()]


def first_words(text: str, number: int) -> str:
    """Return the first words of a text, with single blanks."""
    return "".join(split_words(" ".join(text.split(maxsplit=number)[:number]))[:number]).rstrip()
