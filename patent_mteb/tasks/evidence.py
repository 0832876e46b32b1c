"""The evidence of a score: a record of its data, model and libraries in every result.

The scores of every task contain, under :data:`KEY`, the versions of patent-mteb (it differs after every change of its
files), of the scoring (:attr:`patent_mteb.tasks.base.PatentTask.scoring`) and of ``libraries``, and

===============  =======================================================================================================
``data``         task, revision and digest of the data: texts with their ids, judgements, labels
``texts``        by role, the number of distinct texts that were encoded or searched, and a digest of their set
``ranking``      retrieval: the number of queries, the depth, and a digest of the documents in their order
``effort``       rerankers and scored runs: pairs, calls, tokens, seconds and cost of the ranking; the answering models
``embeddings``   other tasks: number, width and digest of the vectors, their mean length, and the length of their mean
``predictions``  tasks on pairs: number and digest of the similarities
``cost``         seconds of the evaluation without reading the data, ``processor_seconds`` of all threads, seconds by
                 phase (``rest``: search and scores); texts and characters that the model encoded (others came from the
                 store), tokens that it read, and the share of padding; peak memory of the process so far, of the GPU in
                 this evaluation, and of the index (not of passages and late interaction)
``model``        name, revision, settings, digests of weights, modules and tokenizer, device, number type, ``card``: a
                 digest of the facts in its ``model_meta.json`` that a report shows (:data:`CARD`), and ``behaviour``:
                 the vectors of its encoders for fixed texts (:mod:`patent_mteb.models.behaviour`)
``seal``         checksum of all numbers of the entry and of this record
===============  =======================================================================================================

An unknown number is omitted. Reports verify the record (:mod:`patent_mteb.tasks.verification`). Digests (XXH3, 128
bits) are not signatures: they detect results that were edited, exchanged or overwritten.
"""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from itertools import chain, islice
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import xxhash
from numpy.typing import NDArray

from patent_mteb.identity import version
from patent_mteb.memory import TEXTS_AT_ONCE
from patent_mteb.model_identity.loaded import model_facts
from patent_mteb.models.behaviour import behaviours, encoders, has_search_models
from patent_mteb.patents.corpus import release_pages
from patent_mteb.search import base
from patent_mteb.search.run import Run
from patent_mteb.search.timing import timed
from patent_mteb.store.encoder import StoredEncoder

KEY = "evidence"  # key of the record in the scores
COST = "cost"  # key of the cost in the evidence
ROWS = "rows"  # in the identity of per-query scores: the digest of the rows
_IDENTITY = b"patent_mteb"  # key of the metadata of per-query scores
_CHECKSUM = "seal"
_ADDED_BY_MTEB = frozenset({"main_score", "hf_subset", "languages", "mteb_version"})  # after the evaluation
_DIGITS = 6  # decimals of the numbers in a digest, more than mteb writes
_DECIMALS = 4  # of the cost
_Item = TypeVar("_Item")


def _blocks(values: Iterable[_Item]) -> Iterator[list[_Item]]:
    rest = iter(values)
    while block := list(islice(rest, TEXTS_AT_ONCE)):
        yield block


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def set_record(strings: Iterable[str]) -> dict[str, Any]:
    """Return number and digest of the distinct strings, in any order; only hashes of 16 bytes are in memory."""
    hashes = [np.empty(0, "V16")]
    for some in _blocks(strings):
        hashes.append(np.frombuffer(b"".join(xxhash.xxh3_128_digest(_bytes(string)) for string in some), "V16"))
    distinct = np.unique(np.concatenate(hashes))
    return {"n": len(distinct), "digest": xxhash.xxh3_128_hexdigest(distinct.tobytes())}


def data_digest(value: Any) -> str:
    """Return the digest of any data; the order of rows and sequences matters, that of mappings and sets does not."""
    state = xxhash.xxh3_128()
    for part in _parts(value):
        state.update(len(part).to_bytes(8, "little") + part)
    return state.hexdigest()


def _parts(value: Any) -> Iterator[bytes]:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if hasattr(value, "column_names"):
        names = sorted(value.column_names)
        for some in value.select_columns(names).iter(TEXTS_AT_ONCE):
            yield from (_column(some[name]) for name in names)
            release_pages()
    elif isinstance(value, np.ndarray) and value.dtype.kind != "O":
        yield f"{value.dtype.str}{value.shape}".encode()
        yield np.ascontiguousarray(value).tobytes()
    elif isinstance(value, Mapping):
        for key in sorted(value, key=str):
            yield _bytes(str(key))
            yield from _parts(value[key])
    elif isinstance(value, Set):
        yield from _parts(sorted(value, key=str))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        yield str(len(value)).encode()
        for some in _blocks(value):
            yield _column(some)
    else:
        yield _plain(value)


