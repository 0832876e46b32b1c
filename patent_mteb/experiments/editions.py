"""Editions of the open benchmarks: built from records, with a manifest that others rebuild them from.

An edition is a data set (``dataset.json``) that is named after its benchmark and window, as are its tasks. It is its
rows: which library wrote a table does not matter. Its manifest has no texts and may be published:

* ``edition.json``: the rules, the hashes of the tables' rows, and notes: source files, versions, counts, and the
  smallest difference that the queries can show; ``datasheet.md`` is the same for a reader
  (:mod:`patent_mteb.experiments.datasheet`);
* ``texts.tsv``: the hash, dates and family of every text; ``judgements.tsv``: the grades;
* ``patents.parquet`` and ``citations.parquet``: the records of the edition, with :data:`OMITTED` in place of each text.

The same source files give the same manifest, in any order. :func:`rebuild` takes the texts from any records that have
the same publications.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import heapq
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count, groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar

import polars as pl
import pyarrow

from patent_mteb import recipes
from patent_mteb.errors import DataError, check_shape
from patent_mteb.experiments import datasheet
from patent_mteb.files import (
    file_hash,
    folder_lock,
    load_json,
    read_jsonl,
    rows_hash,
    text_lines,
    write_json,
    write_lines,
)
from patent_mteb.metrics.significance import SPREAD, smallest_difference
from patent_mteb.patents.collection import Collection, read_collection, with_families
from patent_mteb.patents.corpus import Texts
from patent_mteb.patents.matching import match
from patent_mteb.patents.on_disk import DiskList, by_number, publications, sorted_on_disk, stored, stored_like
from patent_mteb.patents.records import (
    SCHEMA_VERSION,
    Citation,
    Description,
    ExpertSummary,
    MachineSummaries,
    Patent,
    TextLanguages,
    Translation,
    read_records,
    write_records,
)
from patent_mteb.readers.records_directory import read_accounts
from patent_mteb.recipes import beir, dataset
from patent_mteb.recipes import open_layout as layout
from patent_mteb.recipes.dataset import input_hash
from patent_mteb.recipes.open_ep import KINDS, LANGUAGES, text_folder
from patent_mteb.recipes.steps import BuildLog

MANIFEST = "manifest"
_Record = TypeVar("_Record")
_Row = tuple[str, ...]
_TEXTS = ("part", "id", "texts", "public", "priority", "family")
_JUDGEMENTS = ("part", "query", "document", "grade")
_SCHEMA = 3  # of manifests; others are refused
_HEAD = {
    **dict.fromkeys(("edition", "recipe", "window", "licence"), str),
    "rules": {"*": str},
    "tables": {"*": str},
    "notes": dict,
}
"""The shape of ``edition.json``."""
OMITTED = "(text omitted)"
_TEXT_PARTS = {f"{kind.lower()} in {one}": text_folder(kind, one) for kind in KINDS for one in LANGUAGES}
_PARTS = {"documents": "", "claims": layout.CLAIMS, "passages": layout.PASSAGES, **_TEXT_PARTS}
"""Parts of an edition and their folders."""


def window_of(text: str) -> tuple[dt.date, dt.date]:
    """Parse a window to its first and last day: a year, quarter, month, or two days."""
    remedy = "write a year (2026), a quarter (2026Q3), a month (2026-07) or two days (2026-07-01:2026-09-30)"
    found = re.fullmatch(r"(\d{4})(?:Q([1-4])|-(\d\d))?", text)
    try:
        if found is None:
            first, last = (dt.date.fromisoformat(day) for day in text.split(":"))
            if last < first:
                raise ValueError("it ends before it begins")
            return first, last
        year, quarter, month = int(found[1]), found[2], found[3]
        start, months = (int(month), 1) if month else (3 * int(quarter) - 2, 3) if quarter else (1, 12)
        end = start + months
        return dt.date(year, start, 1), dt.date(year + (end > 12), (end - 1) % 12 + 1, 1) - dt.timedelta(days=1)
    except ValueError as error:
        raise DataError(f"'{text}' is not a window", remedy=remedy) from error


def in_one_order(collection: Collection) -> Collection:
    """Sort the records by content and drop repeated citations and relations."""
    patents = by_number(collection.patents)
    citations, relations = _each_once(collection.citations), _each_once(collection.relations)
    families = collection.families.sort("number")
    return replace(collection, patents=patents, citations=citations, relations=relations, families=families)


def _each_once(records: Sequence[_Record]) -> Sequence[_Record]:
    """Drop repeated records and sort them by digest."""
    digests = (hashlib.blake2b(repr(one).encode(), digest_size=16).digest() for one in records)
    equal = groupby(sorted_on_disk(zip(digests, count())), key=itemgetter(0))
    return stored_like((records[row] for _, rows in equal for _, row in islice(rows, 1)), records)


def build(
    collection: Collection,
    root: Path,
    window: str,
    recipe: str = "open_us",
    settings: Iterable[str] = (),
    licence: str = "",
    sources: Sequence[Mapping[str, Any]] = (),
) -> tuple[BuildLog, str]:
    """Build an edition with its manifest; return the log and the edition's name. ``sources`` are noted as they are."""
    module = recipes.find(recipe)
    first, last = window_of(window)
    name = module.NAME + re.sub(r"[^A-Za-z0-9]", "", window)
    rules = [f"first={first}", f"last={last}", "match=family", *settings]
    identity = dataset.Identity(name, window, "", licence)
    recipes.check_settings(recipe, rules)
    collection = in_one_order(collection)
    with folder_lock(root, writer="build of an edition"):
        dataset.with_identity(root, dataset.read(root), identity)  # refuses another data set
        place = root / MANIFEST
        (place / "edition.json").unlink(missing_ok=True)  # written last: marks a complete manifest
        log = recipes.run(recipe, collection, root, rules, identity)
        manifest = _manifest_of(root)
        write_lines(place / "texts.tsv", map("\t".join, chain([_TEXTS], manifest.texts)))
        write_lines(place / "judgements.tsv", map("\t".join, chain([_JUDGEMENTS], manifest.judgements)))
        _write_records(place, collection, manifest)
        manifest.head["notes"]["sources"] = list(sources)
        write_json(place / "edition.json", manifest.head)
        datasheet.describe(root, MANIFEST, module.NAME, manifest.head)
    return log, name


