"""What of an answer counts: no thoughts, no refusals, nothing that was cut off."""

import pytest

from patent_mteb.endpoints.chat import CUT, EMPTY, REFUSED, UNFINISHED, fault_of, visible_answer, well_formed


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("A pump.", "A pump."),
        ("", ""),
        ("<think>Hm.</think> A pump.", " A pump."),
        ("<think>a</think>A <think>b</think>pump.", "A pump."),
        ("thoughts of a template that opens them itself</think>A pump.", "A pump."),
        ("<think>a <think>b</think> c</think>A pump.", "A pump."),
        ("<think>Okay, the user wants", None),
        ("<think>a</think>A pump. <think>b", None),
        ("<think></think>", ""),
    ],
)
def test_thoughts_do_not_count(text, wanted):
    assert visible_answer(text) == wanted


@pytest.mark.parametrize(
    ("text", "finish", "wanted"),
    [
        ("A pump.", "stop", ""),
        ("A pump.", "", ""),
        ("A pump.", "eos_token", ""),
        ("A pump.", "end_turn", ""),
        ("A pump.", "STOP", ""),
        ("A pump comprises a hou", "length", CUT),
        ("A pump comprises a hou", "max_tokens", CUT),
        ("A pump comprises a hou", "abort", CUT),
        ("", "tool_calls", CUT),
        ("A pump.", "content_filter", REFUSED),
        (None, "stop", UNFINISHED),
        (None, "length", CUT),
        ("", "stop", EMPTY),
        (" \n", "", EMPTY),
        ("I'm sorry, but I can't help with that.", "stop", REFUSED),
        ("I\u2019m sorry, but I can\u2019t help with that.", "stop", REFUSED),
        ("  **I cannot** summarise this text.", "stop", REFUSED),
        ("Sorry, there is no text.", "", REFUSED),
        ("As an AI language model, I have no access to patents.", "stop", REFUSED),
        ("Unfortunately, I am not able to read it.", "stop", REFUSED),
        ("\u62b1\u6b49\uff0c\u6211\u65e0\u6cd5\u63d0\u4f9b\u5e2e\u52a9\u3002", "stop", REFUSED),
        ("As an AI-driven controller, the device regulates a pump.", "stop", ""),
        ("The user is told 'I'm sorry' by the dialogue system.", "stop", ""),
        ("Unfortunate pressure drops are avoided by the valve.", "stop", ""),
        ("3", "stop", ""),
    ],
)
def test_faults(text, finish, wanted):
    assert fault_of(text, finish) == wanted


def test_half_surrogate_pairs_are_replaced_and_whole_ones_stay():
    assert well_formed("3\ud800 \udc00x") == "3\ufffd \ufffdx"
    assert well_formed("\ud83d\ude00 \U0001f600") == "\U0001f600 \U0001f600"
    assert well_formed("\ufeffa").encode() == "\ufeffa".encode()
