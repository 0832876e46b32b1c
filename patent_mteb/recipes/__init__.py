"""Recipes: canonical records in, exactly the tables that a benchmark publishes out.

Every recipe is a module that offers

* ``build(patents, citations, root, params=Params()) -> BuildLog``: writes below ``root`` in the layout that
  :mod:`patent_mteb.data.sources` resolves (``root/<hub repository id or benchmark>/...``), so that a finished ``root`` can be used as
  ``PATENT_MTEB_DATA`` as it is;
* ``Params``: a frozen dataclass of its settings, the paper's by default (see :mod:`patent_mteb.recipes.parameters`);
* ``SAMPLE``: the settings for the built-in sample, which is built by the same recipes as a user's own patents.

The recipes of the package go by the name of their benchmark (:data:`RECIPES`), any other by the dotted name of its module.
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
from patent_mteb.patents.records import Citation, Patent
from patent_mteb.recipes import dataset
from patent_mteb.recipes.log import BuildLog, Step
from patent_mteb.recipes.parameters import Setting, read_params, settings_of, written

__all__ = ["RECIPES", "BuildLog", "Setting", "Step", "check_settings", "find", "run", "settings", "source_file"]

RECIPES = ("wipo_at", "dapfam", "patenteb", "sophia", "patentmap")
"""Modules of this package that make a benchmark, by name."""


def _module_name(recipe: str) -> str:
    short = recipe.lower().replace("-", "_")
    return f"{__name__}.{short}" if short in RECIPES else recipe


def _unknown(recipe: str) -> DataError:
    remedy = f"choose one of {', '.join(RECIPES)}, or give the dotted name of a module of your own"
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
        raise DataError(f"the module {name} is no recipe: it has no {' and no '.join(missing)}", remedy="see patent_mteb.recipes")
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
        raise DataError(f"the recipe '{recipe}' is in no file, so its tables cannot be told from another's", remedy="write it to a file")
    return Path(path)


def settings(recipe: str) -> list[Setting]:
    """The settings that a command line can give to a recipe.

    Raises:
        DataError: an unknown recipe.

    Example:
        >>> from patent_mteb import recipes
        >>> [(setting.name, setting.default) for setting in recipes.settings("dapfam")][:2]
        [('earliest_claim', '2000-01-01'), ('min_citations', '100')]
    """
    params = getattr(find(recipe), "Params", None)
    return [] if params is None else settings_of(params)


def check_settings(recipe: str, settings: Sequence[str]) -> tuple[Any, ...]:
    """The settings of a recipe as its ``build`` takes them, before any record is read: its ``Params``, or nothing if it has none.

    Raises:
        DataError: an unknown recipe or setting, or a value that is none.

    Example:
        >>> from patent_mteb import recipes
        >>> recipes.check_settings("dapfam", ["min_citations=3"])[0].min_citations
        3
    """
    module = find(recipe)
    if hasattr(module, "Params"):
        return (read_params(module.Params, settings, recipe),)
    if settings:
        raise DataError(f"recipe {recipe} has no settings", remedy="leave them out, or give its module a dataclass Params")
    return ()


def run(
    recipe: str,
    patents: Sequence[Patent],
    citations: Sequence[Citation],
    root: Path,
    settings: Sequence[str] = (),
    identity: dataset.Identity = dataset.UNNAMED,
) -> BuildLog:
    """Run a recipe by name. Its tables and the ``dataset.json`` that records them (:mod:`patent_mteb.recipes.dataset`) are built beside
    their place and swapped in whole: a recipe that refuses its input, or that is killed, leaves what was there, and nothing of an
    older build stays behind.

    Args:
        recipe: as in :func:`find`.
        root: the folder to write to.
        settings: changes to the recipe's default ``Params``, each as ``NAME=VALUE`` (see :mod:`patent_mteb.recipes.parameters`).
        identity: name, version, owner and licence of the data set; without a name that of ``root``.

    Raises:
        DataError: an unknown recipe or setting, a value that is none, another name than ``root`` has, or input that the recipe cannot
            use.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from patent_mteb import recipes, sample
        >>> with tempfile.TemporaryDirectory() as root:
        ...     log = recipes.run("PatentMap", *sample.generate(), Path(root), ["query_offices=EP,US", "query_first_year=None", "mlt=2"])
        >>> log.files[0]
        'ZoeYou/downstream/IPC-Classification/test_512.csv'
    """
    module, params = find(recipe), check_settings(recipe, settings)
    before = dataset.named(root, dataset.read(root), identity)
    name = module.__name__.rpartition(".")[2]
    outdated = dataset.data_sets(before.recipes.get(name, dataset.Built()).files)
    read = dataset.input_hash(patents, citations)
    with replacing_folders(root, name, outdated) as folder:
        try:
            log: BuildLog = module.build(patents, citations, folder, *params)
        except DataError as error:
            if error.path is None or not error.path.is_relative_to(folder):
                raise
            place = root / error.path.relative_to(folder)
            raise DataError(error.problem, path=place, row=error.row, remedy=error.remedy) from error
        built = _built(log, params, read, folder)
        record = dataset.named(root, dataset.read(root), identity)  # another recipe may have been faster
        write_json(folder / dataset.FILE, dataset.document(record, name, built))
    return log


def _built(log: BuildLog, params: Sequence[Any], read: str, folder: Path) -> dataset.Built:
    """What ``dataset.json`` says of a build: a setting that is not the default is a deviation, as is what the recipe itself says."""
    given = [(one.name, written(getattr(params[0], one.name)), one.default) for one in settings_of(type(params[0]))] if params else []
    changed = [f"{name}={value} (default {default or 'none'})" for name, value, default in given if value != default]
    return dataset.Built(
        settings={name: value for name, value, _ in given},
        deviations=[*changed, *log.deviations],
        input=read,
        counts={step.name: step.rows_out for step in log.steps},
        files={file: dataset.described(folder / file) for file in log.files},
    )
