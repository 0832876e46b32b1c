"""What is trained on: records, their citations, and the split of their families.

``DATA`` is one of three things:

* ``sample``: the built-in world, with the split of the sample of WIPO-AT;
* a built directory (``ROOT`` of ``patent-mteb data build wipo_at``, or its ``WIPO-AT`` folder): texts, labels,
  citations, split;
* records (a directory of ``patent-mteb data import``, or ``patents.parquet``): a split of its own, 80/10/10 by family
  if no other shares are given, drawn by hash; families with one title and abstract stay together.

A publication whose text another of its family has is left out, as WIPO-AT's step 0.6 does, and counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from patent_mteb.data.loading import sample_root
from patent_mteb.errors import DataError
from patent_mteb.files import read_parquet
from patent_mteb.patents.claims import split_claims
from patent_mteb.patents.collection import Collection, read_collection
from patent_mteb.patents.families import Groups, age
from patent_mteb.patents.near_duplicates import near_duplicate_groups
from patent_mteb.patents.records import Citation, Claim, Label, Patent
from patent_mteb.patents.text import clean_patent
from patent_mteb.patents.views import VIEWS
from patent_mteb.recipes import wipo_at
from patent_mteb.recipes.beir import BeirFolder, read_beir, view_rows
from patent_mteb.recipes.dataset import input_hash
from patent_mteb.recipes.label_sets import SPLITS, label_names, read_labels
from patent_mteb.recipes.sampling import random_key
from patent_mteb.sample import generate

SHARES = (0.8, 0.1)
"""Shares of the families in train and validation, where the data have no split of their own; the rest is the test
split."""

_OF_BUILT = ("metadata.parquet", "corpus.jsonl")


@dataclass(frozen=True)
class Corpus:
    """Records with the split of their families.

    Attributes:
        name: of the data, for the card.
        split: by family.
        families: family by publication number, publications without a record too.
        folder: the built directory that the split is from; None for records.
        revision: hash of what was read.
        left_out: what is not in ``patents``, counted by reason.
        is_sample: whether these are the records of the built-in sample.
    """

    name: str
    patents: Sequence[Patent]
    citations: Sequence[Citation]
    split: Mapping[str, str]
    families: Mapping[str, str] = field(default_factory=dict)
    folder: Path | None = None
    revision: str = ""
    left_out: Mapping[str, int] = field(default_factory=dict)
    is_sample: bool = False

    def members(self, split: str) -> Iterator[Patent]:
        """The publications of a split."""
        return (patent for patent in self.patents if self.split.get(patent.family_id) == split)

    def sizes(self) -> dict[str, int]:
        """Families in each split."""
        counts = Counter(self.split.values())
        return {name: counts[name] for name in SPLITS}


def read_corpus(data: Path | str, shares: tuple[float, float] | None = None) -> Corpus:
    """The records of ``DATA`` and their split."""
    place = Path(data)
    built = [folder for folder in (place, place / wipo_at.NAME) if all((folder / name).is_file() for name in _OF_BUILT)]
    if shares is not None and (str(data) == "sample" or built):
        raise DataError(f"{data} has a split of its own", remedy="leave out --split")
    if str(data) == "sample":
        return _sample()
    if built:
        return _of_built(built[0])
    if not place.exists():
        remedy = "give 'sample', a directory of patent-mteb data build wipo_at, or records (patent-mteb data import)"
        raise DataError("there are no data to train on", path=place, remedy=remedy)
    return of_records(read_collection(place), place.resolve().name, shares=shares or SHARES)


@lru_cache(maxsize=1)
def _sample() -> Corpus:
    patents, citations = generate()
    return replace(_with_folder("sample", patents, citations, sample_root("wipo_at") / wipo_at.NAME), is_sample=True)


def of_records(collection: Collection, name: str, seed: int = 42, shares: tuple[float, float] = SHARES) -> Corpus:
    """A corpus of records with a split of its own."""
    patents, left_out = _without_duplicates([clean_patent(patent) for patent in collection.patents])
    split = split_families(patents, seed, shares)
    revision = input_hash(collection.patents, collection.citations, collection.relations, collection.families.items())
    return Corpus(name, patents, collection.citations, split, collection.families, None, revision, left_out)


def split_families(patents: Sequence[Patent], seed: int = 42, shares: tuple[float, float] = SHARES) -> dict[str, str]:
    """Split by family: a draw that depends on the seed and the ids only; families with one title and abstract stay
    together.
    """
    groups = Groups()
    for first, *others in near_duplicate_groups(patents):
        for other in others:
            groups.connect(first.family_id, other.family_id)
    leader = {patent.family_id: groups.of(patent.family_id) for patent in patents}
    order = sorted(set(leader.values()), key=lambda family: (random_key(seed, "split", family), family))
    validation, test = round(len(order) * shares[0]), round(len(order) * (shares[0] + shares[1]))
    split = {family: SPLITS[(number >= validation) + (number >= test)] for number, family in enumerate(order)}
    return {family: split[its] for family, its in leader.items()}


def _without_duplicates(patents: Sequence[Patent]) -> tuple[list[Patent], dict[str, int]]:
    seen: set[tuple[str, str]] = set()
    kept = []
    for patent in sorted(patents, key=age):
        key = (patent.family_id, VIEWS["TAC"](patent))
        if key not in seen:
            seen.add(key)
            kept.append(patent)
    kept.sort(key=lambda patent: patent.publication_number)
    return kept, {"publications whose text another of their family has": len(patents) - len(kept)}


def _with_folder(name: str, patents: Sequence[Patent], citations: Sequence[Citation], folder: Path) -> Corpus:
    """Records whose benchmark is built: the split is the benchmark's."""
    rows = read_parquet(folder / "metadata.parquet", ("_id", "family_id", "split")).to_pylist()
    split = {row["family_id"] or row["_id"]: row["split"] for row in rows}
    kept, left_out = _without_duplicates([clean_patent(patent) for patent in patents])
    return Corpus(name, kept, citations, split, {}, folder, input_hash(patents, citations), left_out)


