"""What a chart shows, in a sentence that is its title: one function a chart, from its tidy table.

``model`` holds short names. A function returns an empty text where the numbers say nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import polars as pl

_DEPTH = 100  # documents that a person reads, at most
_SCREEN = 10  # documents that a person sees first
_KEPT = 90  # percent of a score, as in the figure of WIPO-AT (Fig. 11)


def _best(frame: pl.DataFrame) -> dict[str, Any]:
    return frame.sort("value", "model", descending=[True, False]).row(0, named=True)


def _best_within(frame: pl.DataFrame, depth: int) -> dict[str, Any]:
    """The best at the greatest x up to a depth; empty if there is none."""
    within = frame.filter(pl.col("x") <= depth)
    return {} if within.is_empty() else _best(within.filter(pl.col("x") == pl.col("x").max()))


def _number(value: float, form: str) -> str:
    return f"{value:{form}}".replace("-", "−")


def _from_to(changes: Sequence[float], form: str = "+z.3f", unit: str = "") -> str:
    """The least and the greatest of sorted changes, once where they are the same in print."""
    return " to ".join(dict.fromkeys(f"{_number(end, form)}{unit}" for end in (changes[0], changes[-1])))


def domains(frame: pl.DataFrame) -> str:
    """Of bars or tasks IN and OUT, next to others."""
    sides = {side: frame.filter(group=side).select("model", side=pl.col("value")) for side in ("IN", "OUT")}
    both = sides["IN"].join(sides["OUT"], on="model", suffix="_out").filter(pl.col("side") > 0)
    if both.is_empty():
        return ""
    changes = sorted(100 * (outside / inside - 1) for inside, outside in both.select("side", "side_out").iter_rows())
    return f"From IN to OUT of domain scores change by {_from_to(changes, '+z.0f', '%')}"


def lowest(frame: pl.DataFrame) -> str:
    """Of ranks, and of measures of which less is better."""
    return _firsts(frame.filter(pl.col("value") == pl.col("value").min().over("group")), "first")


def highest(frame: pl.DataFrame) -> str:
    return _firsts(frame.filter(pl.col("value") == pl.col("value").max().over("group")), "highest")


def _firsts(firsts: pl.DataFrame, word: str) -> str:
    n_groups = firsts["group"].n_unique()
    model, count = firsts.group_by("model").len().sort("len", "model", descending=[True, False]).row(0)
    return f"{model} is {word} in {count} of {n_groups}" if n_groups > 1 else ""


def found(frame: pl.DataFrame) -> str:
    best = _best_within(frame, _DEPTH)
    if not best:
        return ""
    return f"{best['model']} finds {100 * best['value']:.0f} of 100 relevant documents among the first {best['x']}"


def highest_group(frame: pl.DataFrame, of: str = "on") -> str:
    """By the mean over the models, without groups that are too small where a column says so."""
    shown = frame.filter(~pl.col("small")) if "small" in frame.columns else frame
    means = shown.group_by("group").agg(pl.col("value").mean()).sort("value", "group")
    return f"Scores are highest {of} {means['group'][-1]}, lowest {of} {means['group'][0]}" if len(means) > 1 else ""


def years(frame: pl.DataFrame) -> str:
    return highest_group(frame.rename({"x": "group"}), "in")


def sections(frame: pl.DataFrame) -> str:
    """Of the highest score of each model."""
    ordered = frame.sort("value", "query", "corpus", descending=[True, False, False])
    firsts = ordered.unique("model", keep="first", maintain_order=True).group_by("query", "corpus").len()
    query, corpus, count = firsts.sort("len", "query", "corpus", descending=[True, False, False]).row(0)
    n_models = frame["model"].n_unique()
    of = f" for {count} of {n_models} models" if n_models > 1 else ""
    return f"The score is highest for the query {query} and the corpus {corpus}{of}"


def in_scope(frame: pl.DataFrame) -> str:
    """Of one level of the IPC."""
    best = _best_within(frame, _SCREEN)
    if not best:
        return ""
    return f"{best['model']}: {100 * best['value']:.0f}% of the first {best['x']} share the query's {best['level']}"


def added(frame: pl.DataFrame) -> str:
    """Of differences."""
    return f"They change scores by {_from_to(sorted(frame['value']))}"


def disagreement(frame: pl.DataFrame) -> str:
    pairs = rank_agreements(frame).filter(pl.col("row") < pl.col("group")).sort("value", "row", "group")
    if pairs.is_empty():
        return ""
    one, other, value = pairs.row(0)
    return f"{one} and {other} agree least (ρ {_number(value, 'z.2f')})"


def rank_agreements(frame: pl.DataFrame) -> pl.DataFrame:
    """``row, group, value``: Spearman's correlation of the scores in each two groups that share three models."""
    wide, groups = frame.pivot("group", index="model", values="value"), frame["group"].unique(maintain_order=True)
    found = []
    for first, second in product(groups, repeat=2):
        both = wide.select(a=first, b=second).drop_nulls()
        if len(both) > 2 and both["a"].n_unique() > 1 and both["b"].n_unique() > 1:
            found.append((first, second, both.select(pl.corr("a", "b", method="spearman")).item()))
    return pl.DataFrame(found, {"row": pl.String, "group": pl.String, "value": pl.Float64}, orient="row")


