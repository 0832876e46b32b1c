"""Retrieval tasks: one search, one run, and all scores read off it.

A ranking is a :class:`~patent_mteb.search.run.Run` from the search to the per-query scores. Its scores are those of
mteb's own machinery, several times faster and in a fraction of the memory, for mteb holds a ranking as a dictionary of
dictionaries. ``PATENT_MTEB_FAST=0`` leaves search and scores to mteb, and so do the scores where mteb is asked to save
predictions or to rerank given candidates; slices, per-query scores and everything else are read off the run either way.
``tests/tasks/test_retrieval.py`` holds both ways to the same results.

Section tags in texts whose sections are joined by a blank, for PatentMap's models: known sections say where they
begin.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.abstasks.retrieval_dataset_loaders import RetrievalSplitData
from mteb.types import PromptType

from patent_mteb.data.roots import asked
from patent_mteb.metrics.inscope import inscope_scores
from patent_mteb.metrics.measures import MEASURES, Judged, QueryScores, retrieval_scores
from patent_mteb.metrics.significance import bootstrap, too_small
from patent_mteb.metrics.slices import Qrels, positive
from patent_mteb.models.robustness import reads_section_tags, section_tags
from patent_mteb.patents import views
from patent_mteb.patents.corpus import Texts, text_column, text_dataset
from patent_mteb.protocols.intervals import limits
from patent_mteb.search.base import ArraySearch, Gate, SearchContext, query_texts
from patent_mteb.search.dense import DenseSearch
from patent_mteb.search.engine import AsMteb, engine, on_arrays
from patent_mteb.search.run import Run
from patent_mteb.tasks.base import PatentTask
from patent_mteb.tasks.cost import COST
from patent_mteb.tasks.evidence import KEY, document_texts, ranking_record
from patent_mteb.tasks.paper_protocol import only_themselves, paper_scores
from patent_mteb.tasks.perquery import Evaluation, hand_on

if TYPE_CHECKING:
    from mteb.models import MTEBModels

__all__ = ["INSCOPE_VARIABLE", "PatentRetrieval", "RetrievalTables", "gated"]

logger = logging.getLogger(__name__)


def tagged_texts(texts: Mapping[str, str], parts: Sequence[str] | None) -> dict[str, str]:
    """Texts by id with the tags of their sections, as :func:`~patent_mteb.models.registry.section_tags` puts them;
    unchanged without parts.
    """
    return dict(texts) if parts is None else {key: section_tags(text, parts) for key, text in texts.items()}


def tagged_by_ends(text: str, sections: dict[str, str]) -> str:
    """A text with ``[SEP]`` and a tag before each section that it ends with; what is left before them (the title)
    carries none.
    """
    rest, tagged = text.strip(), []
    for name, section in reversed(sections.items()):
        known = section.strip()
        if known and rest.endswith(known):
            rest = rest.removesuffix(known).rstrip()
            tagged.append(section_tags(known, (name,)))
    return views.join_sections((rest, *reversed(tagged)), views.SEPARATOR)


INSCOPE_VARIABLE = "PATENT_MTEB_INSCOPE"

DEPTHS = (100, 500, 1000)
"""Ranks down to which patent searchers read."""

DISTRACTORS = 20
"""Documents that are kept for each query of a limited task, beside the judged ones."""


@dataclass(frozen=True)
class RetrievalTables:
    """What a retrieval task is made of, as its benchmark's loader gives it.

    ``hidden`` holds the documents that a query must not retrieve (its own family), ``slices`` the judgements of each
    named slice, ``unformed`` the slices that the data cannot form, with the reason, ``codes`` the IPC codes of
    documents and queries where they are known, and ``categories`` the citation category of judged pairs where it is
    known. ``gate`` holds the dates of documents and queries where a query may see only what was public before its
    priority date. ``paper_qrels`` and ``paper_slices`` are the judgements that the paper's evaluator takes, where it
    takes others (those of a query on itself). The texts of the corpus are held once
    (:class:`~patent_mteb.patents.corpus.Texts`), here and in what mteb gets.
    """

    corpus: Mapping[str, str]
    queries: Mapping[str, str]
    qrels: Qrels
    slices: Mapping[str, Qrels] = field(default_factory=dict)
    hidden: Mapping[str, Set[str]] = field(default_factory=dict)
    unformed: Mapping[str, str] = field(default_factory=dict)
    document_codes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    query_codes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    document_columns: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    categories: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    paper_qrels: Qrels = field(default_factory=dict)
    paper_slices: Mapping[str, Qrels] = field(default_factory=dict)
    gate: Gate | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "corpus", Texts.of(self.corpus))

    def limited(self, queries: int) -> RetrievalTables:
        """The tables of so many queries, drawn evenly: their judged documents, and ``DISTRACTORS`` times as many others
        as queries.
        """
        scored = [query for query, judged in self.qrels.items() if any(gain > 0 for gain in judged.values())]
        kept = set(_spread(scored, queries))

        def of_kept(qrels: Qrels) -> Qrels:
            return {query: judged for query, judged in qrels.items() if query in kept}

        judged = {
            document for query in kept for part in (self.qrels, self.paper_qrels) for document in part.get(query, ())
        }
        others = _spread([document for document in self.corpus if document not in judged], DISTRACTORS * queries)
        documents = judged | set(others)
        return replace(
            self,
            corpus={document: text for document, text in self.corpus.items() if document in documents},
            queries={query: text for query, text in self.queries.items() if query in kept},
            qrels=of_kept(self.qrels),
            slices={name: of_kept(part) for name, part in self.slices.items()},
            hidden={query: documents & hidden for query, hidden in self.hidden.items() if query in kept},
            paper_qrels=of_kept(self.paper_qrels),
            paper_slices={name: of_kept(part) for name, part in self.paper_slices.items()},
        )

    def split(self) -> RetrievalSplitData:
        """The corpus, and the queries that have a relevant document, in mteb's form; the texts of documents are not
        copied.
        """
        columns: dict[str, Any] = {"id": list(self.corpus), "text": Texts.of(self.corpus).column}
        for name, values in self.document_columns.items():
            columns[name] = [values[key] for key in self.corpus]
        scored = {query: judged for query, judged in self.qrels.items() if any(gain > 0 for gain in judged.values())}
        return RetrievalSplitData(
            corpus=text_dataset(columns),
            queries=text_dataset({"id": list(scored), "text": text_column(self.queries[query] for query in scored)}),
            relevant_docs=scored,
            top_ranked=None,
        )


def _spread(items: Sequence[str], number: int) -> list[str]:
    """So many of the items, evenly over their order; all if there are no more."""
    return [items[place * len(items) // number] for place in range(number)] if number < len(items) else list(items)


def gated(tables: RetrievalTables) -> tuple[RetrievalTables, int]:
    """The tables without judgements of documents that their query may not see, and how many judgements went."""
    gate = tables.gate
    if gate is None:
        return tables, 0

    def kept(qrels: Qrels) -> Qrels:
        return {
            query: {key: gain for key, gain in judged.items() if gate.admits(query, key)}
            for query, judged in qrels.items()
        }

    qrels = kept(tables.qrels)
    gone = sum(map(len, tables.qrels.values())) - sum(map(len, qrels.values()))
    parts = {name: positive(kept(part)) for name, part in tables.slices.items()}
    return replace(tables, qrels=qrels, slices={name: part for name, part in parts.items() if part}), gone


class PatentRetrieval(PatentTask, AbsTaskRetrieval):
    """Retrieval scored as mteb scores it, with slices.

    A query's hidden documents (its own family) take no place in its ranking, which still has full depth. Beside mteb's
    scores the result holds, for every slice, ``<slice>_<measure>_at_<k>`` and ``<slice>_n_queries``, and the same of
    the paper's own evaluator, in which nothing is hidden, as ``paper_<measure>_at_<k>`` and
    ``paper_<slice>_<measure>_at_<k>``. Both are read off one search. Where there are too few queries for a score
    (:mod:`patent_mteb.metrics.significance`), it brings the 95% interval of the main score, by bootstrap over the
    queries: ``<measure>_low``, ``<measure>_high``, and the same of a slice.

    Where the tables have a gate, a document counts only if it was public before the query's priority date, in both
    protocols: no ranking shows a later one, no judgement of one counts. The result then has ``gated_documents``, the
    mean number of documents that a query may not see, and ``n_gated_judgements``.

    Where documents are several texts, ``document_sections`` names them and ``query_section`` the one that a query is.
    """

    scoring: ClassVar[str] = "retrieval 1"
    slice_measures: ClassVar[tuple[str, ...]] = ("ndcg@10", "ndcg@100", "recall@10", "recall@100", "map@1000", "mrr@10")
    query_section: ClassVar[str] = ""
    document_sections: ClassVar[tuple[str, ...]] = ()
    tables: RetrievalTables
    n_gated_judgements: int = 0

    def load_tables(self) -> RetrievalTables:
        """Read the benchmark's tables and compose the texts of this task."""
        raise NotImplementedError

    def load_split(self) -> RetrievalSplitData:
        whole = self.load_tables()
        self.tables, _ = gated(whole)
        if self.limit:
            self.tables = self.tables.limited(self.limit)
        self.n_gated_judgements = sum(
            len(whole.qrels[query]) - len(judged) for query, judged in self.tables.qrels.items()
        )
        if self.n_gated_judgements:
            told = (
                "%s: %d judgements are of documents that were not public before the priority date of their query; they"
                " do not count"
            )
            logger.warning(told, self.metadata.name, self.n_gated_judgements)
        for name, reason in self.tables.unformed.items():
            logger.warning(
                "%s: slice %s cannot be formed: %s", self.own.name if self.own else self.source.data.key, name, reason
            )
        if alone := only_themselves(self.tables.paper_qrels):
            told = "%s: %d queries have no relevant document but themselves, first %s; neither protocol scores them"
            logger.warning(told, self.metadata.name, len(alone), alone[0])
        return self.tables.split()

    def limit_to(self, queries: int) -> Self:
        """A task like this on so many queries only, for trying out. It is named ``<Task>.limit<N>``, so its scores are
        no others'.
        """
        made = copy.copy(self)
        made.limit, made.data_loaded, made._data_digest, made._texts_seen = queries, False, None, None
        made._stand_on(made.source)
        return made

    def query_sections(self, model: MTEBModels) -> Mapping[str, Mapping[str, str]]:
        """Where queries have sections like documents: their texts as this model reads them, by section and query."""
        return {}

    def unload_data(self) -> None:
        """Let the data go, the texts in the tables included: other tasks are still to come."""
        super().unload_data()
        self.__dict__.pop("tables", None)

    def system(self, model: MTEBModels) -> ArraySearch:
        """How this task searches with a model."""
        return engine(model)

    def rank(self, model: MTEBModels, *, encode_kwargs: Mapping[str, Any] | None = None) -> Run:
        """The ranking that the task's scores are computed on, without scoring it.

        Raises:
            DataError: the data cannot be had or cannot be used.
        """
        system, queries, context = self.searching(model, encode_kwargs)
        return replace(system.rank(queries, max(self.k_values), context), task=self.metadata.name)

    def searching(
        self, model: MTEBModels, encode_kwargs: Mapping[str, Any] | None = None
    ) -> tuple[ArraySearch, Any, SearchContext]:
        """A model as a search over the task's corpus, indexed; the task's queries, and the context to rank them in."""
        self.load_data()
        given = (self.dataset or {})[self.source.subset][self.split]
        where = {"encode_kwargs": encode_kwargs or {}, "hf_split": self.split, "hf_subset": self.source.subset}
        context = self._context(where, given["top_ranked"])
        system, data_split = self.system(model), self.texts_for(model, given)
        system.ensure_indexed(data_split["corpus"], context)
        return system, data_split["queries"], context

    def evaluate_split(self, model: MTEBModels, data_split: Any, **arguments: Any) -> dict[str, Any]:
        """mteb's scores of the task, and ours; the evaluation is handed on for per-query scores (:mod:`.perquery`)."""
        candidates = data_split["top_ranked"]
        system, data_split = self.system(model), self.texts_for(model, data_split)
        texts, data_split = self.texts_seen(data_split), {**data_split, "top_ranked": candidates}
        if candidates is None and self._on_arrays(arguments.get("prediction_folder")):
            run, judged, scores, papers = self._evaluate(
                system, data_split, self._context(arguments), arguments["timer"]
            )
        else:
            listening = AsMteb(system, self.tables.hidden, self.tables.gate)
            scores = super().evaluate_split(listening, data_split, **arguments)
            run = listening.run or Run.from_dict({})
            judged = Judged(run.docs, data_split["relevant_docs"], run.query_ids, run.doc_ids)
            papers = {} if listening.whole is None else self.paper_scores(listening.whole)
        found = self.judge(run, data_split["relevant_docs"], model.mteb_model_meta, judged)
        hand_on(evaluation := replace(found, prompts=self.prompts(model, data_split, **arguments)))
        ranking = ranking_record(evaluation.run, evaluation.ranking)
        effort = {"effort": dict(run.effort)} if run.effort else {}
        index = {"index_mb": round(system.index_bytes / 1e6, 3)} if system.index_bytes else {}
        return {
            **scores,
            **papers,
            **evaluation.scores,
            KEY: {"texts": texts, "ranking": ranking, COST: index, **effort},
        }

    def encode_split(self, model: Any, data_split: Any, **arguments: Any) -> None:
        candidates, data_split = data_split["top_ranked"], self.texts_for(model, data_split)
        self._encode_for(self.system(model), data_split, self._context(arguments, candidates))

    def _encode_for(self, system: ArraySearch, data_split: Any, context: SearchContext) -> None:
        system.ensure_indexed(data_split["corpus"], context)
        system.encode_ahead(data_split["queries"], context)

    def read(self) -> Any:
        split, tables = super().read(), self.tables
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
        """The data of the split, with section tags for the models that read them where the sections can be told
        apart.
        """
        parts = getattr(self.metadata, "text_parts", {})
        if not parts or not reads_section_tags(model.mteb_model_meta):
            return data_split
        corpus, queries = (
            tagged_texts(self.tables.corpus, parts.get("document")),
            tagged_texts(self.tables.queries, parts.get("query")),
        )
        return replace(self.tables, corpus=corpus, queries=queries).split()

    def roles(self, data_split: Any) -> tuple[PromptType | None, ...]:
        return (PromptType.query, PromptType.document)

    def _on_arrays(self, prediction_folder: Path | None) -> bool:
        plain = not (self.skip_first_result or self.ignore_identical_ids) and 1 in self.k_values
        return on_arrays() and prediction_folder is None and plain

    def _context(self, arguments: Mapping[str, Any], top_ranked: Any = None) -> SearchContext:
        return SearchContext(
            self.metadata,
            arguments["hf_split"],
            arguments["hf_subset"],
            dict(arguments["encode_kwargs"]),
            top_ranked,
            arguments.get("num_proc"),
            self.tables.hidden,
            self.tables.gate,
        )

    def _evaluate(
        self, system: ArraySearch, data_split: Any, context: SearchContext, timer: Any
    ) -> tuple[Run, Judged, dict[str, Any], dict[str, float]]:
        """Ranking and scores on arrays, with the phases of mteb's timer, and the scores of the paper's protocol."""
        queries, depth = data_split["queries"], max(self.k_values)
        if isinstance(system, DenseSearch):
            system.timer = timer
            system.ensure_indexed(data_split["corpus"], context)
            run, whole = system.rank_both(queries, depth, context)
        else:
            phase = {"split": context.hf_split, "subset": context.hf_subset}
            with timer("Encoding corpus", **phase):
                system.ensure_indexed(data_split["corpus"], context)
            with timer("Encoding queries", **phase):
                run, whole = system.rank_both(queries, depth, context)
        told = "Running retrieval task - Evaluating retrieval scores..."
        with timer("Scoring", split=context.hf_split, subset=context.hf_subset, log_message=told):
            judged = Judged(run.docs, data_split["relevant_docs"], run.query_ids, run.doc_ids)
            scores: dict[str, Any] = retrieval_scores(run.docs, run.scores, judged.all(), self.k_values)
        logger.info("Running retrieval task - Finished.")
        return replace(run, task=self.metadata.name), judged, scores, self.paper_scores(whole)

    def paper_scores(self, whole: Run) -> dict[str, float]:
        """The scores of the paper's own evaluator, ``paper_…`` (:mod:`patent_mteb.tasks.paper_protocol`); none where no
        paper has the task.

        Args:
            whole: rankings with nothing hidden.
        """
        if not self.facts.paper:
            return {}
        tables = self.tables
        qrels, slices = tables.paper_qrels or tables.qrels, tables.paper_slices or tables.slices
        return paper_scores(whole, qrels, slices, self.k_values, self.slice_measures)

    def judge(self, run: Run, qrels: Qrels, model_meta: Any, judged: Judged | None = None) -> Evaluation:
        """Everything that is read off a run beside mteb's scores: those of slices and of the benchmark's own kind, and
        per query.

        Args:
            run: rankings of the task's queries.
            qrels: the judgements of all of them.
            model_meta: identity of the model that ranked.
            judged: the judged documents of this run, where they were found already.
        """
        judged = judged or Judged(run.docs, qrels, run.query_ids, run.doc_ids)
        overlap = sum(query in self.tables.corpus for query in qrels)
        scores: dict[str, float] = {"n_queries": len(qrels), "n_queries_in_corpus": overlap}
        if (gate := self.tables.gate) is not None:
            scores["gated_documents"] = (
                float(gate.kept_out(run.query_ids, run.doc_ids).mean()) if run.query_ids else 0.0
            )
            scores["n_gated_judgements"] = self.n_gated_judgements
        by_slice: dict[str, QueryScores] = {}
        for name, part in self.tables.slices.items():
            found = by_slice[name] = judged.scores((*self.slice_measures, "pres@100"), part)
            scores[f"{name}_n_queries"] = len(found.queries)
            scores |= {f"{name}_{measure.replace('@', '_at_')}": mean for measure, mean in found.means().items()}
        scores |= self.own_scores(run, judged) | self.deep_scores(judged) | self._small_intervals(judged, scores)
        if run.first_stage is not None:
            first, measure = run.first_stage, f"recall@{run.first_stage.k}"
            stage = Judged(first.run.docs, qrels, first.run.query_ids, first.run.doc_ids).scores([measure])
            scores[f"first_stage_recall_at_{first.k}"] = stage.means()[measure]
        members = {name: set(found.queries) for name, found in by_slice.items()}
        slices = self.tables.slices
        return Evaluation(
            self.metadata,
            self.source.subset,
            model_meta,
            run,
            qrels,
            judged,
            slices,
            members,
            scores,
            by_slice=by_slice,
        )

    def _small_intervals(self, judged: Judged, counts: Mapping[str, float]) -> dict[str, float]:
        """Intervals of the main score where it stands on too few queries; none where all of them score the same, which
        tells nothing.
        """
        main: str = self.metadata.main_score
        if main.partition("_at_")[0] not in MEASURES:
            return {}
        found: dict[str, float] = {}
        for name, part in {"": None, **self.tables.slices}.items():
            if too_small(counts, name):
                measure = main.replace("_at_", "@")
                values = judged.scores([measure], part).scores[measure]
                if len(set(values.tolist())) > 1:
                    low, high = bootstrap(values[:, None]).intervals()[0].tolist()
                    found |= limits(f"{name}_{main}" if name else main, (low, high))
        return found

    def deep_scores(self, judged: Judged) -> dict[str, float]:
        """PRES at the depths at which patents are searched, as far as rankings go that deep; recall and hit rate where
        mteb has none.
        """
        depths = [depth for depth in DEPTHS if depth <= max(self.k_values)]
        wanted = [f"pres@{depth}" for depth in depths]
        wanted += [
            f"{name}@{depth}" for depth in depths if depth not in self.k_values for name in ("recall", "hit_rate")
        ]
        return {measure.replace("@", "_at_"): value for measure, value in judged.scores(wanted).means().items()}

    def own_scores(self, run: Run, judged: Judged) -> dict[str, float]:
        """Scores of the benchmark's own kind on the same run: InScope@k if ``PATENT_MTEB_INSCOPE=1`` and the data has
        codes.
        """
        return self.inscope(run) if asked(INSCOPE_VARIABLE) and self.tables.query_codes else {}

    def lacks(self, scores: Mapping[str, Any]) -> bool:
        if not asked(INSCOPE_VARIABLE) or any(name.startswith("inscope_") for name in scores):
            return False
        self.load_data()  # whether there are codes
        return bool(self.tables.query_codes)

    def inscope(self, run: Run) -> dict[str, float]:
        """InScope@k of the run (:func:`patent_mteb.metrics.inscope.inscope_scores`)."""
        return inscope_scores(run.docs, run.query_ids, run.doc_ids, self.tables.query_codes, self.tables.document_codes)
