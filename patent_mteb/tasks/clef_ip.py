"""CLEF-IP 2013, claims to passages, in English, German and French.

Relevant are the passages that European search reports cite against the claims.

Users of the collection put it into ``PATENT_MTEB_DATA/CLEF-IP-2013`` (:mod:`patent_mteb.readers.clef_ip`). A query is
the claims of a topic in English, German or French. The corpus is every passage of the documents in the folder, and
scores depend on these documents: a result contains their number, and its revision is the hash of the folder. Relevant
passages of missing documents are counted.

In addition to mteb's scores over passages (main score ``map_at_1000``), there are those of Piroi et al. 2013, §3.4:

* of documents, each at the rank of its best passage: ``document_pres_at_100``, ``document_map_at_100``,
  ``document_recall_at_100``;
* ``map_d`` and ``precision_d``: average precision and precision of the retrieved passages of one relevant document,
  averaged over the relevant documents of a topic (0 for those that are not retrieved) and over topics;
* slices by the language of the topic: ``lang_en``, ``lang_de``, ``lang_fr``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from patent_mteb.data.loading import DataSet
from patent_mteb.metrics import slices
from patent_mteb.metrics.measures import Judged
from patent_mteb.patents.corpus import Texts
from patent_mteb.search.run import Run
from patent_mteb.tasks.base import make_task, task_metadata
from patent_mteb.tasks.benchmark import Facts, PatentBenchmark
from patent_mteb.tasks.checks import log_counts, refuse_unscorable
from patent_mteb.tasks.retrieval import PatentRetrieval, RetrievalTables

DATA = DataSet("CLEF-IP-2013", "")
DOCUMENT_MEASURES = ("pres@100", "map@100", "recall@100")

FACTS = Facts(
    name="CLEF-IP-2013",
    description=(
        "Passages that search reports of the EPO cite against claims in English, German and French, for holders of the"
        " collection."
    ),
    reference="https://ceur-ws.org/Vol-1179/CLEF2013wn-CLEFIP-PiroiEt2013.pdf",
    bibtex=r"""@inproceedings{piroi2013clefip,
  author = {Florina Piroi and Mihai Lupu and Allan Hanbury},
  booktitle = {Information Access Evaluation. Multilinguality, Multimodality, and Visualization (CLEF)},
  title = {Overview of {CLEF-IP} 2013 Lab: Information Retrieval in the Patent Domain},
  year = {2013},
}""",
    license="cc-by-nc-sa-3.0",
    date=("1978-01-01", "2009-12-31"),
    annotations="expert-annotated",
    prefix="ClefIP2013",
    headline="ClefIP2013ClaimsToPassageRetrieval",
    prompt_rows=((r"ClefIP2013ClaimsToPassageRetrieval", "retrieval_MIXED"),),
    known_by=("02_topics",),
)


class ClefIPRetrieval(PatentRetrieval):
    """The task of CLEF-IP; see the module."""

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
        counts = {
            "relevant passages of documents that are not there": 0,
            "relevant passages that their document does not have": 0,
        }
        unknown: set[str] = set()
        for name in reader.LANGUAGES:
            for topic, documents in reader.judgements(place, name).items():
                if topic not in topics:
                    unknown.add(topic)
                    continue
                language[topic] = name.lower()
                for document, paths in documents.items():
                    keys = [key for key in (f"{document}#{path}" for path in sorted(paths)) if key in corpus]
                    missing = (
                        "that their document does not have"
                        if document in present
                        else "of documents that are not there"
                    )
                    counts[f"relevant passages {missing}"] += len(paths) - len(keys)
                    qrels.setdefault(topic, {}).update(dict.fromkeys(keys, 1))
        log_counts(place, {**counts, "judged topics that are not among the test topics": len(unknown)})
        refuse_unscorable(qrels, place, "no relevant passage is among the documents")
        parts = slices.by_query(slices.positive(qrels), lambda topic: f"lang_{language[topic]}")
        return RetrievalTables(
            corpus=corpus,
            queries={topic: topics[topic].claims for topic in qrels},
            qrels=qrels,
            slices=dict(sorted(parts.items())),
            hidden=_passages_of_topics({topic: topics[topic].document for topic in qrels}, corpus),
        )

    def benchmark_scores(self, run: Run, judged: Judged) -> dict[str, float]:
        known = self.tables.qrels
        ranked = of_documents(run)
        documents = {
            query: {_document(key): 1 for key, gain in passages.items() if gain > 0}
            for query, passages in known.items()
        }
        means = Judged(ranked.docs, documents, ranked.query_ids, ranked.doc_ids).scores(DOCUMENT_MEASURES).means()
        found = super().benchmark_scores(run, judged) | {
            f"document_{name.replace('@', '_at_')}": value for name, value in means.items()
        }
        inside = [
            within_documents(ranking, known[query])
            for query, ranking in run.to_dict().items()
            if any(known[query].values())
        ]
        pairs = np.array(inside).reshape(-1, 2).mean(axis=0) if inside else np.zeros(2)
        return found | {
            "map_d": float(pairs[0]),
            "precision_d": float(pairs[1]),
            "n_documents": len({_document(key) for key in run.doc_ids}),
        }


def _document(passage: str) -> str:
    return passage.partition("#")[0]


def _passages_of_topics(
    document: Mapping[str, str], corpus: Sequence[str] | Mapping[str, str]
) -> dict[str, frozenset[str]]:
    """Return the passages of the application of each topic."""
    applications = set(document.values())
    passages: dict[str, list[str]] = {}
    for key in corpus:
        if (name := _document(key)) in applications:
            passages.setdefault(name, []).append(key)
    return {topic: frozenset(passages[name]) for topic, name in document.items() if name in passages}


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


_METADATA = task_metadata(
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
BENCHMARK = PatentBenchmark(
    FACTS, {"Passages": (make_task(ClefIPRetrieval, __name__, _METADATA, data=DATA, facts=FACTS),)}
)
