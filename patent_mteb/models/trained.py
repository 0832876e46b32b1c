"""Checkpoints of ``patent-mteb train``: what their leak check found goes with the model into its results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mteb.models.model_meta import ModelMeta

from patent_mteb.files import read_json

__all__ = ["RECORD", "TrainedMeta", "training_record"]

RECORD = "patent_mteb_training.json"
"""File of a checkpoint that says how it was trained."""


class TrainedMeta(ModelMeta):
    """The facts of a model with the record of its leak check in a phrase.

    Example:
        >>> from patent_mteb.models.trained import TrainedMeta
        >>> TrainedMeta.create_empty({"name": "local/mine", "contamination": "0 of 1,172 pairs met a test set"}).contamination
        '0 of 1,172 pairs met a test set'
    """

    contamination: str | None = None


def training_record(folder: Path) -> dict[str, Any] | None:
    """How a checkpoint was trained, None for one that was not trained here.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.models.trained import training_record
        >>> training_record(Path("nothing"))
    """
    found = read_json(folder / RECORD)
    return found if isinstance(found, dict) else None