def sources_of(records: Path) -> list[dict[str, Any]]:
    """Return name, kind, size, hash and last change of the files that a records directory was imported from."""
    rows = [
        {"file": Path(one.path).name, "kind": one.source, "bytes": one.size, "sha256": one.sha256, "day": one.day}
        for one in read_accounts(records).values()
    ]
    return sorted(rows, key=itemgetter("file", "sha256"))


def _write_records(place: Path, collection: Collection, manifest: _Manifest) -> None:
    """Write the publications and citations that the edition was made of, without texts, in its final families."""
    rules: Mapping[str, str] = manifest.head["rules"]
    if rules["families"] != collection.family_definition:
        collection, _ = with_families(collection, rules["families"])
    known = publications(collection.patents)

    def of_families_of(numbers: Iterable[str]) -> set[str]:
        """Return the publications of the families of some."""
        families = known.filter(pl.col("number").is_in(list(numbers)))["family"]
        return set(known.filter(pl.col("family").is_in(families.implode()))["number"])

    judged, queries = (
        of_families_of(key for its, key, *_ in manifest.texts if its == part) for part in ("documents", "applications")
    )
    matched, _ = match(collection.citations, collection, rules["match"], joined=False)
    citations = stored_like((one for one in matched if one.citing in queries), matched)
    written = judged.union(queries, of_families_of(one.cited for one in citations))
    write_records(place / "citations.parquet", Citation, citations)
    outlined = (_outlined(one) for one in collection.patents if one.publication_number in written)
    write_records(place / "patents.parquet", Patent, outlined)


