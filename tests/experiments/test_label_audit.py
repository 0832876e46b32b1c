"""The rules of judgement against office actions parsed by experts: counts by hand, and the real samples."""

import json

import open_us_patents as world
import pytest
import second_reading
from open_us_patents import D1, D2, D3, D6
from paths import SHARED

from patent_mteb import cli
from patent_mteb.errors import DataError
from patent_mteb.experiments import editions
from patent_mteb.experiments.label_audit import Action, audit, read_actions

ACTIONS = SHARED / "office-actions"


def claim(number, parent, *reasons):
    cited = [
        {"sectionCode": section, "citedPatents": [{"patentNum": f"US {document[2:-2]}", "text": list(paragraphs)}]}
        for section, document, paragraphs in reasons
    ]
    return {"claimNumber": number, "parentClaim": parent, "isReject": bool(reasons), "reasons": cited}


@pytest.fixture
def folder(tmp_path):
    """The first application of the hand-made world, as experts might have parsed its office action."""
    claims = [
        claim(1, -1, (102, D1, (2, 3, 4)), (103, D2, (1,))),
        claim(2, 1, (103, D1, (2,))),
        claim(3, -1, (103, D3, ())),
        claim(4, 3),
    ]
    cited = [{"referenceIdentifier": one[2:-2]} for one in (D1, D2, D6)]
    record = {
        "applicationNumber": "17000001",
        "CTNFBodyText": "See paragraph 2, [0003], para. 1 and column 7, lines 3-9.",
        "patentsCitedByExaminer": [str(cited)],
    }
    for name, content in (("parsed_CTNF/pC_r1_17000001", {"claims": claims}), ("record/rec_r1_17000001", record)):
        path = tmp_path / "panorama" / f"{name}.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(content))
    return tmp_path / "panorama"


def test_counts_by_hand(folder, tmp_path):
    editions.build(world.collection(), tmp_path / "edition", world.WINDOW)
    counts = {one.rule: (one.ours, one.experts, one.both) for one in audit(read_actions(folder), tmp_path / "edition")}
    assert counts == {
        "paragraphs named in the action": (3, 4, 3),
        "documents cited by the examiner are relevant": (3, 3, 2),
        # claim 1: D3; claim 2: D2 of its parent, D3; claim 3: D1, D2
        "other claims' documents are irrelevant": (5, 4, 4),
        "the same, but a parent's documents unjudged": (4, 4, 4),
        # the edition has D1 as A against claim 3, too
        "edition: documents cited against a claim": (5, 4, 4),
        # D1 is X against claim 2 there, section 103 here; D3 is A
        "edition: X is section 102, Y section 103": (3, 3, 2),
        "edition: paragraphs cited against a claim": (5, 5, 4),
    }


def test_examples_name_the_difference(folder):
    rule = audit(read_actions(folder))[1]
    assert rule.examples == [f"only ours: 17000001 {D6[:-2]}", f"only experts: 17000001 {D3[:-2]}"]
    assert (rule.precision, rule.recall) == (2 / 3, 2 / 3)


def test_what_cannot_be_compared_is_one_clear_error(folder, tmp_path):
    with pytest.raises(DataError, match="no parsed office action"):
        read_actions(tmp_path)
    others = [one for one in world.CITATIONS if one.citing.endswith("2")]
    editions.build(world.collection(citations=others), tmp_path / "edition", world.WINDOW)
    with pytest.raises(DataError, match="share no rejected claim"):
        audit(read_actions(folder), tmp_path / "edition")
    (path,) = folder.glob("parsed_CTNF/*")
    path.write_text('{"claims": [{"claimNumber": 1}]}')
    with pytest.raises(DataError, match=r"not a parsed office action.*parentClaim"):
        read_actions(folder)


