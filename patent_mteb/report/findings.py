"""What a chart shows, in a sentence that is its title: one function a chart, from its tidy table.

``model`` holds short names. A function returns an empty text where the numbers say nothing.
"""

from __future__ import annotations

from typing import Any

import polars as pl

_DEPTH = 100  # documents that a person reads, at most
_KEPT = 90  # percent of a score, as in the figure of WIPO-AT (Fig. 11)


def _best(frame: pl.DataFrame) -> dict[str, Any]:
    return frame.sort("value", "model", descending=[True, False]).row(0, named=True)


def domains(frame: pl.DataFrame) -> str:
    wide = frame.pivot("group", index="model", values="value").filter(pl.col("IN") > 0)
    if wide.is_empty():
        return ""
    changes = sorted(100 * (outside / inside - 1) for inside, outside in wide.select("IN", "OUT").iter_rows())
    ends = dict.fromkeys(f"{change:+z.0f}%".replace("-", "−") for change in (changes[0], changes[-1]))
    return f"From IN to OUT of domain scores change by {' to '.join(ends)}"


def firsts(frame: pl.DataFrame) -> str:
    counts = frame.filter(pl.col("value") == pl.col("value").min().over("group")).group_by("model").len()
    model, count = counts.sort("len", "model", descending=[True, False]).row(0)
    return f"{model} is first in {count} of {frame['group'].n_unique()} groups"


def found(frame: pl.DataFrame) -> str:
    depth: Any = frame.filter(pl.col("x") <= _DEPTH)["x"].max()
    if depth is None:
        return ""
    best = _best(frame.filter(x=depth))
    return f"{best['model']} finds {100 * best['value']:.0f} of 100 relevant documents among the first {depth}"


def highest_group(frame: pl.DataFrame) -> str:
    means = frame.filter(~pl.col("small")).group_by("group").agg(pl.col("value").mean()).sort("value", "group")
    return f"Scores are highest on {means['group'][-1]}, lowest on {means['group'][0]}" if len(means) > 1 else ""


def fusion(frame: pl.DataFrame) -> str:
    """Of curves whose ends are the systems alone."""
    is_end = (pl.col("x") == 0) | (pl.col("x") == 1)
    alone = pl.col("value").filter(is_end).max().over("model")
    both = is_end.sum().over("model") == 2
    gains = frame.with_columns(gain=pl.col("value") - alone).filter(both & ~is_end).sort("gain")
    if gains.is_empty():
        return ""
    best = gains.row(-1, named=True)
    if best["gain"] <= 0:
        return "No fusion is better than its better system alone"
    return f"Fusion gains {best['gain']:.3f} on the better system alone (α {best['x']:g})"


def retained(frame: pl.DataFrame) -> str:
    enough = frame.group_by("x").agg(pl.col("value").min(), pl.len()).filter(pl.col("value") >= _KEPT).sort("x")
    enough = enough.filter(pl.col("len") == frame["model"].n_unique())
    return f"{enough['x'][0]} dimensions keep {enough['value'][0]:.0f}% of the score or more" if len(enough) else ""


def sizes(frame: pl.DataFrame) -> str:
    best, largest = _best(frame), frame["x"].max()
    return "The largest model is the best" if best["x"] == largest else f"The best, {best['model']}, is not the largest"


def costs(frame: pl.DataFrame) -> str:
    best, cheapest = _best(frame), frame.sort("x", "model").row(0, named=True)
    if best["x"] == cheapest["x"]:
        return f"{best['model']} is the best and the cheapest"
    times = f"costs {best['x'] / cheapest['x']:.2g} times as much as" if cheapest["x"] else "costs more than"
    return f"{best['model']} is the best and {times} {cheapest['model']}"
