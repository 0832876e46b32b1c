"""Recipe of PatentOpenEP: a cross-lingual citation benchmark from the EPO's full text and the letters of its search
reports.

Texts come from EP full text (XML of the publication server, or the TSV for text analytics), letters and claims from
PATSTAT (``tls212`` with ``tls215``, ``tls211``) or DOCDB, whose citations name the publication of the search report.
Queries, documents, grades, gate and sampling are those of :mod:`patent_mteb.recipes.open_us`: applications as filed at
the EPO, families in the words of their earliest publication; the window is of the publications that the citations came
with, where they have no date of their own. To them come the texts of documents in German, English and French
(:mod:`patent_mteb.recipes.open_ep`).

A claim asks in the language of the proceedings, the one that the application was published in. Applications that the
EPO did not publish (Euro-PCT) have no application as filed among its texts: their citations are counted as left out.

The texts of documents in each language of the EPO: what makes the cross-lingual tasks of ``PatentOpenEP``.

Beside the files of :mod:`patent_mteb.recipes.open_layout`:

====================================  ==================================================================================
file                                  content
====================================  ==================================================================================
``claim_texts/<lang>/corpus.jsonl``   claims of documents in one language: ``_id`` (``<document>#<lang>``), ``text``;
                                      ``description_texts/<lang>/corpus.jsonl``: their descriptions
``languages.parquet``                 of applications: ``_id``, ``claims`` (the language of their claims as filed)
====================================  ==================================================================================

A document is a patent family, and its text in a language that of its earliest publication that has one: claims of a
European patent as granted (B1) stand in German, English and French, a description only in the language of the
proceedings. A family is public from its first publication on, whatever language that had: a text of the grant stands
for it. What was cited against a claim is relevant in every language.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from patent_mteb.files import read_keyed, write_jsonl, write_rows
from patent_mteb.patents.claims import claims_text
from patent_mteb.patents.families import age
from patent_mteb.patents.on_disk import Spool, publications
from patent_mteb.patents.records import Citation, Patent
from patent_mteb.patents.text import clean
from patent_mteb.recipes import open_us
from patent_mteb.recipes.log import BuildLog
from patent_mteb.recipes.open_citations import Judgement, Header
from patent_mteb.recipes.open_layout import document_of

LANGUAGES = ("de", "en", "fr")
"""The official languages of the EPO."""

KINDS = {"Claims": "claim_texts", "Description": "description_texts"}
"""Folders of the texts, by section."""

_QUERIES = pa.schema([("_id", pa.string()), ("claims", pa.string())])


def text_folder(kind: str, language: str) -> str:
    """The folder of one section in one language."""
    return f"{KINDS[kind]}/{language}"


def text_id(document: str, language: str) -> str:
    """The id of a text of a document."""
    return f"{document}#{language}"


def texts_of(patent: Patent, kind: str) -> Iterator[tuple[str, str]]:
    """Language (empty where unknown) and text of each version of a section of a publication."""
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
    folder: Path,
    patents: Sequence[Patent],
    corpus: Sequence[Header],
    asking: Mapping[str, Sequence[Judgement]],
    log: BuildLog,
) -> list[Path]:
    """Write the texts of the documents in each language, and the language of the applications that ask."""
    document = {name.family: name.number for name in corpus}
    known = publications(patents)
    members = sorted(
        (place for place, one in enumerate(known) if one.family_id in document), key=lambda place: age(known[place])
    )
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
            files.append(folder / text_folder(kind, language) / "corpus.jsonl")
            rows = (
                {"_id": text_id(number, language), "title": "", "text": held[places[number]]}
                for number in sorted(places)
            )
            write_jsonl(files[-1], rows)
    spoken = {one.publication_number: place for place, one in enumerate(known) if one.publication_number in asked}
    files.append(folder / "languages.parquet")
    write_rows(
        files[-1],
        ({"_id": number, "claims": patents[spoken[number]].languages.claims} for number in sorted(spoken)),
        _QUERIES,
    )
    log.step(
        "texts in languages",
        len(members),
        len(held),
        "; ".join(f"{number} {what}" for what, number in sorted(counts.items())),
    )
    return files


def read_languages(folder: Path) -> dict[str, str]:
    """The language of the claims of each application; empty where the source does not say it."""
    table = read_keyed(folder / "languages.parquet", {"claims": pa.string()})
    return {
        key: language or "" for key, language in zip(table["_id"].to_pylist(), table["claims"].to_pylist(), strict=True)
    }


NAME = "PatentOpenEP"

EACH_CITATION = True

NEEDS = open_us.NEEDS


@dataclass(frozen=True)
class Params(open_us.Params):
    """Settings of the recipe.

    Attributes:
        first: first day of the window of search reports; None: no limit.
        last: last day of the window; None: no limit.
        offices: offices whose applications are queries.
        queries: most queries, stratified by year and IPC section; None: all.
        documents: size of the corpus: all that is judged, and others by hash of their number; None: all.
        passages: whose paragraphs are documents: those of the documents that are judged for a claim, or of the whole
            corpus.
        seed: of every draw.
    """

    offices: tuple[str, ...] = ("EP",)


SAMPLE = Params()


def build(patents: Sequence[Patent], citations: Sequence[Citation], root: Path, params: Params = SAMPLE) -> BuildLog:
    """Write ``root/PatentOpenEP``."""
    return open_us.build_as(NAME, patents, citations, root, params, open_us.Source(reports=True, parts=write_languages))
