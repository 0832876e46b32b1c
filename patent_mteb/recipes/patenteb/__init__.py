"""Recipe of PatenTEB (Ayaou and Cavallucci 2025, §3): from canonical records to the 15 published tables.

It writes ``datalyes/<task>/test/data.parquet``, and ``train/data.parquet`` for the three classification sets, with the
published columns (:data:`COLUMNS`). Ids are ids of patent families.

* Two clustering tables: families with the same list of IPC codes, or with the same inventor (§3).
* Three classification tables: dominant IPC3, time of the citations, older or newer (§3).
* Seven tables of text pairs: fragments of a patent with their source, and paraphrases (§3.2).
* Three symmetric retrieval tables: citations as positives, hard negatives of the same domain category (§3).

**Families.** The unit is the simple family, consolidated as in DAPFAM, to which §3 refers. The texts come from the
latest publication with title, abstract and claims. Codes and inventors are merged over all members in order of
publication. The earliest application date is the filing date. The text is title, abstract and first claim (the lowest
number), each in lower case, joined by ``" [SEP] "``. The abstract has no section markers
(:mod:`patent_mteb.recipes.fragments`), as published.

**Interpretations**, where the paper gives no rule or two:

* The dominant IPC3 is the one with most distinct codes of the family; the first listed wins a tie.
  ``first_ipcr3_count`` is the number of families retained in that class.
* Splits are drawn by family, and both families of a pair are in one split: no family of the test rows occurs in
  training.
* The citation graph is used in both directions (the published ``pos_link_type`` is ``CITES`` or ``CITED_BY``). A hard
  negative is linked neither to the query nor to the positive; within its domain category it is drawn at random. A MIXED
  query without any PART_MIX candidate (always so for a query with a single IPC3) takes a FULL_MIX one. A row without
  any candidate is dropped and counted.
* The title section is removed from the target of a title, and so is every other occurrence of its words. A row with an
  empty target is dropped and counted.
* Bloom: a citation counts from the publication date of the citing family (filing date where that is unknown). The top
  decile of a class are the families that reach the value of rank ceil(n/10), if it is above zero; the bottom decile
  likewise from below. Early takes precedence over late. Each split keeps as many of the other families as the larger of
  the two classes has.
* Old/new: each link gives one row in a random direction; links in both directions are dropped. ``newer`` means that the
  query cites the target.
* Clusters draw on all families that pass the filters, of any split and class (the published sets are larger than the
  test split). A family with inventors of several clusters belongs to the cluster of the first one.

Where ``require`` waives a field, the texts come from the latest of the publications with most of title, abstract and
first claim. A family without a filing date passes the filter by year and is in no row of Bloom.

Every draw depends only on the seed and the ids, not on the order of the input: the same records give the same bytes.
"""

from __future__ import annotations

import random
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from patent_mteb.files import write_rows
from patent_mteb.patents.keyed import Rows
from patent_mteb.patents.on_disk import DiskList
from patent_mteb.patents.records import Citation, Patent
from patent_mteb.patents.views import SEPARATOR, join_sections
from patent_mteb.recipes.fragments import Role, remove_fragment
from patent_mteb.recipes.patenteb.families import (
    BLOOM,
    CLASS,
    COUNT,
    NEEDS,
    PAPER,
    SAMPLE,
    SMALL_SPLIT,
    SPLITS,
    Family,
    Params,
    Relation,
    Row,
    TableData,
    domain_relation,
    table_data,
)
from patent_mteb.recipes.sampling import random_key
from patent_mteb.recipes.steps import BuildLog

__all__ = ["COLUMNS", "NEEDS", "SAMPLE", "Params", "build", "domain_relation"]


def build(patents: Sequence[Patent], citations: Sequence[Citation], root: Path, params: Params = PAPER) -> BuildLog:
    """Write the 15 tables to ``root``. A table without rows is logged and not written."""
    log = BuildLog("PatenTEB")
    data = table_data(patents, citations, params, log)
    for task, split, rows in tables(data):
        if not rows:
            more = f"; for a small set: {SMALL[task]}" if task in SMALL else ""
            log.step(f"{task} {split}", 0, 0, f"no rows: the file is not written{more}")
            continue
        write_rows(root / "datalyes" / task / split / "data.parquet", complete(data, task, rows), schema(task))
    log.record_files(root, "datalyes")
    return log


