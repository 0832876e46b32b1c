"""Analysers of BM25: how a text becomes terms, chosen once for a corpus by its scripts and function words.

An analyser is a row of ``analysers.toml``, or :data:`BIGRAMS` (Chinese, Japanese, Korean, Thai and other scripts of
:data:`~patent_mteb.patents.scripts.UNSPACED`, with words of other scripts between them), or :data:`WORDS` (no stemmer).

All but that of English read words with their combining marks, and overlapping bigrams of unspaced scripts, the
classical index of these languages (Lucene's ``CJKAnalyzer``). Bigrams were chosen by measurement (``docs/numbers.md``).
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset
from numpy.typing import NDArray

from patent_mteb.patents.scripts import HAS_UNSPACED, MARKS, UNSPACED, words_and_pieces
from patent_mteb.search.base import document_texts

LANGUAGES: Mapping[str, Mapping[str, str]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
ENGLISH = next(iter(LANGUAGES))
BIGRAMS, WORDS = "bigrams", "words"
_UNSPACED_LANGUAGES = ("zho-Hans", "zho-Hant", "jpn-Jpan", "kor-Hang", "tha-Thai")
RULES = "analysers-2"  # version of the rules here and of the table, part of a model's revision

_WORD = re.compile(rf"\w[\w{MARKS}]+")
_RUN_OR_WORD = re.compile(rf"[{UNSPACED}]+|[^\W{UNSPACED}](?:[^\W{UNSPACED}]|[{MARKS}])+")
_LATIN = re.compile("[a-zà-öø-ÿ]", re.IGNORECASE)
_UNSPACED_SHARE = 1e-3
"""Share of unspaced letters that needs bigrams: one Chinese text among hundreds in English is still searched. English
sets have none but stray characters: 0 of the letters of 1,813 US applications."""
_FUNCTION_WORDS = 0.05  # least share of function words; running text has 0.2 to 0.4, a list of product names has none
_SAMPLE, _CHARACTERS = 2_000, 2_000  # documents drawn, and their first characters: a second at any size


def _lowered(text: str) -> str:
    """Normal form KC in lower case. The Turkish capital İ becomes a plain i, without the dot that Python keeps."""
    return unicodedata.normalize("NFKC", text).lower().replace("i\u0307", "i")


def terms_of(text: str) -> list[str]:
    """Return the words of a lower-cased text with at least two letters, and the bigrams of unspaced scripts."""
    normal = _lowered(text)
    return words_and_pieces(normal, 2, _RUN_OR_WORD) if HAS_UNSPACED.search(normal) else _WORD.findall(normal)


def analyser_of(texts: Iterable[str]) -> str:
    """Return the name of the analyser for a corpus, from a sample of its texts.

    Example:
        >>> from patent_mteb.search.analysers import analyser_of
        >>> [analyser_of([text]) for text in ("eine Pumpe mit dem Ventil", "一种泵", "a pump with a valve")]
        ['german', 'bigrams', 'bm25s']
    """
    counts, letters, unspaced, latin = Counter[str](), 0, 0, 0
    for text in texts:
        lowered = _lowered(text[:_CHARACTERS])
        counts.update(run for run in _RUN_OR_WORD.findall(lowered) if not HAS_UNSPACED.match(run))
        unspaced += len(HAS_UNSPACED.findall(lowered))
        latin += len(_LATIN.findall(lowered))
        letters += sum(map(str.isalpha, lowered))
    if 2 * unspaced > letters:
        return BIGRAMS
    total = sum(counts.values())
    shares = {name: sum(counts[word] for word in row["words"].split()) for name, row in LANGUAGES.items()}
    found = max(shares, key=shares.__getitem__)
    if shares[found] < _FUNCTION_WORDS * total or not shares[found]:
        found = ENGLISH if 2 * latin >= letters - unspaced else WORDS
    mixed = unspaced > _UNSPACED_SHARE * letters
    return BIGRAMS if mixed and found in (ENGLISH, WORDS) else found


def _drawn(number: int) -> NDArray[np.int64]:
    return np.sort(np.random.default_rng(0).choice(number, min(number, _SAMPLE), replace=False))


def analyser_of_documents(texts: Sequence[str]) -> str:
    """Return the name of the analyser for a list of texts, from a sample of them."""
    return analyser_of(texts[row] for row in _drawn(len(texts)))


def analyser_of_corpus(corpus: Dataset) -> str:
    """Return the name of the analyser for the documents of a corpus, the same for its queries."""
    drawn = corpus.select(_drawn(len(corpus)))
    in_sections = "sections" in corpus.column_names
    return analyser_of(chain.from_iterable(drawn["sections"]) if in_sections else document_texts(drawn))


def settings_of(name: str) -> dict[str, Any]:
    """Return the settings of an analyser in :class:`~patent_mteb.search.bm25.BM25Settings`."""
    row = LANGUAGES.get(ENGLISH if name == BIGRAMS else name, {})
    return {"stopwords": row.get("stopwords"), "stemmer": row.get("stemmer"), "token_pattern": BIGRAMS}


def languages_of(name: str) -> list[str]:
    """Return the languages of a setting of BM25 as mteb writes them; ``dapfam`` is for English, others for all."""
    every = {one: [row["language"]] for one, row in LANGUAGES.items()}
    every |= {BIGRAMS: list(_UNSPACED_LANGUAGES), "dapfam": every[ENGLISH]}
    return every.get(name) or list(dict.fromkeys(chain.from_iterable(every.values())))
