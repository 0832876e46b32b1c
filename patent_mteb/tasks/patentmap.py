"""PatentMap: prior-art retrieval and IPC classification ("Patent Representation Learning via Self-supervision", §6.1, appendix C).

Data: the folders ``perf200`` and ``IPC-Classification`` of ``ZoeYou/downstream`` (see :mod:`patent_mteb.recipes.patentmap` for their
files). No commit of it is known to us, so the hub's ``main`` is taken and its commit (:mod:`patent_mteb.data.hub`) is recorded as the data
set revision of each result; the schema of ``IPC-Classification`` is ours until the published one can be looked at.

Texts: see :mod:`patent_mteb.recipes.patentmap_content`; which models read section tags: :mod:`patent_mteb.models.section_tags`.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from mteb.abstasks.retrieval_dataset_loaders import RetrievalSplitData
from numpy.typing import NDArray

from patent_mteb import files
from patent_mteb.data.sources import DataSet, Source
from patent_mteb.errors import AccessError, DataError
from patent_mteb.metrics import slices
from patent_mteb.metrics.measures import Judged
from patent_mteb.models.section_tags import reads_section_tags
from patent_mteb.patents import ipc
from patent_mteb.patents.categories import degree
from patent_mteb.protocols import multi_hot, precision_at
from patent_mteb.recipes.patentmap_content import Content, cut, read_content, read_gold, title_and_abstract
from patent_mteb.search.base import ArraySearch
from patent_mteb.search.run import Run
from patent_mteb.search.sections import BestSection
from patent_mteb.tasks.base import PatentTask, make_task, task_metadata
from patent_mteb.tasks.benchmark import Facts, PatentBenchmark
from patent_mteb.tasks.checks import refuse_constant, say_leakage, say_unseen
from patent_mteb.tasks.frozen import FrozenTask
from patent_mteb.tasks.retrieval import PatentRetrieval, RetrievalTables

if TYPE_CHECKING:
    from mteb.models import MTEBModels

logger = logging.getLogger(__name__)

DATA = DataSet("ZoeYou/downstream", "patentmap", "main", file="perf200/mapping/gold.json")

FACTS = Facts(
    name="PatentMap",
    description="Prior-art retrieval among hard negatives, and classification into IPC subclasses.",
    reference="https://arxiv.org/abs/2511.10657",
    bibtex=r"""@misc{zuo2025patentmap,
  author = {You Zuo and Kim Gerdes and {\'E}ric de la Clergerie and Beno{\^i}t Sagot},
  title = {Patent Representation Learning via Self-supervision},
  year = {2025},
}""",
    license="not specified",
    date=("2005-01-01", "2022-12-31"),
    prefix="PatentMap",
    prompt_rows=((r"PatentMap\w+Retrieval", "retrieval_MIXED"), (r"PatentMap\w+Classification", "class_text2ipc3")),
    paper="patentmap",
)

PERF = "perf200"
IPC_FOLDER = "IPC-Classification"
DEPTH = 100
"""Documents whose sections Fig. 4 counts."""

GAINS = {"xy": 2, "a": 1}
"""Gains of the graded nDCG: what prejudices novelty or inventive step counts twice as much as background."""


@dataclass(frozen=True)
class Search:
    """The tables of ``perf200``: documents, queries and the degree of relevance (``xy`` or ``a``) of each judged pair."""

    documents: dict[str, Content]
    queries: dict[str, Content]
    degrees: dict[str, dict[str, str]]


@lru_cache(maxsize=1)
def read_search(source: Source) -> Search:
    """Read and check the tables of one source.

    Raises:
        DataError: what :func:`read_content` and :func:`read_gold` say, or no query with a relevant document.
    """
    documents = read_content(source.path(f"{PERF}/content/documents.json"))
    queries = read_content(source.path(f"{PERF}/content/queries.json"))
    path = source.path(f"{PERF}/mapping/gold.json")
    counts: Counter[str] = Counter()
    degrees: dict[str, dict[str, str]] = {}
    for query, document, category in read_gold(path):
        if query not in queries:
            counts["citations of patents that are no queries (left out)"] += 1
            continue
        try:
            relevance = degree(category)
        except ValueError:
            counts["citations with a category that no search report uses (not relevant)"] += 1
            continue
        if not relevance:
            counts["citations without a category X, Y or A (not relevant)"] += 1
        elif document not in documents:
            counts["citations of documents that are not in the pool (left out)"] += 1
        elif document == query:
            counts["judgements of a patent for itself (ignored)"] += 1
        else:
            held = degrees.setdefault(query, {})
            held[document] = "xy" if "xy" in (relevance, held.get(document)) else relevance
    counts["queries without a relevant document (not scored)"] = len(queries.keys() - degrees.keys())
    counts["documents without any text"] = sum(not any((c.title, c.abstract, c.claims, c.description)) for c in documents.values())
    for what, number in counts.items():
        if number:
            logger.warning("%s: %d %s", path.parent.parent, number, what)
    if not degrees:
        raise DataError("no judgement is positive", path=path, remedy="a query needs a cited document of the pool, type X, Y or A")
    return Search(documents, queries, degrees)


class _Tagged(PatentTask):
    """A task whose texts carry section tags for the models that read them."""

    known_file: str

    def tagged_split(self) -> Any:
        """The data of the split with section tags in its texts."""
        raise NotImplementedError

    def texts_for(self, model: MTEBModels, data_split: Any) -> Any:
        """The data of the split with the texts that this model reads."""
        return self.tagged_split() if reads_section_tags(model.mteb_model_meta) else data_split


class PatentMapRetrieval(_Tagged, PatentRetrieval):
    """Prior-art retrieval among hard negatives; X, Y and A citations are all relevant, main score Recall@100.

    Beside the scores of every retrieval task: ``graded_ndcg_at_k`` with the gains of :data:`GAINS`, and the slices ``xy`` and
    ``a``. Rankings go to depth 1,000, so that the suite's other measures keep their meaning.
    """

    data = DATA
    facts = FACTS
    known_file = f"{PERF}/mapping/gold.json"
    k_values = (1, 5, 10, 20, 50, 100, 1000)
    slice_measures = ("recall@20", "recall@50", "recall@100", "ndcg@10", "ndcg@100")

    def load_tables(self) -> RetrievalTables:
        return self._tables(tags=False)

    def tagged_split(self) -> RetrievalSplitData:
        return self._tables(tags=True).split()

    def _tables(self, tags: bool) -> RetrievalTables:
        found = read_search(self.source)
        sections = {key: [content.section(name, tags) for name in self.document_sections] for key, content in found.documents.items()}
        texts = {query: found.queries[query].section(self.query_section, tags) for query in found.degrees}
        queries = {query: text for query, text in texts.items() if text}
        if len(queries) < len(texts) and not tags:
            logger.warning(
                "%s: %d of %d queries have no %s and are left out",
                self.metadata.name,
                len(texts) - len(queries),
                len(texts),
                self.query_section,
            )
        degrees = {query: found.degrees[query] for query in queries}
        qrels = {query: dict.fromkeys(judged, 1) for query, judged in degrees.items()}
        parts = slices.by_judgement(qrels, lambda query, document: degrees[query][document])
        several = len(self.document_sections) > 1
        return RetrievalTables(
            corpus={key: " ".join(text for text in texts if text) for key, texts in sections.items()},
            queries=queries,
            qrels=qrels,
            slices={name: parts[name] for name in GAINS if name in parts},
            hidden={query: frozenset((query,)) for query in queries if query in sections},
            unformed={name: "no citation has this category" for name in GAINS if name not in parts},
            document_columns={"sections": sections} if several else {},
            categories={query: {key: name.upper() for key, name in judged.items()} for query, judged in degrees.items()},
        )

    def system(self, model: MTEBModels) -> ArraySearch:
        """Documents of several sections are searched section by section, unless the model reads them so by itself."""
        several = len(self.document_sections) > 1 and not getattr(model, "cuts_documents", False)
        return BestSection(model) if several else super().system(model)

    def own_scores(self, run: Run, judged: Judged) -> dict[str, float]:
        degrees = read_search(self.source).degrees
        graded = {query: {document: GAINS[name] for document, name in degrees[query].items()} for query in run.query_ids}
        found = judged.scores([f"ndcg@{k}" for k in (10, 20, 50, 100)], graded)
        scores = {f"graded_{measure.replace('@', '_at_')}": mean for measure, mean in found.means().items()}
        return scores | ({} if run.parts is None else section_shares(run.parts, self.document_sections))


def section_shares(parts: NDArray[np.integer], names: Sequence[str]) -> dict[str, float]:
    """Which sections the first 100 documents were found by (Fig. 4).

    Args:
        parts: [queries, depth] number in ``names`` of the section that each document was found by, -1 behind the last one.

    Returns:
        ``section_share_<name>``: the share of each section among the first 100 documents of all queries; they sum to 1.
    """
    top = parts[:, :DEPTH]
    counts = np.bincount(top[top >= 0], minlength=len(names))
    total = counts.sum()
    return {f"section_share_{name}": float(count / total) for name, count in zip(names, counts, strict=True)} if total else {}


@dataclass(frozen=True)
class ClassificationData:
    """What the protocols need: texts by part, the classes of the training part, and the labels of both as [n, classes]."""

    texts: dict[str, list[str]]
    classes: tuple[str, ...]
    labels: dict[str, np.ndarray]
    unseen: int


@lru_cache(maxsize=1)
def read_classification(source: Source) -> dict[str, pa.Table]:
    """Read and check ``IPC-Classification/train.parquet`` and ``test.parquet``.

    Raises:
        DataError: missing file or column, a number that occurs twice or in both parts.
    """
    columns = {"dnum": pa.string(), "title": pa.string(), "abstract": pa.string(), "ipc": pa.list_(pa.string())}
    tables: dict[str, pa.Table] = {}
    seen: dict[str, str] = {}
    for part in ("train", "test"):
        try:
            path = source.path(f"{IPC_FOLDER}/{part}.parquet")
        except AccessError as error:
            raise AccessError(
                f"{error.problem}; the published files of {IPC_FOLDER} may also have another form than the one read here",
                path=error.path,
                remedy=f"{error.remedy}; the columns are {', '.join(columns)}",
            ) from error
        tables[part] = files.read_parquet(path, columns)
        for row, key in enumerate(tables[part]["dnum"].to_pylist(), start=1):
            if not key:
                raise DataError("dnum is empty", path=path, row=row, remedy="name the patent")
            if key in seen:
                raise DataError(f"'{key}' occurs twice (first in the {seen[key]} part)", path=path, row=row, remedy="keep one row a patent")
            seen[key] = part
    return tables


class IPCClassification(_Tagged, FrozenTask):
    """Multi-label classification into IPC subclasses from title and abstract (§6.1, appendix C.1).

    A class's score is the share of the ten nearest training patents that carry it; P@k is the share of the k best classes that
    the patent has, main score ``knn_precision_at_1``. Classes are those of the training part. Also reported:

    * ``knn_tuned_*``: the number of neighbours (1 to 20, ``knn_tuned_k``) chosen by P@1 on 15% of the training part, held out for that;
    * ``mlp_*``: a perceptron with one hidden layer, stopped by its loss on the same 15% (the paper's "linear probe");
    * ``linear_*``: one logistic regression a class (L2, C = 1) on the whole training part;
    * ``n_unseen_labels``: labels of test patents that no training patent has, which no protocol can predict (they do not count);
      ``n_classes``, ``n_train``, ``n_test``.
    """

    data = DATA
    facts = FACTS
    known_file = f"{IPC_FOLDER}/train.parquet"
    neighbours = 10
    cutoffs = (1, 3, 5)

    def load_split(self) -> ClassificationData:
        return self._data(tags=False)

    def tagged_split(self) -> ClassificationData:
        return self._data(tags=True)

    def _data(self, tags: bool) -> ClassificationData:
        tables = read_classification(self.source)
        parts = {name: self._part(table, name, tags) for name, table in tables.items()}
        texts = {name: part[0] for name, part in parts.items()}
        classes = tuple(sorted({label for labels in parts["train"][1] for label in labels}))
        known = set(classes)
        unseen = sum(label not in known for labels in parts["test"][1] for label in labels)
        if len(texts["train"]) <= self.neighbours or not texts["test"]:
            raise DataError(
                f"{len(texts['train'])} training and {len(texts['test'])} test patents are too few",
                path=self.source.path(self.known_file),
                remedy=f"a neighbourhood of {self.neighbours} needs more",
            )
        path = self.source.path(self.known_file)
        refuse_constant(classes, path, "training patents")
        say_unseen({label for labels in parts["test"][1] for label in labels}, known, path)
        say_leakage({"text": ([(text,) for text in texts["train"]], [(text,) for text in texts["test"]])}, path)
        return ClassificationData(
            texts,
            classes,
            {name: multi_hot([[x for x in labels if x in known] for labels in part[1]], classes) for name, part in parts.items()},
            unseen,
        )

    def _part(self, table: pa.Table, name: str, tags: bool) -> tuple[list[str], list[tuple[str, ...]]]:
        texts, labels = [], []
        unread = empty = 0
        for row in table.select(["title", "abstract", "ipc"]).to_pylist():
            codes, unusable = ipc.codes_at([code or "" for code in row["ipc"] or ()], "subclass", errors="skip")
            unread += len(unusable)
            text = title_and_abstract(cut(row["title"] or ""), cut(row["abstract"] or ""), tags)
            if not codes or not text:
                empty += 1
                continue
            texts.append(text)
            labels.append(codes)
        if unread:
            logger.warning("%s: %d IPC codes of the %s part cannot be read or stop above the subclass", self.metadata.name, unread, name)
        if empty:
            logger.warning("%s: %d patents of the %s part have no text or no subclass and are left out", self.metadata.name, empty, name)
        return texts, labels

    def score(self, embeddings: Mapping[str, np.ndarray], data: ClassificationData) -> dict[str, Any]:
        from patent_mteb.protocols.knn import WIPO_AT_KS, ranked_knn
        from patent_mteb.protocols.logistic import fit_logistic
        from patent_mteb.protocols.mlp_probe import held_out, mlp_probe

        train = (embeddings["train"], data.labels["train"])
        test = (embeddings["test"], data.labels["test"])
        fitted, held = ((train[0][rows], train[1][rows]) for rows in held_out(len(train[0])))
        plain = ranked_knn(train, test, k=self.neighbours, cutoffs=self.cutoffs)
        best_k = ranked_knn(fitted, held, validation=held, ks=[k for k in WIPO_AT_KS if k <= len(fitted[0])]).k
        tuned = ranked_knn(train, test, k=best_k, cutoffs=self.cutoffs)
        mlp = mlp_probe(fitted, held, test, cutoffs=self.cutoffs)
        decisions = fit_logistic(*train, 1.0).decide(test[0])
        linear = {k: float(precision_at(test[1], decisions, k).mean()) for k in self.cutoffs}
        scores: dict[str, Any] = {
            f"{name}_precision_at_{k}": value
            for name, precision in (("knn", plain.precision), ("knn_tuned", tuned.precision), ("mlp", mlp.precision), ("linear", linear))
            for k, value in precision.items()
        }
        return scores | {
            "knn_tuned_k": tuned.k,
            "n_classes": len(data.classes),
            "n_train": len(train[0]),
            "n_test": len(test[0]),
            "n_unseen_labels": data.unseen,
        }


def _retrieval(name: str, query: str, sections: tuple[str, ...], description: str) -> type[PatentMapRetrieval]:
    told = {"query": description.partition(", by ")[0]}
    metadata = task_metadata(
        FACTS, DATA, name, "Retrieval", description, "recall_at_100", annotations_creators="expert-annotated", prompt=told
    )
    return make_task(PatentMapRetrieval, __name__, metadata, query_section=query, document_sections=sections)


BENCHMARK = PatentBenchmark(
    FACTS,
    {
        "Retrieval": (
            _retrieval(
                "PatentMapAbsToAbsRetrieval",
                "abstract",
                ("abstract",),
                "Given a patent application by title and abstract, retrieve the patents that its search report cites, "
                "by title and abstract.",
            ),
            _retrieval(
                "PatentMapClmToAllRetrieval",
                "claim",
                ("abstract", "claim", "invention"),
                "Given a patent application by its claims, retrieve the patents that its search report cites, "
                "by abstract, claims or description, whichever is closest.",
            ),
        ),
        "Classification": (
            make_task(
                IPCClassification,
                __name__,
                task_metadata(
                    FACTS,
                    DATA,
                    "PatentMapIPCClassification",
                    "MultilabelClassification",
                    "Classify a patent by title and abstract into IPC subclasses.",
                    "knn_precision_at_1",
                    annotations_creators="expert-annotated",
                    prompt="Given a patent, find all IPC subclasses that it belongs to",
                    task_subtypes=["Topic classification"],
                ),
            ),
        ),
    },
)
