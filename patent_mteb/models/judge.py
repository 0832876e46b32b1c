"""A language model as a reranker: pointwise, listwise by sliding windows, setwise by heap sort.

**Pointwise**: the model grades each pair of query and document from 0 to 4. Answers are cached one by one, and a deeper
run sends only the new pairs. Documents of equal grade keep the order of the first stage.

**Listwise** (RankGPT, Sun et al. 2023): the model orders a window of documents, and the window moves from the end of
the list to its beginning by half its length, so that a relevant document can rise to the top. The last window always
begins at the first document.

**Setwise** (Zhuang et al. 2024): the model names the best document of a small set. Heap sort finds the first ten with
these answers. All others keep the order of the first stage behind them.

The instructions are our own wording.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter, defaultdict, deque
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal, get_args

import numpy as np
from datasets import Dataset
from mteb.abstasks.task_metadata import TaskMetadata
from mteb.models.model_meta import ModelMeta
from numpy.typing import NDArray
from tqdm import tqdm

from patent_mteb.endpoints.chat import Answer, Chat, Usage, models_and_days, visible_answer
from patent_mteb.errors import ModelError
from patent_mteb.identity import digest
from patent_mteb.search.base import ArraySearch, SearchContext, document_text, query_texts
from patent_mteb.search.run import Run
from patent_mteb.store.pair_scores import rows_of

GRADES = 4  # 0 to 4, as the prompt says
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
_UNREADABLE = 0.05  # share of unreadable answers that ends a task, a choice
_UNREADABLE_AT_LEAST = 5  # so that a few answers of a small task do not end it


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
            raise ModelError(f"cannot read {characters} characters of a text", remedy="give a positive number")
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
                f" {answer.text[:100]!r} ({kinds})",
                remedy=(
                    "use a model that follows instructions, or allow longer answers: --request '{\"max_tokens\": 1024}'"
                ),
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
            for query, document in zip(rows_of(inputs1), rows_of(inputs2), strict=True):
                ids.append(query.get("id", ""))
                yield _INSTRUCTION, self._message(goal, query["text"], document["text"])

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


Method = Literal["listwise", "setwise"]
Ranking = Generator[list[int], list[int], list[int]]
"""Sends lists of documents, receives each in another order, and returns the order of all."""

WINDOW = {"listwise": 20, "setwise": 4}
"""Documents of a question, as the authors recommend."""
_SORTED = 10  # places that setwise sorts, as many as nDCG@10 regards
_INCOMPLETE = "incomplete"
_TASK = "You compare documents that a patent search has found. You get what the search was for, a QUERY and several"
_INSTRUCTIONS = {
    "listwise": f"{_TASK} numbered DOCUMENTS. Order them by how well each answers the query, the best first: a document"
    " that discloses the same invention, or all that is essential to it, is best. Answer with all numbers in this form"
    " and nothing else: [2] > [3] > [1]",
    "setwise": f"{_TASK} numbered DOCUMENTS. Which one answers the query best, because it discloses the same invention,"
    " or most of what is essential to it? Answer with its number in this form and nothing else: [2]",
}
_NUMBER = re.compile(r"\[\s*(\d{1,6})\s*\]")
_CHAIN = re.compile(r"\[\s*\d{1,6}\s*\](?:\s*>\s*\[\s*\d{1,6}\s*\])+")
_BARE = re.compile(r"(?:[a-z ]{1,20}[:=]|documents?)?\W*(\d{1,6}(?:[\s,;>]+\d{1,6})*)\W*", re.IGNORECASE)


def sliding(n: int, window: int) -> Ranking:
    """Order ``n`` documents by windows that move from the last to the first by half their length."""
    order, end, start = list(range(n)), n, n
    while start and n > 1:
        start = max(end - window, 0)
        order[start:end] = yield order[start:end]
        end -= max(window // 2, 1)
    return order


def heap(n: int, size: int, first: int = _SORTED) -> Ranking:
    """Find the ``first`` best of ``n`` documents by heap sort on sets of ``size``; it uses the head of an answer."""
    order = list(range(n))

    def sift(place: int, end: int) -> Generator[list[int], list[int], None]:
        while len(group := [place, *range(place * (size - 1) + 1, min(place * (size - 1) + size, end))]) > 1:
            head = (yield sorted(order[one] for one in group))[0]  # without an answer, the first stage's best
            best = next(one for one in group if order[one] == head)
            if best == place:
                return
            order[place], order[best], place = order[best], order[place], best

    for place in reversed(range(n)):
        yield from sift(place, n)
    found: list[int] = []
    while len(found) < min(first, n):
        found.append(order[0])
        order[0] = order[n - len(found)]
        if len(found) < first:
            yield from sift(0, n - len(found))
    return found + sorted(set(range(n)) - set(found))


def numbers_in(text: str) -> list[int]:
    """Return the numbers of an answer: its last chain [2] > [1], else those in brackets, else those without words."""
    if found := _NUMBER.findall(chains[-1] if (chains := _CHAIN.findall(text)) else text):
        return list(map(int, found))
    bare = _BARE.fullmatch(text.strip())
    return list(map(int, re.findall(r"\d+", bare[1]))) if bare else []


class ListJudge(Questioner, ArraySearch):
    """A listwise or setwise reranker: ``Reranked(bm25("dapfam"), ListJudge(chat, "listwise"))``.

    It ranks the candidates of a search; the order in which they are given is that of the first stage. In an answer,
    repeated and unknown numbers are ignored, and documents that it leaves out keep their order behind those that it
    names; such answers are counted (``incomplete``). An answer that names fewer than half of the documents, or counts
    from 0, is not a ranking and leaves the order of its question. Scores are ranks, counted from the last one.
    """

    ranks_lists = True

    def __init__(
        self,
        chat: Chat,
        method: Method = "listwise",
        *,
        window: int | None = None,  # documents of a question; see WINDOW
        characters: int = 2000,  # of a document; of a query 8,000
    ) -> None:
        if method not in get_args(Method):
            raise ModelError(f"there is no method '{method}'", remedy=f"choose among {', '.join(get_args(Method))}")
        self.method, self.window = method, WINDOW[method] if window is None else window
        least = 2 if method == "listwise" else 3  # a heap of pairs would be a chain
        if self.window < least:
            problem = f"a {method} question compares {least} documents or more, not {self.window}"
            raise ModelError(problem, remedy="a larger window")
        self.wanted = "order of the documents" if method == "listwise" else "number of one document"
        settings = {"method": method, "window": self.window, "characters of a query": CHARACTERS}
        settings |= {"first": _SORTED} if method == "setwise" else {}
        super().__init__(chat, _INSTRUCTIONS[method], settings, characters)

    def _begin(self) -> None:
        super()._begin()
        self.incomplete, self._traces = 0, defaultdict[str, list[dict[str, Any]]](list)

    def efforts(self) -> dict[str, dict[str, Any]]:
        known, nothing = super().efforts(), self._amounts(Usage())
        return {query: {**known.get(query, nothing), "trace": trace} for query, trace in self._traces.items()}

    def effort(self) -> dict[str, Any]:
        return {**super().effort(), "incomplete": self.incomplete}

    def fixed_answers(self, pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
        """Rank fixed documents without the cache; their places are the grades (:meth:`.Judge.fixed_answers`)."""
        documents = [document for _, document in pairs]
        answer = self.chat.ask_now(self._instruction, self._message(ANYTHING_RELEVANT, pairs[0][0], documents))
        order, _ = self._ordered(answer, list(range(len(pairs))))
        return {"grades": [order.index(place) for place in range(len(pairs))], "models": [answer.model]}

    def search_run(self, queries: Dataset, top_k: int, context: SearchContext) -> Run:
        if context.top_ranked is None:
            raise ModelError(f"{self.mteb_model_meta.name} ranks candidates only", remedy="use it with --rerank")
        query_ids = queries["id"][:]
        given = context.gate.admitted(context.top_ranked) if context.gate else context.top_ranked
        lists = {query: list(given.get(query) or ()) for query in query_ids}
        texts = dict(zip(query_ids, query_texts(queries), strict=True))
        row = {document: place for place, document in enumerate(self.corpus["id"][:])}

        def question(query: str, group: Sequence[int]) -> tuple[str, str]:
            documents = [document_text(self.corpus[row[lists[query][number]]]) for number in group]
            return self._instruction, self._message(goal_of(context.task_metadata), texts[query], documents)

        progress = tqdm(desc=f"Ranking {self.method}", disable=not context.encode_kwargs.get("show_progress_bar", True))
        with progress:
            orders = self._orders(lists, question, progress)
        ranked = {query: [lists[query][number] for number in order] for query, order in orders.items()}
        results = {
            query: {key: float(len(one) - place) for place, key in enumerate(one)} for query, one in ranked.items()
        }
        return Run.from_dict(results, query_ids, self.doc_ids).top(top_k)

    def _orders(self, lists: Mapping[str, Sequence[str]], question: Any, progress: Any) -> dict[str, list[int]]:
        """Order all lists at the same time: the next question of each is asked in one round."""
        sort = sliding if self.method == "listwise" else heap
        rankings = {query: sort(len(documents), self.window) for query, documents in lists.items()}
        replies: dict[str, list[int] | None] = dict.fromkeys(rankings)
        found: dict[str, list[int]] = {}
        self._begin()
        while replies:
            groups: dict[str, list[int]] = {}
            for query, reply in replies.items():
                try:
                    groups[query] = rankings[query].send(reply)  # type: ignore[arg-type]  # None starts it
                except StopIteration as done:
                    found[query] = done.value
            replies = {}
            with contextlib.closing(self.chat.ask_all(question(*one) for one in groups.items())) as answers:
                for (query, group), answer in zip(groups.items(), answers, strict=True):
                    order, problem = self._ordered(answer, group)
                    self._count(query, answer, problem if problem != _INCOMPLETE else "")
                    self.incomplete += problem == _INCOMPLETE
                    ids = [[lists[query][number] for number in one] for one in (group, order)]
                    self._traces[query].append({"documents": ids[0], "order": ids[1], "problem": problem})
                    replies[query] = order
                    progress.update()
        return found

    def _ordered(self, answer: Answer, group: Sequence[int]) -> tuple[list[int], str]:
        """The documents of a question in the order of its answer, and the problem of the answer, if any."""
        named = [] if answer.fault else [number - 1 for number in numbers_in(answer.text)]
        known = [group[number] for number in dict.fromkeys(named) if 0 <= number < len(group)]
        if not known or (self.method == "setwise" and len(set(named)) > 1):
            return list(group), answer.fault or f"no {self.wanted}"
        if -1 in named:  # all numbers may be one too low
            return list(group), "numbers from 0"
        if self.method == "listwise" and 2 * len(known) < len(group):
            return list(group), "fewer than half of the documents"
        order = known + [document for document in group if document not in known]
        whole = len(named) == len(known) == (len(group) if self.method == "listwise" else 1)
        return order, "" if whole else _INCOMPLETE

    def _message(self, goal: str, query: str, documents: Sequence[str]) -> str:
        parts = [f"SEARCH: {goal}", f"QUERY:\n{shortened(query, CHARACTERS)}"]
        parts += [f"DOCUMENT [{n}]:\n{shortened(text, self.characters)}" for n, text in enumerate(documents, start=1)]
        return "\n\n".join(parts)
