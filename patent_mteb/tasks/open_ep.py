"""PatentOpenEP: citations of European search reports against claims, within and across three languages.

``patent-mteb edition build open-ep`` builds the tables (:mod:`patent_mteb.recipes.open_ep`). The benchmark has the
tasks of :mod:`patent_mteb.tasks.open_us` that its data support, with its gate, hidden families, grades and slices, and
tasks that retrieve claims or descriptions in German, English and French for a claim. In tasks on all languages, a
document is in the corpus once in each of its languages, and relevant in each; slices name the pair (``de_en``) and the
language of the query (``lang_de``). The others have queries in one language and documents in another (:data:`PAIRS`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from patent_mteb.data.loading import DataSet
from patent_mteb.errors import NotThereError
from patent_mteb.files import read_jsonl
from patent_mteb.metrics import slices
from patent_mteb.patents.corpus import Texts
from patent_mteb.published import citation
from patent_mteb.recipes import open_ep as recipe
from patent_mteb.recipes import open_layout as layout
from patent_mteb.recipes.dataset import FileRecord
from patent_mteb.tasks.base import make_task
from patent_mteb.tasks.benchmark import ONE_CLAIM, PRIOR_ART, Facts, PatentBenchmark
from patent_mteb.tasks.checks import log_counts
from patent_mteb.tasks.open_us import CLAIM_SCORING, INSTRUCTIONS, PARTS, OpenRetrieval, Spec, names_in, open_tasks
from patent_mteb.tasks.retrieval import RetrievalTables

DATA = DataSet("PatentOpenEP", "")
NAMES = {"de": "German", "en": "English", "fr": "French"}
CODES = {"de": "deu-Latn", "en": "eng-Latn", "fr": "fra-Latn"}
PAIRS = tuple((query, document) for query in recipe.LANGUAGES for document in recipe.LANGUAGES if query != document)
"""The languages of queries and documents of the cross-lingual tasks."""


@dataclass(frozen=True)
class LanguageSpec(Spec):
    """A task on the language of the queries and that of the documents; empty for all languages."""

    query_language: str = ""
    document_language: str = ""

    def name(self, benchmark: str) -> str:
        query, document = self.query_language.capitalize(), self.document_language.capitalize()
        return f"{benchmark}Claim{query}To{self.document}{document}Retrieval"

    def description(self, cited: str) -> str:
        query = f"{NAMES[self.query_language]} claim" if self.query_language else "claim in German, English or French"
        language = f"in {NAMES[self.document_language]}" if self.document_language else "in all three languages"
        return (
            f"Given a {query} against which a search report cited documents as X or Y, retrieve these documents"
            f" ({self.document.lower()} {language}), among those public before its priority date."
        )

    @property
    def languages(self) -> tuple[str, ...]:
        return (self.document_language,) if self.document_language else recipe.LANGUAGES


CROSS = tuple(LanguageSpec("Claim", kind, *pair) for kind in recipe.KINDS for pair in (("", ""), *PAIRS))
MONOLINGUAL = {"Documents": (Spec("TAC"),), "Claims": (Spec("Claim"),), "Passages": (Spec("Claim", "Passage"),)}

FACTS = Facts(
    name="PatentOpenEP",
    description=(
        "What European search reports cited against a claim, across German, English and French, behind the priority"
        " gate."
    ),
    reference="https://www.epo.org/en/searching-for-patents/data/bulk-data-sets",
    bibtex=citation("epo2026bulk"),
    license="not specified",
    date=("1978-01-01", "2026-12-31"),
    annotations="expert-annotated",
    prefix="PatentOpenEP",
    headline="PatentOpenEPClaimToClaimsRetrieval",
    jobs={PRIOR_ART: ("PatentOpenEPTACToTACRetrieval", ""), ONE_CLAIM: ("PatentOpenEPClaimToTACRetrieval", "")},
    short_names={"PatentOpenEPClaimToClaimsRetrieval": "Claim→Claims"},
    prompt_rows=((r"PatentOpenEP\w+Retrieval", "retrieval_MIXED"),),
    replaced=("Patent",),
    known_by=("languages.parquet",),
)


class LanguageRetrieval(OpenRetrieval):
    scoring = CLAIM_SCORING
    spec: LanguageSpec

    def texts(self, place: Path) -> tuple[Mapping[str, str], Texts, slices.Qrels]:
        spec = self.spec
        claims = layout.read_subset(layout.subset_folder(place, layout.CLAIMS))
        languages = recipe.read_languages(place)
        query_language = {key: languages.get(layout.document_of(key), "") for key in claims.qrels}
        paths = (place / recipe.text_folder(spec.document, one) / "corpus.jsonl" for one in spec.languages)
        rows = (row for path in paths if path.exists() for _, row in read_jsonl(path, ("_id", "text"), ("title",)))
        corpus = Texts.collected((row["_id"], row["text"]) for row in rows)
        found = {
            query: {
                key: gain
                for document, gain in judged.items()
                for one in spec.languages
                if (key := layout.text_id(document, one)) in corpus
            }
            for query, judged in claims.qrels.items()
            if query_language[query] in ((spec.query_language,) if spec.query_language else recipe.LANGUAGES)
        }
        qrels = {query: judged for query, judged in found.items() if any(judged.values())}
        counts = {
            "queries in another or an unknown language": len(query_language) - len(found),
            "queries without a relevant document in these languages": len(found) - len(qrels),
        }
        log_counts(place, counts)
        if not qrels:
            pair = f"{NAMES.get(spec.query_language, 'any')} to {NAMES.get(spec.document_language, 'any')}"
            problem = f"no claim has a relevant document ({spec.document.lower()}, {pair})"
            raise NotThereError(problem, path=place, remedy="build a wider window, or omit this task")
        return {query: claims.queries[query] for query in qrels}, corpus, qrels

    def load_tables(self) -> RetrievalTables:
        tables, languages = super().load_tables(), recipe.read_languages(self.source.path())
        positive = slices.positive(tables.qrels)

        def pair(query: str, document: str) -> Iterator[str]:
            yield f"{languages[layout.document_of(query)]}_{document.partition('#')[2]}"

        parts = slices.by_query(positive, lambda query: f"lang_{languages[layout.document_of(query)]}")
        parts |= slices.by_judgement(positive, pair)
        return replace(tables, slices={**tables.slices, **dict(sorted(parts.items()))})


def _task(spec: LanguageSpec) -> type[LanguageRetrieval]:
    pair = (spec.query_language, spec.document_language)
    described = (spec.name(FACTS.name), "Retrieval", spec.description(""), "ndcg_at_10", {"spec": spec})
    more: dict[str, Any] = {
        "prompt": {"query": INSTRUCTIONS["Claim"]},
        "eval_langs": [CODES[one] for one in recipe.LANGUAGES if one in pair or not spec.query_language],
        "text_parts": {"query": PARTS["Claim"]},
    }
    return make_task(LanguageRetrieval, FACTS, DATA, *described, **more)


def _names_in(files: Mapping[str, FileRecord]) -> list[str]:
    names = names_in(FACTS, MONOLINGUAL, files)
    for spec in CROSS if "claims/qrels/test.tsv" in files else ():
        if any(f"{recipe.text_folder(spec.document, one)}/corpus.jsonl" in files for one in spec.languages):
            names.append(spec.name(FACTS.name))
    return names


_CITED = "cited against it in a European search report"
BENCHMARK = PatentBenchmark(
    FACTS,
    {
        **{group: open_tasks(FACTS, DATA, specs, _CITED) for group, specs in MONOLINGUAL.items()},
        **{
            f"Claim to {kind.lower()}": [_task(spec) for spec in CROSS if spec.document == kind]
            for kind in recipe.KINDS
        },
    },
    names_in=_names_in,
)