def cluster_rows(
    data: TableData, task: str, bounds: tuple[int, int], keys: Callable[[Family], Sequence[str]]
) -> list[Row]:
    """Return one row a family that belongs to a cluster of an admissible size.

    A family belongs to the first of its keys whose size is within the bounds. Cluster ids number the sorted keys.
    """
    sizes = Counter(key for family in data.filtered.values() for key in keys(family))
    admitted = {key for key, size in sizes.items() if bounds[0] <= size <= bounds[1]}
    first = {
        name: key
        for name, family in data.filtered.items()
        if (key := next(filter(admitted.__contains__, keys(family)), ""))
    }
    final = Counter(first.values())
    kept = sorted(key for key in final if final[key] >= bounds[0])
    number = {key: rank for rank, key in enumerate(kept)}
    rows = [{"q": name, "cluster_id": number[key]} for name, key in first.items() if key in number]
    data.log.step(task, len(data.filtered), len(rows), f"{len(kept)} clusters of {bounds[0]} to {bounds[1]} families")
    return rows


def released(data: TableData, task: str, rows: Sequence[Row]) -> Sequence[Row]:
    """Draw the released share of the training rows of a table, at least one of each label, in their order."""
    share = min(1.0, data.params.max_train_rows / max(1, len(rows))) * data.params.released_train
    order = data.first(("\t".join((row["q"], row.get("t", ""))) for row in rows), f"train {task}")
    labels = pl.DataFrame({"row": order, "label": pl.Series([row["label"] for row in rows], dtype=pl.String)[order]})
    kept: list[int] = []
    for same in labels.group_by("label").agg("row")["row"].to_list():
        kept += same[: max(1, round(share * len(same)))]
    data.log.step(f"{task} train, released share", len(rows), len(kept))
    return [rows[number] for number in sorted(kept)]


def bloom_rows(data: TableData, split: str) -> list[Row]:
    """Return the early and late families of a split, and a sample of the others."""
    members = data.members(split)
    members = members[data.bloom[members] >= 0]
    labels = data.bloom[members]
    sizes = dict(zip(BLOOM, np.bincount(labels, minlength=len(BLOOM)).tolist(), strict=True))
    normal = members[labels == BLOOM.index("normal")]
    first = data.first(map(data.names.__getitem__, normal), "bloom", max(sizes["early"], sizes["late"]))
    kept = np.sort(np.concatenate([members[labels != BLOOM.index("normal")], normal[first]]))
    rows = [{"q": data.names[row], "label": BLOOM[data.bloom[row]]} for row in kept]
    note = ", ".join(f"{label} {count}" for label, count in sorted(Counter(row["label"] for row in rows).items()))
    data.log.step(f"class_bloom {split}", len(members), len(rows), note)
    return rows


def old_new_rows(data: TableData, split: str) -> Sequence[Row]:
    """Return a row for each citation within a split, in a random direction."""
    citing, cited = _links(data, split)
    mutual = _are_mutual(citing, cited)
    rows: DiskList[Row] = DiskList()
    for pair in zip(citing[~mutual].tolist(), cited[~mutual].tolist(), strict=True):
        one, other = map(data.names.__getitem__, pair)
        newer = random_key(data.params.seed, "direction", one, other) % 2 == 0
        query, target = (one, other) if newer else (other, one)
        rows.append({"label": "newer" if newer else "older", "q": query, "t": target})
    data.log.step(f"class_nli_oldnew {split}", len(citing), len(rows), f"{int(mutual.sum())} links go both ways")
    return rows


def _links(data: TableData, split: str) -> tuple[Rows, Rows]:
    """Return the rows of citing and cited families of the citations within a split, in order."""
    within = (data.split[data.citing] == SPLITS.index(split)) & (data.split[data.cited] == SPLITS.index(split))
    citing, cited = data.citing[within], data.cited[within]
    order = np.lexsort((cited, citing))
    return citing[order], cited[order]


