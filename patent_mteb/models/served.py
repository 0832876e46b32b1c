"""An encoder behind an address of the OpenAI protocol."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from mteb.models.abs_encoder import AbsEncoder
from mteb.models.model_meta import ModelMeta, ScoringFunction
from numpy.typing import NDArray

from patent_mteb.endpoints.chat import is_count
from patent_mteb.endpoints.client import Endpoint, EndpointError
from patent_mteb.errors import ModelError
from patent_mteb.identity import digest
from patent_mteb.model_identity.loaded import NamedModel
from patent_mteb.model_identity.prompts import ROLE_NAMES, role_prompts

_PATH = "/embeddings"
_BYTES_OF_CHARACTER = 4  # at most, in UTF-8; a tokenizer makes at most one token of a byte
_TOKENS_AROUND = 1000  # of an instruction that a server may put before a text


class Served(NamedModel, AbsEncoder):  # type: ignore[misc]
    """An encoder behind an ``/embeddings`` address of the OpenAI protocol, such as vLLM, TEI, llama.cpp or Ollama.

    The identity consists of the model's name at the server, the settings, and the revision that the user states.
    Without a revision the address takes its place, so that two servers never share vectors or results.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        model: str,
        revision: str | None = None,
        *,
        prompts: Mapping[str, str] | None = None,
        texts_at_once: int = 32,
        at_once: int = 4,
    ) -> None:
        self.endpoint, self.served_model, self.prompts = endpoint, model, role_prompts(prompts or {})
        if others := sorted(name for name, text in (prompts or {}).items() if text not in self.prompts.values()):
            raise ModelError(f"a served model has prompts for {' and '.join(ROLE_NAMES)}, not for {', '.join(others)}")
        self.texts_at_once, self.at_once = texts_at_once, at_once
        self.tokens: list[int | None] = []  # as the server counts them for each request; None without a possible count
        self.mteb_model_meta = ModelMeta.create_empty(
            {
                "name": f"served/{model.replace('/', '__')}",
                "revision": revision or f"at-{digest(endpoint.url, 8)}",
                "model_type": ["dense"],
                "similarity_fn_name": ScoringFunction.COSINE,
                "experiment_kwargs": {"prompts": self.prompts} if self.prompts else None,
            }
        )

    def store_prompt(self, task_metadata: Any, prompt_type: Any) -> str:
        return self.prompts.get(prompt_type.value, "") if prompt_type else ""

    def encode(
        self, inputs: Iterable[Any], *, task_metadata: Any, prompt_type: Any = None, **kwargs: Any
    ) -> NDArray[np.float32]:
        prompt = self.store_prompt(task_metadata, prompt_type)
        texts = [prompt + text for batch in inputs for text in batch["text"]]
        requests = [texts[start : start + self.texts_at_once] for start in range(0, len(texts), self.texts_at_once)]
        with ThreadPoolExecutor(self.at_once) as pool:
            blocks = list(pool.map(self._vectors, requests))  # an error cancels the requests that wait
        dims = {vectors.shape[1] for vectors in blocks}
        if len(dims) > 1:
            raise self._unusable(f"vectors of {sorted(dims)} dimensions")
        return np.concatenate(blocks) if blocks else np.zeros((0, 1), np.float32)

    def _vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        body = {"model": self.served_model, "input": list(texts), "encoding_format": "float"}
        answer = self.endpoint.post_json(_PATH, body)
        used, most = answer.get("usage"), sum(_BYTES_OF_CHARACTER * len(text) + _TOKENS_AROUND for text in texts)
        count = used.get("prompt_tokens") if isinstance(used, dict) else None
        self.tokens.append(count if count and is_count(count, most) else None)
        try:
            rows = {row["index"]: row["embedding"] for row in answer["data"]}
            vectors = np.array([rows[number] for number in range(len(texts))])
        except (KeyError, TypeError, ValueError):
            raise self._unusable(f"no vector for each of {len(texts)} texts") from None
        if vectors.dtype.kind not in "fi":  # strings, truth values, null
            raise self._unusable(f"vectors of {vectors.dtype.name}")
        if vectors.ndim != 2 or len(rows) != len(texts):
            raise self._unusable(f"{len(rows)} vectors of shape {vectors.shape[1:]} for {len(texts)} texts")
        if zeros := [text for text, vector in zip(texts, vectors, strict=True) if text.strip() and not vector.any()]:
            raise self._unusable(f"vectors of zeros for {len(zeros)} of {len(texts)} texts")
        return vectors.astype(np.float32)

    def _unusable(self, what: str) -> EndpointError:
        return EndpointError(
            f"{self.endpoint.url}{_PATH} answered {what} by {self.served_model}",
            remedy="check that the model embeds texts",
        )
