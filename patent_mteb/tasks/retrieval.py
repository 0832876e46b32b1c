"""Retrieval tasks: all scores are computed on the :class:`~patent_mteb.search.run.Run` of one search.

mteb computes its scores itself, slower, with ``PATENT_MTEB_FAST=0``, when it saves predictions and when it reranks
given candidates.

**What a query must not see** (:func:`visible`) is in no ranking and no judgement: its own family, and with a gate later
documents. A query whose relevant documents are all hidden is not scored; the log counts judgements and queries.

**The paper's protocol.** The evaluators of the papers hide nothing. Every retrieval task of a paper therefore also
stores, as ``paper_...``, the scores of the same search with nothing hidden, against all judgements, in which a document
of the query's own family counts. The queries that only this protocol scores are searched for it, unless the ranking is
read from a file, which has none of them (``paper_n_queries``). Reports treat ``paper`` and ``paper_<slice>`` as slices,
so they are in no mean.
"""

from __future__ import annotations

import copy
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Self

from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.abstasks.retrieval_dataset_loaders import RetrievalSplitData
from mteb.models import MTEBModels
from mteb.types import PromptType

from patent_mteb.data.loading import switched_on
from patent_mteb.errors import DataError
from patent_mteb.metrics.inscope import inscope_scores
from patent_mteb.metrics.measures import MEASURES, Judged, QueryScores, mean_scores, retrieval_scores
from patent_mteb.metrics.significance import bootstrap, by_group, too_small
from patent_mteb.metrics.slices import Qrels, own_family, positive
from patent_mteb.model_identity.loaded import check
from patent_mteb.models.variants import reads_section_tags, section_tags
from patent_mteb.patents import views
from patent_mteb.patents.corpus import Composed, Texts, text_column, text_dataset
from patent_mteb.protocols import limits
from patent_mteb.recipes import beir
from patent_mteb.search.base import ArraySearch, Gate, SearchContext, query_texts
from patent_mteb.search.dense import DenseSearch
from patent_mteb.search.engine import AsMteb, engine, on_arrays, rank_with_more, with_more
from patent_mteb.search.run import Run
from patent_mteb.tasks.base import PatentTask
from patent_mteb.tasks.evidence import COST, KEY, document_texts
from patent_mteb.tasks.perquery import Evaluation, check_ids, publish, query_groups

logger = logging.getLogger(__name__)


def tagged_texts(texts: Mapping[str, str], parts: Sequence[str] | None) -> dict[str, str]:
    """Add the tags of ``parts`` to texts; None leaves them unchanged."""
    return dict(texts) if parts is None else {key: section_tags(text, parts) for key, text in texts.items()}


def tagged_by_ends(text: str, sections: dict[str, str]) -> str:
    """Insert ``[SEP]`` and a tag before each section at the end of a text; the title before them gets no tag."""
    rest, tagged = text.strip(), []
    for name, section in reversed(sections.items()):
        known = section.strip()
        if known and rest.endswith(known):
            rest = rest.removesuffix(known).rstrip()
            tagged.append(section_tags(known, (name,)))
    return views.join_sections((rest, *reversed(tagged)), views.SEPARATOR)


PAPER_PREFIX = "paper"
INSCOPE_VARIABLE = "PATENT_MTEB_INSCOPE"
DEPTHS = (100, 500, 1000)  # the ranks down to which patent searchers read
DISTRACTORS = 20  # documents per query of a limited task, in addition to the judged ones


class PatentSplit(RetrievalSplitData):
    """mteb's data of a split, with the queries that only the paper's protocol scores."""

    paper_queries: Any


