"""Recipe of WIPO-AT: the nine steps of the paper's §3.1.3, from canonical records to the benchmark's directory.

The data set is unreleased, so the directory is ours: the BEIR folder of :mod:`patent_mteb.recipes.beir` with

* ``metadata.parquet``: ``_id``, ``family_id``, ``jurisdiction`` (of first filing where known, else of the publication), ``ipc``
  (codes of the document, as written), ``coarse`` (the coarse label of each taxonomy row, repetitions included), ``split``;
* ``views.parquet``: ``_id`` and one column for each text view (Table 1 and the five query sections of §3.4);
* ``fields.parquet``: ``_id`` and the ten fields of the classification texts (§3.6);
* ``labels/<Set>.parquet``: ``_id``, ``split``, ``labels`` for each label set (:mod:`patent_mteb.recipes.landscapes`; the paper's five,
  Table 2), and ``labels/taxonomy.json``, the labels that each set may use.

Without a citation between two families there is no corpus, query, judgement or view, without a label no fields and no label set; views
and fields of DWPI are there if a document has text of DWPI. What is not there, and which views are empty for how many documents, is a step
of the log.

Readings where the paper is silent: citations are edges between families, and every remaining document of a citing family is
a query for which every remaining document of a cited family is relevant; of documents of one family with identical title,
abstract and claims the earliest publication is kept; the split is a seeded shuffle of the families, of which those that share a
document word for word stay together.
"""

from __future__ import annotations

import json
import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pyarrow as pa

from patent_mteb.errors import DataError
from patent_mteb.files import write_parquet, write_text
from patent_mteb.patents import views
from patent_mteb.patents.families import age, leaking_twins
from patent_mteb.patents.groups import Groups
from patent_mteb.patents.records import Citation, Patent
from patent_mteb.patents.text import clean_patent
from patent_mteb.recipes.beir import write_beir
from patent_mteb.recipes.graph import FamilyGraph, family_graph
from patent_mteb.recipes.label_sets import SPLITS
from patent_mteb.recipes.landscapes import LABEL_SETS, LabelSet, label_sets
from patent_mteb.recipes.log import BuildLog
from patent_mteb.recipes.needs import FIELDS, MATCH_THEM, Filter, Funnel, Need, deviations
from patent_mteb.recipes.parameters import Positive, Share
from patent_mteb.recipes.sampling import some_queries, stratum
from patent_mteb.recipes.wipo_at_check import check

__all__ = [
    "DWPI_FIELDS",
    "LABEL_SETS",
    "NAME",
    "NEEDS",
    "PUBLIC_FIELDS",
    "SAMPLE",
    "SPLITS",
    "VIEWS",
    "LabelSet",
    "Params",
    "build",
    "check",
]

NAME = "WIPO-AT"
VIEWS = ("TA", "TAC", "Abstract", "Claim1", "Claims", "DWPIFull", "DWPITA")
DWPI_FIELDS = (
    "dwpi_title",
    "dwpi_detailed_description",
    "dwpi_novelty",
    "dwpi_use",
    "dwpi_advantage",
    "dwpi_technology_focus",
)
PUBLIC_FIELDS = ("claim1", "abstract", "title", "keywords")
_PUBLIC_VIEWS = {name: name.capitalize() for name in PUBLIC_FIELDS}


NEEDS = (
    Need("title", "TA, TAC"),
    Need("abstract", "TA, TAC, Abstract"),
    Need("claims", "TAC, Claim1, Claims"),
    Need("citations", "retrieval"),
    Need("labels", "classification and clustering; IN and OUT"),
    Need("ipc", "IN and OUT where a document has no label"),
    Need("expert", "DWPIFull, DWPITA; classification and clustering .DWPIOnly"),
    Need("keywords", "DWPIFull; texts of classification and clustering"),
)
"""What is made of which field; a document without one stays, its text is empty."""


