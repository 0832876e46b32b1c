"""The 15 tables of PatenTEB: their columns, and their rows one table after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import pyarrow as pa

from patent_mteb.recipes.fragments import Role
from patent_mteb.recipes.patenteb.clusters import cluster_rows, ipc_list
from patent_mteb.recipes.patenteb.labels import bloom_labels, bloom_rows, old_new_rows, released, text2ipc3_rows
from patent_mteb.recipes.patenteb.pairs import fragment_rows, paraphrase_rows
from patent_mteb.recipes.patenteb.retrieval import OBJECTIVES, retrieval_rows
from patent_mteb.recipes.patenteb.world import CLASS, COUNT, SMALL_SPLIT, Family, Row, World

__all__ = ["COLUMNS", "SMALL", "schema", "tables"]

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
"""Columns of the published tables, by repository below ``datalyes/``."""


SMALL = {
    **dict.fromkeys(("retrieval_IN", "retrieval_MIXED", "retrieval_OUT", "para_problem", "para_solution"), SMALL_SPLIT),
    "class_nli_oldnew": SMALL_SPLIT,
    "clusters_ext_full_ipc": "ipc_clusters=3,100",
    "clusters_inventor": "inventor_clusters=3,100",
}
"""The setting that lets a small set have rows of a table."""


def tables(world: World) -> Iterator[tuple[str, str, list[Row]]]:
    """(repository, split, rows) of every table.

    Example:
        >>> from patent_mteb import recipes, sample
        >>> from patent_mteb.recipes.patenteb import SAMPLE, world
        >>> from patent_mteb.recipes.patenteb.tables import tables
        >>> made = world.make_world(*sample.generate(), SAMPLE, recipes.BuildLog("PatenTEB"))
        >>> [(name, split) for name, split, rows in tables(made)][:3]
        [('retrieval_IN', 'test'), ('retrieval_MIXED', 'test'), ('retrieval_OUT', 'test')]
    """
    for objective in OBJECTIVES:
        yield f"retrieval_{objective}", "test", retrieval_rows(world, objective)
    fragments: tuple[tuple[str, Role | Literal["title"], Role | None], ...] = (
        ("title2full", "title", None),
        ("problem2full", "problem", None),
        ("problem2solution", "problem", "solution"),
        ("effect2full", "effect", None),
        ("effect2substance", "effect", "substance"),
    )
    for task, query, target in fragments:
        yield task, "test", fragment_rows(world, task, query, target)
    labels = bloom_labels(world)
    makers: dict[str, Callable[[str], list[Row]]] = {
        "class_text2ipc3": lambda split: text2ipc3_rows(world, split),
        "class_bloom": lambda split: bloom_rows(world, labels, split),
        "class_nli_oldnew": lambda split: old_new_rows(world, split),
    }
    for task in makers:
        yield task, "test", makers[task]("test")
        yield task, "train", released(world, task, makers[task]("train"))
    yield "para_problem", "test", paraphrase_rows(world, "para_problem", "problem")
    yield "para_solution", "test", paraphrase_rows(world, "para_solution", "solution")
    keys: dict[str, tuple[tuple[int, int], Callable[[Family], Sequence[str]]]] = {
        "clusters_ext_full_ipc": (world.params.ipc_clusters, ipc_list),
        "clusters_inventor": (world.params.inventor_clusters, lambda family: family.inventors),
    }
    for task, (bounds, keys_of) in keys.items():
        yield task, "test", cluster_rows(world, task, bounds, keys_of)


def schema(task: str) -> pa.Schema:
    """Names and types of the columns of a table.

    Example:
        >>> from patent_mteb.recipes.patenteb.tables import schema
        >>> schema("clusters_inventor").names
        ['q', 'text', 'cluster_id']
    """
    numbers = {COUNT, "cluster_id"} | ({"label"} if task.startswith("para_") else set())
    return pa.schema([(name, pa.int64() if name in numbers else pa.string()) for name in COLUMNS[task]])
