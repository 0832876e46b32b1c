"""Models that a review found missing: each resolves offline, or its error says what to name instead."""

from __future__ import annotations

import pytest

from patent_mteb.errors import ModelError
from patent_mteb.models.loading import find_meta

KNOWN = ("Qwen/Qwen3-Embedding-0.6B", "BAAI/bge-m3", "google/embeddinggemma-300m", "mpi-inno-comp/paecter")
UNKNOWN = {  # to mteb, without a connection to the hub
    "nvidia/llama-nemotron-embed-1b-v2": "did you mean 'nvidia/llama-nemotron",
    "naver/splade-cocondenser-ensembledistil": "did you mean 'naver/splade",
    "ibm-granite/granite-embedding-30m-sparse": "did you mean 'ibm-granite/granite-embedding-30m-english'",
    "prithivida/Splade_PP_en_v2": "patent-mteb list models",
    "Alibaba-NLP/gte-reranker-modernbert-base": "did you mean 'Alibaba-NLP/gte-modernbert-base'",
    "ContextualAI/ctxl-rerank-v2-instruct-multilingual-1b": "did you mean",
    "cohere/rerank-v3.5": "a hosted reranker, which is not called here. Remedy: rerank with its own client",
    "voyageai/rerank-2.5": "a hosted reranker, which is not called here. Remedy: rerank with its own client",
}


@pytest.mark.parametrize("name", KNOWN)
def test_a_known_name_resolves(name):
    assert find_meta(name).name == name


@pytest.mark.parametrize("name", UNKNOWN)
def test_another_name_has_a_suggestion(name):
    with pytest.raises(ModelError) as caught:
        find_meta(name)
    assert UNKNOWN[name] in str(caught.value)
