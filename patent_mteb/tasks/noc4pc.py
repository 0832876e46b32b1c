"""NOC4PC, the third task of PANORAMA (Lim et al. 2025): was a claim allowed, or rejected under section 102 or 103?

Read from ``NOC4PC/train.parquet`` and ``NOC4PC/test.parquet`` of the data set of :mod:`patent_mteb.tasks.panorama`:

===============================  =======================================================================================
column                           content
===============================  =======================================================================================
``application_number``           of the application, ``claim_number`` of the claim, ``context`` as in the other tasks
``prior_art_specifications``     list of cited documents: ``patent_id``, ``title``, ``abstract``, ``claims``,
                                 ``paragraphs`` (``key``, ``content``)
``answer``                       ``reason`` and ``code`` (``ALLOW``, ``102``, ``103``), or the code alone
===============================  =======================================================================================

A row has two texts: the claim, after those that it depends on, and the cited paragraphs of all documents, or title and
abstract of a document without any. The reason is not read. The probe is that of PatenTEB's pairs, [u; v]; the main
score is the macro F1, as in the paper. The authors' splits share no application.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from patent_mteb import files
from patent_mteb.errors import DataError, check_columns
from patent_mteb.patents.text import clean
from patent_mteb.tasks import panorama
from patent_mteb.tasks.base import make_task, task_metadata
from patent_mteb.tasks.benchmark import PatentBenchmark
from patent_mteb.tasks.checks import ids_of, log_counts
from patent_mteb.tasks.patenteb import ProbedRows, Row, Spec

CODES = ("ALLOW", "102", "103")
_COLUMNS = ("application_number", "claim_number", "context", "prior_art_specifications", "answer")
_ART = _COLUMNS[3]
_NAME = "PanoramaNOC4PCClassification"

FACTS = replace(
    panorama.FACTS,
    name="NOC4PC",
    description="Whether an examiner of the USPTO allowed a claim or rejected it under 35 U.S.C. 102 or 103.",
    headline="",
    short_names={_NAME: "NOC4PC"},
    prompt_rows=((_NAME, "class_nli_oldnew"),),
)


def _code(value: Any, path: Path, row: int) -> str:
    code = value if isinstance(value, str) else ""
    return code if code in CODES else str(panorama.nested(value, "answer", path, row).get("code", ""))


def _prior_art(value: Any, path: Path, row: int) -> str:
    documents = panorama.parsed(value)
    if not isinstance(documents, list):
        problem = "'prior_art_specifications' is neither a list nor JSON of one"
        raise DataError(problem, path=path, row=row, remedy=panorama.REMEDY)
    texts = (text for one in documents for text in _cited(panorama.nested(one, _ART, path, row)))
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


class NoveltyClassification(ProbedRows):
    """The task; see the module."""

    def read_rows(self) -> tuple[Path, dict[str, list[Row]]]:
        paths = {split: self.source.path(f"NOC4PC/{split}.parquet") for split in ("train", "test")}
        return paths["test"], {split: list(_rows(path)) for split, path in paths.items()}


def _rows(path: Path) -> Iterator[Row]:
    check_columns(files.parquet_schema(path).empty_table(), _COLUMNS, path)
    counts: Counter[str] = Counter()
    row, listed, art = 0, None, ""
    for table in files.read_batches(path, _COLUMNS):
        numbers = [ids_of(table, name, path) for name in _COLUMNS[:2]]
        for application, claim, fields in zip(*numbers, table.select(_COLUMNS[2:]).to_pylist(), strict=True):
            row += 1
            code, text = _code(fields["answer"], path, row), panorama.claim_in(fields["context"], claim, path, row)
            if fields[_ART] != listed:  # all claims of an application have one list
                listed, art = fields[_ART], _prior_art(fields[_ART], path, row)
            if reason := _skipped(code, text, art):
                counts[f"rows {reason} (skipped)"] += 1
            else:
                yield application, code, (text, art)
    log_counts(path, counts)


_PROMPT = "Given a claim and cited prior art, tell whether the claim is novel and not obvious"
_METADATA = task_metadata(
    FACTS,
    panorama.DATA,
    _NAME,
    "Classification",
    "Given a claim of a US application and the cited paragraphs, predict ALLOW, 102 (not novel) or 103 (obvious).",
    "macro_f1",
    prompt=_PROMPT,
)
_TASK = make_task(
    NoveltyClassification,
    __name__,
    _METADATA,
    data=panorama.DATA,
    facts=FACTS,
    spec=Spec(_NAME, "", texts=("claim", "prior art")),
)
BENCHMARK = PatentBenchmark(FACTS, {"Classification": (_TASK,)})
