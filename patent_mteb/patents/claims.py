"""Split the claims of a patent and find the references between them.

Claims are numbered in many forms and refer to each other in many wordings (35 U.S.C. 112(d); Rule 43(4) EPC; Rule 6.4
PCT). :func:`read_claims` lists those that are read. The tests measure it on 2,038 claim sets of US patents.
Sophia-Bench (§3.3) and WIPO-AT (Table 1) need independent claims.

Each language words a reference to a claim in few ways. :func:`in_english` translates these words, so that one grammar
reads all languages: ``nach einem der Ansprüche 1 bis 3`` becomes ``nach einem der claims 1 to 3``.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from patent_mteb.patents.records import Claim, Patent
from patent_mteb.patents.text import WORDING, any_of, plain_lines

_NUMBER = r"\d{1,4}(?!\d|\.\d| ?%|[-–][A-Za-z])"
_FILLER = r"(?:(?:claims?|of|in|any|one|the|either|both|nos?|numbers?)[\s.:]+){0,5}"
_RANGE_WORD = r"(?:-|–|—|−|to|through|thru|till|until|up to)"
_CLAIM_WORD = re.compile(r"[Cc](?<!\w.)(?i:(?<!\bthis .)laims?)(?=\b|\d)")
"""It starts with a set of characters because the regular expression engine then skips all others, which is faster."""
_NUMBERS_AFTER = re.compile(
    rf"[\s.:(\[]*{_FILLER}(?P<numbers>{_NUMBER}"
    rf"(?:[\s.]*(?:(?:,|;|/|&|{_RANGE_WORD}|and/or|and|or)\s*){{1,3}}{_FILLER}{_NUMBER})*)",
    re.IGNORECASE,
)
_MISREAD_ONE_AFTER = re.compile(r"\s+[lI]\b")
_EARLIER = f"(?:{any_of('earlier_claims')})"
_ALL_EARLIER_BEFORE = re.compile(
    rf"\b(?:{_EARLIER}(?:[\s-]+\w+){{0,2}}?\s+claims?|(?:any|one|either|each)(?: one)?(?: of)?(?: the)? claims)$",
    re.IGNORECASE,
)
_THE_EARLIER_BEFORE = re.compile(rf"\bthe {_EARLIER} claim$", re.IGNORECASE)
_PREPOSITION_BEFORE = re.compile(r"\b(?:of|in|to|by|with|from|per|under|on|as) claim$", re.IGNORECASE)
_NO_NUMBER_AFTER = re.compile(r"\s*(?:[,;:.)]|\b(?:wherein|where|in which|compris|characteri))", re.IGNORECASE)
_ITEM = re.compile(rf"(\d+)(?:[\s.]*{_RANGE_WORD}\s*(?:to\s+)?{_FILLER}(\d+))?", re.IGNORECASE)
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_ORDINAL = re.compile("|".join(_ORDINALS), re.IGNORECASE)
_ORDINALS_BEFORE = re.compile(
    rf"\b(?:according to|as in|as (?:claimed|defined|recited|set forth) in) the (?P<ordinals>(?:{_ORDINAL.pattern})"
    rf"(?:(?:,| or| and| to)+ (?:the )?(?:{_ORDINAL.pattern}))*) claims?$",
    re.IGNORECASE,
)
_LONGEST_LEAD_TO_CLAIM = 60  # characters before a reference in which its phrase is looked for, a choice
_MOST_CLAIMS = 9999  # numbers of claims have up to four digits


class _Reference(NamedTuple):
    """A reference to claims: by ``numbers``, to the previous claim, or to all previous claims."""

    start: int
    numbers: str = ""
    previous_only: bool = False


def _find_references(text: str) -> Iterator[_Reference]:
    read_up_to = 0
    for word in _CLAIM_WORD.finditer(text):
        start, end = word.span()
        if start < read_up_to:
            continue
        lead = max(0, start - _LONGEST_LEAD_TO_CLAIM)
        if after := _NUMBERS_AFTER.match(text, end):
            read_up_to = after.end()
            yield _Reference(start, after["numbers"])
        elif _MISREAD_ONE_AFTER.match(text, end):
            yield _Reference(start, "1")
        elif named := _ORDINALS_BEFORE.search(text, lead, end):
            yield _Reference(start, _ORDINAL.sub(lambda m: str(1 + _ORDINALS.index(m[0].lower())), named["ordinals"]))
        elif _THE_EARLIER_BEFORE.search(text, lead, end):
            yield _Reference(start, previous_only=True)
        elif _ALL_EARLIER_BEFORE.search(text, lead, end):
            yield _Reference(start)
        elif _PREPOSITION_BEFORE.search(text, lead, end) and _NO_NUMBER_AFTER.match(text, end):
            yield _Reference(start, previous_only=True)


def _numbers(items: str) -> list[tuple[int, int]]:
    """The ranges of ``2, 4 and 6-9``, both ends included."""
    return [(int(start), int(end or start)) for start, end in _ITEM.findall(items)]


def named_claims(text: str) -> set[int]:
    """The claims of ``1-24`` or ``2, 4 and 6 to 9``, as in the text of cancelled claims."""
    return {number for start, end in _numbers(text) for number in range(start, min(end, start + _MOST_CLAIMS) + 1)}


def _depends_on(text: str, number: int, known: Sequence[int], repeated: Container[int]) -> tuple[int, ...]:
    """The numbers of the claims that claim ``number`` refers to, sorted."""
    text = in_english(text)
    referred: set[int] = set()
    ends = _END_OF_CLAIM.finditer(text)
    first_end = None
    place = bisect_left(known, number)
    previous = known[max(place - 1, 0) : place]
    for reference in _find_references(text):
        if not reference.numbers:
            referred.update(previous if reference.previous_only else known[:place])
            continue
        ranges = _numbers(reference.numbers)
        named = {ranges[0][0]}
        for start, end in ranges:
            members = known[bisect_left(known, start) : bisect_left(known, end + 1)]
            named.update(member for member in members if start == end or member != number)
        if number in named and number not in repeated:
            named.remove(number)
            if not named:
                first_end = first_end or next(ends, None)
                if first_end is None or not _END_OF_CLAIM.match(text, first_end.start(), reference.start):
                    named.update(previous)
        referred |= named
    return tuple(sorted(referred))


def referred_claims(text: str, number: int, known: Sequence[int]) -> tuple[int, ...]:
    """Return the claims that claim ``number`` refers to; ``known`` are the sorted numbers of the set."""
    return tuple(one for one in _depends_on(text, number, known, ()) if one != number)


@dataclass(frozen=True, slots=True)
class ClaimSet:
    """The claims of a text, and the numbers of claims that are cancelled or withdrawn without a text."""

    claims: tuple[Claim, ...]
    cancelled: tuple[int, ...]


class _Mark(NamedTuple):
    """A number in a text that may start a claim, and the positions of the number and of the text after it."""

    numbers: tuple[int, ...]
    start: int
    body: int
    style: str
    opens_line: bool
    after_stop: bool
    void: bool
    capital: bool
    refers: bool
    claimlike: bool
    lettered: bool

    @property
    def sure(self) -> bool:
        return self.void or (self.after_stop and self.capital)


_VOID = rf"(?:claims? )?(?:(?:is|are|was|were|has been|have been) )?(?:{any_of('void_claims')})"
_VOID_BODY = re.compile(rf"\W*{_VOID}(?: without prejudice)?\W*", re.IGNORECASE)
_VOID_END = re.compile(rf"\b{_VOID}(?: without prejudice)? ?[)\]][.;]?$", re.IGNORECASE)
_STATUS = re.compile(
    r"^[(\[](?:original|current|previous|new\b|withdrawn|amended|once|twice|re-?presented|reinstated|not entered)"
    r"[^()\[\]]{0,40}[)\]] ?[:.,;]? ?",
    re.IGNORECASE,
)
_MARK = re.compile(
    r"(?:^|(?<= ))(?:"
    rf"(?P<void>\d{{1,4}}(?:[ .]*(?:-|–|—|to|through|,|and|&)[ .]*\d{{1,4}}){{1,20}})[ .:]*\w? ?(?=[(\[] ?{_VOID}\b)"
    r"|[\[【]?claim (?P<named>\d{1,4})(?P<named_style> ?[\]】):.]+) ?(?=\S)"
    r"|(?P<number>\d{1,4})(?P<letter>[a-z]?)(?P<style> ?\.[-–)]| ?[.):、．]| ?[-–](?= ))"
    r"(?: ?(?=[^\W\d_]|[\"“'‘(\[])| (?=\d))"
    r"|(?P<bare>(?<![^\n])\d{1,4}) (?=(?-i:[A-Z])))",
    re.MULTILINE | re.IGNORECASE,
)
_MARK_START = re.compile(r"[\d\[【Cc](?<![^\n ].)(?:(?<![Cc])|(?i:laim))")  # where _MARK may match, for speed
_ABBREVIATION = re.compile(r"\b(?:nos?|figs?|seq|e\.g|i\.e|approx|ca|eqs?|refs?)\.$", re.IGNORECASE)
_CLAIM_OPENING = re.compile(rf"(?:{any_of('claim_openings')})\b")
_PREFACE = re.compile(r"\bclaim|\bletters patent\b|\bdefined as follows\b", re.IGNORECASE)
_LONGEST_PREFACE = 400  # characters before claim 1 (We claim), a choice
_REFERENCE_WITHIN = 300  # characters from its start in which a dependent claim names another, a choice
_END_OF_CLAIM = re.compile(r"(?:(?<=[^\W\d_]{2}\.)|(?<=[\d)\]]\.)) (?=(?:An?|The) )")
_ORNAMENT = re.compile(r"(?<!\*)(?<!\* )(?: ?\*){2,}+$")  # linear time: matches start at the first star of a row only


def _after_stop(text: str, start: int) -> bool:
    end = start
    while end and text[end - 1].isspace():
        end -= 1
    lead = max(0, end - 60)
    if end and text[end - 1] == ".":
        return not _ABBREVIATION.search(text, lead, end)
    return end == 0 or bool(_VOID_END.search(text, lead, end))


def _mark_matches(text: str) -> Iterator[re.Match[str]]:
    end = 0
    for candidate in _MARK_START.finditer(text):
        if candidate.start() >= end and (mark := _MARK.match(text, candidate.start())):
            end = mark.end()
            yield mark


def _marks(text: str) -> list[_Mark]:
    matches = list(_mark_matches(text))
    foreign = in_english(text) != text
    references = [] if foreign else [reference.start for reference in _find_references(text)]
    ends = [*(match.start() for match in matches[1:]), len(text)]
    marks = []
    for match, end in zip(matches, ends, strict=False):
        start, body = match.span()
        number = match["named"] or match["number"] or match["bare"]
        ranges = _numbers(match["void"]) if match["void"] else [(int(number), int(number))]
        following = bisect_left(references, body)
        refers = following < len(references) and references[following] < min(body + _REFERENCE_WITHIN, end)
        if foreign:
            refers = any(_find_references(in_english(text[body : min(body + _REFERENCE_WITHIN, end)])))
        capital = text[body].isupper() or text[body] in "\"“'‘(["
        mark = _Mark(
            numbers=tuple(n for first, last in ranges for n in range(first, max(first, last) + 1)),
            start=start,
            body=body,
            style=(match["named_style"] or match["style"] or "").strip(),
            opens_line=start == 0 or text[start - 1] == "\n",
            after_stop=_after_stop(text, start),
            void=bool(match["void"] or _VOID_BODY.fullmatch(text, body, end)),
            capital=capital,
            refers=refers,
            claimlike=capital and (refers or bool(_CLAIM_OPENING.match(text, body))),
            lettered=bool(match["letter"]),
        )
        marks.append(mark)
    return marks


def _is_first_claim(mark: _Mark, text: str) -> bool:
    """Whether only a preface precedes a mark, or a line that does not introduce it."""
    lead = text[: mark.start].strip() if mark.start <= _LONGEST_PREFACE else None
    if lead == "" or (lead and _is_preface(lead)):
        return True
    return mark.numbers[0] == 1 and mark.opens_line and mark.capital and text[mark.start - 2] not in ":;,"


def _numbered(marks: Sequence[_Mark], text: str) -> Sequence[_Mark]:
    """The marks from the first claim on. A text with a claim 2 but no claim 1 starts with claim 1."""
    for position, mark in enumerate(marks):
        if _is_first_claim(mark, text):
            return marks[position:]
        if mark.numbers[0] == 2 and mark.sure and mark.claimlike:
            return [mark._replace(numbers=(1,), start=0, body=0), *marks[position:]]
    return ()


def _chain(marks: Sequence[_Mark]) -> list[_Mark]:
    """The marks that start claims: the first, and those that continue its numbering in its style."""
    style = next((mark.style for mark in marks if mark.style and (mark.sure or mark is marks[0])), "")
    candidates = [mark for mark in marks[1:] if mark.style == style or mark.void or (mark.after_stop and mark.refers)]
    last_sure = {mark.numbers[0]: mark.start for mark in candidates if mark.sure}
    chosen = [marks[0]]
    expected = marks[0].numbers[-1] + 1
    for mark in candidates:
        number = mark.numbers[0]
        worded = mark.void or mark.claimlike
        if number == expected and not mark.lettered:
            better_later = not mark.sure and last_sure.get(number, -1) > mark.start
            accepted = not better_later and (mark.opens_line or mark.after_stop or worded)
        elif number > expected and not mark.lettered:
            skipped_later = any(last_sure.get(skipped, -1) > mark.start for skipped in range(expected, number))
            starts = mark.after_stop and mark.opens_line if skipped_later else mark.after_stop or mark.opens_line
            accepted = worded and starts
        else:
            accepted = worded and mark.after_stop and (mark.opens_line or mark.refers)
        if accepted:
            chosen.append(mark)
            expected = max(expected, mark.numbers[-1] + 1)
    return chosen


def _is_preface(text: str) -> bool:
    """Whether a text introduces the claims, such as ``CLAIMS`` or ``We claim:``."""
    return len(text) <= _LONGEST_PREFACE and bool(_PREFACE.search(text)) and not any(_find_references(text))


def _unnumbered(lines: Sequence[str]) -> list[str]:
    """Split claims without numbers, of one sentence each.

    A claim starts in a new line after a full stop; in a text of one line it starts with an article after a full stop.
    """
    if lines and _is_preface(lines[0]) and (lines[0].endswith(":") or " " not in lines[0]):
        lines = lines[1:]
    groups: list[list[str]] = []
    for line in lines:
        if groups and not (groups[-1][-1].endswith(".") and line[:1].isupper()):
            groups[-1].append(line)
        else:
            groups.append([line])
    claims = [" ".join(group) for group in groups]
    return claims if len(claims) > 1 else [sentence for claim in claims for sentence in _END_OF_CLAIM.split(claim)]


_SENTENCE = re.compile(r"(?<=[^\W\d_]{3}\.) (?=([^\W\d_]))")


def _holds_several(claim: str) -> bool:
    """Whether a text that was not split holds several claims: it refers to one, or has several sentences."""
    if any(_find_references(in_english(claim))):
        return True
    return any(not start[1].islower() for start in _SENTENCE.finditer(claim))


def read_claims(text: str) -> ClaimSet:
    """Split the claims of a patent and find the references between them.

    **Numbers** occur at the start of lines and in running text (``... of claim 1. 3. The device ...``), in the
    forms ``1.``, ``1 .``, ``1)``, ``1:``, ``1-``, ``(1)``, ``1°)``, ``Claim 1.`` and ``[Claim 1]``. All numbers
    have the form of the first one and form a sequence, so that numbered steps within a claim stay in it. Gaps are
    accepted (cancelled claims are often missing), and so are numbers out of sequence if the text after them can
    only be a claim. ``number`` is the number as written, so a misnumbered set can contain a number twice. Text
    before claim 1 (``We claim:``) is dropped. A claim 1 without its number is recognised by the claim 2 after it. A
    text without numbers is split after full stops at line ends or, in running text, before ``A``, ``An`` and
    ``The``; its claims are numbered from 1. If it still refers to a claim, or has several sentences, it could not
    be split: it is one claim with number 0, which is not independent.

    **Cancelled claims** (``2. (canceled)``, ``1.-20. (canceled)``) are named in the result but give no claim. Labels of
    status (``(Currently Amended)``) and markup are removed.

    **Languages** are English, German, French, Spanish, Chinese, Japanese and Korean.

    **Dependence** is formal: a claim depends on every claim that it mentions (``of claim 1``, ``as claimed in any of
    claims 1 to 3``, ``according to any preceding claim``). This includes claims of another category (``A system
    comprising the device of claim 1``), because the wording does not show legal independence. ``depends_on`` has the
    mentioned numbers, also later ones (errors are common), and those of a range or of "any preceding claim" that exist.
    ``claim l`` is read as claim 1. A reference without its number (``the method of claim, wherein``) means the previous
    claim. No claim depends on itself: its own number means the previous claim if it occurs in the first sentence
    (``5. The pump of claim 5, wherein``); later in the text it belongs to a claim whose number is missing.
    """
    lines = [line for line in (_ORNAMENT.sub("", one) if "*" in one else one for one in plain_lines(text)) if line]
    plain = "\n".join(lines)
    numbered: list[tuple[tuple[int, ...], str]] = []
    texts: list[tuple[int, str]] = []
    if is_east_asian(plain):
        numbered = [((number,), body) for number, body in split_east_asian(plain)]
    elif marks := _numbered(_marks(plain := _with_plain_marks(plain)), plain):
        chain = _chain(marks)
        ends = [*(following.start for following in chain[1:]), len(plain)]
        numbered = [
            (mark.numbers, plain[mark.body : end].replace("\n", " ").strip())
            for mark, end in zip(chain, ends, strict=True)
        ]
    else:
        texts = list(enumerate(_unnumbered(lines), start=1))
        if len(texts) == 1 and _holds_several(texts[0][1]):
            texts = [(0, texts[0][1])]
    cancelled: list[int] = []
    for numbers, body in numbered:
        body = _STATUS.sub("", body, count=1) if body.startswith(("(", "[")) else body
        if not body or _VOID_BODY.fullmatch(body):
            cancelled.extend(numbers)
        else:
            texts.append((numbers[0], body))
    counts = Counter(number for number, _ in texts)
    repeated = {number for number, count in counts.items() if count > 1}
    known = sorted(counts)
    claims = tuple(Claim(number, body, _depends_on(body, number, known, repeated)) for number, body in texts)
    return ClaimSet(claims, tuple(cancelled))


_SOME_CLAIM = "(?:patentanspruch|anspruch|revendication|reivindica(?:ción|ção)|rivendicazione)"
_OTHER_MARKS = (
    (re.compile(r"[(\[]1[)\]] "), r"(?:^|(?<=[.;] ))[(\[](\d{1,3})[)\]] ", r"\1. "),
    (re.compile(r"1\.?\n"), r"^(\d{1,3})\.?\n(?=\S)", r"\1. "),
    (re.compile("1[ªº°]"), r"(?:^|(?<=\. ))(\d{1,3})[ªº°](?= ?[.):-])", r"\1"),
    (
        re.compile(f"{_SOME_CLAIM} 1", re.IGNORECASE),
        rf"(?:^|(?<=\. )){_SOME_CLAIM} (?=\d{{1,3}} ?[.):])",
        "claim ",
    ),
    (re.compile(r"[^|;]*(?:;;|\|)\s*2 ?[.)]"), r"(?:;;|\|{1,2})\s*(?=\d{1,3} ?[.)])", "\n"),
)
"""How a claim set starts, its marks, and how these are written instead."""


def _with_plain_marks(text: str) -> str:
    """Return a claim set with its marks in the forms ``1.`` and ``claim 1.``"""
    for start, mark, plain in _OTHER_MARKS:
        if start.match(text):
            text = re.sub(mark, plain, text, flags=re.IGNORECASE | re.MULTILINE)
    return text


def split_claims(text: str) -> tuple[Claim, ...]:
    return read_claims(text).claims


_READ_LANGUAGES = frozenset(["", "en", "de", "fr", "es", "pt", "it", "zh", "ja", "ko"])


_RARELY = 5  # claims of a set that rarely are all independent: it may be in a language whose references are not read


def unread_claims(patent: Patent) -> Iterator[str]:
    """Yield what could not be read of the claims of a patent and of their translations, by language."""
    translated = ((one.language, one.claims) for one in patent.translations)
    for language, claims in ((patent.languages.claims, patent.claims), *translated):
        if not all(claim.number for claim in claims):
            yield f"claims that could not be split ({language or 'unknown language'}): one text without a first claim"
        elif len(claims) >= (_RARELY if language in _READ_LANGUAGES else 2) and all(one.independent for one in claims):
            yield f"claims without a reference to another ({language or 'unknown language'}): all count as independent"


def independent_claims(claims: Iterable[Claim]) -> tuple[Claim, ...]:
    """Return the claims without a reference to another claim (Sophia-Bench §3.3, query ``iclms``)."""
    return tuple(claim for claim in claims if claim.independent)


def first_independent_claim(claims: Sequence[Claim]) -> str:
    """Return the text of the first independent claim, else of the first claim, without its number.

    This is ``Claim1`` of WIPO-AT (§3.1.3, Table 1). It is empty if the claims could not be split.
    """
    return next((claim.text for claim in (*independent_claims(claims), *claims) if claim.number), "")


def claims_text(claims: Iterable[Claim], separator: str = " ") -> str:
    """Join all claims with their numbers: ``"1. A device ... 2. The device of claim 1 ..."``."""
    return separator.join(f"{claim.number}. {claim.text}" if claim.number else claim.text for claim in claims)


def claim_in_full(claims: Iterable[Claim], number: int) -> str:
    """Return the text of a claim after the texts of the claims it depends on; of several the first counts."""
    known = {claim.number: claim for claim in claims}
    chain: dict[int, None] = {}
    while number in known and number not in chain:
        chain[number] = None
        number = next(iter(known[number].depends_on), 0)
    return " ".join(known[one].text for one in reversed(chain))


_EAST_ASIAN = re.compile("[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
_WORDS = ("anspr", "revendication", "reivindica", "rivendicazion")
_DIGITS = str.maketrans("０１２３４５６７８９", "0123456789")
_N = r"(?<!\d)\d{1,4}(?!\d)"

_NEXT_NUMBER = r"(?= (?:(?:nach|gemäß|selon|según|la|le|el|las|les|de) ){0,2}(?:claims? )?\d)"
_EUROPEAN = [
    (re.compile(words.replace("{next_number}", _NEXT_NUMBER), re.IGNORECASE), english)
    for words, english in WORDING["references_to_claims"]
]

_CLAIM = "(?:权利要求|權利要求|请求项|請求項|申请专利范围|申請專利範圍|特許請求の範囲|クレーム|청구항)"
_CLAIM_ITEM = rf"(?:{_CLAIM})? ?(?:第|제)? ?({_N})(?: ?(?:項|项|항))?"
_LINKS = (
    ("to", "[-‐‑–—~〜～－]|至|到|乃至|ないし|から|내지|부터"),
    ("or", "[、/／]|或者?|又は|または|もしくは|若しくは|또는|혹은"),
)
_AND = "和|及び?|以及|与|與|および|並びに|ならびに|및|와|과"
_LINK = rf"(?: ?(?:{_LINKS[0][1]}|{_LINKS[1][1]}|{_AND}| ?[,，](?= ?(?:{_CLAIM}|제))) ?){{1,2}}"
_ANY_ITEM = _CLAIM_ITEM.replace("(" + _N + ")", _N)
_NUMBERED = re.compile(
    rf"(?:{_CLAIM} ?(?:第|제)? ?{_N}(?: ?(?:項|项|항))?|제 ?{_N} ?항|(?<=[如依据據照])第 ?{_N} ?[項项])"
    rf"(?:{_LINK}{_ANY_ITEM})*"
)
_LINK_OR_ITEM = re.compile(rf"(?P<link>{_LINK})?{_CLAIM_ITEM}")
_ALL_EARLIER = re.compile(
    rf"(?:前述|上述|以上|前記|上記|先行|이전|전술한|전술된|선행|앞선)[^。．\d]{{0,8}}{_CLAIM}(?! ?[第제]? ?\d)"
)

_NAMED_MARK = re.compile(
    rf"[【\[(（<［] ?{_CLAIM} ?(?:第|제)? ?(\d{{1,4}}) ?[】\])）>］] ?[.．、:：]?"
    rf"|(?:^|(?<=[.．。])) ?(?:{_CLAIM}|제) ?제? ?(\d{{1,4}}) ?(?:항 ?(?=[.．:：]))?(?:[.．:：]|$)"
    r"|(?:^|(?<=。)) ?第(\d{1,4})[項项][.．、:：]",
    re.MULTILINE,
)
_NUMBER_MARK = re.compile(
    r"(?:(?:^|(?<=[。．.;；])) ?(\d{1,4}) ?([.．、:：)）])(?=\s?[^\s\d]|\d+[,，‐-])"  # 1.2,4-二氨基: a locant follows
    rf"|(?<![\d.．])(\d{{1,4}})([.．、])(?=(?:根据|如|按照|依据|依照){_CLAIM}))",  # after a claim without a full stop
    re.MULTILINE,
)
_STOP_BEFORE = re.compile(r"[。．.]\s*[;；]?\s*$")
_STEP_BEFORE = re.compile(r"[;；:：,，、]\s*$")
_LONGEST_MARGIN = 20  # characters before a mark that are searched for the end of a claim
_OPENING = re.compile(r"\s?一[种種类類]")
_CLAUSE_END = re.compile(r"[。;；]|[.．](?=\s)")
_OPENING_LENGTH = 60  # characters at the start of a claim that name the claims it depends on
_ASIAN_SENTENCE = re.compile(r"(?<=[。．])\s*")
_LONGEST_ASIAN_PREFACE = 60  # characters, which say more than letters, a choice


def is_east_asian(text: str) -> bool:
    """Whether at least a quarter of a text's letters are Chinese, Japanese or Korean."""
    found = 0 if text.isascii() else len(_EAST_ASIAN.findall(text))
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
    named = [(int(mark[1] or mark[2] or mark[3]), mark.start(), mark.end()) for mark in _NAMED_MARK.finditer(plain)]
    marks = named or _in_sequence(plain)
    if not marks:
        sentences = [" ".join(sentence.split()) for sentence in _ASIAN_SENTENCE.split(text)]
        return list(enumerate(filter(None, sentences), start=1))
    ends = [*(start for _, start, _ in marks[1:]), len(text)]
    return [(number, " ".join(text[body:end].split())) for (number, _, body), end in zip(marks, ends, strict=True)]


