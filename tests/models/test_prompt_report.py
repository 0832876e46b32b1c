"""The report of the prompts that a model used for a task."""

import pytest

from patent_mteb.report.records import prompt_used

TASK = "PatenTEBTitle2Full"


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
    assert prompt_used(recorded, {}, TASK) == words
    assert prompt_used(recorded, {"use_instructions": True}, TASK) == words


@pytest.mark.parametrize(
    ("meta", "words"),
    [
        ({}, "not recorded"),
        ({"use_instructions": False}, "none"),
        ({"use_instructions": True}, "the model's own instructions"),
        (
            {"loader_kwargs": {"model_prompts": {f"{TASK}-query": "q: ", "query": "x: ", "Other": "y: "}}},
            f'{TASK}-query: "q: "; query: "x: "',
        ),
    ],
)
def test_an_older_result_says_what_its_model_said_of_itself(meta, words):
    assert prompt_used(None, meta, TASK) == words
