"""Fixed texts that detect a changed model.

Each encoder encodes the texts in both roles when it is loaded and at the end of a run; a cross-encoder scores pairs of
them. The vectors are compared with those of the start, with those in the store, and, as a sketch (:class:`Behaviour`),
with the evidence of a stored result. This detects other weights under the same name and revision, another tokenizer or
number type, an unlisted setting, and a model that is not deterministic.

The measure is the relative distance |a - b| / max(|a|, |b|). Distances up to the tolerance of the number type are
rounding: all-MiniLM-L6-v2 with another batch size differs by 1e-6 in float32, 0.001 in float16 and 0.009 in bfloat16.
For vectors of length 1, a distance of d is a cosine of 1 - d²/2.

At its first look, an encoder reads the texts once more in reverse order and another one alone: a vector must not depend
on the other texts of a call. No text may be least similar to itself. Each sentence of a text of 50 words must count.
Calls of more texts are checked when they occur (:mod:`patent_mteb.store.company`).
"""

from __future__ import annotations

import base64
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from mteb.abstasks.task_metadata import TaskMetadata
from mteb.models import CrossEncoderProtocol, EncoderProtocol
from mteb.types import PromptType
from numpy.typing import NDArray

from patent_mteb.errors import ModelError, PatentMTEBError
from patent_mteb.model_identity.loaded import components, effective_kwargs, leaves, model_facts, record_for
from patent_mteb.store.batches import as_array, text_loader, token_lengths
from patent_mteb.store.company import LARGEST, largest_distance, refuse_company, tolerance_of
from patent_mteb.store.encoder import StoredEncoder

logger = logging.getLogger(__name__)

_CLAIM, *_OTHERS = Path(__file__).with_suffix(".txt").read_text("utf-8").splitlines()
_DEPENDENT = _CLAIM.replace("A centrifugal", "The")
TEXTS = (" ".join(f"{n}. {_DEPENDENT if n > 1 else _CLAIM}" for n in range(1, 13)), _CLAIM, *_OTHERS)
"""Longest first, as encoders order a batch; the first exceeds most limits."""

_PAIRS = 8  # texts of a cross-encoder's check, a choice
_PAIRS_OF_LANGUAGE_MODELS = 4  # fewer, as each needs an answer
_TOLERANCE_OF_SERVICES = 0.05  # services run on changing hardware, in number types that they do not state
_WIDTH = 16  # number of projections of a vector in a sketch


def _metadata(task_type: Any) -> TaskMetadata:
    return TaskMetadata(
        name="PatentCanaries",
        description="Fixed texts that show whether a model still gives the same vectors.",
        dataset={"path": "patent-mteb/canaries", "revision": "2"},
        type=task_type,
        category="t2t",
        eval_splits=["test"],
        eval_langs=["eng-Latn"],
        main_score="ndcg_at_10",
    )


_WHERE: dict[str, Any] = {"hf_split": "test", "hf_subset": "default", "show_progress_bar": False}


