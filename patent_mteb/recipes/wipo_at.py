"""Recipe of WIPO-AT: the nine steps of the paper's §3.1.3, from canonical records to the benchmark's directory.

The data set is unreleased, so the directory is ours: the BEIR folder of :mod:`patent_mteb.recipes.beir` with

* ``metadata.parquet``: ``_id``, ``family_id``, ``jurisdiction`` (of first filing where known, else of the publication), ``ipc``
  (codes of the document, as written), ``coarse`` (the coarse label of each taxonomy row, repetitions included), ``split``;
* ``views.parquet``: ``_id`` and one column for each text view (Table 1 and the five query sections of §3.4);
* ``fields.parquet``: ``_id`` and the ten fields of the classification texts (§3.6);
* ``labels/<Set>.parquet``: ``_id``, ``split``, ``labels`` for each of the five label sets (Table 2), and ``labels/taxonomy.json``,
  the labels that each set may use.

Readings where the paper is silent: citations are edges between families, and every remaining document of a citing family is
a query for which every remaining document of a cited family is relevant; of documents of one family with identical title,
abstract and claims the earliest publication is kept; the split is a seeded shuffle of the families, of which those that share a
document word for word stay together.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from patent_mteb.errors import DataError
from patent_mteb.files import write_parquet, write_text
from patent_mteb.patents import views
from patent_mteb.patents.records import Citation, Patent
from patent_mteb.patents.text import clean_patent
from patent_mteb.recipes.beir import BeirFolder, metadata_rows, read_beir, view_rows, write_beir
from patent_mteb.recipes.graph import FamilyGraph, family_graph
from patent_mteb.recipes.label_sets import SPLITS, read_labels, read_taxonomy, refuse_straddling
from patent_mteb.recipes.log import BuildLog
from patent_mteb.recipes.parameters import Share

__all__ = ["DWPI_FIELDS", "LABEL_SETS", "NAME", "PUBLIC_FIELDS", "SAMPLE", "SPLITS", "VIEWS", "LabelSet", "Params", "build", "check"]

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


@dataclass(frozen=True)
class LabelSet:
    """One of the five label sets (Table 2): coarse labels of a landscape, or the fine labels under one coarse category."""

    name: str
    landscape: str
    coarse: str = ""

    def labels(self, patent: Patent) -> list[str]:
        """The set's labels of a patent, distinct and sorted; empty if the patent is not in the set."""
        rows = [label for label in patent.labels if label.landscape == self.landscape]
        if self.coarse:
            return sorted({label.fine for label in rows if label.coarse == self.coarse and label.fine})
        return sorted({label.coarse for label in rows})


LABEL_SETS = (
    LabelSet("Emerging", "Emerging"),
    LabelSet("Conventional", "Conventional"),
    LabelSet("EmergingVision", "Emerging", "Vision"),
    LabelSet("EmergingMobility", "Emerging", "Mobility"),
    LabelSet("ConventionalEnvironment", "Conventional", "Environment"),
)


@dataclass(frozen=True)
class Params:
    """Settings of the recipe; the defaults are the paper's.

    Attributes:
        seed: seed of the split.
        train: share of the families in the training split.
        validation: share of the families in the validation split; the rest is the test split.
        allow_empty_views: accept documents for which a view has no text (counted) instead of stopping with their numbers.

    Raises:
        ValueError: the two shares are more than one together.
    """

    seed: int = 42
    train: Share = 0.8
    validation: Share = 0.1
    allow_empty_views: bool = False

    def __post_init__(self) -> None:
        if self.train + self.validation > 1 + 1e-9:
            raise ValueError(f"train={self.train} and validation={self.validation} are more than one together")


SAMPLE = Params()


