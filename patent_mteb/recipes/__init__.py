"""Recipes: canonical records in, exactly the tables that a benchmark publishes out.

Every recipe is a module that offers

* ``build(patents, citations, root, params=Params()) -> BuildLog``: writes below ``root`` in the layout that
  :mod:`patent_mteb.data.loading` resolves (``root/<hub repository id or benchmark>/...``), so that a finished ``root``
  can be used as ``PATENT_MTEB_DATA`` as it is;
* ``Params``: a frozen dataclass of its settings, the paper's by default (see :mod:`patent_mteb.recipes.parameters`);
* ``NEEDS``, optional: what it makes of which field (:mod:`patent_mteb.recipes.needs`);
* ``EACH_CITATION``, optional: True if it reads every citation of a pair, not the strongest with the claims and passages
  of all;
* ``SAMPLE``: the settings for the built-in sample, which is built by the same recipes as a user's own patents;
* ``sample_records()``, optional: the records that the sample is built from, those of :mod:`patent_mteb.sample` without
  it.

Records come to it prepared (:mod:`patent_mteb.recipes.preparation`): families as they were asked for, both ends of
every citation a record. The recipes of the package go by the name of their benchmark (:data:`RECIPES`), any other by
the dotted name of its module.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from patent_mteb.errors import DataError
from patent_mteb.files import replacing_folders, write_json
from patent_mteb.patents.collection import Collection
from patent_mteb.patents.matching import MatchReport
from patent_mteb.patents.records import Citation, Patent
from patent_mteb.recipes import dataset
from patent_mteb.recipes.log import BuildLog, Step
from patent_mteb.recipes.needs import Need, deviations
from patent_mteb.recipes.parameters import Setting, read_params, settings_of, written
from patent_mteb.recipes.preparation import Common, prepared

__all__ = [
    "OPEN_RECIPES",
    "PUBLIC_RECIPES",
    "RECIPES",
    "BuildLog",
    "Need",
    "Setting",
    "Step",
    "check_settings",
    "find",
    "needs",
    "run",
    "run_on",
    "settings",
    "source_file",
]

RECIPES = ("wipo_at", "dapfam", "patenteb", "sophia", "patentmap")
"""Modules of this package that make a paper's benchmark, by name."""

OPEN_RECIPES = ("open_us", "open_us_grants", "open_ep")
"""Those that make a benchmark which anyone can rebuild from open data."""

PUBLIC_RECIPES = ("novelty",)
"""Those that put a published ground truth over a user's own records."""


def _module_name(recipe: str) -> str:
    short = recipe.lower().replace("-", "_")
    return f"{__name__}.{short}" if short in (*RECIPES, *OPEN_RECIPES, *PUBLIC_RECIPES) else recipe


def _unknown(recipe: str) -> DataError:
    remedy = (
        f"choose one of {', '.join((*RECIPES, *OPEN_RECIPES, *PUBLIC_RECIPES))}, or give the dotted name of a module of"
        " your own"
    )
    return DataError(f"there is no recipe '{recipe}'", remedy=remedy)


