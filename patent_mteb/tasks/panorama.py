"""PANORAMA: reranking of documents and paragraphs cited by examiners of the USPTO.

Two of the three tasks of PANORAMA (Lim et al. 2025) are questions with options, which a ranking can answer: PAR4PC
(prior art retrieval) and PI4PC (paragraph identification). A query is a claim after the claims that it depends on, and
its options are the only candidates. Gold answers have grade 2, silver ones 1, negative ones 0.
Read from ``PAR4PC/test.parquet`` and ``PI4PC/test.parquet`` of the hub's data set:

===============================  =======================================================================================
column                           content
===============================  =======================================================================================
``application_number``           of the application, text
``claim_number``                 of the rejected claim, from 1
``context``                      ``title``, ``abstract``, ``claims`` (list of texts, each with its number) of the
                                 application
``options``                      PAR4PC: letter -> ``patent_id``, ``title``, ``abstract``, ``claims``; PI4PC: paragraph
                                 number -> its text
``gold_answers``                 keys of options; ``silver_answers`` and ``negative_answers`` alike
``prior_art_specification``      PI4PC: ``title``, ``abstract``, ``claims``, ``specification`` of the cited document;
                                 not read
===============================  =======================================================================================

Fields and values are those of the authors' sample files. Nested fields are structures or JSON texts, and answers are
lists or texts with commas. Anything else is an error that names the row. The third task is
:class:`NoveltyClassification`.

The authors' evaluation expects sets of letters or one paragraph. In a ranking these are the first ranks: as many as
there are gold answers (PAR4PC), or one (PI4PC). ``exact_match`` is the share of queries where they are the gold
answers. ``custom_score`` is the authors' score: for PAR4PC (2 TP - FP - FN) / (2 gold), at least 0, where a silver
answer does not count as FP; for PI4PC 1 for gold and 0.5 for silver.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from patent_mteb import files
from patent_mteb.data.loading import DataSet
from patent_mteb.errors import DataError, check_columns
from patent_mteb.metrics.measures import Judged
from patent_mteb.patents.claims import claim_in_full, read_claims, referred_claims
from patent_mteb.patents.records import Claim
from patent_mteb.patents.text import clean
from patent_mteb.published import citation
from patent_mteb.search.run import Run
from patent_mteb.tasks.base import make_task
from patent_mteb.tasks.benchmark import Facts, PatentBenchmark
from patent_mteb.tasks.checks import ids_of, log_counts, refuse_unscorable
from patent_mteb.tasks.patenteb import Classification, Row, Spec
from patent_mteb.tasks.retrieval import PatentRetrieval, PatentSplit, RetrievalTables

DATA = DataSet("LG-AI-Research/PANORAMA", "", "main")
GOLD, SILVER = 2, 1
REMEDY = "download the file again; if it is complete, its layout has changed: open an issue"
_NUMBERED = re.compile(r"\s*(?:claim\s*)?(\d+)\s*[.):]\s*", re.IGNORECASE)

FACTS = Facts(
    name="PANORAMA",
    description="Documents and paragraphs that examiners of the USPTO cited against a claim, among given candidates.",
    reference="https://arxiv.org/abs/2510.24774",
    bibtex=citation("lim2025panorama"),
    license="cc-by-nc-4.0",
    date=("1976-01-01", "2024-12-31"),
    annotations="expert-annotated",
    prefix="Panorama",
    headline="PanoramaPAR4PCReranking",
    short_names={"PanoramaPAR4PCReranking": "PAR4PC", "PanoramaPI4PCReranking": "PI4PC"},
    prompt_rows=((r"Panorama(PAR|PI)4PCReranking", "retrieval_MIXED"),),
)


TASKS = {
    "PAR4PC": (
        "Given a claim of a US application, rank eight documents: those that the examiner cited against it come first.",
        "Given a claim of a patent application, retrieve the prior art that was cited against it",
    ),
    "PI4PC": (
        "Given a claim of a US application, rank five paragraphs of a cited document: the one that the examiner cited"
        " comes first.",
        "Given a claim of a patent application, retrieve the paragraph that was cited against it",
    ),
}
"""Description and instruction of each task by its folder."""


def parsed(value: Any) -> Any:
    """Return the value of a JSON text, None if it is invalid; other values are unchanged."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return None


