"""A language model as a pointwise reranker: it grades each pair of query and document from 0 to 4.

A pair's grade depends on no other pair, so answers are cached one by one, and a deeper run sends only the new pairs.
Documents of equal grade keep the order of the first stage. The instruction is our own wording.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from mteb.models.model_meta import ModelMeta
from numpy.typing import NDArray
from tqdm import tqdm

from patent_mteb.endpoints.chat import Answer, Chat, Usage, models_and_days, visible_answer
from patent_mteb.errors import ModelError
from patent_mteb.identity import digest

if TYPE_CHECKING:
    from mteb.abstasks.task_metadata import TaskMetadata

GRADES = 4
_INSTRUCTION = f"""You grade documents that a patent search has found.
You get what the search was for, a QUERY and a DOCUMENT. Grade how well the document answers the query:
{GRADES}: it discloses the same invention, or all that is essential to it
3: it discloses a large part of it, or a close variant for the same purpose
2: it discloses single essential features, or solves a closely related problem
1: it is of the same technical field only
0: it has nothing to do with it
Answer with the number alone."""
ANYTHING_RELEVANT = "Find prior art for the patent."
_WORD = re.compile(r"[^\W_]")
_GRADE = re.compile(rf"(?:[A-Za-z ]{{0,20}}(?:[^\w:=]|_)*+[:=][\W_]*+)?([0-{GRADES}])(?:\s*+/\s*+{GRADES})?")
CHARACTERS = 8000  # of a query or document
_NO_GRADE = "no grade"
_UNREADABLE = 0.05
_UNREADABLE_AT_LEAST = 5


def grade_in(text: str) -> int | None:
    """Return the grade in an answer, None if the answer says anything else. Reasoning before it is ignored."""
    answer = visible_answer(text) or ""
    first, last = _WORD.search(answer), _WORD.search(answer[::-1])
    match = _GRADE.fullmatch(answer, first.start(), len(answer) - last.start()) if first and last else None
    return int(match[1]) if match else None


class Questioner:
    """Questions of a reranker to a language model, with counts of its answers.

    Truncated answers, refusals and answers in another form are counted by kind (``unreadable`` in the evidence of a
    result), and more than 5% of them are an error. The evidence names the models and days that the server reports,
    because a hosted name may move to another model.
    """

    wanted = ""  # what an answer must have

    def __init__(self, chat: Chat, instruction: str, settings: Mapping[str, Any], characters: int) -> None:
        if characters < 1:
            raise ModelError(f"cannot read {characters} characters of a text. Remedy: give a positive number")
        self.chat, self.characters, self._instruction = chat, characters, instruction
        self._begin()
        text = {"characters": characters, "cut": "word", "prompt": digest(instruction)}
        identity = {**chat.identity, **text, **settings}
        facts = {"revision": digest(identity), "experiment_kwargs": identity, "model_type": ["cross-encoder"]}
        method = f"-{settings['method']}" if "method" in settings else ""
        name = f"chat/{re.sub(r'[^A-Za-z0-9._-]+', '-', chat.model)}{method}"
        self.mteb_model_meta = ModelMeta.create_empty({"name": name, "use_instructions": True, **facts})

    def _begin(self) -> None:
        """Forget the answers of the last ranking."""
        self.unreadable = Counter[str]()
        self._received: dict[str, tuple[str, Answer]] = {}  # by key, with the query that it was first requested for
        self._asked = 0

    def _count(self, query: str, answer: Answer, problem: str) -> None:
        """Count an answer, with the reason not to use it if there is one; refuse a model with many of these."""
        self._received.setdefault(answer.key, (query, answer))
        self._asked += 1
        self.unreadable.update([problem] if problem else [])
        if problem and (n := self.unreadable.total()) > max(_UNREADABLE_AT_LEAST, _UNREADABLE * self._asked):
            kinds = ", ".join(f"{number} {kind}" for kind, number in self.unreadable.most_common())
            raise ModelError(
                f"{n} of {self._asked} answers of {self.chat.model} have no {self.wanted}; the last is"
                f" {answer.text[:100]!r} ({kinds}). Remedy: use a model that follows instructions, or allow longer"
                " answers: --request '{\"max_tokens\": 1024}'"
            )

    def efforts(self) -> dict[str, dict[str, Any]]:
        """Return the usage by query of the distinct answers of the last ranking."""
        usages: dict[str, Usage] = {}
        for query, answer in self._received.values():
            usages[query] = usages.get(query, Usage()) + answer.usage
        return {query: self._amounts(usage) for query, usage in usages.items()}

    def effort(self) -> dict[str, Any]:
        """Return the usage of the distinct answers of the last ranking, including cached answers."""
        answers = [answer for _, answer in self._received.values()]
        kinds = {"unreadable_kinds": dict(self.unreadable)} if self.unreadable else {}
        served = models_and_days(self.chat.model, ((answer.model, answer.day) for answer in answers))
        usage = self._amounts(sum((answer.usage for answer in answers), Usage()))
        return {**usage, "unreadable": self.unreadable.total(), **kinds, **served}

    def _amounts(self, usage: Usage) -> dict[str, Any]:
        cost = usage.cost(self.chat.meter.prices)
        return {**asdict(usage), **({"cost": cost} if cost else {})}


class Judge(Questioner):
    """A pointwise reranker: a cross-encoder of mteb that queries a language model.

    Answers without a grade count as grade 0.
    """

    graded = True
    cuts_pairs = True
    wanted = f"grade from 0 to {GRADES}"

    def __init__(self, chat: Chat, *, characters: int = CHARACTERS) -> None:
        super().__init__(chat, _INSTRUCTION, {}, characters)

    def fixed_answers(self, pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
        """Grade pairs without the cache, which would hide a change of the served model, and name the models."""
        answers = [self.chat.ask_now(_INSTRUCTION, self._message(ANYTHING_RELEVANT, *pair)) for pair in pairs]
        grades = [0 if answer.fault else grade_in(answer.text) or 0 for answer in answers]
        return {"grades": grades, "models": sorted({answer.model for answer in answers})}

    def predict(
        self,
        inputs1: Iterable[dict[str, Any]],
        inputs2: Iterable[dict[str, Any]],
        *,
        task_metadata: TaskMetadata,
        **kwargs: Any,
    ) -> NDArray[np.float64]:
        """Grade pairs of query and document. If it raises, earlier answers stay cached."""
        goal, ids, grades = goal_of(task_metadata), deque[str](), list[int]()
        self._begin()

        def questions() -> Iterator[tuple[str, str]]:
            for (query, text), (_, document) in zip(_rows(inputs1), _rows(inputs2), strict=True):
                ids.append(query)
                yield _INSTRUCTION, self._message(goal, text, document)

        with contextlib.closing(self.chat.ask_all(questions())) as answers:
            for answer in tqdm(answers, desc="Grading pairs", disable=not kwargs.get("show_progress_bar", True)):
                grade = None if answer.fault else grade_in(answer.text)
                self._count(ids.popleft(), answer, answer.fault or _NO_GRADE if grade is None else "")
                grades.append(grade or 0)
        return np.array(grades, np.float64)

    def _message(self, goal: str, query: str, document: str) -> str:
        query, document = (shortened(text, self.characters) for text in (query, document))
        return f"SEARCH: {goal}\n\nQUERY:\n{query}\n\nDOCUMENT:\n{document}"


def goal_of(task: TaskMetadata) -> str:
    """The instruction of a task."""
    prompt: Any = getattr(task, "prompt", None)
    return str((prompt.get("query") if isinstance(prompt, dict) else prompt) or ANYTHING_RELEVANT)


def shortened(text: str, characters: int) -> str:
    """Cut a text at the end of its last whole word, or in a word that is longer than the limit."""
    if len(text) <= characters:
        return text
    end = max(text.rfind(blank, 0, characters + 1) for blank in " \n\t")
    return text[: end if end > 0 else characters].rstrip()


def _rows(batches: Iterable[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Ids, empty where unknown, and texts."""
    for batch in batches:
        yield from zip(batch.get("id") or [""] * len(batch["text"]), batch["text"], strict=True)
