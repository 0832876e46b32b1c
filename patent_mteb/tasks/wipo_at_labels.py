"""WIPO-AT's tasks on label sets: multi-label classification, zero-shot labels and clustering (§3.3.2, §3.3.3, §4.4).

Which sets and texts there are, says :mod:`patent_mteb.tasks.wipo_at`.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from patent_mteb.errors import LAYOUT, NotThereError
from patent_mteb.protocols import multi_hot
from patent_mteb.protocols.clustering import agreement, cluster, every_label, most_frequent_label, single_label, spread
from patent_mteb.protocols.intervals import limits, macro_f1_interval, v_measure_interval
from patent_mteb.protocols.knn import knn
from patent_mteb.protocols.linear_probe import linear_probe
from patent_mteb.protocols.zero_shot import LabelScorer, Scorer, zero_shot
from patent_mteb.recipes.label_sets import SPLITS, label_files
from patent_mteb.recipes.landscapes import LabelSet
from patent_mteb.tasks.base import asked
from patent_mteb.tasks.checks import refuse_trivial_clusters
from patent_mteb.tasks.evidence import KEY
from patent_mteb.tasks.frozen import FrozenTask
from patent_mteb.tasks.labelled import LabelledTexts, labelled_texts

__all__ = ["SILHOUETTE_VARIABLE", "LabelClassification", "LabelClustering", "LabelTask"]

logger = logging.getLogger(__name__)

SILHOUETTE_VARIABLE = "PATENT_MTEB_SILHOUETTE"


class LabelTask(FrozenTask):
    """What classification and clustering share: one label set in one text variant."""

    label_set: LabelSet
    fields: tuple[str, ...]

    def load_split(self) -> LabelledTexts:
        folder = self.source.path()
        names = label_files(folder)
        if self.label_set.name not in names:
            problem = f"there is no label set {self.label_set.name} (there are {', '.join(names.values())})"
            raise NotThereError(problem if names else "there are no label sets", path=folder / "labels", remedy=LAYOUT)
        return labelled_texts(self.source, names[self.label_set.name], self.fields)


class LabelClassification(LabelTask):
    """Multi-label classification on frozen embeddings (§3.3.2), trained on the whole training split.

    ``macro_f1`` (main) is the linear probe's on the test split, with the C that :mod:`patent_mteb.protocols.linear_probe` chooses on
    the validation split: ``c``, and ``c_at_edge`` is 1 where it ends the grid. ``knn_<k>_macro_f1`` are the majority
    vote's: ``knn_macro_f1`` at the k that is best on the test split itself, as the paper prints it, so an optimistic score;
    ``knn_tuned_macro_f1`` at the k that is best on the validation split (``knn_tuned_k``). Per-label F1 is under ``f1_<label>``;
    ``n_untrained_labels`` counts labels without a training example (scored 0, part of the mean), ``n_unconverged_fits`` fits short of
    the tolerance. The classes are the labels that occur.
    ``macro_f1_low``, ``macro_f1_high``, ``knn_macro_f1_low`` and ``knn_macro_f1_high`` are 95% intervals over test documents
    (:mod:`patent_mteb.protocols.intervals`).

    Example:
        >>> import mteb
        >>> from patent_mteb.tasks.labelled import LabelledTexts
        >>> splits = ("train", "validation", "test")
        >>> vectors, labels = dict.fromkeys(splits, [[-1.0], [1.0]] * 10), dict.fromkeys(splits, [["G"], ["H"]] * 10)
        >>> task = mteb.get_task("WIPOATEmergingClassification.sample")
        >>> task.score(vectors, LabelledTexts({}, labels, ("G", "H")))["macro_f1"]
        1.0
    """

    def score(self, embeddings: Mapping[str, np.ndarray], data: LabelledTexts) -> dict[str, Any]:
        splits = {name: (embeddings[name], multi_hot(data.labels[name], data.classes)) for name in SPLITS}
        probe = linear_probe(splits["train"], splits["validation"], splits["test"], data.classes)
        neighbours = knn(splits["train"], splits["test"], data.classes)
        tuned = knn(splits["train"], splits["validation"], data.classes).best_k
        for c, label, residual in probe.unconverged:
            logger.warning("%s: the probe of label %s did not converge at C=%g (residual %.1e)", self.metadata.name, label, c, residual)
        if probe.at_edge:
            logger.warning("%s: the best C, %g, ends the grid of the probe: another might be better", self.metadata.name, probe.c)
        if probe.untrained:
            logger.warning("%s: labels without a training example: %s", self.metadata.name, ", ".join(probe.untrained))
        return {
            "macro_f1": probe.macro_f1,
            **limits("macro_f1", macro_f1_interval(splits["test"][1], probe.predicted)),
            "c": probe.c,
            "c_at_edge": int(probe.at_edge),
            "validation_macro_f1": probe.validation_f1[probe.c],
            "knn_macro_f1": neighbours.macro_f1[neighbours.best_k],
            **limits("knn_macro_f1", macro_f1_interval(splits["test"][1], neighbours.predicted)),
            "knn_best_k": neighbours.best_k,
            "knn_tuned_macro_f1": neighbours.macro_f1[tuned],
            "knn_tuned_k": tuned,
            **{f"knn_{k}_macro_f1": value for k, value in neighbours.macro_f1.items()},
            "n_test": len(data.labels["test"]),
            "n_classes": len({label for labels in data.labels["test"] for label in labels}),
            "n_untrained_labels": len(probe.untrained),
            "n_untested_labels": len(probe.untested),
            "n_unconverged_fits": len(probe.unconverged),
            **{f"f1_{label}": value for label, value in probe.f1.items()},
        }

    def evaluate_split(self, model: Any, data_split: Any, **arguments: Any) -> Any:
        if isinstance(model, LabelScorer):
            return {**self.zero_shot(model.score_labels, data_split), KEY: {"texts": self.texts_seen(data_split)}}
        return super().evaluate_split(model, data_split, **arguments)

    def zero_shot(self, scorer: Scorer, data: LabelledTexts) -> dict[str, Any]:
        """Zero-shot labels (§4.4): label names as hypotheses, the threshold tuned on validation, macro F1 on test.

        Args:
            scorer: any callable ``score(texts, label names) -> [texts, labels]``; :mod:`patent_mteb.protocols.zero_shot` makes one of an
                NLI cross-encoder or of a tagger.
        """
        splits = {name: (data.texts[name], multi_hot(data.labels[name], data.classes)) for name in ("validation", "test")}
        found = zero_shot(scorer, splits["validation"], splits["test"], data.classes)
        return {
            "macro_f1": found.macro_f1,
            **limits("macro_f1", macro_f1_interval(splits["test"][1], found.predicted)),
            "n_test": len(data.labels["test"]),
            "n_classes": len({label for labels in data.labels["test"] for label in labels}),
            "threshold": found.threshold,
            "validation_macro_f1": found.validation_f1,
            **{f"f1_{label}": value for label, value in found.f1.items()},
        }


class LabelClustering(LabelTask):
    """k-means on the embeddings of the test split (§3.3.3): V-measure (main), ARI and NMI, which is V-measure by another name.

    K is the number of labels of the set. A document of several labels gets the rarest of them in the whole set as its class. The paper
    is silent on this, so other readings of the same clusters stand beside it (:mod:`patent_mteb.protocols.clustering`):
    ``most_frequent_v_measure`` and ``every_label_v_measure``, and ``_ari`` likewise. The main score is of seed 42 alone;
    ``v_measure_seeds_mean`` and ``v_measure_seeds_std`` are over ``n_seeds`` seeds from 42 on, ``v_measure_low`` and
    ``v_measure_high`` a 95% interval over test documents for the clusters of seed 42 (:mod:`patent_mteb.protocols.intervals`).
    ``PATENT_MTEB_SILHOUETTE=1`` adds the silhouette.

    Example:
        >>> import mteb
        >>> from patent_mteb.tasks.labelled import LabelledTexts
        >>> task = mteb.get_task("WIPOATEmergingClustering.sample")
        >>> data = LabelledTexts({}, {"test": [["G"], ["G", "H"], ["H"], ["H"]]}, ("G", "H"))
        >>> scores = task.score({"test": [[0.0], [0.1], [9.0], [9.1]]}, data)
        >>> scores["v_measure"], round(scores["every_label_v_measure"], 2)  # G is rarer, the second document's second label costs
        (1.0, 0.43)
    """

    def load_split(self) -> LabelledTexts:
        data = super().load_split()
        refuse_trivial_clusters(_test_classes(data, single_label), self.source.path("labels"))
        return LabelledTexts({"test": data.texts["test"]}, data.labels, data.classes)

    def score(self, embeddings: Mapping[str, np.ndarray], data: LabelledTexts) -> dict[str, Any]:
        classes, clusters = _test_classes(data, single_label), min(len(data.classes), len(embeddings["test"]))
        found = cluster(embeddings["test"], classes, clusters=clusters, silhouette=asked(SILHOUETTE_VARIABLE))
        seeds = spread(embeddings["test"], classes, clusters=clusters)
        frequent = agreement(_test_classes(data, most_frequent_label), found.assigned)
        labels, rows = every_label(data.labels["test"])
        every = agreement(labels, [found.assigned[row] for row in rows])
        scores = {
            "v_measure": found.v_measure,
            **limits("v_measure", v_measure_interval(classes, found.assigned)),
            "v_measure_seeds_mean": seeds.mean,
            "v_measure_seeds_std": seeds.std,
            "ari": found.ari,
            "nmi": found.nmi,
            "most_frequent_v_measure": frequent.v_measure,
            "most_frequent_ari": frequent.ari,
            "every_label_v_measure": every.v_measure,
            "every_label_ari": every.ari,
            "n_clusters": found.clusters,
            "n_classes": found.classes,
            "n_test": len(classes),
            "n_seeds": seeds.seeds,
            "n_multi_label": sum(len(set(labels)) > 1 for labels in data.labels["test"]),
        }
        return scores if found.silhouette is None else {**scores, "silhouette": found.silhouette}

    def lacks(self, scores: Mapping[str, Any]) -> bool:
        return asked(SILHOUETTE_VARIABLE) and "silhouette" not in scores


def _test_classes(data: LabelledTexts, rule: Callable[[list[list[str]], Mapping[str, int]], list[str]]) -> list[str]:
    """The one class of each test document, by a rule that goes by how many documents of the whole set carry each label."""
    return rule(data.labels["test"], Counter(label for rows in data.labels.values() for labels in rows for label in labels))
