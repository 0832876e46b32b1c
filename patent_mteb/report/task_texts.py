"""The texts of tasks that a page may show: those of the built-in sample, and of data sets whose licence allows it."""

from __future__ import annotations

from patent_mteb.errors import PatentMTEBError
from patent_mteb.experiments.evaluate import retrieval_task
from patent_mteb.report.explorer import TaskTexts
from patent_mteb.report.view import BenchmarkView, MeasuredTask

__all__ = ["may_show", "texts_of"]

_OPEN = ("cc-", "cc0", "mit", "apache-")


def may_show(world: str, licence: str | None) -> bool:
    """Whether texts of a data set may stand on a page that is handed on.

    Args:
        world: where results belong (:mod:`patent_mteb.data.worlds`).
        licence: of the data, as mteb spells it.

    Example:
        >>> from patent_mteb.report.task_texts import may_show
        >>> may_show("sample", None), may_show("real", "cc-by-nc-sa-4.0"), may_show("real", "not specified"), may_show("own", "mit")
        (True, True, False, False)
    """
    return world == "sample" or (world.startswith("real") and (licence or "").startswith(_OPEN))


def texts_of(view: BenchmarkView, task: MeasuredTask, *, read_all: bool = False) -> TaskTexts:
    """The texts of a task: of the sample always, of other data if they may be shown and ``read_all`` asks for the time that it takes.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.report.collect import collect
        >>> from patent_mteb.report.task_texts import texts_of
        >>> view = collect(Path("results")).worlds["sample"].benchmark("WIPO-AT")  # of 'patent-mteb run'
        >>> len(texts_of(view, view.headline).queries) > 50
        True
    """
    if not may_show(view.world.name, view.facts.license) or not (read_all or view.world.name == "sample"):
        return TaskTexts()
    try:
        loaded = retrieval_task(task.name)
        loaded.load_data()
        tables = loaded.tables
    except PatentMTEBError:
        return TaskTexts()
    return TaskTexts(tables.queries, tables.corpus)
