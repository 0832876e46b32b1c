"""Patent families by five definitions.

Sources define patent families differently, so a build chooses a definition (:data:`DEFINITIONS`) and records it.

Many lists state no family, or state one for some publications only. ``joined`` fills these gaps (:data:`RULES`). It
joins two families that the source states only if publications of one application are in both.

A ``families.parquet`` (``publication_number``, ``family_id``) has the families of another source. It may include
publications without a record, so that a citation of one of them leads to a family member with a record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from patent_mteb.errors import DataError
from patent_mteb.files import read_keyed
from patent_mteb.patents.numbers import Number, read_application, read_number
from patent_mteb.patents.on_disk import publications, with_family
from patent_mteb.patents.records import RELATED_PUBLICATIONS, Patent, Relation

if TYPE_CHECKING:
    from patent_mteb.patents.collection import Collection


class Groups:
    """Disjoint sets of strings (union-find). The alphabetically first member names its group."""

    def __init__(self) -> None:
        self._parent: dict[str, str] = {}

    def of(self, member: str) -> str:
        """Return the name of the group of a member; an unknown member is a group of its own."""
        parent = self._parent
        parent.setdefault(member, member)
        while parent[member] != member:
            parent[member] = parent[parent[member]]
            member = parent[member]
        return member

    def connect(self, one: str, other: str) -> None:
        """Merge the groups of two members."""
        first, second = sorted((self.of(one), self.of(other)))
        self._parent[second] = first


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

_Name = Callable[[str], str]
_SEVERAL = ""


def read_families(path: Path | str) -> dict[str, str]:
    """Read a table of families by publication number."""
    path = Path(path)
    table = read_keyed(path, {"family_id": pa.string()}, key="publication_number")
    families = dict(zip(*(table[name].to_pylist() for name in ("publication_number", "family_id")), strict=True))
    for row, (number, family) in enumerate(families.items(), start=1):
        if not family:
            raise DataError(
                f"publication '{number}' has no family_id", path=path, row=row, remedy="fill it, or delete the row"
            )
    return families


def publication_names(numbers: Iterable[str]) -> _Name:
    """Return a function from a written publication number to its normal form, or to the text if it cannot be read.

    A number without kind code gets the name of the only known publication in ``numbers`` that it can be.
    """
    known: dict[str, str] = {}
    for number in numbers:
        if (read := read_number(number)) and known.setdefault(read.key, read.docdb) != read.docdb:
            known[read.key] = _SEVERAL

    @lru_cache(maxsize=1 << 18)  # citations and relations repeat numbers
    def name(text: str) -> str:
        number = read_number(text)
        if number is None:
            return text.strip()
        only_name = known.get(number.key, _SEVERAL)
        return only_name if not number.kind and only_name != _SEVERAL else number.docdb

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


def series(number: Number) -> str:
    """Return office, serial and series: equal for publications of one application with one serial.

    Patents and utility models have different series, and so have applications and patents at some offices.
    """
    letter = number.kind[:1]
    if (separate := _SEPARATE.get(number.office)) and separate(number.serial):
        return f"{number.key} {letter}"
    return f"{number.key} {_FIRST_LETTERS.get(letter, letter)}"


_UNREAD = "unread "


def _application_name(text: str, publication: str = "") -> str:
    """Return the normal form of an application number, ``""`` for a text without a digit.

    A number without an office has that of its publication.
    """
    own = read_number(publication) if publication else None
    number = read_application(text, own.office) if own else read_application(text)
    if number or not any(map(str.isdigit, text)):
        return number.key if number else ""
    return f"{_UNREAD}{own.office if own else ''} {text.strip()}"


def _publication(name: str) -> str:
    """The node of a publication in a graph with applications and families."""
    return f"p {name}"


def _application(text: str, publication: str = "") -> str:
    name = _application_name(text, publication)
    return f"a {name}" if name else ""


def application_groups(patents: Sequence[Patent], relations: Iterable[Relation]) -> dict[str, str]:
    """Group the publications of each application: publication name -> name of its group.

    The names are those of :func:`publication_names`. Publications without a record are included if a relation names
    them.
    """
    name = publication_names(patent.publication_number for patent in patents)
    groups, publications = _by_application(patents, relations, name)
    return {publication: groups.of(_publication(publication)) for publication in publications}


def _by_application(
    patents: Sequence[Patent], relations: Iterable[Relation], name: _Name, further: Iterable[str] = ()
) -> tuple[Groups, Iterable[str]]:
    """Group publications, also ``further`` ones, by application; return the groups and the names of all."""
    groups = Groups()
    filed: dict[str, str] = dict.fromkeys(further, "")
    for patent in patents:
        publication = name(patent.publication_number)
        application = _application(patent.application_number, publication)
        filed[publication] = filed.get(publication) or application
        if application:
            groups.connect(_publication(publication), application)
    for relation in relations:
        publication = name(relation.number)
        if relation.kind == "application" and (application := _application(relation.related, publication)):
            filed[publication] = filed.get(publication) or application
            groups.connect(_publication(publication), application)
        elif relation.kind == "pre-grant":
            for other in (publication, name(relation.related)):
                filed.setdefault(other, "")
            groups.connect(_publication(publication), _publication(name(relation.related)))
    _connect_serials(groups, filed)
    return groups, filed


def _connect_serials(groups: Groups, filed: Mapping[str, str]) -> None:
    """Connect publications of one series and serial, unless their office has several applications of them.

    ``filed`` is the application of each publication, empty if unknown.
    """
    several, application_of, first = "several", dict[str, str](), dict[str, str]()
    numbered = [(publication, series(number)) for publication in filed if (number := read_number(publication))]
    for publication, serial in numbered:
        application = filed[publication]
        unclear = not application or application.startswith(("a WO", f"a {_UNREAD}"))  # PCT: has a national number too
        if not unclear and application_of.setdefault(serial, application) != application:
            application_of[serial] = several
    for publication, serial in numbered:
        if application_of.get(serial) != several:
            groups.connect(_publication(first.setdefault(serial, publication)), _publication(publication))


def family_ids(
    patents: Sequence[Patent],
    relations: Sequence[Relation] = (),
    families: Mapping[str, str] | None = None,
    definition: str = "given",
) -> dict[str, str]:
    """Return the family of each publication, including publications without a record in relations or ``families``.

    ``families`` (:func:`read_families`) takes precedence over the ``family_id`` of the records. Families that are
    derived by ``definition`` are named after their first publication number.
    """
    if definition not in DEFINITIONS:
        problem = f"unknown definition of a patent family '{definition}'"
        raise DataError(problem, remedy=f"choose among {', '.join(DEFINITIONS)}")
    if definition == "joined":
        return joined_families(patents, relations, families)[0]
    name, written, own = _own_families(patents, families or {})
    if definition == "given":
        found = _with_members(own, relations, name)
        return {written.get(publication, publication): family for publication, family in found.items()}
    groups, _ = _by_application(patents, relations, name)
    if definition == "simple":  # equal sets of priorities: the DOCDB simple family, as far as relations are known
        same: dict[frozenset[str], str] = {}
        for application, basis in _bases(patents, relations, groups, name).items():
            groups.connect(application, same.setdefault(basis, application))
    if definition == "extended":
        for one in relations:
            publishes = one.kind in RELATED_PUBLICATIONS
            publication = name(one.number)
            office_of = publication if one.kind == "application" else ""
            other = _publication(name(one.related)) if publishes else _application(one.related, office_of)
            if other:
                groups.connect(_publication(publication), other)
        for publication, family in own.items():
            groups.connect(_publication(publication), f"f {family}")
    related = [name(relation.related) for relation in relations if relation.kind in RELATED_PUBLICATIONS]
    publications = dict.fromkeys([*own, *(name(relation.number) for relation in relations), *related])
    first: dict[str, str] = {}
    group_of = {publication: groups.of(_publication(publication)) for publication in publications}
    for publication in sorted(publications, key=lambda publication: (publication not in written, publication)):
        first.setdefault(group_of[publication], written.get(publication, publication))
    return {written.get(publication, publication): first[group] for publication, group in group_of.items()}


def _own_families(
    patents: Sequence[Patent], families: Mapping[str, str]
) -> tuple[_Name, dict[str, str], dict[str, str]]:
    """Return the function from number to name, and by name the written numbers of the records and the families."""
    name = publication_names([*(patent.publication_number for patent in patents), *families])
    written = {name(patent.publication_number): patent.publication_number for patent in patents}
    own = {name(patent.publication_number): patent.family_id for patent in patents}
    return name, written, own | {name(number): family for number, family in families.items()}


def _with_members(own: Mapping[str, str], relations: Iterable[Relation], name: _Name) -> dict[str, str]:
    """Add the related publications that have no family themselves."""
    return {
        **own,
        **{
            name(relation.related): own[name(relation.number)]
            for relation in relations
            if relation.kind in RELATED_PUBLICATIONS
            and name(relation.related) not in own
            and name(relation.number) in own
        },
    }


def joined_families(
    patents: Sequence[Patent], relations: Sequence[Relation] = (), families: Mapping[str, str] | None = None
) -> tuple[dict[str, str], dict[str, int]]:
    """Return the families by ``joined``, and how many families each of :data:`RULES` joins to another.

    A joined family keeps the alphabetically first id of its families.
    """
    name, written, own = _own_families(patents, families or {})

    def is_stated(publication: str) -> bool:
        """Whether the source states the family, so that its id is not a number that replaces it."""
        family = own.get(publication, publication)
        numbers = (publication, written.get(publication))
        return family not in numbers and not (read_number(family) or read_application(family))

    members = [(name(relation.number), name(relation.related)) for relation in relations if relation.kind == "member"]
    lists = [(number, related) for number, related in members if not is_stated(number)]
    listed = {number for number, _ in lists}
    own = _with_members(own, relations, name)
    applications, publications = _by_application(patents, relations, name, own)
    for publication in publications:
        own.setdefault(publication, publication)
    groups, sizes = Groups(), [len({own[publication] for publication in written})]

    def count() -> None:
        sizes.append(len({groups.of(applications.of(_publication(publication))) for publication in written}))

    for publication, family in own.items():
        groups.connect(applications.of(_publication(publication)), f"f {family}")
    count()
    settled = {
        applications.of(_publication(publication))
        for publication in written
        if publication in listed or is_stated(publication)
    }
    alike: dict[frozenset[str], list[str]] = {}
    for application, basis in _bases(patents, relations, applications, name).items():
        alike.setdefault(basis, []).append(application)
    for same in alike.values():
        unsettled = [application for application in same if application not in settled]
        targets = {groups.of(application) for application in same if application in settled}
        for application in [*unsettled[1:], *(targets if len(targets) == 1 else ())]:
            if unsettled:
                groups.connect(unsettled[0], application)
    count()
    for number, related in lists:
        groups.connect(*(applications.of(_publication(end)) for end in (number, related)))
    count()
    first: dict[str, str] = {}
    group_of = {publication: groups.of(applications.of(_publication(publication))) for publication in own}
    for publication in sorted(own, key=lambda publication: (publication not in written, own[publication])):
        first.setdefault(group_of[publication], own[publication])
    found = {written.get(publication, publication): first[group] for publication, group in group_of.items()}
    return found, {rule: before - after for rule, (before, after) in zip(RULES, pairwise(sizes), strict=True)}


def _bases(
    patents: Sequence[Patent], relations: Sequence[Relation], groups: Groups, name: _Name
) -> dict[str, frozenset[str]]:
    """Return the priorities of each application that claims any, else its own number if it is known.

    Digits without an office do not count: they may be a date, or a number of several offices.
    """
    priorities: dict[str, set[str]] = {}
    filed: dict[str, set[str]] = {}
    for patent in patents:
        publication = name(patent.publication_number)
        if application := _application(patent.application_number, publication):
            filed.setdefault(groups.of(_publication(publication)), set()).add(application)
    for relation in relations:
        publication = name(relation.number)
        if relation.kind in ("priority", "provisional"):
            if any(map(str.isalpha, relation.related)) and (claimed := _application(relation.related)):
                priorities.setdefault(groups.of(_publication(publication)), set()).add(claimed)
        elif relation.kind == "application" and (application := _application(relation.related, publication)):
            filed.setdefault(groups.of(_publication(publication)), set()).add(application)
    return {application: frozenset(basis) for application, basis in sorted((filed | priorities).items())}


def with_joined_families(collection: Collection) -> tuple[Collection, dict[str, int]]:
    """Apply the definition ``joined``; return also how many families each of :data:`RULES` joins to another."""
    families, counts = joined_families(publications(collection.patents), collection.relations, collection.families)
    return _in_families(collection, families, "joined"), counts


def with_families(collection: Collection, definition: str) -> Collection:
    """Apply a definition of families to the records, the table of families and ``family_definition``."""
    families = family_ids(publications(collection.patents), collection.relations, collection.families, definition)
    return _in_families(collection, families, definition)


def _in_families(collection: Collection, families: Mapping[str, str], definition: str) -> Collection:
    patents = with_family(collection.patents, lambda patent: families[patent.publication_number])
    return replace(collection, patents=patents, families=families, family_definition=definition)


def age(patent: Patent) -> tuple[str, str]:
    """Sort key from the earliest publication: the date (unknown dates last), then the number."""
    return (patent.publication_date.isoformat() if patent.publication_date else "9999", patent.publication_number)
