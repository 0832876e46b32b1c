"""WIPO-AT: retrieval, classification and clustering on the assistive-technology landscape.

The paper is "Benchmarking Patent Embeddings". Its data set is unpublished. The tasks read a directory that
:mod:`patent_mteb.recipes.wipo_at` builds from a licensee's export or from any patents, or the built-in sample.

Retrieval tasks are the cells of the section grid (§3.4). The label sets have multi-label classification, zero-shot
labels and clustering (§3.3.2, §3.3.3, §4.4), each on three variants of the text (§3.6).
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, product
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pyarrow as pa

from patent_mteb import files
from patent_mteb.data.loading import DataSet, Source, switched_on
from patent_mteb.errors import LAYOUT, DataError, NotThereError, check_columns
from patent_mteb.metrics import slices
from patent_mteb.patents import views
from patent_mteb.patents.corpus import Texts
from patent_mteb.protocols import effective_rows, limits, macro_f1_interval, multi_hot, v_measure_interval
from patent_mteb.protocols.clustering import SEEDS, agreement, cluster, every_label, most_frequent_label, single_label
from patent_mteb.protocols.knn import knn
from patent_mteb.protocols.linear_probe import linear_probe
from patent_mteb.protocols.zero_shot import Scorer, zero_shot
from patent_mteb.published import citation
from patent_mteb.recipes import beir, label_sets
from patent_mteb.recipes.dataset import FileRecord
from patent_mteb.recipes.label_sets import LABEL_SETS, SPLITS, LabelSet
from patent_mteb.recipes.wipo_at import DWPI_FIELDS, PUBLIC_FIELDS, check
from patent_mteb.tasks.base import PatentTask, make_task, sections_of
from patent_mteb.tasks.benchmark import (
    LANDSCAPE,
    ONE_CLAIM,
    OTHER_FIELDS,
    PRIOR_ART,
    SAME_FIELD,
    SORTING,
    Facts,
    PatentBenchmark,
)
from patent_mteb.tasks.checks import check_unseen_labels, log_counts, refuse_constant, refuse_trivial_clusters
from patent_mteb.tasks.evidence import KEY
from patent_mteb.tasks.frozen import FrozenTask
from patent_mteb.tasks.retrieval import Folder, PatentRetrieval, RetrievalTables, tagged_by_ends, tagged_texts

logger = logging.getLogger(__name__)
_FIELDS = (*DWPI_FIELDS, *PUBLIC_FIELDS)


@dataclass(frozen=True)
class LabelledTexts:
    """The texts and labels of a label set by split, and all its classes."""

    texts: dict[str, list[str]]
    labels: dict[str, list[list[str]]]
    classes: tuple[str, ...]


@lru_cache(maxsize=2)
def _fields(path: Path, revision: str) -> tuple[tuple[str, ...], dict[str, dict[str, str]]]:
    """Read the text fields by document, and return them with their names; fields of DWPI may be missing."""
    present = files.parquet_schema(path).names
    names = tuple(name for name in _FIELDS if name in present or name in PUBLIC_FIELDS)
    log_counts(path, {f"of {len(_FIELDS)} fields are missing, those of DWPI": len(_FIELDS) - len(names)})
    return names, files.table_rows(files.read_keyed(path, dict.fromkeys(names, pa.string())))


@lru_cache(maxsize=2)
def _families(path: Path, revision: str) -> dict[str, str]:
    """Return the family of each document; empty where ``metadata.parquet`` has none."""
    table = files.read_keyed(path) if path.exists() else None
    if table is None or "family_id" not in table.column_names:
        return {}
    check_columns(table, {"family_id": pa.string()}, path)
    families = (family or "" for family in table["family_id"].to_pylist())
    return dict(zip(table["_id"].to_pylist(), families, strict=True))


def labelled_texts(source: Source, label_set: str, fields: tuple[str, ...]) -> LabelledTexts:
    path = source.path(f"labels/{label_set}.parquet")
    families = _families(source.path("metadata.parquet"), source.revision)
    rows = label_sets.read_labels(source.path(), label_set, families)
    known, fields_of = _fields(source.path("fields.parquet"), source.revision)
    wanted = [name for name in fields if name in known]
    if not wanted:
        problem, remedy = f"no column of {', '.join(fields)}", "add text of DWPI, or omit the task"
        raise NotThereError(problem, path=source.path("fields.parquet"), remedy=remedy)
    texts: dict[str, list[str]] = {split: [] for split in SPLITS}
    labels: dict[str, list[list[str]]] = {split: [] for split in SPLITS}
    first_with: dict[tuple[str, ...], tuple[str, str]] = {}
    for number, row in enumerate(rows, start=1):
        found = fields_of.get(row.key)
        if found is None:
            problem = f"document '{row.key}' has no row in fields.parquet"
            raise DataError(problem, path=path, row=number, remedy="add the row")
        words = tuple(found[name] or "" for name in known)
        first, split = first_with.setdefault(words, (row.key, row.split))
        if split != row.split and any(words):
            problem = f"document '{row.key}' of the {row.split} split has the text of '{first}' of the {split} split"
            raise DataError(problem, path=path, row=number, remedy="assign both to one split, or delete one")
        texts[row.split].append(views.join_sections([found[name] or "" for name in wanted]))
        labels[row.split].append(row.labels)
    empty = sum(not text for part in texts.values() for text in part)
    if empty == len(rows) > 0:
        problem = f"no document has text in {', '.join(wanted)}"
        raise DataError(problem, path=source.path("fields.parquet"), remedy="fill these columns")
    without = sum(not families.get(row.key) for row in rows)
    counts = {
        f"of {len(rows)} documents have no text in {', '.join(wanted)}": empty,
        f"of {len(rows)} documents have no family_id: their families may be in two splits": without,
    }
    log_counts(path, counts)
    for split, part in texts.items():
        if not part:
            remedy = "the protocol needs train, validation and test documents"
            raise DataError(f"split '{split}' is empty", path=path, remedy=remedy)
    refuse_constant([", ".join(sorted(found)) for found in labels["train"]], path, "training documents")
    known_labels = {split: set(chain.from_iterable(labels[split])) for split in SPLITS}
    check_unseen_labels(known_labels["test"], known_labels["train"], path)
    return LabelledTexts(texts, labels, tuple(sorted(set().union(*known_labels.values()))))


SILHOUETTE_VARIABLE = "PATENT_MTEB_SILHOUETTE"


class LabelTask(FrozenTask):
    label_set: LabelSet
    fields: tuple[str, ...]

    def load_split(self) -> LabelledTexts:
        folder, name = self.source.path(), self.label_set.name
        names = label_sets.label_files(folder)
        if name not in names:
            problem = f"there is no label set {name} (there are {', '.join(names.values())})"
            raise NotThereError(problem if names else "there are no label sets", path=folder / "labels", remedy=LAYOUT)
        return labelled_texts(self.source, names[name], self.fields)


class LabelClassification(LabelTask):
    """Multi-label classification on frozen embeddings (§3.3.2), trained on the whole training split.

    The main score ``macro_f1`` is that of the linear probe on the test split.
    :mod:`patent_mteb.protocols.linear_probe` chooses its C on the validation split: ``c``; ``c_at_edge`` is 1 if it is
    at an edge of the grid. ``knn_<k>_macro_f1`` are scores of a majority vote. ``knn_macro_f1`` has the best k on the
    test split itself, as in the paper, and is therefore optimistic; ``knn_tuned_macro_f1`` has the best k on the
    validation split (``knn_tuned_k``). ``f1_<label>`` is the F1 of a label. ``n_untrained_labels`` counts labels
    without a training example, whose F1 of 0 is part of the mean; ``n_unconverged_fits`` counts fits above the
    tolerance. Classes are the labels that occur. ``macro_f1_low``, ``macro_f1_high``, ``knn_macro_f1_low`` and
    ``knn_macro_f1_high`` are 95% intervals over test documents, ``n_effective`` the documents that decide them
    (:mod:`patent_mteb.protocols`).
    """

    scoring = "label classification 2"  # since version 2 intervals are the jackknife's

    def score(self, embeddings: Mapping[str, np.ndarray], data: LabelledTexts) -> dict[str, Any]:
        splits = {name: (embeddings[name], multi_hot(data.labels[name], data.classes)) for name in SPLITS}
        probe = linear_probe(splits["train"], splits["validation"], splits["test"], data.classes)
        neighbours = knn(splits["train"], splits["test"], data.classes)
        tuned = knn(splits["train"], splits["validation"], data.classes).best_k
        name = self.metadata.name
        for c, label, residual in probe.unconverged:
            message = "%s: the probe of label %s did not converge at C=%g (residual %.1e)"
            logger.warning(message, name, label, c, residual)
        if probe.at_edge:
            message = "%s: the best C, %g, is at an edge of the probe's grid: a value outside may be better"
            logger.warning(message, name, probe.c)
        if probe.untrained:
            logger.warning("%s: labels without a training example: %s", name, ", ".join(probe.untrained))
        return {
            **_label_scores(data, probe.macro_f1, probe.predicted, probe.f1),
            "c": probe.c,
            "c_at_edge": int(probe.at_edge),
            "validation_macro_f1": probe.validation_f1[probe.c],
            "knn_macro_f1": neighbours.macro_f1[neighbours.best_k],
            **limits("knn_macro_f1", macro_f1_interval(splits["test"][1], neighbours.predicted)),
            "knn_best_k": neighbours.best_k,
            "knn_tuned_macro_f1": neighbours.macro_f1[tuned],
            "knn_tuned_k": tuned,
            **{f"knn_{k}_macro_f1": value for k, value in neighbours.macro_f1.items()},
            "n_untrained_labels": len(probe.untrained),
            "n_untested_labels": len(probe.untested),
            "n_unconverged_fits": len(probe.unconverged),
        }

    def evaluate_split(self, model: Any, data_split: Any, **arguments: Any) -> Any:
        if hasattr(model, "score_labels"):
            return {**self.zero_shot(model.score_labels, data_split), KEY: {"texts": self.texts_evidence(data_split)}}
        return super().evaluate_split(model, data_split, **arguments)

    def zero_shot(self, scorer: Scorer, data: LabelledTexts) -> dict[str, Any]:
        """Score zero-shot labels (§4.4): label names are hypotheses, and the threshold is tuned on validation."""
        validation, test = (
            (data.texts[name], multi_hot(data.labels[name], data.classes)) for name in ("validation", "test")
        )
        found = zero_shot(scorer, validation, test, data.classes)
        return {
            **_label_scores(data, found.macro_f1, found.predicted, found.f1),
            "threshold": found.threshold,
            "validation_macro_f1": found.validation_f1,
        }


def _label_scores(data: LabelledTexts, macro_f1: float, predicted: Any, f1: Mapping[str, float]) -> dict[str, Any]:
    """Return the scores of predicted labels of the test split, with their interval and sizes."""
    true = multi_hot(data.labels["test"], data.classes)
    return {
        "macro_f1": macro_f1,
        **limits("macro_f1", macro_f1_interval(true, predicted)),
        "n_test": len(data.labels["test"]),
        "n_classes": len(set(chain.from_iterable(data.labels["test"]))),
        "n_effective": effective_rows(true.sum(axis=0)),
        **{f"f1_{label}": value for label, value in f1.items()},
    }


class LabelClustering(LabelTask):
    """k-means on the embeddings of the test split (§3.3.3).

    The main score is V-measure; there are ARI, and NMI, which equals V-measure. K is the number of labels of the set.
    The class of a document with several labels is the rarest of them in the whole set. The paper does not define it, so
    the result also contains other definitions (:mod:`patent_mteb.protocols.clustering`): ``most_frequent_v_measure``
    and ``every_label_v_measure``, and ``_ari`` likewise. The main score has seed 42. ``v_measure_seeds_mean`` and
    ``v_measure_seeds_std`` are over ``n_seeds`` seeds from 42 on. ``v_measure_low`` and ``v_measure_high`` are a 95%
    interval over test documents and seeds (:mod:`patent_mteb.protocols`).
    ``PATENT_MTEB_SILHOUETTE=1`` adds the silhouette.
    """

    scoring = "label clustering 3"  # since version 3 intervals hold the variation of seeds

    def load_split(self) -> LabelledTexts:
        data = super().load_split()
        refuse_trivial_clusters(_test_classes(data, single_label), self.source.path("labels"))
        return LabelledTexts({"test": data.texts["test"]}, data.labels, data.classes)

    def score(self, embeddings: Mapping[str, np.ndarray], data: LabelledTexts) -> dict[str, Any]:
        classes, clusters = _test_classes(data, single_label), min(len(data.classes), len(embeddings["test"]))
        found = cluster(embeddings["test"], classes, clusters=clusters, silhouette=switched_on(SILHOUETTE_VARIABLE))
        others = [cluster(embeddings["test"], classes, clusters=clusters, seed=seed) for seed in SEEDS[1:]]
        of_seeds = [result.v_measure for result in (found, *others)]
        frequent = agreement(_test_classes(data, most_frequent_label), found.assigned)
        labels, rows = every_label(data.labels["test"])
        every = agreement(labels, [found.assigned[row] for row in rows])
        return {
            "v_measure": found.v_measure,
            **limits("v_measure", v_measure_interval(classes, found.assigned, of_seeds)),
            "v_measure_seeds_mean": float(np.mean(of_seeds)),
            "v_measure_seeds_std": float(np.std(of_seeds, ddof=1)),
            "ari": found.ari,
            "nmi": found.nmi,
            "most_frequent_v_measure": frequent.v_measure,
            "most_frequent_ari": frequent.ari,
            "every_label_v_measure": every.v_measure,
            "every_label_ari": every.ari,
            "n_clusters": found.clusters,
            "n_classes": found.classes,
            "n_test": len(classes),
            "n_seeds": len(SEEDS),
            "n_multi_label": sum(len(set(labels)) > 1 for labels in data.labels["test"]),
            **({} if found.silhouette is None else {"silhouette": found.silhouette}),
        }

    def lacks_scores(self, scores: Mapping[str, Any]) -> bool:
        return switched_on(SILHOUETTE_VARIABLE) and "silhouette" not in scores


def _test_classes(data: LabelledTexts, rule: Callable[[list[list[str]], Mapping[str, int]], list[str]]) -> list[str]:
    """Return the class of each test document by a rule on the frequency of labels in the whole set."""
    everywhere = chain.from_iterable(data.labels.values())
    return rule(data.labels["test"], Counter(chain.from_iterable(everywhere)))


DATA = DataSet("WIPO-AT", "wipo_at")
PARTS_OF_VIEW = {"Abstract": ("abstract",), "Claim1": ("claim",), "Claims": ("claim",)}
BEHIND_THE_TITLE = {"TA": {"abstract": "Abstract"}, "TAC": {"abstract": "Abstract", "claim": "Claims"}}
"""The sections after the title of a view, with the views of these sections."""

QUERY_VIEWS = ("TA", "TAC", "Abstract", "Claim1", "Claims")
CORPUS_VIEWS = ("TA", "TAC", "Claim1", "Abstract", "DWPIFull", "DWPITA")


@dataclass(frozen=True)
class Cell:
    """A cell of the section grid (§3.4): query view and corpus view."""

    query: str
    corpus: str

    @property
    def name(self) -> str:
        headline = self.query == self.corpus == "TAC"
        return "PatentCitationRetrieval" if headline else f"WIPOAT{self.query}To{self.corpus}Retrieval"

    @property
    def description(self) -> str:
        headline = " This cell is the headline task of the benchmark." if self.name == "PatentCitationRetrieval" else ""
        return (
            "Given a patent of the assistive-technology landscape, retrieve the patents that its family cites "
            f"(query text: {self.query}, corpus text: {self.corpus}).{headline}"
        )


FACTS = Facts(
    name="WIPO-AT",
    description=(
        "Citation retrieval, multi-label classification and clustering on the WIPO assistive-technology landscape."
    ),
    reference="https://arxiv.org/abs/2605.24297",
    bibtex=citation("yousefiramandi2026benchmarking"),
    license="not specified",
    date=("1990-01-01", "2021-12-31"),
    annotations="expert-annotated",
    prefix="WIPOAT",
    headline="PatentCitationRetrieval",
    jobs={
        PRIOR_ART: ("PatentCitationRetrieval", ""),
        SAME_FIELD: ("PatentCitationRetrieval", "in"),
        OTHER_FIELDS: ("PatentCitationRetrieval", "out"),
        ONE_CLAIM: ("WIPOATClaim1ToTACRetrieval", ""),
        SORTING: ("WIPOATEmergingClassification", ""),
        LANDSCAPE: ("WIPOATEmergingClustering", ""),
    },
    short_names={"PatentCitationRetrieval": "TAC→TAC"},
    lacking=".NoDWPI",  # §3.6
    prompt_rows=(
        (r"PatentCitationRetrieval|WIPOAT\w+Retrieval", "retrieval_MIXED"),
        (r"WIPOAT\w+Classification(\.\w+)?", "class_text2ipc3"),
        (r"WIPOAT\w+Clustering(\.\w+)?", "clusters_ext_full_ipc"),
    ),
    paper="wipo_at",
    paper_queries=46_069,  # §1
    section_grid={Cell(*pair).name: pair for pair in product(QUERY_VIEWS, CORPUS_VIEWS)},  # §3.4
    replaced=("WIPOAT", "WIPO-AT", "Patent"),
    subject="assistive-technology ",
    known_by=("corpus.jsonl", "qrels", "labels"),
    check=check,
)

HEADLINE = Cell("TAC", "TAC")
CELLS = (
    HEADLINE,
    *(cell for pair in product(QUERY_VIEWS, CORPUS_VIEWS) if (cell := Cell(*pair)) != HEADLINE),
    Cell("DWPIFull", "DWPIFull"),
    Cell("DWPITA", "DWPITA"),
)
"""The 5 x 6 grid of §3.4 and the two symmetric DWPI cells: 32 tasks."""


@lru_cache(maxsize=1)
def read_folder(folder: Path, revision: str) -> Folder:
    """Read the benchmark's directory; ``revision`` distinguishes two states of one directory."""
    if label_sets.label_names(folder) and not any(
        (folder / name).exists() for name in ("corpus.jsonl", "queries.jsonl", "qrels")
    ):
        raise NotThereError("there are label sets only: no corpus, queries and judgements", path=folder, remedy=LAYOUT)
    found, counts = Folder.read(folder)
    if "TA" in found.tables.views and not {"Claims", "Claim1"} & set(found.tables.views):
        alike = all(found.documents.get(key, text) == text for key, text in beir.view_rows(folder, "TA"))
        what = "documents, of which none has claims: TAC, the headline's text, is title and abstract"
        counts[what] = len(found.documents) if alike else 0
    log_counts(folder, counts)
    parts, unformed = _slices(slices.positive(found.tables.qrels), found.rows)
    return replace(found, slices=parts, unformed=unformed)


