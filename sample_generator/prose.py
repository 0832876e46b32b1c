"""Write the texts of a family, in which every section describes the invention in other words.

Abstract, claims and summary use the voice of the family and the description varies it. Expert summary, keywords and
machine summaries use other voices of the principle and other synonyms of the problem.

In a text pattern, ``[a|b]`` chooses an alternative and ``{slot}`` is replaced by the pattern of a slot; ``{Slot}`` gets
a capital letter. Articles are written as ``a`` and corrected at the end.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from patent_mteb.patents.records import Claim, Description, ExpertSummary, MachineSummaries
from sample_generator.random_choice import RandomGenerator
from sample_generator.vocabulary import Vocabulary
from sample_generator.world import Family

Slots = Mapping[str, str]


class _Choice(NamedTuple):
    options: tuple[_Pattern, ...]


class _Slot(NamedTuple):
    name: str
    capital: bool


_Pattern = tuple["str | _Choice | _Slot", ...]
_TOKEN = re.compile(r"\[(?:[Pp]roblem|[Ss]olution)\]|[\[\]|]|\{\w+\}|[^\[\]|{}]+")
_SLOT = re.compile(r"\{(\w+)\}")
_ARTICLE = re.compile(r"([Aa])(?<!\w[Aa])n?(?= ([A-Za-z]+-?))")  # a literal first: many times faster
_VOWEL_SOUND = re.compile(r"(?!uni|use|usu|one|eu)[aeiouAEIOU]|hour|honest|[FHLMNRSX]-")
_AFTER_STOP = re.compile(r"([.!?] )([a-z])")


@cache
def _parse(pattern: str) -> _Pattern:
    """Parse a pattern. Markers such as ``[problem]`` are text."""
    stack: list[list[list[str | _Choice | _Slot]]] = [[[]]]
    for token in _TOKEN.findall(pattern):
        if token == "[":
            stack.append([[]])
        elif token == "|":
            stack[-1].append([])
        elif token == "]":
            options = stack.pop()
            stack[-1][-1].append(_Choice(tuple(tuple(option) for option in options)))
        elif token[0] == "{":
            name = token[1:-1]
            stack[-1][-1].append(_Slot(name.lower(), name[0].isupper()))
        else:
            stack[-1][-1].append(token)
    if len(stack) != 1 or len(stack[0]) != 1:
        raise ValueError(f"unbalanced brackets in the pattern: {pattern}")
    return tuple(stack[0][0])


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _render(pattern: _Pattern, slots: Slots, rng: RandomGenerator) -> str:
    out: list[str] = []
    for piece in pattern:
        if isinstance(piece, str):
            out.append(piece)
        elif isinstance(piece, _Choice):
            out.append(_render(rng.pick(piece.options), slots, rng))
        else:
            text = expand(slots[piece.name], slots, rng)
            out.append(_capital(text) if piece.capital else text)
    return "".join(out)


def expand(pattern: str, slots: Slots, rng: RandomGenerator) -> str:
    return _render(_parse(pattern), slots, rng) if "{" in pattern or "[" in pattern else pattern


def eligible(patterns: Sequence[str], slots: Slots) -> Sequence[str]:
    """Return the patterns whose slots are all known."""
    return _eligible(tuple(patterns), frozenset(slots))


@cache
def _eligible(patterns: tuple[str, ...], slots: frozenset[str]) -> tuple[str, ...]:
    return tuple(pattern for pattern in patterns if slots.issuperset(map(str.lower, _SLOT.findall(pattern))))


def _article(match: re.Match[str]) -> str:
    article, word = match.groups()
    return f"{article}n" if _VOWEL_SOUND.match(word) else article


def finish(text: str) -> str:
    """Correct the articles and capitalise the first letter of every sentence."""
    return _capital(_AFTER_STOP.sub(lambda match: match[1] + match[2].upper(), _ARTICLE.sub(_article, text)))


def sentence(patterns: Sequence[str], slots: Slots, rng: RandomGenerator) -> str:
    """Return a random eligible pattern, expanded and finished."""
    return finish(expand(rng.pick(eligible(patterns, slots)), slots, rng))


VOICES = 3


class Prose:
    """Writes the sections of one family. Equal arguments give equal texts."""

    def __init__(self, vocabulary: Vocabulary, family: Family, seed: str) -> None:
        self._phrases = vocabulary.phrases
        self._family = family
        self._seed = f"{seed}/text/{family.index}"
        rng = RandomGenerator(self._seed)
        own = rng.shuffled(family.problem.part)
        general = rng.shuffled(family.field.part)
        self._parts = (own[0], general[0], own[1] if rng.chance(0.5) else general[1])
        self._devices = rng.shuffled(family.problem.device)
        self._elements = [rng.shuffled(range(4)) for _ in range(VOICES)]

    def _rng(self, section: str) -> RandomGenerator:
        return RandomGenerator(f"{self._seed}/{section}")

    def _slots(self, rng: RandomGenerator, turn: int = 0) -> Slots:
        """The slots in the voice ``turn`` after that of the family."""
        family, field, problem = self._family, self._family.field, self._family.problem
        number = (family.voice + turn) % VOICES
        voice, auxiliary = family.principle.voices[number], family.auxiliary.voices[number]
        elements = [voice.element[place] for place in self._elements[number]]
        device = self._devices[0] if rng.chance(0.5) else rng.pick(self._devices)
        slots = {
            "device": device,
            "field": rng.pick(field.topic),
            "user": rng.pick(field.user),
            "part": self._parts[0],
            "other": self._parts[1],
            "part3": self._parts[2],
            "material": rng.pick(field.material),
            "stuff": field.stuff,
            "setting": rng.pick(field.setting),
            "subject": rng.pick(problem.topic),
            "aim": rng.pick(problem.aim),
            "doing": rng.pick(problem.doing),
            "principle": voice.name,
            "element": elements[0],
            "element2": elements[1],
            "aux_element": rng.pick(auxiliary.element),
            "aux_step": rng.pick(auxiliary.step),
            "section": family.principle.section,
            "sector": rng.pick(self._phrases["sector"][field.coarse]),
            "low": str(rng.number(1, 8)),
            "high": str(rng.number(10, 40)),
            "angle": str(rng.number(5, 60)),
            "count": str(10 * rng.number(2, 90)),
        }
        for name, items in (
            ("how", voice.how),
            ("step", voice.step),
            ("why", voice.why),
            ("aux_how", auxiliary.how),
            ("trouble", problem.trouble),
            ("benefit", problem.benefit),
        ):
            for place, item in enumerate(rng.shuffled(items), start=1):
                slots[name if place == 1 else f"{name}{place}"] = item
        kind = "electronic" if family.principle.electronic else "mechanical"
        slots["measure"] = rng.pick(self._phrases["measure"][kind])
        if rng.chance(0.6):
            kind = "electronic" if family.principle.computing else "mechanical"
            year = family.priority.year
            era = "early" if year <= 2010 else "middle" if year <= 2017 else "late"
            slots["era"] = rng.pick(self._phrases["era"][era][kind])
        if family.also is not None:
            slots["also"] = rng.pick(family.also.doing)
            slots["also_aim"] = rng.pick(family.also.aim)
        return slots

    def _say(self, patterns: Sequence[str], slots: Slots, rng: RandomGenerator) -> str:
        """Expand one of the patterns. Every applicant prefers some of them."""
        choices = eligible(patterns, slots)
        favourite = choices[self._family.style_seed % len(choices)]
        return finish(expand(favourite if rng.chance(0.35) else rng.pick(choices), slots, rng))

    def title(self, variant: int = 0) -> str:
        rng = self._rng(f"title/{variant}")
        kind = "method" if rng.chance(0.12) else "plain"
        return self._say(self._phrases["title"][kind], self._slots(rng), rng)

    def abstract(self, style: str, variant: int = 0, year: int = 0) -> str:
        """Write an abstract in a drafting style; some Japanese ones end with a drawing or copyright note."""
        rng = self._rng(f"abstract/{style}/{variant}")
        phrases = self._phrases["abstract"]
        slots = dict(self._slots(rng))
        slots["more"] = rng.pick(eligible(phrases["more"], slots))
        text = self._say(phrases[style], slots, rng)
        if style == "psolve":
            if rng.chance(0.45):
                text += " " + rng.pick(phrases["tail"])
            elif rng.chance(0.4):
                text += " " + expand(rng.pick(phrases["copyright"]), {"year": str(year)}, rng)
        return text

    def claims(self, style: str, variant: int = 0) -> tuple[Claim, ...]:
        """Write 6 to 15 numbered claims in two or three groups, each with an independent claim."""
        rng = self._rng(f"claims/{style}/{variant}")
        phrases = self._phrases["claims"]
        slots = self._slots(rng)
        groups = [(phrases[f"device_{style}"], slots["device"], phrases["dependent"], rng.number(3, 7))]
        groups.append((phrases["method"], "method", phrases["dependent_method"], rng.number(1, 3)))
        if rng.chance(0.45):
            groups.append((phrases["third"], "", (), 0))
        claims: list[Claim] = []
        for independent, subject, dependent, count in groups:
            first = len(claims) + 1
            claims.append(Claim(first, self._say(independent, slots, rng)))
            if subject == "method":
                subject = "process" if claims[-1].text.startswith("A process") else "method"
            for body in rng.shuffled(eligible(dependent, slots))[:count]:
                number = len(claims) + 1
                reference, depends_on = _reference(style, first, number, rng)
                text = f"The {subject} {reference}, {expand(body, slots, rng)}."
                claims.append(Claim(number, finish(text), depends_on))
        return tuple(claims)

    def description(self, variant: int = 0) -> Description:
        rng = self._rng(f"description/{variant}")
        slots = self._slots(rng)
        background, summary = self._phrases["background"], self._phrases["summary"]
        drawings, detailed = self._phrases["drawings"], self._phrases["detailed"]

        def say(*lists: Sequence[str]) -> str:
            return " ".join(self._say(patterns, slots, rng) for patterns in lists)

        opening = [background["field"], background["state"], background["drawback"]]
        if rng.chance(0.5):
            opening.append(background["need"])
        core = [summary["means"], summary["advantage"]]
        if not rng.chance(0.03):
            core.insert(0, summary["object"])
        first_parts = (say(*opening), say(*core), say(*(drawings[name] for name in ("first", "second", "third"))))
        slots = self._slots(rng, turn=1 if rng.chance(0.5) else 0)
        body = rng.shuffled(eligible(detailed["body"], slots))[: rng.number(3, 5)]
        variants = rng.shuffled(eligible(detailed["variant"], slots))[: rng.number(1, 3)]
        closing = rng.shuffled(eligible(detailed["close"], slots))[: rng.number(1, 2)]
        sentences = [finish(expand(pattern, slots, rng)) for pattern in (*body, *variants, *closing)]
        return Description(*first_parts, " ".join([say(detailed["open"]), *sentences]))

    def expert(self) -> ExpertSummary:
        """Write the six expert fields; the technology focus is sometimes missing, as in the original index."""
        rng = self._rng("expert")
        slots, phrases = self._slots(rng, turn=1), self._phrases["expert"]
        sections = ("title", "detail", "novelty", "use", "advantage")
        title, detail, novelty, use, advantage = (self._say(phrases[name], slots, rng) for name in sections)
        focus = "" if rng.chance(0.15) else self._say(phrases["focus"], slots, rng)
        return ExpertSummary(title, detail, novelty, use, advantage, focus)

    def summaries(self, variant: int = 0) -> MachineSummaries:
        """Write the five machine summaries; a few publications lack one of them."""
        rng = self._rng(f"machine/{variant}")
        slots, phrases = self._slots(rng, turn=2), self._phrases["machine"]
        names = ("abstract", "features", "claims", "advantages", "objectives")
        missing = rng.pick(names) if rng.chance(0.02) else ""
        return MachineSummaries(**{name: sentence(phrases[name], slots, rng) for name in names if name != missing})

    def keywords(self) -> tuple[str, ...]:
        """Choose five to eight index terms."""
        rng = self._rng("keywords")
        family, slots = self._family, self._slots(rng, turn=1)
        plain = [slots[name] for name in ("device", "part", "other", "element", "principle")]
        words = [*plain, *rng.shuffled(family.problem.topic)[:2], rng.pick(family.field.topic), slots["element2"]]
        return tuple(dict.fromkeys(words))[: rng.number(5, 8)]


def _reference(style: str, first: int, number: int, rng: RandomGenerator) -> tuple[str, tuple[int, ...]]:
    """The phrase of a dependent claim that refers to claims of its group, and these claims."""
    before = tuple(range(first, number))
    if style != "us" and len(before) > 2 and rng.chance(0.3):
        return f"according to any one of claims {before[0]} to {before[-1]}", before
    if style != "us" and len(before) > 1 and rng.chance(0.25):
        return f"according to claim {before[-2]} or {before[-1]}", before[-2:]
    if style == "ep" and first == 1 and number > 3 and rng.chance(0.15):
        return "according to any one of the preceding claims", before
    base = first if rng.chance(0.65) else rng.pick(before)
    if style == "us":
        return rng.pick((f"of claim {base}", f"of claim {base}", f"as claimed in claim {base}")), (base,)
    return f"according to claim {base}", (base,)