def build(patents: Sequence[Patent], citations: Sequence[Citation], root: Path, params: Params = Params()) -> BuildLog:
    """Write ``root/WIPO-AT``.

    Raises:
        DataError: no citation within the corpus, or the quality check of step 0.9 found what it lists.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb import sample
        >>> from patent_mteb.recipes import wipo_at
        >>> patents, citations = sample.generate()
        >>> log = wipo_at.build(patents[:150], citations, Path("tables"), wipo_at.SAMPLE)
        >>> log.files[0]
        'WIPO-AT/corpus.jsonl'
    """
    log = BuildLog(NAME)
    folder = root / NAME
    family_of = {patent.publication_number: patent.family_id for patent in patents}
    log.step("0.1 id mapping", len(patents), len(family_of), f"{len(set(family_of.values()))} simple families")

    master = [clean_patent(patent) for patent in sorted(patents, key=_age)]
    log.step("0.2-0.3 patent master", len(patents), len(master))

    n_labels = sum(len(patent.labels) for patent in master)
    log.step("0.4 label extraction", len(master), n_labels, f"{sum(not patent.labels for patent in master)} without label")

    graph = family_graph(citations, family_of)
    log.step("0.5 citation graph", len(citations), graph.n_edges, "directed edges between families of the corpus")

    documents = _without_duplicates(master)
    log.step("0.6 deduplication", len(master), len(documents), "identical text within a family")

    split = _split(documents, params)
    log.step("0.7 split", len(set(family_of.values())), len(split), "families, disjoint")

    views_table, left_out = _view_table(documents)
    log.step("0.8 text views", len(documents), views_table.num_rows, f"left out as empty everywhere: {', '.join(left_out) or 'none'}")

    qrels = _qrels(documents, graph)
    if not qrels:
        raise DataError("no citation connects two families of the corpus", path=root, remedy="add citations between your patents")
    tac = dict(zip(views_table["_id"].to_pylist(), views_table["TAC"].to_pylist(), strict=True))
    corpus = {patent.publication_number: (patent.title, _text(patent)) for patent in documents}
    files = write_beir(folder, corpus, {query: tac[query] for query in qrels}, qrels, _metadata(documents, split), views_table)
    log.step("0.8 qrels", graph.n_edges, sum(map(len, qrels.values())), f"{len(qrels)} queries")

    files.append(folder / "fields.parquet")
    write_parquet(files[-1], _fields(documents))
    files += _write_labels(folder / "labels", documents, split, log)

    check(folder, allow_empty_views=params.allow_empty_views)
    log.step("0.9 quality assurance", len(documents), len(documents), "splits disjoint, labels covered, corpus and queries aligned")
    log.files = sorted(path.relative_to(root).as_posix() for path in files)
    return log


def _age(patent: Patent) -> tuple[str, str]:
    return (patent.publication_date.isoformat() if patent.publication_date else "9999", patent.publication_number)


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
    leader: dict[str, str] = {patent.family_id: patent.family_id for patent in documents}

    def first(family: str) -> str:
        while leader[family] != family:
            family = leader[family]
        return family

    homes: dict[tuple[str, ...], str] = {}
    for patent, *words in zip(documents, *(column.to_pylist() for column in _fields(documents).columns[1:]), strict=True):
        if any(words):
            one, other = sorted((first(patent.family_id), first(homes.setdefault(tuple(words), patent.family_id))))
            leader[other] = one
    return {family: first(family) for family in leader}


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


def _view_table(documents: Sequence[Patent]) -> tuple[pa.Table, list[str]]:
    """The table of the text views, and the names of the views that no document has."""
    columns: dict[str, list[str]] = {"_id": [patent.publication_number for patent in documents]}
    left_out = []
    for name in VIEWS:
        texts = [views.VIEWS[name](patent) for patent in documents]
        if name == "TAC" or any(texts):
            columns[name] = texts
        else:
            left_out.append(name)
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


def _fields(documents: Sequence[Patent]) -> pa.Table:
    columns: dict[str, list[str]] = {"_id": [patent.publication_number for patent in documents]}
    for name in DWPI_FIELDS:
        columns[name] = [getattr(patent.expert, name.removeprefix("dwpi_")) for patent in documents]
    for name, view in zip(PUBLIC_FIELDS, ("Claim1", "Abstract", "Title", "Keywords"), strict=True):
        columns[name] = [views.VIEWS[view](patent) for patent in documents]
    return pa.table(columns)


