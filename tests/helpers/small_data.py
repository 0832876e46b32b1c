"""Small hand-made data and models that several tests share."""

from __future__ import annotations

import datetime as dt
import hashlib
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from datasets import Dataset
from mteb.models.abs_encoder import AbsEncoder
from mteb.models.model_meta import ModelMeta

from patent_mteb.models.behaviour import TEXTS
from patent_mteb.patents.records import Citation, Claim, ExpertSummary, Label, Patent

MOBILITY, VISION = Label("Emerging", "Mobility", "Walking"), Label("Emerging", "Vision", "Readers")


def publication(number, family, *, labels=(), ipc=("A61H 3/00",), year=2010, text="", filed=""):
    return Patent(
        publication_number=number,
        family_id=family,
        title=f"<b>Title</b> {text or number}",
        abstract=f"Abstract {text or number}.",
        claims=(Claim(1, f"A device {text or number}."), Claim(2, "The device of claim 1, smaller.", (1,))),
        publication_date=dt.date(year, 1, 1),
        filing_jurisdiction=filed,
        ipc=ipc,
        labels=labels,
        keywords=("walking", "frames"),
        expert=ExpertSummary(f"Expert title {number}", "detail", "novelty", "use", "advantage", "focus"),
    )


TEN_PATENTS = [
    publication("US1A", "F1", labels=(MOBILITY,)),
    publication("JP1A", "F1", labels=(MOBILITY,), filed="US"),
    publication("US2A", "F2", labels=(MOBILITY, VISION, MOBILITY), text="two", year=2012),
    publication("WO2A", "F2", labels=(MOBILITY, VISION, MOBILITY), text="two", year=2011),
    publication("CN3A", "F3", labels=(VISION,)),
    publication("DE4A", "F4", ipc=("G06F 3/01",)),
    publication("FR5A", "F5", ipc=("G06F 3/16", "A61H 3/00")),
    publication("RU6A", "F6", ipc=()),
    publication("BR7A", "F7", labels=(VISION,)),
    publication("ES8A", "F8", labels=(Label("Conventional", "Vision"),)),
]
TEN_CITATIONS = [
    Citation("US1A", "US2A"),
    Citation("JP1A", "WO2A"),
    Citation("US1A", "CN3A"),
    Citation("US1A", "JP1A"),
    Citation("US2A", "US9Z"),
    Citation("DE4A", "FR5A"),
    Citation("DE4A", "US1A"),
    Citation("CN3A", "RU6A"),
    Citation("CN3A", "BR7A"),
    Citation("BR7A", "ES8A"),
]
"""Ten publications of eight families and what they cite: a family of two cites one of two, itself, and a publication
nobody has."""


@cache
def word_vector(word, dims):
    seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=4).digest(), "big")
    return np.random.default_rng(seed).standard_normal(dims).astype(np.float32)


FIXED = frozenset(TEXTS)


class HashEncoder(AbsEncoder):
    """Bag of hashed words: deterministic, and blind to white space unless ``keep_space``.

    ``texts`` are those that it encoded, in order, but for the fixed texts of canaries.
    """

    def __init__(self, name="tests/hash-encoder", dims=64, keep_space=False):
        self.dims, self.keep_space = dims, keep_space
        self.mteb_model_meta = ModelMeta.create_empty({"name": name, "revision": f"r{dims}{keep_space}"})
        self.texts: list[str] = []

    def vector(self, text):
        words = text.lower().split(" ") if self.keep_space else text.lower().split()
        return np.sum([np.full(self.dims, 1e-3, np.float32), *(word_vector(word, self.dims) for word in words)], axis=0)

    def encode(self, inputs, **kwargs):
        texts = [text for batch in inputs for text in batch["text"]]
        self.texts += [text for text in texts if text not in FIXED]
        return np.stack([self.vector(text) for text in texts])