def zeros(frame: pl.DataFrame) -> str:
    """Of the scores of all queries, for the model with the highest mean."""
    means = frame.filter(part="ALL").group_by("model").agg(pl.col("value").mean(), zeros=(pl.col("value") == 0).mean())
    if means.is_empty():
        return ""
    best = _best(means)
    return f"{best['model']} scores 0 on {100 * best['zeros']:.0f}% of the queries"


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


def constants(frame: pl.DataFrame) -> str:
    spread: Any = frame.group_by("model").agg(pl.col("value").max() - pl.col("value").min())["value"].max()
    return f"The choice of k changes a score by at most {spread:.3f}"


def passages(frame: pl.DataFrame) -> str:
    best = _best(frame)
    return f"{best['model']} is best with passages of {best['x']:.0f} tokens"


def truncated(frame: pl.DataFrame) -> str:
    """Changes at the fewest dimensions that all models with a score of the full width have."""
    changes = frame.with_columns(change=pl.col("value") - pl.col("value").filter("full").first().over("model"))
    cut = changes.filter(~pl.col("full")).drop_nulls()
    shared = cut.filter(pl.col("model").n_unique().over("x") == cut["model"].n_unique())
    if shared.is_empty():
        return ""
    least = shared.filter(pl.col("x") == pl.col("x").min())
    return f"Cut to {least['x'][0]} dimensions, scores change by {_from_to(sorted(least['change']))}"


def retained(frame: pl.DataFrame) -> str:
    enough = frame.group_by("x").agg(pl.col("value").min(), pl.len()).filter(pl.col("value") >= _KEPT).sort("x")
    enough = enough.filter(pl.col("len") == frame["model"].n_unique())
    return f"{enough['x'][0]} dimensions keep {enough['value'][0]:.0f}% of the score or more" if len(enough) else ""


def sizes(frame: pl.DataFrame) -> str:
    """Of one group of tasks, or of several."""
    groups = [_best(group)["x"] == group["x"].max() for group in frame.partition_by("group")]
    if len(groups) > 1:
        return f"The largest model is the best in {sum(groups)} of {len(groups)} groups"
    return "The largest model is the best" if all(groups) else f"The best, {_best(frame)['model']}, is not the largest"


def costs(frame: pl.DataFrame) -> str:
    best, cheapest = _best(frame), frame.sort("x", "model").row(0, named=True)
    if best["x"] == cheapest["x"]:
        return f"{best['model']} is the best and the cheapest"
    times = f"costs {best['x'] / cheapest['x']:.2g} times as much as" if cheapest["x"] else "costs more than"
    return f"{best['model']} is the best and {times} {cheapest['model']}"


def separation(frame: pl.DataFrame) -> str:
    """Of one task."""
    best, widest = (frame.sort(name, "model", descending=[True, False])["model"][0] for name in ("score", "ssd"))
    return f"{widest} has the highest SSD / log d, {'and' if best == widest else best} the highest score"


def last_step(frame: pl.DataFrame) -> str:
    """Of one measure."""
    ends = frame.sort("value", "x", "model").row(0, named=True)
    return f"The lowest value, {_number(ends['value'], 'z.3g')}, is that of {ends['model']} at step {ends['x']}"
