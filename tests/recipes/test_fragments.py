"""Fragment patterns on hand-written abstracts: all seven kinds, the special cases, awkward ones, and removal without a
trace.
"""

from __future__ import annotations

import random
import re

import pytest

from patent_mteb.recipes.fragments import PATTERNS, extract, first_sentence, remove_fragment

SEVEN = [
    (
        "PROBLEM TO BE SOLVED: To provide a pump that is easy to clean. SOLUTION: The pump (10) has two blades.",
        {"problem": "provide a pump that is easy to clean.", "solution": "The pump (10) has two blades."},
    ),
    (
        "PROBLEM: Wheelchairs tip over on slopes. SOLUTION: A counterweight moves with the slope.",
        {"problem": "Wheelchairs tip over on slopes.", "solution": "A counterweight moves with the slope."},
    ),
    (
        "PURPOSE:To quickly slice tomatoes. CONSTITUTION:Tomatoes are placed on cutting wires.",
        {"problem": "quickly slice tomatoes.", "solution": "Tomatoes are placed on cutting wires."},
    ),
    (
        "[problem] To save energy when drying. [solution] Waste heat returns to the drum.",
        {"problem": "save energy when drying.", "solution": "Waste heat returns to the drum."},
    ),
    (
        "FIELD: machine building. SUBSTANCE: a platform with plates. EFFECT: higher accuracy. 3 cl, 2 dwg",
        {"field": "machine building.", "substance": "a platform with plates.", "effect": "higher accuracy"},
    ),
    (
        "A joint is described. SOLUTION: The shaft is split. EFFECT: Less wear. Long life.",
        {"solution": "The shaft is split.", "effect": "Less wear"},
    ),
    (
        "Drum brakes squeal when wet. SOLUTION: The lining has grooves. They drain water.",
        {"problem": "Drum brakes squeal when wet.", "solution": "The lining has grooves. They drain water."},
    ),
]
ROLES = ("problem", "solution", "field", "substance", "effect")
MARKERS = re.compile(r"PROBLEM|SOLUTION:|PURPOSE|CONSTITUTION|FIELD|SUBSTANCE|EFFECT|\[problem\]|\[solution\]")


def parts(found):
    return {role: found.get(role) for role in ROLES if found.get(role)}


@pytest.mark.parametrize(("number", "abstract", "expected"), [(n, *one) for n, one in enumerate(SEVEN, 1)])
def test_seven_patterns_and_a_running_text_without_markers(number, abstract, expected):
    found = extract(abstract)
    assert (found.pattern, parts(found)) == (number, expected)
    assert not MARKERS.search(found.text())
    assert all(text in found.text() for text in expected.values())
    assert len(PATTERNS) == len(SEVEN)


def test_running_text_without_a_role():
    found = extract(SEVEN[4][0])
    assert found.text() == "machine building. a platform with plates. higher accuracy"
    assert found.text(without={"effect"}) == "machine building. a platform with plates."
    assert extract(SEVEN[5][0]).text(without={"solution"}) == "A joint is described. Less wear"


@pytest.mark.parametrize(
    "marker", ["SELECTED DRAWING: Figure 1", "Selected Drawing : 3", "[SELECTED DRAWING] none", "SELECTED DRAWING"]
)
def test_what_follows_a_selected_drawing_is_left_out(marker):
    found = extract(f"PROBLEM TO BE SOLVED: To pump. SOLUTION: A rotor turns. {marker} EFFECT: none at all")
    assert (found.get("solution"), found.get("effect")) == ("A rotor turns.", "")
    assert "rawing" not in found.text()
    assert extract(f"A pump. {marker}").text() == "A pump."


@pytest.mark.parametrize(
    ("effect", "kept"),
    [
        ("simple design. 2 cl, 1 dwg", "simple design"),
        ("simple design", "simple design"),
        ("accuracy of 1.5 mm. 1 ex", "accuracy of 1.5 mm"),
        ("less noise, e.g. at night. 4 cl", "less noise, e.g. at night"),
        ("as shown in fig. 2 it is smaller. More", "as shown in fig. 2 it is smaller"),
        ("can it float? Yes.", "can it float?"),
        ("improved\n  safety.\n3 cl", "improved safety"),
    ],
)
def test_effect_ends_with_its_first_sentence(effect, kept):
    assert extract(f"FIELD: x. SUBSTANCE: y. EFFECT: {effect}").get("effect") == kept
    assert first_sentence(effect) == kept