def _domain(row: Mapping[str, Any]) -> str:
    return slices.domain(row.get("coarse") or (), row.get("ipc") or ())


def _slices(
    positive: slices.Qrels, rows: Mapping[str, Mapping[str, Any]]
) -> tuple[dict[str, slices.Qrels], dict[str, str]]:
    unformed: dict[str, str] = {}
    judged = positive.keys() | set(chain.from_iterable(positive.values()))
    domains = {key: _domain(rows[key]) for key in judged if key in rows}
    parts, dropped = slices.in_and_out(positive, domains, domains)
    if not parts:
        known = sum(bool(_domain(row)) for row in rows.values())
        unformed["in, out"] = (
            f"no judged pair has a coarse label or an IPC code on both sides in metadata.parquet ({known} of"
            f" {len(rows)} rows have one)"
        )
    elif dropped:
        reason = f"{dropped} pairs have a side without coarse label and IPC code"
        unformed["in/out for part of the judgements"] = reason
    offices = {query: rows.get(query, {}).get("jurisdiction") or "" for query in positive}
    groups = slices.by_query(positive, lambda query: slices.jurisdiction_group(offices[query]))
    parts |= {f"jurisdiction_{name}": groups[name] for name in slices.JURISDICTION_GROUPS if name in groups}
    missing = [f"jurisdiction_{name}" for name in slices.JURISDICTION_GROUPS if name not in groups]
    if not groups:
        unformed["jurisdiction_*"] = "no query has a jurisdiction in metadata.parquet"
    elif missing:
        unformed[", ".join(missing)] = "no query was filed there"
    return parts, unformed


