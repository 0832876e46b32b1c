"""Prompts: Table 11 against a transcription by role, key forms against mteb's own lookup, mapping of the other
families.
"""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from mteb.models.abs_encoder import get_prompt_name
from mteb.types import PromptType
from patenteb_prompts import EXPECTED

from patent_mteb.models.prompts import TABLE_11, TASK_PROMPTS, patenteb_prompts, prompt_for

MIXED = EXPECTED["PatenTEBRetrievalMIXED"]


def lookup(task: str, role: PromptType | None, task_type: str = "Retrieval") -> str | None:
    prompts = patenteb_prompts([task])
    key = get_prompt_name(prompts, SimpleNamespace(name=task, type=task_type), role)
    return None if key is None else prompts[key]


def test_every_task_has_a_row_and_every_row_a_task():
    assert set(EXPECTED) == set(TASK_PROMPTS)
    assert set(TASK_PROMPTS.values()) == set(TABLE_11)
    assert len(TABLE_11) == 15


@pytest.mark.parametrize("task", EXPECTED)
@pytest.mark.parametrize("suffix", ["", ".sample", ".v2", ".v2.sample"])
def test_mteb_resolves_both_sides(task, suffix):
    query, document = EXPECTED[task]
    assert lookup(task + suffix, PromptType.query) == query
    assert lookup(task + suffix, PromptType.document) == document
    assert lookup(task + suffix, None) == (query if query == document else None)


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ("PatentCitationRetrieval", MIXED),
        ("WIPOATTACToDWPIFullRetrieval", MIXED),
        ("PatentDAPFAMTAToTACOutRetrieval", MIXED),
        ("PatentDAPFAMTAToTACInRetrieval.sample", MIXED),
        ("DAPFAMAllTitlAbsToFullTextRetrieval", MIXED),
        ("SophiaTacdRetrieval", MIXED),
        ("PatentMapClmToAllRetrieval", MIXED),
        ("WIPOATEmergingVisionClassification.DWPIOnly", EXPECTED["PatenTEBText2IPC3"]),
        ("WIPOATEmergingVisionClassification.DWPIOnly.sample", EXPECTED["PatenTEBText2IPC3"]),
        ("PatentMapIPCClassification", EXPECTED["PatenTEBText2IPC3"]),
        ("PatentClassification.v2", EXPECTED["PatenTEBText2IPC3"]),
        ("WIPOATConventionalClustering.NoDWPI", EXPECTED["PatenTEBFullIPCClustering"]),
        ("BigPatentClustering.v2", EXPECTED["PatenTEBFullIPCClustering"]),
    ],
)
def test_other_families(task, expected):
    assert (lookup(task, PromptType.query), lookup(task, PromptType.document)) == expected


@pytest.mark.parametrize("task", ["ArguAna", "NanoArguAnaRetrieval", "Banking77Classification", "PatenTEBRetrievalINX"])
def test_other_tasks_have_no_prompt(task):
    assert prompt_for(task) is None
    assert patenteb_prompts([task]) == {}


def test_a_two_sided_row_has_no_prompt_without_a_role():
    row = TABLE_11["title2full"]
    assert row.side(None) == ""
    assert not row.one_sided


@pytest.mark.parametrize("ending", [".limit7", ".sample.limit7", ".local-0a1b.limit10"])
def test_a_limited_task_has_the_prompts_of_the_whole_one(ending):
    whole = prompt_for("PatenTEBText2IPC3")
    assert whole and prompt_for(f"PatenTEBText2IPC3{ending}") == whole
