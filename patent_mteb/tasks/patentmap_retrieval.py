"""PatentMap's prior-art retrieval (§6.1), under two protocols in one pass.

The suite's scores: X, Y and A citations of documents in the pool are relevant, a patent is not found for itself, a section that a
patent lacks is not searched. The ``paper_`` scores are those of the authors' evaluation, where numbers are to be compared with the
paper's tables: every citation counts, whatever its type, also that of a document outside the pool, which nobody can find; nothing is
hidden; a missing section is embedded like any other; graded nDCG knows the types X, Y and A alone. They come from a second search over
the same vectors. Equal similarities go by document number here and by the order of the file there.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from mteb.abstasks.retrieval_dataset_loaders import RetrievalSplitData
from numpy.typing import NDArray

from patent_mteb.data.sources import Source
from patent_mteb.errors import DataError, NotThereError
from patent_mteb.metrics import slices
from patent_mteb.metrics.measures import Judged
from patent_mteb.models.section_tags import reads_section_tags, reads_section_tags_in_paper
from patent_mteb.recipes.patentmap_content import CITED, GAINS, Content, letter, read_content, read_gold
from patent_mteb.search.base import ArraySearch, SearchContext
from patent_mteb.search.remembered import remembering
from patent_mteb.search.run import Run
from patent_mteb.search.sections import BestSection
from patent_mteb.tasks.checks import need_part, say_size
from patent_mteb.tasks.retrieval import PatentRetrieval, RetrievalTables

if TYPE_CHECKING:
    from mteb.models import MTEBModels

logger = logging.getLogger(__name__)

__all__ = ["PERF", "PatentMapRetrieval", "Search", "read_search", "section_shares"]

PERF = "perf200"
DEPTH = 100
"""Documents whose sections Fig. 4 counts."""

CUTS = (10, 20, 50, 100)
SLICES = ("xy", "a")


@dataclass(frozen=True)
class Search:
    """The tables of ``perf200``.

    Attributes:
        documents, queries: their sections by number.
        gains: of each judged pair of a query and a document of the pool (:data:`~patent_mteb.recipes.patentmap_content.GAINS`).
        ungraded: pairs whose citations have no letter.
        cited: as the authors read ``gold.json``: every cited number, in the pool or not, with its gain, 0 for other types than X, Y, A.
    """

    documents: dict[str, Content]
    queries: dict[str, Content]
    gains: dict[str, dict[str, int]]
    cited: dict[str, dict[str, int]]
    ungraded: frozenset[tuple[str, str]] = frozenset()

    def degree(self, query: str, document: str) -> str:
        """``xy``, ``a`` or ``cited``."""
        if (query, document) in self.ungraded:
            return CITED
        return "a" if self.gains[query][document] == GAINS["A"] else "xy"


@lru_cache(maxsize=1)
def read_search(source: Source) -> Search:
    """Read and check the tables of one source.

    Raises:
        DataError: what :func:`read_content` and :func:`read_gold` say, or no query with a relevant document.

    Example:
        >>> import mteb
        >>> from patent_mteb.tasks.patentmap_retrieval import read_search
        >>> found = read_search(mteb.get_task("PatentMapAbsToAbsRetrieval.sample").source)
        >>> len(found.queries), found.gains.keys() == found.queries.keys()
        (25, True)
    """
    need_part(source, PERF)
    documents, queries = (read_content(source.path(f"{PERF}/content/{name}.json")) for name in ("documents", "queries"))
    for name, patents in (("documents", documents), ("queries", queries)):
        say_size(source, f"{PERF}/content/{name}.json", len(patents))
    path = source.path(f"{PERF}/mapping/gold.json")
    counts: Counter[str] = Counter()
    gains: dict[str, dict[str, int]] = {}
    cited: dict[str, dict[str, int]] = {}
    letters: dict[tuple[str, str], set[str]] = {}
    for query, document, category in read_gold(path):
        if query not in queries:
            counts["citations of patents that are no queries (left out)"] += 1
            continue
        _keep(cited, query, document, GAINS.get(category, 0))
        try:
            strongest = letter(category)
        except ValueError:
            counts["citations with a category that no search report uses (not relevant)"] += 1
            continue
        if not strongest:
            counts["citations without a category X, Y or A (not relevant)"] += 1
        elif document not in documents:
            counts["citations of documents that are not in the pool (left out)"] += 1
        elif document == query:
            counts["judgements of a patent for itself (ignored)"] += 1
        else:
            _keep(gains, query, document, GAINS[strongest])
            letters.setdefault((query, document), set()).add(strongest)
    counts["pairs that are cited with two categories (the graver counts)"] = sum(len(found) > 1 for found in letters.values())
    counts["queries without a relevant document (not scored)"] = len(queries.keys() - gains.keys())
    counts["documents without any text"] = sum(not any((c.title, c.abstract, c.claims, c.description)) for c in documents.values())
    for what, number in counts.items():
        if number:
            logger.warning("%s: %d %s", path.parent.parent, number, what)
    if not gains:
        raise DataError("no judgement is positive", path=path, remedy="a query needs a cited document of the pool, type X, Y or A")
    ungraded = frozenset(pair for pair, found in letters.items() if found == {CITED})
    if ungraded:
        logger.warning("%s: %d relevant pairs have no category X, Y or A: one grade", path.parent.parent, len(ungraded))
    return Search(documents, queries, gains, cited, ungraded)


def _keep(pairs: dict[str, dict[str, int]], query: str, document: str, gain: int) -> None:
    """Note a pair; of two gains the greater counts."""
    held = pairs.setdefault(query, {})
    held[document] = max(gain, held.get(document, 0))


class PatentMapRetrieval(PatentRetrieval):
    """Prior-art retrieval among hard negatives; X, Y and A citations are all relevant, main score Recall@100.

    Beside the scores of every retrieval task: ``graded_ndcg_at_k`` (linear gains, X 3, Y 2, A 1), the slices ``xy`` and ``a``, and the
    authors' ``paper_recall_at_k``, ``paper_ndcg_at_k``, ``paper_graded_ndcg_at_k`` and ``paper_n_queries``. Rankings go to depth 1,000,
    so that the suite's other measures keep their meaning.

    Example:
        >>> import mteb
        >>> task, model = mteb.get_task("PatentMapAbsToAbsRetrieval.sample"), mteb.get_model("mteb/baseline-random-encoder")
        >>> (scores,) = task.evaluate(model, "test", encode_kwargs={}).values()
        >>> sorted(name for name in scores if name.startswith("paper_recall"))
        ['paper_recall_at_10', 'paper_recall_at_100', 'paper_recall_at_20', 'paper_recall_at_50']
    """

    k_values = (1, 5, 10, 20, 50, 100, 1000)
    slice_measures = ("recall@20", "recall@50", "recall@100", "ndcg@10", "ndcg@100")

    def load_tables(self) -> RetrievalTables:
        return self._tables(tags=False)

    def texts_for(self, model: MTEBModels, data_split: Any) -> Any:
        """The data of the split, with section tags in its texts for the models that read them."""
        if not reads_section_tags(model.mteb_model_meta):
            return data_split
        tables = self._tables(tags=True)
        return (tables.limited(self.limit) if self.limit else tables).split()

    def texts_to_read(self, model: MTEBModels) -> list[Mapping[str, Iterable[str]]]:
        paper = [] if self.limit else [self.texts_by_role(self.paper_split(reads_section_tags_in_paper(model.mteb_model_meta)))]
        return super().texts_to_read(model) + paper

    def query_sections(self, model: MTEBModels) -> Mapping[str, Mapping[str, str]]:
        """The sections of the queries, those of ``document_sections``."""
        tags, queries = reads_section_tags(model.mteb_model_meta), read_search(self.source).queries
        texts = {name: {query: content.section(name, tags) for query, content in queries.items()} for name in self.document_sections}
        return {name: {query: text for query, text in own.items() if text} for name, own in texts.items()}

    def _tables(self, tags: bool) -> RetrievalTables:
        found = read_search(self.source)
        sections = {key: [content.section(name, tags) for name in self.document_sections] for key, content in found.documents.items()}
        texts = {query: found.queries[query].section(self.query_section, tags) for query in found.gains}
        queries = {query: text for query, text in texts.items() if text}
        if len(queries) < len(texts) and not tags:
            logger.warning(
                "%s: %d of %d queries have no %s and are left out",
                self.metadata.name,
                len(texts) - len(queries),
                len(texts),
                self.query_section,
            )
        if not queries:
            path = self.source.path(f"{PERF}/content/queries.json")
            raise NotThereError(f"no query has the section {self.query_section}", path=path, remedy="add the texts, or leave out the task")
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
            categories={query: {key: found.degree(query, key).upper() for key in judged} for query, judged in qrels.items()},
        )

    def paper_split(self, tags: bool) -> RetrievalSplitData:
        """What the authors search: every query with a citation, and every section of every document, missing ones too."""
        found = read_search(self.source)
        sections = {key: [one.paper_section(name, tags) for name in self.document_sections] for key, one in found.documents.items()}
        queries = {query: found.queries[query].paper_section(self.query_section, tags) for query in found.cited}
        qrels = {query: dict.fromkeys(cited, 1) for query, cited in found.cited.items()}
        several = {"sections": sections} if len(self.document_sections) > 1 else {}
        corpus = {key: " ".join(texts) for key, texts in sections.items()}
        return RetrievalTables(corpus, queries, qrels, document_columns=several).split()

    def system(self, model: MTEBModels) -> ArraySearch:
        """Documents of several sections are searched section by section, unless the model reads them so by itself."""
        return BestSection(model) if self._by_section(model) else super().system(model)

    def _by_section(self, model: MTEBModels) -> bool:
        return len(self.document_sections) > 1 and not getattr(model, "cuts_documents", False)

    def paper_scores(self, whole: Run) -> dict[str, float]:
        """None here: the authors search other texts and more queries (:meth:`paper_split`)."""
        return {}

    def evaluate_split(self, model: MTEBModels, data_split: Any, **arguments: Any) -> dict[str, Any]:
        """The scores of every retrieval task, and the authors' from a second search over the same vectors."""
        model = remembering(model)
        scores = super().evaluate_split(model, data_split, **arguments)
        return scores if self.limit or data_split["top_ranked"] is not None else scores | self._paper_scores(model, arguments)

    def encode_split(self, model: Any, data_split: Any, **arguments: Any) -> None:
        super().encode_split(model, data_split, **arguments)
        if not self.limit and data_split["top_ranked"] is None:
            self._encode_for(*self._paper_search(model, arguments))

    def _paper_search(self, model: MTEBModels, arguments: Mapping[str, Any]) -> tuple[ArraySearch, Any, SearchContext]:
        """The authors' search: how, in what, and without anything hidden."""
        system = BestSection(model, missing=True) if self._by_section(model) else super().system(model)
        data_split = self.paper_split(reads_section_tags_in_paper(model.mteb_model_meta))
        return system, data_split, replace(self._context(arguments), hidden={})

    def _paper_scores(self, model: MTEBModels, arguments: Mapping[str, Any]) -> dict[str, float]:
        system, data_split, context = self._paper_search(model, arguments)
        system.ensure_indexed(data_split["corpus"], context)
        run = system.rank(data_split["queries"], max(CUTS), context)
        judged = Judged(run.docs, data_split["relevant_docs"], run.query_ids, run.doc_ids)
        scores = {"paper_n_queries": float(len(run.query_ids))}
        for name, measures, qrels in (
            ("paper", [f"{measure}@{k}" for measure in ("recall", "ndcg") for k in CUTS], None),
            ("paper_graded", [f"ndcg@{k}" for k in CUTS], read_search(self.source).cited),
        ):
            means = judged.scores(measures, qrels).means()
            scores |= {f"{name}_{measure.replace('@', '_at_')}": mean for measure, mean in means.items()}
        return scores

    def own_scores(self, run: Run, judged: Judged) -> dict[str, float]:
        gains = read_search(self.source).gains
        found = judged.scores([f"ndcg@{k}" for k in CUTS], {query: gains[query] for query in run.query_ids})
        scores = {f"graded_{measure.replace('@', '_at_')}": mean for measure, mean in found.means().items()}
        return scores | ({} if run.parts is None else section_shares(run.parts, self.document_sections))


def section_shares(parts: NDArray[np.integer], names: Sequence[str]) -> dict[str, float]:
    """Which sections the first 100 documents were found by (Fig. 4).

    Args:
        parts: [queries, depth] number in ``names`` of the section that each document was found by, -1 behind the last one.

    Returns:
        ``section_share_<name>``: the share of each section among the first 100 documents of all queries; they sum to 1.

    Example:
        >>> import numpy as np
        >>> from patent_mteb.tasks.patentmap_retrieval import section_shares
        >>> section_shares(np.array([[0, 1, 1, 1]]), ("abstract", "claim"))
        {'section_share_abstract': 0.25, 'section_share_claim': 0.75}
    """
    top = parts[:, :DEPTH]
    counts = np.bincount(top[top >= 0], minlength=len(names))
    total = counts.sum()
    return {f"section_share_{name}": float(count / total) for name, count in zip(names, counts, strict=True)} if total else {}
