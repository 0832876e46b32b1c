"""Tasks on pairs of texts that mteb's STS evaluation scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

from patent_mteb._mteb import PairHooks
from patent_mteb.search.vectors import Checked
from patent_mteb.tasks.base import PatentTask
from patent_mteb.tasks.evidence import KEY, predictions_record
from patent_mteb.tasks.frozen import encode_texts

__all__ = ["PairTask"]


class PairTask(PairHooks, PatentTask):
    """A task on pairs of texts, to stand before mteb's class among the bases; its split is a table with ``sentence1`` and ``sentence2``."""

    def texts_by_role(self, data_split: Any) -> Mapping[str, Iterable[str]]:
        return {"text": chain(data_split["sentence1"], data_split["sentence2"])}

    def evaluate_split(self, model: Any, data_split: Any, **arguments: Any) -> Any:
        scores = super().evaluate_split(Checked(model, single=True), data_split, **arguments)
        return {**scores, KEY: {"texts": self.texts_seen(data_split), **scores[KEY]}}

    def encode_split(self, model: Any, data_split: Any, **arguments: Any) -> None:
        for name in ("sentence1", "sentence2"):
            encode_texts(model, data_split[name], self.metadata, **arguments)

    def score_pairs(self, scores: Any, labels: list[float]) -> Any:
        return {**super().score_pairs(scores, labels), KEY: {"predictions": predictions_record(scores["cosine_scores"])}}
