"""Text views of a patent, and the reading of claims and of dirty text that they rest on.

A view is a tuple of section names (:data:`VIEW_SECTIONS`) joined by ONE space; empty sections leave no trace. With one space, a
BEIR row that keeps the title apart gives the very same text, because mteb and BEIR put ``title + " " + text`` before a model.
A family that marks its sections asks for ``view_text(patent, "TA", " [SEP] ")`` or calls :func:`join_sections` itself.

Sources of the views: WIPO-AT Table 1 (``TA TAC Abstract Claim1 DWPIFull DWPITA``), DAPFAM §5 (``Title Keywords Description
FullText``; full text is title + abstract + claims + description) and Sophia-Bench §3.1 and §3.3 (``Claims``, and ``Tacd``, which
is composed as ``FullText`` is).
"""

from __future__ import annotations

import html
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from html.entities import html5
from typing import NamedTuple, TypeVar

from patent_mteb.records import Claim, Description, ExpertSummary, MachineSummaries, Patent

__all__ = [
    "SECTIONS",
    "VIEWS",
    "VIEW_SECTIONS",
    "ClaimSet",
    "claims_text",
    "clean",
    "clean_patent",
    "first_independent_claim",
    "independent_claims",
    "join_sections",
    "read_claims",
    "split_claims",
    "view_text",
]

# --- markup, entities, invisible characters ---------------------------------------------------------------------------------

_TAG_NAMES = (
    r"html|head|body|title|div|span|p|br|hr|h[1-6]|ul|ol|li|dl|dt|dd|table|thead|tbody|tfoot|tr|th|td|caption|colgroup"
    r"|col|tgroup|colspec|row|entry|a|b|i|o|u|em|strong|sub|sup|sub2|sup2|small|big|tt|pre|font|center|img|smallcaps"
    r"|claims|claim|claim-text|claim-ref|claim-statement|abstract|description|invention-title|heading|paragraph|figref"
    r"|crossref|patcit|nplcit|maths|math|chemistry|tables|in-line-formulae|soh|eoh|abst-problem|abst-solution|mml:[a-z]+"
    r"|mi|mo|mn|ms|mtext|mspace|mrow|mfrac|msqrt|mroot|msub|msup|msubsup|munder|mover|munderover|mtable|mtr|mtd|mfenced"
    r"|mstyle|semantics|annotation"
)
_TAG = re.compile(
    rf"<(?P<close>/)?(?P<name>{_TAG_NAMES})"
    r"(?P<attributes>(?:\s+[\w:.-]+\s*=\s*(?:\"[^\"<>]*\"|'[^'<>]*'|[^\s\"'<>]+))*)\s*/?>",
    re.IGNORECASE,
)
_BLOCK = re.compile(
    r"p|br|hr|div|h[1-6]|[uo]l|li|d[ldt]|table|tr|t[hd]|row|entry|claims?|claim-text|abstract|description|heading|paragraph|maths|pre|[se]oh",
    re.IGNORECASE,
)
_LETTER_TAGS = frozenset("abiou")
_OTHER_MARKUP = re.compile(r"<!--[^<>]*-->|<\?[A-Za-z][^<>]*\?>|<!DOCTYPE[^<>]*>", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:amp;)*(#\d{1,7};|#[xX][0-9A-Fa-f]{1,6};|[A-Za-z][A-Za-z0-9]{1,31};)")
_ENTITY_DEPTH = 4
_INVISIBLE = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]")
_BREAK = re.compile(r"\r\n?|[\v\f\x85\u2028\u2029]")
_BLANKS = re.compile(r"[^\S\n]+")


def _strip_tags(text: str) -> str:
    closed = {match["name"].lower() for match in _TAG.finditer(text) if match["close"]}

    def replacement(match: re.Match[str]) -> str:
        name = match["name"].lower()
        if name in _LETTER_TAGS and name not in closed and not match["attributes"]:
            return match[0]
        return "\n" if _BLOCK.fullmatch(name) else ""

    return _TAG.sub(replacement, _OTHER_MARKUP.sub("", text))


def _character(match: re.Match[str]) -> str:
    name = match[1]
    return html.unescape("&" + name) if name.startswith("#") else html5.get(name, "&" + name)