@dataclass(frozen=True)
class Behaviour:
    """Sketch of a model's vectors of the fixed texts, small enough for every result."""

    width: int  # dimensions of the vectors; 0 for scores of pairs
    sketch: NDArray[np.float32]  # [texts, 17] norm of each vector, its products with 16 fixed random directions
    tolerance: float  # relative distance that is rounding for the number type of the model

    @classmethod
    def of(cls, vectors: NDArray[Any], tolerance: float, *, scores: bool = False) -> Behaviour:
        """Sketch vectors, or scores of pairs ([pairs, 1])."""
        matrix = np.asarray(vectors, np.float64)
        if scores:
            norms, parts, width = np.full(len(matrix), np.abs(matrix).max()), matrix, 0
        else:
            norms, parts, width = np.linalg.norm(matrix, axis=1), matrix @ _directions(matrix.shape[1]), matrix.shape[1]
        return cls(width, np.column_stack([norms, parts]).astype(np.float32), tolerance)

    def distance(self, other: Behaviour) -> float:
        """Estimate the largest relative distance; infinite for other shapes."""
        if self.width != other.width or self.sketch.shape != other.sketch.shape:
            return float("inf")
        ours, theirs = self.sketch.astype(np.float64), other.sketch.astype(np.float64)
        longer = np.maximum(ours[:, 0], theirs[:, 0])
        apart = np.maximum(np.linalg.norm(ours[:, 1:] - theirs[:, 1:], axis=1), np.abs(ours[:, 0] - theirs[:, 0]))
        with np.errstate(invalid="ignore", divide="ignore"):
            return float(np.where(longer > 0, apart / longer, 0.0).max(initial=0))

    def same(self, other: Behaviour) -> bool:
        """Whether two models differ by no more than rounding."""
        return self.distance(other) <= max(self.tolerance, other.tolerance)

    def record(self) -> dict[str, Any]:
        coded = base64.b64encode(self.sketch.astype("<f4").tobytes()).decode("ascii")
        return {"width": self.width, "texts": len(self.sketch), "tolerance": self.tolerance, "sketch": coded}

    @classmethod
    def read(cls, record: Any) -> Behaviour | None:
        """Read a JSON object, None if it is not a sketch."""
        try:
            flat = np.frombuffer(base64.b64decode(record["sketch"], validate=True), "<f4")
            return cls(int(record["width"]), flat.reshape(int(record["texts"]), -1), float(record["tolerance"]))
        except (KeyError, TypeError, ValueError):
            return None


def _directions(width: int) -> NDArray[np.float64]:
    """[width, 16] random signs, scaled to keep lengths (Johnson and Lindenstrauss)."""
    signs = np.random.default_rng(20261123).choice([-1.0, 1.0], (width, _WIDTH))
    scaled: NDArray[np.float64] = signs / np.sqrt(_WIDTH)
    return scaled


def behaviours(model: Any) -> list[dict[str, Any] | None]:
    """Return a record for each encoder and cross-encoder, None for one that does not accept the texts."""
    return [_record(leaf) for leaf in leaves(model, unloaded=True) if _is_watched(leaf)]


def _record(leaf: Any) -> dict[str, Any] | None:
    if hasattr(leaf, "fixed_answers"):
        return _answers(leaf)
    if isinstance(leaf, StoredEncoder):  # not loaded: its last sketch
        found = Behaviour.read(leaf.noted(_NOTED))
    else:
        known = record_for(leaf).behaviour
        found = _remember(leaf, _vectors(leaf, {})) if known is None else known.sketch
    return None if found is None else found.record()


def _answers(judge: Any) -> dict[str, Any] | None:
    """Answers of a language model to fixed pairs, requested once an object because they cost money."""
    record = record_for(judge)
    if record.behaviour is None:
        pairs = list(zip(*_pairs(_PAIRS_OF_LANGUAGE_MODELS), strict=True))
        try:
            record.behaviour = _Known(answers=judge.fixed_answers(pairs))
        except PatentMTEBError:
            record.behaviour = _Known()
    answers: dict[str, Any] | None = record.behaviour.answers
    return answers


def difference(now: Any, then: Any) -> str:
    """Say why two records belong to different models; empty if unknown."""
    if not (isinstance(now, dict) and isinstance(then, dict)):
        return ""
    if "grades" in now and "grades" in then:
        if now.get("models") != then.get("models"):
            before, after = (", ".join(map(str, one.get("models") or ())) for one in (then, now))
            return f"{before} answered then, {after} answers now"
        if all(abs(ours - theirs) <= 1 for ours, theirs in zip(now["grades"], then["grades"], strict=False)):
            return ""
        return f"it graded fixed pairs {then['grades']} then and {now['grades']} now"
    ours, theirs = Behaviour.read(now), Behaviour.read(then)
    if ours is None or theirs is None or ours.same(theirs):
        return ""
    return f"the model does not give the vectors that it gave then (relative distance {ours.distance(theirs):.2g})"


