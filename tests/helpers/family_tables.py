"""Tables of patent families, as users put them next to their records."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl


def write_families(path: Path, families: Mapping[str, str]) -> None:
    """Write ``families.parquet``."""
    columns = {"publication_number": list(families), "family_id": list(families.values())}
    pl.DataFrame(columns).write_parquet(path)