def dapfam_tables(folder: Path, n_documents=40, n_queries=8, seed=3) -> None:
    """A random data set of exactly the published DAPFAM columns, under ``folder/datalyes/DAPFAM_patent``."""
    draw = np.random.default_rng(seed)
    words = np.array([f"w{i}" for i in range(120)])

    def text(length):
        return " ".join(draw.choice(words, length))

    def rows(key, names):
        return {
            key: names,
            "ipcr_codes_str": ["A61F 2/06; G06F 3/01" for _ in names],
            "classifications_ipcr_list_first_three_chars_list": [["A61", "G06"] for _ in names],
            "title_en": [text(4) for _ in names],
            "abstract_en": [text(20) for _ in names],
            "claims_text": [f"1. A {text(10)}.\n2. The {text(6)} of claim 1." for _ in names],
            "description_en": [text(60) for _ in names],
        }

    documents = [f"{i:03}-d" for i in range(n_documents)]
    queries = [f"{i:03}-q" for i in range(n_queries)]
    relations = []
    for i, query in enumerate(queries):
        chosen = draw.choice(documents, 12, replace=False)
        relations += [
            (query, document, 1.0, "IN" if place % 2 or i == 0 else "OUT") for place, document in enumerate(chosen[:6])
        ]
        relations += [(query, document, 0.0, "NC") for document in chosen[6:]]
    place = folder / "datalyes" / "DAPFAM_patent"
    place.mkdir(parents=True)
    pq.write_table(pa.table(rows("relevant_id", documents)), place / "corpus.parquet")
    pq.write_table(
        pa.table({**rows("query_id", queries), "abstract_keywords": [text(5) for _ in queries]}),
        place / "queries.parquet",
    )
    columns = zip(*relations, strict=True)
    names = ("query_id", "relevant_id", "relevance_score", "domain_rel")
    pq.write_table(
        pa.table({name: list(column) for name, column in zip(names, columns, strict=True)}), place / "qrels_all.parquet"
    )


class FixedSearch:
    """A search model whose ranking is the given list of documents for each query, whatever the texts are."""

    def __init__(self, rankings, name="tests/fixed-search", revision="r1"):
        self.rankings = rankings
        self.mteb_model_meta = ModelMeta.create_empty({"name": name, "revision": revision})

    def index(self, corpus, **kwargs):
        self.known = set(corpus["id"])

    def search(self, queries, *, top_k, **kwargs):
        return {
            query: {
                document: float(-place)
                for place, document in enumerate(self.rankings.get(query, ())[:top_k])
                if document in self.known
            }
            for query in queries["id"]
        }


class Letters:
    """A cross-encoder that counts the letters that a query and a document share."""

    mteb_model_meta = ModelMeta.create_empty(
        {"name": "tests/letters", "revision": "1", "model_type": ["cross-encoder"]}
    )

    def predict(self, inputs1, inputs2, **kwargs):
        pairs = [
            pair
            for one, two in zip(inputs1, inputs2, strict=True)
            for pair in zip(one["text"], two["text"], strict=True)
        ]
        return np.array(
            [sum(min(a.count(x), b.count(x)) for x in "abcdefgh0123456789") / (1 + len(b)) for a, b in pairs]
        )


def mteb_reads(monkeypatch, root: Path) -> Path:
    """Let mteb's own DAPFAM tasks and ours read the tables below ``root``; returns their folder."""
    monkeypatch.setenv("PATENT_MTEB_DATA", str(root))
    folder = root / "datalyes" / "DAPFAM_patent"
    files = {"corpus": "corpus", "queries": "queries", "relations": "qrels_all"}
    monkeypatch.setattr(
        "mteb.tasks.retrieval.eng.dapfam_patent_retrieval.load_dataset",
        lambda path, config, split, revision: Dataset(pq.read_table(folder / f"{files[config]}.parquet")),
    )
    return folder


def unmeasured(found):
    """Scores, or a whole result, without what was measured on the way and the seal over it: two runs differ in
    these.
    """
    if isinstance(found, dict):
        return {
            name: unmeasured(value)
            for name, value in found.items()
            if name not in ("cost", "seconds", "kept_pairs", "seal")
        }
    return list(map(unmeasured, found)) if isinstance(found, list) else found


def scores_of(task, model):
    """mteb's scores of a task's one split and subset, nothing cached, without their costs."""
    import mteb

    result = mteb.evaluate(model, task, cache=None, show_progress_bar=False)
    ((found,),) = result.task_results[0].scores.values()
    return unmeasured(found)