def _lines(text: str) -> list[str]:
    """Non-empty lines without markup, entities and invisible characters, blanks collapsed; block elements break lines."""
    for _ in range(_ENTITY_DEPTH):
        plain = _strip_tags(text) if "<" in text else text
        plain = _ENTITY.sub(_character, plain) if "&" in plain else plain
        if plain == text:
            break
        text = plain
    text = _INVISIBLE.sub("", _BREAK.sub("\n", text))
    return [line for line in (_BLANKS.sub(" ", line).strip() for line in text.split("\n")) if line]


# --- boilerplate ------------------------------------------------------------------------------------------------------------

_THE = r"(?:the )?(?:present )?"
_WORK = r"(?:inventions?|disclosure|technology|application|embodiments?)"
_HEADINGS = (
    rf"abstract(?: of {_THE}{_WORK})?",
    rf"(?:technical )?field(?: and (?:background|industrial applicability))?(?: of {_THE}(?:{_WORK}|art|use))?",
    rf"background(?: (?:of|to) {_THE}{_WORK})?(?: art| information| and summary)?",
    r"(?:(?:discussion|(?:brief )?description) of (?:the )?)?(?:related|prior|background|relevant) art",
    rf"(?:brief |general )?summary(?: of {_THE}{_WORK})?",
    rf"(?:brief |detailed |general )?(?:disclosure|description)(?: of {_THE}{_WORK})?",
    r"(?:brief )?description of (?:the )?(?:several views of (?:the )?)?(?:accompanying )?(?:drawings?|figures?)",
    r"(?:detailed )?description of (?:the |certain |some |various |specific )*(?:preferred |exemplary |illustrative |example )"
    r"(?:embodiments?|modes?)",
    r"(?:best )?modes? for carrying out the invention",
    r"(?:technical )?problems?(?: to be solved)?(?: by the invention)?",
    r"(?:technical )?solutions?(?: to (?:the )?problems?)?",
    r"means for solving the problems?",
    rf"advantageous effects?|(?:advantageous )?effects? of {_THE}{_WORK}",
    r"industrial applicability",
    rf"objects? of {_THE}{_WORK}",
    r"citation list|reference signs list|(?:non-)?patent (?:literature|documents?)",
)
_HEADING = re.compile(
    r"[*=# ]*(?:\(?(?:\d{1,2}(?:\.\d{1,2})*|[ivx]{1,4}|[a-h])[.)] ?)?"
    rf"(?:{'|'.join(_HEADINGS)})[*=# ]*(?P<colon>:?)[*=# ]*",
    re.IGNORECASE,
)
_LEGAL_HEADINGS = (
    r"cross[- ]?references?(?:\(s\))?(?: .*)?",
    r"related (?:u\.?s\.? )?(?:patent )?(?:applications?|cases?)(?: .*)?",
    r"(?:(?:claim (?:of|to|for)|reference to) )?(?:foreign |domestic )?priority(?: .*)?",
    r"(?:statement|acknowledge?ments?|notice|reference) (?:regarding|as to|of|on|concerning|under|to) (?:u\.?s\.? )?"
    r"(?:federal|government|funding).*",
    r"federal(?:ly)?[- ](?:sponsored|funded|support).*",
    r"government(?:al)? (?:interests?|support|funding|rights|licen[sc]e|statement|clause).*",
    r"contractual origin of .*",
    r"copyright (?:notice|statement)|notice of material subject to copyright.*",
    r"incorporation by reference.*",
    r"(?:reference to )?(?:an? )?(?:electronic )?sequence listing.*",
)
_LEGAL_HEADING = re.compile(rf"[*=# ]*(?:{'|'.join(_LEGAL_HEADINGS)})", re.IGNORECASE)
_LEGAL_PHRASES = (
    r"claims? (?:the )?(?:\w+ ){0,3}(?:benefit|priority)",
    r"priority (?:to|from|under|of|is claimed)",
    r"continuation(?:-in-part)?",
    r"division(?:al)?",
    r"provisional",
    r"national (?:stage|phase)",
    r"incorporated (?:herein )?(?:in (?:its|their) entirety )?by reference",
    r"government",
    r"(?:supported|funded) by",
    r"copyright",
    r"sequence listing",
    r"not applicable",
)
_LEGAL_PHRASE = re.compile(rf"\b(?:{'|'.join(_LEGAL_PHRASES)})\b", re.IGNORECASE)
_LEGAL_OPENINGS = (
    r"(?:this|the (?:present|instant|subject)) (?:u\.?s\.? )?(?:non-?provisional )?(?:patent )?application (?:also )?"
    r"(?:claims|is (?:a|the|an) (?:\S+ ){0,4}?(?:continuation|division|national|non-?provisional|u\.?s\.?))",
    r"(?:this|the (?:present|instant)) (?:invention|work|research|subject matter) (?:described \S+ )?"
    r"(?:was|is|were) (?:\S+ ){0,4}?(?:made|supported|funded|performed|conceived) "
    r"(?:\S+ ){0,12}?(?:government|federal|grants?|awards?|contracts?)\b",
    r"the (?:u\. ?s\. |us |united states |federal )?government (?:of the united states (?:of america )?)?"
    r"(?:has|may have|retains) (?:\S+ ){0,4}(?:rights?|licen[sc]e|interests?)\b",
    r"(?:we|applicants?) (?:hereby )?claims? (?:the )?(?:benefit|priority)",
    r"priority is (?:hereby )?claimed",
)
_LEGAL_OPENING = re.compile("|".join(_LEGAL_OPENINGS), re.IGNORECASE)
_LONGEST_HEADING = 150
_LONGEST_LEGAL_PARAGRAPH = 1500

