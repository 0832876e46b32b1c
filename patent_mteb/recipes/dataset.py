"""``dataset.json``: what a built directory knows of itself.

The file lies in the root that ``PATENT_MTEB_DATA`` names, beside the folders of the benchmarks::

    {"schema": 1, "name": "Acme", "version": "2", "owner": "Acme Corp.", "licence": "internal",
     "recipes": {"wipo_at": {"settings": {"seed": "42"}, "deviations": [], "input": "9f86d081884c7d65",
                             "counts": {"0.8 qrels": 441}, "built_with": "0.1.0", "files": {"WIPO-AT/views.parquet":
                             {"bytes": 812, "sha256": "...", "rows": 10, "filled": {"TA": 9}}}}}}

:func:`patent_mteb.recipes.run` writes it with the tables. ``name`` is what the tasks on the data begin with
(``AcmeCitationRetrieval``). ``filled`` counts the rows of a parquet column that hold something: which text views and
label sets there are is known without opening a table. A file written by hand needs ``schema`` and ``name`` only;
without ``recipes`` every benchmark's folder beside it is taken as it is.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from patent_mteb.errors import DataError
from patent_mteb.files import load_json, parquet_schema, read_batches
from patent_mteb.identity import RELEASE

FILE = "dataset.json"
SCHEMA = 1
_NAME = re.compile(r"[A-Z][A-Za-z0-9]{0,39}")
_RESERVED = {"patent", "wipo", "wipoat", "dapfam", "patenteb", "sophia", "patentmap", "patentmteb", "patentopen"}
_NAME_REMEDY = "choose a name of letters and digits that begins with a capital, such as Acme or AcmeBatteries"


@dataclass(frozen=True)
class Identity:
    """Who a data set is, as ``patent-mteb data build`` is told; what is empty stays as it was."""

    name: str = ""
    version: str = ""
    owner: str = ""
    licence: str = ""


UNNAMED = Identity()
"""Named after its directory."""


@dataclass(frozen=True)
class FileRecord:
    """One file: its size and hash; of a parquet table also its rows, and in how many of them each column holds
    something.
    """

    bytes: int
    sha256: str
    rows: int | None = None
    filled: Mapping[str, int] | None = None


@dataclass(frozen=True)
class Built:
    """What one recipe built.

    Attributes:
        settings: every setting of the recipe, as a command line gives it.
        deviations: what differs from the recipe's defaults, one phrase each.
        input: hash of the records.
        counts: rows that came out of each step.
        built_with: version of patent-mteb.
        files: by path, relative to the root.
    """

    settings: Mapping[str, str] = field(default_factory=dict)
    deviations: Sequence[str] = ()
    input: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    built_with: str = ""
    files: Mapping[str, FileRecord] = field(default_factory=dict)


@dataclass(frozen=True)
class DataSetRecord:
    """The content of a ``dataset.json``."""

    name: str
    version: str = "1"
    owner: str = ""
    licence: str = ""
    recipes: Mapping[str, Built] = field(default_factory=dict)

    @property
    def files(self) -> dict[str, FileRecord]:
        """All files by path, relative to the root."""
        return {path: file for built in self.recipes.values() for path, file in built.files.items()}


def default_name(root: Path) -> str:
    """The name of a folder in camel case, as the name of the data set that is built in it."""
    words = re.findall(r"[A-Za-z0-9]+", root.resolve().name)
    name = "".join(word[:1].upper() + word[1:] for word in words)[:36]
    return name if _NAME.fullmatch(name) and name.lower() not in _RESERVED else f"Own{name}"


def named(root: Path, before: DataSetRecord | None, identity: Identity) -> DataSetRecord:
    """The record of a root that is built in, with what is known of it before: one root has one name."""
    if identity.name:
        _check_name(identity.name, None)
    if before is None:
        before = DataSetRecord(identity.name or default_name(root))
    elif identity.name and identity.name != before.name:
        raise DataError(
            f"this directory holds the data set {before.name}, not {identity.name}",
            path=root / FILE,
            remedy=f"build {identity.name} into another directory, or leave --name out",
        )
    told = {name: value for name, value in dataclasses.asdict(identity).items() if value}
    return dataclasses.replace(before, **told)


def _check_name(name: str, path: Path | None) -> None:
    if not _NAME.fullmatch(name):
        raise DataError(f"'{name}' cannot be the name of a data set", path=path, remedy=_NAME_REMEDY)
    if name.lower() in _RESERVED:
        problem = f"'{name}' is a word of the suite's own tasks"
        raise DataError(
            problem, path=path, remedy="choose another name: results would look like the published benchmark's"
        )


def input_hash(*records: Iterable[object]) -> str:
    """Hash of records, the same for the same records in any file format."""
    found = hashlib.sha256()
    for record in chain.from_iterable(records):
        found.update(f"{record!r}\n".encode("utf-8", "surrogatepass"))
    return found.hexdigest()[:16]


def file_hash(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def described(path: Path) -> FileRecord:
    """The record of a file."""
    size, content = path.stat().st_size, file_hash(path)
    if path.suffix != ".parquet":
        return FileRecord(size, content)
    rows, filled = 0, dict[str, int]()
    for batch in read_batches(path):
        rows += batch.num_rows
        for name in batch.column_names:
            filled[name] = filled.get(name, 0) + _filled(batch[name])
    return FileRecord(size, content, rows, filled)


def outlined(path: Path) -> FileRecord:
    """A record of a file that was not built: its size, and the columns of a parquet table, none of which is looked
    into.
    """
    names: list[str] = []
    if path.suffix == ".parquet":
        with contextlib.suppress(DataError):  # whoever reads it says it
            names = list(parquet_schema(path).names)
    return FileRecord(path.stat().st_size, "", None, dict.fromkeys(names, 1))


def _filled(column: pa.ChunkedArray) -> int:
    """In how many rows a column holds something: text that is not blank, a list with an item, any other value."""
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        held = pc.not_equal(pc.utf8_trim_whitespace(column), "")
    elif pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        held = pc.greater(pc.list_value_length(column), 0)
    else:
        held = pc.is_valid(column)
    return int(pc.sum(held).as_py() or 0)


def data_sets(files: Iterable[str]) -> list[str]:
    """The folders of the data sets that files belong to: ``WIPO-AT``, or ``ORG/NAME`` as on the hub."""
    paths = [PurePosixPath(file).parts for file in files]
    single = {parts[0] for parts in paths if len(parts) == 2}
    return sorted({parts[0] if parts[0] in single else "/".join(parts[:2]) for parts in paths})


def document(record: DataSetRecord, recipe: str, built: Built) -> dict[str, Any]:
    """The JSON document of a record in which a recipe's part is new."""
    made = dataclasses.replace(built, built_with=RELEASE)
    whole = dataclasses.asdict(dataclasses.replace(record, recipes={**record.recipes, recipe: made}))
    for one in whole["recipes"].values():
        one["files"] = {
            path: {name: value for name, value in file.items() if value is not None}
            for path, file in sorted(one["files"].items())
        }
    return {"schema": SCHEMA, **whole}