def _outlined(patent: Patent) -> Patent:
    """Return a record with :data:`OMITTED` in place of its texts and without the names of persons and companies."""
    return replace(
        patent,
        title=patent.title and OMITTED,
        abstract=patent.abstract and OMITTED,
        claims=tuple(replace(claim, text=OMITTED) for claim in patent.claims),
        description=Description(OMITTED if patent.description.lines() else ""),
        paragraphs=(),
        translations=tuple(Translation(one.language) for one in patent.translations),
        inventors=(),
        applicants=(),
        keywords=(),
        expert=ExpertSummary(),
        summaries=MachineSummaries(),
    )


_NO_TEXTS = Patent("", "")
_FILLED = ("title", "abstract", "claims", "description")


def rebuild(
    manifest: Path, collection: Collection, root: Path, sources: Sequence[Mapping[str, Any]] = ()
) -> tuple[BuildLog, list[str]]:
    """Build an edition from its manifest and the texts of other records, whose ``sources`` are noted.

    Returns:
        The log, and one sentence for each publication that the records lack, or whose text they lack.
    """
    head = _read(manifest).head
    outlines = read_collection(manifest)
    rows: dict[str, int] = dict(publications(collection.patents).select("number", "row").iter_rows())
    if rows.keys().isdisjoint(publications(outlines.patents)["number"]):
        remedy = "import the full text of the publications of patents.parquet"
        raise DataError(
            f"the records have none of the {len(outlines.patents)} publications", path=manifest, remedy=remedy
        )
    missing: list[str] = []

    def texts_of(outline: Patent) -> Patent:
        row = rows.get(outline.publication_number)
        found = _NO_TEXTS if row is None else collection.patents[row]
        wanted = [name for name in _FILLED if getattr(outline, name) != getattr(_NO_TEXTS, name)]
        lacking = [name for name in wanted if getattr(found, name) == getattr(_NO_TEXTS, name)]
        if row is None or lacking:
            what = "is not in the records" if row is None else f"has no {', '.join(lacking)} in the records"
            missing.append(f"{outline.publication_number} {what}")
        languages = {one.language for one in outline.translations}
        return replace(
            outline,
            title=found.title if outline.title else "",
            abstract=found.abstract if outline.abstract else "",
            claims=found.claims if outline.claims else (),
            description=found.description if outline.description.lines() else Description(),
            paragraphs=found.paragraphs if outline.description.lines() else (),
            languages=outline.languages if found.languages == TextLanguages() else found.languages,
            translations=tuple(one for one in found.translations if one.language in languages),
        )

    rules = {name: value for name, value in head["rules"].items() if name not in ("first", "last") and value != "None"}
    patents = stored(map(texts_of, outlines.patents))
    collection = replace(outlines, patents=patents, family_definition=rules.get("families", "given"))
    settings = [f"{name}={value}" for name, value in rules.items()]
    log, _ = build(collection, root, head["window"], head["recipe"], settings, head["licence"], sources)
    return log, missing


@dataclass(frozen=True)
class _Manifest:
    """The head of a manifest, and the sorted rows of its tables."""

    head: dict[str, Any]
    texts: Sequence[_Row]
    judgements: Sequence[_Row]


