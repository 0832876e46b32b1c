"""PatSnap's novelty-search-bench: X citations of examiners, in Chinese and English.

The ground truth is published (569 queries), the texts are not: ``patent-mteb data build novelty RECORDS --set
truth=test.jsonl`` combines both (:mod:`patent_mteb.recipes.novelty`). A query sees documents that were public before
its application date (``apdt``), without its own family. In addition to the published measures, *top@K*
(``hit_rate_at_K``) and ``recall_at_K``, there are

* ``strict_hit_rate_at_K``, ``strict_recall_at_K``: over all published samples and X documents. Documents that are
  missing, or later than the query, count as not retrieved, as in the published script;
* ``collapsed_hit_rate_at_K``, ``collapsed_recall_at_K``: a family has one rank, that of its best document, and is
  relevant if a member is in an X family. Recall is over the families in the corpus; the published script divides by all
  their members.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from patent_mteb.data.loading import DataSet
from patent_mteb.files import read_parquet
from patent_mteb.metrics import slices
from patent_mteb.metrics.measures import Judged
from patent_mteb.patents.corpus import Texts
from patent_mteb.published import citation
from patent_mteb.recipes import beir
from patent_mteb.recipes.beir import metadata_rows
from patent_mteb.recipes.novelty import FAMILIES, NAME, TRUTH
from patent_mteb.search.base import Gate
from patent_mteb.search.run import Run
from patent_mteb.tasks.base import make_task
from patent_mteb.tasks.benchmark import PRIOR_ART, Facts, PatentBenchmark
from patent_mteb.tasks.checks import log_counts
from patent_mteb.tasks.retrieval import PatentRetrieval, RetrievalTables

DATA = DataSet(NAME, "")
AT = (1, 3, 5, 10, 20, 50, 100)
LANGUAGES = {"CN": "zh", "EN": "en"}
VIEWS = {"TAC": "title, abstract and claims", "Description": "description"}

FACTS = Facts(
    name=NAME,
    description=(
        "Novelty search after PatSnap's published ground truth, Chinese and English, over a corpus of the user's own"
        " source."
    ),
    reference="https://arxiv.org/abs/2508.17782",
    bibtex=citation("zhang2025novelty"),
    license="cc-by-nc-4.0",
    date=("1900-01-01", "2025-12-31"),
    annotations="expert-annotated",
    prefix="PatSnapNovelty",
    headline="PatSnapNoveltyTACToTACRetrieval",
    jobs={PRIOR_ART: ("PatSnapNoveltyTACToTACRetrieval", "")},
    prompt_rows=((r"PatSnapNovelty\w+Retrieval", "retrieval_MIXED"),),
    replaced=("PatSnap",),
    known_by=(TRUTH,),
)


@dataclass(frozen=True)
class NoveltyTables(RetrievalTables):
    """Tables with the number of published samples, and of X documents by query; families by document and by query."""

    published: tuple[int, Mapping[str, int]] = (0, {})
    family: Mapping[str, str] = field(default_factory=dict)
    families: Mapping[str, frozenset[str]] = field(default_factory=dict)


class NoveltyRetrieval(PatentRetrieval):
    view: str
    slice_measures = ("hit_rate@1", "hit_rate@10", "hit_rate@100", "recall@10", "recall@100")
    tables: NoveltyTables

    def load_tables(self) -> NoveltyTables:
        place = self.source.path()
        folder = beir.read_beir(place)
        rows, counts = metadata_rows(place, folder)
        truth = read_parquet(place / TRUTH, {"_id": pa.string(), "apdt": pa.date32(), "n_x": pa.int64()}).to_pylist()
        of_query = {row["_id"]: row for row in truth}
        queries = folder.queries
        if self.view != "TAC":
            queries = Texts.collected((key, text) for key, text in beir.view_rows(place, self.view) if key in queries)
        with_text = {key for key, text in queries.items() if text.strip()}
        counts[f"queries without {VIEWS[self.view]}, which are skipped"] = len(queries) - len(with_text)
        log_counts(place, counts)
        qrels = {query: judged for query, judged in folder.qrels.items() if query in with_text}
        family = {key: str(name or key) for key, name in rows.column("family_id")}
        members, _ = beir.read_qrels(place / FAMILIES)
        public = {key: day for key, day in rows.column("public") if day}
        gate = Gate(public, {query: of_query[query]["apdt"] for query in queries})
        hidden = slices.own_family(family, queries, folder.corpus)
        return NoveltyTables(
            corpus=folder.corpus.joined(),
            queries={key: text for key, text in queries.items() if key in with_text},
            qrels=qrels,
            slices=dict(_slices(qrels, of_query, dict(rows.column("lang")))),
            hidden=hidden,
            document_codes={key: list(codes or ()) for key, codes in rows.column("ipc")},
            gate=gate,
            published=(len(truth), {row["_id"]: row["n_x"] for row in truth}),
            query_families=family,
            family=family,
            families={
                query: frozenset(family.get(one, one) for one in visible if one not in hidden.get(query, ()))
                for query, visible in gate.admitted(members).items()
            },
        )

    def benchmark_scores(self, run: Run, judged: Judged) -> dict[str, float]:
        found, tables = super().benchmark_scores(run, judged), self.tables
        number, n_x = tables.published
        hits: dict[int, list[tuple[float, float, float, float]]] = {k: [] for k in AT}
        for query, row in zip(run.query_ids, run.docs, strict=True):
            ranking = [run.doc_ids[place] for place in row if place >= 0]
            ranked_families = list(dict.fromkeys(tables.family.get(document, document) for document in ranking))
            relevant = tables.families.get(query, frozenset())
            for k in AT:
                n_hits = sum(tables.qrels[query].get(document, 0) > 0 for document in ranking[:k])
                n_families = len(relevant.intersection(ranked_families[:k]))
                recall, family_recall = n_hits / max(n_x.get(query, 0), 1), n_families / max(len(relevant), 1)
                hits[k].append((n_hits > 0, recall, n_families > 0, family_recall))
        for k, values in hits.items():
            hit, recall, family_hit, family_recall = map(sum, zip(*values, strict=True)) if values else (0, 0, 0, 0)
            found |= {f"strict_hit_rate_at_{k}": hit / max(number, 1), f"strict_recall_at_{k}": recall / max(number, 1)}
            found[f"collapsed_hit_rate_at_{k}"] = family_hit / max(len(values), 1)
            found[f"collapsed_recall_at_{k}"] = family_recall / max(len(values), 1)
        return found | {"n_published": number}


def _slices(
    qrels: slices.Qrels, of_query: Mapping[str, Mapping[str, Any]], language: Mapping[str, str]
) -> Iterator[tuple[str, slices.Qrels]]:
    positive = slices.positive(qrels)
    rows = {query: of_query[query] for query in positive}
    for names in (
        {query: f"lang_{LANGUAGES[row['lang']]}" for query, row in rows.items()},
        {query: f"type_{row['type']}" for query, row in rows.items()},
        {query: f"jurisdiction_{row['jurisdiction'].lower()}" for query, row in rows.items()},
        {query: f"ipc_{row['ipc_main'].lower()}" for query, row in rows.items()},
    ):
        yield from sorted(slices.by_query(positive, names.get).items())

    def languages(query: str, document: str) -> Iterator[str]:
        if language.get(document):
            yield f"{LANGUAGES[of_query[query]['lang']]}_{language[document]}"

    yield from sorted(slices.by_judgement(positive, languages).items())


def _task(view: str, what: str) -> type[NoveltyRetrieval]:
    description = (
        f"Given the {what} of a patent application, retrieve the publications that examiners cited as X, public before"
        " it was filed."
    )
    prompt = {"query": "Given a patent application, retrieve prior art that takes its novelty"}
    described = (f"{NAME}{view}ToTACRetrieval", "Retrieval", description, "hit_rate_at_10", {"view": view})
    languages = ["eng-Latn", "zho-Hans"]
    return make_task(NoveltyRetrieval, FACTS, DATA, *described, prompt=prompt, eval_langs=languages)


BENCHMARK = PatentBenchmark(FACTS, {"Retrieval": tuple(_task(view, what) for view, what in VIEWS.items())})
