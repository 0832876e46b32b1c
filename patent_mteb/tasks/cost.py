"""The cost of a score: seconds, texts, tokens, memory, and size of the index.

The evidence of a score (:mod:`patent_mteb.tasks.evidence`) contains, under :data:`COST`,

=====================  =================================================================================================
``seconds``            of the evaluation, without reading the data; ``processor_seconds`` of all threads of the process
``phases``             seconds of ``encode``, ``index`` (BM25), ``split`` (passages), and of the ``rest``: search and
                       scores
``encoded``            texts that the model encoded, with their ``characters``; the others came from the store
``tokens``             that the model read, prompts included; ``padding`` is the share of padding in its computation
``peak_memory_mb``     the highest resident memory of the process so far; ``peak_device_mb`` on the GPU, in this
                       evaluation
``index_mb``           of the index in memory: vectors in single precision, term weights; not of passages and late
                       interaction
=====================  =================================================================================================

An unknown number is omitted: the texts of an encoder without a store, the tokens of other than sentence-transformers
models.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from patent_mteb.search.timing import timed
from patent_mteb.store.canaries import encoders
from patent_mteb.store.encoder import StoredEncoder
from patent_mteb.tasks.evidence import KEY

COST = "cost"
"""Key of the cost in the evidence."""
_DIGITS = 4


def measured(model: Any, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the scores that ``work`` computes, with their cost in the evidence."""
    stores = [one for one in encoders(model) if isinstance(one, StoredEncoder)]
    before = {name: sum(getattr(store.stats, name) for store in stores) for name in ("encoded", "characters")}
    if gpu := _gpu():
        gpu.reset_peak_memory_stats()
    started, processor = time.perf_counter(), time.process_time()
    with timed() as phases, _counting(stores) as tokens:
        scores = work()
    seconds, processor = time.perf_counter() - started, time.process_time() - processor
    found: dict[str, Any] = {"seconds": round(seconds, _DIGITS), "processor_seconds": round(processor, _DIGITS)}
    rest = max(0.0, seconds - sum(phases.values()))
    found["phases"] = {name: round(value, _DIGITS) for name, value in {**phases, "rest": rest}.items()}
    for name in ("encoded", "characters") if stores else ():
        found[name] = sum(getattr(store.stats, name) for store in stores) - before[name]
    if tokens["computed"]:
        found |= {"tokens": tokens["read"], "padding": round(1 - tokens["read"] / tokens["computed"], _DIGITS)}
    with contextlib.suppress(ImportError):  # Windows
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        found["peak_memory_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6, 1)
    if gpu := _gpu():
        found["peak_device_mb"] = round(gpu.max_memory_allocated() / 1e6, 1)
    evidence = scores.get(KEY, {})
    return {**scores, KEY: {**evidence, COST: {**found, **evidence.get(COST, {})}}}


def _gpu() -> Any:
    """Return ``torch.cuda`` if torch is loaded and there is a GPU; BM25 needs no torch."""
    torch = sys.modules.get("torch")
    return torch.cuda if torch and torch.cuda.is_available() else None


@contextlib.contextmanager
def _counting(stores: list[StoredEncoder]) -> Iterator[dict[str, int]]:
    """Count the tokens that loaded sentence-transformers models read, and compute with padding."""
    counts = {"read": 0, "computed": 0}

    def count(_: Any, given: tuple[Any, ...]) -> None:
        mask = given[0].get("attention_mask") if given and isinstance(given[0], Mapping) else None
        if mask is not None:
            counts["read"] += int(mask.sum())
            counts["computed"] += mask.numel()

    with contextlib.ExitStack() as hooks:
        for network in filter(None, map(_network, stores)):
            hooks.callback(next(iter(network)).register_forward_pre_hook(count).remove)
        yield counts


def _network(store: StoredEncoder) -> Any:
    """Return the wrapped sentence-transformers model, if it is loaded."""
    from sentence_transformers import SentenceTransformer

    model = store.model if store.loaded else None
    while model is not None and not isinstance(model, SentenceTransformer):
        model = getattr(model, "model", None)
    return model