def test_last_of_several_fields():
    found = extract("FIELD: construction, transport, soil compacting. SUBSTANCE: device. EFFECT: fast.")
    assert found.get("field") == "soil compacting."
    assert "transport" not in found.text()


@pytest.mark.parametrize(
    ("text", "pattern", "expected"),
    [
        pytest.param("PROBLEM: It leaks. SOLUTION: A seal, pressed on. EFFECT: It is tight. Really.", 2,
                     {"problem": "It leaks.", "solution": "A seal, pressed on.", "effect": "It is tight"}, id="all three"),
        pytest.param("problem to be solved: to provide a pump. solution: the pump has a rotor.", 1,
                     {"problem": "provide a pump.", "solution": "the pump has a rotor."}, id="lower case"),
        pytest.param("To provide a pump SOLUTION: a rotor", 7,
                     {"problem": "provide a pump", "solution": "a rotor"}, id="within a sentence"),
        pytest.param("PROBLEM: It leaks. SOLUTION: A seal. SOLUTION: A second seal.", 2,
                     {"problem": "It leaks.", "solution": "A seal. A second seal."}, id="a marker again"),
        pytest.param("PURPOSE: Old style. PROBLEM TO BE SOLVED: New style. SOLUTION: Both.", 1,
                     {"problem": "New style.", "solution": "Both."}, id="two kinds of problem"),
        pytest.param("SOLUTION: A seal. PROBLEM: It leaks.", 7, {"solution": "A seal. It leaks."}, id="wrong order"),
        pytest.param("PROBLEM TO BE SOLVED: SOLUTION: A seal.", 7, {"solution": "A seal."}, id="an empty part"),
        pytest.param("SOLUTION: A seal.", 7, {"solution": "A seal."}, id="a solution alone"),
        pytest.param("PROBLEM： It leaks. SOLUTION ： A seal.", 2,
                     {"problem": "It leaks.", "solution": "A seal."}, id="full-width colon"),
        pytest.param("[ Problem ]: It leaks [ SOLUTION ] A seal", 4,
                     {"problem": "It leaks", "solution": "A seal"}, id="spaced brackets"),
    ],
)  # fmt: skip
def test_unusual_markers(text, pattern, expected):
    found = extract(text)
    assert (found.pattern, parts(found)) == (pattern, expected)


@pytest.mark.parametrize(
    "text",
    [
        "A pump has a rotor. The field of use is wide; the effect is good.",
        "The engineers found a simple solution: a rotor made of steel.",
        "The PROBLEM is old. The SOLUTION is new.",
        "RESOLUTION: high. PROBLEM: low.",
        "co-SOLUTION: x",
        "ANTIEFFECT: y",
        "",
    ],
)
def test_texts_without_a_marker_stay_as_they_are(text):
    found = extract(text)
    assert (found.pattern, found.text(), parts(found)) == (0, text, {})


class TestRemoval:
    @pytest.mark.parametrize(
        ("text", "fragment", "left"),
        [
            ("A pump (10) is easy to clean. It has a rotor.", "easy to clean", "A pump (10) is It has a rotor."),
            ("Provide a  PUMP, easily; and more", "a pump easily", "Provide and more"),
            ("the pump pumps a pump", "pump", "the pumps a"),
            ("a a b b rest", "a b", "rest"),
            ("nothing here", "something", "nothing here"),
            ("all of it.", "All of it", ""),
            ("soft-\nware is soft ware", "soft ware", "is"),
            ("keep", "...", "keep"),
            ("keep", "", "keep"),
            ("pumping station", "pump", "pumping station"),
            ("The  Pump, (stationary)", "pump stationary", "The )"),
        ],
    )
    def test_cases(self, text, fragment, left):
        assert remove_fragment(text, fragment) == left

    def test_no_trace_is_left_and_nothing_else_goes(self):
        """Against a naive removal on word lists, with small vocabularies that make overlaps and re-formed matches
        common.
        """
        rng = random.Random(0)
        for _ in range(400):
            words = rng.choices("abc", k=rng.randint(0, 25))
            fragment = rng.choices("abc", k=rng.randint(1, 4))
            expected = list(words)
            while (at := "".join(expected).find("".join(fragment))) >= 0:
                del expected[at : at + len(fragment)]
            left = remove_fragment(" ".join(words), " ".join(fragment).upper())
            assert left.split() == expected
