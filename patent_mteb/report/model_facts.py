"""Facts about the models of a report, from their cards and results: columns to show and to filter by."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from patent_mteb.report.collect import Collected
from patent_mteb.report.words import visible

_MANY = 2**53  # above it a JSON number is not exact


@dataclass(frozen=True)
class Fact:
    """A column about models: ``kind`` is ``number``, ``text`` or ``date``; ``steps`` are the bounds of a filter."""

    key: str
    title: str
    kind: str
    hint: str
    steps: tuple[float, ...] = ()


_TRAINED_ON = "Benchmarks of this report whose tasks are in the model's training data"
FACTS = (
    Fact("parameters", "Parameters", "number", "Parameters of the model in all.", (1e8, 5e8, 1e9, 5e9, 1e10)),
    Fact("dims", "Dimensions", "number", "Numbers in an embedding.", (256, 512, 1024, 2048, 4096)),
    Fact("tokens", "Max tokens", "number", "Tokens read of a text; longer texts are cut.", (512, 2048, 8192, 32768)),
    Fact("memory", "Memory (MB)", "number", "Memory that the weights take, as the model's card has it."),
    Fact("type", "Type", "text", "How the model finds documents: by vectors, by words, or by both."),
    Fact("licence", "Licence", "text", "Licence of the weights."),
    Fact("date", "Released", "date", "Day on which the weights were published."),
    Fact("prompt", "Prompt", "text", "Whether anything was put before the texts."),
    Fact("trained", "Trained on", "text", f"{_TRAINED_ON}, as its card states it; then its leak check."),
)
"""The columns, in the order of the page."""

_FIELDS = {"parameters": "n_parameters", "dims": "embed_dim", "tokens": "max_tokens", "memory": "memory_usage_mb"}


def known_of(meta: Mapping[str, Any]) -> dict[str, float | str | None]:
    """Return the facts in a model's ``model_meta.json``; None for missing ones.

    The type is the kind of a composed model, else mteb's types of the model.
    """
    numbers = {key: _number(meta.get(field)) for key, field in _FIELDS.items()}
    settings, types = meta.get("experiment_kwargs"), meta.get("model_type")
    kind = settings.get("kind") if isinstance(settings, dict) else None
    if not isinstance(kind, str):
        kind = ", ".join(map(str, types)) if isinstance(types, list) else None
    texts = {"type": kind, "licence": meta.get("license"), "date": meta.get("release_date")}
    return numbers | {key: _text(value) for key, value in texts.items()}


def _number(value: Any) -> float | None:
    usable = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < _MANY
    return float(value) if usable else None


def _text(value: Any) -> str | None:
    return visible(value) if isinstance(value, str) and value else None


def seen_in_training(meta: Mapping[str, Any], tasks: Collection[str]) -> frozenset[str] | None:
    """Return the tasks in a model's training data, as its ``model_meta.json`` states them; None if it does not."""
    stated = meta.get("training_datasets")
    return frozenset(map(str, stated)) & frozenset(tasks) if isinstance(stated, (list, dict)) else None


def _trained(seen: frozenset[str] | None, benchmarks: Mapping[str, str]) -> str:
    if seen is None:
        return "not stated"
    counts = Counter(benchmarks[task] for task in sorted(seen))
    return ", ".join(f"{name} ({count})" for name, count in counts.items()) or "none of these"


def facts_of_runs(collected: Collected) -> tuple[dict[str, dict[str, Any]], dict[str, frozenset[str]]]:
    """Return the values of :data:`FACTS` by run and key, and by run the tasks in its training data.

    The evidence of the results has priority over the settings of the run, and these over the model's card.
    """
    benchmarks = dict(collected.results.select("plain", "benchmark").unique().iter_rows())
    facts: dict[str, dict[str, Any]] = {}
    trained: dict[str, frozenset[str]] = {}
    for (run,), rows in collected.results.group_by("run", maintain_order=True):
        meta = json.loads(rows["card"][0])
        seen = seen_in_training(meta, benchmarks)
        trained[str(run)] = seen or frozenset()
        found = _text(meta.get("contamination"))
        prompts = {prompt if prompt in ("none", "not recorded") else "prompted" for prompt in rows["prompt"]}
        own = known_of(meta)
        own["prompt"] = prompts.pop() if len(prompts) == 1 else "differs by task"
        own["trained"] = _trained(seen, benchmarks) + (f"; leak check: {found}" if found else "")
        for key in ("parameters", "dims"):
            own[key] = own[key] or _number(rows.select(pl.col(key).drop_nulls().first()).item())
        facts[str(run)] = own | _as_run(rows)
    return facts, trained


def _as_run(rows: pl.DataFrame) -> dict[str, float | None]:
    """Return dimensions and tokens in the settings of a run and the evidence of its results."""
    settings = json.loads(rows["settings"][0])
    names = {"dims": "dims", "tokens": "max_tokens"}
    found = {key: _number(settings[name]) for key, name in names.items() if name in settings}
    computed = [json.loads(text) for text in rows["computed"]]
    said = {one["max_tokens"] for one in computed if one.get("max_tokens")}
    if said:  # parts of a composed model may read different lengths: "512, 256"
        (only,) = said if len(said) == 1 else ("",)
        found["tokens"] = _number(int(only)) if only.isdecimal() else None
    return found
