"""The series of charts: short names of runs, curves of fusions and passages, and costs.

A curve joins the results of the headline task that have the same systems and the same settings but for one number:
the weight or constant of a fusion, the length of a passage. Curves of one name also show the settings in which they
differ.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq

from patent_mteb.report.model_facts import known_of
from patent_mteb.report.records import is_amount
from patent_mteb.report.view import BenchmarkView
from patent_mteb.report.words import shortened, visible
from patent_mteb.tasks.perquery import EFFORT

_LONGEST_NAME = 46  # characters, so that numbers fit next to it at 80 columns
_SETTINGS = re.compile(r" \(.*\)$")
_NOT_SETTINGS = ("name", "revision", "embed_dim")
_System = Mapping[str, Any]


def without_organisation(name: str) -> str:
    return name.partition("/")[2] or name


def model_names(runs: Iterable[str], *, settings: bool = False) -> dict[str, str]:
    """Name runs without organisation, and unless ``settings`` without these, where no other run has the same name."""
    tails = {run: without_organisation(run) for run in runs}
    bare = {} if settings else {run: _SETTINGS.sub("", tail) or tail for run, tail in tails.items()}
    names = {run: run for run in tails}
    for shorter in (tails, bare):
        counts = Counter(shorter.values())
        names |= {run: name for run, name in shorter.items() if counts[name] == 1}
    return brief_names(names)


def brief_names(names: Mapping[str, str]) -> dict[str, str]:
    """Shorten names that are too long for a chart, and number those that become the same."""
    brief = {run: shortened(name, _LONGEST_NAME) for run, name in names.items()}
    counts = Counter(brief.values())
    return {
        run: name if counts[name] == 1 else f"{name} #{number}"
        for number, (run, name) in enumerate(brief.items(), start=1)
    }


COMPOSITIONS = tuple(f"{kind}/" for kind in ("hybrid", "mteb-hybrid", "fused", "passages", "reranked", "candidates"))
"""How the names of compositions begin (:func:`patent_mteb.identity.compose_meta`)."""


def is_bm25(model: str) -> bool:
    """Whether a model is BM25 alone, not a composition with it."""
    return "bm25" in without_organisation(model).lower() and not model.startswith(COMPOSITIONS)


def names_in_text(results: pl.DataFrame, *, settings: bool = False) -> dict[str, str]:
    """Name the runs of results (:class:`.Collected`) as :func:`model_names` does, in sentences and charts.

    A BM25 without another is BM25.
    """
    models = dict(results.select("run", "model").unique(maintain_order=True).iter_rows())
    lexical = [run for run, model in models.items() if is_bm25(model)]
    return model_names(models, settings=settings) | {run: "BM25" for run in lexical if len(lexical) == 1}


@dataclass
class _Curve:
    """A curve: ``settings`` are all but the one on its x axis."""

    name: str
    systems: Sequence[_System]
    settings: dict[str, Any]
    points: dict[float, float] = field(default_factory=dict)

    @property
    def details(self) -> dict[str, str]:
        """Settings and systems, each as a text that the name of the curve may show."""
        settings = {key: f"{key}={value}" for key, value in self.settings.items() if key != "parts"}
        systems = (
            f"{without_organisation(str(system['name']))} @{str(system.get('revision'))[:7]}" for system in self.systems
        )
        return settings | {str(place): text for place, text in enumerate(systems)}


def headline_results(view: BenchmarkView) -> pl.DataFrame:
    return view.results.filter(pl.col("task") == (view.headline.name if view.headline else ""))


def alpha(view: BenchmarkView) -> pl.DataFrame:
    """``model, x, value`` by the weight of linear fusion; ``model`` names the second (dense) system and the first.

    The systems alone are the ends of the curve, at 0 and 1, if they were measured.
    """
    results = headline_results(view)
    alone = {(row["model"], row["revision"], row["settings"]): row["value"] for row in results.iter_rows(named=True)}
    curves = _fused(results, "linear", "alpha")
    for curve in curves:
        for end, system in enumerate(curve.systems):
            single = alone.get((system["name"], system.get("revision"), json.dumps(_settings(system), sort_keys=True)))
            if single is not None:
                curve.points.setdefault(float(end), single)
    return _table(curves)


def rrf(view: BenchmarkView) -> pl.DataFrame:
    """``model, x, value`` by the constant k of reciprocal rank fusion; ``model`` as in :func:`alpha`."""
    return _table(_fused(headline_results(view), "rrf", "k"))


def passages(view: BenchmarkView) -> pl.DataFrame:
    """``model, x, value`` by the tokens of a passage; ``model`` names the model and the aggregation of passages."""

    def name(settings: Mapping[str, Any]) -> str:
        return f"{_label(settings['parts'][0])}, {settings.get('aggregate', '')}"

    return _table(_curves(headline_results(view), {"kind": "passages"}, 1, "tokens", name, shares=("stride",)))


def _fused(results: pl.DataFrame, method: str, parameter: str) -> list[_Curve]:
    def name(settings: Mapping[str, Any]) -> str:
        first, second = settings["parts"]
        return f"{_label(second)} + {_label(first)}"

    return _curves(results, {"kind": "hybrid", "method": method}, 2, parameter, name)


def _curves(
    results: pl.DataFrame,
    wanted: Mapping[str, str],
    n_systems: int,
    parameter: str,
    name: Callable[[Mapping[str, Any]], str],
    shares: Sequence[str] = (),
) -> list[_Curve]:
    """Group results that have the wanted settings; ``shares`` are settings compared as shares of the parameter."""
    found: dict[str, _Curve] = {}
    for text, value in results.select("settings", "value").iter_rows():
        settings = json.loads(text)
        number, systems = settings.pop(parameter, None), settings.get("parts") or []
        is_number = isinstance(number, (int, float)) and not isinstance(number, bool)
        if is_number and len(systems) == n_systems and wanted.items() <= settings.items():
            settings |= {key: round(settings[key] / number, 3) for key in shares if number and key in settings}
            curve = found.setdefault(json.dumps(settings, sort_keys=True), _Curve(name(settings), systems, settings))
            curve.points[number] = value
    return list(found.values())


def query_efforts(row: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Read what each query of a result took, by amount (:mod:`patent_mteb.search.trec`), and all its tokens.

    Amounts whose sum is not that of the result are left out.
    """
    if row["queries"] is None:
        return {}
    stated = json.loads(row["spent"]).get("effort", {})
    with pq.ParquetFile(row["queries"]) as file:
        names = [name for name in file.schema_arrow.names if name.startswith(EFFORT)]
        table = file.read(columns=names)
    found = {name.removeprefix(EFFORT): table[name].to_numpy() for name in names}
    found = {name: each for name, each in found.items() if _sums_to(each, stated.get(name))}
    tokens = [found[name] for name in ("input_tokens", "output_tokens") if name in found]
    return found | ({"tokens": np.sum(tokens, axis=0)} if tokens else {})


