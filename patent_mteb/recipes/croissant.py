"""Croissant metadata (JSON-LD, version 1.0) of a folder of tables: its files with their hashes, and their columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from patent_mteb.files import file_hash, json_lines, parquet_schema, text_lines

FILE = "croissant.json"
_FORMATS = {
    ".parquet": "application/x-parquet",
    ".jsonl": "application/jsonlines",
    ".tsv": "text/tab-separated-values",
    ".csv": "text/csv",
    ".json": "application/json",
}
_KINDS = {
    "Boolean": pa.types.is_boolean,
    "Integer": pa.types.is_integer,
    "Float": pa.types.is_floating,
    "Date": pa.types.is_temporal,
}
_TERMS = """citeAs column equivalentProperty extract field fileObject fileProperty fileSet format includes isLiveDataset
jsonPath key md5 parentField path recordSet references regex repeated replace samplingRate separator source subField
transform"""
_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    **{name: f"cr:{name}" for name in _TERMS.split()},
    "conformsTo": "dct:conformsTo",
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    **{name: {"@id": f"cr:{name}", "@type": "@json"} for name in ("data", "examples")},
}


def croissant(root: Path, about: Mapping[str, Any], folders: Sequence[str] = (".",)) -> dict[str, Any]:
    """Return the metadata of all tables in folders of a root.

    ``about`` are properties of schema.org, such as ``license``.
    """
    found = (path for folder in folders for path in sorted((root / folder).rglob("*")))
    paths = [path for path in found if path.is_file() and path.suffix in _FORMATS]
    files = {path.relative_to(root).as_posix(): path for path in paths if path.name != FILE}
    tables = {name: list(_fields(name, path)) for name, path in files.items() if path.suffix != ".json"}
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        **about,
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": name,
                "name": name,
                "contentUrl": name,
                "contentSize": f"{path.stat().st_size} B",
                "encodingFormat": _FORMATS[path.suffix],
                "sha256": file_hash(path),
            }
            for name, path in files.items()
        ],
        "recordSet": [
            {"@type": "cr:RecordSet", "@id": f"{name}#rows", "name": f"{name}#rows", "field": fields}
            for name, fields in tables.items()
        ],
    }


def _fields(file: str, path: Path) -> Iterator[dict[str, Any]]:
    for name, kind, repeated in _columns(path):
        source = {"fileObject": {"@id": file}, "extract": {"column": name}}
        field = {"@type": "cr:Field", "@id": f"{file}#{name}", "name": name, "dataType": f"sc:{kind}", "source": source}
        yield field | ({"repeated": True} if repeated else {})


def _columns(path: Path) -> Iterator[tuple[str, str, bool]]:
    """Yield name and type of each column, and whether its values are lists."""
    if path.suffix == ".parquet":
        for one in parquet_schema(path):
            repeated = pa.types.is_list(one.type) or pa.types.is_large_list(one.type)
            value = one.type.value_type if repeated else one.type
            if not pa.types.is_struct(value):  # no type of schema.org
                yield one.name, next((kind for kind, fits in _KINDS.items() if fits(value)), "Text"), repeated
    elif path.suffix == ".jsonl":
        _, first = next(json_lines(path), (0, {}))
        yield from ((name, "Text", isinstance(value, list)) for name, value in first.items())
    else:
        _, head = next(text_lines(path))
        yield from ((name, "Text", False) for name in head.split("\t" if path.suffix == ".tsv" else ","))
