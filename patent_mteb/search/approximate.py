"""Approximate search by an inverted file of faiss (the extra ``ann``), on request.

The vectors of the documents are clustered around 4 * sqrt(documents) centres. A query is compared with the documents of
its ``probes`` nearest centres. Each search logs its recall@k against the exact ranking of up to 100 queries. A task
with a priority gate is refused, because each query sees other documents there.
"""

from __future__ import annotations

import logging
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from mteb.models import EncoderProtocol
from numpy.typing import NDArray

from patent_mteb.errors import ModelError
from patent_mteb.search.dense import DenseSearch, DocumentBlock, joined
from patent_mteb.search.nearest import add_nearest
from patent_mteb.search.run import TopK
from patent_mteb.search.vectors import slices_of

if TYPE_CHECKING:
    from torch import Tensor

logger = logging.getLogger(__name__)
_CHECKED = 100
_QUERIES_AT_ONCE = 1024
_CENTRES = 4
_TRAINED_ON = 64  # documents for each centre in k-means


class Approximate(DenseSearch):
    """An encoder as an approximate search model; see the module."""

    def __init__(self, model: EncoderProtocol, probes: int = 16) -> None:
        super().__init__(model)
        if find_spec("faiss") is None:
            raise ModelError("approximate search needs faiss. Remedy: pip install 'patent-mteb[ann]', or omit --ann")
        if probes < 1:
            raise ModelError(f"cannot search {probes} groups of documents. Remedy: give a positive number")
        self.probes = probes
        self.way = f"faiss-ivf-{probes}"
        meta = model.mteb_model_meta
        experiment = {**(meta.experiment_kwargs or {}), "ann": self.way}
        self.mteb_model_meta = meta.model_copy(update={"experiment_kwargs": experiment})

    def rank_block(self, best: TopK, queries: Any, chunks: list[Any], block: DocumentBlock, kind: str | None) -> None:
        name = self.mteb_model_meta.name
        if kind is None:
            raise ModelError(f"{name} has a similarity of its own, which no index supports. Remedy: omit --ann")
        if block.dates is not None:
            raise ModelError(f"{name} cannot be searched approximately behind a priority gate. Remedy: omit --ann")
        if block.allowed is not None:
            super().rank_block(best, queries, chunks, block, kind)
            return
        queries, documents = joined([queries], kind), joined(chunks, kind)
        index = _inverted(documents.numpy(), self.probes)
        hidden = block.hidden.tocsr()
        depth = min(best.k + int(np.diff(hidden.indptr).max(initial=0)), len(documents))
        for rows in slices_of(len(queries), _QUERIES_AT_ONCE):
            scores, found = index.search(queries[rows].numpy(), depth)
            seen = found >= 0
            for row, query in enumerate(range(rows.start, rows.stop)):
                seen[row] &= ~np.isin(found[row], hidden.indices[hidden.indptr[query] : hidden.indptr[query + 1]])
            best.add(rows, np.where(seen, scores, 0).astype(np.float32), block.numbers[found], seen)
        self._check(best, queries, documents, block)

    def _check(self, best: TopK, queries: Tensor, documents: Tensor, block: DocumentBlock) -> None:
        """Log the recall against the exact ranking of some queries."""
        rows = np.unique(np.linspace(0, len(queries) - 1, _CHECKED).astype(np.int64))
        exact = TopK([best.query_ids[row] for row in rows], best.doc_ids, best.k)
        add_nearest(exact, queries[rows.tolist()], documents, block.numbers, block.hidden.tocsr()[rows])
        found, wanted = best.run().rows(rows).docs, exact.run().docs
        pairs = [(one[one >= 0], other) for one, other in zip(wanted, found, strict=True) if (one >= 0).any()]
        share = np.mean([np.isin(one, other).mean() for one, other in pairs])
        message = "recall@%d of the approximate search (%s): %.4f of the exact ranking, "
        message += "on %d of %d queries and %d documents"
        logger.warning(message, best.k, self.way, share, len(rows), len(queries), len(documents))


def _inverted(documents: NDArray[np.float32], probes: int) -> Any:
    """Inverted file over the documents, by inner product."""
    import faiss

    count, width = documents.shape
    centres = max(1, min(int(_CENTRES * count**0.5), count))
    index = faiss.IndexIVFFlat(faiss.IndexFlatIP(width), width, centres, faiss.METRIC_INNER_PRODUCT)
    index.cp.min_points_per_centroid, index.cp.max_points_per_centroid = 1, _TRAINED_ON
    index.train(documents)
    index.add(documents)
    index.nprobe = min(probes, centres)
    return index