@pytest.mark.skipif(not ACTIONS.is_dir(), reason="shared/data/office-actions is not here")
def test_the_real_sample(capsys):
    assert cli.main(["edition", "audit", str(ACTIONS), "--json"]) == 0
    rows = {row["rule"]: row for row in json.loads(capsys.readouterr().out)["result"]}
    assert {name: (row["ours"], row["experts"], row["both"]) for name, row in rows.items()} == {
        "paragraphs named in the action": (89, 81, 81),
        "documents cited by the examiner are relevant": (20, 19, 19),
        "other claims' documents are irrelevant": (261, 240, 240),
        "the same, but a parent's documents unjudged": (240, 240, 240),
    }


@pytest.mark.skipif(not ACTIONS.is_dir(), reason="shared/data/office-actions is not here")
def test_every_field_of_the_real_actions_is_read():
    """The members that are read, with ``json``; ``img`` (figures) and ``reason`` (the words of the rejection) are not."""
    records = {one["applicationNumber"]: one for one in map(loaded, ACTIONS.glob("record/*.json"))}
    expected = []
    for path in sorted(ACTIONS.glob("parsed_CTNF/*.json")):
        claims = loaded(path)["claims"]
        named = [
            (claim["claimNumber"], reason["sectionCode"], second_reading.publication("US", cited["patentNum"]), cited["text"])
            for claim in claims if claim["isReject"]
            for reason in claim["reasons"]
            for cited in reason["citedPatents"]
        ]  # fmt: skip
        assert all(
            cited.keys() == {"patentNum", "text", "img"}
            for c in claims
            for r in c["reasons"]
            for cited in r["citedPatents"]
        )
        keys = {(claim, document) for claim, _, document, _ in named}
        record = records.get(path.stem.split("_")[-1])
        cited = record and [
            second_reading.publication("US", one["referenceIdentifier"]) for one in record["patentsCitedByExaminer"]
        ]
        expected.append(
            Action(
                path.stem.split("_")[-1],
                {key: {number for claim, _, document, text in named if (claim, document) == key for number in text} for key in keys},
                {key: {str(section) for claim, section, document, _ in named if (claim, document) == key} for key in keys},
                {claim["claimNumber"]: [claim["parentClaim"]] if claim["parentClaim"] > 0 else [] for claim in claims},
                record and record["CTNFBodyText"],
                record and set(cited),
            )
        )  # fmt: skip
    assert read_actions(ACTIONS) == expected and len(expected) == 10


def loaded(path):
    return json.loads(path.read_text("utf-8"))


def test_a_record_of_another_form_is_one_clear_error(folder):
    (path,) = folder.glob("record/*")
    for content in ("[]", '{"title": "A valve"}'):
        path.write_text(content)
        with pytest.raises(DataError, match=r"rec_r1_17000001\.json: not a record of an application"):
            read_actions(folder)


@pytest.mark.parametrize(
    ("number", "same"), [(int(D1[2:-2]), True), (None, False), (9.5, False), ([D1], False), ({"n": D1}, False)]
)
def test_a_cited_number_may_be_an_integer_and_nothing_else(folder, number, same):
    (path,) = (folder / "parsed_CTNF").glob("*.json")
    before = read_actions(folder)
    content = json.loads(path.read_text())
    content["claims"][0]["reasons"][0]["citedPatents"][0]["patentNum"] = number
    path.write_text(json.dumps(content))
    if same:
        assert read_actions(folder) == before
    else:
        with pytest.raises(DataError, match=r"17000001\.json: not a parsed office action.*patentNum"):
            read_actions(folder)


@pytest.mark.parametrize("content", ["[]", "null", '{"claims": [5]}', '{"claims": {"a": 1}}', '{"claims": "x"}'])
def test_an_action_of_another_shape_is_one_clear_error(folder, content):
    (path,) = (folder / "parsed_CTNF").glob("*.json")
    path.write_text(content)
    with pytest.raises(DataError, match="not a parsed office action"):
        read_actions(folder)
