"""The instruction of every task, as mteb's wrapper of instruction models puts it before a text."""

from __future__ import annotations

import mteb
import pytest
from datasets import Dataset
from mteb.abstasks import AbsTaskRetrieval
from mteb.models.instruct_wrapper import InstructSentenceTransformerModel
from mteb.types import PromptType
from torch.utils.data import DataLoader

from patent_mteb.tasks.catalogue import find, sample_tasks, tasks

TEMPLATE = "Instruct: {instruction}\nQuery: "


class Recorded:
    """What mteb gives to sentence-transformers."""

    def __init__(self):
        self.prompts = []

    def encode(self, texts, prompt=None, **kwargs):
        self.prompts.append(prompt)
        return [[0.0]] * len(texts)


def told(task, role):
    """The text that reaches the model before those of a role."""
    wrapper = object.__new__(InstructSentenceTransformerModel)
    wrapper.model, wrapper.instruction_template, wrapper.prompts_dict = Recorded(), TEMPLATE, None
    wrapper.apply_instruction_to_passages = False
    loader = DataLoader(Dataset.from_dict({"text": ["a pump"]}))
    wrapper.encode(loader, task_metadata=task.metadata, hf_split="test", hf_subset="default", prompt_type=role)
    return wrapper.model.prompts[-1]


def test_no_task_leaves_an_instruction_model_without_an_instruction():
    for kind in (*tasks(), *sample_tasks()):
        role = PromptType.query if kind.metadata.type == "Retrieval" else None
        prompt = kind.metadata.prompt["query"] if role and kind.metadata.prompt else kind.metadata.prompt
        if find("DAPFAM").facts is kind.facts:
            prompt = AbsTaskRetrieval.abstask_prompt
        assert len(str(prompt)) > 10 and (not role or "retrieve" in prompt.lower()), kind.metadata.name
        assert told(kind, role) == TEMPLATE.format(instruction=prompt), kind.metadata.name


@pytest.mark.parametrize("side", ["TitlAbs", "TitlAbsClm"])
def test_dapfam_tells_what_mtebs_own_tasks_tell(side):
    theirs = mteb.get_task(f"DAPFAMAll{side}To{side}Retrieval")
    ours = find("DAPFAM").task_classes[0]
    for role in PromptType:
        assert told(ours, role) == told(theirs, role)
    assert ours.metadata.prompt is theirs.metadata.prompt is None


def test_the_sides_of_a_retrieval_task_are_told_apart():
    kind = find("Sophia").task_classes[0]
    assert "retrieve patents" in told(kind, PromptType.query)
    assert told(kind, PromptType.document) is None
