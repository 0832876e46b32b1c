"""Fragment patterns on hand-written abstracts: all seven kinds, the special cases, awkward ones, and removal without a
trace.
"""

from __future__ import annotations

import random

import pytest

from patent_mteb.recipes.fragments import PATTERNS, extract, first_sentence, remove_fragment

SEVEN = {
    1: (
        (
            "PROBLEM TO BE SOLVED: To provide a pump that is easy to clean. SOLUTION: The pump (10) has a rotor with"
            " two blades."
        ),
        {"problem": "provide a pump that is easy to clean.", "solution": "The pump (10) has a rotor with two blades."},
    ),
    2: (
        "PROBLEM: Wheelchairs tip over on slopes. SOLUTION: A counterweight moves with the slope.",
        {"problem": "Wheelchairs tip over on slopes.", "solution": "A counterweight moves with the slope."},
    ),
    3: (
        "PURPOSE:To quickly slice tomatoes. CONSTITUTION:Tomatoes are placed on cutting wires.",
        {"problem": "quickly slice tomatoes.", "solution": "Tomatoes are placed on cutting wires."},
    ),
    4: (
        "[problem] To save energy when drying. [solution] Waste heat returns to the drum.",
        {"problem": "save energy when drying.", "solution": "Waste heat returns to the drum."},
    ),
    5: (
        (
            "FIELD: machine building. SUBSTANCE: device contains a platform with plates. EFFECT: higher accuracy. 3 cl,"
            " 2 dwg"
        ),
        {
            "field": "machine building.",
            "substance": "device contains a platform with plates.",
            "effect": "higher accuracy",
        },
    ),
    6: (
        "A joint is described. SOLUTION: The shaft is split. EFFECT: Less wear. Long life.",
        {"solution": "The shaft is split.", "effect": "Less wear"},
    ),
    7: (
        "Drum brakes squeal when wet. SOLUTION: The lining has grooves. They drain water.",
        {"problem": "Drum brakes squeal when wet.", "solution": "The lining has grooves. They drain water."},
    ),
}
ROLES = ("problem", "solution", "field", "substance", "effect")


@pytest.mark.parametrize("number", SEVEN)
def test_seven_patterns(number):
    abstract, expected = SEVEN[number]
    found = extract(abstract)
    assert found.pattern == number
    assert {role: found.get(role) for role in ROLES if found.get(role)} == expected
    assert len(PATTERNS) == 7


@pytest.mark.parametrize("number", SEVEN)
def test_the_running_text_has_no_markers(number):
    found = extract(SEVEN[number][0])
    for marker in (
        "PROBLEM",
        "SOLUTION:",
        "PURPOSE",
        "CONSTITUTION",
        "FIELD",
        "SUBSTANCE",
        "EFFECT",
        "[problem]",
        "[solution]",
    ):
        assert marker not in found.text()
    for text in SEVEN[number][1].values():
        assert text in found.text()


def test_running_text_without_a_role():
    found = extract(SEVEN[5][0])
    assert found.text() == "machine building. device contains a platform with plates. higher accuracy"
    assert found.text(without={"effect"}) == "machine building. device contains a platform with plates."
    assert extract(SEVEN[6][0]).text(without={"solution"}) == "A joint is described. Less wear"


class TestSpecialCases:
    @pytest.mark.parametrize(
        "marker", ["SELECTED DRAWING: Figure 1", "Selected Drawing : 3", "[SELECTED DRAWING] none", "SELECTED DRAWING"]
    )
    def test_selected_drawing(self, marker):
        found = extract(f"PROBLEM TO BE SOLVED: To pump. SOLUTION: A rotor turns. {marker} EFFECT: none at all")
        assert found.get("solution") == "A rotor turns."
        assert found.get("effect") == ""
        assert "rawing" not in found.text()

    def test_selected_drawing_without_a_pattern(self):
        assert extract("A pump. SELECTED DRAWING: 1").text() == "A pump."

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
    def test_effect_ends_with_its_first_sentence(self, effect, kept):
        assert extract(f"FIELD: x. SUBSTANCE: y. EFFECT: {effect}").get("effect") == kept
        assert first_sentence(effect) == kept

    def test_last_of_several_fields(self):
        found = extract("FIELD: construction, transport, soil compacting. SUBSTANCE: device. EFFECT: fast.")
        assert found.get("field") == "soil compacting."
        assert "transport" not in found.text()

    def test_effect_after_problem_and_solution(self):
        found = extract("PROBLEM: It leaks. SOLUTION: A seal, pressed on. EFFECT: It is tight. Really.")
        assert (found.pattern, found.get("solution"), found.get("effect")) == (2, "A seal, pressed on.", "It is tight")


