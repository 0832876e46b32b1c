"""Full texts in XML whose fields are at fixed paths: JPO, CNIPA, WIPO ST.96, MAREC and PatSnap.

``markup.toml`` has a table of paths for each format, and the elements that are not read. One function reads them all.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

from lxml import etree

from patent_mteb.patents.categories import phase_and_origin
from patent_mteb.readers.items import Item, Note, Reader, Skipped
from patent_mteb.readers.publication import Cited, ClaimText, Paragraph, Published, Related, Texts
from patent_mteb.readers.values import application, language, publication
from patent_mteb.readers.xml import Element, first_root, first_start, read_bulk, text_of

Form = Mapping[str, Any]
FORMS: Mapping[str, Form] = tomllib.loads(Path(__file__).with_name("markup.toml").read_text("utf-8"))


def elements(root: Element, path: str, start: str = "") -> list[Element]:
    """Return the elements at a path of ``markup.toml``, anywhere below the root if ``start`` is ``.//``."""
    for alternative in path.split(" | ") if path else ():
        paths = (start + "/".join(f"{{*}}{step}" for step in one.split("/")) for one in alternative.split(" + "))
        if found := [element for one in paths for element in root.iterfind(one)]:
            return found
    return []


def _name(element: Element) -> str:
    return str(etree.QName(element).localname)


def _attribute(element: Element, name: str) -> str:
    return next((text.strip() for key, text in element.items() if etree.QName(key).localname == name), "")


def _text(root: Element, path: str) -> str:
    """The text of the first element at a path, or of its attribute (``@kind``, ``sources/source/@name``)."""
    above, at, attribute = path.rpartition("@")
    found = root if at and not above else next(iter(elements(root, above.rstrip("/") or path)), None)
    return text_of(found) if not at or found is None else _attribute(found, attribute)


_CJK = "[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef]"
_BETWEEN_CJK = re.compile(rf"(?<={_CJK}) (?={_CJK})")


