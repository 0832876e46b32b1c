"""What an encoder has done so far, and its bar at work: often on a terminal, seldom in a log."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from tqdm.auto import tqdm

__all__ = ["LOG_SECONDS", "Stats", "progress_bar"]

LOG_SECONDS = 60.0
"""Where nobody looks at a terminal: seconds until the first line, and between two."""


@dataclass
class Stats:
    """What an encoder has done so far.

    Attributes:
        texts: texts that tasks asked for.
        encoded: texts that reached the model.
        characters: their characters, without prompts.
        passed_through: calls that the store had no part in (images, sound, precisions that only the model can make).
    """

    texts: int = 0
    encoded: int = 0
    characters: int = 0
    passed_through: int = 0

    @property
    def reused(self) -> int:
        """Texts that tasks asked for and that did not reach the model."""
        return self.texts - self.encoded


def progress_bar(name: str, total: int | None, reused: int, shown: bool) -> Any:
    """A bar over ``total`` texts (None: nobody knows), ``reused`` of which are there already.

    Example:
        >>> from patent_mteb.store.progress import progress_bar
        >>> with progress_bar("my-encoder on MyTask", total=8, reused=3, shown=False) as bar:
        ...     bar.update(5)
    """
    watched = sys.stderr is not None and sys.stderr.isatty()
    pace = {} if watched else {"delay": LOG_SECONDS, "mininterval": LOG_SECONDS, "maxinterval": LOG_SECONDS}
    return tqdm(total=total, initial=reused, desc=name, unit="text", disable=not shown, **pace)
