"""The prompts of PatenTEB (Table 11), and the tasks that use them.

``table_11.csv`` holds the prefixes as the paper prints them; a model reads prefix, one blank and text. The checkpoints
of patembed hold them as nested objects, which neither sentence-transformers nor mteb can apply.

Tasks of the other benchmarks have no prompts in the papers. Each benchmark's facts name the row of Table 11 that its
tasks use. DAPFAM, WIPO-AT retrieval and Sophia use ``retrieval_MIXED``, also for the IN and OUT slices: one encoding
serves all three, and it reproduces the published DAPFAM scores. Classification tasks use ``class_text2ipc3``, and
clustering tasks ``clusters_ext_full_ipc``. So do the patent tasks of mteb.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

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


_TABLE = list(csv.DictReader(Path(__file__).with_name("table_11.csv").read_text("utf-8").splitlines()))
TABLE_11 = {row["row"]: TaskPrompt(row["query"], row["document"]) for row in _TABLE}
"""Table 11, by the data set names of the paper."""

TASK_PROMPTS = {row["task"]: row["row"] for row in _TABLE}  # the suite's PatenTEB tasks and their rows in Table 11
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
                f"Table 11 has no row '{row}' for the tasks {pattern}", remedy=f"choose one of {', '.join(TABLE_11)}"
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
    """Return flat prompts for mteb's ``model_prompts``, for the (registered) tasks that have one.

    The key is ``"{Task}"`` if both roles share the prompt, else ``"{Task}-query"`` and ``"{Task}-document"``.
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
