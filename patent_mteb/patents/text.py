"""Clean the texts of patents: remove markup, entities, formal headings and legal boilerplate.

WIPO-AT §3.1.3 names the steps (markup, boilerplate, white space) and PatentMap (appendix A) the removed text; neither
defines them. Markup means the elements of HTML, of WIPO ST.36 and of the bulk files of USPTO and EPO. Formal headings
are those of 37 CFR 1.77 and of section 204 of the PCT Administrative Instructions. :func:`clean` lists the rules.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import partial
from hashlib import blake2b
from html.entities import html5
from itertools import pairwise
from typing import TypeVar

from patent_mteb.patents.records import Description, ExpertSummary, MachineSummaries, Patent

_TAG_NAMES = (
    r"html|head|body|title|div|span|p|br|hr|h[1-6]|ul|ol|li|dl|dt|dd|table|thead|tbody|tfoot|tr|th|td|caption|colgroup"
    r"|col|tgroup|colspec|row|entry|a|b|i|o|u|em|strong|sub|sup|sub2|sup2|small|big|tt|pre|font|center|img|smallcaps"
    r"|claims|claim|claim-text|claim-ref|claim-statement|abstract|description|invention-title|heading|paragraph|figref"
    r"|crossref|patcit|nplcit|maths|math|chemistry|tables|in-line-formulae|soh|eoh|abst-problem|abst-solution"
    r"|mml:[a-z]+"
    r"|mi|mo|mn|ms|mtext|mspace|mrow|mfrac|msqrt|mroot|msub|msup|msubsup|munder|mover|munderover|mtable|mtr|mtd|mfenced"
    r"|mstyle|semantics|annotation"
)
_TAG = re.compile(
    rf"<(?P<close>/)?(?P<name>{_TAG_NAMES})"
    r"(?P<attributes>(?:\s+[\w:.-]+\s*=\s*(?:\"[^\"<>]*\"|'[^'<>]*'|[^\s\"'<>]+))*)\s*/?>",
    re.IGNORECASE,
)
_BLOCK = re.compile(
    r"p|br|hr|div|h[1-6]|[uo]l|li|d[ldt]|table|tr|t[hd]|row|entry|claims?|claim-text|abstract|description|heading"
    r"|paragraph|maths|pre|[se]oh",
    re.IGNORECASE,
)
_LETTER_TAGS = frozenset("abiou")
_OTHER_MARKUP = re.compile(r"<!--[^<>]*-->|<\?[A-Za-z][^<>]*\?>|<!DOCTYPE[^<>]*>", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:amp;)*(#\d{1,7};|#[xX][0-9A-Fa-f]{1,6};|[A-Za-z][A-Za-z0-9]{1,31};)")
_ENTITY_DEPTH = 4
_INVISIBLE = re.compile(
    r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
)
_BREAK = re.compile(r"\r\n?|[\v\f\x85\u2028\u2029]")
_BREAKS = "\r\v\f\x85\u2028\u2029"


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


def plain_lines(text: str) -> list[str]:
    """Return the non-empty lines without markup, entities, invisible characters and repeated spaces.

    Block elements break lines.
    """
    for _ in range(_ENTITY_DEPTH):
        plain = _strip_tags(text) if "<" in text else text
        plain = _ENTITY.sub(_character, plain) if "&" in plain else plain
        if plain == text:
            break
        text = plain
    if text.isprintable():  # one line with nothing to remove, as most texts are
        return [line] if (line := " ".join(text.split())) else []
    if any(character in text for character in _BREAKS):
        text = _BREAK.sub("\n", text)
    visible = (line if line.isprintable() else _INVISIBLE.sub("", line) for line in text.split("\n"))
    return [line for line in (" ".join(line.split()) for line in visible) if line]


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
    r"(?:detailed )?description of (?:the |certain |some |various |specific )*(?:preferred |exemplary |illustrative"
    r" |example )"
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
    r"(?:rights? (?:\w+ ){1,5})?(?:federal|government|funding).*",
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
    (
        r"(?:FIELD|BACKGROUND|(?:BRIEF )?SUMMARY|ABSTRACT|(?:DETAILED )?DESCRIPTION) OF THE (?:PRESENT"
        r" )?(?:INVENTION|DISCLOSURE)"
    ),
    r"BRIEF DESCRIPTION OF (?:THE )?(?:SEVERAL VIEWS OF (?:THE )?)?(?:ACCOMPANYING )?(?:DRAWINGS?|FIGURES?)",
    r"(?:DETAILED )?DESCRIPTION OF (?:THE )?(?:PREFERRED |EXEMPLARY |ILLUSTRATIVE )?EMBODIMENTS?",
)
_INLINE_MARKS = ("CROSS", "TECHNICAL FIELD", " OF THE ", "DESCRIPTION OF ")
"""Each inline heading contains one of these; searching for them first is much faster."""
_INLINE_HEADING = re.compile(
    rf"{_SENTENCE_START}(?:(?:{'|'.join(_INLINE_HEADINGS)})(?![\w-]| (?:OF|AND|FOR|IN|TO)\b)[:.]? ?)+"
)
_LABEL = re.compile(r"^(?:\(57\) ?)?(?:\[?ABSTRACT\]?|Abstract) ?[:\-–—] ?|^\(57\) ?")
_PARAGRAPH_NUMBER = re.compile(_SENTENCE_START + r"[\[【]\d{4,5}[\]】] ?")
_TRAILER = re.compile(
    rf"{_SENTENCE_START}(?:(?:SELECTED DRAWING: ?(?:None|(?:Fig(?:ure|\.)? ?)?\d*)|COPYRIGHT: ?\(C\) ?\d{{4}}, ?JPO(?:"
    r" ?& ?\w+)?)"
    r"(?:\.(?= |$))? ?)+"
)


def heading_kind(line: str) -> str:
    """Return the kind of a line that is only a heading of an application: ``legal``, ``label``, ``formal`` or empty."""
    if len(line) > _LONGEST_HEADING or line[-1:] == "." or line == line.lower():
        return ""
    if _LEGAL_HEADING.fullmatch(line):
        return "legal"
    heading = _HEADING.fullmatch(line)
    return "" if heading is None else "label" if heading["colon"] else "formal"


def lines_at_headings(line: str) -> list[str]:
    """Break a line before and after its upper-case headings, for texts without line breaks."""
    cuts = [0, *(place for heading in _INLINE_HEADING.finditer(line) for place in heading.span()), len(line)]
    return [part for start, end in pairwise(cuts) if (part := line[start:end].strip())]


def _without_boilerplate(lines: Sequence[str]) -> list[str]:
    cleaned: list[str] = []
    legal_part = False
    for raw in lines:
        line = _PARAGRAPH_NUMBER.sub("", raw) if "[" in raw or "【" in raw else raw
        if (kind := heading_kind(line)) in ("legal", "formal"):
            legal_part = kind == "legal"
            continue
        paragraph = len(lines) > 1 and len(line) <= _LONGEST_LEGAL_PARAGRAPH
        if paragraph and (_LEGAL_OPENING.match(line) or (legal_part and _LEGAL_PHRASE.search(line))):
            continue
        legal_part = False
        if label := _LABEL.match(line):
            line = line[label.end() :]
        if any(mark in line for mark in _INLINE_MARKS):
            line = _INLINE_HEADING.sub("", line)
        if "SELECTED DRAWING:" in line or "COPYRIGHT:" in line:
            line = _TRAILER.sub("", line)
        if line := line.strip():
            cleaned.append(line)
    return cleaned


def clean(text: str, *, boilerplate: bool = True) -> str:
    """Return one line of plain text without markup, boilerplate and superfluous white space.

    Always removed:

    * HTML and patent-XML elements, but not their content (``H<sub>2</sub>O`` -> ``H2O``). Block elements separate
      words. Only known elements count: ``a < b``, ``T<5 and N>3`` and ``/store/<pool_idx>/`` stay. Character references
      are resolved, also doubly escaped ones.
    * Control, zero width and direction characters and soft hyphens. A run of white space becomes one space.

    Removed with ``boilerplate``:

    * lines that are only a formal heading (37 CFR 1.77; PCT Administrative Instructions, section 204), and unambiguous
      upper-case headings (``BACKGROUND OF THE INVENTION``) at the start of a sentence;
    * clearly worded paragraphs on related applications, government support, copyright and sequence listings;
    * paragraph numbers (``[0012]``) at the start of a sentence;
    * the label ``(57) ABSTRACT:`` and the trailers ``SELECTED DRAWING:`` and ``COPYRIGHT: (C)2004,JPO`` of Japanese
      abstracts.

    Drafting markers (``PROBLEM TO BE SOLVED:``, ``FIELD:``, ``[SEP]``) and headings of chapters and examples stay. In
    text without line breaks the end of a legal paragraph is unknown, so only its heading is removed.

    Do not clean claims before :func:`~patent_mteb.patents.claims.read_claims`, which needs the line breaks.
    """
    lines = plain_lines(text)
    return " ".join(_without_boilerplate(lines) if boilerplate else lines)


def text_key(*texts: str) -> bytes:
    """Return a digest of 16 bytes, to compare texts without storing them."""
    sizes = ",".join(str(len(text)) for text in texts)
    return blake2b("\0".join((sizes, *texts)).encode("utf-8", "surrogatepass"), digest_size=16).digest()


_Record = TypeVar("_Record", Description, ExpertSummary, MachineSummaries)


def _clean_fields(record: _Record, cleaner: Callable[[str], str]) -> _Record:
    texts = {field.name: getattr(record, field.name) for field in fields(record)}
    return replace(record, **{name: cleaner(text) for name, text in texts.items()}) if any(texts.values()) else record


_cleaned: dict[Patent, Patent] | None = None


@contextmanager
def cleaned_once() -> Iterator[None]:
    """Cache the results of :func:`clean_patent` in memory while the block runs."""
    global _cleaned
    before, _cleaned = _cleaned, {}
    try:
        yield
    finally:
        _cleaned = before


def clean_patent(patent: Patent) -> Patent:
    """Return the record with clean texts; boilerplate is removed from abstract and description only.

    Claims and keywords that are empty after cleaning are dropped. The other claims keep their numbers.
    """
    if _cleaned is None:
        return _clean(patent)
    if patent not in _cleaned:
        _cleaned[patent] = _clean(patent)
    return _cleaned[patent]


def _clean(patent: Patent) -> Patent:
    plain = partial(clean, boilerplate=False)
    claims = (
        claim if (text := plain(claim.text)) == claim.text else replace(claim, text=text) for claim in patent.claims
    )
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
