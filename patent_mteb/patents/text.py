"""Clean the texts of patents, and split descriptions into sections.

Cleaning removes markup, entities, formal headings and legal boilerplate.

WIPO-AT §3.1.3 names the steps (markup, boilerplate, white space) and PatentMap (appendix A) the removed text; neither
defines them. Markup means the elements of HTML, of WIPO ST.36 and of the bulk files of USPTO and EPO. Formal headings
are those of 37 CFR 1.77 and of section 204 of the PCT Administrative Instructions. :func:`clean` lists the rules.
"""

from __future__ import annotations

import html
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import partial
from hashlib import blake2b
from html.entities import html5
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

from patent_mteb.patents.records import Description, ExpertSummary, MachineSummaries, Patent

WORDING: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("wording.toml").read_text("utf-8"))
_THE = "(?:the )?(?:present )?"
_WORK = "(?:inventions?|disclosure|technology|application|embodiments?)"


def any_of(name: str) -> str:
    """Return the pattern of an entry of ``wording.toml``: any of its patterns."""
    found = "|".join(WORDING[name].split() if isinstance(WORDING[name], str) else WORDING[name])
    return found.replace("{invention}", _THE + _WORK).replace("{the}", _THE).replace("{work}", _WORK)


_TAG = re.compile(
    rf"<(?P<close>/)?(?P<name>{any_of('tags')})"
    r"(?P<attributes>(?:\s+[\w:.-]+\s*=\s*(?:\"[^\"<>]*\"|'[^'<>]*'|[^\s\"'<>]+))*)\s*/?>",
    re.IGNORECASE,
)
_BLOCK = re.compile(any_of("blocks"), re.IGNORECASE)
_LETTER_TAGS = frozenset("abiou")
_OTHER_MARKUP = re.compile(r"<!--[^<>]*-->|<\?[A-Za-z][^<>]*\?>|<!DOCTYPE[^<>]*>|<image></image>", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:amp;)*(#\d{1,7};|#[xX][0-9A-Fa-f]{1,6};|[A-Za-z][A-Za-z0-9]{1,31};)")
_ENTITY_DEPTH = 4  # texts are escaped several times in some exports; the limit is a choice
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
    """Return the non-empty lines without markup, of which block elements break lines, and invisible characters."""
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


_HEADING = re.compile(
    r"[*=# ]*(?:\(?(?:\d{1,2}(?:\.\d{1,2})*|[ivx]{1,4}|[a-h])[.)] ?)?"
    rf"(?:{any_of('headings')})[*=# ]*(?P<colon>:?)[*=# ]*",
    re.IGNORECASE,
)
_LEGAL_HEADING = re.compile(rf"[*=# ]*(?:{any_of('legal_headings')})", re.IGNORECASE)
_LEGAL_PHRASE = re.compile(rf"\b(?:{any_of('legal_phrases')})\b", re.IGNORECASE)
_LEGAL_OPENING = re.compile(any_of("legal_openings"), re.IGNORECASE)
_LONGEST_HEADING = 150  # characters, a choice: longer lines are sentences
_LONGEST_LEGAL_PARAGRAPH = 1500  # characters of a cross-reference or a statement of rights, a choice
_SENTENCE_START = r"(?:^|(?<=[.;:?!)] ))"
_INLINE_HEADING = re.compile(
    rf"{_SENTENCE_START}(?:(?:{any_of('inline_headings')})(?![\w-]| (?:OF|AND|FOR|IN|TO)\b)[:.]? ?)+"
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
        if any(mark in line for mark in WORDING["inline_marks"]):
            line = _INLINE_HEADING.sub("", line)
        if "SELECTED DRAWING:" in line or "COPYRIGHT:" in line:
            line = _TRAILER.sub("", line)
        if line := line.strip():
            cleaned.append(line)
    return cleaned


_CONTROL_TOKEN = re.compile(
    r"\[(?:CLS|SEP|MASK|PAD|UNK|BOS|EOS|/?INST|gMASK)\]"  # BERT, ModernBERT, Mistral, GLM
    r"|<(?:/?s|cls|sep|mask|pad|unk|bos|eos|extra_id_\d+|(?:start|end)_of_turn)>"  # RoBERTa, XLM-R, T5, Gemma
    r"|<(?:sop|eop|fim_\w+|/?think|/?tool_(?:call|response))>"  # GLM, StarCoder, Qwen
    r"|<(?:\|[\w-]+\||｜[\w▁-]+｜)>"  # GPT, Qwen, Llama, DeepSeek
)
"""Tokens that tokenizers read as their own wherever a text has them."""


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


def clean_field(text: str, *, boilerplate: bool = True) -> str:
    """Clean a text of a record, and break control tokens with a blank (``[MASK]`` -> ``[ MASK]``).

    Claims speak of such tokens. Only the views put ``[SEP]`` between sections, later.
    """
    text = clean(text, boilerplate=boilerplate)
    return _CONTROL_TOKEN.sub(lambda found: f"{found[0][0]} {found[0][1:]}", text)


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
    plain = partial(clean_field, boilerplate=False)
    claims = (replace(claim, text=plain(claim.text)) for claim in patent.claims)
    return replace(
        patent,
        title=plain(patent.title),
        abstract=clean_field(patent.abstract),
        claims=tuple(claim for claim in claims if claim.text),
        description=_clean_fields(patent.description, clean_field),
        keywords=tuple(keyword for keyword in map(plain, patent.keywords) if keyword),
        expert=_clean_fields(patent.expert, plain),
        summaries=_clean_fields(patent.summaries, plain),
    )


_SECTIONS = {name: re.compile(words, re.IGNORECASE) for name, words in WORDING["sections"].items()}
_IN_CAPITALS = {name: re.compile(words) for name, words in WORDING["sections_in_capitals"].items()}
_LONGEST_IN_CAPITALS = 100  # characters of a heading, a choice: longer lines are texts in capitals
_LEADING = re.compile(r"^[\W\d]+")
_OTHER_HEADING = re.compile(r"(?!fig)[^a-z]*[A-Z][^.;:,]{2,90}:?", re.IGNORECASE)
_FIGURE = re.compile(r"\bfig(?:ure|s|\.)?\b", re.IGNORECASE)


def split_description(text: str, *, detailed_follows: bool = False) -> Description:
    """Split a description into background, summary, drawings and detailed description.

    A section starts with its heading and ends at the next one. Text before the first heading (title, related
    applications) is background. The list of drawings also ends at any other heading. An ambiguous heading
    (``DISCLOSURE OF THE INVENTION``) starts the summary if a detailed description follows, in the text or, where the
    caller knows it, behind it. A text without headings is detailed. Every line is in exactly one section; markup is
    removed.
    """
    lines = plain_lines(text)
    if len(lines) <= 2:
        lines = [part for line in lines for part in lines_at_headings(line)]
    headings = {place: section for place, line in enumerate(lines) if (section := _section(line))}
    parts: dict[str, list[str]] = {"background": [], "summary": [], "drawings": [], "detailed": []}
    now = "background" if any(section in parts or section == "either" for section in headings.values()) else "detailed"
    if detailed_follows:
        headings[len(lines)] = "detailed"
    for place, line in enumerate(lines):
        now = _next(now, place, headings, lines)
        parts[now].append(line)
    return Description(**{section: "\n".join(part) for section, part in parts.items()})


def _section(line: str) -> str:
    """The section that a line starts, empty if it starts none."""
    if heading_kind(line) in ("formal", "label"):
        return next((section for section, pattern in _SECTIONS.items() if pattern.search(line)), "")
    if line.isupper() and len(line) <= _LONGEST_IN_CAPITALS and not line.endswith("."):
        return next((section for section, pattern in _IN_CAPITALS.items() if pattern.match(_LEADING.sub("", line))), "")
    return ""


def _next(now: str, place: int, headings: dict[int, str], lines: Sequence[str]) -> str:
    """The section of a line, given that of the line before."""
    section = headings.get(place, "")
    if section == "either":
        return "summary" if any(place < other and its == "detailed" for other, its in headings.items()) else "detailed"
    if section == "whole":
        return "detailed" if now in ("summary", "drawings") else now
    if section or now != "drawings" or headings.get(place - 1) == "drawings":
        return section or now
    ends_drawings = _OTHER_HEADING.fullmatch(lines[place]) and not _FIGURE.search(lines[place])
    return "detailed" if ends_drawings else now
