"""Words of the page: names of measures, the glossary of patent retrieval, and safe forms of foreign names.

Names from files are shown so that nothing in them is invisible or acts on a terminal, a spreadsheet or a plot.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode's controls (escape sequences and line breaks among them), formats (bidirectional controls), surrogates,
separators of lines."""

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""Characters that begin a formula of a spreadsheet, full-width ones too."""


def visible(text: str, *, lines: bool = False) -> str:
    r"""Return a text with its control characters written out, as one line without effect on a terminal."""
    if text.isprintable():
        return text
    return "".join(
        character.encode("unicode_escape", "surrogatepass").decode("ascii")
        if unicodedata.category(character) in _INVISIBLE and not (lines and character == "\n")
        else character
        for character in text
    )


def inert(text: str) -> str:
    """Return a text as a cell of a csv file: visible, with an apostrophe before a formula."""
    return ("'" if text.startswith(_FORMULA) else "") + visible(text)


_OF_FILE = re.compile(r"(.+?/[^/:]+\.(?:json|parquet|run|qrels|quarantined)): (.+)", re.DOTALL)


def by_reason(messages: Iterable[str]) -> list[str]:
    """Say each reason once: messages that differ only in the file before it become one, with the number of files."""
    sharing: dict[str, list[str]] = {}
    for message in messages:
        named = _OF_FILE.fullmatch(message)
        path, reason = named.groups() if named else ("", message)
        sharing.setdefault(reason, []).append(path)
    found = []
    for reason, (first, *others) in sharing.items():
        more = f" and {len(others)} more file{'s' * (len(others) > 1)}" if others else ""
        found.append(f"{first}{more}: {reason}" if first else reason)
    return found


def shortened(text: str, length: int) -> str:
    """Return a text of at most ``length`` characters; the middle of a longer one is omitted."""
    if len(text) <= length:
        return text
    head = length // 2
    return f"{text[:head]}…{text[len(text) - (length - head - 1) :]}"


TERMS = {
    "IN": "documents that share a technical domain (IPC-3 code) with the query",
    "OUT": "documents that share no technical domain with the query",
    "Gap": "(IN − OUT) / IN: the share of the score that is lost outside the query's domain",
    "TA": "title and abstract",
    "TAC": "title, abstract and claims",
    "TACD": "title, abstract, claims and description",
    "Claim1": "the first independent claim",
    "DWPI": "Derwent World Patents Index: abstracts rewritten by experts, with novelty, use and advantage",
    "XY": "citations of category X or Y: they take novelty or inventive step away",
    "A": "citations of category A: technological background",
    "InScope": "share of the found documents that have the query's IPC code, at the level that is named",
    "SSD": "section shift distance: how far the vectors of two sections of one patent lie apart (lower is closer)",
    "IDA": (
        "intra-document alignment: distance of a patent's own sections against that of other patents' (lower is better)"
    ),
    "nDCG@10": "how high the relevant documents are among the first ten: 1 if all are at the top, 0 if none is there",
    "nDCG@100": "how high the relevant documents are among the first hundred",
}
"""Term -> meaning."""

REDEFINED = {"no patent has claims: TAC is title and abstract": ("TAC", "title and abstract")}
"""A difference that a build records -> the term that has another meaning in its data, and this meaning."""

_PARTS = {"in": "IN", "out": "OUT", "xy": "XY", "a": "A", "knn": "kNN", "mlp": "MLP", "paper": "paper's"}
"""Prefixes of a measure: a slice, a classifier, the paper's protocol."""

_NAMES = {name: name.upper() for name in ("map", "mse", "mrr", "pres", "f1", "ap", "ari")} | {
    "ndcg": "nDCG",
    "graded_ndcg": "graded nDCG",
    "knn_precision": "kNN precision",
    "mlp_precision": "MLP precision",
    "macro_f1": "macro F1",
    "v_measure": "V-measure",
    "cosine_pearson": "Pearson r",
    "cosine_spearman": "Spearman ρ",
}


def measure_title(measure: str) -> str:
    name, _, depth = measure.replace("@", "_at_").partition("_at_")
    part, _, rest = measure.partition("_")
    if part in _PARTS and rest and name not in _NAMES:
        return f"{_PARTS[part]} {measure_title(rest)}"
    if name.startswith("inscope_"):
        return f"InScope@{depth}, {name.removeprefix('inscope_')}"
    plain = name.replace("_", " ")
    return _NAMES.get(name, plain[:1].upper() + plain[1:] or "score") + (f"@{depth}" if depth else "")
