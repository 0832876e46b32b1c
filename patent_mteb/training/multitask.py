"""PatenTEB's thirteen training tasks (§4.3): tables, pairs and losses.

Families, filters, splits and samples follow PatenTEB's recipe, which splits families by dominant IPC3 and ignores the
split of the corpus. The tables have the columns of the published ones, and are written to
``OUT/tables/datalyes/<task>/<split>/data.parquet``. No row contains a family of the tables' test split. The test rows
of the ranking tasks are held out, and the model is evaluated on them before and after training, by task.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from patent_mteb.errors import DataError
from patent_mteb.files import read_batches, write_parquet
from patent_mteb.models.prompts import TABLE_11
from patent_mteb.patents.views import join_sections
from patent_mteb.recipes import patenteb
from patent_mteb.recipes.patenteb import CLASSES, complete, released, schema, task_rows
from patent_mteb.recipes.patenteb.families import PAPER, Params, Row, TableData, table_data
from patent_mteb.recipes.sampling import random_key
from patent_mteb.recipes.steps import BuildLog
from patent_mteb.training.bases import GROUPED, Kind
from patent_mteb.training.corpus import Corpus
from patent_mteb.training.leaks import Item, MeasuredSet, check_pairs, present
from patent_mteb.training.pairs import Pair, read_pairs, write_pairs
from patent_mteb.training.preparing import Job, Prepared, TrainSet, with_row_counts
from patent_mteb.training.recipes import Settings

TASKS: Mapping[str, tuple[Kind, str, str]] = {
    **dict.fromkeys(("retrieval_IN", "retrieval_OUT", "retrieval_MIXED"), ("ranking", "q_text", "pos_text")),
    "title2full": ("ranking", "title", "full_text"),
    "problem2full": ("ranking", "problem", "full_text"),
    "effect2full": ("ranking", "effect", "full_text"),
    "effect2substance": ("ranking", "effect", "substance"),
    "problem2solution": ("ranking", "problem", "solution"),
    **dict.fromkeys(("para_problem", "para_solution"), ("contrastive", "text1", "text2")),
    **dict.fromkeys(("class_text2ipc3", "class_bloom"), ("triplet", "text", "")),
    "class_nli_oldnew": ("softmax", "q_text", "t_text"),
}
"""Loss and text columns by task (§4.3.1); the second column is empty for single texts."""

_SECOND = ("pos", "t", "q")
"""Columns with the id of the second text, by preference."""


def world_of(corpus: Corpus) -> TableData:
    """Apply families, filters and splits of PatenTEB's recipe to a corpus."""
    params: Params = patenteb.SAMPLE if corpus.is_sample else PAPER
    return table_data(corpus.patents, corpus.citations, params, BuildLog("PatenTEB, training tables"))


_OF_KIND = {
    "all": tuple(TASKS),
    "no-classification": tuple(task for task in TASKS if task not in CLASSES),
    "retrieval": tuple(task for task, (kind, _, _) in TASKS.items() if kind == "ranking"),
}
"""Tasks of the supervision ablations (§7.1)."""


def tasks_of(settings: Settings) -> tuple[str, ...]:
    """Return the training tasks that the settings choose."""
    return _OF_KIND[settings.tasks]


def _rows_of(world: TableData, task: str, split: str, most: int | None = None) -> list[Row]:
    """Return the rows of a task in a split; of classes, the share that PatenTEB releases; of train at most ``most``."""
    rows, share = task_rows(world, task, split), world.params.released_train
    if task in CLASSES and split == "train" and share < 1:
        rows = released(world, task, rows)
    if split == "train" and most is not None and len(rows) > most:
        drawn = sorted(random.Random(random_key(42, "samples", task)).sample(range(len(rows)), most))
        rows = [rows[number] for number in drawn]
    return list(complete(world, task, rows))