def _of_built(folder: Path) -> Corpus:
    """The tables of a WIPO-AT directory as records: texts, labels and IPC of each document, its judgements as
    citations.
    """
    tables = read_beir(folder)
    rows = read_parquet(folder / "metadata.parquet", ("_id", "family_id", "split")).to_pylist()
    if strange := [row for row in rows if row["split"] not in SPLITS]:
        problem = f"split '{strange[0]['split']}' is none of {', '.join(SPLITS)}"
        raise DataError(problem, path=folder / "metadata.parquet", remedy="build the directory anew")
    families = {row["_id"]: row["family_id"] or row["_id"] for row in rows}
    labels = _fine_labels(folder, families)
    texts: dict[str, dict[str, str]] = {
        name: dict(view_rows(folder, name)) for name in ("Abstract", "Claim1", "Claims") if name in tables.views
    }
    patents = [_document(row, tables, texts, labels.get(row["_id"], ())) for row in rows if row["_id"] in tables.corpus]
    citations = [
        Citation(query, document)
        for query, judged in tables.qrels.items()
        for document, gain in judged.items()
        if gain > 0
    ]
    split = {families[row["_id"]]: row["split"] for row in rows}
    kept, left_out = _without_duplicates(patents)
    return Corpus(
        folder.resolve().parent.name, kept, citations, split, families, folder, input_hash(kept, citations), left_out
    )


def _document(
    row: Mapping[str, object], tables: BeirFolder, texts: Mapping[str, Mapping[str, str]], labels: tuple[Label, ...]
) -> Patent:
    key = str(row["_id"])
    title, body = tables.corpus[key]
    claims = split_claims(texts["Claims"].get(key, "")) if "Claims" in texts else ()
    if not claims and texts.get("Claim1", {}).get(key):
        claims = (Claim(1, texts["Claim1"][key]),)
    codes = tuple(str(code) for code in row.get("ipc") or ())  # type: ignore[attr-defined]
    abstract = texts["Abstract"].get(key, "") if "Abstract" in texts else body
    return Patent(key, str(row["family_id"] or key), title, abstract, claims, ipc=codes, labels=labels)


def _fine_labels(folder: Path, families: Mapping[str, str]) -> dict[str, tuple[Label, ...]]:
    """The labels of each document: of the sets of fine labels, which are those named after another set and a category,
    or of all.
    """
    names = label_names(folder) if (folder / "labels").is_dir() else []
    fine = [name for name in names if any(name != other and name.startswith(other) for other in names)] or names
    found: dict[str, list[Label]] = {}
    for name in fine:
        for labelled in read_labels(folder, name, families):
            found.setdefault(labelled.key, []).extend(Label(name, name, label) for label in labelled.labels)
    return {key: tuple(labels) for key, labels in found.items()}
