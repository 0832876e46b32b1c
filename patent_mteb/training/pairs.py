"""Training pairs from records, one function per signal of :data:`SIGNALS`.

Signals yield their pairs lazily, and count excluded publications and citations in ``left_out``. Groups of publications
hold outlines (:mod:`patent_mteb.patents.on_disk`), and texts are read when a pair is made, so that a corpus may be
larger than the memory. Both texts of a pair are from the requested split, so that no family is used in two splits.

R1 draws one partner for each publication and label. The paper's 99,587 pairs are slightly more than its 90,518 or so
training documents, whereas all combinations would be many millions. The paper does not state the texts of R1 and R2;
here they are TAC.

PatentMap pairs title and abstract with a view of the same patent (§4.3, §5.2). Texts have its section tags (appendix
A). A policy of sections draws one of them or the abstract, whose pair differs by dropout only. Sections of fewer than
15 words are not drawn.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path

import pyarrow as pa

from patent_mteb.errors import DataError
from patent_mteb.files import json_lines, read_batches, write_rows
from patent_mteb.patents import ipc
from patent_mteb.patents.categories import degree, is_category
from patent_mteb.patents.claims import claims_text
from patent_mteb.patents.on_disk import outline, publications
from patent_mteb.patents.records import Patent
from patent_mteb.patents.scripts import split_words
from patent_mteb.patents.views import VIEWS
from patent_mteb.recipes.patentmap import title_and_abstract
from patent_mteb.recipes.sampling import random_key
from patent_mteb.recipes.sophia import REPRESENTATIONS
from patent_mteb.training.corpus import Corpus
from patent_mteb.training.recipes import MAP_SECTIONS, VIEW_TOKENS, Settings

Counts = Counter[str]
Signal = Callable[[Corpus, str, Counts, Settings], Iterator["Pair"]]
_Policy = Callable[[Patent, random.Random], str]
DEFAULT = Settings()
_CROP = 0.1
"""Share of the words that a crop removes, as one span (§5.2 iii)."""

_SHORTEST_SECTION = 15
"""Words of a section at least (appendix A)."""

_CANCELLED = re.compile(r"\W*cancell?ed\W*", re.IGNORECASE)
_DRAWINGS = re.compile(r"\W*brief description of (?:the |several )*(?:drawings|figures)", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|(?<=[。．！？；])\s*(?=\S)")
TWELVE = (*REPRESENTATIONS.values(), VIEWS["Tacd"])
"""The twelve representations of a patent in Sophia-Bench (§3.3)."""


@dataclass(frozen=True, slots=True)
class Pair:
    """An anchor and a positive text with their publications and families, and optionally a negative or a label.

    In tables of classes, ``positive`` may be empty.
    """

    anchor: str
    positive: str
    anchor_id: str
    positive_id: str
    anchor_family: str
    positive_family: str
    signal: str
    negative: str = ""
    negative_id: str = ""
    negative_family: str = ""
    label: str = ""


PAIR_SCHEMA = pa.schema([(name, pa.string()) for name in Pair.__slots__])


def write_pairs(path: Path, pairs: Iterable[Pair]) -> int:
    number = 0

    def rows() -> Iterator[dict[str, str]]:
        nonlocal number
        for pair in pairs:
            number += 1
            yield asdict(pair)

    write_rows(path, rows(), PAIR_SCHEMA)
    return number


def read_pairs(path: Path) -> Iterator[Pair]:
    return (Pair(**row) for table in read_batches(path) for row in table.to_pylist())


def _pair(signal: str, first: Patent, second: Patent, anchor: str, positive: str) -> Pair:
    return Pair(
        anchor, positive, first.publication_number, second.publication_number, first.family_id, second.family_id, signal
    )


def pairs_of(
    signal: str, corpus: Corpus, split: str, settings: Settings, left_out: Counts, paraphrases: Path | None = None
) -> Iterator[Pair]:
    """Return the pairs of a signal, by its name in the recipes, in a split."""
    if signal not in (*SIGNALS, "paraphrase"):
        raise DataError(f"unknown signal '{signal}'", remedy=f"--set signal= one of {', '.join(SIGNALS)}")
    if signal != "paraphrase":
        return SIGNALS[signal](corpus, split, left_out, settings)
    if paraphrases is None:
        raise DataError("the paraphrases are missing", remedy="give --paraphrases FILE, JSON lines of id and text")
    return paraphrased(corpus, split, left_out, settings, paraphrases)


def _other_family(members: Sequence[Patent], family: str, rng: random.Random) -> Patent:
    """Draw a member outside a family. There must be one."""
    for _ in range(64):
        if (drawn := rng.choice(members)).family_id != family:
            return drawn
    return rng.choice([patent for patent in members if patent.family_id != family])


def _partners(
    signal: str, groups: Mapping[str, Sequence[Patent]], text_of: Callable[[Patent], str], seed: int, left_out: Counts
) -> Iterator[Pair]:
    """Draw a partner of another family for each publication of each group of outlines."""
    for group, members in groups.items():
        several = len({patent.family_id for patent in members}) > 1
        for patent in members:
            if not several:
                left_out[f"{signal}: no other family shares it"] += 1
                continue
            rng = random.Random(random_key(seed, signal, group, patent.publication_number))
            other = _other_family(members, patent.family_id, rng)
            yield _pair(signal, patent, other, text_of(patent), text_of(other))


def _text(corpus: Corpus, text_of: Callable[[Patent], str]) -> Callable[[Patent], str]:
    """Return a function that reads the record of an outline and makes its text."""

    def read(one: Patent) -> str:
        patent = corpus.records.get(one.publication_number)
        return text_of(patent) if patent else ""

    return read


def _with_text(
    corpus: Corpus, split: str, text_of: Callable[[Patent], str], what: str, left_out: Counts
) -> Iterator[Patent]:
    for patent in corpus.members(split):
        if text_of(patent).strip():
            yield patent
        else:
            left_out[f"publications without {what}"] += 1


def co_labelled(corpus: Corpus, split: str, left_out: Counts, settings: Settings = DEFAULT) -> Iterator[Pair]:
    """R1: pair each publication, for each fine label, with a random publication of another family with that label."""
    groups: dict[str, list[Patent]] = defaultdict(list)
    for patent in _with_text(corpus, split, VIEWS["TAC"], "title, abstract and claims", left_out):
        for name in sorted({f"{label.landscape}/{label.coarse}/{label.fine}" for label in patent.labels if label.fine}):
            groups[name].append(outline(patent))
    if not groups:
        problem = f"no publication of the {split} split has a fine label, as R1 requires"
        raise DataError(problem, remedy="give records with labels, or train wipo-r3")
    text_of = _text(corpus, VIEWS["TAC"])
    yield from _partners("co-label", dict(sorted(groups.items())), text_of, settings.pair_seed, left_out)


def citing_and_cited(
    corpus: Corpus, split: str, left_out: Counts, settings: Settings = DEFAULT, *, categories: bool = False
) -> Iterator[Pair]:
    """R2: each distinct citation between two families of the split; with ``categories`` only those of X, Y or A."""
    known = {
        patent.publication_number: outline(patent)
        for patent in _with_text(corpus, split, VIEWS["TAC"], "title, abstract and claims", left_out)
    }
    text_of = _text(corpus, VIEWS["TAC"])
    seen: set[tuple[str, str]] = set()
    for citation in corpus.citations:
        citing, cited = known.get(citation.citing), known.get(citation.cited)
        if citing is None or cited is None:
            left_out["citations from or to another split"] += 1
        elif citing.family_id == cited.family_id:
            left_out["citations within a family"] += 1
        elif categories and not is_category(citation.category):
            left_out["citations with a category that no search report uses"] += 1
        elif categories and not degree(citation.category):
            left_out["citations without X, Y or A"] += 1
        elif (citation.citing, citation.cited) in seen:
            left_out["citations that repeat one"] += 1
        else:
            seen.add((citation.citing, citation.cited))
            yield _pair("citations", citing, cited, text_of(citing), text_of(cited))
    if not seen:
        counts = ", ".join(f"{number} {what}" for what, number in left_out.items()) or "no citations at all"
        problem = f"no citation connects two families of the {split} split ({counts})"
        raise DataError(problem, remedy="add citations, or train wipo-r3")


def abstract_and_claim(corpus: Corpus, split: str, left_out: Counts, settings: Settings = DEFAULT) -> Iterator[Pair]:
    """R3: pair the abstract of each publication with its first independent claim."""
    for patent in corpus.members(split):
        abstract, claim = VIEWS["Abstract"](patent), VIEWS["Claim1"](patent)
        if abstract.strip() and claim.strip():
            yield _pair("cross-section", patent, patent, abstract, claim)
        else:
            left_out["publications without abstract or claim"] += 1


def union(corpus: Corpus, split: str, left_out: Counts, settings: Settings) -> Iterator[Pair]:
    """R4: R1, R2 and R3 in turn. Outside the train split, a signal without pairs is skipped and counted."""
    for name in ("co-label", "citations", "cross-section"):
        try:
            yield from SIGNALS[name](corpus, split, left_out, settings)
        except DataError:
            if split == "train":
                raise
            left_out[f"signal {name}: no pair"] += 1


def matched(corpus: Corpus, split: str, left_out: Counts, settings: Settings) -> Iterator[Pair]:
    """R3-matched: a sample of R3, with replacement, of the size of R4 (seed 42, §3.5)."""
    size = sum(1 for _ in union(corpus, split, Counter(), settings))
    return matched_size(lambda: abstract_and_claim(corpus, split, Counter()), size, settings.pair_seed)


def matched_size(pairs: Callable[[], Iterable[Pair]], size: int, seed: int) -> Iterator[Pair]:
    """Sample ``size`` pairs with replacement, in their order."""
    number = sum(1 for _ in pairs())
    if not number:
        raise DataError("there are no pairs to sample from", remedy="give records with abstracts and claims")
    times = Counter(random.Random(seed).choices(range(number), k=size))
    for row, pair in enumerate(pairs()):
        for _ in range(times[row]):
            yield pair


def tagged_ta(patent: Patent) -> str:
    """Title and abstract with PatentMap's section tag, empty if the abstract has fewer than 15 words (appendix A)."""
    long = len(split_words(patent.abstract)) >= _SHORTEST_SECTION
    return title_and_abstract(patent.title, patent.abstract, tags=True) if long else ""