def nested(value: Any, column: str, path: Path, row: int) -> dict[str, Any]:
    """Return a nested field, a structure or JSON; empty fields of a structure belong to other rows."""
    value = parsed(value)
    if not isinstance(value, Mapping):
        raise DataError(f"'{column}' is neither a structure nor JSON of one", path=path, row=row, remedy=REMEDY)
    return {str(key): item for key, item in value.items() if item is not None}


def keys_of(value: Any) -> tuple[str, ...]:
    """Return the distinct keys in a field of answers: a list, a JSON list, or a text with commas."""
    listed = isinstance(value, Sequence) and not isinstance(value, str)
    items = map(str, value) if listed else re.split(r"[\s,\[\]\"']+", str(value or ""))
    return tuple(dict.fromkeys(item.strip() for item in items if item.strip()))


def claim_of(claims: Sequence[str], number: int) -> str:
    """Return a claim of an application after those that it depends on; empty if the number is unknown."""
    found: dict[int, str] = {}
    for place, text in enumerate(claims, start=1):
        numbered = _NUMBERED.match(text)
        first = int(numbered[1]) if numbered else place
        parsed = {claim.number: claim.text for claim in read_claims(text).claims} if numbered else {}
        if first not in parsed:
            parsed = {first: clean(text[numbered.end() if numbered else 0 :], boilerplate=False)}
        for one, words in parsed.items():
            found.setdefault(one, words)
    known = sorted(found)
    return claim_in_full([Claim(one, found[one], referred_claims(found[one], one, known)) for one in known], number)


def claim_in(context: Any, claim: str, path: Path, row: int) -> str:
    """Return a claim of the application in a ``context``, as :func:`claim_of`."""
    claims = _strings(nested(context, "context", path, row).get("claims"), "context.claims", path, row)
    return claim_of(claims, int(claim)) if claim.isdigit() else ""


_Option = tuple[str, str, str]  # key, document id and text


def _text(*parts: str) -> str:
    return " ".join(text for part in parts if (text := clean(part, boilerplate=False)))


def _strings(value: Any, what: str, path: Path, row: int) -> list[str]:
    if isinstance(value, Sequence) and not isinstance(value, str) and all(isinstance(one, str) for one in value):
        return list(value)
    raise DataError(f"{what} is not a list of texts", path=path, row=row, remedy=REMEDY)


def _options(folder: str, given: Mapping[str, Any], query: str, path: Path, row: int) -> Iterator[_Option]:
    for key in sorted(given, key=lambda one: (len(one), one)):
        option = given[key]
        if folder == "PI4PC":
            if not isinstance(option, str):
                raise DataError(f"option '{key}' is not a text", path=path, row=row, remedy=REMEDY)
            yield key, f"{query}/{key}", _text(option)
            continue
        document = nested(option, f"options.{key}", path, row)
        if missing := [name for name in ("patent_id", "title", "abstract", "claims") if name not in document]:
            raise DataError(f"option '{key}' has no {missing[0]}", path=path, row=row, remedy=REMEDY)
        claims = _strings(document["claims"], f"claims of option '{key}'", path, row)
        yield key, str(document["patent_id"]), _text(document["title"], document["abstract"], *claims)


