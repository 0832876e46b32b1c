"""Answers of servers on disk: each question is asked once, whatever stops a run."""

from __future__ import annotations

import json
import sqlite3
import threading
from pathlib import Path
from types import TracebackType
from typing import Any

from patent_mteb.errors import DataError

__all__ = ["Answers"]


class Answers:
    """JSON answers by key, in one SQLite file that threads and processes may share; each is committed when it is added.

    Raises:
        DataError: the file exists and is no such file, or is damaged, or the disk is full.

    Example:
        >>> from patent_mteb.endpoints.answers import Answers
        >>> with Answers("answers.sqlite") as answers:
        ...     answers.put("key", {"text": "7"})
        ...     answers.get("key"), answers.get("other"), len(answers)
        ({'text': '7'}, None, 1)
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        try:
            self._base = sqlite3.connect(self.path, timeout=60, isolation_level=None, check_same_thread=False)
            self._base.execute("CREATE TABLE IF NOT EXISTS answer (key TEXT PRIMARY KEY, document TEXT NOT NULL)")
        except sqlite3.DatabaseError as error:
            raise DataError(f"not a file of kept answers ({error})", path=self.path, remedy="delete the file or name another") from error

    def get(self, key: str) -> dict[str, Any] | None:
        """The kept answer, None if there is none."""
        row = self._row("SELECT document FROM answer WHERE key = ?", key)
        return None if row is None else dict(json.loads(row[0]))

    def put(self, key: str, answer: dict[str, Any]) -> None:
        """Keep an answer."""
        self._row("INSERT OR REPLACE INTO answer VALUES (?, ?)", key, json.dumps(answer))

    def __len__(self) -> int:
        return int(self._row("SELECT count(*) FROM answer")[0])

    def _row(self, command: str, *values: str) -> Any:
        """The first row that a command gives."""
        try:
            with self._lock:
                return self._base.execute(command, values).fetchone()
        except sqlite3.DatabaseError as error:
            remedy = "see that the disk has room, then run again; if the file is damaged, name another"
            raise DataError(f"kept answers cannot be read or written ({error})", path=self.path, remedy=remedy) from error

    def close(self) -> None:
        self._base.close()

    def __enter__(self) -> Answers:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
