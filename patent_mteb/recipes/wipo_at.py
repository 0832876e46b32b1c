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

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from patent_mteb.errors import DataError
from patent_mteb.files import write_parquet
from patent_mteb.patents.families import age
from patent_mteb.patents.groups import Groups
from patent_mteb.patents.records import Citation, Patent
from patent_mteb.patents.stored import publications
from patent_mteb.patents.twins import leaking_twins
from patent_mteb.recipes.graph import FamilyGraph, family_graph
from patent_mteb.recipes.label_sets import SPLITS
from patent_mteb.recipes.landscapes import LABEL_SETS, LabelSet, label_sets
from patent_mteb.recipes.log import BuildLog
from patent_mteb.recipes.needs import MATCH_THEM, Filter, Funnel, Need, deviations
from patent_mteb.recipes.parameters import Positive, Share
from patent_mteb.recipes.sampling import some_queries
from patent_mteb.recipes.wipo_at_check import check
from patent_mteb.recipes.wipo_at_documents import DWPI_FIELDS, PUBLIC_FIELDS, VIEWS, Document, read_documents
from patent_mteb.recipes.wipo_at_tables import metadata_table, write_labels, write_retrieval

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
    files, n_documents = _write(patents, citations, folder, params, log)  # nothing else of it is in memory from here on
    found = check(folder, strict_views=params.strict_views)
    notes = ["splits disjoint, labels covered, corpus and queries aligned", *(f"{number} {what}" for what, number in found.items())]
    log.step("0.9 quality assurance", n_documents, n_documents, "; ".join(notes))
    log.files = sorted(path.relative_to(root).as_posix() for path in files)
    return log


def _write(patents: Sequence[Patent], citations: Sequence[Citation], folder: Path, params: Params, log: BuildLog) -> tuple[list[Path], int]:
    """Write the tables (steps 0.1 to 0.8): the files, and the number of documents."""
    family_of = {patent.publication_number: patent.family_id for patent in publications(patents)}
    log.step("0.1 id mapping", len(patents), len(family_of), f"{len(set(family_of.values()))} simple families")

    every = read_documents(patents)
    master = sorted(every.rows, key=lambda document: age(document.publication))
    log.step("0.2-0.3 patent master", len(patents), len(master))
    if params.require:
        filters = [Filter[Document](f"with {name}", _has(name), field=name) for name in params.require]
        by_number = {document.number: document for document in master}
        master = list(Funnel(log, "documents", params.require, "0.3b ")(by_number, filters).values())

    n_labels = sum(len(document.labels) for document in master)
    log.step("0.4 label extraction", len(master), n_labels, f"{sum(not document.labels for document in master)} without label")

    graph = family_graph(citations, family_of)
    log.step("0.5 citation graph", len(citations), graph.n_edges, f"directed edges between families of the corpus; {graph.left_out}")

    documents = every.chosen(_without_duplicates(master))
    log.step("0.6 deduplication", len(master), len(documents), "identical text within a family")

    split = _split(documents.rows, params)
    log.step("0.7 split", len({document.family for document in master}), len(split), "families, disjoint")

    leaks = leaking_twins(((document.twin, document.publication) for document in documents.rows), split)
    if leaks:
        note = "whose title and abstract stand in train under another family: their labels can be looked up (twins=merge, twins=drop)"
        log.step("0.7b twins over splits", len(documents), sum(leaks.values()), note)

    members = _members(documents.rows)
    citing = _citing(members, graph)
    sets = label_sets(documents.rows, params.fine_documents, log)
    if not citing and not sets:
        raise DataError(
            f"no citation connects two families of the corpus ({len(citations)} citations: {graph.left_out}), and no document has a label",
            remedy=f"{MATCH_THEM}; or add labels",
        )
    metadata = metadata_table(documents.rows, split)
    if citing:
        qrels = _qrels(citing, members, graph, params, log)
        files = write_retrieval(folder, documents, qrels, metadata, log)
    else:
        log.step("0.8 qrels", graph.n_edges, 0, "no citation connects two families: no tables for retrieval")
        files = [folder / "metadata.parquet"]
        write_parquet(files[0], metadata)
    return files + write_labels(folder, sets, documents, split, log), len(documents)


def _has(section: str) -> Callable[[Document], bool]:
    return lambda document: section in document.sections


def _without_duplicates(documents: Sequence[Document]) -> list[Document]:
    seen: set[bytes] = set()
    kept = []
    for document in documents:
        if document.content not in seen:
            seen.add(document.content)
            kept.append(document)
    return sorted(kept, key=lambda document: document.number)


def _split(documents: Sequence[Document], params: Params) -> dict[str, str]:
    leader = _alike(documents)
    leaders = sorted(set(leader.values()))
    random.Random(params.seed).shuffle(leaders)
    first = round(len(leaders) * params.train)
    second = first + round(len(leaders) * params.validation)
    split = {family: SPLITS[(number >= first) + (number >= second)] for number, family in enumerate(leaders)}
    return {family: split[its] for family, its in leader.items()}


def _alike(documents: Sequence[Document]) -> dict[str, str]:
    """The first family of those that a family shares a document with, word for word: no two splits may hold the same text."""
    groups = Groups()
    homes: dict[bytes, str] = {}
    for document in documents:
        if document.words:
            groups.connect(document.family, homes.setdefault(document.words, document.family))
    return {document.family: groups.of(document.family) for document in documents}


_Members = Mapping[str, Sequence[Document]]


def _members(documents: Sequence[Document]) -> _Members:
    """The documents of each family."""
    members: dict[str, list[Document]] = {}
    for document in documents:
        members.setdefault(document.family, []).append(document)
    return members


def _citing(members: _Members, graph: FamilyGraph) -> list[Document]:
    """The documents of the families that cite one with a document."""
    return [
        document for family, its in members.items() if any(cited in members for cited in graph.cites.get(family, ())) for document in its
    ]


def _qrels(
    citing: Sequence[Document], members: _Members, graph: FamilyGraph, params: Params, log: BuildLog
) -> dict[str, Mapping[str, int]]:
    """The queries, and for each the documents of the families that its own cites; one mapping for all queries of a family."""
    chosen = set(some_queries({document.number: document.stratum for document in citing}, params.queries, params.seed, log))
    qrels: dict[str, Mapping[str, int]] = {}
    of_family: dict[str, dict[str, int]] = {}
    for document in citing:
        if document.number in chosen:
            if document.family not in of_family:
                cited = sorted(graph.cites[document.family])
                of_family = {document.family: {one.number: 1 for family in cited for one in members.get(family, ())}}
            qrels[document.number] = of_family[document.family]
    return qrels
