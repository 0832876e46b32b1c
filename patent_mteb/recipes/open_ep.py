"""Recipe of PatentOpenEP: a cross-lingual citation benchmark from EP full text and the categories of search reports.

Texts come from EP full text (XML of the publication server, or the TSV for text analytics). Categories and claims come
from PATSTAT (``tls212`` with ``tls215``, ``tls211``) or DOCDB, whose citations name the publication of the search
report. Queries, documents, grades, gate and sampling are those of :mod:`patent_mteb.recipes.open_us`: applications as
filed at the EPO, and families with the text of their earliest publication. A citation without a date has that of the
publication of its search report.

A query is in the language of the proceedings, in which the application was published. The EPO does not publish
Euro-PCT applications, so their citations are dropped and counted.

The cross-lingual tasks read the texts of the documents in German, English and French. In addition to the files of
:mod:`patent_mteb.recipes.open_layout` the recipe writes:

====================================  ==================================================================================
file                                  content
====================================  ==================================================================================
``claim_texts/<lang>/corpus.jsonl``   claims of documents in one language: ``_id`` (``<document>#<lang>``), ``text``;
                                      ``description_texts/<lang>/corpus.jsonl``: their descriptions
``languages.parquet``                 of applications: ``_id``, ``claims`` (the language of their claims as filed)
====================================  ==================================================================================

The text of a family in a language is that of its earliest publication with such a text. Granted claims (B1) exist in
German, English and French, a description only in the language of the proceedings. A family is public from its first
publication on, even if its text in a language comes from the grant. A document cited against a claim is relevant in
every language.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pyarrow as pa

from patent_mteb.files import read_keyed, write_jsonl, write_rows
from patent_mteb.patents.claims import claims_text
from patent_mteb.patents.on_disk import DiskList
from patent_mteb.patents.records import Citation, Patent
from patent_mteb.patents.tables import by_age
from patent_mteb.patents.text import clean_field
from patent_mteb.recipes import AS_GIVEN, open_us
from patent_mteb.recipes import open_layout as layout
from patent_mteb.recipes.steps import BuildLog

LANGUAGES = ("de", "en", "fr")  # the official languages of the EPO

KINDS = {"Claims": "claim_texts", "Description": "description_texts"}  # folder of the texts of each section

_QUERIES = pa.schema([("_id", pa.string()), ("claims", pa.string())])


def text_folder(kind: str, language: str) -> str:
    """Return the folder of a section in a language."""
    return f"{KINDS[kind]}/{language}"


def texts_of(patent: Patent, kind: str) -> Iterator[tuple[str, str]]:
    """Yield language (empty if unknown) and text of each version of a section."""
    if kind == "Claims":
        found = [(patent.languages.claims, claims_text(patent.claims))]
        found += [(one.language, claims_text(one.claims)) for one in patent.translations]
    else:
        found = [(patent.languages.description, "\n".join(patent.description.lines()))]
        found += [(one.language, one.description) for one in patent.translations]
    for language, text in found:
        if words := clean_field(text, boilerplate=False):
            yield language, words


def write_languages(
    folder: Path,
    patents: Sequence[Patent],
    headers: pl.DataFrame,
    corpus: pl.DataFrame,
    claims: pl.DataFrame,
    log: BuildLog,
) -> None:
    """Write the texts of documents in each language, and the languages of the queries with claims."""
    members = by_age(headers.join(corpus, on="document", how="semi"))
    counts: Counter[str] = Counter()
    buffer: DiskList[str] = DiskList()
    place_of: dict[tuple[str, str], dict[str, int]] = {(kind, language): {} for kind in KINDS for language in LANGUAGES}
    for document, row in members.select("document", "row").iter_rows():
        patent = patents[row]
        for kind in KINDS:
            for language, text in texts_of(patent, kind):
                if language not in LANGUAGES:
                    counts[f"texts in {language or 'an unknown language'} (dropped)"] += 1
                elif document not in place_of[kind, language]:
                    place_of[kind, language][document] = len(buffer)
                    buffer.append(text)
    for (kind, language), places in place_of.items():
        counts[f"documents with {kind.lower()} in {language}"] = len(places)
        if places:
            rows = (
                {"_id": layout.text_id(number, language), "title": "", "text": buffer[place]}
                for number, place in sorted(places.items())
            )
            write_jsonl(folder / text_folder(kind, language) / "corpus.jsonl", rows)
    queries = headers.filter(pl.col("number").is_in(claims["query"].unique().implode())).sort("number")
    languages = (
        {"_id": number, "claims": patents[row].languages.claims}
        for number, row in queries.select("number", "row").iter_rows()
    )
    write_rows(folder / "languages.parquet", languages, _QUERIES)
    note = "; ".join(f"{number} {what}" for what, number in sorted(counts.items()))
    log.step("texts in languages", len(members), len(buffer), note)


def read_languages(folder: Path) -> dict[str, str]:
    """Return the language of the claims by application, empty if unknown."""
    table = read_keyed(folder / "languages.parquet", {"claims": pa.string()})
    return {
        key: language or "" for key, language in zip(table["_id"].to_pylist(), table["claims"].to_pylist(), strict=True)
    }


NAME = "PatentOpenEP"
COMMON = AS_GIVEN
EACH_CITATION = True
NEEDS = open_us.NEEDS


@dataclass(frozen=True)
class Params(open_us.Params):
    """Settings of the recipe: those of PatentOpenUS.

    Attributes:
        first: first day of the window of search reports; None: no limit.
    """

    offices: tuple[str, ...] = ("EP",)


SAMPLE = Params()


def build(patents: Sequence[Patent], citations: Sequence[Citation], root: Path, params: Params = SAMPLE) -> BuildLog:
    """Write ``root/PatentOpenEP``."""
    return open_us.build_as(NAME, patents, citations, root, params, reports=True, write_more=write_languages)