class TestAwkward:
    def test_no_marker(self):
        text = "A pump has a rotor. The field of use is wide; the effect is good."
        found = extract(text)
        assert (found.pattern, found.text()) == (0, text)
        assert all(found.get(role) == "" for role in ROLES)

    @pytest.mark.parametrize("text", ["", "   ", "SELECTED DRAWING: 1"])
    def test_empty(self, text):
        assert (extract(text).pattern, extract(text).text()) == (0, "")

    def test_lower_case_markers_at_sentence_starts(self):
        found = extract("problem to be solved: to provide a pump. solution: the pump has a rotor.")
        assert (found.pattern, found.get("problem"), found.get("solution")) == (
            1,
            "provide a pump.",
            "the pump has a rotor.",
        )

    def test_lower_case_marker_inside_a_sentence(self):
        text = "The engineers found a simple solution: a rotor made of steel."
        assert extract(text).pattern == 0
        assert extract(text).text() == text

    def test_capital_marker_inside_a_sentence(self):
        found = extract("To provide a pump SOLUTION: a rotor")
        assert (found.pattern, found.get("problem"), found.get("solution")) == (7, "provide a pump", "a rotor")

    def test_marker_word_without_colon(self):
        assert extract("The PROBLEM is old. The SOLUTION is new.").pattern == 0

    @pytest.mark.parametrize("text", ["RESOLUTION: high. PROBLEM: low.", "co-SOLUTION: x", "ANTIEFFECT: y"])
    def test_words_that_end_like_a_marker(self, text):
        assert extract(text).pattern == 0

    def test_repeated_marker_continues_its_part(self):
        found = extract("PROBLEM: It leaks. SOLUTION: A seal. SOLUTION: A second seal.")
        assert found.get("solution") == "A seal. A second seal."

    def test_two_kinds_of_problem(self):
        found = extract("PURPOSE: Old style. PROBLEM TO BE SOLVED: New style. SOLUTION: Both.")
        assert (found.pattern, found.get("problem")) == (1, "New style.")
        assert found.text() == "Old style. New style. Both."

    def test_markers_in_the_wrong_order(self):
        found = extract("SOLUTION: A seal. PROBLEM: It leaks.")
        assert (found.pattern, found.get("problem"), found.get("solution")) == (7, "", "A seal. It leaks.")

    def test_an_empty_part_is_no_part(self):
        found = extract("PROBLEM TO BE SOLVED: SOLUTION: A seal.")
        assert (found.pattern, found.get("problem"), found.get("solution")) == (7, "", "A seal.")

    def test_full_width_colon_and_spaced_brackets(self):
        assert extract("PROBLEM： It leaks. SOLUTION ： A seal.").pattern == 2
        assert extract("[ Problem ]: It leaks [ SOLUTION ] A seal").pattern == 4

    def test_solution_alone_at_the_start(self):
        found = extract("SOLUTION: A seal.")
        assert (found.pattern, found.get("problem"), found.get("solution")) == (7, "", "A seal.")


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
        ],
    )
    def test_cases(self, text, fragment, left):
        assert remove_fragment(text, fragment) == left

    def test_words_are_whole(self):
        assert remove_fragment("pumping station", "pump") == "pumping station"
        assert remove_fragment("The  Pump, (stationary)", "pump stationary") == "The )"

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
