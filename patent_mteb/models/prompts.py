"""The prompts of PatenTEB (Table 11) and where they apply in the suite.

``TABLE_11`` holds the prefixes as the paper prints them. A text reaches the model as prefix, one blank, text ("[prefix]
[text content]"), so a prompt is the prefix with a trailing blank.

The checkpoints of patembed carry the same prefixes as nested objects (``{"retrieval_IN": {"q_text": ...}}``), a form
that neither sentence-transformers nor mteb can apply: both encode without any prompt instead. :func:`patenteb_prompts`
gives them flat, under the keys by which mteb looks a prompt up: ``"{Task}-query"`` and ``"{Task}-document"`` where the
two sides differ in role, ``"{Task}"`` where there is only one prompt (single texts, paraphrase pairs).

Tasks of the other benchmarks have no prompt of their own; which row they take stands in the facts of each benchmark.
DAPFAM, WIPO-AT retrieval and Sophia take the pair of ``retrieval_MIXED``, also for the IN and OUT parts: one encoding
is scored on all three parts, and the published DAPFAM scores were reproduced with it. PatentMap's retrieval follows by
analogy. No paper says what to use elsewhere; chosen here: classification tasks take the prompt of ``class_text2ipc3``
and clustering tasks the one of ``clusters_ext_full_ipc`` (technology, not people, is what those labels mean). The
patent tasks that mteb itself ships follow suit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from patent_mteb.errors import ModelError


@dataclass(frozen=True)
class TaskPrompt:
    """Both sides of a task in Table 11: field name and prefix. ``document`` is empty where the task encodes single
    texts.
    """

    query_field: str
    query: str
    document_field: str = ""
    document: str = ""

    def side(self, role: str | None) -> str:
        """The prompt of a side (``"query"``, ``"document"`` or None), as it is put before a text.

        Without a role a two-sided task has a prompt only if its two sides agree.
        """
        document = self.document or self.query
        if role is None:
            return f"{self.query} " if self.query == document else ""
        return f"{self.query if role == 'query' else document} "

    @property
    def one_sided(self) -> bool:
        return self.document in ("", self.query)


TABLE_11: dict[str, TaskPrompt] = {
    "retrieval_IN": TaskPrompt(
        "q_text", "encode query for same document retrieval:", "pos_text", "encode document for same retrieval:"
    ),
    "retrieval_OUT": TaskPrompt(
        "q_text",
        "encode query for different document retrieval:",
        "pos_text",
        "encode document for different retrieval:",
    ),
    "retrieval_MIXED": TaskPrompt(
        "q_text", "encode query for mixed document retrieval:", "pos_text", "encode document for mixed retrieval:"
    ),
    "title2full": TaskPrompt(
        "title", "encode title query for document retrieval:", "full_text", "encode document for retrieval:"
    ),
    "problem2full": TaskPrompt(
        "problem", "encode problem query for document retrieval:", "full_text", "encode document for retrieval:"
    ),
    "effect2full": TaskPrompt(
        "effect", "encode effect query for document retrieval:", "full_text", "encode document for retrieval:"
    ),
    "effect2substance": TaskPrompt(
        "effect", "encode effect query for substance retrieval:", "substance", "encode substance for retrieval:"
    ),
    "problem2solution": TaskPrompt(
        "problem", "encode problem query for solution retrieval:", "solution", "encode solution for retrieval:"
    ),
    "para_problem": TaskPrompt(
        "text1", "encode problem for problem paraphrase:", "text2", "encode problem for problem paraphrase:"
    ),
    "para_solution": TaskPrompt(
        "text1", "encode solution for solution paraphrase:", "text2", "encode solution for solution paraphrase:"
    ),
    "class_text2ipc3": TaskPrompt("text", "encode document for ipc classification:"),
    "class_bloom": TaskPrompt("text", "encode document for bloom prediction classification:"),
    "class_nli_oldnew": TaskPrompt(
        "q_text",
        "encode citing document for pair classification:",
        "t_text",
        "encode cited document for pair classification:",
    ),
    "clusters_ext_full_ipc": TaskPrompt("text", "encode document for same ipc clustering:"),
    "clusters_inventor": TaskPrompt("text", "encode document for same inventors clustering:"),
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
"""Pattern of task names -> row of Table 11: the patent tasks that mteb ships, and what the benchmarks of the suite
add."""

_VARIANT = re.compile(r"(\.sample|\.local-[0-9a-f]+|\.v\d+|\.limit\d+)+$")


def add_rows(rows: Iterable[tuple[str, str]]) -> None:
    """Enter the rows that the tasks of a benchmark take: (pattern of task names, row of :data:`TABLE_11`)."""
    for pattern, row in rows:
        if row not in TABLE_11:
            raise ModelError(
                f"Table 11 has no row '{row}' for the tasks {pattern}. Remedy: choose one of {', '.join(TABLE_11)}"
            )
        _ROWS[pattern] = row


def same_row(task: str, other: str) -> None:
    """Let a task take the row of another one, if that has any."""
    if row := _row(other):
        _ROWS.setdefault(re.escape(task), row)


def _row(task_name: str) -> str | None:
    name = _VARIANT.sub("", task_name)
    return next((row for pattern, row in _ROWS.items() if re.fullmatch(pattern, name)), None)


def prompt_for(task_name: str) -> TaskPrompt | None:
    """The row of Table 11 that a task uses, or None for a task that has nothing to do with patents.

    A version (``.v2``) or another state of the data (``.sample``) uses the prompt of the task.
    """
    row = _row(task_name)
    return TABLE_11[row] if row else None


def patenteb_prompts(task_names: Iterable[str]) -> dict[str, str]:
    """Flat prompts for mteb's ``model_prompts``, for those of the named tasks that have one.

    mteb drops a key that names an unknown task, with a warning only: pass names of registered tasks.
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
