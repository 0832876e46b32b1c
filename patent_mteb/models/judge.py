"""A language model as a reranker: it grades each pair of query and document by itself (pointwise), from 0 to 4.

Pointwise grading is the one way offered: a pair's grade depends on no other pair, so that answers can be kept one by
one, a run that was cut off loses nothing, and a deeper one asks only for what is new. Documents of one grade stay in
the order of the first stage (:class:`~patent_mteb.search.rerank.Reranked`). The wording is the suite's own; it tells
the model what the task asks for.
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

from patent_mteb.endpoints.chat import Answer, Chat, Usage, spoken, who_answered
from patent_mteb.errors import ModelError
from patent_mteb.identity import digest

if TYPE_CHECKING:
    from mteb.abstasks.task_metadata import TaskMetadata

__all__ = ["GRADES", "Judge", "grade_in"]

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
    """The grade that an answer holds; None if it says anything else. What a model thinks aloud before it does not
    count.
    """
    said = spoken(text) or ""
    first, last = _WORD.search(said), _WORD.search(said[::-1])
    found = _GRADE.fullmatch(said, first.start(), len(said) - last.start()) if first and last else None
    return int(found[1]) if found else None


class Judge:
    """A cross-encoder of mteb that asks a language model.

    An answer without a grade, that was cut off, or that is a refusal counts as grade 0 and is counted by kind
    (``unreadable`` in the evidence of a result); a model that gives more than 5% of them is refused. The evidence names
    the models that the server says have answered, and their days: a hosted name moves from one to another.

    Args:
        chat: the model, with its budget and its kept answers.
        characters: of query and of document that it reads.

    Example:
        >>> from patent_mteb.endpoints.chat import Chat
        >>> from patent_mteb.endpoints.client import Endpoint
        >>> from patent_mteb.models.judge import Judge
        >>> Judge(Chat(Endpoint("http://localhost:8000/v1"), "org/my-model")).mteb_model_meta.name
        'chat/org-my-model'
    """

    graded = True
    cuts_pairs = True

    def __init__(self, chat: Chat, *, characters: int = 8000) -> None:
        if characters < 1:
            raise ModelError(f"a model cannot read {characters} characters. Remedy: give a positive number")
        self.chat = chat
        self.characters = characters
        self.unreadable: Counter[str] = Counter()
        self._asked: dict[str, Answer] = {}
        settings = {**chat.identity, "characters": characters, "prompt": digest(_INSTRUCTION)}
        self.mteb_model_meta = ModelMeta.create_empty(
            overwrites={
                "name": f"chat/{re.sub(r'[^A-Za-z0-9._-]+', '-', chat.model)}",
                "revision": digest(settings),
                "experiment_kwargs": settings,
                "model_type": ["cross-encoder"],
                "use_instructions": True,
            }
        )

    def effort(self) -> dict[str, Any]:
        """What the answers since the last call of this method took, those from disk included, each once.

        ``seconds`` are of one after the other, ``models`` the answers of each model that the server named, ``days`` the
        first and the last of them.
        """
        answers, self._asked = list(self._asked.values()), {}
        unreadable, self.unreadable = self.unreadable, Counter()
        asked = sum((answer.usage for answer in answers), Usage())
        cost = asked.cost(self.chat.meter.prices)
        counts = {"calls": asked.calls, "input_tokens": asked.input_tokens, "output_tokens": asked.output_tokens}
        kinds = {"unreadable": unreadable.total(), **({"unreadable_kinds": dict(unreadable)} if unreadable else {})}
        took = {**counts, "seconds": asked.seconds, **kinds, **({"cost": cost} if cost else {})}
        return took | who_answered(self.chat.model, ((answer.model, answer.day) for answer in answers))

    def fixed_answers(self, pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
        """The grades of some pairs and the models that the server names, asked now: kept answers would hide that it
        moved.

        Raises:
            EndpointError: the server gives no answer, or the budget is spent.
        """
        answers = [self.chat.ask_now(_INSTRUCTION, self._message(_ANYTHING_RELEVANT, *pair)) for pair in pairs]
        grades = [0 if answer.fault else grade_in(answer.text) or 0 for answer in answers]
        return {"grades": grades, "models": sorted({answer.model for answer in answers})}

    def predict(
        self,
        inputs1: Iterable[dict[str, Any]],
        inputs2: Iterable[dict[str, Any]],
        *,
        task_metadata: TaskMetadata,
        hf_split: str,
        hf_subset: str,
        prompt_type: Any = None,
        **kwargs: Any,
    ) -> NDArray[np.float64]:
        """The grades of pairs.

        Raises:
            ModelError: too many answers hold no grade.
            EndpointError: the server gives no answer, or the budget is spent; what was answered is kept.
        """
        wanted = _wanted(task_metadata)
        grades, asked, unreadable = list[int](), dict[str, Answer](), Counter[str]()
        questions = (
            (_INSTRUCTION, self._message(wanted, *pair)) for pair in zip(_texts(inputs1), _texts(inputs2), strict=True)
        )
        with contextlib.closing(self.chat.ask_all(questions)) as answers:
            for answer in tqdm(answers, desc="Grading pairs", disable=not kwargs.get("show_progress_bar", True)):
                asked[answer.key] = answer
                grade = None if answer.fault else grade_in(answer.text)
                if grade is None:
                    unreadable[answer.fault or _NO_GRADE] += 1
                grades.append(grade or 0)
                if (n := unreadable.total()) > max(_UNREADABLE_AT_LEAST, _UNREADABLE * len(grades)):
                    kinds = ", ".join(f"{number} {kind}" for kind, number in unreadable.most_common())
                    raise ModelError(
                        f"{self.chat.model} gave {n} of {len(grades)} answers without a grade from 0 to {GRADES}, "
                        f"the last is {answer.text[:100]!r} ({kinds}). Remedy: use a model that follows instructions, "
                        "or give it room to answer: --request '{\"max_tokens\": 1024}'"
                    )
        self._asked |= asked
        self.unreadable.update(unreadable)
        return np.array(grades, np.float64)

    def _message(self, wanted: str, query: str, document: str) -> str:
        return f"SEARCH: {wanted}\n\nQUERY:\n{query[: self.characters]}\n\nDOCUMENT:\n{document[: self.characters]}"


def _texts(batches: Iterable[dict[str, Any]]) -> Iterator[str]:
    return chain.from_iterable(batch["text"] for batch in batches)


def _wanted(task: TaskMetadata) -> str:
    """What the task tells instruction models about its queries."""
    prompt: Any = getattr(task, "prompt", None)
    if isinstance(prompt, dict):
        prompt = prompt.get("query")
    return str(prompt or _ANYTHING_RELEVANT)
