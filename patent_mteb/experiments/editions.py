"""Editions of the open benchmarks: built from records, with a manifest that a rebuild is compared with.

An edition is a data set (``dataset.json``) that is named after its benchmark and window, as are its tasks. Its manifest
has no texts and may be published: ``edition.json`` has the rules, versions, counts and hashes of the files;
``texts.tsv`` the hash, dates and family of every text; ``judgements.tsv`` the grades. The same source files give the
same manifest, in any order.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from patent_mteb import recipes
from patent_mteb.errors import DataError
from patent_mteb.files import file_hash, folder_lock, load_json, read_jsonl, text_lines, write_json, write_lines
from patent_mteb.patents.collection import Collection
from patent_mteb.patents.on_disk import in_order, stored_like
from patent_mteb.patents.records import SCHEMA_VERSION
from patent_mteb.recipes import beir, dataset
from patent_mteb.recipes import open_layout as layout
from patent_mteb.recipes.log import BuildLog
from patent_mteb.recipes.open_ep import KINDS, LANGUAGES, text_folder

MANIFEST = "manifest"
_Record = TypeVar("_Record")
_TEXTS = ("part", "id", "texts", "public", "priority", "family")
_JUDGEMENTS = ("part", "query", "document", "grade")
_GROUPS = ("rules", "versions", "counts", "files")
_SCHEMA = 2
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
    patents = in_order(collection.patents, lambda patent: patent.publication_number)
    citations, relations = _each_once(collection.citations), _each_once(collection.relations)
    families = dict(sorted(collection.families.items()))
    return replace(collection, patents=patents, citations=citations, relations=relations, families=families)


def _each_once(records: Sequence[_Record]) -> Sequence[_Record]:
    """Drop repeated records and sort them by digest; only the digests are in memory."""
    rows = {hashlib.blake2b(repr(one).encode(), digest_size=16).digest(): row for row, one in enumerate(records)}
    return stored_like((records[row] for _, row in sorted(rows.items())), records)


def build(
    collection: Collection,
    root: Path,
    window: str,
    recipe: str = "open_us",
    settings: Iterable[str] = (),
    licence: str = "",
) -> tuple[BuildLog, str]:
    """Build an edition with its manifest; return the log and the edition's name."""
    module = recipes.find(recipe)
    first, last = window_of(window)
    name = module.NAME + re.sub(r"[^A-Za-z0-9]", "", window)
    rules = [f"first={first}", f"last={last}", "match=family", *settings]
    identity = dataset.Identity(name, window, "", licence)
    recipes.check_settings(recipe, rules)
    with folder_lock(root, writer="build of an edition"):
        dataset.with_identity(root, dataset.read(root), identity)  # refuses another data set
        (root / MANIFEST / "edition.json").unlink(missing_ok=True)  # written last: marks a complete manifest
        log = recipes.run_on(recipe, in_one_order(collection), root, rules, identity)
        manifest = _manifest_of(root)
        write_lines(root / MANIFEST / "texts.tsv", _table(_TEXTS, manifest.texts))
        write_lines(root / MANIFEST / "judgements.tsv", _table(_JUDGEMENTS, manifest.judgements))
        write_json(root / MANIFEST / "edition.json", manifest.head)
    return log, name


@dataclass(frozen=True)
class _Manifest:
    """The head of a manifest, and the rows of its tables by key."""

    head: dict[str, Any]
    texts: dict[tuple[str, str], tuple[str, ...]]
    judgements: dict[tuple[str, str, str], tuple[str, ...]]


def _table(columns: tuple[str, ...], rows: Mapping[Any, tuple[str, ...]]) -> Iterator[str]:
    yield "\t".join(columns)
    yield from ("\t".join((*key, *values)) for key, values in sorted(rows.items()))