@dataclass(frozen=True)
class RetrievalTables:
    """The texts and judgements of a retrieval task, by id."""

    corpus: Mapping[str, str]
    queries: Mapping[str, str]
    qrels: Qrels
    slices: Mapping[str, Qrels] = field(default_factory=dict)
    hidden: Mapping[str, Set[str]] = field(default_factory=dict)  # documents that a query must not retrieve: its family
    unformed: Mapping[str, str] = field(default_factory=dict)  # slices that the data do not support, with the reason
    document_codes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    query_codes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    document_columns: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # further columns of the corpus
    categories: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    paper_qrels: Qrels = field(default_factory=dict)  # with hidden documents, set by :func:`visible`
    paper_slices: Mapping[str, Qrels] = field(default_factory=dict)
    query_families: Mapping[str, str] = field(default_factory=dict)  # queries of one family are resampled together
    gate: Gate | None = None  # if a query sees only documents that were public before its priority date

    def __post_init__(self) -> None:
        object.__setattr__(self, "corpus", Texts.of(self.corpus))

    @property
    def scored(self) -> Qrels:
        """The judgements of the queries with a relevant document."""
        return {query: judged for query, judged in self.qrels.items() if any(gain > 0 for gain in judged.values())}

    def limited(self, queries: int) -> RetrievalTables:
        """Return the tables of at most n queries, with their judged documents and :data:`DISTRACTORS` per query."""
        selected = set(_evenly_spaced(list(self.scored), queries))

        def restricted(qrels: Qrels) -> Qrels:
            return {query: judged for query, judged in qrels.items() if query in selected}

        judged = {document for query in selected for document in (*self.qrels[query], *self.paper_qrels.get(query, ()))}
        others = _evenly_spaced([document for document in self.corpus if document not in judged], DISTRACTORS * queries)
        documents = judged | set(others)
        return replace(
            self,
            corpus={document: text for document, text in self.corpus.items() if document in documents},
            queries={query: text for query, text in self.queries.items() if query in selected},
            qrels=restricted(self.qrels),
            slices={name: restricted(part) for name, part in self.slices.items()},
            hidden={query: documents & hidden for query, hidden in self.hidden.items() if query in selected},
            paper_qrels=restricted(self.paper_qrels),
            paper_slices={name: restricted(part) for name, part in self.paper_slices.items()},
        )

    def split(self) -> PatentSplit:
        """Return corpus and scored queries in mteb's form, without copying documents."""
        columns: dict[str, Any] = {"id": list(self.corpus), "text": Texts.of(self.corpus).column}
        for name, values in self.document_columns.items():
            columns[name] = [values[key] for key in self.corpus]
        scored = self.scored

        def texts(queries: Sequence[str]) -> Any:
            return text_dataset({"id": queries, "text": text_column(self.queries[query] for query in queries)})

        return PatentSplit(
            corpus=text_dataset(columns),
            queries=texts(list(scored)),
            relevant_docs=scored,
            top_ranked=None,
            paper_queries=texts([query for query in positive(self.paper_qrels) if query not in scored]),
        )


@dataclass(frozen=True)
class Folder:
    """A BEIR directory, read once for several tasks: tables, families, IPC codes, and slices of the benchmark."""

    tables: beir.BeirFolder
    rows: Any
    documents: Texts
    hidden: Mapping[str, frozenset[str]]
    families: Mapping[str, str]
    codes: Mapping[str, list[str]]
    slices: Mapping[str, Qrels] = field(default_factory=dict)
    unformed: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, place: Path) -> tuple[Self, Counter[str]]:
        """Read a directory, and return it with the counts of unusual rows; the benchmark adds the slices."""
        tables = beir.read_beir(place)
        rows, counts = beir.metadata_rows(place, tables)
        families = {key: family or "" for key, family in rows.column("family_id")}
        hidden = own_family(families, tables.queries, tables.corpus)
        codes = Composed(rows, lambda row: list(row.get("ipc") or ()))
        return cls(tables, rows, tables.corpus.joined(), hidden, families, codes), Counter(counts)

    def retrieval_tables(self, corpus: Mapping[str, str], queries: Mapping[str, str]) -> RetrievalTables:
        tables = RetrievalTables(corpus, queries, self.tables.qrels, self.slices, self.hidden, self.unformed)
        return replace(tables, document_codes=self.codes, query_codes=self.codes, query_families=self.families)


