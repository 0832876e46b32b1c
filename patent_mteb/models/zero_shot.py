"""Zero-shot classifiers: NLI cross-encoders and GLiNER2 taggers (WIPO-AT, section 4.4).

They score label names instead of embedding texts, and run multi-label classification tasks only.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from mteb.models.model_meta import ModelMeta

from patent_mteb.errors import ModelError
from patent_mteb.identity import content_revision, local_name
from patent_mteb.model_identity.loaded import NamedModel
from patent_mteb.protocols.zero_shot import HYPOTHESIS, Scorer, cross_encoder_scorer, tagger_scorer
from patent_mteb.search.checkpoint_files import COMPARE

_LOWEST = 0.01  # minimum confidence of a reported span, below every threshold that the validation split could choose


class ZeroShotModel(NamedModel):
    """An mteb model that scores label names: ``score_labels(texts, labels) -> [n texts, n labels]``."""

    def __init__(self, meta: ModelMeta, scorer: Scorer, model: Any = None, loaded_revision: str | None = None) -> None:
        self.model, self.score_labels = model, scorer  # the weights of the model are part of the identity
        self.loaded_revision = loaded_revision
        self.mteb_model_meta = meta


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
    except Exception as error:  # transformers, huggingface_hub and httpx each raise their own types
        what, remedy = (f"the checkpoint {folder}", COMPARE) if folder else (f"'{model_name}'", _REMEDY)
        raise ModelError(f"{what} cannot be loaded as an NLI cross-encoder ({error})", remedy=remedy) from error
    meta = local_nli_meta(Path(folder)) if folder else _KNOWN[model_name]
    if hypothesis != HYPOTHESIS:
        meta = meta.model_copy(update={"experiment_kwargs": {"hypothesis": hypothesis}})
    return ZeroShotModel(meta, scorer, model, None if folder else getattr(model.config, "_commit_hash", None))


def load_gliner2(model_name: str, revision: str | None = None, device: str | None = None) -> ZeroShotModel:
    """Load a GLiNER2 tagger of :data:`METAS`; a label scores as its most confident span."""
    try:
        from gliner2 import GLiNER2
    except ImportError as error:
        raise ModelError(f"'{model_name}' needs the package gliner2", remedy="pip install 'gliner2[local]'") from error
    from huggingface_hub import snapshot_download

    try:
        folder = Path(snapshot_download(model_name, revision=revision))
        model = GLiNER2.from_pretrained(str(folder))
    except Exception as error:
        raise ModelError(f"'{model_name}' cannot be loaded ({error}). {_REMEDY}") from error
    if device:
        model.to(device)

    def tag(text: str, labels: list[str]) -> Iterable[tuple[str, float]]:
        entities = model.extract_entities(text, labels, threshold=_LOWEST, include_confidence=True)["entities"]
        return [(label, float(span["confidence"])) for label, spans in entities.items() for span in spans]

    return ZeroShotModel(_KNOWN[model_name], tagger_scorer(tag), model, folder.name)


def local_nli_meta(folder: Path) -> ModelMeta:
    """ModelMeta of a directory that holds an NLI cross-encoder. The revision is a hash of its content."""
    loader = functools.partial(load_nli, folder=str(folder))
    return _entry(local_name(folder), loader, revision=content_revision(folder), open_weights=None)


def _entry(name: str, loader: Callable[..., Any], **facts: Any) -> ModelMeta:
    known = {"name": name, "loader": loader, "model_type": ["cross-encoder"], "revision": None, "open_weights": True}
    return ModelMeta.create_empty(known | facts)


METAS: tuple[ModelMeta, ...] = (
    _entry("MoritzLaurer/deberta-v3-large-zeroshot-v2.0", load_nli),
    _entry("facebook/bart-large-mnli", load_nli),
    _entry("fastino/gliner2-multi-v1", load_gliner2),
    _entry("fastino/gliner2-base-v1", load_gliner2),
)
"""The zero-shot models of Table 8, without a fixed commit. Results are stored under the commit that was loaded."""

_KNOWN = {str(meta.name): meta for meta in METAS}
_REMEDY = "allow access to the hub (unset HF_HUB_OFFLINE), or pass -m a directory that holds the model"
