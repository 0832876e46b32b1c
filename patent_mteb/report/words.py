"""The words of the page: how a measure is written, and what the terms of patent retrieval mean where they stand."""

from __future__ import annotations

__all__ = ["TERMS", "measure_title"]

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
    "IDA": "intra-document alignment: distance of a patent's own sections against that of other patents' (lower is better)",
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
    """A measure as papers write it.

    Example:
        >>> from patent_mteb.report.words import measure_title
        >>> measure_title("ndcg_at_10"), measure_title("macro_f1"), measure_title("recall_at_100"), measure_title("")
        ('nDCG@10', 'macro F1', 'Recall@100', 'score')
        >>> measure_title("inscope_subclass_at_10"), measure_title("out_ndcg_at_100"), measure_title("p@1")
        ('InScope@10, subclass', 'OUT nDCG@100', 'P@1')
    """
    name, _, depth = measure.replace("@", "_at_").partition("_at_")
    part, _, rest = measure.partition("_")
    if part in _PARTS and rest and name not in _NAMES:
        return f"{_PARTS[part]} {measure_title(rest)}"
    if name.startswith("inscope_"):
        return f"InScope@{depth}, {name.removeprefix('inscope_')}"
    plain = name.replace("_", " ")
    return _NAMES.get(name, plain[:1].upper() + plain[1:] or "score") + (f"@{depth}" if depth else "")