def _sums_to(each: np.ndarray, stated: Any) -> bool:
    """Each amount is rounded to six decimals."""
    return is_amount(stated) and abs(float(each.sum()) - stated) <= 1e-6 * (len(each) + 1) + 1e-9 * stated


def _table(curves: Sequence[_Curve]) -> pl.DataFrame:
    rows = [
        (name, float(number), value)
        for name, curve in sorted(zip(_unique_names(curves), curves, strict=True), key=lambda pair: pair[0])
        for number, value in sorted(curve.points.items())
    ]
    return pl.DataFrame(rows, schema={"model": pl.String, "x": pl.Float64, "value": pl.Float64}, orient="row")


def _unique_names(curves: Sequence[_Curve]) -> list[str]:
    """Name curves; those of one name also by the settings in which they differ."""
    shared = Counter(curve.name for curve in curves)
    full = []
    for curve in curves:
        others = [other.details for other in curves if other.name == curve.name]
        differing = [text for key, text in curve.details.items() if any(other.get(key) != text for other in others)]
        full.append(f"{curve.name} ({', '.join(differing)})" if shared[curve.name] > 1 and differing else curve.name)
    brief = brief_names({f"{place} {name}": name for place, name in enumerate(full)})
    return list(map(visible, brief.values()))


def _settings(system: _System) -> dict[str, Any]:
    return {key: system[key] for key in sorted(system) if key not in _NOT_SETTINGS}


