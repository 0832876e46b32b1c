"""Zero-shot classification: a model scores pairs of text and label name, and one threshold selects the labels.

WIPO-AT (section 4.4) uses NLI cross-encoders and GLiNER2 taggers, and tunes the threshold on the validation split. The
paper does not state the candidate values; here they are all observed scores. A scorer is a callable ``score(texts,
labels) -> [n texts, n labels]``, such as those of :func:`nli_scorer`, :func:`cross_encoder_scorer` and
:func:`tagger_scorer`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from patent_mteb.protocols import Labels, f1_per_label, label_matrix

Scorer = Callable[[Sequence[str], Sequence[str]], ArrayLike]
HYPOTHESIS = "This text is about {}."
_TEXTS_AT_ONCE = 64  # whose entailment scores are computed together, a choice


def best_threshold(scores: ArrayLike, labels: ArrayLike) -> tuple[float, float]:
    """The observed score at which "predict what scores at least this" has the best macro F1, and that macro F1.

    Of equally good thresholds, the highest. One pass over the sorted scores [n, L]: a step changes the F1 of one label.
    """
    values = _finite(scores)
    true = label_matrix(labels, rows=len(values), classes=values.shape[1])
    n, classes = values.shape
    order = np.argsort(-values, axis=0, kind="stable")
    hits = np.cumsum(np.take_along_axis(true, order, axis=0), axis=0)
    f1 = 2 * hits / (np.arange(1, n + 1)[:, None] + true.sum(axis=0))
    gains = np.diff(f1, axis=0, prepend=0.0)
    flat = np.take_along_axis(values, order, axis=0).ravel()
    steps = np.argsort(-flat, kind="stable")
    macro = np.cumsum(gains.ravel()[steps]) / classes
    ends = np.flatnonzero(np.append(np.diff(flat[steps]) != 0, True))
    chosen = ends[np.argmax(macro[ends] >= macro[ends].max() - 1e-12)]
    threshold = float(flat[steps][chosen])
    return threshold, float(f1_per_label(true, values >= threshold).mean())


def _finite(scores: ArrayLike) -> NDArray[np.float64]:
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 2 or 0 in values.shape:
        raise ValueError(f"scores must be [texts, labels] with at least one of each, got shape {values.shape}")
    if not np.isfinite(values).all():
        bad = np.argwhere(~np.isfinite(values))
        raise ValueError(f"{len(bad)} scores are NaN or infinite, first that of text {bad[0][0]}")
    return values


@dataclass(frozen=True)
class ZeroShot:
    macro_f1: float  # on the test split, over all classes
    f1: dict[str, float]  # by class
    threshold: float  # at and above which a label is predicted
    validation_f1: float  # macro F1 at that threshold on the validation split
    predicted: Labels  # [n test, L]


def zero_shot(
    scorer: Scorer,
    validation: tuple[Sequence[str], ArrayLike],
    test: tuple[Sequence[str], ArrayLike],
    classes: Sequence[str],
) -> ZeroShot:
    """Score two splits (texts, labels), tune the threshold on one, measure on the other (WIPO-AT, section 4.4)."""

    def scored(name: str, split: tuple[Sequence[str], ArrayLike]) -> tuple[NDArray[np.float64], Labels]:
        labels = label_matrix(split[1], rows=len(split[0]), name=f"{name} labels", classes=len(classes))
        values = _finite(scorer(split[0], classes))
        if values.shape != labels.shape:
            n_texts, n_labels = labels.shape
            raise ValueError(f"the model gave scores of shape {values.shape} for {n_texts} texts and {n_labels} labels")
        return values, labels

    threshold, validation_f1 = best_threshold(*scored("validation", validation))
    values, true = scored("test", test)
    predicted = values >= threshold
    f1 = f1_per_label(true, predicted)
    return ZeroShot(float(f1.mean()), dict(zip(classes, f1.tolist(), strict=True)), threshold, validation_f1, predicted)


def nli_scorer(
    logits: Callable[[list[tuple[str, str]]], ArrayLike],
    *,
    entailment: int,
    contradiction: int | None = None,
    hypothesis: str = HYPOTHESIS,
) -> Scorer:
    """A scorer from an NLI model: the probability that the text entails the hypothesis that names the label.

    ``logits`` returns [pairs, NLI classes] for (premise, hypothesis) pairs; ``entailment`` and ``contradiction`` are
    columns. As usual for multi-label zero-shot classification, each label is judged separately, by the softmax of the
    entailment logit and the contradiction logit without a neutral class. A model without a class for contradictions
    has the softmax over all its classes. The paper does not print its hypothesis.
    """
    if "{}" not in hypothesis:
        raise ValueError(f"the hypothesis {hypothesis!r} needs a {{}} where the label goes")

    def score(texts: Sequence[str], labels: Sequence[str]) -> NDArray[np.float64]:
        from scipy.special import softmax

        parts = []
        for start in range(0, len(texts), _TEXTS_AT_ONCE):
            some = texts[start : start + _TEXTS_AT_ONCE]
            pairs = [(text, hypothesis.format(label)) for text in some for label in labels]
            values = np.asarray(logits(pairs), dtype=np.float64)
            if contradiction is not None:
                values = values[:, [entailment, contradiction]]
            parts.append(softmax(values, axis=1)[:, 0 if contradiction is not None else entailment])
        return np.concatenate(parts).reshape(len(texts), len(labels))

    return score


def cross_encoder_scorer(model: Any, *, hypothesis: str = HYPOTHESIS) -> Scorer:
    """A scorer from a sentence-transformers ``CrossEncoder`` for NLI, whose configuration names its classes."""
    import torch

    names = {index: str(name).lower().replace("-", "_") for name, index in model.config.label2id.items()}
    entailment = [index for index, name in names.items() if name == "entailment"]
    if len(entailment) != 1:
        raise ValueError(f"an NLI model has one class named entailment; this one has {sorted(names.values())}")
    contradiction = [index for index, name in names.items() if name == "contradiction"]

    def logits(pairs: list[tuple[str, str]]) -> ArrayLike:
        options = {"batch_size": 32, "convert_to_numpy": True, "show_progress_bar": False}
        found: ArrayLike = model.predict(pairs, activation_fn=torch.nn.Identity(), **options)
        return found

    other = contradiction[0] if contradiction else None
    return nli_scorer(logits, entailment=entailment[0], contradiction=other, hypothesis=hypothesis)


def tagger_scorer(tag: Callable[[str, list[str]], Iterable[tuple[str, float]]]) -> Scorer:
    """A scorer from a tagger such as GLiNER2: the highest confidence (above 0) of a span with the label, 0 without one.

    The tagger should report spans of low confidence, because the threshold cannot be tuned below its own.
    """

    def score(texts: Sequence[str], labels: Sequence[str]) -> NDArray[np.float64]:
        column = {label: place for place, label in enumerate(labels)}
        scores = np.zeros((len(texts), len(labels)))
        for row, text in enumerate(texts):
            for label, confidence in tag(text, list(labels)):
                if label not in column:
                    raise ValueError(f"the tagger found {label!r}, which is not among the {len(labels)} labels")
                scores[row, column[label]] = max(scores[row, column[label]], confidence)
        return scores

    return score