_SENTENCE_START = r"(?:^|(?<=[.;:?!)] ))"
_INLINE_HEADINGS = (
    r"CROSS[- ]REFERENCES? TO RELATED (?:PATENT )?APPLICATIONS?",
    r"TECHNICAL FIELD",
    r"(?:FIELD|BACKGROUND|(?:BRIEF )?SUMMARY|ABSTRACT|(?:DETAILED )?DESCRIPTION) OF THE (?:PRESENT )?(?:INVENTION|DISCLOSURE)",
    r"BRIEF DESCRIPTION OF (?:THE )?(?:SEVERAL VIEWS OF (?:THE )?)?(?:ACCOMPANYING )?(?:DRAWINGS?|FIGURES?)",
    r"(?:DETAILED )?DESCRIPTION OF (?:THE )?(?:PREFERRED |EXEMPLARY |ILLUSTRATIVE )?EMBODIMENTS?",
)
_INLINE_HEADING = re.compile(rf"{_SENTENCE_START}(?:(?:{'|'.join(_INLINE_HEADINGS)})(?![\w-]| (?:OF|AND|FOR|IN|TO)\b)[:.]? ?)+")
_LABEL = re.compile(r"^(?:\(57\) ?)?(?:\[?ABSTRACT\]?|Abstract) ?[:\-–—] ?|^\(57\) ?")
_PARAGRAPH_NUMBER = re.compile(_SENTENCE_START + r"[\[【]\d{4,5}[\]】] ?")
_TRAILER = re.compile(
    rf"{_SENTENCE_START}(?:(?:SELECTED DRAWING: ?(?:None|(?:Fig(?:ure|\.)? ?)?\d*)|COPYRIGHT: ?\(C\) ?\d{{4}}, ?JPO(?: ?& ?\w+)?)"
    r"(?:\.(?= |$))? ?)+"
)


def _without_boilerplate(lines: Sequence[str]) -> list[str]:
    kept: list[str] = []
    legal_part = False
    for raw in lines:
        line = _PARAGRAPH_NUMBER.sub("", raw)
        if len(line) <= _LONGEST_HEADING and line[-1:] != "." and line != line.lower():
            if _LEGAL_HEADING.fullmatch(line):
                legal_part = True
                continue
            heading = _HEADING.fullmatch(line)
            if heading and not heading["colon"]:
                legal_part = False
                continue
        paragraph = len(lines) > 1 and len(line) <= _LONGEST_LEGAL_PARAGRAPH
        if paragraph and (_LEGAL_OPENING.match(line) or (legal_part and _LEGAL_PHRASE.search(line))):
            continue
        legal_part = False
        line = _TRAILER.sub("", _INLINE_HEADING.sub("", _LABEL.sub("", line))).strip()
        if line:
            kept.append(line)
    return kept


