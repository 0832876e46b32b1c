"""Classification of published rows by a probe on frozen embeddings: a base class for sets with few files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from patent_mteb.tasks import checks
from patent_mteb.tasks.patenteb import Classification, LabelledRows

_ROLES = ("query", "document")

Row = tuple[str, str, tuple[str, ...]]
"""Id, label and texts of a row."""


class ProbedRows(Classification):
    """The probe of :class:`~patent_mteb.tasks.patenteb.Classification` on the rows that :meth:`read_rows` returns."""

    def read_rows(self) -> tuple[Path, Mapping[str, Sequence[Row]]]:
        """Return the file that errors name, and the rows of the splits ``train`` and ``test``."""
        raise NotImplementedError

    def load_split(self) -> LabelledRows:
        path, parts = self.read_rows()
        columns, texts, labels = self.spec.texts, dict[str, list[str]](), dict[str, list[str]]()
        for split, rows in parts.items():
            labels[split] = [label for _, label, _ in rows]
            checks.refuse_constant(labels[split], path, f"rows of the {split} split")
            texts |= {f"{split} {name}": [row[2][place] for row in rows] for place, name in enumerate(columns)}
        train, test = parts["train"], parts["test"]
        ids = ([(key,) for key, *_ in train], [(key,) for key, *_ in test])
        checks.check_leakage({"id": ids, "text": ([row[2] for row in train], [row[2] for row in test])}, path)
        checks.check_unseen_labels(set(labels["test"]), set(labels["train"]), path)
        paired = ((f"{split} {name}", role) for split in parts for name, role in zip(columns, _ROLES, strict=False))
        return LabelledRows(texts, labels, dict(paired) if len(columns) > 1 else {})