def _are_mutual(citing: Rows, cited: Rows) -> NDArray[np.bool_]:
    """Whether each citation also exists in the opposite direction."""
    citing, cited = citing.astype(np.int64), cited.astype(np.int64)
    return np.isin(citing << 32 | cited, cited << 32 | citing)


_DRAWS = 64  # random draws for each wanted pair


def fragment_rows(
    data: TableData, task: str, query: Role | Literal["title"], target: Role | None, split: str = "test"
) -> Sequence[Row]:
    """Return a row for each family with the fragments; target None: the full text."""
    rows: DiskList[Row] = DiskList()
    members = data.members(split)
    absent = emptied = 0
    for row in members.tolist():
        family = data.families.by_row[row]
        fragment = family.title if query == "title" else family.abstract.get(query)
        if not fragment or (target is not None and not family.abstract.get(target)):
            absent += 1
            continue
        if target is not None:
            sections: Sequence[str] = (family.abstract.get(target),)
        elif query == "title":
            sections = family.sections()[1:]
        else:
            sections = family.sections(without=(query,))
        rest = join_sections((remove_fragment(section, fragment) for section in sections), SEPARATOR)
        if not rest:
            emptied += 1
            continue
        rows.append({"q": family.id, query: fragment, target or "full_text": rest})
    data.log.step(task, len(members), len(rows), f"{absent} without the fragments, {emptied} without anything else")
    return rows


def _unlike_pairs(data: TableData, members: Sequence[int], wanted: int, purpose: str) -> list[tuple[int, int]]:
    """Draw at most ``wanted`` pairs of unlinked families from disjoint domains."""
    rng = random.Random(random_key(data.params.seed, purpose))
    pairs: dict[tuple[int, int], None] = {}
    for _ in range(_DRAWS * wanted if len(members) > 1 else 0):
        if len(pairs) == wanted:
            break
        first, second = rng.sample(members, 2)
        unlike = data.relation(first, second) == "OUT"
        if unlike and second not in data.linked(first) and (second, first) not in pairs:
            pairs[first, second] = None
    return list(pairs)


def paraphrase_rows(data: TableData, task: str, role: Role, split: str = "test") -> list[Row]:
    """Return pairs of linked families of a domain (1), and unlinked of others (0)."""
    share, families = data.params.positive_share, data.families.by_row
    members = [row for row in data.members(split).tolist() if families[row].abstract.get(role)]
    citing, cited = _links(data, split)
    counted = (citing < cited) | ~_are_mutual(citing, cited)  # of two that are mutual one counts
    having = np.isin(citing, members) & np.isin(cited, members) & counted
    pairs = zip(citing[having].tolist(), cited[having].tolist(), strict=True)
    links = [pair for pair in pairs if data.relation(*pair) == "IN"]
    most = round(data.params.max_paraphrase_rows * share)
    order = data.first(("\t".join(map(data.names.__getitem__, link)) for link in links), f"{task} positives", most)
    negatives = _unlike_pairs(data, members, round(len(order) * (1 - share) / share), f"{task} negatives")
    chosen = order[: round(len(negatives) * share / (1 - share))].tolist()
    labelled = [(*links[place], 1) for place in chosen] + [(*pair, 0) for pair in negatives]
    rows = [
        {
            "label": label,
            "q": data.names[query],
            "t": data.names[target],
            "text1": families[query].abstract.get(role),
            "text2": families[target].abstract.get(role),
        }
        for query, target, label in sorted(labelled)
    ]
    data.log.step(task, len(links), len(rows), f"{len(members)} families have a {role}; {len(chosen)} positives")
    return rows


OBJECTIVES: dict[str, tuple[frozenset[Relation], tuple[frozenset[Relation], ...]]] = {
    "IN": (frozenset({"IN"}), (frozenset({"FULL_MIX", "PART_MIX"}),)),
    "MIXED": (frozenset({"FULL_MIX", "PART_MIX"}), (frozenset({"PART_MIX"}), frozenset({"FULL_MIX"}))),
    "OUT": (frozenset({"OUT"}), (frozenset({"OUT"}),)),
}
"""Relations of the positives and, in order of preference, of the hard negatives of each objective (§3)."""