class CitationRetrieval(PatentRetrieval):
    """Citation retrieval (§3.3.1) with one cell of the section grid.

    Relevance is binary, and ties are sorted by document id. MAP and MRR have mteb's cutoffs, because the paper names
    none. The query's own family is hidden, which §3.3.1 does not do (``paper_…``). IN and OUT compare coarse domains;
    the jurisdiction is that of the query's filing office.
    """

    cell: Cell

    def load_tables(self) -> RetrievalTables:
        place = self.source.path()
        folder = read_folder(place, self.source.revision)
        corpus = _view(folder, self.cell.corpus, folder.tables.corpus, place)
        return folder.retrieval_tables(corpus, _view(folder, self.cell.query, folder.tables.queries, place))

    def tagged_tables(self) -> RetrievalTables:
        """Return the tables with section tags in the texts; texts of DWPI have none."""
        corpus = self._tagged(self.tables.corpus, self.cell.corpus)
        return replace(self.tables, corpus=corpus, queries=self._tagged(self.tables.queries, self.cell.query))

    def _tagged(self, texts: Mapping[str, str], view: str) -> dict[str, str]:
        if view in PARTS_OF_VIEW:
            return tagged_texts(texts, PARTS_OF_VIEW[view])
        place = self.source.path()
        folder = read_folder(place, self.source.revision)
        behind = BEHIND_THE_TITLE.get(view, {}).items()
        known = {name: _view(folder, other, texts, place) for name, other in behind if other in folder.tables.views}
        return {key: tagged_by_ends(texts[key], {name: part[key] for name, part in known.items()}) for key in texts}


