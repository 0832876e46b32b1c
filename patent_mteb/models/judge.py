"""A language model as a pointwise reranker: it grades each pair of query and document from 0 to 4.

A pair's grade depends on no other pair, so answers are cached one by one, and a deeper run sends only the new pairs.
Documents of equal grade keep the order of the first stage. The instruction is our own wording.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
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
_ANYTHING_RELEVANT = "Find prior art for the patent."
_WORD = re.compile(r"[^\W_]")
_GRADE = re.compile(rf"(?:[A-Za-z ]{{0,20}}(?:[^\w:=]|_)*+[:=][\W_]*+)?([0-{GRADES}])(?:\s*+/\s*+{GRADES})?")
_NO_GRADE = "no grade"
_UNREADABLE = 0.05
_UNREADABLE_AT_LEAST = 5


def grade_in(text: str) -> int | None:
    """Return the grade in an answer, None if the answer says anything else. Reasoning before it is ignored."""
    answer = visible_answer(text) or ""
    first, last = _WORD.search(answer), _WORD.search(answer[::-1])
    match = _GRADE.fullmatch(answer, first.start(), len(answer) - last.start()) if first and last else None
    return int(match[1]) if match else None


class Judge:
    """A cross-encoder of mteb that queries a language model.

    Truncated answers, refusals and answers without a grade count as grade 0. They are counted by kind (``unreadable``
    in the evidence of a result), and more than 5% of them are an error. The evidence names the models and days that the
    server reports, because a hosted name may move to another model.
    """

    graded = True
    cuts_pairs = True

    def __init__(self, chat: Chat, *, characters: int = 8000) -> None:  # of a query, and of a document
        if characters < 1:
            raise ModelError(f"cannot read {characters} characters of a text. Remedy: give a positive number")
        self.chat, self.characters = chat, characters
        self.unreadable: Counter[str] = Counter()
        self._answers: dict[str, Answer] = {}
        settings = {**chat.identity, "characters": characters, "cut": "word", "prompt": digest(_INSTRUCTION)}
        facts = {"revision": digest(settings), "experiment_kwargs": settings, "model_type": ["cross-encoder"]}
        name = f"chat/{re.sub(r'[^A-Za-z0-9._-]+', '-', chat.model)}"
        self.mteb_model_meta = ModelMeta.create_empty({"name": name, "use_instructions": True, **facts})

    def effort(self) -> dict[str, Any]:
        """Return the usage of the distinct answers since the last call, including cached answers."""
        answers, self._answers = list(self._answers.values()), {}
        unreadable, self.unreadable = self.unreadable, Counter()
        usage = sum((answer.usage for answer in answers), Usage())
        cost = usage.cost(self.chat.meter.prices)
        counts = {"calls": usage.calls, "input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
        kinds = {"unreadable": unreadable.total(), **({"unreadable_kinds": dict(unreadable)} if unreadable else {})}
        effort = {**counts, "seconds": usage.seconds, **kinds, **({"cost": cost} if cost else {})}
        return effort | models_and_days(self.chat.model, ((answer.model, answer.day) for answer in answers))

    def fixed_answers(self, pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
        """Grade pairs without the cache, which would hide a change of the served model, and name the models."""
        answers = [self.chat.ask_now(_INSTRUCTION, self._message(_ANYTHING_RELEVANT, *pair)) for pair in pairs]
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
        prompt: Any = getattr(task_metadata, "prompt", None)
        goal = str((prompt.get("query") if isinstance(prompt, dict) else prompt) or _ANYTHING_RELEVANT)
        grades, received, unreadable = list[int](), dict[str, Answer](), Counter[str]()
        questions = (
            (_INSTRUCTION, self._message(goal, *pair)) for pair in zip(_texts(inputs1), _texts(inputs2), strict=True)
        )
        with contextlib.closing(self.chat.ask_all(questions)) as answers:
            for answer in tqdm(answers, desc="Grading pairs", disable=not kwargs.get("show_progress_bar", True)):
                received[answer.key] = answer
                grade = None if answer.fault else grade_in(answer.text)
                if grade is None:
                    unreadable[answer.fault or _NO_GRADE] += 1
                grades.append(grade or 0)
                if (n := unreadable.total()) > max(_UNREADABLE_AT_LEAST, _UNREADABLE * len(grades)):
                    kinds = ", ".join(f"{number} {kind}" for kind, number in unreadable.most_common())
                    raise ModelError(
                        f"{n} of {len(grades)} answers of {self.chat.model} have no grade from 0 to {GRADES}; "
                        f"the last is {answer.text[:100]!r} ({kinds}). Remedy: use a model that follows instructions, "
                        "or allow longer answers: --request '{\"max_tokens\": 1024}'"
                    )
        self._answers |= received
        self.unreadable.update(unreadable)
        return np.array(grades, np.float64)

    def _message(self, goal: str, query: str, document: str) -> str:
        query, document = (_shortened(text, self.characters) for text in (query, document))
        return f"SEARCH: {goal}\n\nQUERY:\n{query}\n\nDOCUMENT:\n{document}"


def _shortened(text: str, characters: int) -> str:
    """Cut a text at the end of its last whole word, or in a word that is longer than the limit."""
    if len(text) <= characters:
        return text
    end = max(text.rfind(blank, 0, characters + 1) for blank in " \n\t")
    return text[: end if end > 0 else characters].rstrip()


def _texts(batches: Iterable[dict[str, Any]]) -> Iterator[str]:
    return chain.from_iterable(batch["text"] for batch in batches)