def _sentences_shuffled(text: str, rng: random.Random) -> str:
    """Shuffle the sentences of a text, until the order differs (§5.2 ii)."""
    sentences = _SENTENCE_END.split(text.strip())
    original = list(sentences)
    while len(set(original)) > 1 and sentences == original:
        rng.shuffle(sentences)
    return " ".join(sentences)


def _cropped(text: str, rng: random.Random) -> str:
    """Remove one random span of the words, at least one word (§5.2 iii)."""
    words = split_words(text)
    if len(words) < 2:
        return text
    size = max(1, round(_CROP * len(words)))
    start = rng.randint(0, len(words) - size)
    return "".join([*words[:start], *words[start + size :]]).rstrip()


def _of_abstract(change: Callable[[str, random.Random], str]) -> _Policy:
    return lambda patent, rng: tagged_ta(replace(patent, abstract=change(patent.abstract, rng)))


def _claims(patent: Patent) -> str:
    return claims_text(claim for claim in patent.claims if not _CANCELLED.fullmatch(claim.text))


def _summary(patent: Patent) -> str:
    """The summary, empty if it is a list of figures (appendix A)."""
    return "" if _DRAWINGS.match(patent.description.summary) else patent.description.summary


_SECTIONS: Mapping[str, tuple[str, Callable[[Patent], str]]] = {
    "claims": ("[claim]", _claims),
    "summary": ("[summary]", _summary),
    "background": ("[invention]", lambda patent: patent.description.background),
    "drawings": ("[drawing]", lambda patent: patent.description.drawings),
    "description": ("[description]", lambda patent: patent.description.detailed),
}
"""Tag and text of the sections that are paired with title and abstract (appendix A)."""


