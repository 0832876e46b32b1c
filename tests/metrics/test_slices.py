"""Slices on hand-made judgements."""

import pytest

from patent_mteb.metrics import slices


@pytest.mark.parametrize(
    ("labels", "codes", "expected"),
    [
        (["Mobility", "Vision", "Mobility"], ["A61F 2/06"], "Mobility"),
        (["Vision", "Hearing"], [], "Hearing"),
        ([], ["nonsense", "G06Q-010/026", "A61F 2/06"], "G06"),
        ([], ["nonsense"], ""),
        ([], [], ""),
    ],
)
def test_domain_is_the_most_frequent_label_then_the_first_ipc3(labels, codes, expected):
    assert slices.domain(labels, codes) == expected


def test_in_and_out_judge_pairs_and_keep_unresolved_pairs_out():
    qrels = {"q": {"same": 1, "other": 1, "unknown": 1}, "lost": {"same": 1}}
    domains = {"same": "Vision", "other": "Mobility", "unknown": ""}
    parts, dropped = slices.in_and_out(qrels, {"q": "Vision"}, domains)
    assert parts == {"in": {"q": {"same": 1}}, "out": {"q": {"other": 1}}}
    assert dropped == 2


def test_jurisdictions():
    groups = {name: [office for office in ("US", "HK", "JP", "CH", "FR", "ES", "RU", "BR") if slices.jurisdiction_group(office) == name]
              for name in slices.JURISDICTION_GROUPS}  # fmt: skip
    assert groups == {"en": ["US"], "cn": ["HK"], "jp": ["JP"], "de": ["CH"], "fr": ["FR"], "es": ["ES"], "ru": ["RU"]}
    assert slices.jurisdiction_group("us") == "en"
    assert slices.jurisdiction_group("BR") is None


def test_by_judgement_allows_several_slices_of_one_pair():
    parts = slices.by_judgement(
        {"q": {"a": 2, "b": 1, "c": 0}}, lambda query, document: {"a": ("x", "y"), "b": "x"}.get(document)
    )
    assert parts == {"x": {"q": {"a": 2, "b": 1}}, "y": {"q": {"a": 2}}}


def test_a_query_must_not_find_itself_or_its_family():
    family = {"a1": "A", "a2": "A", "b": "B", "lone": "", "asked": "A"}
    found = slices.own_family(family, ["a1", "asked", "lone", "paper"], ["a1", "a2", "b", "lone"])
    assert found == {"a1": {"a1", "a2"}, "asked": {"a1", "a2"}, "lone": {"lone"}, "paper": set()}


def test_only_positive_judgements_remain():
    assert slices.positive({"q": {"a": 2, "b": 0, "c": -1}, "none": {"a": 0}}) == {"q": {"a": 2}}
