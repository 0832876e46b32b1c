"""``dataset.json``: the record of a built directory.

The file is in the root that ``PATENT_MTEB_DATA`` names, next to the folders of the benchmarks::

    {"schema": 1, "name": "Acme", "version": "2", "owner": "Acme Corp.", "licence": "internal",
     "recipes": {"wipo_at": {"settings": {"seed": "42"}, "deviations": [], "input": "9f86d081884c7d65",
                             "counts": {"0.8 qrels": 441}, "built_with": "0.1.0", "files": {"WIPO-AT/views.parquet":
                             {"bytes": 812, "sha256": "...", "rows": 10, "filled": {"TA": 9}}}}}}

:func:`patent_mteb.recipes.run` writes it with the tables. The names of the tasks on the data begin with ``name``
(``AcmeCitationRetrieval``). ``filled`` counts the non-empty rows of each parquet column, so that the available text
views and label sets are known without opening a table. A file written by hand needs only ``schema`` and ``name``;
without ``recipes``, every benchmark's folder next to it is used without checks.
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
from patent_mteb.files import file_hash, load_json, parquet_schema, read_batches
from patent_mteb.identity import RELEASE

FILE = "dataset.json"
SCHEMA = 1  # of dataset.json
_NAME = re.compile(r"[A-Z][A-Za-z0-9]{0,39}")
_RESERVED = {"patent", "wipo", "wipoat", "dapfam", "patenteb", "sophia", "patentmap", "patentmteb", "patentopen"}
_NAME_REMEDY = "choose a name of letters and digits that begins with a capital, such as Acme or AcmeBatteries"


@dataclass(frozen=True)
class Identity:
    """The identity of a data set; an empty field leaves the recorded value unchanged."""

    name: str = ""
    version: str = ""
    owner: str = ""
    licence: str = ""


UNNAMED = Identity()  # the data set is named after its directory


@dataclass(frozen=True)
class FileRecord:
    """Size and hash of a file; of a table also its rows and filled rows by column."""

    bytes: int
    sha256: str
    rows: int | None = None
    filled: Mapping[str, int] | None = None


@dataclass(frozen=True)
class Built:
    """The build of one recipe: settings as on a command line, hash of the input, rows that each step left."""

    settings: Mapping[str, str] = field(default_factory=dict)
    deviations: Sequence[str] = ()
    input: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    built_with: str = ""
    files: Mapping[str, FileRecord] = field(default_factory=dict)


@dataclass(frozen=True)
class DataSetRecord(Identity):
    """The content of a ``dataset.json``."""

    recipes: Mapping[str, Built] = field(default_factory=dict)

    @property
    def files(self) -> dict[str, FileRecord]:
        """Return all files by path, relative to the root."""
        return {path: file for built in self.recipes.values() for path, file in built.files.items()}


def default_name(root: Path) -> str:
    """Return the name of a data set after its folder, in camel case."""
    words = re.findall(r"[A-Za-z0-9]+", root.resolve().name)
    name = "".join(word[:1].upper() + word[1:] for word in words)[:36]
    return name if _NAME.fullmatch(name) and name.lower() not in _RESERVED else f"Own{name}"


def with_identity(root: Path, before: DataSetRecord | None, identity: Identity) -> DataSetRecord:
    """Apply an identity to the record of a root; refuse another name."""
    if identity.name:
        _check_name(identity.name, None)
    if before is None:
        before = DataSetRecord(identity.name or default_name(root), "1")
    elif identity.name and identity.name != before.name:
        problem = f"this directory holds the data set {before.name}, not {identity.name}"
        remedy = f"build {identity.name} into another directory, or omit --name"
        raise DataError(problem, path=root / FILE, remedy=remedy)
    changes = {name: value for name, value in dataclasses.asdict(identity).items() if value}
    return dataclasses.replace(before, **changes)


def _check_name(name: str, path: Path | None) -> None:
    if not _NAME.fullmatch(name):
        raise DataError(f"'{name}' cannot be the name of a data set", path=path, remedy=_NAME_REMEDY)
    if name.lower() in _RESERVED:
        remedy = "choose another name: results would look like the published benchmark's"
        raise DataError(f"'{name}' is a name of the suite's own tasks", path=path, remedy=remedy)


def input_hash(*records: Iterable[object]) -> str:
    """Return the hash of records; it does not depend on their file format."""
    found = hashlib.sha256()
    for record in chain.from_iterable(records):
        found.update(f"{record!r}\n".encode("utf-8", "surrogatepass"))
    return found.hexdigest()[:16]


def file_record(path: Path) -> FileRecord:
    size, content = path.stat().st_size, file_hash(path)
    if path.suffix != ".parquet":
        return FileRecord(size, content)
    rows, filled = 0, dict[str, int]()
    for batch in read_batches(path):
        rows += batch.num_rows
        for name in batch.column_names:
            filled[name] = filled.get(name, 0) + _filled(batch[name])
    return FileRecord(size, content, rows, filled)


def file_outline(path: Path) -> FileRecord:
    """Return the size of a file and the columns of a table, without its values."""
    names: list[str] = []
    if path.suffix == ".parquet":
        with contextlib.suppress(DataError):  # the reader of the table reports it
            names = list(parquet_schema(path).names)
    return FileRecord(path.stat().st_size, "", None, dict.fromkeys(names, 1))


def _filled(column: pa.ChunkedArray) -> int:
    """Count the rows with a text that is not blank, a list with an item, or a value."""
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        filled = pc.not_equal(pc.utf8_trim_whitespace(column), "")
    elif pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        filled = pc.greater(pc.list_value_length(column), 0)
    else:
        filled = pc.is_valid(column)
    return int(pc.sum(filled).as_py() or 0)


def data_sets(files: Iterable[str]) -> list[str]:
    """Return the data sets of files: ``WIPO-AT``, or ``ORG/NAME`` as on the hub."""
    paths = [PurePosixPath(file).parts for file in files]
    single = {parts[0] for parts in paths if len(parts) == 2}
    return sorted({parts[0] if parts[0] in single else "/".join(parts[:2]) for parts in paths})


def to_json(record: DataSetRecord, recipe: str, built: Built) -> dict[str, Any]:
    """Return the JSON document of a record with a new build of a recipe."""
    built = dataclasses.replace(built, built_with=RELEASE)
    content = dataclasses.asdict(dataclasses.replace(record, recipes={**record.recipes, recipe: built}))
    for one in content["recipes"].values():
        one["files"] = {
            path: {name: value for name, value in file.items() if value is not None}
            for path, file in sorted(one["files"].items())
        }
    return {"schema": SCHEMA, **content}


def read(root: Path) -> DataSetRecord | None:
    """Read the record of a root, None if it has none."""
    path = root / FILE
    if not path.exists():
        return None
    content = load_json(path)
    if not isinstance(content, dict):
        raise _invalid(path, f"a JSON {type(content).__name__} where an object is expected")
    schema = content.get("schema")
    if not isinstance(schema, int) or schema < 1:
        raise _invalid(path, f"the schema is {schema!r}, not {SCHEMA}")
    if schema > SCHEMA:
        problem = f"written by a newer version of patent-mteb (schema {schema})"
        raise DataError(problem, path=path, remedy="upgrade patent-mteb")
    words = {name: content.get(name, "") for name in ("name", "version", "owner", "licence")}
    if wrong := [name for name, value in words.items() if not isinstance(value, str)]:
        raise _invalid(path, f"{wrong[0]} is {words[wrong[0]]!r}, not a text")
    _check_name(words["name"], path)
    recipes = content.get("recipes", {})
    try:
        built = {str(recipe): _built(entry) for recipe, entry in recipes.items()}
    except (AttributeError, TypeError, ValueError, KeyError) as error:
        raise _invalid(path, f"the entry 'recipes' cannot be read ({type(error).__name__}: {error})") from error
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


def _invalid(path: Path, problem: str) -> DataError:
    remedy = 'build again, or write {"schema": 1, "name": "Acme"} for tables made by hand'
    return DataError(problem, path=path, remedy=remedy)
