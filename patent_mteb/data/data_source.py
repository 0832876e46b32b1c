"""Data sources of results. Results of different sources never share a table, a plot or a mean.

* ``real``: the published data: the pinned revision, or any commit where the pin is a branch; for an unreleased data set
  a local directory of registered content
* ``own``: any other local directory for an unreleased data set: the user's own data
* ``local``: a local copy of a released data set that does not carry the pinned revision
* ``sample``: the built-in sample

A data source holds one state of a data set. Results on earlier states form data sources of their own: ``own-2`` is the
state before the newest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from patent_mteb.data import hub
from patent_mteb.data.loading import DATA_VARIABLE, REGISTERED, DataSet, Source, plain_name, resolve, sample_revision
from patent_mteb.errors import DataError, NotThereError


@dataclass(frozen=True)
class DataSource:
    """One data source: its name, the banner above its numbers, and the suffix of its titles."""

    name: str
    banner: str = ""
    suffix: str = ""
    order: int = 0
    """Position among the data sources of a report."""

    def titled(self, title: str) -> str:
        """Return a title with the suffix of the data source."""
        return f"{title}{self.suffix}"

    def earlier(self, states: int) -> DataSource:
        """Return the data source of results on an earlier state: newer data replaced it ``states`` times."""
        if not states:
            return self
        banner = f"{self.banner} Measured on an earlier state of the data than the results without this note."
        suffix = f"{self.suffix.removesuffix(')') or ' ('}{', ' if self.suffix else ''}earlier data {states + 1})"
        return replace(
            self, name=f"{self.name}-{states + 1}", banner=banner.strip(), suffix=suffix, order=self.order + states
        )


_UNRELATED = "these scores say nothing about the published benchmark."
_COPIES = (
    "Local copies of released data sets that do not carry the pinned revision: not comparable with published scores."
)
DATA_SOURCES: dict[str, DataSource] = {
    "real": DataSource("real"),
    "own": DataSource("own", f"Own data: {_UNRELATED}", " (own data)", 1000),
    "local": DataSource("local", _COPIES, " (local copy)", 2000),
    "sample": DataSource("sample", f"Built-in sample: {_UNRELATED}", " (sample)", 3000),
}
"""The data sources by name, in the order in which reports show them."""


def data_source_named(name: str) -> DataSource:
    """Return the data source of this name."""
    kind, _, state = name.partition("-")
    if kind not in DATA_SOURCES or (state and not state.isdecimal()):
        raise DataError(f"unknown data source '{name}'", remedy=f"choose among {', '.join(DATA_SOURCES)}")
    return DATA_SOURCES[kind].earlier(int(state) - 1 if state else 0)


def data_source_of(data: DataSet, revision: str, *, sample: bool) -> DataSource:
    """Return the data source that a result belongs to."""
    content = revision.removeprefix("local-")
    if sample:
        present = sample_revision(data.recipe) if data.recipe else None
        if revision == present:
            return DATA_SOURCES["sample"]
        problem = f"measured on data revision {revision}, but the present sample is {present or 'none'}"
    elif revision.startswith("sample-"):
        problem = "measured on the built-in sample under the name of the real task"
    elif (data.released and data.holds(revision)) or (content != revision and content in REGISTERED.get(data.key, ())):
        return DATA_SOURCES["real"]
    elif content != revision:
        return DATA_SOURCES["local" if data.released else "own"]
    elif revision == (pinned := data.revision or "a local directory"):
        problem = f"measured on data revision {revision}, which says no commit"
    else:
        problem = f"measured on data revision {revision}, but the task now stands for {pinned} (an older task version)"
    raise DataError(problem, remedy="run the task again with the present version of patent-mteb")


def published(data: DataSet) -> Source:
    """Return the published data; neither the sample, nor own data, nor a changed copy replaces it."""
    found = resolve(data)
    if found.kind == "hub":
        return found
    if found.kind == "sample" and data.released:  # PATENT_MTEB_SAMPLE is set
        return Source(data, "hub", hub.cached_commit(data.key, data.revision) or data.revision)
    trial = ", or try the benchmark whose name ends with .sample" if data.recipe else ""
    if found.kind == "sample" or found.revision == "missing":
        problem = f"{data.key} is not released, and no local copy was found"
        raise NotThereError(problem, remedy=f"put one into {DATA_VARIABLE}{trial}")
    if data_source_of(data, found.revision, sample=False).name == "real":
        return found
    raise NotThereError(
        f"{data.key} in {DATA_VARIABLE} is not the published data ({found.revision})",
        path=found.folder,
        remedy=f"unset {DATA_VARIABLE}, or name the tasks or the benchmark of these data{trial}",
    )


def data_source_of_task(name: str) -> str:
    """Return the data source in a task's name: ``sample``, ``real``, or ``local`` for any local directory."""
    state = name.removeprefix(plain_name(name)).removeprefix(".")
    return state.partition("-")[0] or "real"
