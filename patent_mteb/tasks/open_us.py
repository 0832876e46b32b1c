"""PatentOpenUS: citation retrieval from open bulk data of the USPTO.

Queries are applications or rejected claims, documents are publications or paragraphs.

The tables are built by ``patent-mteb edition build`` from public files (:mod:`patent_mteb.recipes.open_us`), or from
the built-in sample. All tasks have the priority gate (:mod:`patent_mteb.search.base`), hide the query's own family, and
have graded gains (X 3, Y 2, A 1). Further scores are those for collections that are judged in part
(:mod:`patent_mteb.metrics.measures`): ``judged_at_10``, ``judged_at_100``, ``bpref``, and ``xy_bpref``, for which A
citations are judged and not relevant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

from patent_mteb.data.loading import DataSet
from patent_mteb.errors import DataError, NotThereError
from patent_mteb.metrics import slices
from patent_mteb.metrics.measures import Judged
from patent_mteb.patents.categories import CATEGORIES, degree
from patent_mteb.patents.corpus import Texts
from patent_mteb.published import citation
from patent_mteb.recipes import beir
from patent_mteb.recipes import open_layout as layout
from patent_mteb.recipes.dataset import FileRecord
from patent_mteb.search.base import Gate
from patent_mteb.search.run import Run
from patent_mteb.tasks.base import make_task, sections_of
from patent_mteb.tasks.benchmark import ONE_CLAIM, PRIOR_ART, Facts, PatentBenchmark
from patent_mteb.tasks.checks import log_counts
from patent_mteb.tasks.retrieval import Folder, PatentRetrieval, RetrievalTables

DATA = DataSet("PatentOpenUS", "open_us")
GRANTS_DATA = DataSet("PatentOpenUSGrants", "open_us_grants")
INSTRUCTIONS = {
    "Claim": "Given a claim of a patent application, retrieve prior art that anticipates it or makes it obvious",
    "": "Given a patent application, retrieve prior art that anticipates it or makes it obvious",
}
PARTS = {"Abstract": ("abstract",), "Claims": ("claim",), "Claim": ("claim",)}  # views with one section
JUDGED_AT = (10, 100)
CLAIM_SCORING = "claim retrieval 4"  # since version 2 documents of a parent claim are unjudged; 4 is "retrieval 3"


@dataclass(frozen=True)
class Spec:
    """A task: queries (views of applications, or rejected claims), and documents (``TAC``, numbered ``Passage``)."""

    query: str
    document: str = "TAC"

    def description(self, cited: str) -> str:
        """Return the description; ``cited`` says by whom documents were cited."""
        query = "rejected claim" if self.query == "Claim" else f"patent application as filed (text: {self.query})"
        found = "paragraphs" if self.document == "Passage" else "documents (text: TAC)"
        return f"Given a {query}, retrieve the {found} that were {cited}, among those public before its priority date."

    def name(self, benchmark: str) -> str:
        return f"{benchmark}{self.query}To{self.document}Retrieval"


SPECS = (Spec("TAC"), Spec("Abstract"), Spec("Claims"), Spec("Claim"), Spec("Claim", "Passage"))
GROUPS = {"Documents": SPECS[:3], "Claims": SPECS[3:4], "Passages": SPECS[4:]}


@lru_cache(maxsize=1)
def read_folder(place: Path, revision: str) -> tuple[Folder, layout.Dates]:
    """Read the directory and its dates; ``revision`` distinguishes two states of one directory."""
    folder, counts = Folder.read(place)
    log_counts(place, counts)
    dates = layout.read_dates(place)
    for what, keys, known in (
        ("first public day", folder.tables.corpus, dates.public),
        ("day of prior art", folder.tables.corpus, dates.prior_art),
        ("priority date", folder.tables.queries, dates.priority),
    ):
        if undated := [key for key in keys if key not in known]:
            problem = f"{len(undated)} have no {what}, first '{undated[0]}': the priority gate needs it"
            raise DataError(problem, path=place / "metadata.parquet", remedy="add it, or build the directory again")
    return folder, dates


class OpenRetrieval(PatentRetrieval):
    spec: Spec

    def load_tables(self) -> RetrievalTables:
        place = self.source.path()
        folder, dates = read_folder(place, self.source.revision)
        queries, corpus, qrels = self.texts(place)
        citations = layout.read_judgements(place / layout.CLAIMS if self.spec.query == "Claim" else place, set(qrels))
        parts, unformed = _slices(qrels, citations, folder.rows)
        family = {key: str(name or "") for key, name in folder.rows.column("family_id")}
        families = {key: family.get(layout.document_of(key), "") for key in (*queries, *corpus)}
        ipc = {key: list(codes or ()) for key, codes in folder.rows.column("ipc")}
        codes = {key: ipc.get(layout.document_of(key), []) for key in (*queries, *corpus)}
        return RetrievalTables(
            corpus=corpus,
            queries=queries,
            qrels=qrels,
            slices=parts,
            hidden=slices.own_family(families, queries, corpus),
            unformed=unformed,
            query_families={key: families[key] or layout.document_of(key) for key in queries},
            document_codes=codes,
            query_codes=codes,
            categories={
                query: {key: str(_citation(citations, query, key).get("letter", "")) for key in judged}
                for query, judged in qrels.items()
            },
            gate=Gate(
                {key: dates.prior_art[layout.document_of(key)] for key in corpus},
                {key: dates.priority[layout.document_of(key)] for key in queries},
            ),
        )

    def texts(self, place: Path) -> tuple[Mapping[str, str], Texts, slices.Qrels]:
        spec, (folder, _) = self.spec, read_folder(place, self.source.revision)
        if spec.document == "Passage":
            passages = layout.read_subset(layout.subset_folder(place, layout.PASSAGES), place / layout.CLAIMS)
            if passages.documents is None:
                remedy = "build the data again"
                raise NotThereError("corpus.jsonl is missing", path=place / layout.PASSAGES, remedy=remedy)
            return passages.queries, passages.documents, passages.qrels
        if spec.query == "Claim":
            claims = layout.read_subset(layout.subset_folder(place, layout.CLAIMS))
            return claims.queries, folder.documents, claims.qrels
        queries = folder.tables.queries
        if spec.query != "TAC":
            texts = {key: text for key, text in beir.view_rows(place, spec.query) if key in queries and text.strip()}
            log_counts(place, {f"applications without {spec.query}, which are skipped": len(queries) - len(texts)})
            queries = Texts.collected(texts.items())
        qrels = {query: judged for query, judged in folder.tables.qrels.items() if query in queries}
        return queries, folder.documents, qrels

    def benchmark_scores(self, run: Run, judged: Judged) -> dict[str, float]:
        found, known = super().benchmark_scores(run, judged), self.tables.qrels
        for k in JUDGED_AT if run.query_ids else ():
            found[f"judged_at_{k}"] = float(judged.judged_share(k).mean())
        for name, least in (("bpref", 1), ("xy_bpref", CATEGORIES["Y"].gain)):
            rows = [row for row, query in enumerate(run.query_ids) if max(known[query].values()) >= least]
            if rows and (name == "bpref" or "xy" in self.tables.slices):
                found[name] = float(judged.bpref(least)[rows].mean())
        return found


def _citation(citations: Mapping[tuple[str, str], Mapping[str, Any]], query: str, document: str) -> Mapping[str, Any]:
    return citations.get((query, layout.document_of(document)), {})


def _slices(
    qrels: slices.Qrels, citations: Mapping[tuple[str, str], Mapping[str, Any]], rows: Mapping[str, Mapping[str, Any]]
) -> tuple[dict[str, slices.Qrels], dict[str, str]]:
    """Return slices by category, origin, office action, technology centre, year and domain, and unformed ones.

    ``statute_102`` and ``statute_103`` are rejections by statute, ``first_action`` what the first action raised, and
    ``earlier_filed`` documents that were filed before the query, but published after (35 U.S.C. 102(a)(2), 102(e)).
    """
    positive = slices.positive(qrels)
    row_of = {
        key: rows.get(layout.document_of(key), {}) for key in chain(positive, chain.from_iterable(positive.values()))
    }

    def names(query: str, document: str) -> Iterator[str]:
        row = _citation(citations, query, document)
        category = str(row.get("letter", ""))
        if category in CATEGORIES:
            yield category.lower()
            if degree(category) == "xy":
                yield "xy"
        yield from row.get("origins") or ()
        yield from (f"phase_{phase.lower()}" for phase in row.get("phases") or ())
        yield from (f"tc_{unit.lower()}" for unit in row.get("units") or ())
        yield from (f"statute_{statute}" for statute in row.get("statutes") or ())
        if row.get("first_action"):
            yield "first_action"
        public, limit = row_of[document].get("public"), row_of[query].get("priority")
        if public and limit and public >= limit:
            yield "earlier_filed"

    parts = dict(sorted(slices.by_judgement(positive, names).items()))
    years = {query: row_of[query].get("publication_year") for query in positive}
    of_year = slices.by_query(positive, lambda query: f"year_{years[query]}" if years[query] else None)
    parts |= dict(sorted(of_year.items()))
    graded = any(row.get("letter") in CATEGORIES for row in citations.values())
    expected = (*map(str.lower, CATEGORIES), "examiner", "applicant") if graded else ()
    unformed = {name: "no citation belongs to it" for name in expected if name not in parts}
    for start, scheme in (("", "ipc"), ("cpc_", "cpc")):
        domains = {key: slices.domain([], list(row.get(scheme) or ())) for key, row in row_of.items()}
        split, dropped = slices.in_and_out(positive, domains, domains)
        parts |= {start + name: part for name, part in split.items()}
        if dropped:
            reason = f"{dropped} pairs have a side without {scheme.upper()} code"
            unformed[f"{start}in, {start}out for part of the judgements"] = reason
    return parts, unformed


FACTS = Facts(
    name="PatentOpenUS",
    description=(
        "Citation retrieval by application, rejected claim and paragraph, from open data of the USPTO, behind the"
        " priority gate."
    ),
    reference="https://data.uspto.gov",
    bibtex=citation("uspto2026bulk"),
    license="not specified",
    date=("1976-01-01", "2026-12-31"),
    annotations="expert-annotated",
    prefix="PatentOpenUS",
    headline="PatentOpenUSTACToTACRetrieval",
    jobs={PRIOR_ART: ("PatentOpenUSTACToTACRetrieval", ""), ONE_CLAIM: ("PatentOpenUSClaimToTACRetrieval", "")},
    short_names={"PatentOpenUSTACToTACRetrieval": "TAC→TAC"},
    prompt_rows=((r"PatentOpenUS(Grants)?(TAC|Abstract|Claims|Claim)To\w+Retrieval", "retrieval_MIXED"),),
    section_grid={spec.name("PatentOpenUS"): (spec.query, spec.document) for spec in SPECS},
    replaced=("Patent",),
    known_by=("judgements.parquet", "claims", "passages"),
)

GRANTS_FACTS = replace(
    FACTS,
    name="PatentOpenUSGrants",
    description=(
        "Citation retrieval by application from what examiners cited on US grants, in one grade, behind the priority"
        " gate."
    ),
    prefix="PatentOpenUSGrants",
    headline="PatentOpenUSGrantsTACToTACRetrieval",
    jobs={PRIOR_ART: ("PatentOpenUSGrantsTACToTACRetrieval", "")},
    short_names={"PatentOpenUSGrantsTACToTACRetrieval": "TAC→TAC"},
    prompt_rows=(),
    section_grid={spec.name("PatentOpenUSGrants"): (spec.query, spec.document) for spec in SPECS[:3]},
    known_by=("judgements.parquet",),
)


def open_tasks(
    facts: Facts, data: DataSet, specs: Sequence[Spec], cited: str = "cited against it"
) -> tuple[type[OpenRetrieval], ...]:
    tasks = []
    for spec in specs:
        attributes = {"spec": spec} | ({"scoring": CLAIM_SCORING} if spec == Spec("Claim") else {})
        described = (spec.name(facts.name), "Retrieval", spec.description(cited), "ndcg_at_10", attributes)
        prompt = {"query": INSTRUCTIONS.get(spec.query, INSTRUCTIONS[""])}
        parts = sections_of(PARTS, query=spec.query)
        tasks.append(make_task(OpenRetrieval, facts, data, *described, prompt=prompt, text_parts=parts))
    return tuple(tasks)


def names_in(facts: Facts, groups: Mapping[str, Sequence[Spec]], files: Mapping[str, FileRecord]) -> list[str]:
    """Return the names of the tasks of these groups whose files are present."""
    needed = {"Claims": "claims/qrels/test.tsv", "Passages": "passages/qrels/test.tsv"}
    present = (specs for group, specs in groups.items() if needed.get(group, "") in {"", *files})
    return [spec.name(facts.name) for spec in chain.from_iterable(present)]


BENCHMARK = PatentBenchmark(
    FACTS,
    {group: open_tasks(FACTS, DATA, specs) for group, specs in GROUPS.items()},
    names_in=partial(names_in, FACTS, GROUPS),
)
GRANTS = PatentBenchmark(
    GRANTS_FACTS, {"Documents": open_tasks(GRANTS_FACTS, GRANTS_DATA, SPECS[:3], "cited by the examiner of its grant")}
)
