"""What is known of the prompt that a model put before the texts of a task."""

import pytest

from patent_mteb.models.prompt_report import prompt_used
from patent_mteb.models.prompts import TABLE_11

TASK = "PatenTEBTitle2Full"
PATEMBED = "datalyes/patembed-base"
SIDES = " / ".join(f'"{TABLE_11["title2full"].side(role)}"' for role in ("query", "document"))


@pytest.mark.parametrize(
    ("model", "settings", "meta", "task", "prompt"),
    [
        (PATEMBED, {}, {}, TASK, SIDES),
        (PATEMBED, {}, {}, f"{TASK}.sample", SIDES),
        (PATEMBED, {}, {}, "PatenTEBBloom", f'"{TABLE_11["class_bloom"].side(None)}"'),
        (PATEMBED, {"prompts": "none"}, {}, TASK, "none"),
        ("mpi-inno-comp/paecter", {}, {}, TASK, "none"),
        ("mpi-inno-comp/paecter", {"prompts": "table11"}, {}, TASK, SIDES),
        ("other/model", {}, {}, TASK, "not recorded"),
        ("other/model", {}, {"use_instructions": False}, TASK, "none"),
        ("other/model", {}, {"use_instructions": True}, TASK, "the model's own instructions"),
        ("other/model", {}, {"loader_kwargs": {"model_prompts": {f"{TASK}-query": "q: ", "query": "x: ", "Other": "y: "}}}, TASK, None),
    ],
)
def test_prompt_of_a_model(model, settings, meta, task, prompt):
    assert prompt_used(model, settings, meta, task) == (prompt or f'{TASK}-query: "q: "; query: "x: "')


def test_prompts_of_the_parts_of_a_composition():
    parts = [{"name": "other/model", "revision": "1"}, {"name": PATEMBED, "revision": "2", "prompts": "none"}, {"name": PATEMBED}]
    assert prompt_used("hybrid/x", {"kind": "hybrid", "parts": parts}, {}, TASK) == (
        f"other/model: not recorded; {PATEMBED}: none; {PATEMBED}: {SIDES}"
    )