def _view(folder: Folder, name: str, keys: Collection[str], place: Path) -> Texts:
    """Return the texts of a view of documents or queries; other views are not loaded."""
    if name == "TAC":
        return folder.documents if keys is folder.tables.corpus else folder.tables.queries
    path = place / "views.parquet"
    if name not in folder.tables.views:
        remedy = f"write column '{name}', or omit the tasks that need it"
        raise NotThereError(f"the text view {name} is missing", path=path, remedy=remedy)
    texts = Texts.collected((key, text) for key, text in beir.view_rows(place, name) if key in keys)
    if missing := [key for key in keys if key not in texts]:
        problem = f"{len(missing)} documents or queries have no row, first '{missing[0]}'"
        raise DataError(problem, path=path, remedy="write one row for each")
    empty = sum(not text.strip() for text in texts.values())
    log_counts(path, {f"of {len(texts)} rows have an empty view {name}": empty})
    return texts.ordered(keys)


def _retrieval_task(cell: Cell) -> type[CitationRetrieval]:
    described = (cell.name, "Retrieval", cell.description, "ndcg_at_10", {"cell": cell})
    parts = sections_of(PARTS_OF_VIEW, query=cell.query, document=cell.corpus)
    prompt = {"query": "Given a patent, retrieve patents that it cites"}
    return make_task(CitationRetrieval, FACTS, DATA, *described, prompt=prompt, text_parts=parts)


