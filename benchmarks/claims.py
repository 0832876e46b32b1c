"""How many claim sets in seven languages are split and read right: number of claims, and independent claims.

The sets are invented, in the forms that offices publish and exports contain: marks of each style, one line or many,
references to one claim, several, a range, or all before. The truth is known by construction. Published sets are added
where ``../shared/data`` has them: of the EPO in three languages, of the USPTO, and of office actions. Their offices mark
up each claim, and the USPTO its references. Each is read as lines and as one line. ``-v`` names every wrong set.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from patent_mteb.patents.claims import read_claims

SETS = 40


class Language(NamedTuple):
    """Words and forms of claims in one language."""

    things: str
    details: str
    one: str
    two: str
    range: str
    all_before: str
    marks: str
    separators: tuple[str, ...]


LANGUAGES = {
    "English": Language(
        "A pump comprising a rotor and 2 blades|A method of pumping, comprising: (a) filling; (b) emptying|Use of a seal",
        "wherein the rotor is made of steel|further comprising 3 valves|characterised in that it is closed",
        "The device of claim {a}, {d}|The device according to claim {a}, {d}|A system as claimed in claim {a}, {d}",
        "The device of claim {a} or {b}, {d}|The device according to claims {a} and {b}, {d}",
        "The device of any one of claims {a} to {b}, {d}|The device as claimed in claims {a}-{b}, {d}",
        "The device of any preceding claim, {d}|The device according to one of the previous claims, {d}",
        "{n}. {t}.|{n}. {t}.|{n}) {t}.|Claim {n}. {t}.",
        ("\n", " "),
    ),
    "German": Language(
        "Pumpe, umfassend einen Rotor und 2 Flügel|Verfahren zum Pumpen mit den Schritten: a) Füllen; b) Leeren",
        "dadurch gekennzeichnet, dass der Rotor aus Stahl besteht|wobei 3 Ventile vorgesehen sind|das geschlossen ist",
        "Vorrichtung nach Anspruch {a}, {d}|Vorrichtung gemäß Anspruch {a}, {d}|Anlage mit einer Pumpe nach Patentanspruch"
        " {a}, {d}",
        "Vorrichtung nach Anspruch {a} oder {b}, {d}|Vorrichtung nach den Ansprüchen {a} und {b}, {d}"
        "|Vorrichtung nach Anspruch {a} oder nach Anspruch {b}, {d}",
        "Vorrichtung nach einem der Ansprüche {a} bis {b}, {d}|Vorrichtung nach mindestens einem der Patentansprüche {a}-{b}, {d}",
        "Vorrichtung nach einem der vorhergehenden Ansprüche, {d}|Vorrichtung nach einem oder mehreren der vorstehenden"
        " Ansprüche, {d}|Vorrichtung gemäß einem der vorangehenden Patentansprüche, {d}",
        "{n}. {t}.|{n}. {t}.|{n}) {t}.",
        ("\n", " "),
    ),
    "French": Language(
        "Pompe comprenant un rotor et 2 pales|Procédé de pompage comprenant les étapes suivantes : a) remplir ; b) vider",
        "caractérisé en ce que le rotor est en acier|comprenant en outre 3 vannes|dans lequel la pompe est fermée",
        "Dispositif selon la revendication {a}, {d}|Dispositif conforme à la revendication {a}, {d}|Système comportant une"
        " pompe selon la revendication {a}, {d}",
        "Dispositif selon la revendication {a} ou {b}, {d}|Dispositif selon les revendications {a} et {b}, {d}"
        "|Dispositif selon la revendication {a} ou la revendication {b}, {d}",
        "Dispositif selon l'une quelconque des revendications {a} à {b}, {d}|Dispositif suivant l'une des revendications {a}"
        " à {b}, {d}",
        "Dispositif selon l'une quelconque des revendications précédentes, {d}|Dispositif selon une des revendications"
        " antérieures, {d}",
        "{n}. {t}.|{n}. {t}.|{n} - {t}.|{n}) {t}.",
        ("\n", " "),
    ),
    "Spanish": Language(
        "Bomba que comprende un rotor y 2 palas|Procedimiento de bombeo que comprende: a) llenar; b) vaciar",
        "caracterizado porque el rotor es de acero|que comprende además 3 válvulas|en el que la bomba está cerrada",
        "Dispositivo según la reivindicación {a}, {d}|Dispositivo de acuerdo con la reivindicación {a}, {d}|Sistema que"
        " comprende una bomba según la reivindicación {a}, {d}",
        "Dispositivo según la reivindicación {a} o {b}, {d}|Dispositivo según las reivindicaciones {a} y {b}, {d}",
        "Dispositivo según cualquiera de las reivindicaciones {a} a {b}, {d}|Dispositivo según una de las reivindicaciones"
        " {a} a {b}, {d}",
        "Dispositivo según cualquiera de las reivindicaciones anteriores, {d}|Dispositivo según una de las"
        " reivindicaciones precedentes, {d}",
        "{n}. {t}.|{n}.- {t}.|{n}. {t}.",
        ("\n", " "),
    ),
    "Chinese": Language(
        "一种泵，其特征在于，包括转子和2个叶片|一种泵送方法，包括以下步骤：1）充液；2）排空|一種密封件",
        "其特征在于，所述转子由钢制成|还包括3个阀|所述泵是封闭的",
        "根据权利要求{a}所述的装置，{d}|如权利要求{a}所述的装置，{d}|一种系统，包括权利要求{a}所述的泵，{d}|如請求項{a}所述之裝置，{d}"
        "|如申請專利範圍第{a}項所述之裝置，{d}",
        "根据权利要求{a}或{b}所述的装置，{d}|根据权利要求{a}或权利要求{b}所述的装置，{d}|如請求項{a}或{b}所述之裝置，{d}",
        "根据权利要求{a}-{b}中任一项所述的装置，{d}|如权利要求{a}至{b}任意一项所述的装置，{d}|如請求項{a}至{b}中任一項所述之裝置，{d}",
        "根据前述权利要求中任一项所述的装置，{d}|根据上述任一权利要求所述的装置，{d}",
        "{n}. {t}。|{n}.{t}。|{n}、{t}。|{n}．{t}。",
        ("\n", ""),
    ),
    "Japanese": Language(
        "ロータと２枚の羽根とを備えるポンプ|ポンプの製造方法であって、（１）充填する工程と、（２）排出する工程とを含む方法|密封材の使用",
        "前記ロータが鋼からなる|さらに３個の弁を備える|前記ポンプが密閉されている",
        "{d}、請求項{a}に記載の装置|請求項{a}記載の装置であって、{d}装置|請求項{a}に記載のポンプを備えるシステムであって、{d}システム",
        "{d}、請求項{a}又は{b}に記載の装置|{d}、請求項{a}または請求項{b}に記載の装置",
        "{d}、請求項{a}から{b}のいずれか１項に記載の装置|{d}、請求項{a}～{b}のいずれか一項に記載の装置|{d}、請求項{a}乃至請求項{b}のいずれかに記載の装置"
        "|{d}、請求項{a}ないし{b}のいずれか1項に記載の装置",
        "{d}、請求項{a}から{b}までのいずれか一項に記載の装置",
        "【請求項{w}】\n{t}。|【請求項{n}】{t}。|[請求項{n}] {t}。|{n}. {t}。",
        ("\n", ""),
    ),
    "Korean": Language(
        "로터와 2개의 날개를 포함하는 펌프|펌핑 방법으로서, (1) 충전하는 단계; (2) 배출하는 단계를 포함하는 방법|밀봉재의 용도",
        "상기 로터는 강철로 이루어진|3개의 밸브를 더 포함하는|상기 펌프는 밀폐된",
        "제{a}항에 있어서, {d} 장치|제 {a} 항에 있어서, {d} 장치|청구항 {a}에 있어서, {d} 장치|제{a}항의 펌프를 포함하고, {d} 시스템",
        "제{a}항 또는 제{b}항에 있어서, {d} 장치|청구항 {a} 또는 청구항 {b}에 있어서, {d} 장치|제{a}항 또는 제{b}항 중 어느 한 항에 있어서, {d} 장치",
        "제{a}항 내지 제{b}항 중 어느 한 항에 있어서, {d} 장치|청구항 {a} 내지 {b} 중 어느 한 항에 있어서, {d} 장치",
        "제{a}항 내지 제{b}항 중 어느 한 항에 있어서, {d} 장치",
        "청구항 {n}\n{t}.|[청구항 {n}] {t}.|【청구항 {n}】\n{t}.|{n}. {t}.",
        ("\n",),
    ),
}


def _wide(number: int) -> str:
    return str(number).translate(str.maketrans("0123456789", "０１２３４５６７８９"))


def invented(language: Language, seed: int) -> tuple[str, list[tuple[int, ...]]]:
    """Return a claim set, and for each of its claims the numbers of those it depends on."""
    chance = random.Random(seed)

    def pick(forms: str) -> str:
        return chance.choice(forms.split("|"))

    claims, truth = [], []
    for number in range(1, chance.randint(2, 24)):
        before = number - 1
        kind = (
            "new"
            if before == 0 or chance.random() < 0.12
            else chance.choice(("one", "one", "two", "range", "all_before"))
        )
        if kind in ("two", "range") and before < 2:
            kind = "one"
        a, b, refers = 0, 0, ()
        if kind == "one":
            a = chance.randint(1, before)
            refers = (a,)
        elif kind != "new":
            a, b = (
                sorted(chance.sample(range(1, before + 1), 2)) if kind != "all_before" and before > 1 else (1, before)
            )
            refers = (a, b) if kind == "two" else tuple(range(a, b + 1))
        if kind == "all_before" and before == 1 and "{b}" in language.all_before:
            kind = "one"
        text = pick(language.things if kind == "new" else getattr(language, kind))
        claims.append(text.format(a=a, b=b, d=pick(language.details)))
        truth.append(refers)
    mark, separator = pick(language.marks), chance.choice(language.separators)
    texts = (mark.format(n=n, w=_wide(n), t=text) for n, text in enumerate(claims, start=1))
    return separator.join(texts), truth


SHARED = Path(__file__).parents[2] / "shared" / "data"
REFERENCES = ("claim-ref", "dependent-claim-reference", "CLREF")
"""Elements of the USPTO that mark a reference to a claim."""
NAIVE = re.compile(
    r"\b(?:claims?|\w*anspr[uü]che?n?|revendications?)\W+(?:\w+\W+){0,4}?\d"
    r"|claims? [Il]\b|the (?:first|second|third|fourth|fifth)(?: or \w+)? claim"
    r"|(?:preceding|previous|above|vor\w+en) (?:\w+ )?(?:claims?|\w*ansprüchen?)"
    r"|revendications?,? (?:préc\w+|antérieure|ci-dessus)",
    re.IGNORECASE,
)
"""A reference to a claim as a plain search sees it: the reference for sets of the EPO, which marks none."""


class Real(NamedTuple):
    """A published claim set: the text of each claim, and which of them are independent if the source says so."""

    source: str
    file: str
    language: str
    claims: list[str]
    independent: list[bool] | None


def _plain(element: Any) -> str:
    return " ".join("".join(element.itertext()).split())


def _roots(folder: str) -> Iterator[tuple[str, Any]]:
    from lxml import etree

    parser = etree.XMLParser(recover=True, load_dtd=False, resolve_entities=False, huge_tree=True)
    for path in sorted((SHARED / "bulk" / folder).glob("*.xml")):
        for content in re.split(rb"(?=<\?xml )", path.read_bytes()):
            if content.strip():
                yield path.name, etree.fromstring(content.strip(), parser)


def real() -> Iterator[Real]:
    """Yield the claim sets whose claims the offices mark up one by one, in ``../shared/data``."""
    for file, root in _roots("eps"):
        for claims in root.iter("claims"):
            texts = [_plain(claim) for claim in claims.iter("claim")]
            yield Real("EPO", file, claims.get("lang", ""), texts, [not NAIVE.search(text) for text in texts])
    for file, root in _roots("uspto"):
        if claims := list(root.iter("claim", "CLM")):
            marked = [not any(True for _ in claim.iter(*REFERENCES)) for claim in claims]
            yield Real("USPTO", file, "en", [_plain(claim) for claim in claims], None if all(marked) else marked)
    for path in sorted((SHARED / "office-actions" / "record").glob("*.json")):
        record = json.loads(path.read_text("utf-8"))
        parsed = path.parents[1] / "parsed_CTNF" / path.name.replace("rec_", "pC_")
        rejected = json.loads(parsed.read_text("utf-8"))["claims"] if parsed.is_file() else []
        for when in ("initialClaims", "finalClaims"):
            texts = [" ".join(text.split()) for text in record[when]]
            if len(texts[0]) > sum(map(len, texts[1:])) / 2:  # the first text is the whole set
                continue
            known = when == "initialClaims" and [one["claimNumber"] for one in rejected] == [*range(1, len(texts) + 1)]
            marked = [one["parentClaim"] == -1 for one in rejected] if known else None
            yield Real("office actions", f"{path.name} {when}", "en", texts, marked)


def is_cancelled(text: str) -> bool:
    return bool(re.search(r"^\W*(?:\d+\W+)*\(?(?:cancel|withdrawn\)?$)", text, re.IGNORECASE))


def is_right(one: Real, separator: str) -> tuple[bool, bool | None]:
    """Return whether a published set has the right number of claims and, if known, the right independent ones."""
    kept = [not is_cancelled(text) for text in one.claims]
    numbered = [text if text[:1].isdigit() else f"{n}. {text}" for n, text in enumerate(one.claims, start=1)]
    claims = read_claims(separator.join(numbered)).claims
    wanted = one.independent and [truth for truth, there in zip(one.independent, kept, strict=True) if there]
    return len(claims) == sum(kept), wanted and [claim.independent for claim in claims] == wanted


def main() -> int:
    """Print the share of right sets by language and source; return 1 if one is below 98%."""
    print(f"{'sets':22} {'sets':>5} {'number of claims':>17} {'independent':>12} {'references':>11}")
    worst = 1.0
    for name, language in LANGUAGES.items():
        numbers = independent = references = 0
        for seed in range(SETS):
            text, truth = invented(language, seed)
            claims = read_claims(text).claims
            numbers += len(claims) == len(truth)
            independent += [claim.independent for claim in claims] == [not refers for refers in truth]
            references += [claim.depends_on for claim in claims] == truth
        worst = min(worst, numbers / SETS, independent / SETS)
        print(f"{name:22} {SETS:5} {numbers / SETS:17.1%} {independent / SETS:12.1%} {references / SETS:11.1%}")
    counts: dict[str, Counter[str]] = {}
    for one in real():
        for form, separator in (("lines", "\n"), ("one line", " ")):
            right, same = is_right(one, separator)
            found = counts.setdefault(f"{one.source} {one.language}, {form}", Counter())
            found.update(sets=1, numbers=right, known=same is not None, independent=bool(same))
            if "-v" in sys.argv and not (right and same is not False):
                print(f"  {one.file} {one.language}, {form}: number of claims {right}, independent ones {same}")
    for name, found in counts.items():
        share = f"{found['independent'] / found['known']:12.1%} (of {found['known']})" if found["known"] else ""
        print(f"{name:22} {found['sets']:5} {found['numbers'] / found['sets']:17.1%} {share}")
    return int(worst < 0.98)


if __name__ == "__main__":
    sys.exit(main())
