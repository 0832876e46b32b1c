"""Small hand-made data and models that several tests share."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from mteb.models.abs_encoder import AbsEncoder
from mteb.models.model_meta import ModelMeta


@cache
def word_vector(word, dims):
    seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=4).digest(), "big")
    return np.random.default_rng(seed).standard_normal(dims).astype(np.float32)


class HashEncoder(AbsEncoder):
    """Bag of hashed words: deterministic, and blind to white space unless ``keep_space``."""

    def __init__(self, name="tests/hash-encoder", dims=64, keep_space=False):
        self.dims, self.keep_space = dims, keep_space
        self.mteb_model_meta = ModelMeta.create_empty({"name": name, "revision": f"r{dims}{keep_space}"})
        self.texts: list[str] = []

    def vector(self, text):
        words = text.lower().split(" ") if self.keep_space else text.lower().split()
        return np.sum([np.full(self.dims, 1e-3, np.float32), *(word_vector(word, self.dims) for word in words)], axis=0)

    def encode(self, inputs, **kwargs):
        texts = [text for batch in inputs for text in batch["text"]]
        self.texts += texts
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
        relations += [(query, document, 1.0, "IN" if place % 2 or i == 0 else "OUT") for place, document in enumerate(chosen[:6])]
        relations += [(query, document, 0.0, "NC") for document in chosen[6:]]
    place = folder / "datalyes" / "DAPFAM_patent"
    place.mkdir(parents=True)
    pq.write_table(pa.table(rows("relevant_id", documents)), place / "corpus.parquet")
    pq.write_table(pa.table({**rows("query_id", queries), "abstract_keywords": [text(5) for _ in queries]}), place / "queries.parquet")
    columns = zip(*relations, strict=True)
    names = ("query_id", "relevant_id", "relevance_score", "domain_rel")
    pq.write_table(pa.table({name: list(column) for name, column in zip(names, columns, strict=True)}), place / "qrels_all.parquet")


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
                document: float(-place) for place, document in enumerate(self.rankings.get(query, ())[:top_k]) if document in self.known
            }
            for query in queries["id"]
        }


def scores_of(task, model):
    """mteb's scores of a task's one split and subset, nothing cached."""
    import mteb

    result = mteb.evaluate(model, task, cache=None, show_progress_bar=False)
    ((found,),) = result.task_results[0].scores.values()
    return found
