"""Claims in German, French, Spanish, Chinese, Japanese and Korean, in the forms that :mod:`.claims` reads.

Each language words a reference to a claim in few ways. :func:`in_english` translates these words, so that one grammar
reads all languages: ``nach einem der Ansprüche 1 bis 3`` becomes ``nach einem der claims 1 to 3``.
"""

from __future__ import annotations

import re

from patent_mteb.patents.text import WORDING

_EAST_ASIAN = re.compile("[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
_WORDS = ("anspr", "revendication", "reivindicaci")
_DIGITS = str.maketrans("０１２３４５６７８９", "0123456789")
_N = r"(?<!\d)\d{1,3}(?!\d)"

_NEXT_NUMBER = r"(?= (?:(?:nach|gemäß|selon|según|la|le|el|las|les|de) ){0,2}(?:claims? )?\d)"
_EUROPEAN = [
    (re.compile(words.replace("{next_number}", _NEXT_NUMBER), re.IGNORECASE), english)
    for words, english in WORDING["references_to_claims"]
]

_CLAIM = "(?:权利要求|權利要求|请求项|請求項|申请专利范围|申請專利範圍|特許請求の範囲|クレーム|청구항)"
_ITEM = rf"(?:{_CLAIM})? ?(?:第|제)? ?({_N})(?: ?(?:項|项|항))?"
_LINKS = (
    ("to", "[-‐‑–—~〜～－]|至|到|乃至|ないし|から|내지|부터"),
    ("or", "[、/／]|或者?|又は|または|もしくは|若しくは|또는|혹은"),
)
_AND = "和|及び?|以及|与|與|および|並びに|ならびに|및|와|과"
_LINK = rf"(?: ?(?:{_LINKS[0][1]}|{_LINKS[1][1]}|{_AND}| ?[,，](?= ?(?:{_CLAIM}|제))) ?){{1,2}}"
_ANY_ITEM = _ITEM.replace("(" + _N + ")", _N)
_NUMBERED = re.compile(rf"(?:{_CLAIM} ?(?:第|제)? ?{_N}(?: ?(?:項|项|항))?|제 ?{_N} ?항)(?:{_LINK}{_ANY_ITEM})*")
_LINK_OR_ITEM = re.compile(rf"(?P<link>{_LINK})?{_ITEM}")
_ALL_EARLIER = re.compile(
    rf"(?:前述|上述|以上|前記|上記|先行|이전|전술한|전술된|선행|앞선)[^。．\d]{{0,8}}{_CLAIM}(?! ?[第제]? ?\d)"
)

_NAMED_MARK = re.compile(
    rf"[【\[(（<［] ?{_CLAIM} ?(?:第|제)? ?(\d{{1,3}}) ?[】\])）>］] ?[.．、:：]?"
    rf"|(?:^|(?<=[.．。])) ?(?:{_CLAIM}|제) ?제? ?(\d{{1,3}}) ?(?:항 ?(?=[.．:：]))?(?:[.．:：]|$)",
    re.MULTILINE,
)
_NUMBER_MARK = re.compile(r"(?:^|(?<=[。．.;；])) ?(\d{1,3}) ?([.．、:：)）])(?= ?[^\s\d])", re.MULTILINE)
_SENTENCE = re.compile(r"(?<=[。．])\s*")
_LONGEST_PREFACE = 60


def is_east_asian(text: str) -> bool:
    """Whether at least a quarter of a text's letters are Chinese, Japanese or Korean."""
    found = len(_EAST_ASIAN.findall(text))
    return bool(found) and 4 * found >= sum(map(str.isalpha, text))


def in_english(claim: str) -> str:
    """Translate the words of a claim that refer to other claims; the rest stays as it is."""
    lower = claim.lower()
    if not any(word in lower for word in _WORDS) and (claim.isascii() or not _EAST_ASIAN.search(claim)):
        return claim
    for words, english in _EUROPEAN:
        claim = words.sub(english, claim)
    claim = _ALL_EARLIER.sub(" any preceding claims ", claim.translate(_DIGITS))
    return _NUMBERED.sub(_numbered_in_english, claim)


def _numbered_in_english(reference: re.Match[str]) -> str:
    words = ["claim"]
    for item in _LINK_OR_ITEM.finditer(reference[0]):
        link = item["link"] or ""
        if link:
            words.append(next((english for english, signs in _LINKS if re.search(signs, link)), "and"))
        words.append(item[2])
    return f" {' '.join(words)} : "


def split_east_asian(text: str) -> list[tuple[int, str]]:
    """Split a claim set in Chinese, Japanese or Korean into pairs of number and text.

    The marks are ``【請求項１】``, ``청구항 1`` or ``1.``, in one form. Without marks, each sentence is a claim.
    """
    plain = text.translate(_DIGITS)
    named = [(int(mark[1] or mark[2]), mark.start(), mark.end()) for mark in _NAMED_MARK.finditer(plain)]
    marks = named or _in_sequence(plain)
    if not marks:
        sentences = [" ".join(sentence.split()) for sentence in _SENTENCE.split(text)]
        return list(enumerate(filter(None, sentences), start=1))
    ends = [*(start for _, start, _ in marks[1:]), len(text)]
    return [(number, " ".join(text[body:end].split())) for (number, _, body), end in zip(marks, ends, strict=True)]


def _in_sequence(text: str) -> list[tuple[int, int, int]]:
    """Number, start and end of the marks that count up from the first one in its form."""
    marks: list[tuple[int, int, int]] = []
    form = ""
    for mark in _NUMBER_MARK.finditer(text):
        number = int(mark[1])
        if not marks and mark.start() <= _LONGEST_PREFACE and number == 1:
            form = mark[2]
        elif not marks or mark[2] != form or number != marks[-1][0] + 1:
            continue
        marks.append((number, mark.start(), mark.end()))
    return marks
