"""What stands before a run: the job and its identity, the tables of pairs, and the leak check; done once, found again by a resumed run.

A run directory::

    OUT/job.json                 what was asked for; another job is refused here
    OUT/pairs/*.parquet          the tables, by split, with their provenance (OUT/pairs/pairs.json: counts, leak record)
    OUT/seed-42/                 checkpoints, history, geometry
    OUT/models/NAME/             finished checkpoints, named after their content
"""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from patent_mteb.errors import DataError
from patent_mteb.files import load_json, read_batches, read_json, write_json
from patent_mteb.identity import content_revision
from patent_mteb.recipes.dataset import file_hash
from patent_mteb.training.corpus import Corpus
from patent_mteb.training.leaks import LeakRecord, check_pairs
from patent_mteb.training.losses import Kind
from patent_mteb.training.negatives import with_negatives
from patent_mteb.training.pairs import write_pairs
from patent_mteb.training.recipes import Recipe, Settings
from patent_mteb.training.signals import pairs_of

__all__ = ["Job", "Prepared", "TrainSet", "claim_folder", "counted", "keep", "open_folder", "prepare", "ready", "refuse_too_few"]


@dataclass(frozen=True)
class Job:
    """What is trained.

    Attributes:
        base: hub id or directory.
        seeds: one run each.
        max_steps: most steps of a run; None: what the epochs give.
        lora: rank of the adapters; None: all weights.
        drop_leaks: whether pairs that leak are removed, instead of stopping.
        teacher: of a distillation.
        paraphrases: file of ``patentmap-paraphrase``.
        geometry: steps between two looks at the geometry; 0: none.
    """

    recipe: Recipe
    settings: Settings
    base: str
    out: Path
    seeds: tuple[int, ...] = (42,)
    max_steps: int | None = None
    lora: int | None = None
    drop_leaks: bool = False
    device: str | None = None
    teacher: str = ""
    paraphrases: Path | None = None
    geometry: int = 0

    def identity(self, corpus: Corpus) -> dict[str, Any]:
        """What makes two jobs the same; seeds may be added later."""
        base = Path(self.base)
        return {
            "recipe": self.recipe.name,
            "settings": asdict(self.settings),
            "base": base.resolve().name if base.is_dir() else self.base,
            "base_revision": content_revision(base) if base.is_dir() else "",
            "data": corpus.name,
            "data_revision": corpus.revision,
            "families": corpus.sizes(),
            "max_steps": self.max_steps,
            "lora": self.lora,
            "drop_leaks": self.drop_leaks,
            "teacher": self.teacher,
            "teacher_revision": content_revision(Path(self.teacher)) if self.teacher and Path(self.teacher).is_dir() else "",
            "paraphrases": file_hash(self.paraphrases) if self.paraphrases and self.paraphrases.is_file() else "",
            "geometry": self.geometry,
        }


@dataclass(frozen=True)
class TrainSet:
    """One table that is trained on: its loss, the columns of texts, and its files. ``labels`` are the names that labels count through."""

    name: str
    kind: Kind
    columns: tuple[str, ...]
    train: str
    validation: str = ""
    prompts: Mapping[str, str] = dataclasses.field(default_factory=dict)
    labels: tuple[str, ...] = ()
    rows: int = 0
    validation_rows: int = 0


@dataclass(frozen=True)
class Prepared:
    """The tables of a run and what was found on the way.

    Attributes:
        test: table of the pairs of the test split, on which the model is measured before and after; empty if there is none.
        left_out: what made no pair, by split.
    """

    sets: tuple[TrainSet, ...]
    test: str
    counts: Mapping[str, int]
    left_out: Mapping[str, Mapping[str, int]]
    leaks: LeakRecord


_BEGUN = "begun.json"
"""Stands in a folder whose ``pairs`` and ``tables`` a job makes that has not come to a step yet."""


def open_folder(job: Job, corpus: Corpus) -> None:
    """See whose folder it is: another job's is refused; in one that is nobody's, what a job left that never came to a step is removed.

    Raises:
        DataError: the folder holds another job, and the message says what differs; or folders that a job would make, and no job made.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.training.corpus import read_corpus
        >>> from patent_mteb.training.preparing import Job, claim_folder, open_folder
        >>> from patent_mteb.training.recipes import find_recipe
        >>> recipe, corpus = find_recipe("wipo-r3"), read_corpus("sample")
        >>> claim_folder(Job(recipe, recipe.settings, "base", Path("run")), corpus)
        >>> open_folder(Job(recipe, recipe.settings, "base", Path("run"), seeds=(7,)), corpus)  # the same job with another seed
    """
    path, wanted = job.out / "job.json", _as_json(job.identity(corpus))
    if not path.is_file():
        for left in (job.out / "pairs", job.out / "tables"):
            if left.exists() and not (job.out / _BEGUN).is_file():
                raise DataError("this lies where the training writes, and is of no training", path=left, remedy="choose another --out")
            shutil.rmtree(left, ignore_errors=True)
        write_json(job.out / _BEGUN, wanted)
        return
    there = load_json(path)
    if there != wanted:
        differ = sorted(name for name in wanted if not isinstance(there, dict) or there.get(name) != wanted[name])
        problem = f"the folder holds another run (other {', '.join(differ)})"
        raise DataError(problem, path=job.out, remedy="choose another --out, or ask for the same again to resume it")


