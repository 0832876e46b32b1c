"""The settings of runs that mteb notes beside results (``run_settings.jsonl``): versions and encode arguments by task, splits, subsets."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path

from patent_mteb.errors import DataError
from patent_mteb.report.folders import parse

__all__ = ["SETTINGS", "run_settings"]

SETTINGS = "run_settings.jsonl"


def run_settings(text: str, wanted: Mapping[str, Collection[tuple[str, str]]], path: Path) -> str:
    """The lines of a file on some results only.

    Args:
        text: of the file.
        wanted: (split, subset) of the results, by task.
        path: of the file, for messages.

    Raises:
        DataError: a result has no line, which mteb's results repository refuses.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.report.run_settings import run_settings
        >>> text = '{"task": "A", "splits": ["test"], "subsets": ["x", "default"]}\\n{"task": "B", "splits": ["test"]}'
        >>> run_settings(text, {"A": {("test", "default")}}, Path("run_settings.jsonl"))
        '{"task": "A", "splits": ["test"], "subsets": ["default"]}\\n'
    """
    kept: dict[tuple[str, str, str], str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            entry = parse(line.encode())
            splits, subsets = entry["splits"], entry.get("subsets", ["default"])
        except (ValueError, KeyError, TypeError, AttributeError):
            raise DataError("no line of run settings", path=path, row=number, remedy="delete the line and run its task again") from None
        for split, subset in wanted.get(entry["task"], ()):
            if split in splits and subset in subsets:
                kept[entry["task"], split, subset] = json.dumps({**entry, "splits": [split], "subsets": [subset]})
    for task, parts in wanted.items():
        if without := [part for part in parts if (task, *part) not in kept]:
            problem = f"there are no settings of the run of {task} on {'/'.join(without[0])}"
            raise DataError(problem, path=path, remedy="run the task again: mteb's results repository asks for them")
    return "".join(f"{line}\n" for line in dict.fromkeys(kept.values()))