def _evenly_spaced(items: Sequence[str], number: int) -> list[str]:
    """Return ``number`` of the items, evenly spaced; all if there are fewer."""
    return [items[place * len(items) // number] for place in range(number)] if number < len(items) else list(items)


def _judged_if(tables: RetrievalTables, seen: Callable[[str, str], bool]) -> RetrievalTables:
    """Return the tables with the judgements of the (query, document) pairs that are ``seen``; empty slices go."""

    def kept(qrels: Qrels) -> Qrels:
        return {
            query: {key: gain for key, gain in judged.items() if seen(query, key)} for query, judged in qrels.items()
        }

    slices = {name: positive(kept(part)) for name, part in tables.slices.items()}
    return replace(tables, qrels=kept(tables.qrels), slices={name: part for name, part in slices.items() if part})


def visible(tables: RetrievalTables) -> RetrievalTables:
    """Return the tables without the judgements of documents that a query may not see.

    The judgements of the paper's protocol keep hidden documents, as the papers' evaluators do. No paper has a gate.
    """
    admitted = tables if tables.gate is None else _judged_if(tables, tables.gate.admits)
    judged = _judged_if(admitted, lambda query, key: key not in tables.hidden.get(query, ()))
    return replace(judged, paper_qrels=admitted.qrels, paper_slices=admitted.slices)


class PatentRetrieval(PatentTask, AbsTaskRetrieval):
    """Retrieval with mteb's scores, slices, and the paper's protocol.

    A query's hidden documents (its own family) are not in its ranking, which still has full depth. In addition to
    mteb's scores, the result has ``<slice>_<measure>_at_<k>`` and ``<slice>_n_queries`` for every slice, and
    ``paper_<measure>_at_<k>`` and ``paper_<slice>_<measure>_at_<k>`` with nothing hidden. If a score has too few
    queries (:mod:`patent_mteb.metrics.significance`), the result has the 95% bootstrap interval of the main score over
    the queries: ``<measure>_low``, ``<measure>_high``, and the same of a slice.

    If the tables have a gate, a document counts only if it was public before the query's priority date, in both
    protocols: later documents are in no ranking, and their judgements are dropped. The result then has
    ``gated_documents``, the mean number of documents that a query may not see, and ``n_gated_judgements``. If judged
    documents are hidden, it has ``n_hidden_judgements``.

    If documents consist of several texts, ``document_sections`` names them, and ``query_section`` names the query's.
    """

    scoring: ClassVar[str] = (
        "retrieval 3"  # since version 2 hidden documents are not judged, -0.0 is a score; 3: the intervals of few hits
    )
    slice_measures: ClassVar[tuple[str, ...]] = ("ndcg@10", "ndcg@100", "recall@10", "recall@100", "map@1000", "mrr@10")
    query_section: ClassVar[str] = ""
    document_sections: ClassVar[tuple[str, ...]] = ()
    tables: RetrievalTables
    n_gated_judgements: int = 0
    n_hidden_judgements: int = 0

    def load_tables(self) -> RetrievalTables:
        """Read the tables of the benchmark, and compose the texts of this task."""
        raise NotImplementedError

    def load_split(self) -> PatentSplit:
        every, name = self.load_tables(), self.metadata.name
        tables = visible(every)
        self.tables = tables.limited(self.limit) if self.limit else tables
        place = self.own.name if self.own else self.source.data.key
        pairs = [
            (len(every.qrels[query]), len(self.tables.paper_qrels[query]), len(judged))
            for query, judged in self.tables.qrels.items()
        ]
        self.n_gated_judgements = sum(all_pairs - admitted for all_pairs, admitted, _ in pairs)
        self.n_hidden_judgements = sum(admitted - seen for _, admitted, seen in pairs)
        if self.n_gated_judgements:
            message = "%s: %d judgements are of documents that were not public before the priority date of their query"
            logger.warning(f"{message}; they do not count", name, self.n_gated_judgements)
        if self.n_hidden_judgements:
            message = "%s: %d of %d judgements are of the query itself or its own family; they do not count"
            logger.warning(message, place, self.n_hidden_judgements, sum(admitted for _, admitted, _ in pairs))
        for part, reason in self.tables.unformed.items():
            logger.warning("%s: slice %s cannot be formed: %s", place, part, reason)
        scored = tables.scored
        lost = [query for query in positive(every.qrels) if query not in scored]
        if not scored:
            problem = f"no query has a relevant document that it may see: {len(lost)} have only hidden or later ones"
            raise DataError(problem, path=self.source.folder, remedy="judge documents of other families")
        if lost:
            message = "%s: %d queries have no relevant document that they may see, first %s; they are not scored"
            paper = ", except by the paper's protocol" if self.facts.paper else ""
            logger.warning(f"{message}{paper}", place, len(lost), lost[0])
        return self.tables.split()

    def limit_to(self, queries: int) -> Self:
        """Return a trial task ``<Task>.limit<N>`` with at most ``queries`` queries."""
        made = copy.copy(self)
        made.limit, made.data_loaded, made._data_digest, made._texts_record = queries, False, None, None
        made._set_source(made.source)
        return made

    def query_sections(self, model: MTEBModels) -> Mapping[str, Mapping[str, str]]:
        """Return the texts of the queries by section and query, as this model reads them; empty without sections."""
        return {}

    def unload_data(self) -> None:
        super().unload_data()
        self.__dict__.pop("tables", None)

    def system(self, model: MTEBModels) -> ArraySearch:
        return engine(model)

    def rank(self, model: MTEBModels, *, encode_kwargs: Mapping[str, Any] | None = None) -> Run:
        """Return the ranking that the scores are computed on, without computing them."""
        system, queries, context = self.searching(model, encode_kwargs)
        return replace(system.rank(queries, max(self.k_values), context), task=self.metadata.name)

    def searching(
        self, model: MTEBModels, encode_kwargs: Mapping[str, Any] | None = None
    ) -> tuple[ArraySearch, Any, SearchContext]:
        """Return the search system of a model over the indexed corpus, the queries, and the search context."""
        check(model)
        self.load_data()
        split = self.loaded_split
        where = {"encode_kwargs": encode_kwargs or {}, "hf_split": self.split, "hf_subset": self.source.subset}
        context = self._context(where, split["top_ranked"])
        system, data_split = self.system(model), self.texts_for(model, split)
        system.ensure_indexed(data_split["corpus"], context)
        return system, data_split["queries"], context

    def evaluate_split(self, model: MTEBModels, data_split: Any, **arguments: Any) -> dict[str, Any]:
        """Return all scores of the task, and publish the per-query scores (:mod:`.perquery`)."""
        candidates = data_split["top_ranked"]
        check_ids(data_split["queries"], data_split["corpus"], data_split["relevant_docs"])
        system, data_split = self.system(model), self.texts_for(model, data_split)
        texts, data_split = self.texts_evidence(data_split), {**data_split, "top_ranked": candidates}
        plain = not (self.skip_first_result or self.ignore_identical_ids) and 1 in self.k_values
        if on_arrays() and plain and candidates is None and arguments.get("prediction_folder") is None:
            context = self._context(arguments)
            run, judged, scores, papers = self._evaluate(system, data_split, context, arguments["timer"])
        else:
            recorder = AsMteb(system, self.tables.hidden, self.tables.gate, self._for_the_paper(system, data_split))
            scores = super().evaluate_split(recorder, data_split, **arguments)
            run = recorder.run or Run.from_dict({})
            judged = Judged(run.docs, data_split["relevant_docs"], run.query_ids, run.doc_ids)
            papers = {} if recorder.unfiltered is None else self.paper_scores(recorder.unfiltered)
        found = self.judge(run, data_split["relevant_docs"], model.mteb_model_meta, judged)
        publish(evaluation := replace(found, prompts=self.prompts(model, data_split, **arguments)))
        evidence = {
            "texts": texts,
            "ranking": {"queries": len(run.query_ids), "depth": run.depth, "digest": evaluation.ranking},
            COST: {"index_mb": round(system.index_bytes / 1e6, 3)} if system.index_bytes else {},
            **({"effort": dict(run.effort)} if run.effort else {}),
        }
        return {**scores, **papers, **evaluation.scores, KEY: evidence}

    def encode_split(self, model: Any, data_split: Any, **arguments: Any) -> None:
        candidates, data_split = data_split["top_ranked"], self.texts_for(model, data_split)
        self._encode_for(self.system(model), data_split, self._context(arguments, candidates))

    def _encode_for(self, system: ArraySearch, data_split: Any, context: SearchContext) -> None:
        system.ensure_indexed(data_split["corpus"], context)
        system.encode_ahead(with_more(data_split["queries"], self._for_the_paper(system, data_split)), context)

    def _for_the_paper(self, system: ArraySearch, data_split: Any) -> Any:
        """Return the queries that only the paper's protocol scores; None if no paper has the task, or from a file."""
        return data_split["paper_queries"] if self.facts.paper and system.answers_any_query else None

    def digested_data(self) -> Any:
        split, tables = super().digested_data(), self.tables
        judged = {"": split["relevant_docs"], **tables.slices}
        gate = {"gate": tables.gate.identity} if tables.gate else {}
        return gate | {
            "corpus": split["corpus"],
            "queries": split["queries"],
            "judged": {
                name: [[query, sorted(part[query].items())] for query in sorted(part)] for name, part in judged.items()
            },
            "hidden": [[query, sorted(tables.hidden[query])] for query in sorted(tables.hidden)],
            "candidates": split["top_ranked"],
        }

    def texts_by_role(self, data_split: Any) -> Mapping[str, Iterable[str]]:
        return {"query": query_texts(data_split["queries"]), "document": document_texts(data_split["corpus"])}

    def texts_for(self, model: MTEBModels, data_split: Any) -> Any:
        """Return the data of the split, with section tags for a model that reads them, where sections are known."""
        tables = self.tagged_tables() if reads_section_tags(model.mteb_model_meta) else None
        return data_split if tables is None else tables.split()

    def tagged_tables(self) -> RetrievalTables | None:
        """Return the tables with section tags in the texts; None if the sections are not known."""
        if not (parts := getattr(self.metadata, "text_parts", {})):
            return None
        corpus = tagged_texts(self.tables.corpus, parts.get("document"))
        return replace(self.tables, corpus=corpus, queries=tagged_texts(self.tables.queries, parts.get("query")))

    def roles(self, data_split: Any) -> tuple[PromptType | None, ...]:
        return (PromptType.query, PromptType.document)

    def _context(self, arguments: Mapping[str, Any], top_ranked: Any = None) -> SearchContext:
        split, subset, settings = (arguments[name] for name in ("hf_split", "hf_subset", "encode_kwargs"))
        where, workers = (self.metadata, split, subset), arguments.get("num_proc")
        return SearchContext(*where, dict(settings), top_ranked, workers, self.tables.hidden, self.tables.gate)

    def _evaluate(
        self, system: ArraySearch, data_split: Any, context: SearchContext, timer: Any
    ) -> tuple[Run, Judged, dict[str, Any], dict[str, float]]:
        """Rank and score on arrays: the run, its judgements, mteb's scores and those of the paper's protocol."""
        queries, depth = data_split["queries"], max(self.k_values)
        more = self._for_the_paper(system, data_split)
        phase = {"split": context.hf_split, "subset": context.hf_subset}
        if isinstance(system, DenseSearch):
            system.timer = timer
            system.ensure_indexed(data_split["corpus"], context)
            run, unfiltered = rank_with_more(system, queries, more, depth, context)
        else:
            with timer("Encoding corpus", **phase):
                system.ensure_indexed(data_split["corpus"], context)
            with timer("Encoding queries", **phase):
                run, unfiltered = rank_with_more(system, queries, more, depth, context)
        with timer("Scoring", **phase, log_message="Running retrieval task - Evaluating retrieval scores..."):
            judged = Judged(run.docs, data_split["relevant_docs"], run.query_ids, run.doc_ids)
            scores: dict[str, Any] = retrieval_scores(run.docs, run.scores, judged.all, self.k_values)
        logger.info("Running retrieval task - Finished.")
        return replace(run, task=self.metadata.name), judged, scores, self.paper_scores(unfiltered)

    def paper_scores(self, unfiltered: Run) -> dict[str, float]:
        """Return the scores of the paper's protocol; empty if no paper has the task."""
        if not self.facts.paper:
            return {}
        tables = self.tables
        judged = Judged(unfiltered.docs, tables.paper_qrels, unfiltered.query_ids, unfiltered.doc_ids)
        found: dict[str, float] = {f"{PAPER_PREFIX}_n_queries": len(unfiltered.query_ids)}
        found |= {f"{PAPER_PREFIX}_{name}": value for name, value in mean_scores(judged.all, self.k_values).items()}
        for name, part in tables.paper_slices.items():
            found |= _slice_scores(f"{PAPER_PREFIX}_{name}", judged.scores(self.slice_measures, part))
        return found

    def judge(self, run: Run, qrels: Qrels, model_meta: Any, judged: Judged | None = None) -> Evaluation:
        """Compute what mteb does not: the scores of slices, of the benchmark, and per query."""
        judged = judged or Judged(run.docs, qrels, run.query_ids, run.doc_ids)
        slices, gate = self.tables.slices, self.tables.gate
        overlap = sum(query in self.tables.corpus for query in qrels)
        scores: dict[str, float] = {"n_queries": len(qrels), "n_queries_in_corpus": overlap}
        if gate is not None:
            excluded = gate.n_excluded(run.query_ids, run.doc_ids)
            scores["gated_documents"] = float(excluded.mean()) if run.query_ids else 0.0
            scores["n_gated_judgements"] = self.n_gated_judgements
        if self.n_hidden_judgements:
            scores["n_hidden_judgements"] = self.n_hidden_judgements
        by_slice = {name: judged.scores((*self.slice_measures, "pres@100"), part) for name, part in slices.items()}
        for name, found in by_slice.items():
            scores |= _slice_scores(name, found)
        scores |= self._group_counts({"": tuple(qrels), **{name: found.queries for name, found in by_slice.items()}})
        scores |= self.benchmark_scores(run, judged) | self._deep_scores(judged) | self._small_intervals(judged, scores)
        if run.first_stage is not None:
            first, k = run.first_stage.run, run.first_stage.k
            stage = Judged(first.docs, qrels, first.query_ids, first.doc_ids).scores([f"recall@{k}"])
            scores |= named_means(stage, "first_stage_")
        return Evaluation(
            self.metadata,
            self.source.subset,
            model_meta,
            run,
            qrels,
            judged,
            slices,
            by_slice,
            scores,
            families=self.tables.query_families,
        )

    def _group_counts(self, queries: Mapping[str, Sequence[str]]) -> dict[str, float]:
        """Return the number of groups of the queries of each slice, where a group has several."""
        families = self.tables.query_families
        counts = {name: len(set(query_groups(families, of_slice))) for name, of_slice in queries.items()}
        return {
            f"{name}_n_query_groups" if name else "n_query_groups": count for name, count in counts.items() if count
        }

    def _small_intervals(self, judged: Judged, counts: Mapping[str, float]) -> dict[str, float]:
        """Return intervals of the main score over too few queries; none if all queries have the same score."""
        main: str = self.metadata.main_score
        measure = main.replace("_at_", "@")
        found: dict[str, float] = {}
        for name, part in {"": None, **self.tables.slices}.items():
            if main.partition("_at_")[0] in MEASURES and too_small(counts, name):
                scores = judged.scores([measure], part)
                values = scores.scores[measure]
                if len(set(values.tolist())) > 1:
                    groups = query_groups(self.tables.query_families, scores.queries)
                    independent = by_group(values[:, None], groups) if groups else values[:, None]
                    low, high = bootstrap(independent).intervals()[0].tolist()
                    found |= limits(f"{name}_{main}" if name else main, (low, high))
        return found

    def _deep_scores(self, judged: Judged) -> dict[str, float]:
        """Return PRES at the :data:`DEPTHS` of the ranking, and recall and hit rate where mteb has none."""
        depths = [depth for depth in DEPTHS if depth <= max(self.k_values)]
        missing = [depth for depth in depths if depth not in self.k_values]
        wanted = [f"pres@{depth}" for depth in depths]
        wanted += [f"{name}@{depth}" for depth in missing for name in ("recall", "hit_rate")]
        return named_means(judged.scores(wanted))

    def benchmark_scores(self, run: Run, judged: Judged) -> dict[str, float]:
        """Return further scores of the benchmark: InScope@k if ``PATENT_MTEB_INSCOPE=1`` and the data have codes."""
        return self.inscope(run) if switched_on(INSCOPE_VARIABLE) and self.tables.query_codes else {}

    def lacks_scores(self, scores: Mapping[str, Any]) -> bool:
        if not switched_on(INSCOPE_VARIABLE) or any(name.startswith("inscope_") for name in scores):
            return False
        self.load_data()  # only the data show whether there are codes
        return bool(self.tables.query_codes)

    def inscope(self, run: Run) -> dict[str, float]:
        return inscope_scores(run.docs, run.query_ids, run.doc_ids, self.tables.query_codes, self.tables.document_codes)


def named_means(found: QueryScores, prefix: str = "") -> dict[str, float]:
    """Return the means of measures by their name in a result, ``<prefix>ndcg_at_10``."""
    return {f"{prefix}{measure.replace('@', '_at_')}": mean for measure, mean in found.means().items()}


def _slice_scores(name: str, found: QueryScores) -> dict[str, float]:
    return {f"{name}_n_queries": len(found.queries), **named_means(found, f"{name}_")}
