"""The bar of an encoder at work: often on a terminal, seldom in a log."""

from __future__ import annotations

import sys
from typing import Any

from tqdm.auto import tqdm

__all__ = ["LOG_SECONDS", "progress_bar"]

LOG_SECONDS = 60.0
"""Where nobody looks at a terminal: seconds until the first line, and between two."""


def progress_bar(name: str, total: int, reused: int, shown: bool) -> Any:
    """A bar over ``total`` texts, ``reused`` of which are there already.

    Example:
        >>> from patent_mteb.store.progress import progress_bar
        >>> with progress_bar("my-encoder on MyTask", total=8, reused=3, shown=False) as bar:
        ...     bar.update(5)
    """
    watched = sys.stderr is not None and sys.stderr.isatty()
    pace = {} if watched else {"delay": LOG_SECONDS, "mininterval": LOG_SECONDS, "maxinterval": LOG_SECONDS}
    return tqdm(total=total, initial=reused, desc=name, unit="text", disable=not shown, **pace)