@dataclass(frozen=True)
class Params:
    """Settings of the recipe; the defaults are the paper's.

    Attributes:
        seed: seed of the split.
        train: share of the families in the training split.
        validation: share of the families in the validation split; the rest is the test split.
        require: texts that a document must have; documents without one of them are left out; none: all stay.
        queries: most queries, stratified by year and IPC section; None: every document of a family that cites another.
        fine_documents: least number of documents of a set of fine labels, in landscapes other than the paper's.
        strict_views: stop where a view has no text for a document, which otherwise is counted.

    Raises:
        ValueError: the two shares are more than one together.
    """

    seed: int = 42
    train: Share = 0.8
    validation: Share = 0.1
    require: tuple[Literal["title", "abstract", "claims"], ...] = ()
    queries: Positive | None = None
    fine_documents: Positive = 50
    strict_views: bool = False

    def __post_init__(self) -> None:
        if self.train + self.validation > 1 + 1e-9:
            raise ValueError(f"train={self.train} and validation={self.validation} are more than one together")


SAMPLE = Params()


def build(patents: Sequence[Patent], citations: Sequence[Citation], root: Path, params: Params = Params()) -> BuildLog:
    """Write ``root/WIPO-AT``.

    Raises:
        DataError: neither a citation within the corpus nor a label, or the quality check of step 0.9 found what it lists.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb import sample
        >>> from patent_mteb.recipes import wipo_at
        >>> patents, citations = sample.generate()
        >>> log = wipo_at.build(patents[:150], citations, Path("tables"), wipo_at.SAMPLE)
        >>> log.files[0]
        'WIPO-AT/corpus.jsonl'
    """
    log = BuildLog(NAME, deviations=deviations(params, NEEDS))
    folder = root / NAME
    family_of = {patent.publication_number: patent.family_id for patent in patents}
    log.step("0.1 id mapping", len(patents), len(family_of), f"{len(set(family_of.values()))} simple families")

    master = [clean_patent(patent) for patent in sorted(patents, key=age)]
    log.step("0.2-0.3 patent master", len(patents), len(master))
    if params.require:
        filters = [Filter(f"with {name}", FIELDS[name], field=name) for name in params.require]
        every = {patent.publication_number: patent for patent in master}
        master = list(Funnel(log, "documents", params.require, "0.3b ")(every, filters).values())

    n_labels = sum(len(patent.labels) for patent in master)
    log.step("0.4 label extraction", len(master), n_labels, f"{sum(not patent.labels for patent in master)} without label")

    graph = family_graph(citations, family_of)
    log.step("0.5 citation graph", len(citations), graph.n_edges, f"directed edges between families of the corpus; {graph.left_out}")

    documents = _without_duplicates(master)
    log.step("0.6 deduplication", len(master), len(documents), "identical text within a family")

    split = _split(documents, params)
    log.step("0.7 split", len({patent.family_id for patent in master}), len(split), "families, disjoint")

    leaks = leaking_twins(documents, {patent.publication_number: split[patent.family_id] for patent in documents})
    if leaks:
        note = "whose title and abstract stand in train under another family: their labels can be looked up (twins=merge, twins=drop)"
        log.step("0.7b twins over splits", len(documents), sum(leaks.values()), note)

    qrels = _qrels(documents, graph)
    sets = label_sets(documents, params.fine_documents, log)
    if not qrels and not sets:
        raise DataError(
            f"no citation connects two families of the corpus ({len(citations)} citations: {graph.left_out}), and no document has a label",
            remedy=f"{MATCH_THEM}; or add labels",
        )
    metadata = _metadata(documents, split)
    if qrels:
        files = _write_retrieval(folder, documents, qrels, metadata, params, log)
    else:
        log.step("0.8 qrels", graph.n_edges, 0, "no citation connects two families: no tables for retrieval")
        files = [folder / "metadata.parquet"]
        write_parquet(files[0], metadata)
    files += _write_labels(folder, sets, documents, split, log)

    found = check(folder, strict_views=params.strict_views)
    notes = ["splits disjoint, labels covered, corpus and queries aligned", *(f"{number} {what}" for what, number in found.items())]
    log.step("0.9 quality assurance", len(documents), len(documents), "; ".join(notes))
    log.files = sorted(path.relative_to(root).as_posix() for path in files)
    return log


