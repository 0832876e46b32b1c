"""Memory and time of every step from records to a run, on as many generated patents as asked for.

    python benchmarks/scale.py [--patents 100000] [--steps import,wipo_at,dapfam,validate,load,bm25] [--folder DIR]
    [--again] [--short]

A patent has an abstract of 200 words, five claims of 40 words and three citations of patents before it; every fifth is
a second member of the family before it. With ``--short`` it has a quarter of these words, so that ten million need a
quarter of the disk. For ``open_us``, and an ``edition`` of it with its manifest, every third
publication is the grant of the application before it; office actions cite three earlier publications against each
application, each with six numbered paragraphs, and the window has all of them, so every application is a query. The
same number gives the same patents. Each step is a process of its own; reported are its greatest resident memory
(``ru_maxrss`` of that process, mapped files among it), its seconds of processor time, and both divided by the number of
patents. A folder that is kept contains the generated data and the figures of successful steps for the next run
(``figures.json``). Figures: ``docs/scale.md`` and ``benchmarks/README.md``.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_A_PART = 10_000
_PHRASES = 20_000
_QUERIES = 2_000
_CLASSES = ("A61H", "A61F", "G06F", "H04L", "G01N", "C07D", "B60L", "H01M", "F16K", "G06Q", "A61K", "B65D")
_FEW = ("--set", f"queries={_QUERIES}")
_WITHOUT_DESCRIPTION = ("--set", "require=title,abstract,claims,filing_date", "--set", "min_citations=3")
_ANY_YEAR = ("--set", "query_first_year=None", "--set", "query_last_year=None")
_LOAD = "import mteb; task = mteb.get_task('ScaleCitationRetrieval'); task.load_data(); print(task.metadata.name)"
STEPS = (
    "import",
    "inspect",
    "wipo_at",
    "dapfam",
    "sophia",
    "patentmap",
    "patenteb",
    "open_us",
    "edition",
    "validate",
    "load",
    "bm25",
)


def commands(folder: Path) -> dict[str, list[str]]:
    """What each step runs."""
    cli, root, records = [sys.executable, "-m", "patent_mteb.cli"], str(folder / "root"), str(folder / "records")
    build = [*cli, "data", "build"]
    return {
        "import": [*cli, "data", "import", str(folder / "export"), "--out", str(folder / "imported")],
        "inspect": [*cli, "data", "inspect", records],
        "wipo_at": [*build, "wipo_at", records, root, "--name", "Scale", *_FEW],
        "dapfam": [*build, "dapfam", records, str(folder / "dapfam"), *_WITHOUT_DESCRIPTION],
        "sophia": [*build, "sophia", records, str(folder / "sophia"), "--set", "require=claims"],
        "patentmap": [*build, "patentmap", records, str(folder / "patentmap"), *_ANY_YEAR],
        "patenteb": [*build, "patenteb", records, str(folder / "patenteb")],
        "open_us": [*build, "open_us", str(folder / "examined"), str(folder / "open_us")],
        "edition": [
            *[*cli, "edition", "build", "open-us", str(folder / "examined"), str(folder / "edition")],
            *("--window", "2000-01-01:2030-12-31"),
        ],
        "validate": [*cli, "data", "validate", root],
        "load": [sys.executable, "-c", _LOAD],
        "bm25": [
            *cli,
            "run",
            "-t",
            "ScaleCitationRetrieval",
            "-m",
            "patent-mteb/bm25-dapfam",
            "--output-folder",
            str(folder / "results"),
        ],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--patents", type=int, default=100_000)
    parser.add_argument(
        "--steps", default="import,wipo_at,dapfam,validate,load,bm25", help=f"some of {','.join(STEPS)}"
    )
    parser.add_argument("--folder", type=Path, help="where to work and what to keep; a temporary folder without it")
    parser.add_argument("--again", action="store_true", help="run steps too whose figures are there")
    parser.add_argument("--short", action="store_true", help="texts of a quarter of the words")
    parser.add_argument("--generate", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--examined", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.generate:
        generate(arguments.folder, arguments.generate, arguments.examined, 1 if arguments.short else 4)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        steps = arguments.steps.split(",")
        generated = [sys.executable, __file__, "--folder", str(folder), "--generate", str(arguments.patents)]
        generated += ["--short"] if arguments.short else []
        for world in sorted({"examined" if step in ("open_us", "edition") else "records" for step in steps}):
            _run([*generated, *(["--examined"] if world == "examined" else [])], folder)
            print(f"{arguments.patents:,} patents, {_size(folder / world) / 1e9:.2f} GB of {world}", flush=True)
        print(f"{'step':<12}{'seconds':>9}{'ms each':>9}{'peak GB':>9}{'kB each':>9}", flush=True)
        for step in steps:
            print(
                _line(step, arguments.patents, _figures(folder, step, arguments.patents, arguments.again), folder),
                flush=True,
            )


def _figures(folder: Path, step: str, patents: int, again: bool) -> dict[str, Any]:
    """What a step took: of this run, or of the last one that went well."""
    from patent_mteb.files import read_json, write_json

    known = read_json(folder / "figures.json") or {}
    key = f"{step} {patents}"
    if key not in known or again:
        seconds, peak, status = _run(commands(folder)[step], folder)
        figures = {"seconds": seconds, "peak": peak, "status": status, "day": str(dt.date.today()), "commit": _commit()}
        if status:
            return figures
        known = {**(read_json(folder / "figures.json") or {}), key: figures}
        write_json(folder / "figures.json", known)
    found: dict[str, Any] = known[key]
    return found


def _commit() -> str:
    asked = subprocess.run(
        ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"], capture_output=True, text=True
    )
    return asked.stdout.strip()


def _line(step: str, patents: int, figures: dict[str, Any], folder: Path) -> str:
    seconds, peak = figures["seconds"], figures["peak"]
    each = f"{1000 * seconds / patents:9.3f}{peak / 1e9:9.2f}{peak / 1000 / patents:9.2f}"
    said = (
        f"  exit status {figures['status']}, see {folder / 'log'}"
        if figures["status"]
        else f"  {figures['day']} {figures['commit']}"
    )
    return f"{step:<12}{seconds:9.1f}{each}{said}"


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _run(command: list[str], folder: Path) -> tuple[float, int, int]:
    """Seconds of processor time, greatest resident memory in bytes, and exit status of a process."""
    surroundings = {
        "PATENT_MTEB_DATA": str(folder / "root"),
        "HF_HUB_OFFLINE": "1",
        "PATENT_MTEB_CACHE": str(folder / "cache"),
    }
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=os.environ | surroundings)
        _, status, used = os.wait4(process.pid, 0)
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, os.waitstatus_to_exitcode(status)


def generate(folder: Path, patents: int, examined: bool, phrases_a_claim: int) -> None:
    """Write records of patents, and an export of them as a table for ``import``; existing parts are kept.

    If ``examined``, write applications, grants and the citations of office actions instead. A phrase has ten words, and
    an abstract five times the phrases of a claim.
    """
    import numpy as np

    rng = np.random.default_rng(0)
    letters = np.array(list("etaoinshrdlucmfwypvbgkjqxz"))
    words = np.array(["".join(rng.choice(letters, size)) for size in rng.integers(2, 11, 30_000)])
    weight = 1 / np.arange(1, len(words) + 1)
    drawn = rng.choice(len(words), (_PHRASES, 10), p=weight / weight.sum())
    phrases = [" ".join(words[row]) for row in drawn]
    for first in range(0, patents, _A_PART):
        last = min(first + _A_PART, patents)
        if examined:
            _write_examined(folder, first, last, patents, phrases, phrases_a_claim)
        else:
            _write_part(folder, first, last, phrases, phrases_a_claim)


def _numbers(numbers: Iterator[int] | range) -> list[str]:
    return [f"US{10_000_000 + number}B2" if number % 5 else f"EP{1_000_000 + number}A1" for number in numbers]


def _texts(rng: Any, phrases: list[str], rows: int, length: int) -> list[str]:
    drawn = rng.integers(len(phrases), size=(rows, length)).tolist()
    return [" ".join([phrases[one] for one in row]) + "." for row in drawn]


def _write_part(folder: Path, first: int, last: int, phrases: list[str], length: int) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    from patent_mteb.patents.records import SCHEMAS, Citation, Patent

    places = [folder / kind / f"part-{first:08}.parquet" for kind in ("records/patents", "records/citations", "export")]
    if all(place.exists() for place in places):
        return
    rng, size = np.random.default_rng([1, first]), last - first
    claims = _texts(rng, phrases, size * 5, length)
    numbers, kinds = _numbers(range(first, last)), rng.integers(len(_CLASSES), size=(size, 2)).tolist()
    days = np.datetime64("2000-01-01") + rng.integers(0, 7_000, size)
    columns = {
        "publication_number": numbers,
        "family_id": [f"F{number - (number % 5 == 4)}" for number in range(first, last)],
        "title": _texts(rng, phrases, size, 1),
        "abstract": _texts(rng, phrases, size, 5 * length),
        "claims": _five_claims(claims),
        "application_date": pa.array(days),
        "publication_date": pa.array(days + np.timedelta64(500, "D")),
        "ipc": _codes(kinds),
        "inventors": [[f"Inventor {row[0]}", f"Inventor {row[1] + 12}"] for row in kinds],
    }
    _write(places[0], columns, SCHEMAS[Patent])
    cited = (rng.random((size, 3)) * np.arange(first, last)[:, None]).astype(int)
    edges = {
        "citing": np.repeat(numbers, 3),
        "cited": _numbers(iter(cited.ravel().tolist())),
        "category": ["X", "Y", "A"] * size,
    }
    _write(places[1], edges, SCHEMAS[Citation])
    export = {
        name: columns[name]
        for name in ("publication_number", "title", "abstract", "application_date", "publication_date")
    }
    export["ipc"] = ["; ".join(codes) for codes in columns["ipc"]]
    export["claims"] = ["\n".join(f"{1 + one}. {claims[5 * row + one]}" for one in range(5)) for row in range(size)]
    export["cites"] = ["; ".join(row) for row in np.array(edges["cited"]).reshape(size, 3).tolist()]
    places[2].parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(export), places[2])


def _codes(kinds: list[list[int]]) -> list[list[str]]:
    return [
        [f"{_CLASSES[one]} {one + 1}/{other:02}" for one, other in zip(row, row[::-1], strict=True)] for row in kinds
    ]


def _five_claims(texts: list[str]) -> Any:
    import numpy as np
    import pyarrow as pa

    size = len(texts) // 5
    claim = pa.StructArray.from_arrays(
        [
            pa.array(np.tile(np.arange(1, 6, dtype=np.int32), size)),
            pa.array(texts),
            pa.array([[] if one == 0 else [1] for one in range(5)] * size, pa.list_(pa.int32())),
        ],
        ["number", "text", "depends_on"],
    )
    return pa.ListArray.from_arrays(np.arange(0, 5 * size + 1, 5, dtype=np.int32), claim)


def _write(place: Path, columns: dict[str, Any], schema: Any) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = len(next(iter(columns.values())))
    filled = {
        name: pa.array(columns[name]) if name in columns else pa.nulls(rows, schema.field(name).type)
        for name in schema.names
    }
    place.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(filled).cast(schema), place)


def _examined_number(number: int) -> str:
    if number % 3 == 2:
        return f"US{10_000_000 + number}B2"
    return f"US{2002 + number // 1_000_000}{number % 1_000_000:07}A1"


def _write_examined(folder: Path, first: int, last: int, patents: int, phrases: list[str], length: int) -> None:
    """Write US applications and grants, and what office actions cited against the applications."""
    import numpy as np

    from patent_mteb.patents.collection import citing_application
    from patent_mteb.patents.records import SCHEMAS, Citation, Patent

    places = [folder / "examined" / kind / f"part-{first:08}.parquet" for kind in ("patents", "citations")]
    if all(place.exists() for place in places):
        return
    rng, numbers = np.random.default_rng([2, first]), range(first, last)
    size, filed = len(numbers), [number - (number % 3 == 2) for number in numbers]
    applications = [f"US{10 + number // 1_000_000}{number % 1_000_000:06}" for number in filed]
    days = np.datetime64("2002-01-01") + np.array(filed) * 7_000 // patents
    lines = _texts(rng, phrases, size * 6, length)
    columns = {
        "publication_number": [_examined_number(number) for number in numbers],
        "family_id": applications,
        "application_number": applications,
        "title": _texts(rng, phrases, size, 1),
        "abstract": _texts(rng, phrases, size, 5 * length),
        "claims": _five_claims(_texts(rng, phrases, size * 5, length)),
        "description": [{"detailed": "\n".join(lines[6 * row : 6 * row + 6])} for row in range(size)],
        "paragraphs": [list(range(1, 7))] * size,
        "application_date": days,
        "publication_date": days + np.array([2_000 if number % 3 == 2 else 500 for number in numbers]),
        "ipc": _codes(rng.integers(len(_CLASSES), size=(size, 2)).tolist()),
    }
    _write(places[0], columns, SCHEMAS[Patent])
    asking = [row for row, number in enumerate(numbers) if number % 3 != 2 for _ in range(3)]
    cited = (rng.random(len(asking)) * np.array([first + row for row in asking])).astype(int).tolist()
    edges = {
        "citing": [citing_application(applications[row]) for row in asking],
        "cited": [_examined_number(number) for number in cited],
        "category": ["X", "Y", "A"] * (len(asking) // 3),
        "origin": ["examiner"] * len(asking),
        "claims": [[1, 2], [3], [1]] * (len(asking) // 3),
        "passages": [[f"paragraphs [000{1 + number % 3}]-[000{3 + number % 4}]"] for number in cited],
        "phase": ["CTNF"] * len(asking),
        "office": ["US"] * len(asking),
        "date": days[asking] + 900,
        "unit": ["2800"] * len(asking),
    }
    _write(places[1], edges, SCHEMAS[Citation])


if __name__ == "__main__":
    main()