def find(recipe: str) -> Any:
    """The module of a recipe.

    Args:
        recipe: ``wipo_at``, ``WIPO-AT`` and the like, or the dotted name of a module (``__main__`` too).

    Raises:
        DataError: there is no such module, or it is no recipe.

    Example:
        >>> from patent_mteb import recipes
        >>> recipes.find("WIPO-AT").__name__
        'patent_mteb.recipes.wipo_at'
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
            f"the module {name} is no recipe: it has no {' and no '.join(missing)}", remedy="see patent_mteb.recipes"
        )
    return module


def source_file(recipe: str) -> Path | None:
    """The file of a recipe outside the package, None for one of the package.

    Raises:
        DataError: there is no such module, or it was not read from a file.

    Example:
        >>> from patent_mteb import recipes
        >>> recipes.source_file("dapfam"), recipes.source_file("json").name
        (None, '__init__.py')
    """
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
            f"the recipe '{recipe}' is in no file, so its tables cannot be told from another's",
            remedy="write it to a file",
        )
    return Path(path)


def needs(recipe: str) -> tuple[Need, ...]:
    """What a recipe makes of which field.

    Raises:
        DataError: an unknown recipe.

    Example:
        >>> from patent_mteb import recipes
        >>> [need.field for need in recipes.needs("sophia") if not need.drops]
        ['summaries']
    """
    return tuple(getattr(find(recipe), "NEEDS", ()))


def settings(recipe: str) -> list[Setting]:
    """The settings that a command line can give to a recipe: its own, then those of every recipe.

    Raises:
        DataError: an unknown recipe.

    Example:
        >>> from patent_mteb import recipes
        >>> [(setting.name, setting.default) for setting in recipes.settings("dapfam")][:2]
        [('earliest_claim', '2000-01-01'), ('min_citations', '100')]
        >>> [setting.name for setting in recipes.settings("dapfam")][-3:]
        ['match', 'families', 'twins']
    """
    own = _own_settings(recipe)
    return [*own, *(setting for setting in settings_of(Common) if setting.name not in {one.name for one in own})]


def _own_settings(recipe: str) -> list[Setting]:
    params = getattr(find(recipe), "Params", None)
    return [] if params is None else settings_of(params)


def _divided(recipe: str, settings: Sequence[str]) -> tuple[list[str], list[str]]:
    """Settings of the recipe, and of every recipe."""
    common = {setting.name for setting in settings_of(Common)} - {setting.name for setting in _own_settings(recipe)}
    shared = [one for one in settings if one.partition("=")[0].strip() in common]
    return [one for one in settings if one not in shared], shared


def check_settings(recipe: str, settings: Sequence[str]) -> tuple[Any, ...]:
    """The settings of a recipe as its ``build`` takes them, before any record is read: its ``Params``, or nothing if it
    has none.

    Raises:
        DataError: an unknown recipe or setting, or a value that is none, one of the settings of every recipe too.

    Example:
        >>> from patent_mteb import recipes
        >>> recipes.check_settings("dapfam", ["min_citations=3", "match=kind"])[0].min_citations
        3
    """
    module = find(recipe)
    own, shared = _divided(recipe, settings)
    read_params(Common, shared, recipe)
    if hasattr(module, "Params"):
        return (read_params(module.Params, own, recipe, [setting.name for setting in settings_of(Common)]),)
    if own:
        raise DataError(
            f"recipe {recipe} has no settings of its own",
            remedy="leave them out, or give its module a dataclass Params",
        )
    return ()


def run(
    recipe: str,
    patents: Sequence[Patent],
    citations: Sequence[Citation],
    root: Path,
    settings: Sequence[str] = (),
    identity: dataset.Identity = dataset.UNNAMED,
) -> BuildLog:
    """Run a recipe by name on records: :func:`run_on` of their collection.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from patent_mteb import recipes, sample
        >>> with tempfile.TemporaryDirectory() as root:
        ...     settings = ["query_offices=EP,US", "query_first_year=None", "mlt=2"]
        ...     log = recipes.run("PatentMap", *sample.generate(), Path(root), settings)
        >>> log.files[0]
        'ZoeYou/downstream/IPC-Classification/test_512.csv'
    """
    return run_on(recipe, Collection(patents, citations), root, settings, identity)


def run_on(
    recipe: str,
    collection: Collection,
    root: Path,
    settings: Sequence[str] = (),
    identity: dataset.Identity = dataset.UNNAMED,
) -> BuildLog:
    """Run a recipe by name. Its tables and the ``dataset.json`` that records them (:mod:`patent_mteb.recipes.dataset`)
    are built beside their place and swapped in whole: a recipe that refuses its input, or that is killed, leaves what
    was there, and nothing of an older build stays behind.

    Args:
        recipe: as in :func:`find`.
        root: the folder to write to.
        settings: changes to the recipe's default ``Params`` and to :class:`~patent_mteb.recipes.preparation.Common`,
        each
            as ``NAME=VALUE`` (see :mod:`patent_mteb.recipes.parameters`).
        identity: name, version, owner and licence of the data set; without a name that of ``root``.

    Raises:
        DataError: an unknown recipe or setting, a value that is none, another name than ``root`` has, or input that the
            recipe cannot use.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from patent_mteb import recipes, sample
        >>> from patent_mteb.patents.collection import Collection
        >>> with tempfile.TemporaryDirectory() as root:
        ...     log = recipes.run_on("wipo_at", Collection(*sample.generate()), Path(root), ["match=family"])
        >>> [step.name for step in log.steps][:3]
        ['families: given', 'twins: keep', 'citations matched by family']
    """
    module, params = find(recipe), check_settings(recipe, settings)
    common: Common = read_params(Common, _divided(recipe, settings)[1], recipe)
    before = dataset.named(root, dataset.read(root), identity)
    name = module.__name__.rpartition(".")[2]
    outdated = dataset.data_sets(before.recipes.get(name, dataset.Built()).files)
    read = dataset.input_hash(
        collection.patents, collection.citations, collection.relations, collection.families.items()
    )
    preparation = BuildLog(name)
    ready, report = prepared(collection, common, preparation, not getattr(module, "EACH_CITATION", False))
    with replacing_folders(root, name, outdated) as folder:
        try:
            log: BuildLog = module.build(ready.patents, ready.citations, folder, *params)
        except DataError as error:
            raise _told(error, folder, root, report) from error
        _complete(log, preparation, params, needs(recipe))
        built = _built(log, (*params, common), read, folder)
        record = dataset.named(root, dataset.read(root), identity)  # another recipe may have been faster
        write_json(folder / dataset.FILE, dataset.document(record, name, built))
    return log


def _complete(log: BuildLog, preparation: BuildLog, params: Sequence[Any], needs: Sequence[Need]) -> None:
    """Put what was done before into the log of a recipe, and changed settings that a recipe outside the package does
    not tell itself.
    """
    changed = [one for given in params for one in deviations(given, needs) if one not in log.deviations]
    log.steps[:0] = preparation.steps
    log.deviations[:0] = [*preparation.deviations, *changed]


def _told(error: DataError, folder: Path, root: Path, report: MatchReport) -> DataError:
    """What a recipe refuses: a path under the root where it is to be, or else what became of the citations, if some
    were lost.
    """
    if error.path is not None and error.path.is_relative_to(folder):
        return DataError(error.problem, path=root / error.path.relative_to(folder), row=error.row, remedy=error.remedy)
    if error.path is not None or report.matched == report.citations:
        return error
    return DataError(f"{error.problem}; citations: {report}", row=error.row, remedy=error.remedy)


def _built(log: BuildLog, params: Sequence[Any], read: str, folder: Path) -> dataset.Built:
    """What ``dataset.json`` says of a build."""
    return dataset.Built(
        settings={one.name: written(getattr(given, one.name)) for given in params for one in settings_of(type(given))},
        deviations=log.deviations,
        input=read,
        counts={step.name: step.rows_out for step in log.steps},
        files={file: dataset.described(folder / file) for file in log.files},
    )
