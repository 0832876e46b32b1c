"""The datasheet of an edition, written from its manifest, and Croissant metadata (JSON-LD, version 1.0) of tables.

The sections are those of Gebru et al. (2021) that apply to a benchmark: motivation, composition, collection, licences,
what its queries can show, limits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from patent_mteb.files import file_hash, json_lines, parquet_schema, text_lines, write_json, write_lines
from patent_mteb.metrics.significance import SPREAD
from patent_mteb.tasks import catalogue

DATASHEET = "datasheet.md"
_US, _USPTO = "https://creativecommons.org/publicdomain/mark/1.0/", "https://www.uspto.gov/terms-use-uspto-websites"
_LICENCES = {
    **dict.fromkeys(("uspto", "uspto-all-kinds"), _US),
    **dict.fromkeys(("ppubs", "odp", "uspto-citations", "uspto-office-actions"), _USPTO),
    "hupd": "cc-by-sa-4.0",
    "bigquery": "cc-by-4.0",
}
"""Licences by the kind of a source file, where its publisher states one for all."""
_UNKNOWN = "the terms of its publisher"

_LIMITS = """Only cited documents are judged. Others may be relevant, too: compare `judged_at_10` before scores.
Office actions after the first may concern amended claims, but the queries are the claims as filed.
Citations without record, date or usable category are dropped; the log of the build counts them.
Texts and citations are read by programs. `patent-mteb edition audit` compares the rules with what experts parsed.
Examiners cite what they found: documents in other languages and other literature are rare among the judgements."""


def licence_of(sources: Sequence[Mapping[str, Any]]) -> str:
    """Return the licence of an edition of these files: their only one, or ``multiple``; empty if one is unknown."""
    found = {_LICENCES.get(one["kind"], "") for one in sources}
    return "" if "" in found or not found else found.pop() if len(found) == 1 else "multiple"


def describe(root: Path, manifest: str, tables: str, head: Mapping[str, Any]) -> None:
    """Write the datasheet into the folder ``manifest``, and ``croissant.json`` of it and the tables into the root."""
    write_lines(root / manifest / DATASHEET, _lines(head))
    about = {
        "name": head["edition"],
        "description": _purpose(head),
        "license": head["licence"] or f"not stated; see {manifest}/{DATASHEET}",
        "version": "1.0.0",  # other rows are another edition
        "temporalCoverage": f"{head['rules']['first']}/{head['rules']['last']}",
        "datePublished": max((one["day"] for one in head["notes"]["sources"]), default="not stated"),
        "citeAs": "CITATION.cff of patent-mteb, with the name of the edition",
    }
    write_json(root / CROISSANT, croissant(root, about, (tables, manifest)))


def _purpose(head: Mapping[str, Any]) -> str:
    return catalogue.find(head["benchmark"]).facts.description


def _table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    for row in (columns, ["---"] * len(columns), *rows):
        yield f"| {' | '.join(str(cell).replace('|', '/') for cell in row)} |"


def _lines(head: Mapping[str, Any]) -> Iterator[str]:
    notes = head["notes"]
    yield from (f"# {head['edition']}", "", _purpose(head), "")
    yield from ("## Motivation", "", "It measures how well a model finds the prior art that examiners cited, on public")
    yield from ("data, so that anyone can rebuild it and no model was trained on its newest window.", "")
    yield from ("## Composition", "")
    yield from _table(("texts", "number"), list(notes["texts"].items()))
    yield ""
    columns = ("queries", "judged", "relevant", "smallest_difference")
    rows = [[part, *(found[name] for name in columns)] for part, found in notes["judgements"].items()]
    yield from _table(("judgements of", *(name.replace("_", " ") for name in columns)), rows)
    yield from (
        "",
        "The smallest difference in nDCG@10 is that which the queries show in four of five cases, if two models",
    )
    yield from (
        f"differ with a standard deviation of {SPREAD} from query to query. `baselines.md` has the measured one.",
        "",
    )
    yield from ("## Collection", "", f"Window {head['window']}. Rules:", "")
    yield from _table(("rule", "value"), list(head["rules"].items()))
    yield from ("", "Rows that each step of the build left:", "")
    yield from _table(("step", "rows"), list(notes["counts"].items()))
    yield from ("", "## Sources and licences", "")
    files = [(one["file"], one["kind"], one["day"], one["bytes"], one["sha256"]) for one in notes["sources"]]
    yield from _table(("file", "kind", "day", "bytes", "sha256"), files)
    kinds = dict.fromkeys(kind for _, kind, *_ in files)
    yield ""
    yield from _table(("part", "licence"), [(kind, _LICENCES.get(kind, _UNKNOWN)) for kind in kinds])
    yield from ("", f"The edition as a whole: {head['licence'] or 'not stated'}. The manifest has no texts.", "")
    yield from ("## Limits", "", *(f"* {limit}" for limit in _LIMITS.splitlines()))


CROISSANT = "croissant.json"
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
    files = {path.relative_to(root).as_posix(): path for path in paths if path.name != CROISSANT}
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