def _one_of(sections: Sequence[str]) -> _Policy:
    """Draw the abstract or one of the sections that a patent has (§4.3)."""

    def draw(patent: Patent, rng: random.Random) -> str:
        texts = [(tag, text_of(patent).strip()) for tag, text_of in map(_SECTIONS.__getitem__, sections)]
        long = [f"{tag} {text}" for tag, text in texts if len(split_words(text)) >= _SHORTEST_SECTION]
        return rng.choice([tagged_ta(patent), *long])

    return draw


POLICIES: Mapping[str, _Policy] = {
    "dropout": lambda patent, rng: tagged_ta(patent),
    "shuffle": _of_abstract(_sentences_shuffled),
    "crop": _of_abstract(_cropped),
    "shuffle-crop": _of_abstract(lambda text, rng: _cropped(_sentences_shuffled(text, rng), rng)),
    **{name: _one_of([name]) for name in MAP_SECTIONS},
    **{"-".join(both): _one_of(both) for both in combinations(MAP_SECTIONS, 2)},
}
"""Views of a patent by policy. Paraphrases come from a file, and IPC matches from another patent."""


def two_views(
    corpus: Corpus, split: str, left_out: Counts, settings: Settings = DEFAULT, *, policy: str
) -> Iterator[Pair]:
    """PatentMap: pair title and abstract with a policy's view of the same patent (§4.3).

    The positive is TA, so that all in-batch negatives are the TA of other patents (positive-only, §C.3). ``swap``
    exchanges the two texts of half of the pairs at random (positive+negative).
    """
    for patent in corpus.members(split):
        rng = random.Random(random_key(settings.pair_seed, "view", policy, patent.publication_number))
        first, second = POLICIES[policy](patent, rng), tagged_ta(patent)
        if not second:
            left_out["publications without an abstract of 15 words"] += 1
            continue
        if settings.swap and rng.random() < 0.5:
            first, second = second, first
        yield _pair(f"view:{policy}", patent, patent, first, second)


