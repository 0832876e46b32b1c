"""Citations between publications joined to edges between families: the columns of the package, DuckDB and polars.

    python benchmarks/joins.py [--publications 1000000]

There are three citations a publication, and every fifth publication is a second member of a family. Each engine reads
the same Parquet files in a process of its own with one thread, and all must find equally many edges. DuckDB has a limit
of 1 GB and may write to disk beyond it (``pip install duckdb``); polars streams. The package does the same from
records, as a build does. Normal forms of numbers and families that relations connect are not part of it: neither engine
has them. Figures: ``benchmarks/README.md``.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

_AT_ONCE = 1_000_000


def columns(folder: Path) -> int:
    import polars as pl
    import pyarrow.parquet as pq

    from patent_mteb.patents.records import Citation
    from patent_mteb.patents.tables import frame_of
    from patent_mteb.recipes.graph import family_graph

    def texts(name: str) -> Iterator[str]:
        for batch in pq.ParquetFile(folder / "publications.parquet").iter_batches(10_000, columns=[name]):
            yield from batch[name].to_pylist()

    def citations() -> Iterator[Citation]:
        for batch in pq.ParquetFile(folder / "citations.parquet").iter_batches(10_000):
            yield from map(Citation, batch["citing"].to_pylist(), batch["cited"].to_pylist())

    columns = {"number": pl.String, "family": pl.String}
    publications = frame_of(zip(*map(texts, columns), strict=True), columns)
    return len(family_graph(citations(), publications).edges)


def duckdb(folder: Path) -> int:
    import duckdb

    engine = duckdb.connect(config={"threads": 1, "memory_limit": "1GB", "temp_directory": str(folder)})
    found = engine.execute(
        "SELECT count(*) FROM (SELECT DISTINCT one.family, other.family FROM"
        f" '{folder}/citations.parquet' JOIN '{folder}/publications.parquet' AS one ON citing = one.number"
        f" JOIN '{folder}/publications.parquet' AS other ON cited = other.number"
        " WHERE one.family <> other.family)"
    ).fetchone()
    return int(found[0]) if found else 0


def polars(folder: Path) -> int:
    import polars as pl

    known = pl.scan_parquet(folder / "publications.parquet")
    edges = (
        pl.scan_parquet(folder / "citations.parquet")
        .join(known.rename({"family": "one"}), left_on="citing", right_on="number")
        .join(known.rename({"family": "other"}), left_on="cited", right_on="number")
        .filter(pl.col("one") != pl.col("other"))
        .select("one", "other")
        .unique()
    )
    return int(edges.select(pl.len()).collect(engine="streaming").item())


ENGINES = {"columns": columns, "duckdb": duckdb, "polars": polars}


def generate(folder: Path, n: int) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    def numbers(rows: range | list[int]) -> list[str]:
        return [f"US{10_000_000 + row}B2" for row in rows]

    rng, tables = np.random.default_rng(0), {"publications": [], "citations": []}
    for first in range(0, n, _AT_ONCE):
        rows = range(first, min(first + _AT_ONCE, n))
        families = [f"F{row - (row % 5 == 4)}" for row in rows]
        tables["publications"].append(pa.table({"number": numbers(rows), "family": families}))
        ends = (np.repeat(rows, 3), rng.integers(n, size=3 * len(rows)))
        names = (numbers(end.tolist()) for end in ends)
        tables["citations"].append(pa.table(dict(zip(("citing", "cited"), names, strict=True))))
    for name, parts in tables.items():
        pq.write_table(pa.concat_tables(parts), folder / f"{name}.parquet")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--publications", type=int, default=1_000_000)
    parser.add_argument("--engine", choices=[*ENGINES, "none"], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.engine == "none":  # in a process of its own: a child's peak is at least that of its parent
        generate(arguments.folder, arguments.publications)
        return
    if arguments.engine:
        print(ENGINES[arguments.engine](arguments.folder), end="  ", flush=True)
        return
    with tempfile.TemporaryDirectory() as name:
        print(f"{'engine':<10}{'edges':<12}{'seconds':>9}{'peak GB':>9}")
        for engine in ("none", *ENGINES):
            print(f"{engine:<10}", end="", flush=True)
            command = [sys.executable, __file__, "--publications", str(arguments.publications)]
            variables = os.environ | {"POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1"}
            process = os.posix_spawn(sys.executable, [*command, "--engine", engine, "--folder", name], variables)
            _, status, used = os.wait4(process, 0)
            print(
                f"{used.ru_utime + used.ru_stime:9.1f}{used.ru_maxrss / 1e6:9.2f}", f"status {status}" if status else ""
            )


if __name__ == "__main__":
    main()
