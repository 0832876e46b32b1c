"""Training data: records, their citations, and a split by patent family.

``DATA`` is ``sample``, a directory of ``patent-mteb data build wipo_at``, or records of ``patent-mteb data import``,
which are split by a hash, 80/10/10 by default, and kept in a temporary file (:mod:`patent_mteb.patents.on_disk`).
Publications with the same text as another of their family are excluded and counted, as in WIPO-AT's step 0.6.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from patent_mteb.data.loading import sample_root
from patent_mteb.errors import DataError
from patent_mteb.files import read_parquet
from patent_mteb.patents.claims import split_claims
from patent_mteb.patents.collection import Collection, read_collection
from patent_mteb.patents.families import families_of
from patent_mteb.patents.keyed import Keyed
from patent_mteb.patents.near_duplicates import near_duplicates
from patent_mteb.patents.on_disk import by_number, only, publications, stored
from patent_mteb.patents.records import Citation, Claim, Label, Patent
from patent_mteb.patents.tables import by_age, first_of_connected
from patent_mteb.patents.text import clean_patent, text_key
from patent_mteb.patents.views import VIEWS
from patent_mteb.recipes import wipo_at
from patent_mteb.recipes.beir import BeirFolder, read_beir, view_rows
from patent_mteb.recipes.dataset import input_hash
from patent_mteb.recipes.label_sets import SPLITS, label_names, read_labels
from patent_mteb.recipes.sampling import random_key
from patent_mteb.sample import load

SHARES = (0.8, 0.1)
"""Default shares of families in train and validation. The rest is the test split."""

_OF_BUILT = ("metadata.parquet", "corpus.jsonl")


@dataclass(frozen=True)
class Corpus:
    """Records with a split by family."""

    name: str  # of the data, for the model card
    patents: Sequence[Patent]
    citations: Sequence[Citation]
    split: Mapping[str, str]  # by family id
    families: pl.DataFrame = field(default_factory=lambda: families_of({}))  # also of publications without a record
    folder: Path | None = None  # the built directory with the split; None for records
    revision: str = ""  # hash of the input
    left_out: Mapping[str, int] = field(default_factory=dict)  # excluded publications by reason
    is_sample: bool = False

    def members(self, split: str) -> Sequence[Patent]:
        return only(
            self.patents, pl.col("family").is_in([family for family, its in self.split.items() if its == split])
        )

    @cached_property
    def records(self) -> Mapping[str, Patent]:
        """The records by publication number, each of which is read on access."""
        return Keyed(publications(self.patents)["number"], self.patents)

    def sizes(self) -> dict[str, int]:
        counts = Counter(self.split.values())
        return {name: counts[name] for name in SPLITS}


def read_corpus(data: Path | str, shares: tuple[float, float] | None = None) -> Corpus:
    path = Path(data)
    built = [folder for folder in (path, path / wipo_at.NAME) if all((folder / name).is_file() for name in _OF_BUILT)]
    if shares is not None and (str(data) == "sample" or built):
        raise DataError(f"{data} already has a split", remedy="leave out --split")
    if str(data) == "sample":
        return _sample()
    if built:
        return _of_built(built[0])
    if not path.exists():
        remedy = (
            "give 'sample', a directory of patent-mteb data build wipo_at, or records (see patent-mteb data import)"
        )
        raise DataError("the training data do not exist", path=path, remedy=remedy)
    return of_records(read_collection(path, definition="joined"), path.resolve().name, shares=shares or SHARES)


@lru_cache(maxsize=1)
def _sample() -> Corpus:
    """The built-in sample with the split of its WIPO-AT benchmark."""
    patents, citations = load()
    folder = sample_root("wipo_at") / wipo_at.NAME
    split = {row["family_id"] or row["_id"]: row["split"] for row in _metadata(folder)}
    distinct, left_out = _without_duplicates([clean_patent(patent) for patent in patents])
    revision = input_hash(patents, citations)
    return Corpus("sample", distinct, citations, split, families_of({}), folder, revision, left_out, is_sample=True)


def _metadata(folder: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = read_parquet(folder / "metadata.parquet", ("_id", "family_id", "split")).to_pylist()
    return rows


def of_records(collection: Collection, name: str, shares: tuple[float, float] = SHARES) -> Corpus:
    patents, left_out = _without_duplicates(stored(map(clean_patent, collection.patents)))
    split = split_families(patents, shares)
    known = collection.families.iter_rows()
    revision = input_hash(collection.patents, collection.citations, collection.relations, known)
    return Corpus(name, patents, collection.citations, split, collection.families, None, revision, left_out)


def split_families(patents: Sequence[Patent], shares: tuple[float, float]) -> dict[str, str]:
    """Split families by a hash of their ids. Families with equal title and abstract stay together."""
    alike = near_duplicates(patents).select("group", member="family")
    leader = {family: family for family in publications(patents)["family"].unique(maintain_order=True)}
    leader |= first_of_connected(alike).iter_rows()
    order = sorted(set(leader.values()), key=lambda family: (random_key(42, "split", family), family))
    validation, test = round(len(order) * shares[0]), round(len(order) * (shares[0] + shares[1]))
    split = {family: SPLITS[(number >= validation) + (number >= test)] for number, family in enumerate(order)}
    return {family: split[group] for family, group in leader.items()}


def _without_duplicates(patents: Sequence[Patent]) -> tuple[Sequence[Patent], dict[str, int]]:
    known = publications(patents)
    keys = pl.Series([text_key(patent.family_id, VIEWS["TAC"](patent)) for patent in patents], dtype=pl.Binary)
    kept = by_age(known.with_columns(key=keys)).unique("key", keep="first", maintain_order=True)["number"]
    distinct = only(patents, pl.col("number").is_in(kept.implode()))
    return by_number(distinct), {"publications whose text another of their family has": len(patents) - len(distinct)}


def _of_built(folder: Path) -> Corpus:
    """Read the tables of a WIPO-AT directory as records. Judgements become citations."""
    tables = read_beir(folder)
    rows = _metadata(folder)
    if unknown := [row for row in rows if row["split"] not in SPLITS]:
        problem = f"unknown split '{unknown[0]['split']}', expected {', '.join(SPLITS)}"
        raise DataError(problem, path=folder / "metadata.parquet", remedy="build the directory again")
    families = {row["_id"]: row["family_id"] or row["_id"] for row in rows}
    labels = _fine_labels(folder, families)
    texts: dict[str, dict[str, str]] = {
        name: dict(view_rows(folder, name)) for name in ("Abstract", "Claim1", "Claims") if name in tables.views
    }
    patents = [_document(row, tables, texts, labels.get(row["_id"], ())) for row in rows if row["_id"] in tables.corpus]
    judgements = ((query, *judged) for query, found in tables.qrels.items() for judged in found.items())
    citations = [Citation(query, document) for query, document, gain in judgements if gain > 0]
    split = {families[row["_id"]]: row["split"] for row in rows}
    distinct, left_out = _without_duplicates(patents)
    revision = input_hash(distinct, citations)
    return Corpus(
        folder.resolve().parent.name, distinct, citations, split, families_of(families), folder, revision, left_out
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
    names = label_names(folder) if (folder / "labels").is_dir() else []
    # The name of a set of fine labels starts with the name of another set. If there are none, all sets count.
    fine = [name for name in names if any(name != other and name.startswith(other) for other in names)] or names
    found: dict[str, list[Label]] = {}
    for name in fine:
        for labelled in read_labels(folder, name, families):
            found.setdefault(labelled.key, []).extend(Label(name, name, label) for label in labelled.labels)
    return {key: tuple(labels) for key, labels in found.items()}
