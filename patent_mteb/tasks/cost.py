"""What a score cost: seconds by phase, texts and tokens that reached a model, memory, and the size of the index.

The evidence (:mod:`patent_mteb.tasks.evidence`) in every entry of scores that a task of the suite gives holds, under
:data:`COST`,

=====================  =================================================================================================
``seconds``            of the evaluation, without reading the data; ``processor_seconds`` of all threads of the process
``phases``             seconds of ``encode``, ``index`` (BM25), ``split`` (passages), and of the ``rest``: search and
                       scores
``encoded``            texts that reached the model, with their ``characters``; the others of the task came from the
                       store
``tokens``             that the model read of them, prompts included, and ``padding``, the share of what it computed
                       that was none
``peak_memory_mb``     the highest resident memory of the process so far; ``peak_device_mb`` on the card, in this
                       evaluation
``index_mb``           of what was searched, in memory: vectors in single precision, term weights; not of passages and
                       late interaction
=====================  =================================================================================================

What is not known is left out: texts of an encoder without a store, tokens of a model that is no sentence-transformers
model. What it was computed on stands in the evidence beside it.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from patent_mteb.search.timing import timed
from patent_mteb.store.encoder import StoredEncoder
from patent_mteb.store.settings import components
from patent_mteb.tasks.evidence import KEY

COST = "cost"
"""Where the record stands in the evidence."""
_DIGITS = 4


def measured(model: Any, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The scores that ``work`` gives with what they cost in their evidence; what that says under :data:`COST` already
    is kept.
    """
    stores = list(_stores(model))
    before = [(store.stats.encoded, store.stats.characters) for store in stores]
    on_card = _fresh_card()
    started, processor = time.perf_counter(), time.process_time()
    with timed() as phases, _counting(stores) as tokens:
        scores = work()
    seconds, processor = time.perf_counter() - started, time.process_time() - processor
    found: dict[str, Any] = {"seconds": round(seconds, _DIGITS), "processor_seconds": round(processor, _DIGITS)}
    rest = max(0.0, seconds - sum(phases.values()))
    found["phases"] = {name: round(value, _DIGITS) for name, value in {**phases, "rest": rest}.items()}
    if stores:
        after = [(store.stats.encoded, store.stats.characters) for store in stores]
        found |= {
            name: sum(late[column] - early[column] for early, late in zip(before, after, strict=True))
            for column, name in enumerate(("encoded", "characters"))
        }
    if tokens["computed"]:
        found |= {"tokens": tokens["read"], "padding": round(1 - tokens["read"] / tokens["computed"], _DIGITS)}
    found |= _memory(on_card)
    evidence = scores.get(KEY, {})
    return {**scores, KEY: {**evidence, COST: {**found, **evidence.get(COST, {})}}}


def _stores(model: Any) -> Iterator[StoredEncoder]:
    if isinstance(model, StoredEncoder):
        yield model
    else:
        for part in components(model):
            yield from _stores(part)


@contextlib.contextmanager
def _counting(stores: list[StoredEncoder]) -> Iterator[dict[str, int]]:
    """Counts the tokens that the loaded sentence-transformers models among these read, and what they compute with
    padding.
    """
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
    """The sentence-transformers model inside, if it is loaded."""
    from sentence_transformers import SentenceTransformer

    inner = store.model if store.loaded else None
    while inner is not None and not isinstance(inner, SentenceTransformer):
        inner = getattr(inner, "model", None)
    return inner


def _fresh_card() -> bool:
    """Whether there is a CUDA card, whose highest use of memory is then counted anew."""
    import torch

    if not torch.cuda.is_available():
        return False
    torch.cuda.reset_peak_memory_stats()
    return True


def _memory(on_card: bool) -> dict[str, float]:
    found = {}
    try:
        import resource
    except ImportError:  # Windows
        pass
    else:
        unit = 1 if sys.platform == "darwin" else 1024
        found["peak_memory_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6, 1)
    if on_card:
        import torch

        found["peak_device_mb"] = round(torch.cuda.max_memory_allocated() / 1e6, 1)
    return found