def _hash(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _manifest_of(root: Path) -> _Manifest:
    """Compute the manifest of the tables in a root."""
    record = dataset.read(root)
    known = {name: built for name, built in (record.recipes if record else {}).items() if name in recipes.OPEN_RECIPES}
    if record is None or len(known) != 1:
        raise DataError(
            "no edition was built here",
            path=root,
            remedy="build one: patent-mteb edition build open-us RECORDS ROOT --window 2026Q3",
        )
    ((recipe, built),) = known.items()
    folder = root / str(recipes.find(recipe).NAME)
    texts = _texts(folder)
    judgements: dict[tuple[str, str, str], tuple[str, ...]] = {}
    for part, place in _PARTS.items():
        if (path := folder / place / "qrels" / "test.tsv").exists():
            qrels, _ = beir.read_qrels(path)
            judgements |= {
                (part, query, key): (str(gain),) for query, judged in qrels.items() for key, gain in judged.items()
            }
    head = {
        "schema": _SCHEMA,
        "edition": record.name,
        "recipe": recipe,
        "window": record.version,
        "licence": record.licence,
        "rules": dict(sorted(built.settings.items())),
        "versions": {"patent_mteb": built.built_with, "records": str(SCHEMA_VERSION)},
        "counts": dict(built.counts),
        "files": {path: file_hash(root / path) for path in sorted(built.files) if (root / path).is_file()},
    }
    return _Manifest(head, texts, judgements)


def _texts(folder: Path) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return hashes of all texts; of documents and applications dates and family."""
    rows = layout.read_dates(folder).rows
    views = [{key: _hash(text) for key, text in beir.view_rows(folder, name)} for name in layout.VIEWS]
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    for part, file in (("documents", "corpus.jsonl"), ("applications", "queries.jsonl")):
        for _, row in read_jsonl(folder / file, ("_id", "text"), ("title",)):
            key = row["_id"]
            known = rows.get(key, {})
            dates = (str(known.get(name) or "") for name in ("public", "priority", "family_id"))
            content = (row.get("title") or "", row["text"], *(view.get(key, "") for view in views))
            codes = (" ".join(map(str, known.get(name) or ())) for name in ("ipc", "cpc"))
            found[part, key] = (_hash(*content, *codes), *dates)
    for part, place in list(_PARTS.items())[1:]:
        file = f"{place}/{'queries' if place == layout.CLAIMS else 'corpus'}.jsonl"
        if (folder / file).exists():
            for _, row in read_jsonl(folder / file, ("_id", "text"), ("title",)):
                found[part, row["_id"]] = (_hash(row["text"]), "", "", "")
    return found


def _read(folder: Path) -> _Manifest:
    path = folder / "edition.json"
    head = load_json(path)
    known = isinstance(head, dict) and head.get("schema") == _SCHEMA
    if not known or any(not isinstance(head.get(one, {}), dict) for one in _GROUPS):
        remedy = "name the folder 'manifest' of an edition; of a newer version: upgrade patent-mteb"
        raise DataError("this is not the manifest of an edition", path=path, remedy=remedy)
    return _Manifest(
        head,
        {(part, key): tuple(rest) for part, key, *rest in _rows(folder / "texts.tsv", _TEXTS)},
        {(part, query, key): tuple(rest) for part, query, key, *rest in _rows(folder / "judgements.tsv", _JUDGEMENTS)},
    )


def _rows(path: Path, columns: tuple[str, ...]) -> Iterator[list[str]]:
    number, remedy = 0, "fetch the manifest again"
    for number, line in text_lines(path):
        cells = line.split("\t")
        if len(cells) != len(columns) or (number == 1 and tuple(cells) != columns):
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
    files, now = theirs.head.get("files", {}), ours.head["files"]
    if not differences:
        differences = [
            f"file {path}: other bytes" for path in sorted({*files, *now}) if files.get(path) != now.get(path)
        ]
    return differences


def _head_differences(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> Iterator[str]:
    for name in ("edition", "recipe", "window", "licence"):
        if theirs.get(name) != ours[name]:
            yield f"{name}: '{theirs.get(name)}' in the manifest, '{ours[name]}' here"
    for group, what in (("rules", "rule"), ("versions", "version of"), ("counts", "count of")):
        for name in sorted({*theirs.get(group, {}), *ours[group]}):
            first, second = theirs.get(group, {}).get(name, "nothing"), ours[group].get(name, "nothing")
            if first != second:
                yield f"{what} {name}: {first} in the manifest, {second} here"


_SINGULAR = {"documents": "document", "applications": "application", "claims": "claim", "passages": "passage"}
"""Singular of the parts; other parts are named as they are."""


def _row_differences(
    what: str, theirs: Mapping[Any, tuple[str, ...]], ours: Mapping[Any, tuple[str, ...]], columns: tuple[str, ...]
) -> Iterator[str]:
    for key in sorted({*theirs, *ours}):
        part, *ids = key
        name = f"{what}{_SINGULAR.get(part, part)} {' for '.join(reversed(ids))}"
        if key not in ours:
            yield f"{name}: missing here"
        elif key not in theirs:
            yield f"{name}: not in the manifest"
        else:
            changed = []
            for column, first, second in zip(columns, theirs[key], ours[key], strict=True):
                if first != second:
                    other = f"{column} {first or 'none'} in the manifest, {second or 'none'} here"
                    changed.append("other text or classes" if column == "texts" else other)
            if changed:
                yield f"{name}: {'; '.join(changed)}"
