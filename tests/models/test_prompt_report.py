"""The report of the prompts that a model used for a task."""

import pytest

from patent_mteb.report.records import prompt_used


@pytest.mark.parametrize(
    ("recorded", "words"),
    [
        ({"query": "q: ", "document": "d: "}, '"q: " / "d: "'),
        ({"query": "q: ", "document": ""}, '"q: " / none'),
        ({"query": "p: ", "document": "p: "}, '"p: "'),
        ({"query": "", "document": ""}, "none"),
        ({"text": "t: "}, '"t: "'),
        ({"text": None}, "not recorded"),
        ({}, "none"),
        (
            {"my/one": {"query": "q: ", "document": ""}, "my/two": {"query": "", "document": ""}},
            'my/one: "q: " / none; my/two: none',
        ),
        ({"my/one": {"query": "q: "}, "my/two": 3}, 'my/one: "q: "; my/two: not recorded'),
    ],
)
def test_recorded_prompts_in_words(recorded, words):
    assert prompt_used(recorded) == words


def test_prompts_that_are_not_recorded():
    assert prompt_used(None) == "not recorded"
