"""Recipes: from canonical records to exactly the tables that a benchmark publishes.

A recipe is a module with these names:

* ``build(patents, citations, root, params=Params()) -> BuildLog`` writes the tables below ``root``, in the layout of
  :mod:`patent_mteb.data.loading` (``root/<hub repository id or benchmark>/...``). A finished ``root`` is a valid value
  of ``PATENT_MTEB_DATA``.
* ``SAMPLE``: the settings for the built-in sample.
* ``Params``, optional: a frozen dataclass of its settings (:mod:`patent_mteb.recipes.parameters`). The defaults are the
  paper's.
* ``NEEDS``, optional: the fields that it reads (:mod:`patent_mteb.recipes.steps`).
* ``COMMON``, optional: its defaults of the settings of every recipe (:class:`.Common`).
* ``EACH_CITATION``, optional: True if it reads every citation of a pair. Otherwise it receives the strongest, with the
  claims and passages of all.
* ``sample_records()``, optional: the records of its sample; by default those of :mod:`patent_mteb.sample`.

Before a recipe runs, the records are prepared (:func:`prepare`): families follow the chosen definition, and both ends
of every citation have a record. The settings of this step (:class:`Common`) are settings of every recipe. A recipe of
the package has the name of its benchmark (:data:`RECIPES`), any other the dotted name of its module.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from patent_mteb import memory
from patent_mteb.errors import DataError
from patent_mteb.files import replacing_folders, write_json
from patent_mteb.patents.collection import Collection, with_families
from patent_mteb.patents.families import DEFINITIONS, RULES
from patent_mteb.patents.matching import STEPS, MatchReport, match
from patent_mteb.patents.near_duplicates import (
    NEAR_DUPLICATES,
    citing_near_duplicates,
    near_duplicates,
    with_near_duplicates,
)
from patent_mteb.patents.on_disk import publications
from patent_mteb.recipes import dataset
from patent_mteb.recipes.parameters import Setting, read_params, settings_of, written
from patent_mteb.recipes.steps import FIELDS, BuildLog, Need, counts_note, deviations

RECIPES = ("wipo_at", "dapfam", "patenteb", "sophia", "patentmap")  # recipes of the papers' benchmarks

OPEN_RECIPES = ("open_us", "open_us_grants", "open_ep")  # recipes of benchmarks that anyone can rebuild from open data

PUBLIC_RECIPES = ("novelty",)  # recipes that apply a published ground truth to a user's own records

_NAMES = (*RECIPES, *OPEN_RECIPES, *PUBLIC_RECIPES)


def _module_name(recipe: str) -> str:
    short = recipe.lower().replace("-", "_")
    return f"{__name__}.{short}" if short in _NAMES else recipe


def _unknown(recipe: str) -> DataError:
    remedy = f"choose one of {', '.join(_NAMES)}, or give the dotted name of a module of your own"
    return DataError(f"there is no recipe '{recipe}'", remedy=remedy)


def find(recipe: str) -> Any:
    """Return the module of a recipe.

    A name is that of a benchmark in any spelling (``wipo_at``, ``WIPO-AT``), or the dotted name of a module (also
    ``__main__``).
    """
    name = _module_name(recipe)
    if not all(step.isidentifier() for step in name.split(".")):
        raise _unknown(recipe)
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if f"{name}.".startswith(f"{error.name}."):
            raise _unknown(recipe) from error
        raise
    if missing := [wanted for wanted in ("build", "SAMPLE") if not hasattr(module, wanted)]:
        raise DataError(
            f"the module {name} is not a recipe: it has no {' and no '.join(missing)}", remedy="see patent_mteb.recipes"
        )
    return module


def source_file(recipe: str) -> Path | None:
    """Return the source file of a recipe, None if it is part of the package."""
    name = _module_name(recipe)
    if name != recipe:
        return None
    if name in sys.modules:
        path = getattr(sys.modules[name], "__file__", None)
    else:
        try:
            spec = importlib.util.find_spec(name)
        except (ModuleNotFoundError, ValueError) as error:
            raise _unknown(recipe) from error
        if spec is None:
            raise _unknown(recipe)
        path = spec.origin
    if path is None or not Path(path).is_file():
        raise DataError(
            f"the recipe '{recipe}' has no file, so its tables cannot be distinguished from those of another",
            remedy="write it to a file",
        )
    return Path(path)


def needs(recipe: str) -> tuple[Need, ...]:
    """Return the fields that a recipe reads, with their use."""
    return tuple(getattr(find(recipe), "NEEDS", ()))


def _own_settings(recipe: str) -> list[Setting]:
    params = getattr(find(recipe), "Params", None)
    return [] if params is None else settings_of(params)


def _common_defaults(recipe: str) -> Common:
    defaults: Common = getattr(find(recipe), "COMMON", Common())
    return defaults


def settings(recipe: str) -> list[Setting]:
    """Return the settings of a recipe, then those of every recipe."""
    own = _own_settings(recipe)
    redefined = {setting.name for setting in own}
    of_every = settings_of(Common, _common_defaults(recipe))
    return [*own, *(setting for setting in of_every if setting.name not in redefined)]


def _parsed(recipe: str, assignments: Sequence[str]) -> tuple[tuple[Any, ...], Common]:
    """Return the arguments of ``build`` (``Params``, or nothing without it) and the settings of every recipe."""
    module = find(recipe)
    of_every = [setting.name for setting in settings_of(Common)]
    common_names = set(of_every) - {setting.name for setting in _own_settings(recipe)}
    common = [one for one in assignments if one.partition("=")[0].strip() in common_names]
    own = [one for one in assignments if one not in common]
    parsed: Common = read_params(Common, common, recipe, base=_common_defaults(recipe))
    if hasattr(module, "Params"):
        return (read_params(module.Params, own, recipe, of_every),), parsed
    if own:
        remedy = "remove them, or give its module a dataclass Params"
        raise DataError(f"recipe {recipe} has no settings of its own", remedy=remedy)
    return (), parsed


def check_settings(recipe: str, settings: Sequence[str]) -> tuple[Any, ...]:
    """Parse settings to the arguments of ``build``: ``Params``, or nothing without it."""
    return _parsed(recipe, settings)[0]


_FIXED_MEMORY = 500_000_000  # bytes of a build without records (docs/scale.md)
_BYTES_PER_PUBLICATION = {"wipo_at": 1_700, "dapfam": 1_900, "patenteb": 2_900, "sophia": 3_500, "patentmap": 2_700}
_BYTES_PER_PUBLICATION |= dict.fromkeys(OPEN_RECIPES, 2_300)
"""Memory in addition to the fixed amount: WIPO-AT, DAPFAM and the open benchmarks by 320,000 publications, others by
the growth of smaller builds (docs/scale.md)."""
_BYTES_UNMEASURED = 10_000  # an upper estimate for other recipes


@contextmanager
def within_budget(budget: float | None, recipe: str, publications: int) -> Iterator[None]:
    """Keep the blocks of a build small enough for a budget in GB; refuse it if its publications take more."""
    if budget is not None:
        name = find(recipe).__name__.rpartition(".")[2]
        each = _BYTES_PER_PUBLICATION.get(name, _BYTES_UNMEASURED)
        needed = _FIXED_MEMORY + each * publications
        memory.refuse_beyond(budget, needed / 1e9, f"a build of {publications:,} publications takes")
    with memory.allowing(budget):
        yield


def run(
    recipe: str,
    collection: Collection,
    root: Path,
    settings: Sequence[str] = (),
    identity: dataset.Identity = dataset.UNNAMED,
) -> BuildLog:
    """Run a recipe by name on a collection.

    The tables and the ``dataset.json`` that records them (:mod:`patent_mteb.recipes.dataset`) are built in a temporary
    folder, which then replaces the previous build atomically. A recipe that refuses its input or is killed leaves the
    previous build unchanged.
    """
    module = find(recipe)
    params, common = _parsed(recipe, settings)
    before = dataset.with_identity(root, dataset.read(root), identity)
    name = module.__name__.rpartition(".")[2]
    outdated = dataset.data_sets(before.recipes.get(name, dataset.Built()).files)
    digest = dataset.input_hash(
        collection.patents, collection.citations, collection.relations, collection.families.iter_rows()
    )
    preparation = BuildLog(name)
    joined = not getattr(module, "EACH_CITATION", False)
    ready, report = prepare(collection, common, preparation, joined, _common_defaults(recipe))
    with replacing_folders(root, name, outdated) as folder:
        try:
            log: BuildLog = module.build(ready.patents, ready.citations, folder, *params)
        except DataError as error:
            raise _located(error, folder, root, report) from error
        log.steps[:0] = preparation.steps
        reads_claims = any(need.field == "claims" and "TAC" in need.serves for need in needs(recipe))
        if reads_claims and not any(map(FIELDS["claims"], ready.patents)):
            preparation.deviate("no patent has claims: TAC is title and abstract")
        changed = [phrase for given in params for phrase in deviations(given, needs(recipe))]
        log.deviations[:0] = [*preparation.deviations, *changed]
        values = {
            one.name: written(getattr(given, one.name))
            for given in (*params, common)
            for one in settings_of(type(given))
        }
        counts = {step.name: step.rows_out for step in log.steps}
        files = {file: dataset.file_record(folder / file) for file in log.files}
        built = dataset.Built(values, log.deviations, digest, counts, files=files)
        # read again: another recipe may have finished meanwhile
        record = dataset.with_identity(root, dataset.read(root), identity)
        write_json(folder / dataset.FILE, dataset.to_json(record, name, built))
    return log


def _located(error: DataError, folder: Path, root: Path, report: MatchReport) -> DataError:
    """Return the error with its path below the root, or with the match report."""
    if error.path is not None and error.path.is_relative_to(folder):
        return DataError(error.problem, path=root / error.path.relative_to(folder), row=error.row, remedy=error.remedy)
    if error.path is not None or report.matched == report.citations:
        return error
    return DataError(f"{error.problem}; citations: {report}", row=error.row, remedy=error.remedy)


MANY = 0.05  # share of the queries with a near-duplicate in another family from which a build warns


@dataclass(frozen=True)
class Common:
    """Settings of every recipe.

    Attributes:
        match: how a cited number finds its record: by number, also without kind code, or also through members of its
            patent family.
        families: definition of a patent family: as given, as given and joined by applications, priorities and lists of
            members, the publications of one application, the simple or the extended family.
        twins: treatment of publications of different families with one title and abstract: keep them, merge their
            families, or drop all but the earliest.
    """

    match: Literal["number", "kind", "family"] = "kind"
    families: Literal["given", "joined", "application", "simple", "extended"] = "joined"
    twins: Literal["keep", "merge", "drop"] = "keep"


AS_GIVEN = Common(match="number", families="given")
"""Defaults of recipes whose source states the families of its publications."""


def prepare(
    collection: Collection, common: Common, log: BuildLog, joined: bool = True, default: Common = Common()
) -> tuple[Collection, MatchReport]:
    """Return the collection as a recipe with these default settings reads it, and the match report."""
    n_families = _n_families(collection)
    note = DEFINITIONS[common.families]
    if common.families != collection.family_definition:
        collection, joined_by = with_families(collection, common.families)
        if common.families not in ("joined", default.families):
            log.deviate(f"patent families are {note}")
        note = counts_note({f"joined to another by {RULES[rule]}": count for rule, count in joined_by.items()}) or note
    log.step(f"families: {common.families}", n_families, _n_families(collection), note)

    twins = near_duplicates(collection.patents)
    n_alike = len(twins)
    before = len(collection.patents)
    collection = with_near_duplicates(collection, common.twins, twins)
    treatment = NEAR_DUPLICATES[common.twins]
    note = f"{n_alike} publications share title and abstract with one of another family and {treatment}"
    log.step(f"twins: {common.twins}", before, len(collection.patents), note if n_alike else "")
    if common.twins != "keep":
        log.deviate(note)

    citations, report = match(collection.citations, collection, common.match, joined=joined)
    found = f"{report}; {', '.join(report.examples)} have no record" if report.examples else str(report)
    found = found if report.citations else "there are no citations"
    log.step(f"citations matched by {common.match}", report.citations, report.links, found)
    if (common.match != "number" and report.through_kind) or (common.match == "family" and report.through_family):
        log.deviate(f"citations find {STEPS[common.match]}: {report.links} links of {report.citations} citations")
    if n_alike and common.twins == "keep":
        alike, queries = citing_near_duplicates(twins, citations, collection.patents)
        if alike and alike >= MANY * queries:
            note = (
                f"{alike} of {queries} citing families have the title and abstract of another family, which is their"
                " nearest neighbour: --set twins=merge makes one family of them, twins=drop keeps the earliest"
            )
            log.warn("queries with twins", queries, queries - alike, note)
    return replace(collection, citations=citations), report


def _n_families(collection: Collection) -> int:
    return publications(collection.patents)["family"].n_unique()
