"""Embedding geometry during training (PatentMap §4.2, Figure 2), every n steps.

The measures use the validation split and the model without its projection head. They are SSD / log d and uniformity of
titles with abstracts, alignment of abstract and first independent claim, and P@1 of the IPC subclass among the ten
nearest publications of other families. The paper measures every 250 steps on its IPC test set.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from transformers import TrainerCallback

from patent_mteb.errors import DataError
from patent_mteb.files import replacing, write_text
from patent_mteb.metrics.embedding_geometry import alignment, spectrum_divergence, uniformity
from patent_mteb.patents import ipc
from patent_mteb.patents.views import VIEWS
from patent_mteb.training.bases import headless, vectors_of
from patent_mteb.training.corpus import Corpus

COLUMNS = ("step", "ssd", "uniformity", "alignment", "ipc_p_at_1")
_NEIGHBOURS = 10  # whose label is compared, a choice
_MOST = 2_000  # validation texts of an entry of the log, a choice


def neighbour_precision(vectors: NDArray[np.floating[Any]], labels: list[frozenset[str]], families: list[str]) -> float:
    """P@1 of the label that most of the ten nearest publications of other families have.

    Ties go to the nearer neighbours. Rows without a label are ignored.
    """
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = unit @ unit.T
    names = np.array(families)
    hits: list[bool] = []
    for row, correct in enumerate(labels):
        if not correct:
            continue
        others = np.flatnonzero(names != names[row])
        nearest = others[np.argsort(-cosines[row, others], kind="stable")[:_NEIGHBOURS]]
        votes: dict[str, float] = defaultdict(float)
        for rank, other in enumerate(nearest):
            for label in labels[other]:
                votes[label] += 1 + 1e-6 * (_NEIGHBOURS - rank)
        hits.append(bool(votes) and min(votes, key=lambda label: (-votes[label], label)) in correct)
    return float(np.mean(hits)) if hits else float("nan")


class GeometryLog(TrainerCallback):
    """Writes ``geometry.csv`` before the first step, every ``every`` steps, and at the end, with a final plot."""

    def __init__(self, model: SentenceTransformer, corpus: Corpus, folder: Path, every: int) -> None:
        patents = [one for one in corpus.members("validation") if VIEWS["TA"](one) and VIEWS["Claim1"](one)][:_MOST]
        if len(patents) < 2:
            problem = "the geometry needs two or more validation patents with abstract and claims"
            raise DataError(problem, remedy="leave out --geometry")
        self.model, self.path, self.every = model, folder / "geometry.csv", every
        self.texts = [VIEWS["TA"](one) for one in patents]
        self.claims = [VIEWS["Claim1"](one) for one in patents]
        self.labels = [frozenset(ipc.codes_at(one.ipc, "subclass").codes) for one in patents]
        self.families = [one.family_id for one in patents]
        self.rows: dict[int, tuple[float, ...]] = {}

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self.path.is_file():  # a resumed run keeps the rows up to its checkpoint
            rows = (line.split(",") for line in self.path.read_text("utf-8").splitlines()[1:])
            earlier = {int(step): tuple(map(float, values)) for step, *values in rows}
            self.rows = {step: row for step, row in earlier.items() if step <= state.global_step}
        self._measure(state.global_step)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.global_step % self.every == 0:
            self._measure(state.global_step)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._measure(state.global_step)
        _plot(self.rows, self.path.with_suffix(".png"))

    def _measure(self, step: int) -> None:
        if step in self.rows:
            return
        texts, claims = self._encoded(self.texts, step), self._encoded(self.claims, step)
        precision = neighbour_precision(texts, self.labels, self.families)
        self.rows[step] = spectrum_divergence(texts), uniformity(texts, pairs=None), alignment(texts, claims), precision
        lines = [",".join([str(step), *(f"{one:.6f}" for one in row)]) for step, row in sorted(self.rows.items())]
        write_text(self.path, "\n".join([",".join(COLUMNS), *lines, ""]))

    def _encoded(self, texts: list[str], step: int) -> NDArray[np.float32]:
        with headless(self.model) as model:
            return vectors_of(model, texts, f"the model at step {step} (geometry of the validation split)")


def _plot(rows: dict[int, tuple[float, ...]], path: Path) -> None:
    """Draw P@1 and SSD over the steps as in Figure 2, uniformity and alignment below; nothing without vl-convert."""
    try:
        from vl_convert import vegalite_to_png
    except ImportError:
        return
    data = {"values": [dict(zip(COLUMNS, (step, *row), strict=True)) for step, row in sorted(rows.items())]}
    panels = []
    for pair in (("ipc_p_at_1", "ssd"), ("alignment", "uniformity")):
        layers = []
        for name, colour in zip(pair, ("#0072B2", "#D55E00"), strict=True):
            axes = {"titleColor": colour, "format": ".3~g"}
            y = {"field": name, "type": "quantitative", "scale": {"zero": False}, "axis": axes}
            mark = {"type": "line", "point": {"color": colour}, "color": colour}
            layers.append({"mark": mark, "encoding": {"x": {"field": "step", "type": "quantitative"}, "y": y}})
        panels.append({"layer": layers, "resolve": {"scale": {"y": "independent"}}, "width": 360, "height": 180})
    figure = vegalite_to_png({"data": data, "vconcat": panels, "config": {"font": "Liberation Sans"}}, ppi=120)
    with replacing(path) as partial:
        partial.write_bytes(figure)
