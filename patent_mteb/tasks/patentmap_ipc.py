"""PatentMap's classification into IPC subclasses (§6.1, appendix C.1), under two protocols in one pass.

Beside the suite's scores, those of the authors' evaluation begin with ``paper_``: they hold out a tenth of the training part, by
scikit-learn's draw with seed 42, to choose the number of neighbours among 1, 3, 5 and 10 and to stop the perceptron, which learns
with a weight decay of 1e-5, gradients clipped at a norm of 1, and whole batches only. The paper's tables say k = 10 and its code
chooses k; both are reported. One model, bert-for-patents, reads section tags for these scores alone.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from patent_mteb.data.sources import Source
from patent_mteb.errors import DataError
from patent_mteb.models.section_tags import reads_section_tags, reads_section_tags_in_paper
from patent_mteb.protocols import multi_hot, precision_at
from patent_mteb.protocols.intervals import limits, mean_interval
from patent_mteb.recipes.patentmap_ipc import FILES, Labelled, read_labelled, with_tag
from patent_mteb.tasks.checks import need_part, refuse_constant, say_leakage, say_unseen
from patent_mteb.tasks.frozen import FrozenTask

if TYPE_CHECKING:
    from mteb.models import MTEBModels

    from patent_mteb.protocols.mlp_probe import MLPProbe

logger = logging.getLogger(__name__)

__all__ = ["FOLDER", "ClassificationData", "IPCClassification", "read_classification"]

FOLDER = "IPC-Classification"
PAPER_KS = (1, 3, 5, 10)
PAPER_HELD_OUT = 0.1
_PAPER = "paper_"


@dataclass(frozen=True)
class ClassificationData:
    """What the protocols need: texts by part, the classes of the training part, and the labels of both as [n, classes].

    Parts are ``train`` and ``test``, and ``paper_train`` and ``paper_test`` for a model that reads other texts in the paper.
    """

    texts: dict[str, list[str]]
    classes: tuple[str, ...]
    labels: dict[str, np.ndarray]
    unseen: int


@lru_cache(maxsize=1)
def read_classification(source: Source) -> dict[str, list[Labelled]]:
    """The patents of the training and the test part.

    Raises:
        DataError: what :func:`patent_mteb.recipes.patentmap_ipc.read_labelled` says.

    Example:
        >>> import mteb
        >>> from patent_mteb.tasks.patentmap_ipc import read_classification
        >>> sorted(read_classification(mteb.get_task("PatentMapIPCClassification.sample").source))
        ['test', 'train']
    """
    need_part(source, FOLDER)
    return {part: read_labelled(source.path(f"{FOLDER}/{name}")) for part, name in FILES.items()}


class IPCClassification(FrozenTask):
    """Multi-label classification into IPC subclasses from title and abstract.

    A class's score is the share of the ten nearest training patents that carry it; P@k is the share of the k best classes that
    the patent has, main score ``knn_precision_at_1`` (95% interval over test patents: ``knn_precision_at_1_low`` and ``_high``). Classes
    are those of the training part. Also reported:

    * ``knn_tuned_*``: the number of neighbours (1 to 20, ``knn_tuned_k``) chosen by P@1 on 15% of the training part, held out for that;
    * ``mlp_*``: a perceptron with one hidden layer, stopped by its loss on the same 15% (the paper's "linear probe"), with the epoch
      that was kept (``mlp_epoch``) and whether it stopped by itself (``mlp_stopped_early``, 1 or 0);
    * ``linear_*``: one logistic regression a class (L2, C = 1) on the whole training part;
    * ``paper_knn_*`` (k = 10), ``paper_knn_tuned_*`` and ``paper_mlp_*``: the authors' evaluation (see the module);
    * ``n_unseen_labels``: labels of test patents that no training patent has, which no protocol can predict (they do not count);
      ``n_classes``, ``n_train``, ``n_test``.

    Example:
        >>> import mteb
        >>> task = mteb.get_task("PatentMapIPCClassification.sample")
        >>> task.load_data()
        >>> data = task.dataset[task.source.subset]["test"]
        >>> {part: len(texts) == len(data.labels[part]) for part, texts in data.texts.items()}
        {'train': True, 'test': True}
    """

    neighbours = 10
    cutoffs = (1, 3, 5)

    def load_split(self) -> ClassificationData:
        return self._data(tags=False, paper_tags=False)

    def texts_for(self, model: MTEBModels, data_split: Any) -> Any:
        tags, paper_tags = reads_section_tags(model.mteb_model_meta), reads_section_tags_in_paper(model.mteb_model_meta)
        return self._data(tags, paper_tags) if tags or paper_tags else data_split

    def _data(self, tags: bool, paper_tags: bool) -> ClassificationData:
        parts = read_classification(self.source)
        classes = tuple(sorted({label for one in parts["train"] for label in one.labels}))
        known = set(classes)
        tested = [label for one in parts["test"] for label in one.labels]
        path = self.source.path(f"{FOLDER}/{FILES['train']}")
        if len(parts["train"]) <= self.neighbours or not parts["test"]:
            raise DataError(
                f"{len(parts['train'])} training and {len(parts['test'])} test patents are too few",
                path=path,
                remedy=f"a neighbourhood of {self.neighbours} needs more",
            )
        texts = {part: _texts(rows, tags) for part, rows in parts.items()}
        if paper_tags != tags:
            texts |= {f"{_PAPER}{part}": _texts(rows, paper_tags) for part, rows in parts.items()}
        refuse_constant(classes, path, "training patents")
        say_unseen(set(tested), known, path)
        say_leakage({"text": ([(text,) for text in texts["train"]], [(text,) for text in texts["test"]])}, path)
        labels = {part: multi_hot([[x for x in one.labels if x in known] for one in rows], classes) for part, rows in parts.items()}
        return ClassificationData(texts, classes, labels, sum(label not in known for label in tested))

    def score(self, embeddings: Mapping[str, np.ndarray], data: ClassificationData) -> dict[str, Any]:
        train, test = ((embeddings[part], data.labels[part]) for part in ("train", "test"))
        theirs = {part: (embeddings.get(f"{_PAPER}{part}", embeddings[part]), data.labels[part]) for part in ("train", "test")}
        return {
            **self._suite(train, test),
            **self._paper(theirs["train"], theirs["test"]),
            "n_classes": len(data.classes),
            "n_train": len(train[0]),
            "n_test": len(test[0]),
            "n_unseen_labels": data.unseen,
        }

    def _suite(self, train: _Part, test: _Part) -> dict[str, Any]:
        from patent_mteb.protocols.knn import WIPO_AT_KS, ranked_knn
        from patent_mteb.protocols.logistic import fit_logistic
        from patent_mteb.protocols.mlp_probe import held_out, mlp_probe

        fitted, held = ((train[0][rows], train[1][rows]) for rows in held_out(len(train[0])))
        plain = ranked_knn(train, test, k=self.neighbours, cutoffs=self.cutoffs)
        best_k = ranked_knn(fitted, held, validation=held, ks=[k for k in WIPO_AT_KS if k <= len(fitted[0])]).k
        tuned = ranked_knn(train, test, k=best_k, cutoffs=self.cutoffs)
        mlp = mlp_probe(fitted, held, test, cutoffs=self.cutoffs)
        decisions = fit_logistic(*train, 1.0).decide(test[0])
        linear = {k: float(precision_at(test[1], decisions, k).mean()) for k in self.cutoffs}
        return {
            **_named("knn", plain.precision),
            **limits("knn_precision_at_1", mean_interval(plain.of_each[1])),
            **_named("knn_tuned", tuned.precision),
            **_named("mlp", mlp.precision),
            **_named("linear", linear),
            "knn_tuned_k": tuned.k,
            **self._told("mlp", mlp),
        }

    def _paper(self, train: _Part, test: _Part) -> dict[str, Any]:
        from sklearn.model_selection import train_test_split

        from patent_mteb.protocols.knn import ranked_knn
        from patent_mteb.protocols.mlp_probe import PAPER_SETTINGS, mlp_probe

        rows = train_test_split(np.arange(len(train[0])), test_size=PAPER_HELD_OUT, random_state=42)
        fitted, held = ((train[0][part], train[1][part]) for part in rows)
        plain = ranked_knn(train, test, k=self.neighbours, cutoffs=self.cutoffs)
        best_k = ranked_knn(fitted, held, validation=held, ks=[k for k in PAPER_KS if k <= len(fitted[0])]).k
        tuned = ranked_knn(train, test, k=best_k, cutoffs=self.cutoffs)
        mlp = mlp_probe(fitted, held, test, cutoffs=self.cutoffs, settings=PAPER_SETTINGS)
        return {
            **_named("paper_knn", plain.precision),
            **_named("paper_knn_tuned", tuned.precision),
            **_named("paper_mlp", mlp.precision),
            "paper_knn_tuned_k": tuned.k,
            **self._told("paper_mlp", mlp),
        }

    def _told(self, name: str, probe: MLPProbe) -> dict[str, int]:
        """What a reader must know of the probe's training; the log says if it was cut off."""
        if not probe.stopped_early:
            logger.warning(
                "%s: the training of %s was ended after %d steps, before its loss stopped falling; the score depends on that limit",
                self.metadata.name,
                name,
                probe.steps,
            )
        return {f"{name}_epoch": probe.epoch, f"{name}_steps": probe.steps, f"{name}_stopped_early": int(probe.stopped_early)}


_Part = tuple[np.ndarray, np.ndarray]


def _texts(rows: list[Labelled], tags: bool) -> list[str]:
    return [with_tag(one.text) if tags else one.text for one in rows]


def _named(protocol: str, precision: Mapping[int, float]) -> dict[str, float]:
    return {f"{protocol}_precision_at_{k}": value for k, value in precision.items()}