def has_search_models(model: Any) -> bool:
    """Whether a component ranks without encoding, so that libraries matter."""
    return any(not _is_watched(leaf) for leaf in leaves(model, unloaded=True))


def _is_watched(leaf: Any) -> bool:
    protocols = (StoredEncoder, EncoderProtocol, CrossEncoderProtocol)
    return isinstance(leaf, protocols) or hasattr(leaf, "fixed_answers")


_NOTED = "behaviour"


@dataclass(frozen=True)
class _Known:
    """What a model gave for the fixed texts or pairs; nothing if it does not take them."""

    sketch: Behaviour | None = None
    answers: dict[str, Any] | None = None


def _remember(leaf: Any, vectors: NDArray[Any] | None) -> Behaviour | None:
    scores = not isinstance(leaf, EncoderProtocol)
    found = None if vectors is None else Behaviour.of(vectors, _tolerance(leaf), scores=scores)
    record_for(leaf).behaviour = _Known(found)
    return found


def _vectors(model: Any, options: Mapping[str, Any]) -> NDArray[Any] | None:
    """Encode the fixed texts or score the fixed pairs; None if the model fails, which the task reports better."""
    try:
        found = _scored(model, options) if not isinstance(model, EncoderProtocol) else _encoded(model, options)
    except PatentMTEBError:
        return None
    except (Exception, SystemExit):
        logger.debug("%s does not take the fixed texts", model.mteb_model_meta.name, exc_info=True)
        return None
    return found if found.ndim == 2 and found.dtype.kind in "fiu" and bool(np.isfinite(found).all()) else None


def _encoded(model: Any, options: Mapping[str, Any]) -> NDArray[Any]:
    """[2 x texts, width] vectors in both roles."""
    size = options.get("batch_size") or len(TEXTS)
    where = {**options, **_WHERE, "task_metadata": _metadata("Retrieval")}
    found = []
    for role in (PromptType.query, PromptType.document):
        # copied: an encoder may return a view of a buffer that its next call overwrites
        found.append(np.array(as_array(model.encode(text_loader(list(TEXTS), size), prompt_type=role, **where))))
        if len(found[-1]) != len(TEXTS):
            raise ValueError(f"{len(found[-1])} vectors for {len(TEXTS)} texts")
    return np.concatenate(found)


def _scored(model: Any, options: Mapping[str, Any]) -> NDArray[Any]:
    """[pairs, 1] scores of pairs of a short and a long text."""
    sides = [text_loader(texts, _PAIRS) for texts in _pairs(_PAIRS)]
    where = {**options, **_WHERE, "task_metadata": _metadata("Reranking")}
    return as_array(model.predict(*sides, **where)).reshape(_PAIRS, 1)


def _pairs(n: int) -> tuple[list[str], list[str]]:
    return [TEXTS[-1 - place % 4] for place in range(n)], list(TEXTS[1 : n + 1])


_SENTENCES = ("The second ring is made of carbon.", "The outer cage is held by magnets.")
"""Two sentences of equal length and number of words: a cache by length takes one for the other."""
_HALVES = _CLAIM.partition(", and a seal ")
_CONTRASTS = {
    "first": [f"{sentence}\n{_CLAIM}" for sentence in _SENTENCES],
    "middle": [f"{_HALVES[0]}.\n{sentence}\nA seal {_HALVES[2]}" for sentence in _SENTENCES],
    "last": [f"{_CLAIM} {sentence}" for sentence in _SENTENCES],
}
"""Pairs of texts of 50 words that differ in this sentence, some with line ends, at which a server may split."""
_TOKENS = 128  # of these texts, for a model without a known tokenizer: one with a lower limit may ignore their ends
_SAME = 0.01  # relative distance of equal texts in bfloat16, see above; services state no number type
_EQUAL = 1e-6  # relative distance of texts of a call that are cut alike


