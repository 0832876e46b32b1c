"""The series of charts: short names of runs, and curves of fusions and passages.

A curve joins the results of the headline task that have the same systems and the same settings but for one number:
the weight or constant of a fusion, the length of a passage. Curves of one name also show the settings in which they
differ.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from patent_mteb.report.view import BenchmarkView
from patent_mteb.report.words import shortened, visible

_LONGEST_NAME = 46
_SETTINGS = re.compile(r" \(.*\)$")
_NOT_SETTINGS = ("name", "revision", "embed_dim")
_System = Mapping[str, Any]


def without_organisation(name: str) -> str:
    """Return the name of a model or run without its organisation."""
    return name.partition("/")[2] or name


def model_names(runs: Iterable[str]) -> dict[str, str]:
    """Name runs without their settings, else without the organisation, where no other run has the same name."""
    runs = tuple(dict.fromkeys(runs))
    tails = {run: without_organisation(run) for run in runs}
    bare = {run: _SETTINGS.sub("", tail) or tail for run, tail in tails.items()}
    counted = [(names, Counter(names.values())) for names in (bare, tails)]
    return brief_names(
        {run: next((names[run] for names, counts in counted if counts[names[run]] == 1), run) for run in runs}
    )


def brief_names(names: Mapping[str, str]) -> dict[str, str]:
    """Shorten names that are too long for a chart, and number those that become the same."""
    brief = {run: shortened(name, _LONGEST_NAME) for run, name in names.items()}
    counts = Counter(brief.values())
    return {
        run: name if counts[name] == 1 else f"{name} #{number}"
        for number, (run, name) in enumerate(brief.items(), start=1)
    }


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
    """Return the results of the headline task; none without one."""
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