class _Negatives:
    """Draws hard negatives for the queries of one split."""

    def __init__(self, data: TableData, split: str) -> None:
        self.data = data
        self.members = data.members(split)
        self.by_class: dict[str, array[int]] = defaultdict(lambda: array("i"))
        for row in self.members.tolist():
            for code in data.ipc3[row]:
                self.by_class[code].append(row)

    def draw(self, query: int, positive: int, relations: frozenset[Relation]) -> int | None:
        """Draw a family of a relation to the query, not linked to query or positive."""
        data = self.data
        query_classes = data.ipc3[query]
        if relations == {"PART_MIX"} and len(query_classes) == 1:
            return None  # a single class is contained in every set that it meets
        excluded = data.linked(query) | data.linked(positive) | {query, positive}
        pools: list[Any] = (
            [self.members] if "OUT" in relations else [self.by_class[code] for code in sorted(query_classes)]
        )

        def fits(row: int) -> bool:
            return row not in excluded and data.relation(query, row) in relations

        names = data.names[query], data.names[positive]
        rng = random.Random(random_key(data.params.seed, "negative", *names, *sorted(relations)))
        for _ in range(_DRAWS):
            if fits(row := int(rng.choice(rng.choice(pools)))):
                return row
        rest = [row for row in np.unique(np.concatenate(pools)).tolist() if fits(row)]
        return rng.choice(rest) if rest else None


def _positives(data: TableData, query: int, relations: frozenset[Relation]) -> list[int]:
    linked = sorted(
        row
        for row in data.linked(query)
        if data.split[row] == data.split[query] and data.relation(query, row) in relations
    )
    purpose = f"positives {data.names[query]}"
    return sorted(
        linked[place] for place in data.first(map(data.names.__getitem__, linked), purpose, data.params.max_positives)
    )


def retrieval_rows(data: TableData, objective: str, split: str = "test") -> list[Row]:
    """Return a triplet (query, positive, negative) for each positive of a query."""
    relations, preferences = OBJECTIVES[objective]
    each = ((query, _positives(data, query, relations)) for query in data.members(split).tolist())
    positives = {query: found for query, found in each if found}
    queries, chosen = list(positives), list[int]()
    rows_left = data.params.max_retrieval_rows
    for place in data.first(map(data.names.__getitem__, queries), f"queries {objective}").tolist():
        if len(positives[queries[place]]) <= rows_left:
            chosen.append(queries[place])
            rows_left -= len(positives[queries[place]])
    negatives = _Negatives(data, split)
    rows: list[Row] = []
    fallbacks = missing = 0
    for query in sorted(chosen):
        for positive in positives[query]:
            drawn = ((choice, negatives.draw(query, positive, wanted)) for choice, wanted in enumerate(preferences))
            choice, negative = next(((choice, row) for choice, row in drawn if row is not None), (0, None))
            if negative is None:
                missing += 1
                continue
            fallbacks += choice > 0
            names = {"q": query, "neg": negative, "pos": positive}
            cites = positive in data.cites(query)
            rows.append(
                {column: data.names[row] for column, row in names.items()}
                | {
                    "pos_link_type": "CITES" if cites else "CITED_BY",
                    "neg_computed_domain": data.relation(query, negative),
                    "objective": objective,
                }
            )
    note = f"{len(chosen)} queries, {missing} pairs without a negative, {fallbacks} negatives of second choice"
    data.log.step(f"retrieval_{objective}", sum(map(len, positives.values())), len(rows), note)
    return rows


_TRIPLET = ("q", "neg", "pos", "pos_link_type", "neg_computed_domain", "objective", "q_text", "pos_text", "neg_text")
_PAIR = (CLASS, "label", "q", "t", "text1", "text2", COUNT)

