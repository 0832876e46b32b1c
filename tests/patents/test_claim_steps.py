"""Claim sets with numbered steps, unusual marks, gaps and high numbers in eight languages.

The texts are invented; the expected claims were written down before they were first read.
"""

from __future__ import annotations

import pytest

from patent_mteb.patents.claims import read_claims
from patent_mteb.readers.publication import ClaimText, read_claim_texts

ZH_STEPS = "1.一种混合方法，其特征在于，包括以下步骤：1.混合原料；2.加热原料；3.冷却原料。2.根据权利要求1所述的方法，其特征在于，加热到100℃。3.根据权利要求2所述的方法，其特征在于，冷却到20℃。"

CASES: dict[str, tuple[str, list[tuple[int, str, tuple[int, ...]]]]] = {
    "zh: steps in the style of the claims": (ZH_STEPS, [(1, "一种混合方法", ()), (2, "根据权利要求1", (1,)), (3, "根据权利要求2", (2,))]),
    "zh: the same in lines": (
        "1.一种混合方法，包括以下步骤：\n1.混合原料；\n2.加热原料；\n3.冷却原料。\n2.根据权利要求1所述的方法。\n3.根据权利要求2所述的方法。",
        [(1, "一种混合方法", ()), (2, "根据权利要求1", (1,)), (3, "根据权利要求2", (2,))],
    ),
    "zh: steps that end with full stops": (
        "1.一种清洗方法，步骤如下：1.浸泡。2.冲洗。3.烘干。2.根据权利要求1所述的清洗方法，其特征在于，浸泡十分钟。3.如权利要求1或2所述的清洗方法。",
        [(1, "一种清洗方法", ()), (2, "根据权利要求1", (1,)), (3, "如权利要求1或2", (1, 2))],
    ),
    "zh: steps with another mark": (
        "1、一种制茶方法，包括：1）采摘；2）杀青；3）揉捻。2、根据权利要求1所述的制茶方法，其中：（1）温度为60℃；（2）时间为2小时。",
        [(1, "一种制茶方法", ()), (2, "根据权利要求1", (1,))],
    ),
    "zh: steps in a dependent claim": (
        "1.一种锁。2.根据权利要求1所述的锁，安装步骤为：1、打孔；2、固定；3、测试。3.根据权利要求2所述的锁。4.一种门，包括权利要求1至3任一项所述的锁。",
        [(1, "一种锁", ()), (2, "根据权利要求1", (1,)), (3, "根据权利要求2", (2,)), (4, "一种门", (1, 2, 3))],
    ),
    "zh: claims that begin with a number": (
        "1.2,4-二甲基吡啶的制备方法，其特征在于加热。2.如权利要求1所述的制备方法，溶剂为水。3.5-羟基吲哚的用途。",
        [(1, "2,4-二甲基吡啶", ()), (2, "如权利要求1", (1,)), (3, "5-羟基吲哚", ())],
    ),
    "zh: the number in a line of its own": (
        "1.\n一种电路，包括：\n电阻；\n电容。\n2.\n根据权利要求1所述的电路，其特征在于：所述电阻为多晶硅电阻。",
        [(1, "一种电路", ()), (2, "根据权利要求1", (1,))],
    ),
    "zh: lines without full stops": (
        "1. 一种水泵\n2. 根据权利要求1所述的水泵\n3. 根据权利要求1或2所述的水泵",
        [(1, "一种水泵", ()), (2, "根据权利要求1", (1,)), (3, "根据权利要求1或2", (1, 2))],
    ),
    "zh: a claim without a full stop": (
        "1.一种方法，包括：描述信息 Extra 自定义字段2.根据权利要求1所述的方法，步骤为1.混合3.如权利要求2所述的方法。",
        [(1, "一种方法", ()), (2, "根据权利要求1", (1,)), (3, "如权利要求2", (2,))],
    ),
    "zh: independent claims in a row": (
        "1.一种灯。2.一种灯罩。3.一种照明系统，包括权利要求1所述的灯和权利要求2所述的灯罩。",
        [(1, "一种灯", ()), (2, "一种灯罩", ()), (3, "一种照明系统", (1, 2))],
    ),
    "zh: a decimal after a comma": (
        "1.一种合金，按质量计包含：碳0.2%，锰1.5%；余量为铁。2.根据权利要求1所述的合金，碳为0.1%。",
        [(1, "一种合金", ()), (2, "根据权利要求1", (1,))],
    ),
    "zh: named marks": (
        "权利要求1：一种椅子，包括：1.座面；2.椅腿。权利要求2：根据权利要求1所述的椅子。",
        [(1, "一种椅子", ()), (2, "根据权利要求1", (1,))],
    ),
    "zh-Hant: steps after a semicolon": (
        "1. 一種清潔方法，包含：1. 加水；2. 攪拌；3. 排水。2. 如請求項1所述之方法，其中水為熱水。3. 如申請專利範圍第1項或第2項所述之方法。",
        [(1, "一種清潔方法", ()), (2, "如請求項1", (1,)), (3, "如申請專利範圍第1項", (1, 2))],
    ),
    "zh-Hant: brackets": (
        "【請求項1】一種機車，包含一車架。\n【請求項2】如請求項1所述之機車，其中該車架：1.為鋼；2.為鋁。",
        [(1, "一種機車", ()), (2, "如請求項1", (1,))],
    ),
    "zh-Hant: 第1項 as a mark": (
        "第1項、一種風扇，包含葉片。第2項、如第1項所述之風扇。",
        [(1, "一種風扇", ()), (2, "如第1項", (1,))],
    ),
    "ja: bracketed marks and numbered steps": (
        "【請求項１】\n次の工程を含む洗浄方法：\n１．浸漬する工程；\n２．すすぐ工程。\n【請求項２】\n請求項１に記載の洗浄方法。\n【請求項３】\n請求項１または２に記載の洗浄方法。",
        [(1, "次の工程", ()), (2, "請求項１", (1,)), (3, "請求項１または２", (1, 2))],
    ),
    "ja: bracketed marks with numbers above 9": (
        "【請求項９】ポンプ。【請求項１０】請求項９記載のポンプ。【請求項１１】請求項９乃至１０のいずれかに記載のポンプ。",
        [(9, "ポンプ", ()), (10, "請求項９", (9,)), (11, "請求項９乃至１０", (9, 10))],
    ),
    "ja: plain numbers": (
        "１．センサを備える装置であって、１．温度を測り、２．記録する装置。２．請求項１に記載の装置。",
        [(1, "センサを備える", ()), (2, "請求項１", (1,))],
    ),
    "ja: cancelled": (
        "【請求項１】（削除）【請求項２】制御装置。【請求項３】請求項２に記載の制御装置。",
        [(2, "制御装置", ()), (3, "請求項２", (2,))],
    ),
    "ko: bracketed marks": (
        "【청구항 1】\n다음 단계를 포함하는 방법: 1. 혼합하는 단계; 2. 가열하는 단계.\n【청구항 2】\n제1항에 있어서, 상기 가열은 100도인 방법.\n【청구항 3】\n제1항 또는 제2항에 있어서, 방법.",
        [(1, "다음 단계", ()), (2, "제1항", (1,)), (3, "제1항 또는", (1, 2))],
    ),
    "ko: a remark after the mark": (
        "【청구항 1】 (독립항)\n로봇.\n【청구항 2】 (종속항)\n제1항에 있어서, 로봇.",
        [(1, "(독립항) 로봇", ()), (2, "(종속항) 제1항", (1,))],
    ),
    "ko: 제1항. as a mark": (
        "제1항. 펌프를 포함하는 장치. 제2항. 제1항에 있어서, 장치. 제3항. 제2항에 있어서, 장치.",
        [(1, "펌프", ()), (2, "제1항에", (1,)), (3, "제2항에", (2,))],
    ),
    "ko: steps with the same mark": (
        "1. 세척 방법으로서, 1. 담그는 단계; 2. 헹구는 단계를 포함하는 방법. 2. 제1항에 있어서, 물은 온수인 방법.",
        [(1, "세척 방법", ()), (2, "제1항", (1,))],
    ),
    "en: claims above 999": (
        "\n".join(
            ["1. A pump.", *(f"{n}. The pump of claim {n - 1}, wherein part {n} is steel." for n in range(2, 1003))]
        ),
        [(1, "A pump.", ()), *((n, f"The pump of claim {n - 1},", (n - 1,)) for n in range(2, 1003))],
    ),
    "en: a letter after the number": (
        "1. A pump having a rotor.\n1a. A pump having a stator.\n2. The pump of claim 1, wherein the rotor is steel.\n3. The pump of claim 2.",
        [(1, "A pump having a rotor", ()), (1, "A pump having a stator", ()), (2, "The pump of claim 1", (1,)), (3, "The pump of claim 2", (2,))],
    ),
    "en: lettered steps are no claims": (
        "1. A method comprising:\n1a. mixing a liquid;\n1b. heating the liquid.\n2. The method of claim 1, wherein the liquid is water.",
        [(1, "A method comprising", ()), (2, "The method of claim 1", (1,))],
    ),
    "en: a year does not start a claim": (
        "1. A calendar for the year\n2019. The calendar has days.\n2. The calendar of claim 1.",
        [(1, "A calendar", ()), (2, "The calendar of claim 1", (1,))],
    ),
    "en: numbered steps": (
        "1. A method comprising: 1. mixing; 2. heating; and 3. cooling. 2. The method of claim 1, wherein the mixing is slow.",
        [(1, "A method comprising", ()), (2, "The method of claim 1", (1,))],
    ),
    "de: numbered steps": (
        "1. Verfahren zum Reinigen mit den Schritten: 1. Einweichen; 2. Spülen; 3. Trocknen. 2. Verfahren nach Anspruch 1, wobei das Wasser warm ist. 3. Verfahren nach Anspruch 1 oder 2.",
        [(1, "Verfahren zum Reinigen", ()), (2, "Verfahren nach Anspruch 1", (1,)), (3, "Verfahren nach Anspruch 1 oder 2", (1, 2))],
    ),
    "de: a letter after the number": (
        "1. Pumpe mit Rotor.\n2. Pumpe nach Anspruch 1.\n2a. Pumpe nach Anspruch 2, mit Stator.\n3. Pumpe nach Anspruch 2.",
        [(1, "Pumpe mit Rotor", ()), (2, "Pumpe nach Anspruch 1", (1,)), (2, "Pumpe nach Anspruch 2, mit", (2,)), (3, "Pumpe nach Anspruch 2", (2,))],
    ),
    "fr: numbered steps in lines": (
        "1. Procédé de lavage comprenant :\n1) tremper ;\n2) rincer ;\n3) sécher.\n2. Procédé selon la revendication 1.\n3. Procédé selon l'une des revendications 1 et 2.",
        [(1, "Procédé de lavage", ()), (2, "Procédé selon la revendication 1", (1,)), (3, "Procédé selon l'une", (1, 2))],
    ),
    "fr: a gap": (
        "1. Pompe. 2. (annulée) 3. Pompe selon la revendication 1. 5. Pompe selon la revendication 3.",
        [(1, "Pompe.", ()), (3, "Pompe selon la revendication 1", (1,)), (5, "Pompe selon la revendication 3", (3,))],
    ),
    "es: numbered steps": (
        "1. Método de lavado que comprende: 1. remojar; 2. aclarar; 3. secar. 2. Método según la reivindicación 1, en el que el agua está caliente. 3. Método según cualquiera de las reivindicaciones 1 o 2.",
        [(1, "Método de lavado", ()), (2, "Método según la reivindicación 1", (1,)), (3, "Método según cualquiera", (1, 2))],
    ),
    "es: marks with a dash": (
        "1.- Bomba con rotor. 2.- Bomba según la reivindicación 1. 3.- Uso de la bomba según la reivindicación 2.",
        [(1, "Bomba con rotor", ()), (2, "Bomba según la reivindicación 1", (1,)), (3, "Uso de la bomba", (2,))],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_claims_are_separated_from_their_steps(case):
    text, expected = CASES[case]
    found = read_claims(text).claims
    assert [(claim.number, claim.depends_on) for claim in found] == [(number, refers) for number, _, refers in expected]
    for claim, (_, start, _) in zip(found, expected, strict=True):
        assert claim.text.startswith(start)


@pytest.mark.parametrize(
    "form", ["1-24. (cancelled)", "1.-24. (canceled)", "Claims 1 to 24 (cancelled)", "1-24 (cancelled)"]
)
def test_a_range_of_cancelled_claims_counts_each(form):
    found = read_claims(f"{form} 25. A pump. 26. The pump of claim 25.")
    assert len(found.cancelled) == 24
    assert [(claim.number, claim.depends_on) for claim in found.claims] == [(25, ()), (26, (25,))]


@pytest.mark.parametrize(
    ("number", "text", "count"),
    [
        ("00001-00024", "1-24. (canceled)", 24),
        ("00001-00024", "(canceled)", 24),
        ("", "Claims 1 to 24 (cancelled)", 24),
        ("", "2, 4 and 6-9 (canceled)", 6),
        ("5", "5. (cancelled)", 1),
        ("5", "", 1),
    ],
)
def test_an_entry_of_markup_counts_each_claim_that_it_cancels(number, text, count):
    claims, notes = read_claim_texts([ClaimText(number, text)])
    assert (claims, notes) == ((), ["a cancelled claim"] * count)
