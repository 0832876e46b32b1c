"""Patent families by four definitions.

Sources define patent families differently, so a build chooses a definition (:data:`DEFINITIONS`) and records it.

A ``families.parquet`` (``publication_number``, ``family_id``) has the families of another source. It may include
publications without a record, so that a citation of one of them leads to a family member with a record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from patent_mteb.errors import DataError
from patent_mteb.files import read_keyed, write_parquet
from patent_mteb.patents.numbers import read_application, read_number
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
    "application": "publications of one application",
    "simple": "applications that claim exactly the same priorities; one that claims none is its own priority",
    "extended": "all that any relation, application or given family connects, directly or through others",
}
"""Name of a definition -> what it means."""

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


def write_families(path: Path | str, families: Mapping[str, str]) -> None:
    strings = [("publication_number", pa.string()), ("family_id", pa.string())]
    write_parquet(Path(path), pa.table([list(families), list(families.values())], schema=pa.schema(strings)))


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


def _application_name(text: str) -> str:
    number = read_application(text)
    return number.key if number else text.strip()


def _publication(name: str) -> str:
    """The node of a publication in a graph with applications and families."""
    return f"p {name}"


def _application(text: str) -> str:
    return f"a {_application_name(text)}"


def application_groups(patents: Sequence[Patent], relations: Iterable[Relation]) -> dict[str, str]:
    """Group the publications of each application: publication name -> name of its group.

    The names are those of :func:`publication_names`. Publications without a record are included if a relation names
    them.
    """
    name = publication_names(patent.publication_number for patent in patents)
    groups, publications = _by_application(patents, relations, name)
    return {publication: groups.of(_publication(publication)) for publication in publications}


def _by_application(
    patents: Sequence[Patent], relations: Iterable[Relation], name: _Name
) -> tuple[Groups, dict[str, None]]:
    groups = Groups()
    publications: dict[str, None] = {}
    for patent in patents:
        publication = name(patent.publication_number)
        publications[publication] = None
        if patent.application_number:
            groups.connect(_publication(publication), _application(patent.application_number))
    for relation in relations:
        publication = name(relation.number)
        if relation.kind == "application":
            publications[publication] = None
            groups.connect(_publication(publication), _application(relation.related))
        elif relation.kind == "pre-grant":
            publications |= {publication: None, name(relation.related): None}
            groups.connect(_publication(publication), _publication(name(relation.related)))
    return groups, publications


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
    families = families or {}
    name = publication_names([*(patent.publication_number for patent in patents), *families])
    given = {name(number): family for number, family in families.items()}
    written = {name(patent.publication_number): patent.publication_number for patent in patents}
    own = {name(patent.publication_number): patent.family_id for patent in patents} | given
    if definition == "given":
        found = own | {
            name(relation.related): own[name(relation.number)]
            for relation in relations
            if relation.kind in RELATED_PUBLICATIONS
            and name(relation.related) not in own
            and name(relation.number) in own
        }
        return {written.get(publication, publication): family for publication, family in found.items()}
    if definition == "simple":
        groups = _by_priorities(patents, relations, name)
    else:
        groups, _ = _by_application(patents, relations, name)
    if definition == "extended":
        for one in relations:
            publishes = one.kind in RELATED_PUBLICATIONS
            other = _publication(name(one.related)) if publishes else _application(one.related)
            groups.connect(_publication(name(one.number)), other)
        for publication, family in own.items():
            groups.connect(_publication(publication), f"f {family}")
    related = [name(relation.related) for relation in relations if relation.kind in RELATED_PUBLICATIONS]
    publications = dict.fromkeys([*own, *(name(relation.number) for relation in relations), *related])
    first: dict[str, str] = {}
    group_of = {publication: groups.of(_publication(publication)) for publication in publications}
    for publication in sorted(publications, key=lambda publication: (publication not in written, publication)):
        first.setdefault(group_of[publication], written.get(publication, publication))
    return {written.get(publication, publication): first[group] for publication, group in group_of.items()}


def _by_priorities(patents: Sequence[Patent], relations: Sequence[Relation], name: _Name) -> Groups:
    """Group applications with equal sets of priorities (the DOCDB simple family, as far as relations are known)."""
    groups, publications = _by_application(patents, relations, name)
    priorities: dict[str, set[str]] = {groups.of(_publication(publication)): set() for publication in publications}
    filed: dict[str, set[str]] = {}
    for patent in patents:
        if patent.application_number:
            application = groups.of(_publication(name(patent.publication_number)))
            filed.setdefault(application, set()).add(_application(patent.application_number))
    for relation in relations:
        application = groups.of(_publication(name(relation.number)))
        if relation.kind in ("priority", "provisional"):
            priorities.setdefault(application, set()).add(_application(relation.related))
        elif relation.kind == "application":
            filed.setdefault(application, set()).add(_application(relation.related))
    same: dict[frozenset[str], str] = {}
    for application, claimed in sorted(priorities.items()):
        if basis := frozenset(claimed or filed.get(application, set())):
            groups.connect(application, same.setdefault(basis, application))
    return groups


def with_families(collection: Collection, definition: str) -> Collection:
    """Apply a definition of families to the records, the table of families and ``family_definition``."""
    families = family_ids(publications(collection.patents), collection.relations, collection.families, definition)
    patents = with_family(collection.patents, lambda patent: families[patent.publication_number])
    return replace(collection, patents=patents, families=families, family_definition=definition)


def age(patent: Patent) -> tuple[str, str]:
    """Sort key from the earliest publication: the date (unknown dates last), then the number."""
    return (patent.publication_date.isoformat() if patent.publication_date else "9999", patent.publication_number)
