"""The prompts of PatenTEB (Table 11), and the tasks that use them.

``TABLE_11`` holds the prefixes as the paper prints them. A model reads prefix, one blank and text ("[prefix] [text
content]"), so a prompt is the prefix with a trailing blank.

The checkpoints of patembed hold the same prefixes as nested objects (``{"retrieval_IN": {"q_text": ...}}``). Neither
sentence-transformers nor mteb can apply that form: both encode without a prompt.

Tasks of the other benchmarks have no prompts in the papers. Each benchmark's facts name the row of Table 11 that its
tasks use. DAPFAM, WIPO-AT retrieval and Sophia use ``retrieval_MIXED``, also for the IN and OUT slices: one encoding
serves all three, and it reproduces the published DAPFAM scores. PatentMap's retrieval follows by analogy.
Classification tasks use ``class_text2ipc3``, and clustering tasks ``clusters_ext_full_ipc``, since their labels are
technical fields and not inventors. So do the patent tasks of mteb.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from patent_mteb.errors import ModelError


@dataclass(frozen=True)
class TaskPrompt:
    """A row of Table 11: the prefixes of queries and documents. ``document`` is empty for tasks of single texts."""

    query: str
    document: str = ""

    def side(self, role: str | None) -> str:
        """Return the prompt of ``"query"``, ``"document"``, or of None, which has one only if both roles share it."""
        document = self.document or self.query
        if role is None:
            return f"{self.query} " if self.query == document else ""
        return f"{self.query if role == 'query' else document} "

    @property
    def one_sided(self) -> bool:
        return self.document in ("", self.query)


TABLE_11: dict[str, TaskPrompt] = {
    "retrieval_IN": TaskPrompt("encode query for same document retrieval:", "encode document for same retrieval:"),
    "retrieval_OUT": TaskPrompt(
        "encode query for different document retrieval:", "encode document for different retrieval:"
    ),
    "retrieval_MIXED": TaskPrompt("encode query for mixed document retrieval:", "encode document for mixed retrieval:"),
    "title2full": TaskPrompt("encode title query for document retrieval:", "encode document for retrieval:"),
    "problem2full": TaskPrompt("encode problem query for document retrieval:", "encode document for retrieval:"),
    "effect2full": TaskPrompt("encode effect query for document retrieval:", "encode document for retrieval:"),
    "effect2substance": TaskPrompt("encode effect query for substance retrieval:", "encode substance for retrieval:"),
    "problem2solution": TaskPrompt("encode problem query for solution retrieval:", "encode solution for retrieval:"),
    "para_problem": TaskPrompt("encode problem for problem paraphrase:", "encode problem for problem paraphrase:"),
    "para_solution": TaskPrompt("encode solution for solution paraphrase:", "encode solution for solution paraphrase:"),
    "class_text2ipc3": TaskPrompt("encode document for ipc classification:"),
    "class_bloom": TaskPrompt("encode document for bloom prediction classification:"),
    "class_nli_oldnew": TaskPrompt(
        "encode citing document for pair classification:", "encode cited document for pair classification:"
    ),
    "clusters_ext_full_ipc": TaskPrompt("encode document for same ipc clustering:"),
    "clusters_inventor": TaskPrompt("encode document for same inventors clustering:"),
}
"""Table 11, by the data set names of the paper."""

TASK_PROMPTS: dict[str, str] = {
    "PatenTEBRetrievalIN": "retrieval_IN",
    "PatenTEBRetrievalMIXED": "retrieval_MIXED",
    "PatenTEBRetrievalOUT": "retrieval_OUT",
    "PatenTEBTitle2Full": "title2full",
    "PatenTEBProblem2Full": "problem2full",
    "PatenTEBProblem2Solution": "problem2solution",
    "PatenTEBEffect2Full": "effect2full",
    "PatenTEBEffect2Substance": "effect2substance",
    "PatenTEBText2IPC3": "class_text2ipc3",
    "PatenTEBBloom": "class_bloom",
    "PatenTEBNLIOldNew": "class_nli_oldnew",
    "PatenTEBParaProblem": "para_problem",
    "PatenTEBParaSolution": "para_solution",
    "PatenTEBFullIPCClustering": "clusters_ext_full_ipc",
    "PatenTEBInventorClustering": "clusters_inventor",
}
"""The suite's PatenTEB tasks and their rows in Table 11."""

_ROWS: dict[str, str] = {
    r"DAPFAM\w+Retrieval": "retrieval_MIXED",
    r"(Swedish)?Patent\w*Classification": "class_text2ipc3",
    r"BigPatentClustering": "clusters_ext_full_ipc",
}
"""Row of Table 11 by pattern of task names: mteb's patent tasks, and the rows that benchmarks add."""

_VARIANT = re.compile(r"(\.sample|\.local-[0-9a-f]+|\.v\d+|\.limit\d+)+$")


def add_rows(rows: Iterable[tuple[str, str]]) -> None:
    """Set the rows for the tasks of a benchmark, as pairs (pattern of task names, row of :data:`TABLE_11`)."""
    for pattern, row in rows:
        if row not in TABLE_11:
            raise ModelError(
                f"Table 11 has no row '{row}' for the tasks {pattern}. Remedy: choose one of {', '.join(TABLE_11)}"
            )
        _ROWS[pattern] = row


def same_row(task: str, other: str) -> None:
    """Let a task use the row of another one, if that has a row."""
    if row := _row(other):
        _ROWS.setdefault(re.escape(task), row)


def _row(task_name: str) -> str | None:
    name = _VARIANT.sub("", task_name)
    return next((row for pattern, row in _ROWS.items() if re.fullmatch(pattern, name)), None)


def prompt_for(task_name: str) -> TaskPrompt | None:
    """Return the row of Table 11 that a task and its variants (``.v2``, ``.sample``) use, None without one."""
    row = _row(task_name)
    return TABLE_11[row] if row else None


def patenteb_prompts(task_names: Iterable[str]) -> dict[str, str]:
    """Return flat prompts for mteb's ``model_prompts``, for the tasks that have one.

    The key is ``"{Task}"`` if both roles share the prompt, else ``"{Task}-query"`` and ``"{Task}-document"``. Pass
    names of registered tasks only: mteb drops other keys with a warning.
    """
    flat: dict[str, str] = {}
    for name in task_names:
        prompt = prompt_for(name)
        if prompt is None:
            continue
        if prompt.one_sided:
            flat[name] = prompt.side(None)
        else:
            flat |= {f"{name}-{role}": prompt.side(role) for role in ("query", "document")}
    return flat