def clean(text: str, *, boilerplate: bool = True) -> str:
    """One line of plain text: markup, formal boilerplate and superfluous white space removed.

    WIPO-AT §3.1.3 names these three steps and defines none; PatentMap (Appendix A) removes headings and the prefatory text on
    related applications and government interests. What is done here:

    * HTML and patent-XML elements go, their content stays (``H<sub>2</sub>O`` -> ``H2O``); elements that stand for a block
      separate words. Only names of real elements count, so ``a < b``, ``T<5 and N>3`` and ``/store/<pool_idx>/`` stay.
      Character references are resolved, doubly escaped ones too.
    * Control, zero width and direction characters and soft hyphens go; every run of white space becomes one space.
    * With ``boilerplate``, these go: lines that hold nothing but a formal heading (37 CFR 1.77; PCT Administrative Instructions,
      section 204), and unmistakable upper-case ones (``BACKGROUND OF THE INVENTION``) at the start of a sentence; paragraphs on
      related applications, government support, copyright and sequence listings, as far as each of them reads like one;
      paragraph numbers (``[0012]``) at the start of a sentence; the label ``(57) ABSTRACT:``; the trailers ``SELECTED DRAWING:``
      and ``COPYRIGHT: (C)2004,JPO`` of Japanese abstracts.

    Drafting markers that carry structure (``PROBLEM TO BE SOLVED:``, ``FIELD:``, ``[SEP]``) stay, and so do headings of chapters
    and examples. In text without line breaks the end of a legal paragraph cannot be told, so there only its heading goes.

    To split claims, pass the raw text to :func:`read_claims`, which makes use of the line breaks.
    """
    lines = _lines(text)
    return " ".join(_without_boilerplate(lines) if boilerplate else lines)


_Record = TypeVar("_Record", Description, ExpertSummary, MachineSummaries)


def _clean_fields(record: _Record, cleaner: Callable[[str], str]) -> _Record:
    return replace(record, **{part.name: cleaner(getattr(record, part.name)) for part in fields(record)})


def clean_patent(patent: Patent) -> Patent:
    """The record with every text cleaned: abstract and description of boilerplate too, the rest of markup and white space only.

    Claims and keywords that are empty after cleaning are left out; numbers and references of the other claims stay as they are.
    """
    plain = partial(clean, boilerplate=False)
    claims = (replace(claim, text=plain(claim.text)) for claim in patent.claims)
    return replace(
        patent,
        title=plain(patent.title),
        abstract=clean(patent.abstract),
        claims=tuple(claim for claim in claims if claim.text),
        description=_clean_fields(patent.description, clean),
        keywords=tuple(keyword for keyword in map(plain, patent.keywords) if keyword),
        expert=_clean_fields(patent.expert, plain),
        summaries=_clean_fields(patent.summaries, plain),
    )


# --- claims: references from one to another ---------------------------------------------------------------------------------

_NUMBER = r"\d{1,3}(?!\d|\.\d| ?%|[-–][A-Za-z])"
_FILLER = r"(?:(?:claims?|of|in|any|one|the|either|both|nos?|numbers?)[\s.:]+){0,5}"
_RANGE_WORD = r"(?:-|–|—|−|to|through|thru|till|until|up to)"
_CLAIM_WORD = re.compile(r"(?<!\bthis )\bclaims?(?=\b|\d)", re.IGNORECASE)
_NUMBERS_AFTER = re.compile(
    rf"[\s.:(\[]*{_FILLER}(?P<numbers>{_NUMBER}(?:[\s.]*(?:(?:,|;|/|&|{_RANGE_WORD}|and/or|and|or)\s*){{1,3}}{_FILLER}{_NUMBER})*)",
    re.IGNORECASE,
)
_MISREAD_ONE_AFTER = re.compile(r"\s+[lI]\b")
_EARLIER = r"(?:preceding|preceeding|proceeding|previous|foregoing|above|prior|earlier|aforementioned|aforesaid|antecedent)"
_ALL_EARLIER_BEFORE = re.compile(
    rf"\b(?:{_EARLIER}(?:[\s-]+\w+){{0,2}}?\s+claims?|(?:any|one|either|each)(?: one)?(?: of)?(?: the)? claims)$", re.IGNORECASE
)
_THE_EARLIER_BEFORE = re.compile(rf"\bthe {_EARLIER} claim$", re.IGNORECASE)
_PREPOSITION_BEFORE = re.compile(r"\b(?:of|in|to|by|with|from|per|under|on|as) claim$", re.IGNORECASE)
_NO_NUMBER_AFTER = re.compile(r"\s*(?:[,;:.)]|\b(?:wherein|where|in which|compris|characteri))", re.IGNORECASE)
_ITEM = re.compile(rf"(\d+)(?:[\s.]*{_RANGE_WORD}\s*(?:to\s+)?{_FILLER}(\d+))?", re.IGNORECASE)
_LONGEST_LEAD_TO_CLAIM = 60


