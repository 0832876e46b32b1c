"""The summaries of ``patent-mteb data summarise``, Sophia-Bench's five (§3.3): by a language model or as extracts."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import tee

from tqdm import tqdm

from patent_mteb.endpoints.chat import Answer, Chat, Usage, models_and_days
from patent_mteb.identity import digest
from patent_mteb.patents import views
from patent_mteb.patents.claims import independent_claims
from patent_mteb.patents.records import Patent
from patent_mteb.patents.scripts import first_words, split_words
from patent_mteb.patents.summaries import EXTRACT, KINDS, MODEL, WrittenSummary, source_of, text_of
from patent_mteb.patents.text import clean_patent
from patent_mteb.recipes.sophia import advantages_and_disadvantages, object_of_invention, sentences

PROMPTS: Mapping[str, str] = {
    "abstract": "Write an abstract of this patent in at most 150 words: what it is, how it works, what it is for.",
    "features": "List the technical features of this patent's invention as short phrases separated by semicolons.",
    "claims": "Summarise what the claims of this patent protect, in plain technical English and at most 150 words.",
    "advantages": "State the advantages that this patent attributes to its invention, in at most 100 words.",
    "objectives": (
        "State the technical problem that this patent addresses and the objective of its invention, in at most 100"
        " words."
    ),
}
"""Prompts by kind of summary; the paper prints none."""
_INSTRUCTION = (
    "You summarise patents. Answer with the summary alone, in English, without introduction, headings or markup."
)
_PREAMBLE_END = re.compile(r"\b(?:comprising|comprises|characteri[sz]ed in that|consisting of)\b:?")
_MAX_FAMILIES = 5  # families with the same summary; members of one family may share a summary
_REPEATED = "the same for many patents"
_EXTRACTS = "extracts of patent-mteb, version 1"
_WORDS = {"abstract": 150, "features": 150, "claims": 150, "advantages": 100, "objectives": 100}


class ModelSummaries:
    """Summaries by a language model; answers are cached, so that an interrupted run repeats no request."""

    how = MODEL

    def __init__(self, chat: Chat, *, characters: int = 60_000) -> None:
        self.chat = chat
        self.characters = characters
        self.used = Usage()

    def prompt(self, kind: str) -> str:
        """Return the digest of the prompt without the patent."""
        return digest([_INSTRUCTION, PROMPTS[kind], self.characters, self.chat.identity["settings"]])

    def write(self, wanted: Iterable[tuple[str, Patent]]) -> Iterator[Answer]:
        """Yield one summary for each kind and patent, in their order."""
        questions = (
            (_INSTRUCTION, f"{PROMPTS[kind]}\n\n{text_of(patent)[: self.characters]}") for kind, patent in wanted
        )
        answered = Counter[tuple[str, str]]()
        for answer in self.chat.ask_all(questions):
            self.used += answer.usage
            answered[answer.model, answer.day] += 1
            yield answer
        models_and_days(self.chat.model, answered.elements())


class Extracts:
    """Extracts of the patent's sentences, without a language model; results name them extracts, not summaries.

    ``abstract``: the sentences of the description whose words are most frequent in it; ``features``: the parts of the
    independent claims; ``claims``: the first independent claim; ``advantages`` and ``objectives``: the sentences of the
    description that state some. Each is cut at 100 or 150 words.
    """

    how = EXTRACT

    def prompt(self, kind: str) -> str:
        return ""

    def write(self, wanted: Iterable[tuple[str, Patent]]) -> Iterator[Answer]:
        today = dt.datetime.now(dt.UTC).date().isoformat()
        for kind, patent in wanted:
            yield Answer(first_words(_EXTRACT[kind](patent), _WORDS[kind]), Usage(), _EXTRACTS, today)


def _description(patent: Patent) -> str:
    return views.VIEWS["Description"](patent)


def _central(patent: Patent) -> str:
    """Return the sentences with the most frequent words of the text, in their order, up to the maximum length."""
    of_text = sentences(_description(patent) or views.VIEWS["Abstract"](patent))
    words = [set(re.findall(r"[^\W\d_]{4,}", sentence.lower())) for sentence in of_text]
    frequency = Counter(word for some in words for word in some)
    weight = [sum(frequency[word] for word in some) / len(some) if some else 0.0 for some in words]
    remaining, chosen = _WORDS["abstract"], []
    for place in sorted(range(len(of_text)), key=lambda one: (-weight[one], one)):
        if (size := len(split_words(of_text[place]))) <= remaining:
            remaining -= size
            chosen.append(place)
    return " ".join(of_text[place] for place in sorted(chosen))


def _features(patent: Patent) -> str:
    """Return the text after the preamble of each independent claim."""
    bodies = (_PREAMBLE_END.split(claim.text, maxsplit=1) for claim in independent_claims(patent.claims))
    return "; ".join(parts[-1].strip(" .;:,") for parts in bodies)


_EXTRACT: Mapping[str, Callable[[Patent], str]] = {
    "abstract": _central,
    "features": _features,
    "claims": lambda patent: next((claim.text for claim in independent_claims(patent.claims)), ""),
    "advantages": lambda patent: advantages_and_disadvantages(_description(patent)),
    "objectives": lambda patent: object_of_invention(_description(patent)),
}


@dataclass(frozen=True)
class Summarised:
    """The new summaries, and counts: existing ones, missing ones by kind, and answers that were not used by fault."""

    rows: list[WrittenSummary]
    existing: int
    missing: Mapping[str, int]
    faults: Mapping[str, int]


def summarise_patents(
    patents: Iterable[Patent],
    writer: ModelSummaries | Extracts,
    kinds: Sequence[str] = KINDS,
    *,
    progress: bool = False,
) -> Summarised:
    """Write the missing summaries of patents, from the cleaned texts that recipes read.

    A model's answers that are incomplete, refusals, or equal for patents of several families are counted and not used.
    """
    existing, missing, faults = 0, Counter[str](), Counter[str]()

    def wanted() -> Iterator[tuple[str, Patent]]:
        nonlocal existing
        for patent in map(clean_patent, patents):
            open_kinds = [kind for kind in kinds if not getattr(patent.summaries, kind).strip()]
            existing += len(kinds) - len(open_kinds)
            if text_of(patent).strip():
                yield from ((kind, patent) for kind in open_kinds)
            else:
                missing.update(open_kinds)

    rows, families = [], defaultdict[tuple[str, str], set[str]](set)
    requests, written = tee(wanted())
    summaries = tqdm(writer.write(requests), desc="Summaries", disable=not progress)
    for (kind, patent), one in zip(written, summaries, strict=True):
        text = one.text.strip()
        if one.fault or not text:
            missing[kind] += 1
            faults.update([one.fault] if one.fault else [])
            continue
        about = (writer.how, one.model, writer.prompt(kind), source_of(patent), one.day)
        rows.append(WrittenSummary(patent.publication_number, kind, text, *about))
        families[kind, text].add(patent.family_id or patent.publication_number)
    if writer.how == MODEL:
        repeated = [row for row in rows if len(families[row.kind, row.text]) >= _MAX_FAMILIES]
        missing.update(row.kind for row in repeated)
        faults.update({_REPEATED: len(repeated)} if repeated else {})
        rows = [row for row in rows if len(families[row.kind, row.text]) < _MAX_FAMILIES]
    return Summarised(rows, existing, dict(missing), dict(faults))
