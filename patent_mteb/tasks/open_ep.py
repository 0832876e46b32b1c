"""PatentOpenEP: claims of European applications, and what search reports cited against them, within and across three
languages.

The tables are built by ``patent-mteb edition build open-ep`` (:mod:`patent_mteb.recipes.open_ep`). Beside the tasks of
``PatentOpenUS`` that its data allow, a rejected claim asks for the claims or the descriptions of documents in German,
English and French (:mod:`patent_mteb.recipes.open_ep`):

* ``PatentOpenEPClaimToClaimsRetrieval``, ``…ToDescriptionRetrieval``: all languages at once. A document is there once
  in each of its languages, and relevant in each; slices name the pair (``de_en``) and the language of the query
  (``lang_de``);
* ``PatentOpenEPClaim<Query>To<Claims|Description><Document>Retrieval``: queries of one language, documents in another
  (:data:`PAIRS`).

Gate, own families, grades and slices are those of :mod:`patent_mteb.tasks.open_us`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from patent_mteb.data.loading import DataSet
from patent_mteb.errors import NotThereError
from patent_mteb.files import read_jsonl
from patent_mteb.metrics import slices
from patent_mteb.patents.corpus import Texts
from patent_mteb.recipes import open_ep as spoken
from patent_mteb.recipes import open_layout as layout
from patent_mteb.recipes.dataset import FileRecord
from patent_mteb.tasks.base import make_task, task_metadata
from patent_mteb.tasks.benchmark import Facts, PatentBenchmark
from patent_mteb.tasks.checks import say
from patent_mteb.tasks.open_us import INSTRUCTIONS, OpenRetrieval, Spec, open_tasks
from patent_mteb.tasks.retrieval import RetrievalTables

DATA = DataSet("PatentOpenEP", "")
NAMES = {"de": "German", "en": "English", "fr": "French"}
CODES = {"de": "deu-Latn", "en": "eng-Latn", "fr": "fra-Latn"}
PAIRS = tuple((query, document) for query in spoken.LANGUAGES for document in spoken.LANGUAGES if query != document)
"""Language of the queries and of the documents of the cross-lingual tasks."""


@dataclass(frozen=True)
class LanguageSpec(Spec):
    """One task between languages.

    Attributes:
        asked: language of the queries; empty for all.
        given: language of the documents; empty for all.
    """

    asked: str = ""
    given: str = ""

    @property
    def name(self) -> str:
        return f"PatentOpenEPClaim{self.asked.capitalize()}To{self.document}{self.given.capitalize()}Retrieval"

    def description(self, cited: str) -> str:
        query = f"{NAMES[self.asked]} claim" if self.asked else "claim in German, English or French"
        given = f"in {NAMES[self.given]}" if self.given else "in all three languages"
        return (
            f"Given a {query} against which a search report cited documents as X or Y, retrieve these documents"
            f" ({self.document.lower()} {given}), among those public before its priority date."
        )

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of the documents."""
        return (self.given,) if self.given else spoken.LANGUAGES


CROSS = tuple(LanguageSpec("Claim", kind, *pair) for kind in spoken.KINDS for pair in (("", ""), *PAIRS))
OWN = {"Documents": (Spec("TAC"),), "Claims": (Spec("Claim"),), "Passages": (Spec("Claim", "Passage"),)}

FACTS = Facts(
    name="PatentOpenEP",
    description=(
        "What European search reports cited against a claim, across German, English and French, behind the priority"
        " gate."
    ),
    reference="https://www.epo.org/en/searching-for-patents/data/bulk-data-sets",
    bibtex=r"""@misc{epo2026bulk,
  author = {{European Patent Office}},
  title = {Bulk data sets: EP full-text data, PATSTAT, DOCDB},
  url = {https://www.epo.org/en/searching-for-patents/data/bulk-data-sets},
  year = {2026},
}""",
    license="not specified",
    date=("1978-01-01", "2026-12-31"),
    annotations="expert-annotated",
    prefix="PatentOpenEP",
    headline="PatentOpenEPClaimToClaimsRetrieval",
    short_names={"PatentOpenEPClaimToClaimsRetrieval": "Claim→Claims"},
    prompt_rows=((r"PatentOpenEP\w+Retrieval", "retrieval_MIXED"),),
    replaced=("Patent",),
    known_by=("languages.parquet",),
)