RETRIEVAL_TASKS = tuple(map(_retrieval_task, CELLS))
VARIANTS: dict[str, tuple[str, ...]] = {"": _FIELDS, ".DWPIOnly": DWPI_FIELDS, ".NoDWPI": PUBLIC_FIELDS}
"""Text fields by suffix of the task name (§3.6): Combined, DWPIonly and noDWPI."""

_LABEL_KINDS: dict[str, tuple[type[LabelTask], str, str]] = {
    "MultilabelClassification": (LabelClassification, "Multi-label classification", "macro_f1"),
    "Clustering": (LabelClustering, "Clustering", "v_measure"),
}


def _label_task_name(label_set: str, kind: str, suffix: str) -> str:
    return f"WIPOAT{label_sets.camel_case(label_set)}{kind.removeprefix('Multilabel')}{suffix}"


def _label_task(kind: str, label_set: LabelSet, suffix: str) -> type[LabelTask]:
    base, what, main_score = _LABEL_KINDS[kind]
    within = f"fine categories of {label_set.coarse}" if label_set.coarse else "coarse categories"
    of_which = f"{label_set.landscape} {FACTS.subject}patents by the {within}"
    if label_set not in LABEL_SETS:
        of_which = f"patents by the labels of the set {label_set.name}"
    description = f"{what} of {of_which} (text: {', '.join(VARIANTS[suffix])})."
    name = _label_task_name(label_set.name, kind, suffix)
    what_it_has = f"{FACTS.subject}categories" + (f" within {label_set.coarse}" if label_set.coarse else "")
    instruction = f"Given a patent, find {'its' if kind == 'Clustering' else 'all its'} {what_it_has}"
    attributes = {"label_set": label_set, "fields": VARIANTS[suffix]}
    return make_task(base, FACTS, DATA, name, kind, description, main_score, attributes, prompt=instruction)