class _Reference(NamedTuple):
    """A place where a text refers to a claim: by ``numbers``, or to the claim before, or to all claims before."""

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
        elif _THE_EARLIER_BEFORE.search(text, lead, end):
            yield _Reference(start, previous_only=True)
        elif _ALL_EARLIER_BEFORE.search(text, lead, end):
            yield _Reference(start)
        elif _PREPOSITION_BEFORE.search(text, lead, end) and _NO_NUMBER_AFTER.match(text, end):
            yield _Reference(start, previous_only=True)


def _refers(text: str) -> bool:
    return next(_find_references(text), None) is not None


def _numbers(items: str) -> list[tuple[int, int]]:
    """Ranges named by ``2, 4 and 6-9``, both ends included."""
    return [(int(start), int(end or start)) for start, end in _ITEM.findall(items)]


def _depends_on(text: str, number: int, known: Sequence[int]) -> tuple[int, ...]:
    """Numbers of the claims that claim ``number`` refers to, ascending. ``known`` are the numbers of the whole set, ascending."""
    found: set[int] = set()
    earlier = known[: bisect_left(known, number)]
    for reference in _find_references(text):
        if reference.numbers:
            ranges = _numbers(reference.numbers)
            found.add(ranges[0][0])
            for start, end in ranges:
                members = known[bisect_left(known, start) : bisect_left(known, end + 1)]
                found.update(member for member in members if start == end or member != number)
        else:
            found.update(earlier[-1:] if reference.previous_only else earlier)
    return tuple(sorted(found))


# --- claims: splitting ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ClaimSet:
    """The claims of one text in their order, and the numbers of those that are cancelled, or withdrawn without a text."""

    claims: tuple[Claim, ...]
    cancelled: tuple[int, ...]


class _Mark(NamedTuple):
    """A number that may open a claim: numbers it stands for, where it and the text behind it start, and how it looks."""

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

    @property
    def sure(self) -> bool:
        return self.void or (self.after_stop and self.capital)


_VOID = r"(?:claims? )?(?:(?:is|are|was|were|has been|have been) )?(?:cancel\w*|withdrawn|deleted|omitted|reserved|not entered)"
_VOID_BODY = re.compile(rf"\W*{_VOID}(?: without prejudice)?\W*", re.IGNORECASE)
_VOID_END = re.compile(rf"\b{_VOID}(?: without prejudice)? ?[)\]][.;]?$", re.IGNORECASE)
_STATUS = re.compile(
    r"^[(\[](?:original|current|previous|new\b|withdrawn|amended|once|twice|re-?presented|reinstated|not entered)"
    r"[^()\[\]]{0,40}[)\]] ?[:.,;]? ?",
    re.IGNORECASE,
)
_MARK = re.compile(
    r"(?:^|(?<= ))(?:"
    rf"(?P<void>\d{{1,3}}(?:[ .]*(?:-|–|—|to|through|,|and|&)[ .]*\d{{1,3}}){{1,20}})[ .:]*\w? ?(?=[(\[] ?{_VOID}\b)"
    r"|[\[【]?claim (?P<named>\d{1,3})(?P<named_style> ?[\]】):.]+) ?(?=\S)"
    r"|(?P<number>\d{1,3})(?P<style> ?[.):、．]|-(?= ))(?: ?(?=[^\W\d_]|[\"“'‘(\[])| (?=\d))"
    r"|(?P<bare>(?<![^\n])\d{1,3}) (?=(?-i:[A-Z])))",
    re.MULTILINE | re.IGNORECASE,
)
_ABBREVIATION = re.compile(r"\b(?:nos?|figs?|seq|e\.g|i\.e|approx|ca|eqs?|refs?)\.$", re.IGNORECASE)
_CLAIM_OPENING = re.compile(r"(?:An?|The|One|In|Use|Method|Process)\b")
_PREFACE = re.compile(r"\bclaim|\bletters patent\b|\bdefined as follows\b", re.IGNORECASE)
_LONGEST_PREFACE = 400
_REFERENCE_WITHIN = 300
_END_OF_CLAIM = re.compile(r"(?:(?<=[^\W\d_]{2}\.)|(?<=[\d)\]]\.)) (?=(?:An?|The) )")
_ORNAMENT = re.compile(r"(?: ?\*){2,}$")


