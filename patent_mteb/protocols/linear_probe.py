"""Logistic regression on frozen embeddings.

:func:`linear_probe` is the probe of WIPO-AT (section 3.3.2): one L2-regularised logistic regression a label
(:mod:`patent_mteb.protocols.logistic`), C tuned on the validation split. The paper gives no grid, tolerance or refit; here they are
:data:`C_GRID`, :data:`~patent_mteb.protocols.logistic.TOLERANCE` and none: the model that is tested is fitted on the training split alone.

**Scaling.** Rows are taken as the model gives them, neither normalised nor standardised, as the paper says nothing of either. What C
means therefore grows with the squared length of the rows; the grid is wide enough for rows of unit length, and ``at_edge`` says when
the best C is the smallest or the largest of it.

:func:`logistic_regression_f1` is the single-label probe of PatenTEB (table 14), which is scikit-learn's own.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from patent_mteb.metrics import embedding_matrix
from patent_mteb.protocols import Labels, f1_per_label, label_matrix
from patent_mteb.protocols.logistic import MAX_ITERATIONS, TOLERANCE, Fits, Spectrum, fit_logistic

__all__ = ["C_GRID", "Probe", "SingleLabelProbe", "linear_probe", "logistic_regression_f1"]

C_GRID = (0.01, 0.1, 1.0, 10.0, 100.0, 1e3, 1e4)


@dataclass(frozen=True)
class Probe:
    """Result of :func:`linear_probe`.

    Attributes:
        macro_f1: on the test split, over all classes.
        f1: class -> F1 on the test split.
        c: the chosen C.
        at_edge: whether the chosen C is the smallest or the largest of several: a wider grid might choose another.
        validation_f1: C of the grid -> macro F1 on the validation split.
        untrained: classes without a positive example in the training split: never predicted, F1 of 0, and part of the mean.
        untested: classes without a positive example in the test split: F1 of 0, and part of the mean.
        unconverged: (C, class, residual) of each fit that stopped short of the tolerance.
        predicted: [n test, L].
    """

    macro_f1: float
    f1: dict[str, float]
    c: float
    at_edge: bool
    validation_f1: dict[float, float]
    untrained: tuple[str, ...]
    untested: tuple[str, ...]
    unconverged: tuple[tuple[float, str, float], ...]
    predicted: Labels


def _without_positives(classes: Sequence[str], labels: Labels) -> tuple[str, ...]:
    return tuple(name for name, column in zip(classes, labels.T, strict=True) if not column.any())


def linear_probe(
    train: tuple[ArrayLike, ArrayLike],
    validation: tuple[ArrayLike, ArrayLike],
    test: tuple[ArrayLike, ArrayLike],
    classes: Sequence[str],
    *,
    grid: Sequence[float] = C_GRID,
    tolerance: float = TOLERANCE,
    max_iterations: int = MAX_ITERATIONS,
) -> Probe:
    """Macro F1 of one logistic regression a label, C chosen by macro F1 on the validation split, the smallest of equals.

    One C serves all labels. The model is not fitted again on training and validation data together (the paper is silent). F1 of
    a class without positives or predictions is 0, as scikit-learn's ``zero_division=0``.

    Args:
        train, validation, test: embeddings [n, d] and boolean labels [n, L] of the split.
        classes: [L] names.

    Raises:
        ValueError: NaN or infinite embeddings, splits of different width, labels of the wrong shape, or an empty grid.

    Example:
        >>> split = [[-1.0], [1.0]], [[1, 0], [0, 1]]  # embeddings, labels
        >>> linear_probe(split, split, split, ["G", "H"]).f1
        {'G': 1.0, 'H': 1.0}
    """
    if not grid:
        raise ValueError("the grid of C is empty")
    x = embedding_matrix(train[0], name="train embeddings")
    y = label_matrix(train[1], rows=len(x), name="train labels", classes=len(classes))
    held = {"validation": validation, "test": test}
    vectors = {name: embedding_matrix(split[0], name=f"{name} embeddings", width=x.shape[1]) for name, split in held.items()}
    labels = {
        name: label_matrix(split[1], rows=len(vectors[name]), name=f"{name} labels", classes=len(classes)) for name, split in held.items()
    }
    spectrum, fits = Spectrum.of(x), dict[float, Fits]()
    last, scores = None, dict[float, float]()
    for c in sorted(set(grid)):
        last = fits[c] = fit_logistic(x, y, c, start=last, spectrum=spectrum, tolerance=tolerance, max_iterations=max_iterations)
        scores[c] = float(f1_per_label(labels["validation"], last.decide(vectors["validation"]) > 0).mean())
    chosen = max(scores, key=lambda c: (scores[c], -c))
    predicted = fits[chosen].decide(vectors["test"]) > 0
    f1 = f1_per_label(labels["test"], predicted)
    return Probe(
        macro_f1=float(f1.mean()),
        f1=dict(zip(classes, f1.tolist(), strict=True)),
        c=chosen,
        at_edge=len(scores) > 1 and chosen in (min(scores), max(scores)),
        validation_f1=scores,
        untrained=_without_positives(classes, y),
        untested=_without_positives(classes, labels["test"]),
        unconverged=tuple(
            (c, classes[place], float(fit.residuals[place])) for c, fit in fits.items() for place in np.flatnonzero(~fit.converged).tolist()
        ),
        predicted=predicted,
    )


@dataclass(frozen=True)
class SingleLabelProbe:
    """Result of :func:`logistic_regression_f1`: macro F1, F1 of each class, the class predicted for each test row, the solver that
    gave it and whether it converged."""

    macro_f1: float
    f1: Mapping[str, float]
    predicted: tuple[str, ...]
    solver: str
    converged: bool


def logistic_regression_f1(
    train: ArrayLike, train_labels: Sequence[str], test: ArrayLike, test_labels: Sequence[str], *, max_iter: int = 10_000
) -> SingleLabelProbe:
    """The classifier of PatenTEB (section 5.3, table 14): scikit-learn's logistic regression, L2, C = 1, random state 0.

    The solver is lbfgs at a tolerance of 1e-4, and saga where lbfgs does not converge. The table says "multi_class auto
    (One-vs-Rest)", which contradicts itself: with lbfgs "auto" is one multinomial model, and that is what is fitted. The mean
    is over the classes that are true or predicted in the test split, scikit-learn's default.

    Raises:
        ValueError: NaN or infinite embeddings, splits of different width, a label count that does not fit, or a single class.

    Example:
        >>> logistic_regression_f1([[0.0], [1.0]], ["old", "new"], [[0.1], [0.8]], ["old", "new"]).predicted
        ('old', 'new')
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import f1_score

    x = embedding_matrix(train, name="train embeddings")
    held = embedding_matrix(test, name="test embeddings", width=x.shape[1])
    for name, rows, labels in (("train", len(x), train_labels), ("test", len(held), test_labels)):
        if len(labels) != rows:
            raise ValueError(f"{len(labels)} {name} labels for {rows} {name} embeddings")
    if len(set(train_labels)) < 2:
        raise ValueError(f"the training labels hold a single class, {train_labels[0]!r}")
    for solver in ("lbfgs", "saga"):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            model = LogisticRegression(C=1.0, solver=solver, max_iter=max_iter, tol=1e-4, random_state=0).fit(x, list(train_labels))
        converged = not any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
        if converged:
            break
    predicted = model.predict(held)
    names = sorted({*test_labels, *predicted.tolist()})
    f1 = f1_score(list(test_labels), predicted, labels=names, average=None, zero_division=0)
    return SingleLabelProbe(float(f1.mean()), dict(zip(names, f1.tolist(), strict=True)), tuple(predicted.tolist()), solver, converged)
