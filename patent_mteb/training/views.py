"""The second view of a patent that PatentMap's policies pair with title and abstract (PatentMap §4.3, §5.2).

Texts carry the section tags of PatentMap (``title [SEP] [abstract] ...``, ``[claim] ...``). The tag of a part of the description is
``[invention]``, as of the whole; the paper names ``[abstract]`` and ``[claim]`` only. A policy gives the empty string where a patent lacks
what it takes: such patents make no pair and are counted.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping

from patent_mteb.patents.claims import claims_text
from patent_mteb.patents.records import Patent
from patent_mteb.recipes.patentmap_content import SECTION_TAGS, title_and_abstract

__all__ = ["CROP", "POLICIES", "SECTION_POLICIES", "cropped", "sentences_shuffled", "tagged_ta"]

CROP = 0.1
"""Share of the words that a crop cuts out, in one piece (§5.2 iii)."""

_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+")
_Policy = Callable[[Patent, random.Random], str]


def tagged_ta(patent: Patent) -> str:
    """Title and abstract with PatentMap's marks, empty without an abstract.

    Example:
        >>> from patent_mteb.patents.records import Patent
        >>> from patent_mteb.training.views import tagged_ta
        >>> tagged_ta(Patent("US1A1", "F1", "Pump", "It pumps."))
        'Pump [SEP] [abstract] It pumps.'
    """
    return title_and_abstract(patent.title, patent.abstract, tags=True) if patent.abstract.strip() else ""


def sentences_shuffled(text: str, rng: random.Random) -> str:
    """The sentences of a text in another order, where it has two or more (§5.2 ii).

    Example:
        >>> import random
        >>> from patent_mteb.training.views import sentences_shuffled
        >>> sentences_shuffled("It pumps. It is red.", random.Random(1))
        'It is red. It pumps.'
    """
    sentences = _SENTENCE_END.split(text.strip())
    before = list(sentences)
    while len(set(before)) > 1 and sentences == before:
        rng.shuffle(sentences)
    return " ".join(sentences)


def cropped(text: str, rng: random.Random, share: float = CROP) -> str:
    """The text without one span of a share of its words, at least one word, wherever it begins (§5.2 iii).

    Example:
        >>> import random
        >>> from patent_mteb.training.views import cropped
        >>> len(cropped(" ".join(map(str, range(50))), random.Random(0)).split())
        45
    """
    words = text.split()
    if len(words) < 2:
        return text
    size = max(1, round(share * len(words)))
    start = rng.randint(0, len(words) - size)
    return " ".join([*words[:start], *words[start + size :]])


def _of_abstract(change: Callable[[str, random.Random], str]) -> _Policy:
    def policy(patent: Patent, rng: random.Random) -> str:
        if not patent.abstract.strip():
            return ""
        return title_and_abstract(patent.title, change(patent.abstract, rng), tags=True)

    return policy


def _section(tag: str, text_of: Callable[[Patent], str]) -> _Policy:
    def policy(patent: Patent, rng: random.Random) -> str:
        text = text_of(patent).strip()
        return f"{SECTION_TAGS[tag]} {text}" if text else ""

    return policy


SECTION_POLICIES: Mapping[str, _Policy] = {
    "claims": _section("claim", lambda patent: claims_text(patent.claims)),
    "summary": _section("invention", lambda patent: patent.description.summary),
    "background": _section("invention", lambda patent: patent.description.background),
    "description": _section("invention", lambda patent: patent.description.detailed),
}
"""The sections that TA is paired with (Table 2, "Ours")."""


def _mix(patent: Patent, rng: random.Random) -> str:
    """One section that the patent has, the abstract among them, for which TA itself stands: only dropout tells the two apart (§4.3)."""
    texts = [tagged_ta(patent), *(policy(patent, rng) for policy in SECTION_POLICIES.values())]
    return rng.choice([text for text in texts if text] or [""])


POLICIES: Mapping[str, _Policy] = {
    "dropout": lambda patent, rng: tagged_ta(patent),
    "shuffle": _of_abstract(sentences_shuffled),
    "crop": _of_abstract(cropped),
    **SECTION_POLICIES,
    "mix": _mix,
}
"""The views that one patent gives of itself; the paraphrase is read from a file and the IPC match is another patent (``pairs``)."""