class LanguageRetrieval(OpenRetrieval):
    """One task between languages; see the module."""

    spec: LanguageSpec

    def texts(self, place: Path) -> tuple[Mapping[str, str], Texts, slices.Qrels]:
        spec = self.spec
        claims = layout.read_subset(layout.subset_folder(place, layout.CLAIMS))
        own = spoken.read_languages(place)
        asked = {key: own.get(layout.document_of(key), "") for key in claims.qrels}
        files = [
            path
            for one in spec.languages
            if (path := place / spoken.text_folder(spec.document, one) / "corpus.jsonl").exists()
        ]
        corpus = Texts.collected(
            (row["_id"], row["text"]) for path in files for _, row in read_jsonl(path, ("_id", "text"), ("title",))
        )
        found = {
            query: {
                key: gain
                for document, gain in judged.items()
                for one in spec.languages
                if (key := spoken.text_id(document, one)) in corpus
            }
            for query, judged in claims.qrels.items()
            if asked[query] in ((spec.asked,) if spec.asked else spoken.LANGUAGES)
        }
        qrels = {query: judged for query, judged in found.items() if any(judged.values())}
        others = "queries in other languages, or in none that is known"
        say(
            place,
            {
                others: len(asked) - len(found),
                "queries without a relevant document in these languages": len(found) - len(qrels),
            },
        )
        if not qrels:
            pair = f"{NAMES.get(spec.asked, 'any')} to {NAMES.get(spec.given, 'any')}"
            problem = f"no claim has a relevant document ({spec.document.lower()}, {pair})"
            raise NotThereError(problem, path=place, remedy="build a wider window, or leave out this task")
        return {query: claims.queries[query] for query in qrels}, corpus, qrels

    def load_tables(self) -> RetrievalTables:
        tables, own = super().load_tables(), spoken.read_languages(self.source.path())
        positive = slices.positive(tables.qrels)

        def pair(query: str, document: str) -> Iterator[str]:
            yield f"{own[layout.document_of(query)]}_{document.partition('#')[2]}"

        parts = slices.by_query(positive, lambda query: f"lang_{own[layout.document_of(query)]}") | slices.by_judgement(
            positive, pair
        )
        return replace(tables, slices={**tables.slices, **dict(sorted(parts.items()))})


def _task(spec: LanguageSpec) -> type[LanguageRetrieval]:
    metadata = task_metadata(
        FACTS,
        DATA,
        spec.name,
        "Retrieval",
        spec.description(""),
        "ndcg_at_10",
        prompt={"query": INSTRUCTIONS["Claim"]},
        eval_langs=[CODES[one] for one in spoken.LANGUAGES if not (spec.asked and one not in (spec.asked, spec.given))],
        text_parts=spec.parts,
    )
    return make_task(LanguageRetrieval, __name__, metadata, data=DATA, facts=FACTS, spec=spec)


def _names_in(files: Mapping[str, FileRecord]) -> list[str]:
    """The tasks whose files are there."""
    needed = {"Claims": "claims/qrels/test.tsv", "Passages": "passages/qrels/test.tsv"}
    plain = [spec for group, specs in OWN.items() for spec in specs if group not in needed or needed[group] in files]
    cross = [
        spec.name
        for spec in CROSS
        if any(f"{spoken.text_folder(spec.document, one)}/corpus.jsonl" in files for one in spec.languages)
        and needed["Claims"] in files
    ]
    return [*(f"{FACTS.name}{spec.query}To{spec.document}Retrieval" for spec in plain), *cross]


BENCHMARK = PatentBenchmark(
    FACTS,
    {
        **{
            group: open_tasks(FACTS, DATA, specs, "cited against it in a European search report")
            for group, specs in OWN.items()
        },
        **{
            f"Claim to {kind.lower()}": tuple(_task(spec) for spec in CROSS if spec.document == kind)
            for kind in spoken.KINDS
        },
    },
    names_in=_names_in,
)