COLUMNS: dict[str, tuple[str, ...]] = {
    "retrieval_IN": _TRIPLET,
    "retrieval_MIXED": _TRIPLET,
    "retrieval_OUT": _TRIPLET,
    "title2full": (CLASS, "q", "title", "full_text", COUNT),
    "problem2full": (CLASS, "q", "problem", "full_text", COUNT),
    "problem2solution": (CLASS, "q", "problem", "solution", COUNT),
    "effect2full": ("q", "effect", "full_text"),
    "effect2substance": ("q", "effect", "substance"),
    "class_text2ipc3": (CLASS, "label", "q", "text", COUNT),
    "class_bloom": ("q", "text", "label"),
    "class_nli_oldnew": (CLASS, "label", "q", "t", "q_text", "t_text", COUNT),
    "para_problem": _PAIR,
    "para_solution": _PAIR,
    "clusters_ext_full_ipc": ("q", "text", "cluster_id"),
    "clusters_inventor": ("q", "text", "cluster_id"),
}
"""Columns of the published tables, by repository of ``datalyes``."""

SMALL = {
    **dict.fromkeys(("retrieval_IN", "retrieval_MIXED", "retrieval_OUT", "para_problem", "para_solution"), SMALL_SPLIT),
    "class_nli_oldnew": SMALL_SPLIT,
    "clusters_ext_full_ipc": "ipc_clusters=3,100",
    "clusters_inventor": "inventor_clusters=3,100",
}
"""The setting with which a small set has rows of a table."""


def ipc3_rows(data: TableData, split: str) -> Sequence[Row]:
    """Return the families of a split with their dominant IPC3."""
    members = data.members(split).tolist()
    return DiskList({"label": data.dominant[row], "q": data.names[row]} for row in members)


CLASSES: Mapping[str, Callable[[TableData, str], Sequence[Row]]] = {
    "class_text2ipc3": ipc3_rows,
    "class_bloom": bloom_rows,
    "class_nli_oldnew": old_new_rows,
}
"""Tasks with training rows, of which a share is released."""


_TEXT_OF = {"text": "q", "q_text": "q", "t_text": "t", "pos_text": "pos", "neg_text": "neg"}
"""Column of a text -> column with the id of its family."""


def complete(data: TableData, task: str, rows: Iterable[Row]) -> Iterator[Row]:
    """Add the texts and classes of families, which no list of rows holds."""
    texts = {column: key for column, key in _TEXT_OF.items() if column in COLUMNS[task]}
    for row in rows:
        classes = data.class_of(row["q"]) if CLASS in COLUMNS[task] else {}
        yield classes | row | {column: data.filtered[row[key]].text for column, key in texts.items()}


def task_rows(data: TableData, task: str, split: str = "test") -> Sequence[Row]:
    """Return all rows of a task in a split, without what :func:`complete` adds; the clusters have no splits."""
    if task in CLASSES:
        return CLASSES[task](data, split)
    if task == "clusters_ext_full_ipc":
        return cluster_rows(data, task, data.params.ipc_clusters, lambda one: (one.codes,) if one.codes else ())
    if task == "clusters_inventor":
        return cluster_rows(data, task, data.params.inventor_clusters, lambda one: one.inventors)
    kind, _, name = task.partition("_")
    if kind == "retrieval":
        return retrieval_rows(data, name, split)
    if kind == "para":
        return paraphrase_rows(data, task, cast("Role", name), split)
    query, target = cast("tuple[Role, Role | Literal['full']]", task.split("2"))
    return fragment_rows(data, task, query, None if target == "full" else target, split)


def tables(data: TableData) -> Iterator[tuple[str, str, Sequence[Row]]]:
    """Yield (repository, split, rows) of every table; :func:`complete` adds to the rows."""
    for task in COLUMNS:
        yield task, "test", task_rows(data, task)
        if task in CLASSES:
            yield task, "train", released(data, task, task_rows(data, task, "train"))


def schema(task: str) -> pa.Schema:
    """Return the column names and types of a table."""
    numbers = {COUNT, "cluster_id"} | ({"label"} if task.startswith("para_") else set())
    return pa.schema([(name, pa.int64() if name in numbers else pa.string()) for name in COLUMNS[task]])
