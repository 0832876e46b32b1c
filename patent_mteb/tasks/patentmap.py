"""PatentMap: prior-art retrieval and IPC classification.

The paper is "Patent Representation Learning via Self-supervision" (§6.1, appendix C).

**Data.** The folders ``perf200`` and ``IPC-Classification`` of ``ZoeYou/downstream``
(:mod:`patent_mteb.recipes.patentmap` lists their files). The paper names no commit. The tasks read the branch ``main``
of the hub, and each result records its commit (:mod:`patent_mteb.data.hub`) as the data set revision.
:mod:`patent_mteb.recipes.patentmap` describes the texts, and :mod:`patent_mteb.models.variants` the models
that read section tags.

Every task has two protocols. Scores that begin with ``paper_`` are those of the authors' evaluation, on the same
vectors.

**Retrieval.** In the suite, X, Y and A citations of documents in the pool are relevant, a patent is hidden from its own
ranking, and missing sections are not searched. In the authors' evaluation, every citation of any type is relevant, even
of a document outside the pool. Nothing is hidden, missing sections are embedded like any other, and graded nDCG knows
the types X, Y and A only. Equal similarities are sorted by number here, and by the order of the file there.

**Classification.** The authors hold out a tenth of the training part, drawn by scikit-learn with seed 42, to choose the
number of neighbours among 1, 3, 5 and 10 (the paper's tables say k = 10; both are reported), and to stop the
perceptron. It has a weight decay of 1e-5, gradients clipped at a norm of 1, and full batches only. One model,
bert-for-patents, reads section tags for these scores only.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from mteb.abstasks.retrieval_dataset_loaders import RetrievalSplitData
from mteb.models import MTEBModels

from patent_mteb.data.loading import DataSet, Source
from patent_mteb.errors import DataError, NotThereError
from patent_mteb.metrics import slices
from patent_mteb.metrics.measures import Judged
from patent_mteb.models.variants import reads_section_tags, reads_section_tags_in_paper
from patent_mteb.patents.categories import is_category
from patent_mteb.protocols import limits, multi_hot, precision_at, share_interval
from patent_mteb.published import citation
from patent_mteb.recipes.patentmap import (
    CITED,
    FILES,
    GAINS,
    Content,
    Labelled,
    csv_rows,
    read_content,
    read_gold,
    read_labelled,
    strongest_type,
    with_tag,
)
from patent_mteb.search.base import ArraySearch, SearchContext
from patent_mteb.search.memory_cache import cached_encoder
from patent_mteb.search.passages import BestSection
from patent_mteb.search.run import Run
from patent_mteb.tasks import checks
from patent_mteb.tasks.base import make_task
from patent_mteb.tasks.benchmark import PRIOR_ART, SORTING, Facts, PatentBenchmark
from patent_mteb.tasks.frozen import FrozenTask
from patent_mteb.tasks.retrieval import PatentRetrieval, RetrievalTables, named_means, visible

logger = logging.getLogger(__name__)
PERF = "perf200"
DEPTH = 100  # the number of documents per query whose sections Fig. 4 counts
CUTS = (10, 20, 50, 100)
_MAP_DEPTH = 1000  # of the measures map and mrr, as deep as the papers' rankings go, a choice
SLICES = ("xy", "a")


@dataclass(frozen=True)
class Search:
    """The tables of ``perf200``: sections by number, and gains by query and document of the pool.

    ``ungraded`` are pairs whose citations have no category. ``cited`` is ``gold.json`` as the authors read it: every
    cited number, in the pool or not, with its gain, which is 0 for types other than X, Y and A.
    """

    documents: dict[str, Content]
    queries: dict[str, Content]
    gains: dict[str, dict[str, int]]
    cited: dict[str, dict[str, int]]
    ungraded: frozenset[tuple[str, str]] = frozenset()

    def degree(self, query: str, document: str) -> str:
        """Return ``xy``, ``a`` or ``cited``."""
        if (query, document) in self.ungraded:
            return CITED
        return "a" if self.gains[query][document] == GAINS["A"] else "xy"


@lru_cache(maxsize=1)
def read_search(source: Source) -> Search:
    checks.need_part(source, PERF)
    documents, queries = (read_content(source.path(f"{PERF}/content/{name}.json")) for name in ("documents", "queries"))
    for name, patents in (("documents", documents), ("queries", queries)):
        checks.refuse_truncated(source, f"{PERF}/content/{name}.json", len(patents))
    path = source.path(f"{PERF}/mapping/gold.json")
    counts: Counter[str] = Counter()
    gains: dict[str, dict[str, int]] = {}
    cited: dict[str, dict[str, int]] = {}
    letters: dict[tuple[str, str], set[str]] = {}
    for query, document, category in read_gold(path):
        if query not in queries:
            counts["citations of patents that are not queries (ignored)"] += 1
            continue
        _add_gain(cited, query, document, GAINS.get(category, 0))
        strongest = strongest_type(category)
        if category != CITED and not is_category(category):
            counts["citations with a category that no search report uses (not relevant)"] += 1
        elif not strongest:
            counts["citations without a category X, Y or A (not relevant)"] += 1
        elif document not in documents:
            counts["citations of documents that are not in the pool (ignored)"] += 1
        elif document == query:
            counts["judgements of a patent for itself (ignored)"] += 1
        else:
            _add_gain(gains, query, document, GAINS[strongest])
            letters.setdefault((query, document), set()).add(strongest)
    two_categories = sum(len(found) > 1 for found in letters.values())
    without_text = sum(not any((c.title, c.abstract, c.claims, c.description)) for c in documents.values())
    counts["pairs that are cited with two categories (the stronger counts)"] = two_categories
    counts["queries without a relevant document (not scored)"] = len(queries.keys() - gains.keys())
    counts["documents without any text"] = without_text
    checks.log_counts(path.parent.parent, counts)
    if not gains:
        remedy = "a query needs a cited document of the pool, type X, Y or A"
        raise DataError("no judgement is positive", path=path, remedy=remedy)
    ungraded = frozenset(pair for pair, found in letters.items() if found == {CITED})
    checks.log_counts(path.parent.parent, {"relevant pairs have no category X, Y or A: one grade": len(ungraded)})
    return Search(documents, queries, gains, cited, ungraded)


def _add_gain(pairs: dict[str, dict[str, int]], query: str, document: str, gain: int) -> None:
    """Add a pair; the greater of two gains counts."""
    documents = pairs.setdefault(query, {})
    documents[document] = max(gain, documents.get(document, 0))


class PatentMapRetrieval(PatentRetrieval):
    """Prior-art retrieval among hard negatives.

    X, Y and A citations are relevant, and the main score is Recall@100. Further scores are ``graded_ndcg_at_k`` (linear
    gains, X 3, Y 2, A 1), the slices ``xy`` and ``a``, and the authors' ``paper_recall_at_k``, ``paper_ndcg_at_k``,
    ``paper_graded_ndcg_at_k`` and ``paper_n_queries``. Rankings have depth 1,000, as the suite's other measures
    require.
    """

    k_values = (1, 5, 10, 20, 50, 100, 1000)
    slice_measures = ("recall@20", "recall@50", "recall@100", "ndcg@10", "ndcg@100")

    def load_tables(self) -> RetrievalTables:
        return self._tables(tags=False)

    def tagged_tables(self) -> RetrievalTables:
        tables = visible(self._tables(tags=True))
        return tables.limited(self.limit) if self.limit else tables

    def texts_to_encode(self, model: MTEBModels) -> list[Mapping[str, Iterable[str]]]:
        encoded = super().texts_to_encode(model)
        if not self.limit:
            tags = reads_section_tags_in_paper(model.mteb_model_meta)
            encoded.append(self.texts_by_role(self.paper_split(tags)))
        return encoded

    def query_sections(self, model: MTEBModels) -> Mapping[str, Mapping[str, str]]:
        """Return the sections of the queries that ``document_sections`` names."""
        tags, queries = reads_section_tags(model.mteb_model_meta), read_search(self.source).queries
        texts = {
            name: {query: content.section(name, tags) for query, content in queries.items()}
            for name in self.document_sections
        }
        return {name: {query: text for query, text in part.items() if text} for name, part in texts.items()}

    def _tables(self, tags: bool) -> RetrievalTables:
        found = read_search(self.source)
        sections = {
            key: [content.section(name, tags) for name in self.document_sections]
            for key, content in found.documents.items()
        }
        texts = {query: found.queries[query].section(self.query_section, tags) for query in found.gains}
        queries = {query: text for query, text in texts.items() if text}
        if len(queries) < len(texts) and not tags:
            known = (self.metadata.name, len(texts) - len(queries), len(texts), self.query_section)
            logger.warning("%s: %d of %d queries have no %s and are skipped", *known)
        if not queries:
            path = self.source.path(f"{PERF}/content/queries.json")
            problem = f"no query has the section {self.query_section}"
            raise NotThereError(problem, path=path, remedy="add the texts, or omit the task")
        qrels = {query: dict.fromkeys(found.gains[query], 1) for query in queries}
        parts = slices.by_judgement(qrels, found.degree)
        several = len(self.document_sections) > 1
        return RetrievalTables(
            corpus={key: " ".join(text for text in texts if text) for key, texts in sections.items()},
            queries=queries,
            qrels=qrels,
            slices={name: parts[name] for name in SLICES if name in parts},
            hidden={query: frozenset((query,)) for query in queries if query in sections},
            unformed={name: "no citation has this category" for name in SLICES if name not in parts},
            document_columns={"sections": sections} if several else {},
            categories={
                query: {key: found.degree(query, key).upper() for key in judged} for query, judged in qrels.items()
            },
        )

    def paper_split(self, tags: bool) -> RetrievalSplitData:
        """Return the data that the authors search, with missing sections."""
        found = read_search(self.source)
        sections = {
            key: [one.paper_section(name, tags) for name in self.document_sections]
            for key, one in found.documents.items()
        }
        queries = {query: found.queries[query].paper_section(self.query_section, tags) for query in found.cited}
        qrels = {query: dict.fromkeys(cited, 1) for query, cited in found.cited.items()}
        several = {"sections": sections} if len(self.document_sections) > 1 else {}
        corpus = {key: " ".join(texts) for key, texts in sections.items()}
        return RetrievalTables(corpus, queries, qrels, document_columns=several).split()

    def system(self, model: MTEBModels) -> ArraySearch:
        """Return a search by section for documents with several, unless the model splits documents itself."""
        return BestSection(model) if self._by_section(model) else super().system(model)

    def _by_section(self, model: MTEBModels) -> bool:
        return len(self.document_sections) > 1 and not getattr(model, "cuts_documents", False)

    def paper_scores(self, unfiltered: Run) -> dict[str, float]:
        """Return nothing: the authors search other texts and more queries (:meth:`paper_split`)."""
        return {}

    def evaluate_split(self, model: MTEBModels, data_split: Any, **arguments: Any) -> dict[str, Any]:
        """Return the scores of every retrieval task, and the authors' from a second search over the same vectors.

        The authors take MAP and MRR over the whole pool; here a document below rank 1,000 adds nothing.
        """
        model = cached_encoder(model)
        scores = super().evaluate_split(model, data_split, **arguments)
        if self.limit or data_split["top_ranked"] is not None:
            return scores
        system, paper_split, context = self._paper_search(model, arguments)
        system.ensure_indexed(paper_split["corpus"], context)
        run = system.rank(paper_split["queries"], _MAP_DEPTH, context)
        judged = Judged(run.docs, paper_split["relevant_docs"], run.query_ids, run.doc_ids)
        binary = [f"{measure}@{k}" for measure in ("recall", "ndcg") for k in CUTS]
        binary += [f"{measure}@{_MAP_DEPTH}" for measure in ("map", "mrr")]
        graded = judged.scores([f"ndcg@{k}" for k in CUTS], read_search(self.source).cited)
        return {
            **scores,
            "paper_n_queries": float(len(run.query_ids)),
            **named_means(judged.scores(binary), "paper_"),
            **named_means(graded, "paper_graded_"),
            **self._section_shares(run, "paper_"),
        }

    def encode_split(self, model: Any, data_split: Any, **arguments: Any) -> None:
        super().encode_split(model, data_split, **arguments)
        if not self.limit and data_split["top_ranked"] is None:
            self._encode_for(*self._paper_search(model, arguments))

    def _paper_search(self, model: MTEBModels, arguments: Mapping[str, Any]) -> tuple[ArraySearch, Any, SearchContext]:
        """Return system, data and context of the authors' search, in which nothing is hidden."""
        system = BestSection(model, missing=True) if self._by_section(model) else super().system(model)
        data_split = self.paper_split(reads_section_tags_in_paper(model.mteb_model_meta))
        return system, data_split, replace(self._context(arguments), hidden={})

    def benchmark_scores(self, run: Run, judged: Judged) -> dict[str, float]:
        gains = read_search(self.source).gains
        graded = judged.scores([f"ndcg@{k}" for k in CUTS], {query: gains[query] for query in run.query_ids})
        return named_means(graded, "graded_") | self._section_shares(run)

    def _section_shares(self, run: Run, prefix: str = "") -> dict[str, float]:
        """Return the share of each section among the best sections of the first documents (Fig. 4), if known."""
        top = np.empty(0, np.int32) if run.parts is None else run.parts[:, :DEPTH]
        counts = np.bincount(top[top >= 0], minlength=len(self.document_sections))
        shares = zip(self.document_sections, counts / counts.sum(), strict=True) if counts.any() else ()
        return {f"{prefix}section_share_{name}": float(share) for name, share in shares}


