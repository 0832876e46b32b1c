"""Families by definition, as plain mappings."""

from __future__ import annotations

from patent_mteb.patents.families import Publications


def family_ids(patents, relations=(), families=None, definition="given"):
    """The family of each publication, also of those without a record in relations and ``families``."""
    return Publications(patents, relations, families).families(definition)[0]


def joined_families(patents, relations=(), families=None):
    """The families by ``joined``, and how many families each rule joins to another."""
    found, _, counts = Publications(patents, relations, families).families("joined")
    return found, counts
