"""What reaches a tokenizer."""

import pytest
from transformers import PreTrainedTokenizerBase


@pytest.fixture
def seen(monkeypatch):
    """The texts handed to a Hugging Face tokenizer, in order."""
    texts: list[str] = []
    original = PreTrainedTokenizerBase.__call__

    def spy(self, text=None, *args, **kwargs):
        texts.extend([text] if isinstance(text, str) else list(text))
        return original(self, text, *args, **kwargs)

    monkeypatch.setattr(PreTrainedTokenizerBase, "__call__", spy)
    return texts
