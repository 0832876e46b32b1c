"""Control tokens of language models in a patent's text are words for every tokenizer, unless a view put them there."""

from __future__ import annotations

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from patent_mteb.patents.records import Claim, Description, Patent
from patent_mteb.patents.text import clean, clean_patent
from patent_mteb.patents.views import VIEWS

FAMILIES = {
    "BERT": ("[CLS]", "[SEP]", "[MASK]", "[PAD]", "[UNK]"),
    "RoBERTa": ("<s>", "</s>", "<pad>", "<mask>", "<unk>"),
    "T5": ("</s>", "<pad>", "<extra_id_0>", "<extra_id_99>"),
    "Qwen": ("<|endoftext|>", "<|im_start|>", "<|fim-pad|>"),
    "Mistral": ("[INST]", "[/INST]"),
    "GLM": ("[gMASK]", "<sop>", "<eop>"),
    "reasoning": ("<think>", "</think>", "<tool_call>", "</tool_response>"),
    "DeepSeek": ("<｜begin▁of▁sentence｜>", "<｜User｜>"),
    "StarCoder": ("<fim_prefix>", "<fim_suffix>"),
    "Gemma": ("<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>"),
}


def tokens_of(text, special):
    """The special tokens that a tokenizer of this family reads in a text."""
    tokenizer = Tokenizer(models.WordLevel({"?": 0}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens(list(special))
    return [token for token in tokenizer.encode(text).tokens if token != "?"]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_tokenizer_reads_no_control_token_in_a_record(family):
    special = FAMILIES[family]
    text = " ".join(f"a token {one} and pump{one}valve" for one in special)
    assert tokens_of(text, special)
    patent = Patent("EP1A1", "F", text, text, (Claim(1, f"A method of {text}."),), Description(text))
    cleaned = clean_patent(patent)
    texts = (cleaned.title, cleaned.abstract, cleaned.claims[0].text, *cleaned.description.lines())
    assert len(texts) == 4 and not [one for one in texts if tokens_of(one, special)]
    assert all(one.strip("[]</>|") in cleaned.abstract for one in special)


def test_a_separator_of_a_view_stays():
    patent = clean_patent(Patent("EP1A1", "F", "A [SEP] token", "A pump."))
    joined = VIEWS["TA"](patent)
    assert "[ SEP]" in joined and clean(f"{patent.title} [SEP] {patent.abstract}").count("[SEP]") == 1


@pytest.mark.parametrize(
    "text", ["a < b and [0012] or [CLSX], <maskx>, 5 <| x", "array[MASK_SIZE]", "[mask] of <PAD_ID>"]
)
def test_other_brackets_stay(text):
    assert clean(text, boilerplate=False) == text