class _Document:
    """One document of a format."""

    def __init__(self, root: Element, form: Form) -> None:
        self.root, self.form = root, form

    def text(self, field: str) -> str:
        return next(iter(self.texts(field)), "")

    def texts(self, field: str) -> list[str]:
        """The texts of a field, split where the format has a separator."""
        path, words = self.form.get(field, ""), text_of if field in ("inventors", "applicants") else self.words
        found = [_text(self.root, path)] if path.startswith("@") else map(words, elements(self.root, path))
        separator = self.form.get("separator")
        split = (text.split(separator) if separator else [text] for text in found)
        return [text.strip() for texts in split for text in texts if text.strip()]

    def words(self, element: Element) -> str:
        """The text of an element; Chinese and Japanese have no blanks where a line of the source ends."""
        text = text_of(element)
        return _BETWEEN_CJK.sub("", text) if self.form.get("language") in ("zh", "ja") else text

    def identifiers(self, field: str, root: Element | None = None) -> Iterator[tuple[str, str, str, str]]:
        """Number, office, kind and date of each identification."""
        parts = [self.form.get(name, "") for name in ("number", "country", "kind", "date")]
        for one in elements(self.root if root is None else root, self.form.get(field, "")):
            number, office, kind, date = (_text(one, path) for path in parts)
            if number:
                yield number, office, kind, date

    def published(self) -> Published:
        first = ("", "", "", "")
        serial, office, kind, date = next(self.identifiers("publication"), first)
        applied, applied_at, _, filed = next(self.identifiers("application"), first)
        office = office or self.form.get("office", "")
        return Published(
            source=self.form["name"],
            office=office,
            serial=serial or self.text("number_text"),
            kind=kind or self.text("kind_of_document"),
            date=date or self.text("published"),
            application=application(applied or self.text("application_text"), applied_at or office),
            filed=filed or self.text("filed"),
            family=self.text("family"),
            ipc=self.classes("ipc"),
            cpc=self.classes("cpc"),
            inventors=self.texts("inventors"),
            applicants=self.texts("applicants"),
            cited=list(self.cited()),
            related=list(self.related(office)),
            texts=self.texts_by_language(self.text("language_of_document")[:2] or self.form.get("language", "")),
        )

    def texts_by_language(self, own: str) -> Texts:
        """The texts, of a format whose elements name their languages in each language; ``own`` is the document's."""
        if "language_of_text" not in self.form:
            found = elements(self.root, self.form.get("description", ""))
            title, abstract = self.text("title"), self.text("abstract")
            return Texts.of(own, title, abstract, list(self.claims()), self.description(found))

        def of(element: Element | None) -> str:
            name = "" if element is None else _attribute(element, self.form["language_of_text"])
            return language(name) or language(own)

        texts = Texts(language(own))
        for field, by_language in (("title", texts.titles), ("abstract", texts.abstracts)):
            for element in elements(self.root, self.form[field]):
                by_language.setdefault(of(element), self.words(element))
        for claim in elements(self.root, self.form["claim"]):
            texts.claims.setdefault(of(claim.getparent()), []).append(self.claim(claim))
        for element in elements(self.root, self.form["description"]):
            texts.descriptions.setdefault(of(element), self.description([element]))
        return texts

    def classes(self, field: str) -> list[str]:
        if "symbol" not in self.form:
            return self.texts(field)
        parts = ([_text(one, path) for path in self.form["symbol"]] for one in elements(self.root, self.form[field]))
        return [f"{''.join(symbol[:4])}/{symbol[4]}" for symbol in parts]

    def related(self, office: str) -> Iterator[Related]:
        for number, at, kind, date in self.identifiers("priority"):
            yield Related("priority", application(number, at, kind), date, at)
        # Priority numbers of PatSnap are cut (33534, with a year of two digits or none), so only their dates are read.
        for date, at in zip_longest(self.texts("priority_date"), self.texts("priority_country"), fillvalue=""):
            yield Related("priority", "", date, at)
        for number, at, _, date in self.identifiers("parent"):
            yield Related("parent", application(number, at, "W"), date, "WO")
        for number, at, _, date in self.identifiers("division"):
            yield Related("division", application(number, at or office), date, at or office)
        members = [publication(number, at, kind) for number, at, kind, _ in self.identifiers("member")]
        for member in members + [publication(text) for text in self.texts("member_text")]:
            yield Related("member", member)

    def cited(self) -> Iterator[Cited]:
        for text in self.texts("cited_text"):
            yield Cited(text)
        for one in elements(self.root, self.form.get("cited", "")):
            by, phase = (
                _text(one, self.form[name]) if name in self.form else "" for name in ("cited_by", "cited_phase")
            )
            phase, origin = phase_and_origin(phase, by)
            category = _text(one, self.form["cited_category"]) if "cited_category" in self.form else ""
            number, office, kind, _ = next(self.identifiers("cited_document", one), ("", "", "", ""))
            yield Cited(number, office, kind, origin, category, phase=phase, npl=not number)
        for description in elements(self.root, self.form.get("description", "")) if "mentioned" in self.form else ():
            for text in dict.fromkeys(map(text_of, elements(description, self.form["mentioned"], ".//"))):
                yield Cited(text.removesuffix("公報"), origin="applicant")

    def claims(self) -> Iterator[ClaimText]:
        return map(self.claim, elements(self.root, self.form.get("claim", "")))

    def claim(self, claim: Element) -> ClaimText:
        number = _text(claim, self.form["claim_number"]).lstrip("0")
        texts = elements(claim, self.form.get("claim_text", "")) or [claim]
        references = elements(claim, self.form.get("claim_reference", ""), ".//")
        return ClaimText(
            number,
            re.sub(rf"^{number or 0}\s*[.．、]\s*", "", " ".join(map(self.words, texts))),
            tuple(_attribute(one, self.form["claim_target"]) for one in references),
        )

    def description(self, descriptions: Iterable[Element]) -> list[Paragraph]:
        """The paragraphs; what follows the marked sections without a mark is the detailed description."""
        found: list[Paragraph] = []
        for description in descriptions:
            for part in description.iterchildren("{*}*"):
                if f"{self.form['description']}/{_name(part)}" not in self.form["ignored"]:
                    rest = "detailed" if any(paragraph.section for paragraph in found) else ""
                    found += self.paragraphs(part, rest)
        return found

    def paragraphs(self, part: Element, section: str) -> list[Paragraph]:
        section = self.form.get("sections", {}).get(_name(part), section)
        is_paragraph = _name(part) in self.form["paragraph"]
        below = () if is_paragraph else part.iterchildren("{*}*")
        found = [paragraph for one in below for paragraph in self.paragraphs(one, section)]
        if found or not (text := self.words(part)):
            return found
        number = _attribute(part, self.form["paragraph_number"]).removeprefix("n")  # CNIPA: n0001
        return [Paragraph(text, section, int(number) if number.isdecimal() else 0)]


def _items(root: Element, place: str, *, form: Form) -> Iterator[Item]:
    if _name(root) != form["root"]:
        yield Skipped("", place, f"not a patent document ({_name(root)})")
        return
    document = _Document(root, form)
    yield from document.published().items(place)
    for field in ("title", "abstract"):
        if len(document.texts(field)) > 1 and "language_of_text" not in form:
            yield Note(f"{field} in several languages: the first is read", place)


def _is(path: Path, *, form: Form) -> bool:
    return first_root(path) == form["root"] and form.get("contains", "").encode() in first_start(path)


def _reader(name: str, form: Form) -> Reader:
    form = {**form, "name": name}
    return Reader(
        name,
        form["what"],
        sniff=partial(_is, form=form),
        read=lambda path: read_bulk(path, partial(_items, form=form)),
    )


READERS = tuple(_reader(name, form) for name, form in FORMS.items())