def _after_stop(text: str, start: int) -> bool:
    end = start
    while end and text[end - 1].isspace():
        end -= 1
    lead = max(0, end - 60)
    if end and text[end - 1] == ".":
        return not _ABBREVIATION.search(text, lead, end)
    return end == 0 or bool(_VOID_END.search(text, lead, end))


def _marks(text: str) -> list[_Mark]:
    matches = list(_MARK.finditer(text))
    references = [reference.start for reference in _find_references(text)]
    ends = [*(match.start() for match in matches[1:]), len(text)]
    marks = []
    for match, end in zip(matches, ends, strict=False):
        start, body = match.span()
        number = match["named"] or match["number"] or match["bare"]
        ranges = _numbers(match["void"]) if match["void"] else [(int(number), int(number))]
        following = bisect_left(references, body)
        refers = following < len(references) and references[following] < min(body + _REFERENCE_WITHIN, end)
        after_stop = _after_stop(text, start)
        capital = text[body].isupper() or text[body] in "\"“'‘(["
        marks.append(
            _Mark(
                numbers=tuple(n for first, last in ranges for n in range(first, last + 1)),
                start=start,
                body=body,
                style=(match["named_style"] or match["style"] or "").strip(),
                opens_line=start == 0 or text[start - 1] == "\n",
                after_stop=after_stop,
                void=bool(match["void"] or _VOID_BODY.fullmatch(text, body, end)),
                capital=capital,
                refers=refers,
                claimlike=capital and (refers or bool(_CLAIM_OPENING.match(text, body))),
            )
        )
    return marks


def _opens_the_set(mark: _Mark, text: str) -> bool:
    """Whether a mark is the first claim: nothing but a preface stands before it, or a line that does not lead over to it."""
    lead = text[: mark.start].strip() if mark.start <= _LONGEST_PREFACE else None
    if lead == "" or (lead and _is_preface(lead)):
        return True
    return mark.numbers[0] == 1 and mark.opens_line and mark.capital and text[mark.start - 2] not in ":;,"


def _numbered(marks: Sequence[_Mark], text: str) -> Sequence[_Mark]:
    """The marks from the first claim on. A text that opens without a number but has a claim 2 is taken to open with claim 1."""
    for position, mark in enumerate(marks):
        if _opens_the_set(mark, text):
            return marks[position:]
        if mark.numbers[0] == 2 and mark.sure and mark.claimlike:
            return [mark._replace(numbers=(1,), start=0, body=0), *marks[position:]]
    return ()