def claim_folder(job: Job, corpus: Corpus) -> None:
    """Note the job in its folder; done at its first step, so that a job that was refused leaves the folder free.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.training.corpus import read_corpus
        >>> from patent_mteb.training.preparing import Job, claim_folder
        >>> from patent_mteb.training.recipes import find_recipe
        >>> recipe = find_recipe("wipo-r3")
        >>> claim_folder(Job(recipe, recipe.settings, "base", Path("run")), read_corpus("sample"))
        >>> Path("run/job.json").is_file()
        True
    """
    write_json(job.out / "job.json", job.identity(corpus))
    (job.out / _BEGUN).unlink(missing_ok=True)


def _as_json(document: dict[str, Any]) -> Any:
    return json.loads(json.dumps(document))


def refuse_too_few(sets: Sequence[TrainSet], settings: Settings) -> None:
    """Stop where a table has fewer rows than one batch.

    Raises:
        DataError: names the table, its rows and the batch.

    Example:
        >>> from patent_mteb.training.preparing import TrainSet, refuse_too_few
        >>> from patent_mteb.training.recipes import Settings
        >>> refuse_too_few([TrainSet("pairs", "ranking", ("anchor", "positive"), "train.parquet", rows=32)], Settings(batch=32))
    """
    for one in sets:
        if one.rows < settings.batch:
            raise DataError(
                f"{one.rows} training pairs ({one.name}) make no batch of {settings.batch}",
                remedy=f"give more records, or --set batch={max(2, one.rows // 4)}",
            )


def prepare(job: Job, corpus: Corpus) -> Prepared:
    """Make the tables of pairs and check them for leaks; what was made before is taken as it is.

    Raises:
        DataError: the data lack what the recipe takes, pairs leak, or there are too few.
    """
    folder = job.out / "pairs"
    if (known := ready(folder)) is not None:
        return known
    left_out: dict[str, dict[str, int]] = {}
    counts: dict[str, int] = {}
    for split in ("train", "validation", "test"):
        found: Counter[str] = Counter()
        try:
            pairs = pairs_of(job.recipe.signal, corpus, split, job.settings, found, job.paraphrases)
            counts[split] = write_pairs(folder / f"{split}.parquet", pairs)
        except DataError:
            if split == "train":
                raise
            counts[split] = write_pairs(folder / f"{split}.parquet", [])
        left_out[split] = dict(found)
    leaks = check_pairs([folder / "train.parquet", folder / "validation.parquet"], corpus, job.drop_leaks)
    columns: tuple[str, ...] = ("anchor", "positive")
    if job.settings.hard_negatives:
        columns = (*columns, "negative")
        for split in ("train", "validation"):
            left_out[split] |= with_negatives(
                folder / f"{split}.parquet", corpus, split, job.base, job.settings, job.device, job.recipe.loss.startswith("late")
            )
    one = counted(folder, TrainSet("pairs", "ranking", columns, "train.parquet", "validation.parquet"))
    refuse_too_few([one], job.settings)
    counts |= {"train": one.rows, "validation": one.validation_rows}
    return keep(folder, Prepared((one,), "test.parquet" if counts["test"] else "", counts, left_out, leaks))


def counted(folder: Path, one: TrainSet) -> TrainSet:
    """A table with the rows that its files hold; a validation file of fewer than two is not used.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.training.pairs import Pair, write_pairs
        >>> from patent_mteb.training.preparing import TrainSet, counted
        >>> number = write_pairs(Path("a.parquet"), [Pair("x", "y", "1", "1", "F", "F", "s")] * 3), write_pairs(Path("b.parquet"), [])
        >>> found = counted(Path("."), TrainSet("pairs", "ranking", ("anchor", "positive"), "a.parquet", "b.parquet"))
        >>> found.rows, found.validation_rows, found.validation
        (3, 0, '')
    """
    rows, held = (sum(table.num_rows for table in read_batches(folder / name, ["anchor_id"])) for name in (one.train, one.validation))
    return dataclasses.replace(one, rows=rows, validation_rows=held, validation=one.validation if held > 1 else "")


def keep(folder: Path, prepared: Prepared) -> Prepared:
    """Write what :func:`ready` reads, last of all, so that it stands for a whole preparation.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.training.leaks import LeakRecord
        >>> from patent_mteb.training.preparing import Prepared, keep, ready
        >>> record = LeakRecord({}, [], 0, 0, 0, {}, [], False)
        >>> keep(Path("pairs"), Prepared((), "", {"train": 0}, {}, record)) == ready(Path("pairs"))
        True
    """
    write_json(folder / "pairs.json", asdict(prepared))
    return prepared


def ready(folder: Path) -> Prepared | None:
    """What was prepared in a folder, None if nothing was, or not to the end.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.training.preparing import ready
        >>> ready(Path("nothing"))
    """
    known = read_json(folder / "pairs.json")
    if not isinstance(known, dict):
        return None
    sets = tuple(TrainSet(**{**one, "columns": tuple(one["columns"]), "labels": tuple(one["labels"])}) for one in known["sets"])
    return Prepared(sets, known["test"], known["counts"], known["left_out"], LeakRecord(**known["leaks"]))
