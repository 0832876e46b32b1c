"""Files of a results folder that cannot be read: a killed run left them half-written, or the disk damaged them."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from mteb.results import TaskResult

__all__ = ["DAMAGED", "flaw", "set_aside"]

DAMAGED = ".damaged"
"""What the name of a file ends with that was set aside."""


def flaw(path: Path, *, result: bool = False) -> str:
    """Why a file of a results folder cannot be read, empty if it can.

    Args:
        result: the file must be a result of mteb; else a JSON file is read as one if it looks like it.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.experiments.torn import flaw
        >>> torn = Path("model_meta.json")
        >>> _ = torn.write_text('{"name":')
        >>> flaw(torn)
        'JSONDecodeError: Expecting value: line 1 column 9 (char 8)'
    """
    try:
        if path.suffix == ".parquet":
            pq.read_table(path)
        elif path.suffix == ".json":
            document = json.loads(path.read_text("utf-8"))
            if not isinstance(document, dict):
                return f"a JSON {type(document).__name__} where an object is expected"
            if result or document.keys() & {"task_name", "scores"}:
                TaskResult.from_disk(path)
    except (ValueError, KeyError, TypeError, AttributeError, OSError, RecursionError, pa.ArrowException) as error:
        return f"{type(error).__name__}: {error}".splitlines()[0]
    return ""


def set_aside(path: Path) -> Path:
    """Rename a file so that nobody reads it any more; what was set aside before under this name is replaced.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.experiments.torn import set_aside
        >>> torn = Path("model_meta.json")
        >>> _ = torn.write_text("{")
        >>> set_aside(torn).name, torn.exists()
        ('model_meta.json.damaged', False)
    """
    damaged = path.with_name(f"{path.name}{DAMAGED}")
    path.replace(damaged)
    return damaged
