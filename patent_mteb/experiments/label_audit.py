"""Label quality of the open benchmark: its rules against office actions that experts parsed (PANORAMA).

PANORAMA (Lim et al. 2025, §3) has non-final rejections of the USPTO claim by claim: the documents cited against each
claim, the section of 35 U.S.C., and the cited paragraphs. :func:`read_actions` reads the authors' files, one JSON
object each: ``parsed_CTNF/*.json`` (``claims``: ``claimNumber``, ``parentClaim``, ``isReject``, ``reasons`` with
``sectionCode`` and ``citedPatents``: ``patentNum``, ``text``) and, if they are there, ``record/*.json``
(``applicationNumber``, ``CTNFBodyText``, ``patentsCitedByExaminer``). The application number ends the name of a parsed
file.

The parse is by a language model that the authors checked on a sample, so a difference is not always an error of ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from patent_mteb.errors import DataError
from patent_mteb.experiments.editions import MANIFEST, edition_folder
from patent_mteb.files import load_json
from patent_mteb.patents.collection import read_collection
from patent_mteb.patents.locations import paragraphs_in
from patent_mteb.patents.numbers import read_number
from patent_mteb.recipes import open_layout as layout
from patent_mteb.recipes.open_us import ancestors

_LETTERS = {"X": "102", "Y": "103"}
"""The section under which a document of a category was cited."""

_REMEDY = "fetch the file again; if it is complete, its layout has changed: open an issue"

Pair = tuple[str, int, str]
"""Application, claim, document."""


@dataclass(frozen=True)
class Action:
    """One parsed office action: cited paragraphs and sections by claim and document, and parents of the claims.

    ``text`` and ``by_examiner`` are None without a record.
    """

    application: str
    paragraphs: Mapping[tuple[int, str], Set[int]]
    sections: Mapping[tuple[int, str], Set[str]]
    parents: Mapping[int, Sequence[int]]
    text: str | None = None
    by_examiner: Set[str] | None = None

    @property
    def documents(self) -> set[str]:
        return {document for _, document in self.paragraphs}


def document_key(text: str) -> str:
    """Return office and serial of a publication number of the USPTO, without kind code; else the text."""
    number = read_number(text.partition("#")[0], "US")
    return f"{number.office}{number.serial}" if number else text


def read_actions(folder: Path) -> list[Action]:
    """Read the parsed office actions of a folder, and the records of the same applications."""
    paths = sorted((folder / "parsed_CTNF").glob("*.json"))
    if not paths:
        remedy = "name the folder that contains 'parsed_CTNF' and 'record', as in the authors' repository"
        raise DataError("there is no parsed office action", path=folder, remedy=remedy)
    records = {}
    for path in sorted((folder / "record").glob("*.json")):
        record = load_json(path)
        if not isinstance(record, dict) or "applicationNumber" not in record:
            raise DataError("not a record of an application", path=path, remedy=_REMEDY)
        records[str(record["applicationNumber"])] = record
    return [_action(path, records) for path in paths]


def _action(path: Path, records: Mapping[str, Mapping[str, Any]]) -> Action:
    application = path.stem.rpartition("_")[2]
    paragraphs: dict[tuple[int, str], set[int]] = {}
    sections: dict[tuple[int, str], set[str]] = {}
    parents = {}
    try:
        for claim in load_json(path)["claims"]:
            number = int(claim["claimNumber"])
            parents[number] = [parent] if (parent := int(claim["parentClaim"])) > 0 else []
            for reason in claim["reasons"] if claim["isReject"] else ():
                for cited in reason["citedPatents"]:
                    if not isinstance(named := cited["patentNum"], str | int):
                        raise TypeError(f"patentNum is {named!r}")
                    key = (number, document_key(str(named)))
                    paragraphs.setdefault(key, set()).update(one for one in cited["text"] if isinstance(one, int))
                    sections.setdefault(key, set()).add(str(reason["sectionCode"]))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(f"not a parsed office action ({error!r})", path=path, remedy=_REMEDY) from error
    record = records.get(application)
    if record is None:
        return Action(application, paragraphs, sections, parents)
    cited = set(re.findall(r"'referenceIdentifier': '([^']+)'", str(record.get("patentsCitedByExaminer", ""))))
    text = str(record.get("CTNFBodyText", ""))
    return Action(application, paragraphs, sections, parents, text, set(map(document_key, cited)))


@dataclass(frozen=True)
class Agreement:
    """How many labels a rule gives, how many the experts give, and how many are in both."""

    rule: str
    ours: int
    experts: int
    both: int
    examples: Sequence[str]

    @property
    def precision(self) -> float | None:
        return self.both / self.ours if self.ours else None

    @property
    def recall(self) -> float | None:
        return self.both / self.experts if self.experts else None


def _agreement(rule: str, ours: Set[Any], experts: Set[Any]) -> Agreement:
    examples = [f"only ours: {' '.join(map(str, one))}" for one in sorted(ours - experts)[:3]]
    examples += [f"only experts: {' '.join(map(str, one))}" for one in sorted(experts - ours)[:3]]
    return Agreement(rule, len(ours), len(experts), len(ours & experts), examples)


def audit(actions: Sequence[Action], edition: Path | None = None) -> list[Agreement]:
    """Compare the rules with the parsed actions; with an edition also its judgements of the same applications."""
    read = [one for one in actions if one.text is not None]
    found = [
        _agreement(
            "paragraphs named in the action",
            {(one.application, number) for one in read for number in paragraphs_in([one.text or ""])},
            {(one.application, number) for one in read for named in one.paragraphs.values() for number in named},
        ),
        _agreement(
            "documents cited by the examiner are relevant",
            {(one.application, document) for one in read for document in one.by_examiner or ()},
            {(one.application, document) for one in read for document in one.documents},
        ),
        _of_other_claims("other claims' documents are irrelevant", actions, parents_count=False),
        _of_other_claims("the same, but a parent's documents unjudged", actions, parents_count=True),
    ]
    return found + (_of_edition(actions, edition) if edition else [])


def _of_other_claims(rule: str, actions: Sequence[Action], *, parents_count: bool) -> Agreement:
    """Compare the pairs of grade 0 with those that experts cite neither against the claim nor against its parents."""
    ours: set[Pair] = set()
    experts: set[Pair] = set()
    for one in actions:
        for claim in {claim for claim, _ in one.paragraphs}:
            own = {document for number, document in one.paragraphs if number == claim}
            above = ancestors(one.parents, claim)
            inherited = {document for number, document in one.paragraphs if number in above}
            unjudged = inherited if parents_count else set()
            ours |= {(one.application, claim, each) for each in one.documents - own - unjudged}
            experts |= {(one.application, claim, each) for each in one.documents - own - inherited}
    return _agreement(rule, ours, experts)


def _of_edition(actions: Sequence[Action], edition: Path) -> list[Agreement]:
    """Compare the judgements of an edition for the claims and applications that both have."""
    folder = edition_folder(edition)
    number_of = {
        one.publication_number: re.sub(r"\D", "", one.application_number)
        for one in read_collection(edition / MANIFEST).patents
    }
    parsed = {one.application: one for one in actions}
    qrels = layout.read_subset(layout.subset_folder(folder, layout.CLAIMS)).qrels
    claims = dict(_shared_claims(qrels, number_of, parsed))
    if not claims:
        remedy = "name an edition whose window has the office actions, or omit --edition"
        raise DataError("the edition and the office actions share no rejected claim", path=edition, remedy=remedy)
    pairs = {
        (*claims[query], document_key(key)) for query in claims for key, grade in qrels[query].items() if grade > 0
    }
    cited = {
        (application, claim, document)
        for application, claim in claims.values()
        for number, document in parsed[application].paragraphs
        if number == claim
    }
    letters = {
        (*claims[query], document_key(key), _LETTERS[str(row["letter"])])
        for (query, key), row in layout.read_judgements(folder / layout.CLAIMS, claims).items()
        if row["letter"] in _LETTERS and (*claims[query], document_key(key)) in cited
    }
    judged = {label[:3] for label in letters}
    sections = {
        (*pair, section)
        for pair in judged
        for section in parsed[pair[0]].sections[pair[1:]]
        if section in _LETTERS.values()
    }
    found = [
        _agreement("edition: documents cited against a claim", pairs, cited),
        _agreement("edition: X is section 102, Y section 103", letters, sections),
    ]
    if (folder / layout.PASSAGES).is_dir():
        passages = layout.read_subset(folder / layout.PASSAGES, folder / layout.CLAIMS).qrels
        ours = {
            (*claims[query], document_key(key), int(key.partition("#")[2]))
            for query in claims
            for key, grade in passages.get(query, {}).items()
            if grade > 0
        }
        documents = {label[:3] for label in ours}
        theirs = {(*pair, number) for pair in documents for number in parsed[pair[0]].paragraphs.get(pair[1:], ())}
        found.append(_agreement("edition: paragraphs cited against a claim", ours, theirs))
    return found


def _shared_claims(
    queries: Mapping[str, object], number_of: Mapping[str, str], parsed: Mapping[str, Action]
) -> Iterator[tuple[str, tuple[str, int]]]:
    for query in queries:
        publication, _, claim = query.partition("#")
        application = number_of.get(publication, "")
        if application in parsed and int(claim) in parsed[application].parents:
            yield query, (application, int(claim))
