"""Harvard USPTO Patent Dataset (Suzgun et al. 2022): decision and IPC subclass of applications, split by filing date.

Read from ``data/sample-jan-2016.tar.gz`` of the hub, the applications that were filed in January 2016: one JSON
document each, with ``application_number``, ``filing_date``, ``decision``, ``main_ipcr_label``, ``title``, ``abstract``
and ``claims``. Applications filed until 21 January are training rows, later ones test rows, as in the example of the
authors' card. Models may have been trained on all of them: see ``PatentOpenUS`` for newer ones.

* ``HUPDDecisionClassification``: ``ACCEPTED`` or ``REJECTED`` from the claims as filed. Pending and continued
  applications are skipped and counted, as in the paper.
* ``HUPDIPCClassification``: the subclass of the main IPC label from title and abstract.

The probe is :class:`~patent_mteb.tasks.patenteb.Classification`. The main score is the macro F1, since most
applications are accepted and the sizes of the subclasses differ; ``accuracy`` is the paper's measure.
"""

from __future__ import annotations

import datetime as dt
import json
import re
import tarfile
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from tqdm import tqdm

from patent_mteb.data.loading import DataSet, Source
from patent_mteb.errors import DataError, parsed_json, readable
from patent_mteb.files import LARGEST_RATIO, unpacks_too_far
from patent_mteb.patents.text import clean
from patent_mteb.published import citation
from patent_mteb.readers.values import day, text_in
from patent_mteb.tasks.base import make_task
from patent_mteb.tasks.benchmark import Facts, PatentBenchmark
from patent_mteb.tasks.checks import log_counts
from patent_mteb.tasks.patenteb import Classification, Row, Spec

DATA = DataSet("HUPD/hupd", "", "main")
ARCHIVE = "data/sample-jan-2016.tar.gz"
LAST_OF_TRAINING = dt.date(2016, 1, 21)
_FIELDS = ("application_number", "filing_date", "decision", "main_ipcr_label", "title", "abstract", "claims")
_DECISIONS = ("ACCEPTED", "REJECTED")
_SUBCLASS = re.compile(r"[A-H]\d\d[A-Z]")

FACTS = Facts(
    name="HUPD",
    description="Decision and IPC subclass of US applications as filed, trained on earlier ones.",
    reference="https://arxiv.org/abs/2207.04043",
    bibtex=citation("suzgun2022harvard"),
    license="cc-by-sa-4.0",
    date=("2016-01-01", "2016-01-31"),
    prefix="HUPD",
)
TASKS = {
    "Decision": ("claims", "Predict whether a US application was accepted or rejected, from its claims as filed."),
    "IPC": ("text", "Classify a US application by the subclass of its main IPC code, from title and abstract."),
}


@lru_cache(maxsize=1)
def read_applications(source: Source) -> tuple[tuple[dt.date, dict[str, Row]], ...]:
    """Return filing date and the row of each kind of text of every application; one without number or date is skipped.

    The archive is read once for both tasks.
    """
    path = source.path(ARCHIVE)
    counts: Counter[str] = Counter()
    found: dict[str, tuple[dt.date, dict[str, Row]]] = {}
    for one in tqdm(_documents(path, counts), desc="Reading HUPD", unit=" applications", disable=None):
        number, filed = text_in(one, "application_number"), day(text_in(one, "filing_date"))
        if not number or not filed:
            counts["documents without a number or a filing date (skipped)"] += 1
        elif number in found:
            counts["documents that repeat an application (skipped)"] += 1
        else:
            title, abstract, claims = (clean(text_in(one, name), boilerplate=False) for name in _FIELDS[4:])
            subclass, decision = _SUBCLASS.match(text_in(one, "main_ipcr_label")), text_in(one, "decision")
            rows: dict[str, Row] = {
                "claims": ((number,), decision if decision in _DECISIONS else "", (claims,)),
                "text": ((number,), subclass[0] if subclass else "", (f"{title} {abstract}".strip(),)),
            }
            found[number] = filed, rows
    log_counts(path, counts)
    return tuple(found.values())


def _documents(path: Path, counts: Counter[str]) -> Iterator[dict[str, Any]]:
    remedy, size, packed = "download the file again", 0, path.stat().st_size if path.is_file() else 0
    try:
        with readable(path), tarfile.open(path, "r|gz") as archive:
            for member in archive:
                size += member.size
                if unpacks_too_far(packed, size):
                    problem = f"it unpacks to more than {LARGEST_RATIO} times its size with {member.name}: a gzip bomb?"
                    raise DataError(problem, path=path, remedy=remedy)
                stream = archive.extractfile(member) if member.name.endswith(".json") else None
                if stream is None:
                    continue
                try:
                    content = stream.read()
                    row = parsed_json(content.decode(json.detect_encoding(content)), path, None, remedy)
                except (ValueError, DataError):  # also nested too deeply, or with half a surrogate pair
                    row = None
                if isinstance(row, dict):
                    if missing := [name for name in _FIELDS if name not in row]:
                        raise DataError(f"{member.name} has no '{missing[0]}'", path=path, remedy=remedy)
                    yield row
                else:
                    counts["documents that are not JSON objects (skipped)"] += 1
    except tarfile.TarError as error:
        raise DataError(f"not a complete archive ({error})", path=path, remedy=remedy) from error


class HUPDClassification(Classification):
    def read_rows(self) -> dict[str, tuple[Path, list[Row]]]:
        path, counts = self.source.path(ARCHIVE), Counter[str]()
        parts: dict[str, list[Row]] = {"train": [], "test": []}
        for filed, rows in read_applications(self.source):
            row = rows[self.spec.texts[0]]
            _, label, (text,) = row
            if not text or not label:
                counts[f"applications without a {'label of the task' if text else 'text'} (skipped)"] += 1
            else:
                parts["train" if filed <= LAST_OF_TRAINING else "test"].append(row)
        log_counts(path, counts)
        return {split: (path, rows) for split, rows in parts.items()}


def _task(kind: str, column: str, description: str) -> type[HUPDClassification]:
    name = f"HUPD{kind}Classification"
    spec = Spec(name, "", texts=(column,))
    return make_task(HUPDClassification, FACTS, DATA, name, "Classification", description, "macro_f1", {"spec": spec})


BENCHMARK = PatentBenchmark(FACTS, {"Classification": tuple(_task(kind, *words) for kind, words in TASKS.items())})