def _label(system: _System) -> str:
    shown = {key: value for key, value in _settings(system).items() if key != "parts"}
    settings = ", ".join(f"{key}={value}" for key, value in shown.items())
    return without_organisation(str(system["name"])) + (f" ({settings})" if shown and "kind" not in shown else "")


_BYTES_PER_DIMENSION = 4  # of a float32 vector
_OF_PRECISION = {"int8": 1, "uint8": 1, "binary": 1 / 8}  # bytes a dimension of vectors in other precisions

_EFFORT = {
    "seconds a query of the second stage": "seconds_per_query",
    "tokens of the second stage": "tokens",
    "cost of the queries": "cost",
}
"""Efforts of rerankers and scored runs, with their columns of a result."""


def costs(view: BenchmarkView) -> pl.DataFrame:
    """``model, what, x, value``: main score of the headline task against cost (:mod:`patent_mteb.tasks.evidence`).

    Hours of encoding come from all tasks of the benchmark in which texts reached the model: texts from a store took no
    time. The other costs are those of the headline task.
    """
    encoding = {run: list(_encoding_hours(rows)) for (run,), rows in view.results.group_by("run", maintain_order=True)}
    rows = [
        {"model": row["run"], "what": what, "x": cost, "value": row["value"]}
        for row in headline_results(view).iter_rows(named=True)
        for what, cost in [*_of_result(row), *encoding[row["run"]]]
    ]
    frame = pl.DataFrame(rows, schema={"model": pl.String, "what": pl.String, "x": pl.Float64, "value": pl.Float64})
    return frame.filter(pl.len().over("what") > 1)


def query_costs(view: BenchmarkView) -> pl.DataFrame:
    """The costs of rerankers and scored runs, as in :func:`costs`."""
    return costs(view).filter(pl.col("what").is_in(_EFFORT))


