"""Patent families by five definitions.

Sources define patent families differently, so a build chooses a definition (:data:`DEFINITIONS`) and records it.

Many lists state no family, or state one for some publications only. ``joined`` fills these gaps (:data:`RULES`). It
joins two families that the source states only if publications of one application are in both.

A ``families.parquet`` (``publication_number``, ``family_id``) has the families of another source. It may include
publications without a record, so that a citation of one of them leads to a family member with a record.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from patent_mteb.errors import DataError
from patent_mteb.files import read_keyed
from patent_mteb.patents.numbers import Number, key_of, normal_form, read_application, read_number
from patent_mteb.patents.on_disk import publications, with_family
from patent_mteb.patents.records import RELATED_PUBLICATIONS, Patent, Relation
from patent_mteb.patents.text_columns import (
    Rows,
    TextIndex,
    TextMap,
    coded,
    coded_in_order,
    codes_of,
    column,
    is_filled,
    split_runs,
    values_of,
)

if TYPE_CHECKING:
    from patent_mteb.patents.collection import Collection


DEFINITIONS = {
    "given": "the family_id of the records and of families.parquet (DOCDB, INPADOC, or whatever their source means)",
    "joined": "those of the source, joined by application, and without one also by priorities and lists of members",
    "application": "publications of one application",
    "simple": "applications that claim exactly the same priorities; one that claims none is its own priority",
    "extended": "all that any relation, application or given family connects, directly or through others",
}
"""Name of a definition -> what it means."""

RULES = {
    "application": "one application: its number, or one office and serial of its publications",
    "priorities": "exactly the same priorities, where the source states no family",
    "members": "lists of members that share a publication, where the source states no family",
}
"""Rules of the definition ``joined``, in order -> what joins two families."""


def read_families(path: Path | str) -> TextMap:
    path = Path(path)
    table = read_keyed(path, {"family_id": pa.string()}, key="publication_number")
    numbers, families = (column(values_of(table[name])) for name in ("publication_number", "family_id"))
    empty = pc.index(pc.fill_null(families, ""), "").as_py()
    if empty >= 0:
        problem = f"publication '{numbers[empty]}' has no family_id"
        raise DataError(problem, path=path, row=empty + 1, remedy="fill it, or delete the row")
    return TextMap(numbers, coded(families))


def publication_names(numbers: Iterable[str]) -> Callable[[str], str]:
    """Return a function from a written publication number to its normal form, or to the text if it cannot be read.

    A number without kind code gets the name of the only known publication in ``numbers`` that it can be.
    """
    written = column(numbers)

    @cache
    def by_key() -> TextIndex:
        return TextIndex(column(map(key_of, values_of(written))))

    @lru_cache(maxsize=1 << 18)  # citations and relations repeat numbers
    def name(text: str) -> str:
        number = read_number(text)
        if number is None or number.kind:
            return normal_form(text)
        alike = {read.docdb for row in by_key().rows(number.key) if (read := read_number(written[row].as_py()))}
        return alike.pop() if len(alike) == 1 else number.docdb

    return name


_SEPARATE: dict[str, Callable[[str], bool]] = {
    "JP": lambda serial: serial[0].isalpha(),  # years of an emperor, to 1999
    "CN": lambda serial: len(serial) == 7,  # to 2007
    "AU": lambda serial: len(serial) < 10,  # to 2001
    "PL": lambda serial: True,
}
"""Offices that number applications and patents separately -> whether a serial is one of these."""

_FIRST_LETTERS = {"": "A", "B": "A", "C": "A", "Y": "U", "Z": "U", "T": "D"}
"""Letter of a kind code -> the first letter of its series of numbers (WIPO standard ST.16)."""

_SERIES_AT = {"DET5": "A", **{office + letter: "A" for office in ("DK", "FI", "NO", "SE") for letter in ("D0", "L")}}
"""Office and start of a kind code -> its series, where ST.16 leaves it open.