def _write_retrieval(
    folder: Path, documents: Sequence[Patent], qrels: dict[str, dict[str, int]], metadata: pa.Table, params: Params, log: BuildLog
) -> list[Path]:
    """Write corpus, queries, judgements and views; return the files."""
    asking = some_queries(
        {one.publication_number: stratum(one) for one in documents if one.publication_number in qrels}, params.queries, params.seed, log
    )
    chosen = set(asking)
    qrels = {query: relevant for query, relevant in qrels.items() if query in chosen}
    views_table, left_out = _view_table(documents)
    log.step("0.8 text views", len(documents), views_table.num_rows, f"left out: {', '.join(left_out) or 'none'}")
    _log_empty_views(views_table, qrels, log)
    tac = dict(zip(views_table["_id"].to_pylist(), views_table["TAC"].to_pylist(), strict=True))
    corpus = {patent.publication_number: (patent.title, _text(patent)) for patent in documents}
    files = write_beir(folder, corpus, {query: tac[query] for query in qrels}, qrels, metadata, views_table)
    n_relevant = len({document for relevant in qrels.values() for document in relevant})
    log.step("0.8 qrels", len(documents), sum(map(len, qrels.values())), f"{len(qrels)} queries, {n_relevant} relevant documents")
    return files


def _log_empty_views(table: pa.Table, queries: Collection[str], log: BuildLog) -> None:
    """A step for each view that some document lacks."""
    keys = table["_id"].to_pylist()
    for name in table.column_names[1:]:
        empty = [key for key, text in zip(keys, table[name].to_pylist(), strict=True) if not text]
        if empty:
            asking = sum(key in queries for key in empty)
            note = f"{len(empty)} documents without text, {asking} of them queries, first '{empty[0]}'"
            log.step(f"0.8 view {name}", len(keys), len(keys) - len(empty), note)


def _without_duplicates(patents: Sequence[Patent]) -> list[Patent]:
    seen: set[tuple[str, str]] = set()
    documents = []
    for patent in patents:
        key = (patent.family_id, views.VIEWS["TAC"](patent))
        if key not in seen:
            seen.add(key)
            documents.append(patent)
    return sorted(documents, key=lambda patent: patent.publication_number)


def _split(documents: Sequence[Patent], params: Params) -> dict[str, str]:
    leader = _alike(documents)
    leaders = sorted(set(leader.values()))
    random.Random(params.seed).shuffle(leaders)
    first = round(len(leaders) * params.train)
    second = first + round(len(leaders) * params.validation)
    split = {family: SPLITS[(number >= first) + (number >= second)] for number, family in enumerate(leaders)}
    return {family: split[its] for family, its in leader.items()}


def _alike(documents: Sequence[Patent]) -> dict[str, str]:
    """The first family of those that a family shares a document with, word for word: no two splits may hold the same text."""
    groups = Groups()
    homes: dict[tuple[str, ...], str] = {}
    for patent, *words in zip(documents, *(column.to_pylist() for column in _fields(documents).columns[1:]), strict=True):
        if any(words):
            groups.connect(patent.family_id, homes.setdefault(tuple(words), patent.family_id))
    return {patent.family_id: groups.of(patent.family_id) for patent in documents}


def _qrels(documents: Sequence[Patent], graph: FamilyGraph) -> dict[str, dict[str, int]]:
    """The documents of the families that a document's family cites, for every document that has some."""
    members: dict[str, list[str]] = {}
    for patent in documents:
        members.setdefault(patent.family_id, []).append(patent.publication_number)
    qrels: dict[str, dict[str, int]] = {}
    for family, queries in members.items():
        relevant = [document for cited in sorted(graph.cites.get(family, ())) for document in members.get(cited, ())]
        if relevant:
            qrels |= {query: dict.fromkeys(relevant, 1) for query in queries}
    return qrels


def _text(patent: Patent) -> str:
    """What a document holds besides its title: abstract and claims."""
    return views.join_sections(views.VIEWS[name](patent) for name in ("Abstract", "Claims"))


def _has_expert_text(documents: Sequence[Patent]) -> bool:
    return any(map(FIELDS["expert"], documents))


