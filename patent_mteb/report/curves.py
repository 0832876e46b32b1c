"""Results that are points of one curve: fusions by their weight or constant, passages by their length, on the headline task.

A curve is what has the same systems and settings but for that one number. Curves of one name are told apart by the settings in which
they differ.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from patent_mteb.report.frames import brief_names, headline_results
from patent_mteb.report.names import visible
from patent_mteb.report.view import BenchmarkView

__all__ = ["alpha", "passages", "rrf"]

_NOT_SETTINGS = ("name", "revision", "embed_dim")
_System = Mapping[str, Any]


@dataclass
class _Curve:
    """Its name before others are known, its systems, all its settings but the one it is drawn by, and its points."""

    name: str
    systems: Sequence[_System]
    settings: dict[str, Any]
    points: dict[float, float] = field(default_factory=dict)

    @property
    def told(self) -> dict[str, str]:
        """What may tell it apart from another of its name."""
        return {key: f"{key}={value}" for key, value in self.settings.items() if key != "parts"} | {
            f"{place}": f"{_tail(system)} @{str(system.get('revision'))[:7]}" for place, system in enumerate(self.systems)
        }


def alpha(view: BenchmarkView) -> pl.DataFrame:
    """``model, alpha, value`` of linear fusion on the headline task; ``model`` names the second (dense) system and the first.

    The systems alone are the ends of the curve, at 0 and 1, where they were measured.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.report.collect import collect
        >>> from patent_mteb.report.curves import alpha
        >>> view = collect(Path("results")).worlds["sample"].benchmark("WIPO-AT")  # results of 'patent-mteb run'
        >>> alpha(view)["alpha"].to_list()
        [0.0, 0.5, 1.0]
    """
    results = headline_results(view)
    alone = {(row["model"], row["revision"], row["settings"]): row["value"] for row in results.iter_rows(named=True)}
    curves = _fused(results, "linear", "alpha")
    for curve in curves:
        for end, system in enumerate(curve.systems):
            single = alone.get((system["name"], system.get("revision"), json.dumps(_settings(system), sort_keys=True)))
            if single is not None:
                curve.points.setdefault(float(end), single)
    return _table(curves, "alpha", pl.Float64)


def rrf(view: BenchmarkView) -> pl.DataFrame:
    """``model, k, value`` of reciprocal rank fusion on the headline task (DAPFAM Fig. 9 and 10); ``model`` as of :func:`alpha`.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.report.collect import collect
        >>> from patent_mteb.report.curves import rrf
        >>> rrf(collect(Path("results")).worlds["sample"].benchmark("WIPO-AT")).columns  # results of 'patent-mteb run'
        ['model', 'k', 'value']
    """
    return _table(_fused(headline_results(view), "rrf", "k"), "k", pl.Float64)


def passages(view: BenchmarkView) -> pl.DataFrame:
    """``model, tokens, value`` of the headline task searched in passages; ``model`` names the model and how passages are put together.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.report.collect import collect
        >>> from patent_mteb.report.curves import passages
        >>> passages(collect(Path("results")).worlds["sample"].benchmark("WIPO-AT")).columns  # of 'patent-mteb run'
        ['model', 'tokens', 'value']
    """

    def name(settings: Mapping[str, Any]) -> str:
        return f"{_label(settings['parts'][0])}, {settings.get('aggregate', '')}"

    curves = _curves(headline_results(view), {"kind": "passages"}, 1, "tokens", name, shares=("stride",))
    return _table(curves, "tokens", pl.Int64)


def _fused(results: pl.DataFrame, method: str, parameter: str) -> list[_Curve]:
    def name(settings: Mapping[str, Any]) -> str:
        first, second = settings["parts"]
        return f"{_label(second)} + {_label(first)}"

    return _curves(results, {"kind": "hybrid", "method": method}, 2, parameter, name)


def _curves(
    results: pl.DataFrame,
    wanted: Mapping[str, str],
    n_parts: int,
    parameter: str,
    name: Callable[[Mapping[str, Any]], str],
    shares: Sequence[str] = (),
) -> list[_Curve]:
    """The curves of what has the wanted settings and so many parts; ``shares`` are settings that count as shares of the parameter."""
    found: dict[str, _Curve] = {}
    for text, value in results.select("settings", "value").iter_rows():
        settings = json.loads(text)
        number, parts = settings.pop(parameter, None), settings.get("parts") or []
        is_number = isinstance(number, (int, float)) and not isinstance(number, bool)
        if is_number and len(parts) == n_parts and wanted.items() <= settings.items():
            settings |= {key: round(settings[key] / number, 3) for key in shares if number and key in settings}
            curve = found.setdefault(json.dumps(settings, sort_keys=True), _Curve(name(settings), parts, settings))
            curve.points[number] = value
    return list(found.values())


def _table(curves: Sequence[_Curve], parameter: str, kind: type[pl.DataType]) -> pl.DataFrame:
    names = _told_apart(curves)
    rows = [
        {"model": name, parameter: number, "value": value}
        for name, curve in sorted(zip(names, curves, strict=True), key=lambda pair: pair[0])
        for number, value in sorted(curve.points.items())
    ]
    return pl.DataFrame(rows, schema={"model": pl.String, parameter: kind, "value": pl.Float64})


def _told_apart(curves: Sequence[_Curve]) -> list[str]:
    """The names of curves, those of one name with the settings in which they differ."""
    shared = Counter(curve.name for curve in curves)
    full = []
    for curve in curves:
        others = [other.told for other in curves if other.name == curve.name]
        differing = [text for key, text in curve.told.items() if any(other.get(key) != text for other in others)]
        full.append(f"{curve.name} ({', '.join(differing)})" if shared[curve.name] > 1 and differing else curve.name)
    brief = brief_names({f"{place} {name}": name for place, name in enumerate(full)})
    return list(map(visible, brief.values()))


def _settings(system: _System) -> dict[str, Any]:
    return {key: system[key] for key in sorted(system) if key not in _NOT_SETTINGS}


def _tail(system: _System) -> str:
    return str(system["name"]).partition("/")[2] or str(system["name"])


def _label(system: _System) -> str:
    shown = {key: value for key, value in _settings(system).items() if key != "parts"}
    return _tail(system) + (f" ({', '.join(f'{key}={value}' for key, value in shown.items())})" if shown and "kind" not in shown else "")
