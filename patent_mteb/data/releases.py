"""How many rows the released files have: a file with fewer was cut off on its way, and would be scored as the whole.

PatenTEB Table 1 (test) and its data cards (train); DAPFAM §3 and its card.
"""

from __future__ import annotations

__all__ = ["ROWS", "STATED", "rows_of"]

_PATENTEB = {
    "retrieval_IN": 15_809,
    "retrieval_MIXED": 15_574,
    "retrieval_OUT": 15_462,
    "title2full": 18_727,
    "problem2full": 18_729,
    "problem2solution": 18_729,
    "effect2full": 2_043,
    "effect2substance": 2_037,
    "class_text2ipc3": 18_727,
    "class_bloom": 7_347,
    "class_nli_oldnew": 14_690,
    "para_problem": 18_726,
    "para_solution": 18_656,
    "clusters_ext_full_ipc": 47_230,
    "clusters_inventor": 86_834,
}
_TRAIN = {"class_text2ipc3": 30_000, "class_bloom": 11_636, "class_nli_oldnew": 23_215}

ROWS: dict[tuple[str, str], int] = {
    ("datalyes/DAPFAM_patent", "corpus.parquet"): 45_336,
    ("datalyes/DAPFAM_patent", "queries.parquet"): 1_247,
    ("datalyes/DAPFAM_patent", "qrels_all.parquet"): 49_869,
    **{(f"datalyes/{table}", "test/data.parquet"): rows for table, rows in _PATENTEB.items()},
    **{(f"datalyes/{table}", "train/data.parquet"): rows for table, rows in _TRAIN.items()},
}
"""(data set, file) -> rows of the release."""


STATED: dict[tuple[str, str], int] = {
    ("ZoeYou/downstream", "perf200/content/documents.json"): 48_110,
    ("ZoeYou/downstream", "perf200/content/queries.json"): 200,
}
"""(data set, file) -> patents that the paper says it has (PatentMap §6.1); the files repeat lines, and nobody has counted the release."""


def rows_of(key: str, file: str) -> int | None:
    """Rows of a released file, None where no source says it.

    Example:
        >>> from patent_mteb.data.releases import rows_of
        >>> rows_of("datalyes/DAPFAM_patent", "queries.parquet")
        1247
    """
    return ROWS.get((key, file))
