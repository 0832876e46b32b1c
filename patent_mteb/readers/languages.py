"""Texts in several languages: which is the main one, and the others as translations."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from patent_mteb.patents.records import Claim, Description, TextLanguages, Translation
from patent_mteb.readers.full_text import ClaimText, read_claim_texts

__all__ = ["Texts", "in_english", "main_language"]

_ENGLISH = "en"

_WORDS = (
    (r"(?:patent)?ansprüchen?|revendications", "claims"),
    (r"(?:patent)?anspruchs?|revendication", "claim"),
    (r"bis(?: zu)?|à", "to"),
    (r"oder|ou", "or"),
    (r"und|et", "and"),
    (r"nach|gemäß|gemäss|laut|selon|suivant", "according to"),
    (r"eine[mrsn]|l'une(?: quelconque)?|une quelconque", "any one"),
    (r"der|des|les|la", "of the"),
    (r"vorhergehenden|vorangehenden|voranstehenden|vorstehenden|vorherigen", "preceding"),
)
_TRANSLATED = [(re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE), english) for words, english in _WORDS]
_BEHIND = re.compile(r"\bclaims (?:précédentes|antérieures)", re.IGNORECASE)


def in_english(claim: str) -> str:
    """A German or French claim with the words that refer to other claims in English; the rest stays.

    Example:
        >>> from patent_mteb.readers.languages import in_english
        >>> in_english("Pumpe nach einem der Ansprüche 1 bis 3")
        'Pumpe according to any one of the claims 1 to 3'
    """
    for words, english in _TRANSLATED:
        claim = words.sub(english, claim)
    return _BEHIND.sub("preceding claims", claim)


def main_language(available: Mapping[str, object], own: str) -> str:
    """The language of the main text: English, else that of the document, else the first there is.

    Example:
        >>> from patent_mteb.readers.languages import main_language
        >>> main_language({"de": "Pumpe", "en": "Pump"}, "de"), main_language({"fr": "Pompe"}, "de")
        ('en', 'fr')
    """
    return next((language for language in (_ENGLISH, own) if language in available), next(iter(available), ""))


@dataclass
class Texts:
    """The texts of one publication by language.

    Example:
        >>> from patent_mteb.readers.full_text import ClaimText
        >>> from patent_mteb.readers.languages import Texts
        >>> texts = Texts("de", titles={"de": "Pumpe", "en": "Pump"}, claims={"de": [ClaimText("1", "Pumpe.")]})
        >>> main, notes = texts.main()
        >>> main["title"], main["languages"].claims, [one.language for one in main["translations"]]
        ('Pump', 'de', ['de'])
    """

    own: str
    titles: dict[str, str] = field(default_factory=dict)
    abstracts: dict[str, str] = field(default_factory=dict)
    claims: dict[str, list[ClaimText]] = field(default_factory=dict)
    descriptions: dict[str, Description] = field(default_factory=dict)

    def main(self) -> tuple[dict[str, object], list[str]]:
        """The fields of a record that hold texts, and notes on the claims."""
        claims: dict[str, tuple[Claim, ...]] = {}
        notes: list[str] = []
        for language, texts in self.claims.items():
            claims[language], found = _claims(language, texts)
            notes += found
        chosen = [main_language(texts, self.own) for texts in (self.titles, self.abstracts, claims, self.descriptions)]
        title, abstract, claim, description = chosen
        others = sorted({*self.titles, *self.abstracts, *claims, *self.descriptions})
        translations = [
            Translation(
                language,
                self.titles.get(language, "") if language != title else "",
                self.abstracts.get(language, "") if language != abstract else "",
                claims.get(language, ()) if language != claim else (),
                _joined(self.descriptions.get(language)) if language != description else "",
            )
            for language in others
        ]
        values: dict[str, object] = {
            "title": self.titles.get(title, ""),
            "abstract": self.abstracts.get(abstract, ""),
            "claims": claims.get(claim, ()),
            "description": self.descriptions.get(description, Description()),
            "languages": TextLanguages(*chosen),
            "translations": [one for one in translations if one != Translation(one.language)],
        }
        return values, notes


def _claims(language: str, texts: list[ClaimText]) -> tuple[tuple[Claim, ...], list[str]]:
    """Claims of any language, whose dependence is read as that of English ones."""
    claims, notes = read_claim_texts(texts)
    if language == _ENGLISH or any(text.refers for text in texts):
        return claims, notes
    worded, _ = read_claim_texts(text._replace(text=in_english(text.text)) for text in texts)
    return tuple(Claim(claim.number, claim.text, other.depends_on) for claim, other in zip(claims, worded, strict=True)), notes


def _joined(description: Description | None) -> str:
    if description is None:
        return ""
    return "\n".join(filter(None, (description.background, description.summary, description.drawings, description.detailed)))
