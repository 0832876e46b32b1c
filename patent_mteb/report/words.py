"""The words of the page: how a measure is written, and what the terms of patent retrieval mean where they stand.

Names from outside (models, revisions, settings, paths) as they may be shown: nothing in them acts on a terminal, a
spreadsheet or a plot, and nothing in them is invisible.
"""

from __future__ import annotations

import unicodedata

_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode's controls (escape sequences and line breaks among them), formats (bidirectional controls), surrogates,
separators of lines."""

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""What makes a spreadsheet calculate, in wide letters too."""


def visible(text: str, *, lines: bool = False) -> str:
    r"""A text with its control characters written out, so that it is one line which does nothing to a terminal."""
    if text.isprintable():
        return text
    return "".join(character if (lines and character == "\n") else _visible(character) for character in text)


def _visible(character: str) -> str:
    if unicodedata.category(character) not in _INVISIBLE:
        return character
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def inert(text: str) -> str:
    """A text as a cell of a csv file: visible, and with an apostrophe before what a spreadsheet would run as a
    formula.
    """
    return ("'" if text.startswith(_FORMULA) else "") + visible(text)


def shortened(text: str, length: int) -> str:
    """A text that is too long for its place, with its middle left out."""
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
    "nDCG@10": "normalised discounted cumulative gain of the first ten documents",
    "nDCG@100": "normalised discounted cumulative gain of the first hundred documents",
}
"""Term -> meaning."""


_PARTS = {"in": "IN", "out": "OUT", "xy": "XY", "a": "A", "knn": "kNN", "mlp": "MLP", "paper": "paper's"}
"""What a measure may begin with: a slice, a classifier, whose protocol."""

_NAMES = {
    "ndcg": "nDCG",
    "graded_ndcg": "graded nDCG",
    "knn_precision": "kNN precision",
    "mlp_precision": "MLP precision",
    "map": "MAP",
    "mse": "MSE",
    "mrr": "MRR",
    "pres": "PRES",
    "macro_f1": "macro F1",
    "v_measure": "V-measure",
    "cosine_pearson": "Pearson r",
    "cosine_spearman": "Spearman ρ",
    "f1": "F1",
    "ap": "AP",
    "ari": "ARI",
}


def measure_title(measure: str) -> str:
    """A measure as papers write it."""
    name, _, depth = measure.replace("@", "_at_").partition("_at_")
    part, _, rest = measure.partition("_")
    if part in _PARTS and rest and name not in _NAMES:
        return f"{_PARTS[part]} {measure_title(rest)}"
    if name.startswith("inscope_"):
        return f"InScope@{depth}, {name.removeprefix('inscope_')}"
    plain = name.replace("_", " ")
    return _NAMES.get(name, plain[:1].upper() + plain[1:] or "score") + (f"@{depth}" if depth else "")