def prepare(job: Job, corpus: Corpus) -> Prepared:
    """Write tables and pairs of each task, and check them for leaks."""
    folder = job.out / "pairs"
    world = world_of(corpus)
    sets: list[TrainSet] = []
    left_out: dict[str, dict[str, int]] = {"train": {}, "validation": {}}
    settings = job.settings
    for task in tasks_of(settings):
        tables = {split: _rows_of(world, task, split, settings.task_samples) for split in ("train", "validation")}
        for split, rows in tables.items():
            if rows:
                columns = schema(task)
                table = pa.table({name: [row[name] for row in rows] for name in columns.names}, schema=columns)
                write_parquet(job.out / "tables" / "datalyes" / task / split / "data.parquet", table)
            write_pairs(folder / f"{task}.{split}.parquet", _pairs(task, rows))
        sets.append(_train_set(task, tables, settings.prompts))
    held_out = (pair for task in _OF_KIND["retrieval"] for pair in _pairs(task, _rows_of(world, task, "test")))
    held = write_pairs(folder / "test.parquet", held_out)
    paths = [folder / name for one in sets for name in (one.train, one.validation) if name]
    others, absent = present(corpus)  # the first is the test split of the corpus
    own = MeasuredSet(
        "the test split of PatenTEB's tables",
        lambda: (_item(world, world.names[row]) for row in world.members("test")),
    )
    leaks = check_pairs(
        paths,
        corpus,
        job.drop_leaks,
        [own, *others[1:]],
        lambda name: _item(world, name) if name in world.families else None,
        absent,
    )
    usable: list[TrainSet] = []
    for one in (with_row_counts(folder, one) for one in sets):
        if one.rows < job.settings.batch or not _groups(folder / one.train, one):
            left_out["train"][f"rows of {one.name}, which make no batch"] = one.rows
        elif one.validation and _groups(folder / one.validation, one):
            usable.append(one)
        else:
            usable.append(replace(one, validation="", validation_rows=0))
    if not usable:
        raise DataError("no task of PatenTEB has enough rows for a batch", remedy="give more records, or --set batch=8")
    counts = {**{one.name: one.rows for one in usable}, "test": held}
    return Prepared(tuple(usable), "test.parquet" if held else "", counts, left_out, leaks)


def _groups(path: Path, one: TrainSet) -> bool:
    """Whether two labels have two rows each, as grouped losses require; True for other losses."""
    if one.kind not in GROUPED:
        return True
    labels = Counter(label for table in read_batches(path, ["label"]) for label in table["label"].to_pylist())
    return sum(number > 1 for number in labels.values()) > 1


def _item(world: TableData, name: str) -> Item:
    title, abstract, claim = world.families[name].sections()
    return Item(name, name, join_sections((title, abstract, claim)), join_sections((title, abstract)), claim)


def _pairs(task: str, rows: list[Row]) -> Iterator[Pair]:
    _, first, second = TASKS[task]
    for row in rows:
        other = next(row[name] for name in _SECOND if name in row) if second else ""
        text, label = row[second] if second else "", str(row["label"]) if "label" in row else ""
        yield Pair(row[first], text, row["q"], other, row["q"], other, task, label=label)


def _train_set(task: str, tables: Mapping[str, list[Row]], prompted: bool) -> TrainSet:
    kind, _, second = TASKS[task]
    columns = ("anchor", "positive") if second else ("anchor",)
    prompt = TABLE_11[task]
    sides = zip(columns, ("query", "document"), strict=False)
    prompts = {name: prompt.side(role) for name, role in sides} if prompted else {}
    labels = tuple(sorted({str(row["label"]) for rows in tables.values() for row in rows})) if kind != "ranking" else ()
    return TrainSet(task, kind, columns, f"{task}.train.parquet", f"{task}.validation.parquet", prompts, labels)


def texts_of(prepared: Prepared, folder: Path, split: str = "train") -> Iterator[str]:
    """Yield the distinct texts of a split with their prompts (PatenTEB §3: the corpus of distillation)."""
    seen: set[int] = set()
    for one in prepared.sets:
        file = {"train": one.train, "validation": one.validation, "test": prepared.test}[split]
        for pair in read_pairs(folder / file) if file else ():
            for column in one.columns if split != "test" or pair.signal == one.name else ():
                text = one.prompts.get(column, "") + getattr(pair, column)
                if text and (key := hash(text)) not in seen:
                    seen.add(key)
                    yield text
