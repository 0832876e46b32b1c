"""The built-in sample: records of invented patents, which the program in ``sample_generator`` of the repository wrote.

The sample has about 1,000 families with 1,500 publications of 17 offices and a citation graph. They were published in
2005 to 2025 in 29 technical fields of all eight IPC sections, most of them in assistive technology. Every task can run
on it without a licence and without a network. Its scores say nothing about the published benchmarks. No patent, person
or company is real. ``docs/sample.md`` says how difficult the tasks are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from patent_mteb.patents.records import Citation, Description, MachineSummaries, Patent, record_reader

SAMPLE_VERSION = "2"
"""Part of the data set revision of every result on the sample. Change it when any record or table changes."""

_Record = TypeVar("_Record", Patent, Citation)


def _read(name: str, kind: type[_Record]) -> Iterator[_Record]:
    make = record_reader(kind)
    with pa.input_stream(Path(__file__).with_name(name), compression="zstd") as stream:
        for line in stream.read().splitlines():
            yield make(json.loads(line))


@cache
def _patents(long_texts: bool) -> tuple[Patent, ...]:
    patents = _read("patents.jsonl.zst", Patent)
    if long_texts:
        return tuple(patents)
    return tuple(replace(patent, description=Description(), summaries=MachineSummaries()) for patent in patents)


@cache
def _citations() -> tuple[Citation, ...]:
    return tuple(_read("citations.jsonl.zst", Citation))


def load(long_texts: bool = True) -> tuple[list[Patent], list[Citation]]:
    """Return all publications and citations of the sample, each sorted by publication number.

    They are read once per process. Without ``long_texts``, descriptions and machine summaries are empty.
    """
    reported = [Citation(one.citing, one.cited, one.category, one.origin) for one in _citations()]
    return list(_patents(long_texts)), reported


def load_examined() -> tuple[list[Patent], list[Citation]]:
    """Return the sample with numbered paragraphs and with office actions on US applications."""
    numbered = [replace(one, paragraphs=tuple(range(1, len(one.description.lines()) + 1))) for one in _patents(True)]
    return numbered, list(_citations())