DE T5 is the German text of a PCT application, with the number of its B4. D0 and L are the application, published before
its A or B (Nordic offices).
"""


def series(number: Number) -> str:
    """Return office, serial and series: equal for publications of one application with one serial.

    Patents and utility models have different series, and so have applications and patents at some offices.
    """
    letter = number.kind[:1]
    if (separate := _SEPARATE.get(number.office)) and separate(number.serial):
        return f"{number.key} {letter}"
    own = _SERIES_AT.get(number.office + number.kind, _SERIES_AT.get(number.office + letter))
    return f"{number.key} {own or _FIRST_LETTERS.get(letter, letter)}"


_UNREAD = "unread "
_NO_ROWS = np.empty(0, np.int32)


def _application_name(text: str, publication: str = "") -> str:
    """Return the normal form of an application number, ``""`` for a text without a digit.

    A number without an office has that of its publication.
    """
    own = read_number(publication) if publication else None
    number = read_application(text, own.office) if own else read_application(text)
    if number or not any(map(str.isdigit, text)):
        return number.key if number else ""
    return f"{_UNREAD}{own.office if own else ''} {text.strip()}"


class Groups:
    """Disjoint sets of the numbers below ``n`` (union-find). The least member is the number of its group."""

    def __init__(self, n: int) -> None:
        self._parent = array("i", range(n))

    def __len__(self) -> int:
        return len(self._parent)

    def of(self, member: int) -> int:
        """Return the number of the group of a member."""
        parent = self._parent
        while parent[member] != member:
            parent[member] = parent[parent[member]]
            member = parent[member]
        return member

    def connect(self, one: int, *others: int) -> None:
        """Merge the groups of some members."""
        for other in others:
            first, second = sorted((self.of(one), self.of(other)))
            self._parent[second] = first

    def connect_all(self, ones: Rows, others: Rows) -> None:
        """Merge the groups of pairs of members."""
        for one, other in zip(values_of(ones), values_of(others), strict=True):
            self.connect(one, other)

    def of_all(self) -> Rows:
        """Return the number of the group of every member."""
        groups = np.array(self._parent, np.int32)
        while not np.array_equal(further := groups[groups], groups):
            groups = further
        return groups


class Publications:
    """The publications that records, a table of families and relations name, with their applications and families.

    Each of the three is numbered in the order of its names. In a graph of all (:class:`Groups`), applications come
    first, then families, then publications.
    """

    def __init__(
        self, patents: Sequence[Patent], relations: Sequence[Relation] = (), families: Mapping[str, str] | None = None
    ) -> None:
        self.table, stated = publications(patents), TextMap.of(families or {})
        self.numbers, families_read, applications = (
            column(self.table[name]) for name in ("number", "family", "application")
        )
        self.name = name = publication_names(pa.concat_arrays([self.numbers, stated.column]))
        self._relations, self._kinds = relations, coded(one.kind for one in relations)
        parts = np.cumsum([len(self.table), len(stated), len(relations)])
        written = chain(values_of(self.numbers), stated, (one.number for one in relations))
        related = (name(one.related) if one.kind in RELATED_PUBLICATIONS else "" for one in relations)
        named = coded_in_order(chain(map(name, written), related))
        self.names: pa.LargeStringArray = named.dictionary
        self.of_records, of_table, self._subjects, self._related = np.split(codes_of(named), parts)
        self._record_of = np.full(len(self.names), -1, np.int32)  # of each publication: its last record
        self._record_of[self.of_records] = np.arange(len(self.table), dtype=np.int32)

        filed = coded_in_order(self._application_names(applications))
        self._applications: pa.LargeStringArray = filed.dictionary
        self._filed, self._related_applications = np.split(
            np.where(is_filled(filed), codes_of(filed), -1).astype(np.int32), parts[:1]
        )

        alone = (values_of(self.names.take(pa.array(ends))) for ends in (self._subjects, self._related))
        own = coded_in_order(chain(values_of(families_read), values_of(stated.coded), *alone))
        self._families: pa.LargeStringArray = own.dictionary
        self.family_of_records, family_of_table, *alone_codes = np.split(codes_of(own), parts)
        self.own = np.full(len(self.names), -1, np.int32)
        self.own[self.of_records] = self.family_of_records
        self.own[of_table] = family_of_table
        self._alone = np.full(len(self.names), -1, np.int32)  # the family that bears the name of the publication
        for ends, codes in zip((self._subjects, self._related), alone_codes, strict=True):
            self._alone[ends] = codes
        self._listed = _first_uses(np.concatenate([self.of_records, of_table]))
        self._first_publication = len(self._applications) + len(self._families)

    def _application_names(self, applications: pa.LargeStringArray) -> Iterator[str]:
        """Yield the application of each record, then the one that each relation names."""
        names = values_of(self.names.take(pa.array(np.concatenate([self.of_records, self._subjects]))))
        for written, name in zip(values_of(applications), names):  # noqa: B905  (the rest are relations)
            yield _application_name(written, name)
        for relation, name in zip(self._relations, names, strict=True):
            office_of = name if relation.kind == "application" else ""
            yield "" if relation.kind in RELATED_PUBLICATIONS else _application_name(relation.related, office_of)

    def _is(self, *kinds: str) -> NDArray[np.bool_]:
        """Whether each relation is of some kinds."""
        found: NDArray[np.bool_] = np.isin(self._kinds.dictionary.to_pylist(), kinds)[codes_of(self._kinds)]
        return found

    def _nodes(self, publications: Rows) -> Rows:
        return publications + np.int32(self._first_publication)

    def _family_nodes(self, families: Rows) -> Rows:
        return families + np.int32(len(self._applications))

    def groups_of(self, groups: Groups) -> Rows:
        """Return the number of the group of each publication."""
        return groups.of_all()[self._first_publication :]

    def by_application(self, further: Rows = _NO_ROWS) -> tuple[Groups, Rows]:
        """Group the publications of each application; return the groups and the publications that may have others.

        These are ``further`` ones, those of records, and those with an application or a publication before grant in the
        relations.
        """
        groups = Groups(self._first_publication + len(self.names))
        files, pre_grant = self._is("application") & (self._related_applications >= 0), self._is("pre-grant")
        publications = np.concatenate([self.of_records, self._subjects[files]])
        applications = np.concatenate([self._filed, self._related_applications[files]])
        publications, applications = publications[applications >= 0], applications[applications >= 0]
        groups.connect_all(self._nodes(publications), applications)
        groups.connect_all(self._nodes(self._subjects[pre_grant]), self._nodes(self._related[pre_grant]))
        application_of = np.full(len(self.names), -1, np.int32)
        application_of[publications[::-1]] = applications[::-1]  # the first
        ends = [np.where(files | pre_grant, self._subjects, -1), np.where(pre_grant, self._related, -1)]
        found = _first_uses(np.concatenate([further, self.of_records, np.stack(ends, axis=1).ravel()]))
        found = found[found >= 0]
        self._connect_serials(groups, found, application_of[found])
        return groups, found

    def _connect_serials(self, groups: Groups, publications: Rows, applications: Rows) -> None:
        """Connect publications of one series and serial, unless their office has several applications of them."""
        names = values_of(self.names.take(pa.array(publications)))
        serials = coded(series(number) if (number := read_number(name)) else "" for name in names)
        serial = codes_of(serials)
        # the number of a PCT application: its publication has a national one too
        unclear = pc.or_(*(pc.starts_with(self._applications, start) for start in ("WO", _UNREAD)))
        clear = (applications >= 0) & ~unclear.to_numpy(zero_copy_only=False)[applications]
        pairs = np.unique(serial[clear].astype(np.int64) << 32 | applications[clear])
        alone = np.bincount(serial, minlength=len(serials.dictionary)) == 1
        skipped = alone | (np.bincount(pairs >> 32, minlength=len(alone)) > 1)
        _, first = np.unique(serial, return_index=True)
        chosen = ~skipped[serial] & is_filled(serials)
        groups.connect_all(self._nodes(publications[first[serial[chosen]]]), self._nodes(publications[chosen]))

    def _equal_bases(self, groups: Rows) -> list[list[int]]:
        """Return the groups with the same basis: the priorities that a group claims, else its application if known.

        ``groups`` are those of the publications. Digits without an office do not count as a priority: they may be a
        date, or a number of several offices.
        """
        has_letter = np.array([any(map(str.isalpha, one.related)) for one in self._relations], bool)
        known = self._related_applications >= 0
        claims, files = self._is("priority", "provisional") & has_letter & known, self._is("application") & known
        claiming = groups[self._subjects[claims]]
        filing = np.concatenate([groups[self.of_records[self._filed >= 0]], groups[self._subjects[files]]])
        filed = np.concatenate([self._filed[self._filed >= 0], self._related_applications[files]])
        others = ~np.isin(filing, claiming)
        owners = np.concatenate([claiming, filing[others]]).astype(np.int64)
        pairs = np.unique(owners << 32 | np.concatenate([self._related_applications[claims], filed[others]]))
        owners, firsts, sizes = np.unique(pairs >> 32, return_index=True, return_counts=True)
        basis = pairs[firsts] & 0xFFFFFFFF
        several: dict[bytes, int] = {}
        for row in np.flatnonzero(sizes > 1).tolist():
            applications = pairs[firsts[row] : firsts[row] + sizes[row]] & 0xFFFFFFFF
            basis[row] = len(self._applications) + several.setdefault(applications.tobytes(), len(several))
        order = np.argsort(basis, kind="stable")
        as_before = np.diff(basis[order], prepend=-1) == 0
        return sorted(run.tolist() for run in split_runs(owners[order], as_before))

    def _with_members(self) -> tuple[Rows, Rows]:
        """Return the own family of each publication, or that of the last to name it, and those with one."""
        own = self.own.copy()
        names_it = self._is(*RELATED_PUBLICATIONS) & (self.own[self._related] < 0) & (self.own[self._subjects] >= 0)
        own[self._related[names_it]] = self.own[self._subjects[names_it]]
        return own, _first_uses(np.concatenate([self._listed, self._related[names_it]]))

    def _stated(self) -> NDArray[np.bool_]:
        """Whether the source states the family of a publication, so that its id is not a number that replaces it."""
        listed = self._listed
        families = values_of(self._families.take(pa.array(self.own[listed])))
        stated = np.zeros(len(self.names), bool)
        for publication, family, *numbers in zip(
            values_of(listed),
            families,
            values_of(self.names.take(pa.array(listed))),
            self._written(listed),
            strict=True,
        ):
            stated[publication] = family not in numbers and not (read_number(family) or read_application(family))
        return stated

    def _written(self, publications: Rows) -> Iterator[str]:
        """Yield the numbers of publications as their records write them, without a record their names."""
        rows = self._record_of[publications]
        texts = pa.concat_arrays([self.numbers, self.names])
        return values_of(texts.take(pa.array(np.where(rows >= 0, rows, len(self.table) + publications))))

    def _joined(self) -> tuple[Rows, pa.DictionaryArray, dict[str, int]]:
        stated = self._stated()
        lists = self._is("member") & ~stated[self._subjects]
        own, publications = self._with_members()
        groups, publications = self.by_application(publications)
        own[publications] = np.where(own[publications] < 0, self._alone[publications], own[publications])
        applications = self.groups_of(groups)
        records = np.unique(self.of_records)
        sizes = [len(np.unique(own[records]))]

        def count() -> None:
            sizes.append(len(np.unique(self.groups_of(groups)[records])))

        groups.connect_all(self._nodes(publications), self._family_nodes(own[publications]))
        count()
        stated[self._subjects[lists]] = True
        settled = set(applications[records[stated[records]]].tolist())
        for same in self._equal_bases(applications):
            unsettled = [application for application in same if application not in settled]
            targets = {groups.of(application) for application in same if application in settled}
            if unsettled:
                groups.connect(*unsettled, *(targets if len(targets) == 1 else ()))
        count()
        groups.connect_all(self._nodes(self._subjects[lists]), self._nodes(self._related[lists]))
        count()
        codes = self._first_of_groups(groups, publications, own[publications])
        joined = {rule: before - after for rule, (before, after) in zip(RULES, pairwise(sizes), strict=True)}
        return publications, self._coded(codes), joined

    def _first_of_groups(self, groups: Groups, publications: Rows, ranks: Rows) -> Rows:
        """Return the least rank in the group of each publication; ranks of records come first."""
        of_publication = self.groups_of(groups)[publications]
        order = np.lexsort((ranks, self._record_of[publications] < 0))
        found, first = np.unique(of_publication[order], return_index=True)
        least: Rows = ranks[order][first][np.searchsorted(found, of_publication)]
        return least

    def _coded(self, families: Rows) -> pa.DictionaryArray:
        return pa.DictionaryArray.from_arrays(families, self._families)

    def _derived(self, definition: str) -> tuple[Rows, pa.DictionaryArray]:
        """Return publications and their families, which are named after their first publications."""
        groups, _ = self.by_application()
        publishes = self._is(*RELATED_PUBLICATIONS)
        if definition == "simple":  # equal sets of priorities: the DOCDB simple family, as far as relations are known
            for same in self._equal_bases(self.groups_of(groups)):
                groups.connect(*same)
        if definition == "extended":
            groups.connect_all(self._nodes(self._subjects[publishes]), self._nodes(self._related[publishes]))
            claims = ~publishes & (self._related_applications >= 0)
            groups.connect_all(self._nodes(self._subjects[claims]), self._related_applications[claims])
            groups.connect_all(self._nodes(self._listed), self._family_nodes(self.own[self._listed]))
        publications = _first_uses(np.concatenate([self._listed, self._subjects, self._related[publishes]]))
        return publications, coded(self._written(self._first_of_groups(groups, publications, publications)))

    def families(self, definition: str) -> tuple[TextMap, pa.DictionaryArray, dict[str, int]]:
        """Return the families of all publications, and of the records, by a definition.

        For ``joined``, return also how many families each of :data:`RULES` joins to another.
        """
        counts: dict[str, int] = {}
        if definition == "given":
            own, publications = self._with_members()
            families = self._coded(own[publications])
        elif definition == "joined":
            publications, families, counts = self._joined()
        else:
            publications, families = self._derived(definition)
        places = np.empty(len(self.names), np.int32)
        places[publications] = np.arange(len(publications), dtype=np.int32)
        known = TextMap(column(self._written(publications)), families)
        return known, families.take(pa.array(places[self.of_records])), counts


def _first_uses(values: Rows) -> Rows:
    """Return the distinct values in the order of their first use."""
    _, rows = np.unique(values, return_index=True)
    return values[np.sort(rows)]


def with_joined_families(collection: Collection) -> tuple[Collection, dict[str, int]]:
    """Apply the definition ``joined``; return also how many families each of :data:`RULES` joins to another.

    A joined family keeps the alphabetically first id of its families.
    """
    return _in_families(collection, "joined")


def with_families(collection: Collection, definition: str) -> Collection:
    """Apply a definition of families to the records, the table of families and ``family_definition``."""
    if definition not in DEFINITIONS:
        problem = f"unknown definition of a patent family '{definition}'"
        raise DataError(problem, remedy=f"choose among {', '.join(DEFINITIONS)}")
    return _in_families(collection, definition)[0]


def _in_families(collection: Collection, definition: str) -> tuple[Collection, dict[str, int]]:
    known = Publications(collection.patents, collection.relations, collection.families)
    families, of_records, counts = known.families(definition)
    patents = with_family(collection.patents, pl.Series(values_of(of_records), dtype=pl.String))
    return replace(collection, patents=patents, families=families, family_definition=definition), counts