def _column(values: Sequence[Any]) -> bytes:
    """Return strings as their hashes, which is much faster for long ones, and anything else as JSON."""
    if all(isinstance(value, str) for value in values):
        return b"".join(xxhash.xxh3_128_digest(_bytes(value)) for value in values)
    return _plain(values)


def _plain(value: Any) -> bytes:
    def other(item: Any) -> Any:
        if isinstance(item, (np.ndarray, np.generic)):
            return item.tolist()
        if dataclasses.is_dataclass(item) and not isinstance(item, type):
            return dataclasses.asdict(item)
        return sorted(item, key=str) if isinstance(item, Set) else f"{type(item).__module__}.{type(item).__qualname__}"

    return json.dumps(value, sort_keys=True, default=other).encode()


def ranking_digest(run: Run) -> str:
    """Return the digest of the rankings of a run, whatever the order of its queries."""
    names = np.fromiter(
        (xxhash.xxh3_64_intdigest(_bytes(document)) for document in run.doc_ids), "<u8", len(run.doc_ids)
    )
    state = xxhash.xxh3_128()
    for row in sorted(range(len(run.query_ids)), key=run.query_ids.__getitem__):
        found = run.docs[row][run.docs[row] >= 0]
        query = _bytes(run.query_ids[row])
        state.update(len(query).to_bytes(8, "little") + query + len(found).to_bytes(8, "little"))
        state.update(names[found].tobytes())
    return state.hexdigest()


def rows_digest(table: pa.Table) -> str:
    """Return the digest of per-query scores, which binds values to queries, in any order of rows and columns."""
    queries = table["query"].to_pylist()
    order = sorted(range(len(queries)), key=queries.__getitem__)
    state = xxhash.xxh3_128(_plain([queries[row] for row in order]))
    for name, column in sorted(zip(table.column_names, table.columns, strict=True), key=lambda pair: pair[0]):
        if name != "query":
            values = column.to_numpy().astype(np.float64)[order]  # of bools and counts, too
            state.update(_bytes(name) + np.where(np.isnan(values), np.nan, values).tobytes())
    return state.hexdigest()


def with_identity(table: pa.Table, identity: Mapping[str, Any]) -> pa.Table:
    """Return a table of per-query scores with its identity, to which the digest of its rows is added."""
    return table.replace_schema_metadata({_IDENTITY: json.dumps({**identity, ROWS: rows_digest(table)})})


def identity_of(schema: pa.Schema) -> dict[str, Any]:
    """Return the identity of a table of per-query scores."""
    identity = json.loads((schema.metadata or {}).get(_IDENTITY, b"null"))
    if not isinstance(identity, dict):
        raise ValueError("it does not say which run it is of")
    return identity


