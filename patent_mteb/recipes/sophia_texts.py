"""The representations of a query patent in Sophia-Bench (§3.3).

``obj`` and ``adb`` are "extracted via regular expressions" that the paper does not print. Here they are the sentences of the
description that :data:`OBJECT_PATTERNS` and :data:`ADVANTAGE_PATTERNS` match, in their order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from patent_mteb.patents import views
from patent_mteb.patents.claims import claims_text, independent_claims
from patent_mteb.patents.records import Patent

__all__ = ["ADVANTAGE_PATTERNS", "OBJECT_PATTERNS", "REPRESENTATIONS", "advantages_and_disadvantages", "object_of_invention", "sentences"]

_INVENTION = r"(?:present |instant |subject |claimed )?(?:inventions?|disclosures?|applications?|technolog(?:y|ies)|utility model)"
_AIM = r"(?:objects?|objectives?|aims?|goals?|purposes?|intentions?)"
_PROBLEM = r"(?:technical |basic |underlying )*(?:problems?|tasks?)"

OBJECT_PATTERNS = (
    rf"\b{_AIM}(?: \w+){{0,2}} (?:of|behind|underlying|for) (?:the |this |an? )?(?:\w+ ){{0,2}}?{_INVENTION}\b",
    rf"\b(?:it is|it was|there is) (?:\w+ ){{0,2}}?(?:an?|the|one|another) (?:\w+ ){{0,2}}?{_AIM}\b",
    rf"\b(?:an?|the|one|another|a further|still another|yet another) (?:\w+ )?{_AIM} (?:is|are|was|consists)\b",
    rf"\b{_INVENTION} (?:\w+ )?(?:aims?|seeks?|is aimed|is intended) (?:at|to)\b",
    rf"\b{_PROBLEM} (?:\w+ ){{0,3}}?(?:to be solved|addressed|solved|underlying)\b",
    rf"\b{_INVENTION} (?:is|was) based on the (?:problem|task|{_AIM})\b",
)
"""A sentence that matches one of these (in any case) states an object of the invention."""

ADVANTAGE_PATTERNS = (
    r"\b(?:dis)?advantag(?:es?|eous|eously)\b",
    r"\bdrawbacks?\b",
    r"\bshortcomings?\b",
    r"(?<!having the )\bbenefits?\b(?! of (?:priority|the filing|u\.?s))",
    r"\bbeneficial(?:ly)?\b",
    r"\bdeficienc(?:y|ies)\b",
    r"\bdownsides?\b",
    r"\bmerits?\b",
)
"""A sentence that matches one of these (in any case) states an advantage of the invention or a disadvantage of the prior art."""

_OBJECT = re.compile("|".join(OBJECT_PATTERNS), re.IGNORECASE)
_ADVANTAGE = re.compile("|".join(ADVANTAGE_PATTERNS), re.IGNORECASE)
_NO_END = "".join(rf"(?<!\b{word}\.)" for word in (r"e\.g", r"i\.e", r"U\.S", "Fig", "Figs", "No", "Nos", "al", "vs", "approx"))
_SENTENCE_END = re.compile(rf"(?<=[.!?]){_NO_END}\s+(?=[A-Z(\[\"“])")


def _description(patent: Patent) -> str:
    return views.VIEWS["Description"](patent)


def sentences(text: str) -> list[str]:
    """The sentences of a text.

    Example:
        >>> sentences("Pumps, e.g. of Fig. 1, are known. They leak.")
        ['Pumps, e.g. of Fig. 1, are known.', 'They leak.']
    """
    return _SENTENCE_END.split(text) if text else []


def _sentences_with(pattern: re.Pattern[str], text: str) -> str:
    return " ".join(sentence for sentence in sentences(text) if pattern.search(sentence))


def object_of_invention(description: str) -> str:
    """The sentences that state an object of the invention (query type ``obj``), empty if there is none.

    Example:
        >>> object_of_invention("Pumps are known. It is an object of the invention to save water.")
        'It is an object of the invention to save water.'
    """
    return _sentences_with(_OBJECT, description)


def advantages_and_disadvantages(description: str) -> str:
    """The sentences that state advantages or disadvantages (query type ``adb``), empty if there is none.

    Example:
        >>> advantages_and_disadvantages("Pumps are known. An advantage of the pump is that it saves water.")
        'An advantage of the pump is that it saves water.'
    """
    return _sentences_with(_ADVANTAGE, description)


REPRESENTATIONS: Mapping[str, Callable[[Patent], str]] = {
    "Clms": views.VIEWS["Claims"],
    "Ab": views.VIEWS["Abstract"],
    "Iclms": lambda patent: claims_text(independent_claims(patent.claims)),
    "Obj": lambda patent: object_of_invention(_description(patent)),
    "Desc": _description,
    "Adb": lambda patent: advantages_and_disadvantages(_description(patent)),
    "AiAb": lambda patent: patent.summaries.abstract,
    "AiFeatures": lambda patent: patent.summaries.features,
    "AiClaimSummary": lambda patent: patent.summaries.claims,
    "AiAdv": lambda patent: patent.summaries.advantages,
    "AiObj": lambda patent: patent.summaries.objectives,
}
"""Columns of ``queries.parquet`` (§3.3); the twelfth representation, ``Tacd``, is the text of ``queries.jsonl``."""