def _write_labels(folder: Path, documents: Sequence[Patent], split: dict[str, str], log: BuildLog) -> list[Path]:
    """Write the tables of the label sets that have documents, and the taxonomy; return the files."""
    files = []
    taxonomy: dict[str, list[str]] = {}
    for label_set in LABEL_SETS:
        rows = [(patent.publication_number, split[patent.family_id], label_set.labels(patent)) for patent in documents]
        rows = [row for row in rows if row[2]]
        log.step(f"0.8b labels {label_set.name}", len(documents), len(rows))
        if not rows:
            continue
        taxonomy[label_set.name] = sorted({label for _, _, labels in rows for label in labels})
        ids, splits, labels = (list(column) for column in zip(*rows, strict=True))
        files.append(folder / f"{label_set.name}.parquet")
        write_parquet(files[-1], pa.table({"_id": ids, "split": splits, "labels": pa.array(labels, pa.list_(pa.string()))}))
    files.append(write_text(folder / "taxonomy.json", json.dumps(taxonomy, indent=1, ensure_ascii=False) + "\n"))
    return files


def check(folder: Path, allow_empty_views: bool = False) -> dict[str, int]:
    """Quality assurance (step 0.9) of a directory, whoever wrote it.

    Returns:
        what was found odd but usable, with counts.

    Raises:
        DataError: a family or document that straddles splits, a label outside the taxonomy, a judgement of an unknown document,
            an empty view; names the offender.

    Example:
        >>> from patent_mteb.data.sources import sample_root
        >>> from patent_mteb.recipes.wipo_at import NAME, check
        >>> check(sample_root("wipo_at") / NAME)
        {}
    """
    tables = read_beir(folder)
    rows, odd = metadata_rows(folder, tables)
    counts = tables.counts | odd
    families = {key: row.get("family_id") or "" for key, row in rows.items()}
    refuse_straddling({key: row["split"] for key, row in rows.items() if row.get("split")}, families, folder / "metadata.parquet")
    for name in tables.views:
        filled = {key: bool(text.strip()) for key, text in view_rows(folder, name)}
        empty = [key for key, found in filled.items() if not found]
        if empty and not allow_empty_views:
            raise DataError(
                f"view {name} is empty for {len(empty)} of {len(filled)} rows, first for '{empty[0]}'",
                path=folder / "views.parquet",
                remedy="complete the texts, leave the documents out, or allow empty views",
            )
        if empty:
            counts[f"rows of view {name} without text"] = len(empty)
    if other := _not_tac(folder, tables):
        counts[f"of {len(tables.queries)} queries have another text in queries.jsonl (which TAC tasks read) than their TAC view"] = other
    return counts | _check_labels(folder, set(tables.corpus), families)


def _not_tac(folder: Path, tables: BeirFolder) -> int:
    """Queries whose text is not title, abstract and claims, by views.parquet or else by corpus.jsonl; white space apart."""
    texts = {key: views.join_sections(parts) for key, parts in tables.corpus.items() if key in tables.queries}
    if "TAC" in tables.views:
        texts |= {key: text for key, text in view_rows(folder, "TAC") if key in tables.queries}
    return sum((texts.get(key) or text).split() != text.split() for key, text in tables.queries.items())


def _check_labels(folder: Path, known: set[str], families: Mapping[str, str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name in read_taxonomy(folder):
        rows = read_labels(folder, name, families)
        seen = {split: {label for row in rows if row.split == split for label in row.labels} for split in SPLITS}
        if strangers := sum(row.key not in known for row in rows):
            counts[f"documents of {name} that are not in corpus.jsonl"] = strangers
        if untrained := (seen["test"] | seen["validation"]) - seen["train"]:
            counts[f"labels of {name} without a training example"] = len(untrained)
    return counts
