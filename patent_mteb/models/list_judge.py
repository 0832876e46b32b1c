"""A language model that ranks lists: listwise by sliding windows, setwise by heap sort.

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
from collections import defaultdict
from collections.abc import Generator, Mapping, Sequence
from typing import Any, Literal, get_args

from datasets import Dataset
from tqdm import tqdm

from patent_mteb.endpoints.chat import Answer, Chat, Usage
from patent_mteb.errors import ModelError
from patent_mteb.models.judge import ANYTHING_RELEVANT, CHARACTERS, Questioner, goal_of, shortened
from patent_mteb.search.base import ArraySearch, SearchContext, document_text, query_texts
from patent_mteb.search.run import Run

Method = Literal["listwise", "setwise"]
Ranking = Generator[list[int], list[int], list[int]]
"""Sends lists of documents, receives each in another order, and returns the order of all."""

WINDOW = {"listwise": 20, "setwise": 4}
"""Documents of a question, as the authors recommend."""
_SORTED = 10
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
    """Return the numbers of an answer, in brackets or with nothing between them but punctuation."""
    if found := _NUMBER.findall(text):
        return list(map(int, found))
    bare = _BARE.fullmatch(text.strip())
    return list(map(int, re.findall(r"\d+", bare[1]))) if bare else []


class ListJudge(Questioner, ArraySearch):
    """A listwise or setwise reranker: ``Reranked(bm25("dapfam"), ListJudge(chat, "listwise"))``.

    It ranks the candidates of a search; the order in which they are given is that of the first stage. In an answer,
    repeated and unknown numbers are ignored, and documents that it leaves out keep their order behind those that it
    names; such answers are counted (``incomplete``). An answer without a ranking leaves the order of its question.
    Scores are ranks, counted from the last one.
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
            raise ModelError(f"there is no method '{method}'. Remedy: choose among {', '.join(get_args(Method))}")
        self.method, self.window = method, WINDOW[method] if window is None else window
        least = 2 if method == "listwise" else 3  # a heap of pairs would be a chain
        if self.window < least:
            problem = f"a {method} question compares {least} documents or more, not {self.window}"
            raise ModelError(f"{problem}. Remedy: a larger window")
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
            raise ModelError(f"{self.mteb_model_meta.name} ranks candidates only. Remedy: use it with --rerank")
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
        order = known + [document for document in group if document not in known]
        whole = len(named) == len(known) == (len(group) if self.method == "listwise" else 1)
        return order, "" if whole else _INCOMPLETE

    def _message(self, goal: str, query: str, documents: Sequence[str]) -> str:
        parts = [f"SEARCH: {goal}", f"QUERY:\n{shortened(query, CHARACTERS)}"]
        parts += [f"DOCUMENT [{n}]:\n{shortened(text, self.characters)}" for n, text in enumerate(documents, start=1)]
        return "\n\n".join(parts)
