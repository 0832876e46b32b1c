"""The texts of documents in each language of the EPO: what makes the cross-lingual tasks of ``PatentOpenEP``.

Beside the files of :mod:`patent_mteb.recipes.open_layout`:

====================================  ================================================================================================
file                                  content
====================================  ================================================================================================
``claim_texts/<lang>/corpus.jsonl``   claims of documents in one language: ``_id`` (``<document>#<lang>``), ``text``;
                                      ``description_texts/<lang>/corpus.jsonl``: their descriptions
``languages.parquet``                 of applications: ``_id``, ``claims`` (the language of their claims as filed)
====================================  ================================================================================================

A document is a patent family, and its text in a language that of its earliest publication that has one: claims of a European patent as
granted (B1) stand in German, English and French, a description only in the language of the proceedings. A family is public from its first
publication on, whatever language that had: a text of the grant stands for it. What was cited against a claim is relevant in every language.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from patent_mteb.files import read_keyed, write_jsonl, write_rows
from patent_mteb.patents.claims import claims_text
from patent_mteb.patents.families import age
from patent_mteb.patents.records import Patent
from patent_mteb.patents.spool import Spool
from patent_mteb.patents.stored import publications
from patent_mteb.patents.text import clean
from patent_mteb.recipes.log import BuildLog
from patent_mteb.recipes.open_citations import Judgement, Name
from patent_mteb.recipes.open_layout import document_of

__all__ = ["KINDS", "LANGUAGES", "part_of", "read_languages", "text_id", "texts_of", "write_languages"]

LANGUAGES = ("de", "en", "fr")
"""The official languages of the EPO."""
KINDS = {"Claims": "claim_texts", "Description": "description_texts"}
"""Folders of the texts, by section."""
_QUERIES = pa.schema([("_id", pa.string()), ("claims", pa.string())])


def part_of(kind: str, language: str) -> str:
    """The folder of one section in one language.

    Example:
        >>> from patent_mteb.recipes.open_languages import part_of
        >>> part_of("Claims", "fr")
        'claim_texts/fr'
    """
    return f"{KINDS[kind]}/{language}"


def text_id(document: str, language: str) -> str:
    """The id of a text of a document.

    Example:
        >>> from patent_mteb.recipes.open_languages import text_id
        >>> text_id("EP1000000A1", "fr")
        'EP1000000A1#fr'
    """
    return f"{document}#{language}"


def texts_of(patent: Patent, kind: str) -> Iterator[tuple[str, str]]:
    """Language (empty where unknown) and text of each version of a section of a publication.

    Example:
        >>> from patent_mteb.patents.records import Claim, Patent, TextLanguages, Translation
        >>> from patent_mteb.recipes.open_languages import texts_of
        >>> german = Translation("de", claims=(Claim(1, "Pumpe."),))
        >>> pump = Patent("EP1B1", "F", claims=(Claim(1, "Pump."),), languages=TextLanguages(claims="en"), translations=(german,))
        >>> list(texts_of(pump, "Claims"))
        [('en', '1. Pump.'), ('de', '1. Pumpe.')]
    """
    if kind == "Claims":
        found = [
            (patent.languages.claims, claims_text(patent.claims)),
            *((one.language, claims_text(one.claims)) for one in patent.translations),
        ]
    else:
        own = (patent.languages.description, "\n".join(patent.description.lines()))
        found = [own, *((one.language, one.description) for one in patent.translations)]
    for language, text in found:
        if words := clean(text, boilerplate=False):
            yield language, words


def write_languages(
    folder: Path, patents: Sequence[Patent], corpus: Sequence[Name], asking: Mapping[str, Sequence[Judgement]], log: BuildLog
) -> list[Path]:
    """Write the texts of the documents in each language, and the language of the applications that ask.

    Args:
        corpus: the documents.
        asking: what was said against each claim that asks.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.recipes.log import BuildLog
        >>> from patent_mteb.recipes.open_languages import write_languages
        >>> [path.name for path in write_languages(Path("open"), [], [], {}, BuildLog("mine"))]
        ['languages.parquet']
    """
    document = {name.family: name.number for name in corpus}
    known = publications(patents)
    members = sorted((place for place, one in enumerate(known) if one.family_id in document), key=lambda place: age(known[place]))
    asked = {document_of(claim) for claim in asking}
    counts: Counter[str] = Counter()
    texts: dict[tuple[str, str], dict[str, int]] = {(kind, language): {} for kind in KINDS for language in LANGUAGES}
    held: Spool[str] = Spool()
    for place in members:
        patent = patents[place]
        for kind in KINDS:
            for language, text in texts_of(patent, kind):
                if language not in LANGUAGES:
                    counts[f"texts in {language or 'an unknown language'} (left out)"] += 1
                elif (number := document[known[place].family_id]) not in texts[kind, language]:
                    texts[kind, language][number] = len(held)
                    held.append(text)
    files = []
    for (kind, language), places in texts.items():
        counts[f"documents with {kind.lower()} in {language}"] = len(places)
        if places:
            files.append(folder / part_of(kind, language) / "corpus.jsonl")
            rows = ({"_id": text_id(number, language), "title": "", "text": held[places[number]]} for number in sorted(places))
            write_jsonl(files[-1], rows)
    spoken = {one.publication_number: place for place, one in enumerate(known) if one.publication_number in asked}
    files.append(folder / "languages.parquet")
    write_rows(files[-1], ({"_id": number, "claims": patents[spoken[number]].languages.claims} for number in sorted(spoken)), _QUERIES)
    log.step("texts in languages", len(members), len(held), "; ".join(f"{number} {what}" for what, number in sorted(counts.items())))
    return files


def read_languages(folder: Path) -> dict[str, str]:
    """The language of the claims of each application; empty where the source does not say it.

    Raises:
        DataError: the file is missing, or a column is missing or of another type.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.recipes.open_languages import read_languages
        >>> read_languages(Path("nowhere"))
        Traceback (most recent call last):
        patent_mteb.errors.DataError: nowhere/languages.parquet: the file is missing. Remedy: ...
    """
    table = read_keyed(folder / "languages.parquet", {"claims": pa.string()})
    return {key: language or "" for key, language in zip(table["_id"].to_pylist(), table["claims"].to_pylist(), strict=True)}
