"""Claims of other languages: split, and their references read, as a person reads them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from patent_mteb.patents.claims import claims_text, first_independent_claim, read_claims, unread_claims
from patent_mteb.patents.records import Patent, TextLanguages, Translation

_SPEC = importlib.util.spec_from_file_location("claim_sets", Path(__file__).parents[2] / "benchmarks" / "claims.py")
BENCHMARK = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(BENCHMARK)

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


FORMS = [
    ("제1항: 로터를 포함하는 펌프.\n제2항: 제1항에 있어서, 밸브를 포함하는 펌프.", [(), (1,)]),
    ("청구항 제1항. 로터를 포함하는 펌프.\n청구항 제2항. 제1항에 있어서, 밸브를 포함하는 펌프.", [(), (1,)]),
    ("【청구항 1】로터를 포함하는 펌프. 【청구항 2】제1항에 있어서, 밸브를 포함하는 펌프.", [(), (1,)]),
    (
        "1. (a) 물질을 혼합하는 단계; (b) 가열하는 단계를 포함하는 제조 방법.\n2. 제 1 항에 있어서, 상기 (b) 단계는 80 ℃에서 수행되는 방법.",
        [(), (1,)],
    ),
    ("Reivindicación 1: Bomba con rotor.\nReivindicación 2: Bomba según la reivindicación 1, con válvula.", [(), (1,)]),
    (
        "1ª.- Bomba con rotor.\n2ª.- Bomba, según la reivindicación 1ª, con válvula.\n3ª.- Bomba según reivindicaciones 1ª y 2ª, con junta.",
        [(), (1,), (1, 2)],
    ),
    ("1. Bomba con rotor.\n2. Bomba según la primera reivindicación, con válvula.", [(), (1,)]),
    ("Patentanspruch 1: Pumpe mit Rotor.\nPatentanspruch 2: Pumpe nach Patentanspruch 1.", [(), (1,)]),
    ("Anspruch 1. Pumpe mit Rotor. Anspruch 2. Pumpe nach Anspruch 1.", [(), (1,)]),
    ("Patentansprüche: 1. Pumpe mit Rotor. 2. Pumpe nach Anspruch 1.", [(), (1,)]),
    (
        "1. Pumpe mit Rotor.\n2. Pumpe nach einem der Ansprüche 1, 2 oder 3.\n3. Pumpe nach Anspruch 1 und/oder 2.",
        [(), (1, 3), (1, 2)],
    ),
    ("Revendication 1. Pompe avec rotor.\nRevendication 2. Pompe selon la revendication 1.", [(), (1,)]),
    ("1°) Pompe avec rotor.\n2°) Pompe selon la revendication 1.", [(), (1,)]),
    ("1. Pompe avec rotor.\n2. Pompe selon la première revendication.", [(), (1,)]),
    ("請求項１\u3000ロータを備えるポンプ。\n請求項２\u3000前記ロータが鋼である請求項１に記載のポンプ。", [(), (1,)]),
    ("〔請求項１〕ロータを備えるポンプ。\n〔請求項２〕請求項１記載のポンプ。", [(), (1,)]),
    ("（請求項１）ロータを備えるポンプ。（請求項２）請求項１に記載のポンプ。", [(), (1,)]),
    (
        "【書類名】特許請求の範囲\n【請求項１】\nロータを備えるポンプ。\n【請求項２】\n請求項１に記載のポンプを備える装置。\n【請求項３】\n請求項１または２のいずれか一項に記載の装置。",
        [(), (1,), (1, 2)],
    ),
    ("1. ポンプ。\n2. クレーム1に記載のポンプ。", [(), (1,)]),
    (
        "【請求項１】ロータを備えるポンプ。【請求項２】請求項第１項記載のポンプ。【請求項３】特許請求の範囲第１項記載のポンプ。",
        [(), (1,), (1,)],
    ),
    (
        "【請求項１】\n（１）原料を混合する工程と、\n（２）加熱する工程と、\nを含む方法。\n【請求項２】\n前記工程（２）が80℃である請求項１に記載の方法。",
        [(), (1,)],
    ),
    ("权利要求1：一种泵，包括转子。\n权利要求2：根据权利要求1所述的泵，还包括阀。", [(), (1,)]),
    ("权利要求书1.一种泵，包括转子。2.根据权利要求1所述的泵。", [(), (1,)]),
    ("１．一种泵，包括转子。\n２．根据权利要求１所述的泵。", [(), (1,)]),
    (
        "1 . 一种泵，包括转子。\n2 . 根据权利要求1 所述的泵。\n3 . 根据权利要求1 ～2 中任一项所述的泵。",
        [(), (1,), (1, 2)],
    ),
    (
        "1. 一种方法，包括以下步骤：\n1) 充液；\n2) 排空；\n3) 加热。\n2. 根据权利要求1所述的方法，步骤1)中温度为2.5℃。",
        [(), (1,)],
    ),
    ("1、一种方法，包括以下步骤：步骤1、充液；步骤2、排空。\n2、根据权利要求1所述的方法。", [(), (1,)]),
    ("1. 一种方法，包括：1.1 充液；1.2 排空。\n2. 根据权利要求1所述的方法，温度为10. 5℃。", [(), (1,)]),
    (
        "1.一种泵。2.如权利要求1所述的泵。3.一种设备，包括如权利要求1～2任意一项所述的泵。4.一种如权利要求3所述设备的用途。",
        [(), (1,), (1, 2), (3,)],
    ),
    (
        "【請求項1】 一種幫浦，包含轉子。\n【請求項2】 如請求項1之幫浦。\n【請求項3】 如請求項1或2之幫浦。",
        [(), (1,), (1, 2)],
    ),
    ("1. A method comprising: 1. filling; 2. emptying; and 3. heating. 2. The method of claim 1.", [(), (1,)]),
    ("1.\tA pump.\n2.\tThe pump of claim 1.", [(), (1,)]),
    ("1\nA pump.\n2\nThe pump of claim 1.", [(), (1,)]),
    ("What is claimed is: 1. A pump. 2. The pump of claim 1.", [(), (1,)]),
    ("1. Pumpe mit Rotor.\n2. Pumpe nach dem ersten Anspruch.", [(), (1,)]),
    ("1. A pump. | 2. The pump of claim 1.", [(), (1,)]),
    ("(1) A pump.\n(2) The pump of claim 1.", [(), (1,)]),
    ("1. A pump.;;2. The pump of claim 1.", [(), (1,)]),
    ("CLAIM 1: A pump.\nCLAIM 2: The pump according to CLAIM 1.", [(), (1,)]),
    ("[1] A pump. [2] The pump of claim 1.", [(), (1,)]),
    ('<claim num="1">1. A pump.</claim><claim num="2">2. The pump of claim 1.</claim>', [(), (1,)]),
]


@pytest.mark.parametrize(("text", "depends_on"), FORMS)
def test_marks_and_references_are_read_in_every_form(text, depends_on):
    assert [claim.depends_on for claim in read_claims(text).claims] == depends_on


@pytest.mark.parametrize("language", BENCHMARK.LANGUAGES)
def test_invented_sets_are_split_and_read_right(language):
    sets = [BENCHMARK.invented(BENCHMARK.LANGUAGES[language], seed) for seed in range(BENCHMARK.SETS)]
    wrong = [text for text, truth in sets if [one.depends_on for one in read_claims(text).claims] != truth]
    assert not wrong


@pytest.mark.slow
@pytest.mark.parametrize("separator", ["\n", " "], ids=["lines", "one line"])
def test_published_sets_are_split_and_read_as_their_markup_says(separator):
    sets = list(BENCHMARK.real())
    if not sets:
        pytest.skip("shared/data is not here")
    assert len(sets) == 93
    right = [BENCHMARK.is_right(one, separator) for one in sets]
    assert all(number for number, _ in right)
    assert sum(independent is not None for _, independent in right) == 80
    assert not [one.file for one, (_, same) in zip(sets, right, strict=True) if same is False]


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
        "claims without a reference to another (ru): all count as independent",
        "claims that could not be split (uk): one text without a first claim",
    ]
    assert not list(unread_claims(Patent("DE1A1", "1", claims=read_claims(CASES["German, one line"][0]).claims)))
