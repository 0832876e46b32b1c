"""From the name of a signal, as recipes have it, to its pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path

from patent_mteb.errors import DataError
from patent_mteb.training import pairs
from patent_mteb.training.corpus import Corpus
from patent_mteb.training.pairs import Pair
from patent_mteb.training.recipes import Settings

__all__ = ["pairs_of"]

_Maker = Callable[[Corpus, str, Counter[str]], Iterator[Pair]]


def pairs_of(
    signal: str, corpus: Corpus, split: str, settings: Settings, left_out: Counter[str], paraphrases: Path | None = None
) -> Iterator[Pair]:
    """The pairs of a signal in a split.

    Args:
        left_out: what gives no pair is counted in it.
        paraphrases: the file of ``patentmap-paraphrase``.

    Raises:
        DataError: the data lack what the signal takes.

    Example:
        >>> from collections import Counter
        >>> from patent_mteb.training.corpus import read_corpus
        >>> from patent_mteb.training.recipes import Settings
        >>> from patent_mteb.training.signals import pairs_of
        >>> sizes = [sum(1 for _ in pairs_of(name, read_corpus("sample"), "train", Settings(), Counter())) for name in ("union", "matched")]
        >>> sizes[0] == sizes[1]
        True
    """
    if signal == "matched":
        size = sum(1 for _ in _union(corpus, split, settings, Counter()))
        return pairs.matched_size(lambda: pairs.abstract_and_claim(corpus, split, Counter()), size, settings.pair_seed)
    if signal == "union":
        return _union(corpus, split, settings, left_out)
    return _maker(signal, settings, paraphrases)(corpus, split, left_out)


def _union(corpus: Corpus, split: str, settings: Settings, left_out: Counter[str]) -> Iterator[Pair]:
    """R1, R2 and R3 one after the other; a signal that gives nothing in a small validation split is left out and counted there."""

    def part(name: str) -> Iterator[Pair]:
        try:
            yield from _maker(name, settings, None)(corpus, split, left_out)
        except DataError:
            if split == "train":
                raise
            left_out[f"signal {name}: no pair"] += 1

    return chain.from_iterable(part(name) for name in ("co-label", "citations", "cross-section"))


def _maker(signal: str, settings: Settings, paraphrases: Path | None) -> _Maker:
    seed, swap = settings.pair_seed, settings.swap
    if signal.startswith("view:"):
        return partial(pairs.two_views, policy=signal.removeprefix("view:"), swap=swap, seed=seed)
    if signal == "paraphrase":
        if paraphrases is None:
            raise DataError("the paraphrases are missing", remedy="give --paraphrases FILE, JSON lines of id and text")
        return partial(pairs.paraphrased, path=paraphrases, swap=swap, seed=seed)
    makers: dict[str, _Maker] = {
        "co-label": partial(pairs.co_labelled, seed=seed),
        "citations": pairs.citing_and_cited,
        "cross-section": pairs.abstract_and_claim,
        "ipc": partial(pairs.ipc_matched, swap=swap, seed=seed),
        "citations-and-self": partial(pairs.with_self_alignment, share=settings.self_share, seed=seed),
    }
    return makers[signal]
