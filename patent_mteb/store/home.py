"""What a space needs of the store that it belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from patent_mteb.store.holding import Hold

__all__ = ["Home"]


class Home(Protocol):
    """The store that a space belongs to."""

    shard_bytes: int
    memory_limit: int

    def allocate(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> NDArray[Any]:
        """An array of a shape and a type to be filled."""

    def prepare(self, directory: Path, document: Mapping[str, Any]) -> Hold | None:
        """Make the space's directory and its description if they are not there, and mark it as used.

        Raises:
            OSError: they cannot be written.
        """

    def unwritable(self, error: OSError) -> None:
        """Say that something cannot be written."""