def _longest(model: Any, texts: list[str]) -> int:
    """Tokens of the longest text, with those that the model adds."""
    try:
        return int(token_lengths(model, texts).max())
    except Exception:
        logger.debug("%s does not count tokens", model.mteb_model_meta.name, exc_info=True)
        return _TOKENS - 1


def _check_company(
    model: Any, fresh: NDArray[Any], options: Mapping[str, Any], max_tokens: str, tolerance: float
) -> None:
    """Refuse an encoder whose vectors or similarities depend on other texts, or that does not read whole texts.

    Errors of the model itself are left to the task, which reports them better.
    """
    name, documents = model.mteb_model_meta.name, fresh[len(TEXTS) :]
    where = {**options, **_WHERE, "task_metadata": _metadata("Retrieval"), "prompt_type": PromptType.document}
    contrasts = [text for pair in _CONTRASTS.values() for text in pair]
    alone = len(TEXTS) // 2
    calls = ([*contrasts, *reversed(TEXTS)], [TEXTS[alone]])
    try:
        returned, copies = [], []
        for texts in calls:
            returned.append(model.encode(text_loader(texts, options.get("batch_size") or len(texts)), **where))
            copies.append(np.array(as_array(returned[-1])))
        several, single = copies
        kept = as_array(returned[0])
        similar, of_first, to_first = (
            as_array(model.similarity(*pair)).astype(np.float64)
            for pair in ((documents, documents), (documents[:1], documents), (documents, documents[:1]))
        )
    except (Exception, SystemExit):
        logger.debug("%s does not take the fixed texts in another order", name, exc_info=True)
        return
    expected = [(len(texts), documents.shape[1]) for texts in calls]
    if [one.shape for one in copies] != expected or not all(np.isfinite(one).all() for one in copies):
        return
    contrasting, reverse = np.split(several, [len(contrasts)])
    pairs = [(reverse[::-1], documents), (kept, several), (single, documents[alone : alone + 1])]
    refuse_company(max(largest_distance(*pair) for pair in pairs), name)
    if similar.shape != (len(documents), len(documents)) or not np.isfinite(similar).all():
        return
    apart = np.concatenate([of_first.ravel() - similar[0], to_first.ravel() - similar[:, 0]])
    if np.abs(apart).max() > LARGEST * np.abs(similar).max():
        raise ModelError(
            f"{name}: its similarity of two texts depends on the other texts of a call",
            remedy="return a score of each pair, which is not divided by a sum or a maximum over queries or documents",
        )
    same_vector = largest_distance(documents[:1], documents[-1:]) <= min(tolerance, _SAME)
    if not same_vector and np.ptp(similar) == 0:
        raise ModelError(
            f"{name}: its similarity of any two texts is {similar[0, 0]:g}",
            remedy="return a number for each pair that depends on both vectors",
        )
    others = np.where(np.eye(len(similar), dtype=bool), np.nan, similar)
    if (similar.diagonal() < np.nanmin(others, axis=1)).all():
        raise ModelError(
            f"{name}: its similarity is lowest between a text and itself, so it is a distance",
            remedy="return higher numbers for more similar texts, such as the negative distance",
        )
    reads_ends = not max_tokens.isdigit() or int(max_tokens) > _longest(model, contrasts)
    if same_vector:
        return  # one vector for all texts, which the task reports
    reads_first = reads_ends or int(max_tokens) > _longest(model, list(_SENTENCES))
    same = _SAME if tolerance == _TOLERANCE_OF_SERVICES else _EQUAL
    for number, place in enumerate(_CONTRASTS):
        pair = contrasting[2 * number : 2 * number + 2]
        if (reads_first if place == "first" else reads_ends) and largest_distance(pair[:1], pair[1:]) <= same:
            raise ModelError(
                f"{name} gives two texts of 50 words that differ in their {place} sentence the same vector: it does not"
                " read whole texts, or takes a text for another one",
                remedy="raise the limit of tokens of the model or its server, and keep vectors by the whole text",
            )


