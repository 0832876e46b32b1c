"""Families by definition, as plain mappings."""

from __future__ import annotations

from patent_mteb.patents.families import Publications, families_of


def family_ids(patents, relations=(), families=None, definition="given"):
    """The family of each publication, also of those without a record in relations and ``families``."""
    return _found(patents, relations, families, definition)[0]


def joined_families(patents, relations=(), families=None):
    """The families by ``joined``, and how many families each rule joins to another."""
    return _found(patents, relations, families, "joined")


def _found(patents, relations, families, definition):
    known, of_records, counts = Publications(patents, relations, families_of(families or {})).families(definition)
    found = dict(known.iter_rows())
    assert list(of_records) == [found[patent.publication_number] for patent in patents] and len(found) == len(known)
    return found, counts
