"""Answers of OPS in JSON, in the small files of ``recorded`` with invented details: read a second time with ``json``.

OPS writes attributes as members with ``@``, text as ``$``, and what occurs once without a list.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from second_reading import code, day, dense, found

from patent_mteb.patents.records import Relation
from patent_mteb.readers import recognise
from patent_mteb.readers.items import Skipped

HERE = Path(__file__).parent / "recorded"


def items(name: str) -> list[Any]:
    reader = recognise(path := HERE / f"ops-{name}.json")
    assert reader.name == "ops"
    return list(reader.read(path))


def answer(name: str) -> dict[str, Any]:
    return json.loads((HERE / f"ops-{name}.json").read_text("utf-8"))["ops:world-patent-data"]


def every(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def number(reference: dict[str, Any], form: str = "docdb") -> str:
    one = next(one for one in every(reference["document-id"]) if one.get("@document-id-type") in (form, None))
    return "".join(one[part]["$"] for part in ("country", "doc-number", "kind") if part in one)


def date(reference: dict[str, Any]) -> str:
    return next((day(one["date"]["$"]) for one in every(reference["document-id"]) if "date" in one), "")


def names(biblio: dict[str, Any], role: str) -> list[str]:
    written = [
        one
        for one in every(biblio.get("parties", {}).get(f"{role}s", {}).get(role))
        if one["@data-format"] == "original"
    ]
    return [one[f"{role}-name"]["name"]["$"].rstrip(", ") for one in written]


def citations(biblio: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    for one in every(biblio.get("references-cited", {}).get("citation")):
        if "nplcit" in one:
            continue
        phase, by = {"search": ("search", "examiner"), "description": ("application", "applicant")}[one["@cited-phase"]]
        passages = tuple(each["$"] for each in every(one.get("rel-passage", {}).get("passage")))
        pairs = zip(every(one.get("category", {"$": ""})), every(one.get("rel-claims", {"$": ""})), strict=True)
        for category, claims in pairs:
            ranges = re.findall(r"(\d+)(?:-(\d+))?", claims["$"])
            numbers = tuple(n for first, last in ranges for n in range(int(first), int(last or first) + 1))
            yield number(one["patcit"]), category["$"], by, phase, "EP", numbers, passages


def test_every_field_of_bibliographic_data_is_read():
    given = found(items("biblio"))
    for one in answer("biblio")["exchange-documents"]["exchange-document"]:
        biblio = one["bibliographic-data"]
        applied = biblio["application-reference"]
        priorities = [number(each, "epodoc") for each in every(biblio.get("priority-claims", {}).get("priority-claim"))]
        # US201916400001 of EPODOC is US16400001; EP20200170001 is the number of the application.
        priorities = [re.sub(r"^US\d{4}", "US", re.sub(r"^EP20(\d\d)0", r"EP\1", each)) for each in priorities]
        its_number = number(applied)[:-1]
        dates = [date(each) for each in every(biblio.get("priority-claims", {}).get("priority-claim"))]
        classes = every(biblio.get("patent-classifications", {}).get("patent-classification"))
        parts = ("section", "class", "subclass", "main-group", "subgroup")
        written = [
            ["".join(each[part]["$"]) for part in parts]
            for each in classes
            if each["classification-scheme"]["@scheme"] == "CPCI"
        ]
        expected = {
            "title": {each["@lang"]: each["$"] for each in every(biblio["invention-title"])},
            "abstract": {
                each["@lang"]: dense("".join(p["$"] for p in every(each["p"]))) for each in every(one.get("abstract"))
            },
            "dates": [date(biblio["publication-reference"]), date(applied), min([*dates, date(applied)])],
            "first office": "US" if priorities else "",
            "kind": one["@kind"],
            "application": its_number,
            "family": one["@family-id"],
            "ipc": [code(each["text"]["$"]) for each in every(biblio.get("classifications-ipcr", {}).get("classification-ipcr"))],
            "cpc": [f"{''.join(each[:3])}{each[3]}/{each[4]}" for each in written],
            "combinations": len(every(biblio.get("patent-classifications", {}).get("combination-set"))),
            "inventors": names(biblio, "inventor"),
            "applicants": names(biblio, "applicant"),
            "relations": sorted([("application", its_number), *(("priority", each) for each in priorities)]),
            "citations": sorted(citations(biblio)),
        }  # fmt: skip
        mine = given[one["@country"] + one["@doc-number"] + one["@kind"]]
        assert {name: mine[name] for name in expected} == expected
        literature = sum("nplcit" in each for each in every(biblio.get("references-cited", {}).get("citation")))
        assert sum(mine["skipped"].values()) == literature


def test_claims_and_descriptions_are_read():
    (document,) = found(items("claims")).values()
    (written,) = [answer("claims")["ftxt:fulltext-documents"]["ftxt:fulltext-document"]["claims"]]
    text = " ".join(one["$"] for one in written["claim"]["claim-text"])
    pieces = re.split(r"(\d)\. ", text)[1:]
    depends = {1: (), 2: (1,), 3: (1, 2)}
    assert document["claims"] == {
        "en": [(int(n), dense(one), depends[int(n)]) for n, one in zip(pieces[::2], pieces[1::2], strict=True)]
    }
    (document,) = found(items("description")).values()
    (written,) = [answer("description")["ftxt:fulltext-documents"]["ftxt:fulltext-document"]["description"]]
    lines = [(int(one["$"][1:5]), dense(one["$"][6:])) for one in written["p"]]
    assert [line for some in document["description"].values() for line in some] == lines


def test_members_of_a_family_and_results_of_a_search_are_read():
    family = answer("family")["ops:patent-family"]
    own = number(family["ops:publication-reference"])
    expected = []
    for member in family["ops:family-member"]:
        its, applied = number(member["publication-reference"]), number(member["application-reference"])[:-1]
        expected += [(own, "member", its)] if its != own else []
        expected.append((its, "application", re.sub(r"^US\d{4}", "US", applied)))
        expected.append((its, "priority", re.sub(r"^US\d{4}", "US", number(member["priority-claim"])[:-1])))
    assert [(one.number, one.kind, one.related) for one in items("family")] == expected
    results = answer("search")["ops:biblio-search"]["ops:search-result"]["ops:publication-reference"]
    given = found(items("search"))
    assert {name: one["family"] for name, one in given.items()} == {number(one): one["@family-id"] for one in results}


@pytest.mark.parametrize("name", ["biblio", "claims", "description", "family", "search"])
def test_each_answer_gives_something(name):
    assert [one for one in items(name) if not isinstance(one, Skipped | Relation)] or name == "family"