def _view_table(documents: Sequence[Patent]) -> tuple[pa.Table, list[str]]:
    """The table of the text views, and the views that no document has, with the reason."""
    columns: dict[str, list[str]] = {"_id": [patent.publication_number for patent in documents]}
    with_expert = _has_expert_text(documents)
    left_out = []
    for name in VIEWS:
        texts = [views.VIEWS[name](patent) for patent in documents]
        if name.startswith("DWPI") and not with_expert:
            left_out.append(f"{name} (no document has text of DWPI)")
        elif name == "TAC" or any(texts):
            columns[name] = texts
        else:
            left_out.append(f"{name} (no document has it)")
    if "Claims" not in columns:
        left_out.append("claims in TAC, which is title and abstract here")
    return pa.table(columns), left_out


def _metadata(documents: Sequence[Patent], split: dict[str, str]) -> pa.Table:
    strings = pa.list_(pa.string())
    return pa.table(
        {
            "_id": [patent.publication_number for patent in documents],
            "family_id": [patent.family_id for patent in documents],
            "jurisdiction": [patent.filing_jurisdiction or patent.jurisdiction for patent in documents],
            "ipc": pa.array([list(patent.ipc) for patent in documents], strings),
            "coarse": pa.array([[label.coarse for label in patent.labels] for patent in documents], strings),
            "split": [split[patent.family_id] for patent in documents],
        }
    )


def _fields(documents: Sequence[Patent], names: Sequence[str] = (*DWPI_FIELDS, *PUBLIC_FIELDS)) -> pa.Table:
    """The table of some fields of the classification texts."""
    columns: dict[str, list[str]] = {"_id": [patent.publication_number for patent in documents]}
    for name in names:
        view = _PUBLIC_VIEWS.get(name)
        columns[name] = [views.VIEWS[view](patent) if view else getattr(patent.expert, name.removeprefix("dwpi_")) for patent in documents]
    return pa.table(columns)


def _write_labels(folder: Path, sets: Sequence[LabelSet], documents: Sequence[Patent], split: dict[str, str], log: BuildLog) -> list[Path]:
    """Write the fields, the tables of the label sets and the taxonomy, nothing if there is no set; return the files."""
    taxonomy: dict[str, list[str]] = {}
    tables: dict[str, pa.Table] = {}
    for label_set in sets:
        rows = [(patent.publication_number, split[patent.family_id], label_set.labels(patent)) for patent in documents]
        rows = [row for row in rows if row[2]]
        log.step(f"0.8b labels {label_set.name}", len(documents), len(rows), _split_note([row[1] for row in rows]))
        if not rows:
            continue
        taxonomy[label_set.name] = sorted({label for _, _, labels in rows for label in labels})
        ids, splits, labels = (list(column) for column in zip(*rows, strict=True))
        tables[label_set.name] = pa.table({"_id": ids, "split": splits, "labels": pa.array(labels, pa.list_(pa.string()))})
    if not tables:
        log.step("0.8b labels", len(documents), 0, "no document has a label: no tables for classification and clustering")
        return []
    names = (*DWPI_FIELDS, *PUBLIC_FIELDS) if _has_expert_text(documents) else PUBLIC_FIELDS
    if names == PUBLIC_FIELDS:
        log.step("0.8b fields of DWPI", len(documents), 0, "no document has text of DWPI: no fields of DWPI")
    tables_of = {folder / "fields.parquet": _fields(documents, names)}
    tables_of |= {folder / "labels" / f"{name}.parquet": table for name, table in tables.items()}
    for path, table in tables_of.items():
        write_parquet(path, table)
    return [*tables_of, write_text(folder / "labels" / "taxonomy.json", json.dumps(taxonomy, indent=1, ensure_ascii=False) + "\n")]


def _split_note(splits: Sequence[str]) -> str:
    sizes = {name: splits.count(name) for name in SPLITS}
    counts = ", ".join(f"{name} {number}" for name, number in sizes.items())
    return counts if not splits or all(sizes.values()) else f"{counts}: a split is empty, set train=0.5 and validation=0.2"
