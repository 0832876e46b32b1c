"""An encoder behind an ``/embeddings`` address of the OpenAI protocol (vLLM, TEI, llama.cpp, Ollama, hosted models), for ``-m --server``.

The identity is the model's name at the server, the settings, and the revision that the user states: with one, the same model may move
between servers; without one the address stands in its place, so that two servers never share vectors or results. What the server
computes with (type of number, batches) it does not say, so the revision is the place to say it. In front of the store a run asks for no
text twice, and goes on after a kill where it stopped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from mteb.models.abs_encoder import AbsEncoder
from mteb.models.model_meta import ModelMeta, ScoringFunction
from numpy.typing import NDArray

from patent_mteb.endpoints.client import Endpoint, EndpointError
from patent_mteb.errors import ModelError
from patent_mteb.identity import digest
from patent_mteb.store.settings import LiveIdentity

__all__ = ["Served"]

_PATH = "/embeddings"


class Served(LiveIdentity, AbsEncoder):  # type: ignore[misc]
    """An mteb encoder whose vectors a server makes.

    Args:
        endpoint: the server; it tries again what may pass.
        model: its name there.
        revision: whatever the user knows of what the server runs; without it one made of the address, ``at-`` and a digest.
        dimensions: ask for so many (servers of Matryoshka models); the model's own otherwise.
        prompts: what is put before the texts, by side: ``{"query": "query: ", "document": "passage: "}``.
        texts_at_once: texts of a request.
        at_once: requests that are under way together.

    Raises:
        ModelError: a number that is not positive.

    Example:
        >>> from patent_mteb.endpoints.client import Endpoint
        >>> from patent_mteb.models.served import Served
        >>> here, there = (Served(Endpoint(f"http://{host}:8000/v1"), "org/model", "2026-01") for host in ("localhost", "gpu1"))
        >>> here.mteb_model_meta.name, here.mteb_model_meta == there.mteb_model_meta
        ('served/org__model', True)
    """

    def __init__(
        self,
        endpoint: Endpoint,
        model: str,
        revision: str | None = None,
        *,
        dimensions: int | None = None,
        prompts: Mapping[str, str] | None = None,
        texts_at_once: int = 32,
        at_once: int = 4,
    ) -> None:
        if min(texts_at_once, at_once, 1 if dimensions is None else dimensions) < 1:
            raise ModelError("dimensions, and texts and requests at once, are positive numbers. Remedy: give such")
        self.endpoint, self.served_model = endpoint, model
        self.dimensions, self.prompts = dimensions, dict(prompts or {})
        self.texts_at_once, self.at_once = texts_at_once, at_once
        settings = {"dimensions": dimensions} if dimensions else {}
        self.mteb_model_meta = ModelMeta.create_empty(
            {
                "name": f"served/{model.replace('/', '__')}",
                "revision": revision or f"at-{digest(endpoint.url, 8)}",
                "model_type": ["dense"],
                "similarity_fn_name": ScoringFunction.COSINE,
                "embed_dim": dimensions,
                "experiment_kwargs": {**settings, **({"prompts": self.prompts} if self.prompts else {})} or None,
            }
        )

    @property
    def store_settings(self) -> dict[str, Any]:
        """What changes vectors, beside the prompt."""
        return {"dimensions": self.dimensions}

    def store_prompt(self, task_metadata: Any, prompt_type: Any) -> str:
        """What is put before a text of this side."""
        return self.prompts.get(prompt_type.value, "") if prompt_type else ""

    def encode(self, inputs: Iterable[Any], *, task_metadata: Any, prompt_type: Any = None, **kwargs: Any) -> NDArray[np.float32]:
        """The vectors of the texts, in their order.

        Raises:
            EndpointError: the server cannot be reached, refuses, or answers something else than one vector a text.
        """
        prompt = self.store_prompt(task_metadata, prompt_type)
        texts = [prompt + text for batch in inputs for text in batch["text"]]
        requests = [texts[start : start + self.texts_at_once] for start in range(0, len(texts), self.texts_at_once)]
        with ThreadPoolExecutor(self.at_once) as pool:
            waiting = [pool.submit(self._vectors, request) for request in requests]
            try:
                found = [one.result() for one in waiting]
            finally:
                for one in waiting:
                    one.cancel()
        if len({vectors.shape[1] for vectors in found}) > 1:
            raise self._unusable(f"vectors of {sorted({vectors.shape[1] for vectors in found})} dimensions")
        return np.concatenate(found) if found else np.zeros((0, self.dimensions or 1), np.float32)

    def _vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        body = {"model": self.served_model, "input": list(texts), "encoding_format": "float"}
        answer = self.endpoint.post_json(_PATH, body | ({"dimensions": self.dimensions} if self.dimensions else {}))
        try:
            rows = {int(row["index"]): row["embedding"] for row in answer["data"]}
            vectors = np.array([rows[number] for number in range(len(texts))], np.float32)
        except (KeyError, TypeError, ValueError):
            raise self._unusable(f"no vector for each of {len(texts)} texts") from None
        if vectors.ndim != 2 or len(rows) != len(texts) or (self.dimensions and vectors.shape[1] != self.dimensions):
            raise self._unusable(f"{len(rows)} vectors of shape {vectors.shape[1:]} for {len(texts)} texts")
        return vectors

    def _unusable(self, what: str) -> EndpointError:
        return EndpointError(
            f"{self.endpoint.url}{_PATH} answered {what} by {self.served_model}. "
            "Remedy: see that the model embeds texts, and in as many dimensions as were asked for"
        )