class _AsianMark(NamedTuple):
    """A number that may start a claim: after a full stop, and before a reference to a claim or ``一种``."""

    number: int
    start: int
    end: int
    form: str
    after_stop: bool
    after_step: bool
    claimlike: bool


def _asian_marks(text: str) -> Iterator[_AsianMark]:
    for mark in _NUMBER_MARK.finditer(text):
        before = text[max(0, mark.start() - _LONGEST_MARGIN) : mark.start()]
        opening = _CLAUSE_END.split(text[mark.end() : mark.end() + _OPENING_LENGTH], maxsplit=1)[0]
        stop = not before.strip() or bool(_STOP_BEFORE.search(before))
        claimlike = bool(_OPENING.match(opening)) or any(_find_references(in_english(opening)))
        form = unicodedata.normalize("NFKC", mark[2] or mark[4])
        step = not stop and bool(_STEP_BEFORE.search(before))
        yield _AsianMark(int(mark[1] or mark[3]), mark.start(), mark.end(), form, stop, step, claimlike)


def _in_sequence(text: str) -> list[tuple[int, int, int]]:
    """Number, start and end of the marks that count up from the first one in its form.

    In these languages a claim ends with a full stop. A number after a semicolon, a colon or a comma counts the steps
    of a claim, unless the text after it refers to a claim.
    """
    marks = list(_asian_marks(text))
    first = next((mark for mark in marks if mark.number == 1 and mark.start <= _LONGEST_ASIAN_PREFACE), None)
    marks = [mark for mark in marks if first and mark.form == first.form]
    sure = [mark for mark in marks if mark.after_stop and mark.claimlike]
    by_number: dict[int, list[_AsianMark]] = {}
    for mark in marks:
        by_number.setdefault(mark.number, []).append(mark)
    chosen: list[_AsianMark] = []
    following = first
    while following:
        chosen.append(following)
        start, number = following.start, following.number
        candidates = [mark for mark in by_number.get(number + 1, ()) if mark.start > start]
        following = _likeliest(candidates, by_number.get(number + 2, ()))
        if not candidates:
            sure = sure[bisect_right(sure, start, key=lambda mark: mark.start) :]
            following = next((mark for mark in sure if mark.number > number), None)
    return [(mark.number, mark.start, mark.end) for mark in chosen]


def _likeliest(candidates: Sequence[_AsianMark], later: Sequence[_AsianMark]) -> _AsianMark | None:
    """The mark of a claim among those with its number: like a claim, else after a full stop, else not like a step.

    A claim without the signs of one is before the ``later`` marks, of the next number, that have them.
    """
    after_stop = next((mark for mark in candidates if mark.after_stop), None)
    like = next((mark for mark in candidates if mark.claimlike), None)
    if (
        like
        and after_stop
        and any(after_stop.start < mark.start < like.start and mark.after_stop and mark.claimlike for mark in later)
    ):
        return after_stop
    return like or after_stop or next((mark for mark in candidates if not mark.after_step), None)