def _rows(folder: str, path: Path, counts: Counter[str]) -> Iterator[tuple[str, str, list[_Option], dict[str, int]]]:
    """Yield the questions of a file: id, claim, options, and grades by key."""
    answers = {"gold_answers": GOLD, "silver_answers": SILVER, "negative_answers": 0}
    needed = ("application_number", "claim_number", "context", "options", *answers)
    table = files.read_parquet(path, needed if folder == "PAR4PC" else (*needed, "prior_art_specification"))
    repeated: Counter[str] = Counter()
    numbers = [ids_of(table, name, path) for name in needed[:2]]
    questions = zip(*numbers, table.select(needed[2:]).to_pylist(), strict=True)
    for row, (application, claim, fields) in enumerate(questions, start=1):
        query = f"{application}#{claim}"
        repeated[query] += 1
        query += f".{repeated[query]}" if repeated[query] > 1 else ""
        text = claim_in(fields["context"], claim, path, row)
        if not text:
            counts["questions whose claim the application does not have (skipped)"] += 1
            continue
        options = list(_options(folder, nested(fields["options"], "options", path, row), query, path, row))
        grades: dict[str, int] = {}
        for column, grade in answers.items():
            for key in keys_of(fields[column]):
                grades[key] = max(grade, grades.get(key, 0))
        keys = [key for key, _, _ in options]
        if unknown := sorted(set(grades) - set(keys)):
            problem = f"the answer '{unknown[0]}' is not among the options {', '.join(keys)}"
            raise DataError(problem, path=path, row=row, remedy=REMEDY)
        counts["options that no answer names (taken as not relevant)"] += len(set(keys) - set(grades))
        if GOLD not in grades.values():
            counts["questions without a gold answer (skipped)"] += 1
            continue
        yield query, text, options, grades


class PanoramaReranking(PatentRetrieval):
    """A task of PANORAMA; models and search systems get the candidates as mteb's ``top_ranked``."""

    folder: str

    def load_tables(self) -> RetrievalTables:
        path = self.source.path(f"{self.folder}/test.parquet")
        counts: Counter[str] = Counter()
        corpus: dict[str, str] = {}
        queries: dict[str, str] = {}
        qrels: dict[str, dict[str, int]] = {}
        for query, claim, options, grades in _rows(self.folder, path, counts):
            judged: dict[str, int] = {}
            for key, document, text in options:
                if document in judged:
                    counts["options that repeat a document of the same question (used once)"] += 1
                elif corpus.setdefault(document, text) != text:
                    counts["options with another text of a known document (the first is used)"] += 1
                judged[document] = max(grades.get(key, 0), judged.get(document, 0))
            queries[query], qrels[query] = claim, judged
        log_counts(path, counts)
        refuse_unscorable(qrels, path, "no question has a gold answer")
        return RetrievalTables(corpus, queries, qrels)

    def load_split(self) -> PatentSplit:
        split = super().load_split()
        split["top_ranked"] = {query: list(judged) for query, judged in split["relevant_docs"].items()}
        return split

    def benchmark_scores(self, run: Run, judged: Judged) -> dict[str, float]:
        found = super().benchmark_scores(run, judged)
        single = self.folder == "PI4PC"
        exact, custom = [], []
        for query, row in zip(run.query_ids, run.docs, strict=True):
            known = self.tables.qrels[query]
            gold, silver = ({key for key, gain in known.items() if gain == grade} for grade in (GOLD, SILVER))
            first = row[: 1 if single else len(gold)]
            chosen = {run.doc_ids[place] for place in first if place >= 0}
            right = len(chosen & gold)
            exact.append(right == 1 if single else chosen == gold)
            if single:
                custom.append(right + len(chosen & silver) / 2)
            else:
                wrong, missed = len(chosen - gold - silver), len(gold - chosen)
                custom.append(max(0.0, (2 * right - wrong - missed) / (2 * len(gold))))
        if exact:
            found |= {"exact_match": sum(exact) / len(exact), "custom_score": sum(custom) / len(custom)}
        return found


def _task(folder: str, description: str, instruction: str) -> type[PanoramaReranking]:
    described = (f"Panorama{folder}Reranking", "Reranking", description, "ndcg_at_10", {"folder": folder})
    more: dict[str, Any] = {"prompt": {"query": instruction}, "category": "t2t", "task_subtypes": ["Patent retrieval"]}
    return make_task(PanoramaReranking, FACTS, DATA, *described, **more)


BENCHMARK = PatentBenchmark(FACTS, {"Reranking": tuple(_task(folder, *words) for folder, words in TASKS.items())})


CODES = ("ALLOW", "102", "103")
_COLUMNS = ("application_number", "claim_number", "context", "prior_art_specifications", "answer")
_ART = _COLUMNS[3]
_NAME = "PanoramaNOC4PCClassification"