FOLDER = "IPC-Classification"
PAPER_KS = (1, 3, 5, 10)
PAPER_HELD_OUT = 0.1  # the test share of the comparison with PatentMap's classification
_PAPER = "paper_"


@dataclass(frozen=True)
class ClassificationData:
    """Texts by part, the classes of the training part, and the labels of both parts as [n, classes].

    Parts are ``train`` and ``test``; ``paper_train`` and ``paper_test`` are for a model with other texts in the paper.
    """

    texts: dict[str, list[str]]
    classes: tuple[str, ...]
    labels: dict[str, np.ndarray]
    unseen: int


@lru_cache(maxsize=1)
def read_classification(source: Source) -> dict[str, list[Labelled]]:
    checks.need_part(source, FOLDER)
    for name in FILES.values():
        rows = sum(1 for _ in csv_rows(source.path(f"{FOLDER}/{name}")))
        checks.refuse_truncated(source, f"{FOLDER}/{name}", rows)
    return {part: read_labelled(source.path(f"{FOLDER}/{name}")) for part, name in FILES.items()}


class IPCClassification(FrozenTask):
    """Multi-label classification into IPC subclasses from title and abstract.

    The score of a class is its share among the ten nearest training patents. P@k is the share of the k best classes
    that are classes of the patent. The main score is ``knn_precision_at_1``, with the 95% interval over test patents
    ``knn_precision_at_1_low`` and ``_high``. Classes are those of the training part. Further scores:

    * ``knn_tuned_*``: the number of neighbours (1 to 20, ``knn_tuned_k``) is chosen by P@1 on a held-out 15% of the
      training part;
    * ``mlp_*``: a perceptron with one hidden layer, stopped by its loss on the same 15% (the paper's "linear probe"),
      with its best epoch (``mlp_epoch``) and whether it stopped early (``mlp_stopped_early``, 1 or 0);
    * ``linear_*``: one logistic regression per class (L2, C = 1) on the whole training part;
    * ``paper_knn_*`` (k = 10), ``paper_knn_tuned_*`` and ``paper_mlp_*``: the authors' evaluation (see the module);
    * ``n_unseen_labels``: labels of test patents without a training patent. No protocol can predict them, and they do
      not count; ``n_classes``, ``n_train``, ``n_test``.
    """

    scoring = "IPC classification 2"  # since version 2 its interval is Wilson's
    neighbours = 10
    cutoffs = (1, 3, 5)

    def load_split(self) -> ClassificationData:
        return self._data(tags=False, paper_tags=False)

    def texts_for(self, model: MTEBModels, data_split: Any) -> Any:
        tags, paper_tags = reads_section_tags(model.mteb_model_meta), reads_section_tags_in_paper(model.mteb_model_meta)
        return self._data(tags, paper_tags) if tags or paper_tags else data_split

    def _data(self, tags: bool, paper_tags: bool) -> ClassificationData:
        parts = read_classification(self.source)
        classes = tuple(sorted({label for one in parts["train"] for label in one.labels}))
        known = set(classes)
        tested = [label for one in parts["test"] for label in one.labels]
        path = self.source.path(f"{FOLDER}/{FILES['train']}")
        if len(parts["train"]) <= self.neighbours or not parts["test"]:
            problem = f"{len(parts['train'])} training and {len(parts['test'])} test patents are too few"
            raise DataError(problem, path=path, remedy=f"a neighbourhood of {self.neighbours} needs more")
        plain = {part: [one.text for one in rows] for part, rows in parts.items()}
        tagged = {part: list(map(with_tag, texts)) for part, texts in plain.items()}
        texts = dict(tagged if tags else plain)
        if paper_tags != tags:
            texts |= {f"{_PAPER}{part}": known for part, known in (tagged if paper_tags else plain).items()}
        checks.refuse_constant(classes, path, "training patents")
        checks.check_unseen_labels(set(tested), known, path)
        checks.check_leakage(texts["train"], texts["test"], "text", path)
        labels = {
            part: multi_hot([[x for x in one.labels if x in known] for one in rows], classes)
            for part, rows in parts.items()
        }
        return ClassificationData(texts, classes, labels, sum(label not in known for label in tested))

    def score(self, embeddings: Mapping[str, np.ndarray], data: ClassificationData) -> dict[str, Any]:
        from sklearn.model_selection import train_test_split

        from patent_mteb.protocols.knn import WIPO_AT_KS
        from patent_mteb.protocols.linear_probe import fit_logistic
        from patent_mteb.protocols.mlp_probe import PAPER_SETTINGS, Settings, held_out

        train, test = ((embeddings[part], data.labels[part]) for part in ("train", "test"))
        theirs, their_test = (
            (embeddings.get(f"{_PAPER}{part}", embeddings[part]), data.labels[part]) for part in ("train", "test")
        )
        their_rows = train_test_split(np.arange(len(train[0])), test_size=PAPER_HELD_OUT, random_state=42)
        decisions = fit_logistic(*train, 1.0).decide(test[0])
        plain, scores = self._probes("", train, test, held_out(len(train[0])), WIPO_AT_KS, Settings())
        _, their_scores = self._probes(_PAPER, theirs, their_test, their_rows, PAPER_KS, PAPER_SETTINGS)
        return {
            **scores,
            **limits("knn_precision_at_1", share_interval(precision_at(test[1], plain, 1))),
            **self._precision("linear", test[1], decisions),
            **their_scores,
            "n_classes": len(data.classes),
            "n_train": len(train[0]),
            "n_test": len(test[0]),
            "n_unseen_labels": data.unseen,
        }

    def _probes(
        self, prefix: str, train: _Part, test: _Part, rows: Any, ks: Sequence[int], settings: Any
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Return the scores of classes by kNN, and the results of kNN, tuned kNN and the perceptron.

        ``rows`` are fitted and held-out rows. The tuned k has the best P@1 on these, the smallest of equals.
        """
        from patent_mteb.protocols.knn import class_shares
        from patent_mteb.protocols.mlp_probe import mlp_probe

        fitted, validation = ((train[0][part], train[1][part]) for part in rows)
        tried = class_shares(fitted, validation[0], [k for k in ks if k <= len(fitted[0])])
        best_k = max(tried, key=lambda k: (precision_at(validation[1], tried[k], 1).mean(), -k))
        shares = class_shares(train, test[0], (self.neighbours, best_k))
        mlp = mlp_probe(fitted, validation, test[0], settings=settings)
        if not mlp.stopped_early:
            message = "%s: the training of %smlp ended after %d steps, before its loss stopped falling"
            logger.warning(f"{message}; the score depends on that limit", self.metadata.name, prefix, mlp.steps)
        return shares[self.neighbours], {
            **self._precision(f"{prefix}knn", test[1], shares[self.neighbours]),
            **self._precision(f"{prefix}knn_tuned", test[1], shares[best_k]),
            **self._precision(f"{prefix}mlp", test[1], mlp.scores),
            f"{prefix}knn_tuned_k": best_k,
            f"{prefix}mlp_epoch": mlp.epoch,
            f"{prefix}mlp_steps": mlp.steps,
            f"{prefix}mlp_stopped_early": int(mlp.stopped_early),
        }

    def _precision(self, protocol: str, true: np.ndarray, scores: np.ndarray) -> dict[str, float]:
        return {f"{protocol}_precision_at_{k}": float(precision_at(true, scores, k).mean()) for k in self.cutoffs}


_Part = tuple[np.ndarray, np.ndarray]


DATA = DataSet("ZoeYou/downstream", "patentmap", "main", file="perf200/mapping/gold.json")

FACTS = Facts(
    name="PatentMap",
    description="Prior-art retrieval among hard negatives, and classification into IPC subclasses.",
    reference="https://arxiv.org/abs/2511.10657",
    bibtex=citation("zuo2025patentmap"),
    license="not specified",
    date=("2005-01-01", "2022-12-31"),
    prefix="PatentMap",
    jobs={PRIOR_ART: ("PatentMapAbsToAbsRetrieval", ""), SORTING: ("PatentMapIPCClassification", "")},
    prompt_rows=((r"PatentMap\w+Retrieval", "retrieval_MIXED"), (r"PatentMap\w+Classification", "class_text2ipc3")),
    paper="patentmap",
)


def _retrieval(name: str, query: str, sections: tuple[str, ...], given: str, found: str) -> type[PatentMapRetrieval]:
    instruction = f"Given a patent application {given}, retrieve the patents that its search report cites"
    attributes = {"query_section": query, "document_sections": sections}
    described = (name, "Retrieval", f"{instruction}, {found}.", "recall_at_100", attributes)
    more: dict[str, Any] = {"annotations_creators": "expert-annotated", "prompt": {"query": instruction}}
    return make_task(PatentMapRetrieval, FACTS, DATA, *described, **more)


_CLASSIFICATION = make_task(
    IPCClassification,
    FACTS,
    DATA,
    "PatentMapIPCClassification",
    "MultilabelClassification",
    "Classify a patent by title and abstract into IPC subclasses.",
    "knn_precision_at_1",
    annotations_creators="expert-annotated",
    prompt="Given a patent, find all IPC subclasses that it belongs to",
    task_subtypes=["Topic classification"],
)
_TITLE = "by title and abstract"
_ALL = ("abstract", "claim", "invention")
_CLOSEST = "by abstract, claims or description, whichever is closest"
BENCHMARK = PatentBenchmark(
    FACTS,
    {
        "Retrieval": (
            _retrieval("PatentMapAbsToAbsRetrieval", "abstract", ("abstract",), _TITLE, _TITLE),
            _retrieval("PatentMapClmToAllRetrieval", "claim", _ALL, "by its claims", _CLOSEST),
        ),
        "Classification": (_CLASSIFICATION,),
    },
)
