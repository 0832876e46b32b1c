"""Claims of other languages: split, and their references read, as a person reads them."""

from __future__ import annotations

import pytest

from patent_mteb.patents.claims import claims_text, first_independent_claim, read_claims, unread_claims
from patent_mteb.patents.records import Patent, TextLanguages, Translation

CASES = {
    "German, one line": (
        "1. Vorrichtung zum Pumpen, umfassend einen Rotor. 2. Vorrichtung nach Anspruch 1, dadurch gekennzeichnet, dass der Rotor aus Stahl ist. 3. Vorrichtung nach einem der vorhergehenden Ansprüche, wobei 4 Flügel vorgesehen sind. 4. Verfahren zum Betrieb einer Pumpe. 5. Verfahren nach Anspruch 4 oder nach Anspruch 2. 6. Pumpe nach einem oder mehreren der Ansprüche 1 bis 3 und 5.",
        [(), (1,), (1, 2), (), (2, 4), (1, 2, 3, 5)],
    ),
    "French, with a heading": (
        "Revendications\n1. Dispositif comprenant un rotor.\n2. Dispositif selon la revendication 1, caractérisé en ce que le rotor est en acier.\n3. Dispositif selon l'une quelconque des revendications 1 ou 2.\n4. Dispositif selon l'une des revendications précédentes.\n5. Procédé de pompage.\n6. Procédé selon la revendication précédente.",
        [(), (1,), (1, 2), (1, 2, 3), (), (5,)],
    ),
    "Spanish": (
        "1.- Dispositivo que comprende un rotor. 2.- Dispositivo según la reivindicación 1, caracterizado porque. 3.- Dispositivo según cualquiera de las reivindicaciones 1 a 2. 4.- Uso del dispositivo según las reivindicaciones anteriores.",
        [(), (1,), (1, 2), (1, 2, 3)],
    ),
    "Chinese, one line, numbered steps": (
        "1.一种泵，包括转子。2.根据权利要求1所述的泵，其特征在于，所述转子为钢。3.根据权利要求1或2所述的泵。4.根据权利要求1-3中任一项所述的泵。5.一种方法，包括：1）泵送；2）停止。6.如权利要求5所述的方法。",
        [(), (1,), (1, 2), (1, 2, 3), (), (5,)],
    ),
    "Chinese without numbers": (
        "一种泵，包括转子。\n根据权利要求1所述的泵。\n根据前述任一权利要求所述的泵。",
        [(), (1,), (1, 2)],
    ),
    "traditional Chinese": (
        "1、一種泵。\n2、如請求項1所述之泵。\n3、如申請專利範圍第1項或第2項所述之泵。\n4. (取消)",
        [(), (1,), (1, 2)],
    ),
    "Japanese": (
        "【請求項１】\nロータを備えるポンプ。\n【請求項２】\n請求項１に記載のポンプであって、３枚の羽根を備える。\n【請求項３】\n請求項１又は２に記載のポンプ。\n【請求項４】\n請求項１から請求項３のいずれか１項に記載のポンプ。\n【請求項５】（削除）\n【請求項６】ポンプの製造方法。",
        [(), (1,), (1, 2), (1, 2, 3), ()],
    ),
    "Korean": (
        "청구항 1\n로터를 포함하는 펌프.\n청구항 2\n제1항에 있어서, 상기 로터는 강철인 펌프.\n청구항 3\n제 1 항 또는 제 2 항에 있어서, 펌프.\n청구항 4\n제1항 내지 제3항 중 어느 한 항에 있어서, 펌프.\n청구항 5\n삭제\n청구항 6\n방법.",
        [(), (1,), (1, 2), (1, 2, 3), ()],
    ),
    "Korean, one line": (
        "1. 로터를 포함하는 펌프. 2. 청구항 1에 있어서, 펌프. 3. 제1항, 제2항 중 어느 한 항의 펌프를 포함하는 시스템.",
        [(), (1,), (1, 2)],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_each_claim_depends_on_the_claims_that_it_names(case):
    text, depends_on = CASES[case]
    assert [claim.depends_on for claim in read_claims(text).claims] == depends_on


@pytest.mark.parametrize(
    ("text", "cancelled"),
    [
        ("【請求項１】ポンプ。\n【請求項２】（削除）", (2,)),
        ("청구항 1\n펌프.\n청구항 2\n삭제", (2,)),
        ("1、一種泵。\n2. (取消)\n2、(刪除)", (2,)),
        ("1. Pumpe.\n2. (gestrichen)\n3. Pumpe nach Anspruch 1.", (2,)),
    ],
)
def test_cancelled_claims_are_no_claims(text, cancelled):
    assert read_claims(text).cancelled == cancelled


def test_texts_stay_as_written():
    claims = read_claims("【請求項１】\nロータを備えるポンプ。\n【請求項２】\n請求項１に記載のポンプ。").claims
    assert [claim.text for claim in claims] == ["ロータを備えるポンプ。", "請求項１に記載のポンプ。"]


def test_a_few_foreign_letters_leave_an_english_claim_english():
    text = "1. A method for reading 漢字, comprising scanning. 2. The method of claim 1, wherein the sign is 漢."
    assert [claim.depends_on for claim in read_claims(text).claims] == [(), (1,)]


@pytest.mark.parametrize(
    "text",
    [
        "Pumpe mit Rotor. Pumpe nach Anspruch 1, deren Rotor aus Stahl ist.",
        "Насос, содержащий ротор. Насос по п. 1, отличающийся тем, что ротор стальной.",
        "مضخة تشتمل على دوار. مضخة وفقا لعنصر الحماية 1",
        "Pompe selon l'une des revendications précédentes.",
    ],
)
def test_claims_that_cannot_be_split_are_one_text_without_a_first_claim(text):
    claims = read_claims(text).claims
    assert [(claim.number, claim.text, claim.independent) for claim in claims] == [(0, text, False)]
    assert first_independent_claim(claims) == ""
    assert claims_text(claims) == text
    assert read_claims(claims_text(claims)).claims == claims


@pytest.mark.parametrize(
    "text", ["Bomba com rotor.", "The design for a pump, as shown.", "Pumpe mit Rotor, z. B. aus Stahl."]
)
def test_one_claim_in_any_language_is_claim_1(text):
    assert [claim.number for claim in read_claims(text).claims] == [1]


def test_what_is_not_read_of_claims_is_said_per_language():
    whole = read_claims("Насос с ротором. Насос по п. 1.").claims
    numbered = read_claims("1. Насос с ротором.\n2. Насос по п. 1.").claims
    patent = Patent(
        "RU1C1",
        "1",
        claims=numbered,
        languages=TextLanguages(claims="ru"),
        translations=(Translation("uk", claims=whole),),
    )
    assert list(unread_claims(patent)) == [
        "claims whose references to each other are not read (ru): all count as independent",
        "claims that could not be split (uk): one text without a first claim",
    ]
    assert not list(unread_claims(Patent("DE1A1", "1", claims=read_claims(CASES["German, one line"][0]).claims)))