def _chain(marks: Sequence[_Mark]) -> list[_Mark]:
    """The marks that open claims. The first one does; the others have to continue its numbering in its style."""
    style = next((mark.style for mark in marks if mark.style and (mark.sure or mark is marks[0])), "")
    candidates = [mark for mark in marks[1:] if mark.style == style or mark.void or (mark.after_stop and mark.refers)]
    last_sure = {mark.numbers[0]: mark.start for mark in candidates if mark.sure}
    chosen = [marks[0]]
    expected = marks[0].numbers[-1] + 1
    for mark in candidates:
        number = mark.numbers[0]
        worded = mark.void or mark.claimlike
        if number == expected:
            better_later = not mark.sure and last_sure.get(number, -1) > mark.start
            accepted = not better_later and (mark.opens_line or mark.after_stop or worded)
        elif number > expected:
            skipped_later = any(last_sure.get(skipped, -1) > mark.start for skipped in range(expected, number))
            accepted = worded and (mark.after_stop or mark.opens_line) and (not skipped_later or (mark.after_stop and mark.opens_line))
        else:
            accepted = worded and mark.after_stop and (mark.opens_line or mark.refers)
        if accepted:
            chosen.append(mark)
            expected = max(expected, mark.numbers[-1] + 1)
    return chosen


def _is_preface(text: str) -> bool:
    """Whether a text is what stands above the claims, such as ``CLAIMS`` or ``What is claimed is:``."""
    return len(text) <= _LONGEST_PREFACE and bool(_PREFACE.search(text)) and not _refers(text)


def _unnumbered(lines: Sequence[str]) -> list[str]:
    """Claims without numbers: one sentence each, so that a new one starts in a new line behind a full stop.

    Where all stands in one line, it starts with an article behind a full stop.
    """
    if lines and _is_preface(lines[0]) and (lines[0].endswith(":") or " " not in lines[0]):
        lines = lines[1:]
    claims: list[str] = []
    for line in lines:
        if claims and not (claims[-1].endswith(".") and line[:1].isupper()):
            claims[-1] += " " + line
        else:
            claims.append(line)
    return claims if len(claims) > 1 else [part for claim in claims for part in _END_OF_CLAIM.split(claim)]


def read_claims(text: str) -> ClaimSet:
    """Split the claims of a patent, given as one string, and find out which claim refers to which.

    Numbers are looked for at the start of lines and in running text (``... of claim 1. 3. The device ...``), in the forms ``1.``,
    ``1 .``, ``1)``, ``1:``, ``1-``, ``Claim 1.`` and ``[Claim 1]``. The form of the first one is taken for the form of all, and they
    have to follow each other, so that numbered steps within a claim stay in it. Gaps are accepted (cancelled claims are often
    left out), and so are numbers out of sequence before what can only be a claim; ``number`` is the number as written, so that in
    a misnumbered set one number can occur twice. What stands before claim 1 (``What is claimed is:``) is left out; a claim 1
    that has lost its number is known by the claim 2 behind it. Text without numbers is split behind full stops, at the ends of
    lines or, in running text, before ``A``, ``An``, ``The``; the claims are then numbered from 1.

    Cancelled claims (``2. (canceled)``, ``1.-20. (canceled)``) give no claim but are named in the result; labels of status
    (``(Currently Amended)``) are taken off. Markup is removed, white space becomes single spaces.

    Dependence is taken in the formal sense: a claim depends on every claim that it mentions (``of claim 1``, ``as claimed in any
    one of claims 1 to 3``, ``according to any preceding claim``). A claim of another category that mentions a claim (``A system
    comprising the device of claim 1``) thus counts as dependent too, since legal independence cannot be told from the wording.
    ``depends_on`` holds the numbers named, own and later ones too if so written (slips of the pen are common), and of a range
    or of "any preceding claim" those that the text holds. ``claim l`` is read as claim 1; a reference that has lost its
    number (``the method of claim, wherein``) stands for the claim before.

    An empty text gives an empty set.
    """
    lines = [line for line in (_ORNAMENT.sub("", line) for line in _lines(text)) if line]
    plain = "\n".join(lines)
    marks = _numbered(_marks(plain), plain)
    cancelled: list[int] = []
    texts: list[tuple[int, str]] = []
    if not marks:
        texts = list(enumerate(_unnumbered(lines), start=1))
    else:
        chain = _chain(marks)
        for mark, end in zip(chain, [*(following.start for following in chain[1:]), len(plain)], strict=True):
            body = _STATUS.sub("", plain[mark.body : end].replace("\n", " ").strip(), count=1)
            if not body or _VOID_BODY.fullmatch(body):
                cancelled.extend(mark.numbers)
            else:
                texts.append((mark.numbers[0], body))
    known = sorted({number for number, _ in texts})
    claims = tuple(Claim(number, body, _depends_on(body, number, known)) for number, body in texts)
    return ClaimSet(claims, tuple(cancelled))