def paraphrased(corpus: Corpus, split: str, left_out: Counts, settings: Settings, path: Path) -> Iterator[Pair]:
    """PatentMap §5.2 iv: pair TA with its paraphrase from a file (JSON lines of ``id`` and ``text``)."""
    texts: dict[str, str] = {}
    for row, line in json_lines(path):
        key, text = line.get("id"), line.get("text")
        if not isinstance(key, str) or not isinstance(text, str) or not text.strip():
            raise DataError("id or text is missing", path=path, row=row, remedy='write {"id": "US1A1", "text": "..."}')
        texts[key] = text
    for patent in corpus.members(split):
        first, second = texts.get(patent.publication_number, ""), tagged_ta(patent)
        if not (first and second):
            left_out["publications without TA or paraphrase"] += 1
            continue
        if settings.swap and random_key(settings.pair_seed, "swap", patent.publication_number) % 2:
            first, second = second, first
        yield _pair("paraphrase", patent, patent, first, second)


def ipc_matched(corpus: Corpus, split: str, left_out: Counts, settings: Settings = DEFAULT) -> Iterator[Pair]:
    """PatentMap §5.2 vi: pair TA with the TA of another family with exactly the same IPC subgroups."""
    seed = settings.pair_seed
    groups: dict[str, list[Patent]] = defaultdict(list)
    for patent in _with_text(corpus, split, tagged_ta, "an abstract of 15 words", left_out):
        codes = sorted(set(ipc.codes_at(patent.ipc, "subgroup").codes))
        if codes:
            groups[" ".join(codes)].append(outline(patent))
        else:
            left_out["publications without an IPC subgroup"] += 1
    if all(len({patent.family_id for patent in members}) < 2 for members in groups.values()):
        problem = f"no two families of the {split} split share their IPC subgroups"
        raise DataError(problem, remedy="give more records, or another policy")
    for pair in _partners("ipc", dict(sorted(groups.items())), _text(corpus, tagged_ta), seed, left_out):
        if settings.swap and random_key(seed, "swap", pair.anchor_id, pair.positive_id) % 2:
            ends = {"anchor": pair.positive, "anchor_id": pair.positive_id, "anchor_family": pair.positive_family}
            ends |= {"positive": pair.anchor, "positive_id": pair.anchor_id, "positive_family": pair.anchor_family}
            pair = replace(pair, **ends)
        yield pair


def self_aligned(corpus: Corpus, split: str, left_out: Counts, number: int, seed: int) -> Iterator[Pair]:
    """QaECTER: ``number`` pairs of two representations of one publication (§2.1, §3.3), which take turns by hash."""
    members = sorted(
        publications(corpus.members(split))["number"],
        key=lambda publication: (random_key(seed, "self", publication), publication),
    )
    made = turn = fruitless = 0
    while made < number and members and fruitless < len(members):
        patent = corpus.records[members[turn % len(members)]]
        rng = random.Random(random_key(seed, "self", patent.publication_number, str(turn)))
        texts = zip(VIEW_TOKENS, TWELVE, strict=True)
        views = [f"{token} {text}" for token, text_of in texts if (text := text_of(patent)).strip()]
        turn += 1
        if len(views) < 2:
            fruitless += 1
            left_out["publications with fewer than two representations"] += turn <= len(members)
            continue
        fruitless, made = 0, made + 1
        first, second = rng.sample(views, 2)
        yield _pair("self-alignment", patent, patent, first, second)


def with_self_alignment(corpus: Corpus, split: str, left_out: Counts, settings: Settings) -> Iterator[Pair]:
    """QaECTER: citations of X, Y or A, then self-alignment pairs as a share of all pairs (§2.1 states no share)."""
    cited, share = 0, settings.self_share
    for pair in citing_and_cited(corpus, split, left_out, categories=True):
        cited += 1
        yield pair
    yield from self_aligned(corpus, split, left_out, round(cited * share / (1 - share)), settings.pair_seed)


SIGNALS: Mapping[str, Signal] = {
    "co-label": co_labelled,
    "citations": citing_and_cited,
    "cross-section": abstract_and_claim,
    "union": union,
    "matched": matched,
    **{f"view:{policy}": partial(two_views, policy=policy) for policy in POLICIES},
    "ipc": ipc_matched,
    "citations-and-self": with_self_alignment,
}
"""Functions by the name of the signal in the recipes. Paraphrases need a file (:func:`paraphrased`)."""