def read(root: Path) -> DataSetRecord | None:
    """The record of a root, None if it has none."""
    path = root / FILE
    if not path.exists():
        return None
    content = load_json(path)
    if not isinstance(content, dict):
        raise _damaged(path, f"a JSON {type(content).__name__} where an object is expected")
    schema = content.get("schema")
    if not isinstance(schema, int) or schema < 1:
        raise _damaged(path, f"the schema is {schema!r}, not {SCHEMA}")
    if schema > SCHEMA:
        raise DataError(
            f"written by a newer version of patent-mteb (schema {schema})", path=path, remedy="upgrade patent-mteb"
        )
    words = {name: content.get(name, "") for name in ("name", "version", "owner", "licence")}
    if wrong := [name for name, value in words.items() if not isinstance(value, str)]:
        raise _damaged(path, f"{wrong[0]} is {words[wrong[0]]!r}, not a text")
    _check_name(words["name"], path)
    recipes = content.get("recipes", {})
    try:
        built = {str(recipe): _built(entry) for recipe, entry in recipes.items()}
    except (AttributeError, TypeError, ValueError, KeyError) as error:
        raise _damaged(path, f"what it says of its recipes cannot be read ({type(error).__name__}: {error})") from error
    return DataSetRecord(words["name"], words["version"] or "1", words["owner"], words["licence"], built)


def _built(entry: Mapping[str, Any]) -> Built:
    files = {
        str(path): FileRecord(int(file["bytes"]), str(file["sha256"]), file.get("rows"), file.get("filled"))
        for path, file in entry.get("files", {}).items()
    }
    return Built(
        {str(name): str(value) for name, value in entry.get("settings", {}).items()},
        tuple(map(str, entry.get("deviations", ()))),
        str(entry.get("input", "")),
        {str(step): int(rows) for step, rows in entry.get("counts", {}).items()},
        str(entry.get("built_with", "")),
        files,
    )


def _damaged(path: Path, problem: str) -> DataError:
    return DataError(
        problem, path=path, remedy='build again, or write {"schema": 1, "name": "Acme"} for tables made by hand'
    )
