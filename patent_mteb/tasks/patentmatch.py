"""PatentMatch: pairs of a claim and a paragraph that is cited as X or as A.

The claims are those of European applications, the citations those of search reports (Risch et al. 2021). Users put
``patentmatch_{train,test}_{balanced,ultrabalanced}.tsv`` from the authors' page into ``PATENT_MTEB_DATA/PatentMatch``.
The files have a heading and these columns, separated by tabs (others are ignored):
=========================  =============================================================================================
column                     content
=========================  =============================================================================================
``claim_id``               of a claim
``patent_application_id``  of its application
``cited_document_id``      of the document that the paragraph is in
``text``, ``text_b``       the claim, the paragraph
``label``                  1 (X: it takes the novelty of the claim) or 0 (A: background)
``date``                   of the application, ``YYYYMMDD``; not read
=========================  =============================================================================================

**Leak-clean split.** Training and test file have no common claims, but common applications, cited documents and texts:
a third party found 8.9% of the test pairs connected with the training file. A test pair is *clean* if no chain of
common applications, cited documents, claims or paragraphs leads to a training pair. The main score ``ap``, the average
precision of X by cosine, and all others are over clean pairs; ``official_ap`` is over the whole test file, and
``n_leaking`` is the number of other pairs. ``roc_auc`` is the share of pairs of an X and an A in the right order;
``claim_auc`` is the same within a claim, averaged over claims that have both.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np

from patent_mteb.data.loading import DataSet
from patent_mteb.errors import DataError
from patent_mteb.files import text_lines
from patent_mteb.patents.text import clean
from patent_mteb.published import citation
from patent_mteb.tasks.base import make_task
from patent_mteb.tasks.benchmark import Facts, PatentBenchmark
from patent_mteb.tasks.checks import log_counts, refuse_constant
from patent_mteb.tasks.frozen import FrozenTask

DATA = DataSet("PatentMatch", "")
VARIANTS = {"UltraBalanced": "each claim has as many X as A paragraphs", "Balanced": "there are as many X as A pairs"}
COLUMNS = ("claim_id", "patent_application_id", "cited_document_id", "text", "text_b", "label")
LABELS = {"1": 1, "1.0": 1, "X": 1, "0": 0, "0.0": 0, "A": 0}
_REMEDY = "use the file as the authors publish it; if it is, its layout has changed: open an issue"

FACTS = Facts(
    name="PatentMatch",
    description="Pairs of a claim and a paragraph that a European search report cited against it, as X or as A.",
    reference="https://arxiv.org/abs/2012.13919",
    bibtex=citation("risch2021patentmatch"),
    license="not specified",
    date=("2012-01-01", "2020-12-31"),
    annotations="expert-annotated",
    prefix="PatentMatch",
    known_by=("patentmatch_test_ultrabalanced.tsv", "patentmatch_test_balanced.tsv"),
)


@dataclass(frozen=True, slots=True)
class Pair:
    claim_id: str
    application: str
    document: str
    claim: str
    paragraph: str
    label: int


def read_pairs(path: Path) -> list[Pair]:
    reader = csv.reader((f"{line}\n" for _, line in text_lines(path)), delimiter="\t", strict=True)
    pairs: list[Pair] = []
    try:
        heading = next(reader, [])
        if missing := [name for name in COLUMNS if name not in heading]:
            raise DataError(f"the column '{missing[0]}' is missing", path=path, row=1, remedy=_REMEDY)
        for cells in reader:
            problem = ""
            fields = dict(zip(heading, cells, strict=False))
            values = [fields.get(name, "").strip() for name in COLUMNS]
            if len(cells) != len(heading):
                problem = f"the row has {len(cells)} cells, the heading {len(heading)}"
            elif "" in values:
                problem = f"'{COLUMNS[values.index('')]}' is empty"
            elif values[-1] not in LABELS:
                problem = f"the label '{values[-1]}' is neither 1 (X) nor 0 (A)"
            if problem:
                raise DataError(problem, path=path, row=reader.line_num, remedy=_REMEDY)
            claim, paragraph = (clean(text, boilerplate=False) for text in values[3:5])
            pairs.append(Pair(values[0], values[1], values[2], claim, paragraph, LABELS[values[-1]]))
    except csv.Error as error:
        raise DataError(f"invalid TSV ({error})", path=path, row=reader.line_num, remedy=_REMEDY) from error
    return pairs


def clean_pairs(test: Sequence[Pair], train: Sequence[Pair]) -> list[bool]:
    """Return for each test pair whether it is clean: no chain of common items leads to a training pair."""
    from scipy.cluster.hierarchy import DisjointSet

    def items(pair: Pair) -> tuple[str, ...]:
        claim, paragraph = (" ".join(text.split()) for text in (pair.claim, pair.paragraph))
        return f"a {pair.application}", f"i {pair.claim_id}", f"d {pair.document}", f"c {claim}", f"p {paragraph}"

    group = DisjointSet()
    for first, *others in map(items, (*test, *train)):
        group.add(first)
        for other in others:
            group.add(other)
            group.merge(first, other)
    known = {group[f"a {pair.application}"] for pair in train}
    return [group[f"a {pair.application}"] not in known for pair in test]


@dataclass(frozen=True)
class PairRows:
    """Texts and roles by part; label, clean flag and claim of each pair."""

    texts: dict[str, list[str]]
    labels: tuple[int, ...]
    clean: tuple[bool, ...]
    claims: tuple[str, ...]
    roles: dict[str, str]


class PatentMatchPairs(FrozenTask):
    scoring = "pair classification 1"
    variant: str

    def load_split(self) -> PairRows:
        paths = {part: self.source.path(f"patentmatch_{part}_{self.variant.lower()}.tsv") for part in ("train", "test")}
        train, test = (read_pairs(paths[part]) for part in ("train", "test"))
        cleans = clean_pairs(test, train)
        leaking = f"of {len(test)} pairs are connected with a training pair; only official_ap counts them"
        log_counts(paths["test"], {leaking: cleans.count(False)})
        refuse_constant([str(pair.label) for pair in compress(test, cleans)], paths["test"], "clean pairs")
        return PairRows(
            {"claims": [pair.claim for pair in test], "paragraphs": [pair.paragraph for pair in test]},
            tuple(pair.label for pair in test),
            tuple(cleans),
            tuple(pair.claim_id for pair in test),
            {"claims": "query", "paragraphs": "document"},
        )

    def score(self, embeddings: Mapping[str, np.ndarray], data: PairRows) -> dict[str, Any]:
        from sklearn.metrics import average_precision_score, roc_auc_score

        sides = [embeddings[part].astype(np.float64) for part in ("claims", "paragraphs")]
        lengths = [np.maximum(np.linalg.norm(side, axis=1), 1e-12) for side in sides]
        cosines = (sides[0] * sides[1]).sum(axis=1) / (lengths[0] * lengths[1])
        labels, is_clean = np.array(data.labels), np.array(data.clean)
        of_claim: dict[str, list[int]] = {}
        for place in np.flatnonzero(is_clean):
            of_claim.setdefault(data.claims[place], []).append(int(place))
        both = [places for places in of_claim.values() if len(set(labels[places])) > 1]
        scores: dict[str, Any] = {
            "ap": float(average_precision_score(labels[is_clean], cosines[is_clean])),
            "roc_auc": float(roc_auc_score(labels[is_clean], cosines[is_clean])),
            "official_ap": float(average_precision_score(labels, cosines)),
            "n_test": int(is_clean.sum()),
            "n_leaking": int((~is_clean).sum()),
            "n_claims": len(both),
        }
        if both:
            scores["claim_auc"] = float(np.mean([roc_auc_score(labels[places], cosines[places]) for places in both]))
        return scores


def _task(variant: str, what: str) -> type[PatentMatchPairs]:
    description = (
        f"Given a claim and a cited paragraph, tell X from A citations by their cosine ({what}); leak-clean test pairs."
    )
    prompt = {"query": "Given a claim of a patent application, retrieve paragraphs that take its novelty"}
    described = (f"PatentMatch{variant}Pairs", "PairClassification", description, "ap", {"variant": variant})
    return make_task(PatentMatchPairs, FACTS, DATA, *described, prompt=prompt, category="t2t")


BENCHMARK = PatentBenchmark(FACTS, {"Pairs": tuple(_task(variant, what) for variant, what in VARIANTS.items())})