def split_claims(text: str) -> tuple[Claim, ...]:
    """The claims of :func:`read_claims`, without the numbers of the cancelled ones."""
    return read_claims(text).claims


def independent_claims(claims: Iterable[Claim]) -> tuple[Claim, ...]:
    """Claims that refer to no other claim, in their order (Sophia-Bench §3.3, query ``iclms``)."""
    return tuple(claim for claim in claims if claim.independent)


def first_independent_claim(claims: Sequence[Claim]) -> str:
    """Text of the first claim that refers to no other one, without its number (WIPO-AT §3.1.3, Table 1 ``Claim1``).

    Where every claim refers to another one, the first claim stands for it; without claims the text is empty.
    """
    return next((claim.text for claim in (*independent_claims(claims), *claims)), "")


def claims_text(claims: Iterable[Claim], separator: str = " ") -> str:
    """All claims with their numbers, ``"1. A device ... 2. The device of claim 1 ..."``, joined by ``separator``."""
    return separator.join(f"{claim.number}. {claim.text}" for claim in claims)


# --- views ------------------------------------------------------------------------------------------------------------------


def join_sections(sections: Iterable[str], separator: str = " ") -> str:
    """Join the sections that are not empty; each is stripped of white space at its ends."""
    return separator.join(section for section in map(str.strip, sections) if section)


def _expert_summaries(patent: Patent) -> str:
    expert = patent.expert
    return join_sections((expert.detailed_description, expert.novelty, expert.use, expert.advantage, expert.technology_focus))


SECTIONS: Mapping[str, Callable[[Patent], str]] = {
    "title": lambda patent: patent.title,
    "abstract": lambda patent: patent.abstract,
    "claims": lambda patent: claims_text(patent.claims),
    "claim1": lambda patent: first_independent_claim(patent.claims),
    "description": lambda patent: join_sections(getattr(patent.description, part.name) for part in fields(Description)),
    "keywords": lambda patent: ", ".join(patent.keywords),
    "dwpi_title": lambda patent: patent.expert.title,
    "dwpi_summaries": _expert_summaries,
}
"""Section name -> its text. Numbered claims; the description in the order of its sections; keywords separated by commas;
``dwpi_summaries`` are the five expert-written fields besides the title in the order of WIPO-AT §3.1.4."""

VIEW_SECTIONS: Mapping[str, tuple[str, ...]] = {
    "Title": ("title",),
    "Abstract": ("abstract",),
    "TA": ("title", "abstract"),
    "TAC": ("title", "abstract", "claims"),
    "Claim1": ("claim1",),
    "Claims": ("claims",),
    "Keywords": ("keywords",),
    "Description": ("description",),
    "FullText": ("title", "abstract", "claims", "description"),
    "Tacd": ("title", "abstract", "claims", "description"),
    "DWPIFull": ("dwpi_title", "dwpi_summaries", "claims", "abstract", "title", "keywords"),
    "DWPITA": ("dwpi_title", "dwpi_summaries"),
}
"""View name -> its sections in order.

``DWPIFull`` follows WIPO-AT Table 1; its "topics" are the topic keywords that §3.6 names, not the taxonomy labels, which would
give the answer to the classification tasks away. ``DWPITA`` is "DWPI title + DWPI abstract summaries", read as the same five
fields.
"""


def view_text(patent: Patent, view: str, separator: str = " ") -> str:
    """Text of one view of a patent.

    Raises:
        KeyError: unknown view; names the known ones.
    """
    if view not in VIEW_SECTIONS:
        raise KeyError(f"unknown view {view!r}; known are {', '.join(VIEW_SECTIONS)}")
    return join_sections((SECTIONS[name](patent) for name in VIEW_SECTIONS[view]), separator)


VIEWS: Mapping[str, Callable[[Patent], str]] = {name: partial(view_text, view=name) for name in VIEW_SECTIONS}
"""View name -> function of a patent, sections joined by one space."""
