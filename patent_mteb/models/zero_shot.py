"""Models that score label names instead of embedding texts, for ``-m``: NLI cross-encoders and GLiNER2 taggers
(WIPO-AT, section 4.4).

A multi-label classification task asks them by :mod:`patent_mteb.protocols.zero_shot`; other tasks they cannot do. Known
are the four of the paper's Table 8; any directory of a sequence classifier with a class named *entailment* is one, too.
The paper prints no hypothesis: ours is :data:`~patent_mteb.protocols.zero_shot.HYPOTHESIS`, another one is an identity
of its own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from mteb.models.model_meta import ModelMeta

from patent_mteb.errors import ModelError
from patent_mteb.identity import content_revision, local_name
from patent_mteb.protocols.zero_shot import HYPOTHESIS, Scorer, cross_encoder_scorer, tagger_scorer
from patent_mteb.store.settings import LiveIdentity

_LOWEST = 0.01
"""Confidence from which a tagger reports a span: below every threshold that the validation split could choose."""


class ZeroShotModel(LiveIdentity):
    """A model of mteb's form that gives texts a score for each label name.

    Attributes:
        model: the network, whose weights are part of the identity.
        score_labels: ``score(texts, labels) -> [n texts, n labels]``.
    """

    def __init__(self, meta: ModelMeta, scorer: Scorer, model: Any = None, loaded_revision: str | None = None) -> None:
        self.model = model
        self.score_labels = scorer
        self.loaded_revision = loaded_revision
        self.mteb_model_meta = meta


def gliner2_scorer(model: Any) -> Scorer:
    """The scorer of a GLiNER2 model: the highest confidence of a span that it finds for a label."""

    def tag(text: str, labels: list[str]) -> Iterable[tuple[str, float]]:
        found = model.extract_entities(text, labels, threshold=_LOWEST, include_confidence=True)["entities"]
        return [(label, float(span["confidence"])) for label, spans in found.items() for span in spans]

    return tagger_scorer(tag)


def load_nli(
    model_name: str,
    revision: str | None = None,
    device: str | None = None,
    *,
    folder: str | None = None,
    hypothesis: str = HYPOTHESIS,
) -> ZeroShotModel:
    """Load an NLI cross-encoder (mteb calls this for a model of :data:`METAS`)."""
    from sentence_transformers import CrossEncoder

    try:
        model = CrossEncoder(folder or model_name, revision=revision, device=device)
        scorer = cross_encoder_scorer(model, hypothesis=hypothesis)
    except Exception as error:  # transformers, huggingface_hub and httpx each have errors of their own for "not there"
        raise ModelError(f"'{model_name}' cannot be loaded as an NLI cross-encoder ({error}). {_REMEDY}") from error
    commit = getattr(model.config, "_commit_hash", None)
    if folder:
        return ZeroShotModel(_meta_of(local_nli_meta(Path(folder)), hypothesis), scorer, model)
    return ZeroShotModel(_meta_of(_KNOWN[model_name], hypothesis), scorer, model, commit)


def load_gliner2(model_name: str, revision: str | None = None, device: str | None = None) -> ZeroShotModel:
    """Load a GLiNER2 tagger (mteb calls this for a model of :data:`METAS`); needs the package ``gliner2[local]``."""
    try:
        from gliner2 import GLiNER2
    except ImportError as error:
        raise ModelError(f"'{model_name}' needs the package gliner2. Remedy: pip install 'gliner2[local]'") from error
    from huggingface_hub import snapshot_download

    try:
        folder = Path(snapshot_download(model_name, revision=revision))
        model = GLiNER2.from_pretrained(str(folder))
    except Exception as error:
        raise ModelError(f"'{model_name}' cannot be loaded ({error}). {_REMEDY}") from error
    if device:
        model.to(device)
    return ZeroShotModel(_KNOWN[model_name], gliner2_scorer(model), model, folder.name)


def local_nli_meta(folder: Path) -> ModelMeta:
    """ModelMeta of a directory that holds an NLI cross-encoder: named after the directory, its revision the hash of its
    content.
    """
    loader = functools.partial(load_nli, folder=str(folder))
    return _entry(local_name(folder), content_revision(folder), loader, open_weights=None)


def _entry(
    name: str, revision: str | None, loader: Callable[..., Any], *, open_weights: bool | None = True
) -> ModelMeta:
    fields = {
        "name": name,
        "revision": revision,
        "loader": loader,
        "model_type": ["cross-encoder"],
        "open_weights": open_weights,
    }
    return ModelMeta.create_empty(fields)


def _meta_of(meta: ModelMeta, hypothesis: str) -> ModelMeta:
    return (
        meta if hypothesis == HYPOTHESIS else meta.model_copy(update={"experiment_kwargs": {"hypothesis": hypothesis}})
    )


METAS: tuple[ModelMeta, ...] = (
    _entry("MoritzLaurer/deberta-v3-large-zeroshot-v2.0", None, load_nli),
    _entry("facebook/bart-large-mnli", None, load_nli),
    _entry("fastino/gliner2-multi-v1", None, load_gliner2),
    _entry("fastino/gliner2-base-v1", None, load_gliner2),
)
"""The zero-shot models of Table 8, with whatever commit the hub has; the commit that was loaded is what results are
filed under."""

_KNOWN = {str(meta.name): meta for meta in METAS}

_REMEDY = "Remedy: allow access to the hub (unset HF_HUB_OFFLINE), or give -m a directory that holds the model"
