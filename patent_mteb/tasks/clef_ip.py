"""CLEF-IP 2013, claims to passages, in English, German and French (Piroi et al. 2013).

Users of the collection put it into ``PATENT_MTEB_DATA/CLEF-IP-2013`` (:mod:`patent_mteb.readers.clef_ip`). Relevant are
the passages that European search reports cite against the claims of a topic. The corpus is every passage of the
documents in the folder: a result contains their number, and its revision is the hash of the folder.

Further scores are those of documents, each at the rank of its best passage (``document_...``), and ``map_d`` and
``precision_d`` (§3.4): average precision and precision of the retrieved passages of one relevant document, averaged
over the relevant documents of a topic (0 for those that are not retrieved) and over topics.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from patent_mteb.data.loading import DataSet
from patent_mteb.metrics import slices
from patent_mteb.metrics.measures import Judged
from patent_mteb.patents.corpus import Texts
from patent_mteb.published import citation
from patent_mteb.search.run import Run
from patent_mteb.tasks.base import make_task
from patent_mteb.tasks.benchmark import Facts, PatentBenchmark
from patent_mteb.tasks.checks import log_counts, refuse_unscorable
from patent_mteb.tasks.retrieval import PatentRetrieval, RetrievalTables, named_means

DATA = DataSet("CLEF-IP-2013", "")
DOCUMENT_MEASURES = ("pres@100", "map@100", "recall@100")

FACTS = Facts(
    name="CLEF-IP-2013",
    description=(
        "Passages that search reports of the EPO cite against claims in English, German and French, for holders of the"
        " collection."
    ),
    reference="https://ceur-ws.org/Vol-1179/CLEF2013wn-CLEFIP-PiroiEt2013.pdf",
    bibtex=citation("piroi2013clefip"),
    license="cc-by-nc-sa-3.0",
    date=("1978-01-01", "2009-12-31"),
    annotations="expert-annotated",
    prefix="ClefIP2013",
    headline="ClefIP2013ClaimsToPassageRetrieval",
    prompt_rows=((r"ClefIP2013ClaimsToPassageRetrieval", "retrieval_MIXED"),),
    known_by=("02_topics",),
)


class ClefIPRetrieval(PatentRetrieval):
    slice_measures = ("map@1000", "recall@100")

    def load_tables(self) -> RetrievalTables:
        from patent_mteb.readers import clef_ip as reader

        place = self.source.path()
        topics = {topic.topic: topic for topic in reader.topics(place)}
        files = reader.document_files(place)

        def passages() -> Iterator[tuple[str, str]]:
            for path in files:
                for xpath, text in reader.passages(path):
                    yield f"{path.stem}#{xpath}", text

        corpus = Texts.collected(passages())
        present = {path.stem for path in files}
        language: dict[str, str] = {}
        qrels: dict[str, dict[str, int]] = {}
        absent = "relevant passages of documents that are not there"
        counts = {absent: 0, "relevant passages that their document does not have": 0}
        unknown: set[str] = set()
        for name in reader.LANGUAGES:
            for topic, documents in reader.judgements(place, name).items():
                if topic not in topics:
                    unknown.add(topic)
                    continue
                language[topic] = name.lower()
                for document, paths in documents.items():
                    keys = [key for key in (f"{document}#{path}" for path in sorted(paths)) if key in corpus]
                    why = "relevant passages that their document does not have" if document in present else absent
                    counts[why] += len(paths) - len(keys)
                    qrels.setdefault(topic, {}).update(dict.fromkeys(keys, 1))
        log_counts(place, {**counts, "judged topics that are not among the test topics": len(unknown)})
        refuse_unscorable(qrels, place, "no relevant passage is among the documents")
        parts = slices.by_query(slices.positive(qrels), lambda topic: f"lang_{language[topic]}")
        applications = {topics[topic].document for topic in qrels}
        own_passages: dict[str, set[str]] = {}
        for key in corpus:
            if (document := _document(key)) in applications:
                own_passages.setdefault(document, set()).add(key)
        return RetrievalTables(
            corpus=corpus,
            queries={topic: topics[topic].claims for topic in qrels},
            qrels=qrels,
            slices=dict(sorted(parts.items())),
            hidden={topic: own_passages[name] for topic in qrels if (name := topics[topic].document) in own_passages},
        )

    def benchmark_scores(self, run: Run, judged: Judged) -> dict[str, float]:
        known = self.tables.qrels
        ranked = of_documents(run)
        documents = {
            query: {_document(key): 1 for key, gain in passages.items() if gain > 0}
            for query, passages in known.items()
        }
        judged_documents = Judged(ranked.docs, documents, ranked.query_ids, ranked.doc_ids)
        found = super().benchmark_scores(run, judged)
        found |= named_means(judged_documents.scores(DOCUMENT_MEASURES), "document_")
        scored = [(ranking, known[query]) for query, ranking in run.to_dict().items() if any(known[query].values())]
        pairs = [within_documents(ranking, relevant) for ranking, relevant in scored] or [(0.0, 0.0)]
        found["map_d"], found["precision_d"] = map(float, np.mean(pairs, axis=0))
        return found | {"n_documents": len(set(map(_document, run.doc_ids)))}


def _document(passage: str) -> str:
    return passage.partition("#")[0]


def of_documents(run: Run) -> Run:
    """Convert a run of passages to one of documents, each at the rank of its best passage."""
    found: dict[str, dict[str, float]] = {}
    for query, ranking in run.to_dict().items():
        best = found.setdefault(query, {})
        for passage, score in ranking.items():
            best.setdefault(_document(passage), score)
    return replace(Run.from_dict(found), task=run.task)


def within_documents(ranking: Mapping[str, float], relevant: Mapping[str, int]) -> tuple[float, float]:
    """Return average precision and precision within documents, averaged over documents."""
    documents = {_document(key) for key, gain in relevant.items() if gain > 0}
    precisions: list[tuple[float, float]] = []
    for document in sorted(documents):
        hits = [relevant.get(key, 0) > 0 for key in ranking if _document(key) == document]
        total = sum(gain > 0 for key, gain in relevant.items() if _document(key) == document)
        average = sum(sum(hits[: place + 1]) / (place + 1) for place, hit in enumerate(hits) if hit) / total
        precisions.append((average, sum(hits) / len(hits) if hits else 0.0))
    first, second = (sum(column) / len(precisions) for column in zip(*precisions, strict=True))
    return first, second


_TASK = make_task(
    ClefIPRetrieval,
    FACTS,
    DATA,
    "ClefIP2013ClaimsToPassageRetrieval",
    "Retrieval",
    "Given claims of a European application, retrieve the passages that its search report cites against them.",
    "map_at_1000",
    prompt={
        "query": "Given claims of a patent application, retrieve passages that take their novelty or inventive step"
    },
    eval_langs=["eng-Latn", "deu-Latn", "fra-Latn"],
    text_parts={"query": ("claim",)},
)
BENCHMARK = PatentBenchmark(FACTS, {"Passages": (_TASK,)})