CLASSIFICATION_TASKS, CLUSTERING_TASKS = (
    tuple(_label_task(kind, label_set, suffix) for label_set, suffix in product(LABEL_SETS, VARIANTS))
    for kind in _LABEL_KINDS
)


@lru_cache(maxsize=256)
def _task_named(name: str) -> type[PatentTask] | None:
    """Return the task of another label set by name, ``WIPOATTopicsClassification``."""
    found = re.fullmatch(r"WIPOAT(\w+)(Classification|Clustering)(\.\w+)?", name)
    if found is None or (found[3] or "") not in VARIANTS:
        return None
    kind = next(kind for kind in _LABEL_KINDS if kind.endswith(found[2]))
    return _label_task(kind, LabelSet(found[1], found[1]), found[3] or "")


def _names_in(files: Mapping[str, FileRecord]) -> list[str]:
    """Return the tasks that the files support; those on expert texts need texts of DWPI."""
    filled = {file: {name for name, count in (record.filled or {}).items() if count} for file, record in files.items()}
    present = {"TAC"} | filled.get("views.parquet", set())
    cells = [cell.name for cell in CELLS if {cell.query, cell.corpus} <= present and "qrels/test.tsv" in files]
    expert = bool(filled.get("fields.parquet", set()) & set(DWPI_FIELDS))
    sets = [PurePosixPath(file).stem for file in sorted(files) if PurePosixPath(file).match("labels/*.parquet")]
    suffixes = VARIANTS if expert else [""]
    return cells + [
        _label_task_name(name, kind, suffix) for kind, name, suffix in product(_LABEL_KINDS, sets, suffixes)
    ]


BENCHMARK = PatentBenchmark(
    FACTS,
    {"Retrieval": RETRIEVAL_TASKS, "Classification": CLASSIFICATION_TASKS, "Clustering": CLUSTERING_TASKS},
    names_in=_names_in,
    task_named=_task_named,
)