class Canaries:
    """Watch the encoders inside a model during a run; one with lazy weights from when they are loaded."""

    def __init__(self, model: Any, encode_kwargs: Mapping[str, Any] | None = None) -> None:
        self._encoders = encoders(model)
        self._options = dict(encode_kwargs or {})
        self._first: dict[int, tuple[Any, float]] = {}

    def look(self) -> None:
        """Compare the encodings of now, of the start, and in the store."""
        for encoder in self._encoders:
            has_store = isinstance(encoder, StoredEncoder)
            if has_store and not encoder.loaded:
                continue
            wrapped = encoder.model if has_store else encoder
            if (fresh := _vectors(wrapped, self._options)) is None:
                continue
            if id(encoder) in self._first:
                known, tolerance = self._first[id(encoder)]
                place, why = "at the start of the run", "they changed while it ran"
                _judge(encoder, fresh, known, tolerance, LARGEST, place, why)
                continue
            tolerance = _tolerance(encoder)
            self._first[id(encoder)] = fresh, tolerance
            if not effective_kwargs(self._options):
                behaviour = _remember(wrapped, fresh)
                if has_store and behaviour is not None:
                    encoder.note(_NOTED, behaviour.record())
            if has_store and (stored := _vectors(encoder, self._options)) is not None:
                place, why = f"in the store {encoder.store.path}", "the store was filled by other weights or elsewhere"
                _judge(encoder, fresh, stored, tolerance, tolerance, place, why)
            _check_company(wrapped, fresh, self._options, model_facts(wrapped)["max_tokens"], tolerance)


def encoders(model: Any) -> list[Any]:
    """The encoders inside a model, each once; one with a store as a whole."""
    inside = [] if isinstance(model, StoredEncoder) else components(model)
    if not inside:
        return [model] if hasattr(model, "encode") else []
    return list({id(one): one for part in inside for one in encoders(part)}.values())


def _tolerance(encoder: Any) -> float:
    """Tolerance of the number types in which the encoder computes and its store saves."""
    wrapped = encoder.model if isinstance(encoder, StoredEncoder) and encoder.loaded else encoder
    if getattr(wrapped, "endpoint", None) is not None or "API" in (encoder.mteb_model_meta.framework or ()):
        return _TOLERANCE_OF_SERVICES
    return tolerance_of((*model_facts(encoder)["dtype"].split(", "), str(getattr(encoder, "dtype", ""))))


def _judge(encoder: Any, fresh: Any, known: Any, tolerance: float, largest: float, where: str, why: str) -> None:
    """Warn or stop, by the distance of two encodings."""
    name = encoder.mteb_model_meta.name
    if fresh.shape != known.shape:
        raise ModelError(
            f"{name} gives vectors of {fresh.shape[1]} dimensions, not of {known.shape[1]} as {where}: {why}"
        )
    distance = largest_distance(fresh, known)
    if distance > largest:
        raise ModelError(
            f"{name} does not give the vectors that it gave {where} (relative distance up to {distance:.2g}; up to"
            f" {tolerance:g} is rounding): {why}",
            remedy=(
                "load the model again; other weights need a revision of their own, other hardware or settings a"
                " store of their own (--store); 'patent-mteb store prune' empties one"
            ),
        )
    if distance > tolerance:
        message = (
            "%s does not quite give the vectors that it gave %s (relative distance up to %.2g; up to %g is rounding):"
            " noise, or another type of number"
        )
        logger.warning(message, name, where, distance, tolerance)
    else:
        logger.debug("%s gives the vectors that it gave %s (relative distance up to %.2g)", name, where, distance)
