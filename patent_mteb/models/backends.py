"""Runtimes and number types of an encoder, and which is fastest on this machine."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np
from mteb.types import PromptType
from numpy.typing import NDArray

from patent_mteb.errors import ModelError
from patent_mteb.models.opening import PROBE
from patent_mteb.models.quantised import calibration_texts
from patent_mteb.models.spec import AUTOCAST
from patent_mteb.search.vectors import is_encoder
from patent_mteb.store.batches import as_array, text_loader

logger = logging.getLogger(__name__)


def in_bfloat16(forward: Callable[..., Any], device: str, *arguments: Any, **options: Any) -> Any:
    import torch

    with torch.autocast(device, torch.bfloat16):
        return forward(*arguments, **options)


BACKENDS: dict[str, tuple[str, ...]] = {
    "torch": (),
    "onnx": ("optimum", "onnxruntime"),
    "openvino": ("optimum", "openvino"),
}
"""Backends that can run an encoder, with the packages that each needs."""

_INSTALL = {
    "onnx": "use openvino: optimum-onnx 0.1 excludes the transformers 5 of sentence-transformers 6",
    "openvino": "in an environment of its own pip install . 'optimum-intel[openvino]>=2.2', with transformers 5.5",
}


def backend_arguments(backend: str | None, attention: str | None, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    if backend is not None and backend not in BACKENDS:
        raise ModelError(f"unknown backend '{backend}'", remedy=f"choose one of {', '.join((*BACKENDS, 'auto'))}")
    if missing := [package for package in BACKENDS.get(backend or "torch", ()) if find_spec(package) is None]:
        raise ModelError(f"the backend {backend} needs {' and '.join(missing)}", remedy=f"{_INSTALL[str(backend)]}")
    arguments: dict[str, Any] = {} if backend in (None, "torch") else {"backend": backend}
    if attention is not None:
        arguments["model_kwargs"] = {**kwargs.get("model_kwargs", {}), "attn_implementation": attention}
    return arguments


_FASTER = 1.05  # ratio of speeds from which another backend is used


def fastest(load_with: Callable[..., Any], precision: str | None = None) -> Any:
    """Load an encoder with the backend that encodes 64 texts fastest on this machine.

    Compared are torch, bfloat16-autocast (unless a precision is given), and the installed ones of :data:`BACKENDS`.
    Another than torch must be 5% faster. Its setting is part of the identity, so results of two machines may have
    different names.

    Args:
        load_with: :func:`load` with all arguments but ``backend`` and ``precision``.
    """
    candidates: dict[str, dict[str, Any]] = {"torch": {"precision": precision}}
    if precision is None:
        candidates[AUTOCAST] = {"precision": AUTOCAST}
    installed = [name for name, packages in BACKENDS.items() if packages and all(map(find_spec, packages))]
    candidates |= {name: {"precision": precision, "backend": name} for name in installed}
    texts = calibration_texts()[:64]
    chosen, best, speed, exact = "torch", None, 0.0, None
    for name, options in candidates.items():
        try:
            model = load_with(**options)
            vectors, found = _measured(model, texts)
        except ModelError as error:
            if best is None:
                raise
            logger.warning("backend auto: %s cannot be used: %s", name, error)
            continue
        exact = vectors if exact is None else exact
        cosine = (vectors * exact).sum(axis=1) / np.linalg.norm(vectors, axis=1) / np.linalg.norm(exact, axis=1)
        logger.info("backend auto: %s, %.1f texts a second, least cosine to torch %.6f", name, found, cosine.min())
        if best is None or found > speed * _FASTER:
            chosen, best, speed = name, model, found
    logger.info("backend auto: %s is used", chosen)
    return best


def _measured(model: Any, texts: list[str]) -> tuple[NDArray[np.float32], float]:
    """Encode texts twice. Returns the vectors, and the texts a second of the second time."""
    if not is_encoder(model):
        raise ModelError(f"'{model.mteb_model_meta.name}' is not an encoder", remedy="leave out --backend")
    where: dict[str, Any] = {"task_metadata": PROBE, "hf_split": "test", "hf_subset": "default"}
    where["prompt_type"] = PromptType.document
    for _ in range(2):
        started = time.perf_counter()
        vectors = as_array(model.encode(text_loader(texts, 32), show_progress_bar=False, **where))
    return vectors.astype(np.float32), len(texts) / (time.perf_counter() - started)