def _hash(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _recipe_of(root: Path) -> tuple[dataset.DataSetRecord, str]:
    """Return the record of an edition and the name of its recipe."""
    record = dataset.read(root)
    known = [name for name in (record.recipes if record else ()) if name in recipes.OPEN_RECIPES]
    if record is None or len(known) != 1:
        raise DataError(
            "no edition was built here",
            path=root,
            remedy="build one: patent-mteb edition build open-us RECORDS ROOT --window 2026Q3",
        )
    return record, known[0]


def name_of(root: Path) -> str:
    """Return the name of an edition, which is that of its benchmark."""
    return _recipe_of(root)[0].name


def edition_folder(root: Path) -> Path:
    return root / str(recipes.find(_recipe_of(root)[1]).NAME)


def _manifest_of(root: Path) -> _Manifest:
    record, recipe = _recipe_of(root)
    built, folder = record.recipes[recipe], edition_folder(root)
    texts, judgements = (DiskList(sorted_on_disk(rows(folder))) for rows in (_texts, _judgements))
    n_texts, judged = Counter(part for part, *_ in texts), _judged(judgements)
    versions = {"patent_mteb": built.built_with, "records": str(SCHEMA_VERSION), "pyarrow": pyarrow.__version__}
    head = {
        "schema": _SCHEMA,
        "edition": record.name,
        "benchmark": edition_folder(root).name,
        "recipe": recipe,
        "window": record.version,
        "licence": record.licence,
        "rules": dict(sorted(built.settings.items())),
        "tables": {
            path: rows_hash(root / path) if path.endswith(".parquet") else file_hash(root / path)
            for path in sorted(built.files)
            if (root / path).is_file()
        },
        "notes": {
            "versions": versions,
            "counts": dict(built.counts),
            "texts": {part: n_texts[part] for part in _SINGULAR | _PARTS if part in n_texts},
            "judgements": {part: judged[part] for part in _PARTS if part in judged},
        },
    }
    return _Manifest(head, texts, judgements)


def _judged(judgements: Iterable[_Row]) -> dict[str, dict[str, Any]]:
    """Return queries, judged and relevant pairs of each part, and the smallest difference that the queries show."""
    found: dict[str, dict[str, Any]] = {}
    for (part, _), rows in groupby(judgements, key=itemgetter(0, 1)):
        relevant = [int(gain) > 0 for *_, gain in rows]
        counts = found.setdefault(part, dict.fromkeys(("queries", "judged", "relevant"), 0))
        counts["queries"] += any(relevant)
        counts["judged"] += len(relevant)
        counts["relevant"] += sum(relevant)
    for counts in found.values():
        n = counts["queries"]
        counts["smallest_difference"] = round(smallest_difference(n, SPREAD), 4) if n > 1 else None
    return found


def _texts(folder: Path) -> Iterator[_Row]:
    """Yield the hashes of all texts; of documents and applications also dates and family."""
    rows = layout.read_metadata(folder)
    both = zip(*(beir.view_rows(folder, name) for name in layout.VIEWS), strict=True)
    views = Texts.collected((key, f"{_hash(first)}\0{_hash(second)}") for (key, first), (_, second) in both)
    for part, file in (("documents", "corpus.jsonl"), ("applications", "queries.jsonl")):
        for _, row in read_jsonl(folder / file, ("_id", "text"), ("title",)):
            key = row["_id"]
            known = rows.get(key, {})
            dates = (str(known.get(name) or "") for name in ("public", "priority", "family_id"))
            codes = (" ".join(map(str, known.get(name) or ())) for name in ("ipc", "cpc"))
            yield part, key, _hash(row["title"], row["text"], views.get(key, "\0"), *codes), *dates
    for part, place in list(_PARTS.items())[1:]:
        file = f"{place}/{'queries' if place == layout.CLAIMS else 'corpus'}.jsonl"
        if (folder / file).exists():
            for _, row in read_jsonl(folder / file, ("_id", "text"), ("title",)):
                yield part, row["_id"], _hash(row["text"]), "", "", ""


def _judgements(folder: Path) -> Iterator[_Row]:
    for part, place in _PARTS.items():
        if (path := folder / place / "qrels" / "test.tsv").exists():
            yield from ((part, query, key, str(gain)) for _, query, key, gain in beir.judgements(path))


def _read(folder: Path) -> _Manifest:
    path = folder / "edition.json"
    head = load_json(path)
    remedy = "name the folder 'manifest' of an edition; of a newer version: upgrade patent-mteb"
    if not isinstance(head, dict) or head.get("schema") != _SCHEMA:
        raise DataError("this is not the manifest of an edition", path=path, remedy=remedy)
    try:
        check_shape(head, _HEAD, path, remedy)
    except DataError as error:
        raise DataError(f"this is not the manifest of an edition: {error.problem}", path=path, remedy=remedy) from error
    if head["recipe"] not in recipes.OPEN_RECIPES:
        raise DataError(f"'{head['recipe']}' is not a recipe of editions", path=path, remedy=remedy)
    return _Manifest(
        head,
        DiskList(sorted_on_disk(_rows(folder / "texts.tsv", _TEXTS))),
        DiskList(sorted_on_disk(_rows(folder / "judgements.tsv", _JUDGEMENTS))),
    )


def _rows(path: Path, columns: tuple[str, ...]) -> Iterator[_Row]:
    number, remedy = 0, "fetch the manifest again"
    for number, line in text_lines(path):
        cells = tuple(line.split("\t"))
        if len(cells) != len(columns) or (number == 1 and cells != columns):
            raise DataError(f"the columns are not {', '.join(columns)}", path=path, row=number, remedy=remedy)
        if number > 1:
            yield cells
    if not number:
        raise DataError("the table is empty", path=path, remedy=remedy)


def verify(manifest: Path, root: Path) -> list[str]:
    """Compare a published manifest with a rebuild; one sentence for each difference."""
    theirs, ours = _read(manifest), _manifest_of(root)
    differences = [*_head_differences(theirs.head, ours.head)]
    differences += _row_differences("", theirs.texts, ours.texts, _TEXTS[2:])
    differences += _row_differences("judgement of ", theirs.judgements, ours.judgements, _JUDGEMENTS[3:])
    tables, now = theirs.head["tables"], ours.head["tables"]
    if not differences:
        differences = [
            f"table {path}: other rows" for path in sorted({*tables, *now}) if tables.get(path) != now.get(path)
        ]
        for name, kind in (("patents.parquet", Patent), ("citations.parquet", Citation)):
            hashes = [_records_hash(path / name, kind) for path in (manifest, root / MANIFEST)]
            if not all(hashes) or hashes[0] != hashes[1]:
                differences.append(f"records {name}: {'other rows' if all(hashes) else 'missing'}")
    return differences


def _records_hash(path: Path, kind: Any) -> str:
    """Return the hash of the records of a file, whose order is that of the import; empty without the file."""
    if not path.exists():
        return ""
    return input_hash(record for record, *_ in sorted_on_disk((repr(one),) for one in read_records(path, kind)))


def _head_differences(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> Iterator[str]:
    for name in ("edition", "benchmark", "recipe", "window", "licence"):
        if theirs.get(name) != ours[name]:
            yield f"{name}: '{theirs.get(name)}' in the manifest, '{ours[name]}' here"
    for name in sorted({*theirs["rules"], *ours["rules"]}):
        first, second = (head["rules"].get(name, "nothing") for head in (theirs, ours))
        if first != second:
            yield f"rule {name}: {first} in the manifest, {second} here"


_SINGULAR = {"documents": "document", "applications": "application", "claims": "claim", "passages": "passage"}
"""Singular of the parts; other parts are named as they are."""


def _row_differences(
    what: str, theirs: Iterable[_Row], ours: Iterable[_Row], columns: tuple[str, ...]
) -> Iterator[str]:
    """Compare sorted rows whose last cells are ``columns``."""
    end = -len(columns)
    rows = heapq.merge(
        ((row[:end], "there", row[end:]) for row in theirs), ((row[:end], "here", row[end:]) for row in ours)
    )
    for (part, *ids), found in groupby(rows, key=itemgetter(0)):
        rows_of = [(where, cells) for _, where, cells in found]
        values, numbers = dict(rows_of), Counter(where for where, _ in rows_of)
        name = f"{what}{_SINGULAR.get(part, part)} {' for '.join(reversed(ids))}"
        if max(numbers.values()) > 1:
            yield f"{name}: {numbers['there']} rows in the manifest, {numbers['here']} here"
        elif "here" not in values:
            yield f"{name}: missing here"
        elif "there" not in values:
            yield f"{name}: not in the manifest"
        else:
            changed = []
            for column, first, second in zip(columns, values["there"], values["here"], strict=True):
                if first != second:
                    other = f"{column} {first or 'none'} in the manifest, {second or 'none'} here"
                    changed.append("other text or classes" if column == "texts" else other)
            if changed:
                yield f"{name}: {'; '.join(changed)}"