def vectors_record(embeddings: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Return a digest of vectors, and two numbers that rounding hardly changes."""
    state = xxhash.xxh3_128()
    lengths: list[NDArray[Any]] = []
    total: Any = 0.0
    for name in sorted(embeddings):
        for start in range(0, len(embeddings[name]), TEXTS_AT_ONCE):
            block = np.ascontiguousarray(embeddings[name][start : start + TEXTS_AT_ONCE])
            state.update(block.tobytes())
            lengths.append(np.linalg.norm(block.astype(np.float64), axis=1))
            total = total + block.sum(axis=0, dtype=np.float64)
    n = sum(map(len, lengths))
    return {
        "n": n,
        "width": max((matrix.shape[1] for matrix in embeddings.values()), default=0),
        "digest": state.hexdigest(),
        "length": round(float(np.concatenate(lengths).mean()), _DIGITS) if n else 0.0,
        "mean": round(float(np.linalg.norm(total / n)), _DIGITS) if n else 0.0,
    }


def predictions_record(values: Sequence[float]) -> dict[str, Any]:
    return {"n": len(values), "digest": data_digest([_stable(float(value)) for value in values])}


def checksum(scores: Mapping[str, Any]) -> str:
    """Return the digest of scores with their record, the same before mteb writes them and after they are read."""
    record = {name: value for name, value in scores[KEY].items() if name != _CHECKSUM}
    own = {name: value for name, value in scores.items() if name not in _ADDED_BY_MTEB}
    return data_digest(_stable({**own, KEY: record}))


def _stable(value: Any) -> Any:
    """Format numbers so that writing and reading does not change them."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"{float(value):.{_DIGITS}f}"
    if isinstance(value, Mapping):
        return {name: _stable(item) for name, item in value.items()}
    return [_stable(item) for item in value] if isinstance(value, (list, tuple)) else value


_LIBRARIES = "mteb numpy scipy scikit-learn torch transformers sentence-transformers tokenizers bm25s PyStemmer"


@cache
def libraries() -> dict[str, str]:
    found: dict[str, str] = {}
    for name in _LIBRARIES.split():
        with suppress(PackageNotFoundError):
            found[name] = installed(name)
    with suppress(ImportError):
        import Stemmer

        found["Snowball"] = Stemmer.version()
    return found


CARD = (
    *("n_parameters", "memory_usage_mb", "embed_dim", "max_tokens", "license", "release_date"),
    *("training_datasets", "model_type", "contamination"),
)
"""The facts of a model's description that reports show (:mod:`patent_mteb.report.model_facts`)."""


def card_digest(meta: Mapping[str, Any]) -> str:
    """Return the digest of the facts of a model's description, the same before and after it is written as JSON."""
    card = {name: meta.get(name) for name in CARD}
    lists = {name: sorted(value, key=str) for name, value in card.items() if isinstance(value, (Set, list))}
    return data_digest(json.loads(json.dumps(card | lists, default=str)))


def model_record(model: Any) -> dict[str, Any]:
    found = {"behaviour": behaviours(model), "lexical": has_search_models(model)}
    meta = model.mteb_model_meta
    known = {**model_facts(model), "experiment": meta.experiment_name or "", "card": card_digest(meta.to_dict())}
    return {"libraries": libraries(), "model": {**known, **found}}


def with_evidence(scores: Mapping[str, Any], model: Any, data: Mapping[str, str], scoring: str) -> dict[str, Any]:
    """Complete the record of scores; what the task has already recorded has precedence."""
    record = {"version": version(), "scoring": scoring, "data": dict(data)}
    record |= {**scores.get(KEY, {}), **model_record(model)}
    entry = {**scores, KEY: record}
    return {**entry, KEY: {**record, _CHECKSUM: checksum(entry)}}


def document_texts(corpus: Any) -> Iterator[str]:
    """Yield the texts of a corpus as search systems read them: documents, or their sections."""
    if "sections" not in corpus.column_names:
        yield from base.document_texts(corpus)
        return
    for some in corpus.select_columns(["sections"]).iter(TEXTS_AT_ONCE):
        yield from chain.from_iterable(some["sections"])
        release_pages()


def measured(model: Any, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the scores that ``work`` computes, with their cost in the evidence."""
    stores = [one for one in encoders(model) if isinstance(one, StoredEncoder)]
    before = {name: sum(getattr(store.stats, name) for store in stores) for name in ("encoded", "characters")}
    if gpu := _gpu():
        gpu.reset_peak_memory_stats()
    started, processor = time.perf_counter(), time.process_time()
    with timed() as phases, _counting(stores) as tokens:
        scores = work()
    seconds, processor = time.perf_counter() - started, time.process_time() - processor
    found: dict[str, Any] = {"seconds": round(seconds, _DECIMALS), "processor_seconds": round(processor, _DECIMALS)}
    rest = max(0.0, seconds - sum(phases.values()))
    found["phases"] = {name: round(value, _DECIMALS) for name, value in {**phases, "rest": rest}.items()}
    for name in ("encoded", "characters") if stores else ():
        found[name] = sum(getattr(store.stats, name) for store in stores) - before[name]
    if tokens["computed"]:
        found |= {"tokens": tokens["read"], "padding": round(1 - tokens["read"] / tokens["computed"], _DECIMALS)}
    with suppress(ImportError):  # Windows
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        found["peak_memory_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6, 1)
    if gpu := _gpu():
        found["peak_device_mb"] = round(gpu.max_memory_allocated() / 1e6, 1)
    evidence = scores.get(KEY, {})
    return {**scores, KEY: {**evidence, COST: {**found, **evidence.get(COST, {})}}}


def _gpu() -> Any:
    """Return ``torch.cuda`` if torch is loaded and there is a GPU; BM25 needs no torch."""
    torch = sys.modules.get("torch")
    return torch.cuda if torch and torch.cuda.is_available() else None


@contextmanager
def _counting(stores: list[StoredEncoder]) -> Iterator[dict[str, int]]:
    """Count the tokens that loaded sentence-transformers models read, and compute with padding."""
    counts = {"read": 0, "computed": 0}

    def count(_: Any, given: tuple[Any, ...]) -> None:
        mask = given[0].get("attention_mask") if given and isinstance(given[0], Mapping) else None
        if mask is not None:
            counts["read"] += int(mask.sum())
            counts["computed"] += mask.numel()

    with ExitStack() as hooks:
        for network in filter(None, map(_network, stores)):
            hooks.callback(next(iter(network)).register_forward_pre_hook(count).remove)
        yield counts


def _network(store: StoredEncoder) -> Any:
    from sentence_transformers import SentenceTransformer

    model = store.model if store.loaded else None
    while model is not None and not isinstance(model, SentenceTransformer):
        model = getattr(model, "model", None)
    return model