def _of_result(row: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    spent = json.loads(row["spent"])
    index = spent.get("index_mb")
    if not is_amount(index) and spent.get("documents") and row["dims"]:
        index = spent["documents"] * row["dims"] * _BYTES_PER_DIMENSION / 1e6
    found = {
        "seconds of the evaluation": spent.get("evaluation") or None,
        "memory of the weights (MB)": known_of(json.loads(row["card"]))["memory"],
        **{what: row[column] or None for what, column in _EFFORT.items()},
        "highest memory of the process (MB)": spent.get("peak_memory_mb"),
        "index (MB)": index,
    }
    yield from ((what, float(cost)) for what, cost in found.items() if is_amount(cost))


def _encoding_hours(results: pl.DataFrame) -> Iterator[tuple[str, float]]:
    """Hours in which a model encodes a million texts, and a billion tokens, by device."""
    sums: dict[str, np.ndarray] = {}
    for row in results.unique(["path", "subset"], maintain_order=True).iter_rows(named=True):
        spent = json.loads(row["spent"])
        seconds, texts, tokens = spent.get("phases", {}).get("encode"), spent.get("encoded"), spent.get("tokens", 0)
        if is_amount(seconds) and texts:
            device = "GPU" if "cuda" in json.loads(row["computed"]).get("device", "") else "CPU"
            sums[device] = sums.get(device, 0) + np.array([seconds, texts, tokens, seconds * bool(tokens)], float)
    for device, (seconds, texts, tokens, timed) in sums.items():
        yield f"{device}-hours a million texts", float(seconds / texts * 1e6 / 3600)
        if tokens:
            yield f"{device}-hours a billion tokens", float(timed / tokens * 1e9 / 3600)


@dataclass(frozen=True)
class Cost:
    """What a million patents cost a run, extrapolated from the texts of a benchmark's tasks; None if not measured.

    Hours are those of encoding, or of an index of words, by device. Gigabytes are those of the index, else of vectors
    in the precision of the run. A fusion costs what its parts cost together. For passages and other compositions, whose
    texts are not patents, nothing is known.
    """

    hours: Mapping[str, float] = field(default_factory=dict)  # device (CPU, GPU) -> hours
    gigabytes: float | None = None

    def __str__(self) -> str:
        amounts = [*((f"{device} hours", value) for device, value in self.hours.items()), ("GB", self.gigabytes)]
        said = [f"{value:.2g} {unit}" if value < 100 else f"{value:.0f} {unit}" for unit, value in amounts if value]
        return ", ".join(said) or "not measured"


def cost_of_a_million(results: pl.DataFrame, run: str) -> Cost:
    """Return the cost of a run by the results on a benchmark, in which the parts of a fusion are found too.

    Nothing is known of a run without results there.
    """
    own = results.filter(pl.col("run") == run)
    if own.is_empty():
        return Cost()
    settings = json.loads(own["settings"][0])
    if settings.get("kind") in _FUSIONS:
        return _sum_of_parts(results, settings.get("parts") or [])
    return Cost() if "kind" in settings else _cost_of_a_model(own, settings)


_FUSIONS = ("hybrid", "fused")


def _sum_of_parts(results: pl.DataFrame, parts: Sequence[_System]) -> Cost:
    """Add the costs of systems with results; nothing is known of the sum without one of them."""
    costs = [cost_of_a_million(results, _run_of(part, results)) for part in parts]
    hours: dict[str, float] = {}
    for device, value in (one for cost in costs for one in cost.hours.items()):
        hours[device] = hours.get(device, 0) + value
    sizes = [cost.gigabytes for cost in costs if cost.gigabytes is not None]
    if not costs:  # the record names no parts
        return Cost()
    return Cost(hours if all(cost.hours for cost in costs) else {}, sum(sizes) if len(sizes) == len(costs) else None)


def _run_of(system: _System, results: pl.DataFrame) -> str:
    """Return the run of a part of a fusion; empty if it has no results.

    A fusion's BM25 chooses its analyser for each corpus. A run of BM25 has the name of the analyser.
    """
    settings, name = _settings(system), str(system["name"])
    for run, model, revision, own in (
        results.select("run", "model", "revision", "settings").unique().sort("run").iter_rows()
    ):
        known = json.loads(own)
        if (model, revision, known) == (name, system.get("revision"), settings):
            return str(run)
        if (
            name.endswith("bm25-auto")
            and is_bm25(model)
            and all(known.get(one) == settings[one] for one in ("method", "k1", "b"))
        ):
            return str(run)
    return ""


def _cost_of_a_model(results: pl.DataFrame, settings: Mapping[str, Any]) -> Cost:
    hours = {what[:3]: value for what, value in _encoding_hours(results) if what.endswith("million texts")}
    indexed, megabytes, documents = 0.0, 0.0, 0.0
    for spent in map(json.loads, results["spent"]):
        seconds = spent.get("phases", {}).get("index")
        if spent.get("documents") and "index_mb" in spent:
            megabytes, documents = megabytes + spent["index_mb"], documents + spent["documents"]
            indexed += seconds if is_amount(seconds) else 0
    if indexed and not hours:
        hours = {"CPU": indexed / documents * 1e6 / 3600}
    dims = settings.get("dims") or results["dims"].drop_nulls().first()
    width = _OF_PRECISION.get(settings.get("vectors", ""))
    if is_amount(dims) and (width or not documents):  # the index of a run holds bytes and bits in single precision
        return Cost(hours, dims * (width or _BYTES_PER_DIMENSION) / 1e3)
    return Cost(hours, megabytes / documents * 1e3 if documents else None)