NOC4PC_FACTS = replace(
    FACTS,
    name="NOC4PC",
    description="Whether an examiner of the USPTO allowed a claim or rejected it under 35 U.S.C. 102 or 103.",
    headline="",
    short_names={_NAME: "NOC4PC"},
    prompt_rows=((_NAME, "class_nli_oldnew"),),
)


def _code(value: Any, path: Path, row: int) -> str:
    code = value if isinstance(value, str) else ""
    return code if code in CODES else str(nested(value, "answer", path, row).get("code", ""))


def _prior_art(value: Any, path: Path, row: int) -> str:
    documents = parsed(value)
    if not isinstance(documents, list):
        problem = "'prior_art_specifications' is neither a list nor JSON of one"
        raise DataError(problem, path=path, row=row, remedy=REMEDY)
    texts = (text for one in documents for text in _cited(nested(one, _ART, path, row)))
    return " ".join(filter(None, (clean(str(text or ""), boilerplate=False) for text in texts)))


def _cited(document: Mapping[str, Any]) -> list[Any]:
    paragraphs = [one["content"] for one in document.get("paragraphs") or () if one.get("content")]
    return paragraphs or [document.get("title"), document.get("abstract")]


def _skipped(code: str, claim: str, art: str) -> str:
    if code not in CODES:
        return "with another answer than ALLOW, 102 or 103"
    if not claim:
        return "whose claim the application does not have"
    return "" if art else "without a text of the prior art"


class NoveltyClassification(Classification):
    """NOC4PC, the third task of PANORAMA: was a claim allowed, or rejected under section 102 or 103?

    Read from ``NOC4PC/train.parquet`` and ``NOC4PC/test.parquet``, with ``application_number``, ``claim_number`` and
    ``context`` as in the other tasks, and

    * ``prior_art_specifications``: list of cited documents, with ``patent_id``, ``title``, ``abstract``, ``claims`` and
      ``paragraphs`` (``key``, ``content``);
    * ``answer``: ``reason`` and ``code`` (``ALLOW``, ``102``, ``103``), or the code alone.

    A row has two texts: the claim, after those that it depends on, and the cited paragraphs of all documents, or title
    and abstract of a document without any. The reason is not read. The probe is that of PatenTEB's pairs, [u; v]; the
    main score is the macro F1, as in the paper. The authors' splits share no application.
    """

    def read_rows(self) -> dict[str, tuple[Path, list[Row]]]:
        paths = {split: self.source.path(f"NOC4PC/{split}.parquet") for split in ("train", "test")}
        return {split: (path, list(_noc4pc_rows(path))) for split, path in paths.items()}


def _noc4pc_rows(path: Path) -> Iterator[Row]:
    check_columns(files.parquet_schema(path).empty_table(), _COLUMNS, path)
    counts: Counter[str] = Counter()
    row, listed, art = 0, None, ""
    for table in files.read_batches(path, _COLUMNS):
        numbers = [ids_of(table, name, path) for name in _COLUMNS[:2]]
        for application, claim, fields in zip(*numbers, table.select(_COLUMNS[2:]).to_pylist(), strict=True):
            row += 1
            code, text = _code(fields["answer"], path, row), claim_in(fields["context"], claim, path, row)
            if fields[_ART] != listed:  # all claims of an application have one list
                listed, art = fields[_ART], _prior_art(fields[_ART], path, row)
            if reason := _skipped(code, text, art):
                counts[f"rows {reason} (skipped)"] += 1
            else:
                yield (application,), code, (text, art)
    log_counts(path, counts)


_TASK = make_task(
    NoveltyClassification,
    NOC4PC_FACTS,
    DATA,
    _NAME,
    "Classification",
    "Given a claim of a US application and the cited paragraphs, predict ALLOW, 102 (not novel) or 103 (obvious).",
    "macro_f1",
    {"spec": Spec(_NAME, "", texts=("claim", "prior art"))},
    prompt="Given a claim and cited prior art, tell whether the claim is novel and not obvious",
)
NOC4PC = PatentBenchmark(NOC4PC_FACTS, {"Classification": (_TASK,)})
