"""Logistic regression on frozen embeddings.

:func:`linear_probe` is the probe of WIPO-AT (section 3.3.2): one L2-regularised logistic regression per label, with C
tuned on the validation split. The paper states neither grid nor tolerance; here they are :data:`C_GRID` and
:data:`TOLERANCE`. Rows are neither normalised nor standardised, since the paper mentions neither, so the effect of C
grows with the squared length of the rows. The grid is wide enough for rows of unit length.

**Solver.** The objective of a label is that of scikit-learn's ``LogisticRegression(C)``, strictly convex in the
weights, so the solution does not depend on the solver. :func:`fit_logistic` solves all labels at once by L-BFGS. The
Hessian of a label is close to the covariance of the embeddings times the label's total curvature. The eigenvectors of
the covariance, computed once, therefore precondition every label and every C.

:func:`logistic_regression_f1` is the single-label probe of PatenTEB (table 14), which is scikit-learn's own.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from patent_mteb.metrics import embedding_matrix
from patent_mteb.protocols import Labels, Split, f1_per_label, label_matrix

TOLERANCE = 1e-6  # of the gradient's largest entry, a choice
MAX_ITERATIONS = 1000  # scikit-learn's default is 100, at which some fits have not converged
_MEMORY = 10  # corrections of L-BFGS, as in SciPy
_ROWS = 1024  # of a product, a choice
_SLICE = 1 << 18  # values of a slice, a choice
Floats = NDArray[np.float64]
Embeddings = NDArray[np.floating]


def _dots(a: Floats, b: Floats) -> Floats:
    """The inner product of each column of ``a`` with the same column of ``b``."""
    return np.asarray(np.einsum("ij,ij->j", a, b))


def _times(x: Embeddings, weights: Floats, *, exact: bool) -> Floats:
    """``x @ weights[:-1] + weights[-1]``, in double precision throughout if ``exact``."""
    out: Floats = np.empty((len(x), weights.shape[1]))
    if not exact:
        out[:] = x @ weights[:-1].astype(np.float32)
    else:
        rows = max(1, _SLICE // x.shape[1])
        for start in range(0, len(x), rows):
            np.matmul(x[start : start + rows].astype(np.float64), weights[:-1], out=out[start : start + rows])
    out += weights[-1]
    return out


def _transposed_times(x: Embeddings, residuals: Floats, *, exact: bool) -> Floats:
    """``x.T @ residuals`` and below it the column sums, in double precision throughout if ``exact``."""
    out = np.zeros((x.shape[1] + 1, residuals.shape[1]))
    out[-1] = residuals.sum(axis=0)
    if not exact:
        out[:-1] = x.T @ residuals.astype(np.float32)
        return out
    rows = max(1, _SLICE // x.shape[1])
    for start in range(0, len(x), rows):
        out[:-1] += x[start : start + rows].astype(np.float64).T @ residuals[start : start + rows]
    return out


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues and eigenvectors of the embeddings' covariance, in single precision: they only steer the solver."""

    mean: Floats
    values: Floats
    vectors: Floats

    @classmethod
    def of(cls, x: Embeddings) -> Spectrum:
        mean = x.mean(axis=0, dtype=np.float64)
        values, vectors = np.linalg.eigh(x.T @ x / x.dtype.type(len(x)) - np.outer(mean, mean).astype(x.dtype))
        return cls(mean, np.maximum(values, 0).astype(np.float64), vectors.astype(np.float64))

    def solve(self, gradient: Floats, curvature: Floats) -> tuple[Floats, Floats]:
        """[d + 1, L] Newton step if all rows had the same share of their label's curvature [L], and [L] its length.

        The length is in the norm of that Hessian. ``gradient`` and ``curvature`` include C.
        """
        along = self.vectors.T @ (gradient[:-1] - np.outer(self.mean, gradient[-1]))
        scaled = along / (np.outer(self.values, curvature) + 1)
        weights = self.vectors @ scaled
        intercept = gradient[-1] / curvature
        return np.vstack([weights, intercept - self.mean @ weights]), np.sqrt(
            _dots(along, scaled) + gradient[-1] * intercept
        )


@dataclass(frozen=True)
class Fits:
    """One logistic regression per label.

    A label without positive (negative) examples has zero weights and an intercept of minus (plus) infinity, so it is
    never (always) predicted. The decision value of a row of length 1 is off by about its residual at most.
    """

    weights: Floats  # [d + 1, L], the intercept in the last row
    residuals: Floats  # [L] distance from the solution
    converged: NDArray[np.bool_]  # [L] whether the residual is within the tolerance
    iterations: int

    def decide(self, embeddings: ArrayLike) -> Floats:
        """[n, L] decision values for [n, d] embeddings; a label is predicted where its value is above 0."""
        return _times(embedding_matrix(embeddings, width=len(self.weights) - 1), self.weights, exact=True)


class _Problem:
    """The objectives of all labels, and the line search along directions."""

    def __init__(self, x: Embeddings, labels: Labels, c: float) -> None:
        self.x, self.labels, self.c = x, labels, c
        self.residuals = np.empty(labels.shape)

    def along(self, decisions: Floats, change: Floats, step: Floats) -> tuple[Floats, Floats, Floats]:
        """Slope, second derivative and curvature of the loss at ``decisions + step * change``; updates residuals."""
        from scipy.special import expit

        slope, bend, curvature = np.zeros((3, self.labels.shape[1]))
        for start in range(0, len(self.x), _ROWS):
            part = slice(start, start + _ROWS)
            moved = change[part]
            probability = expit(decisions[part] + step * moved)
            self.residuals[part] = probability - self.labels[part]
            spread = probability * (1 - probability)
            slope += _dots(self.residuals[part], moved)
            bend += _dots(spread, moved * moved)
            curvature += spread.sum(axis=0)
        return self.c * slope, self.c * bend, self.c * curvature

    def search(
        self, weights: Floats, direction: Floats, decisions: Floats, change: Floats, slope: Floats
    ) -> tuple[Floats, Floats]:
        """[L] steps that bring each slope below a fifth of its size at 0, and the total curvatures there."""
        linear, square = _dots(weights[:-1], direction[:-1]), _dots(direction[:-1], direction[:-1])
        step, low, high = np.ones_like(slope), np.zeros_like(slope), np.full_like(slope, np.inf)
        for _ in range(20):
            first, second, curvature = self.along(decisions, change, step)
            first, second = first + linear + step * square, second + square
            open_ = np.abs(first) > 0.2 * np.abs(slope)
            if not open_.any():
                break
            low, high = np.where(first < 0, step, low), np.where(first > 0, step, high)
            newton = step - first / np.where(open_, second, 1)
            inside = (newton > low) & (newton < high)
            fallback = np.where(np.isfinite(high), (low + high) / 2, 2 * step)
            step = np.where(open_, np.where(inside, newton, fallback), step)
        return step, curvature

    def gradient(self, weights: Floats, *, exact: bool) -> Floats:
        gradient = self.c * _transposed_times(self.x, self.residuals, exact=exact)
        gradient[:-1] += weights[:-1]
        return gradient


class _History:
    """Curvature pairs of L-BFGS, one set per label."""

    def __init__(self) -> None:
        self.pairs: list[tuple[Floats, Floats, Floats]] = []

    def add(self, moved: Floats, turned: Floats) -> None:
        product = _dots(moved, turned)
        usable = product > 1e-14 * np.sqrt(_dots(moved, moved) * _dots(turned, turned))
        inverse = np.divide(1.0, product, out=np.zeros_like(product), where=usable)
        self.pairs = [*self.pairs, (moved, turned, inverse)][-_MEMORY:]

    def direction(self, gradient: Floats, spectrum: Spectrum, curvature: Floats) -> Floats:
        back, scales = gradient, []
        for moved, turned, inverse in reversed(self.pairs):
            scales.append(inverse * _dots(moved, back))
            back = back - scales[-1] * turned
        ahead, _ = spectrum.solve(back, curvature)
        for (moved, turned, inverse), scale in zip(self.pairs, reversed(scales), strict=True):
            ahead = ahead + (scale - inverse * _dots(turned, ahead)) * moved
        return -ahead


def _solve(x: Embeddings, labels: Labels, c: float, spectrum: Spectrum, weights: Floats) -> tuple[Floats, Floats, int]:
    problem, history = _Problem(x, labels, c), _History()
    exact = x.dtype == np.float64
    decisions = _times(x, weights, exact=exact)
    nowhere = np.zeros_like(decisions)
    _, _, curvature = problem.along(decisions, nowhere, np.ones(labels.shape[1]))
    gradient = problem.gradient(weights, exact=exact)
    for iteration in range(MAX_ITERATIONS + 1):
        residuals = spectrum.solve(gradient, curvature)[1]
        if not exact and (residuals.max() < 1e-3 * max(1.0, np.sqrt(c)) or iteration == MAX_ITERATIONS // 2):
            exact = True
            decisions = _times(x, weights, exact=exact)
            _, _, curvature = problem.along(decisions, nowhere, np.ones(labels.shape[1]))
            gradient = problem.gradient(weights, exact=exact)
            residuals = spectrum.solve(gradient, curvature)[1]
        if iteration == MAX_ITERATIONS or residuals.max() <= TOLERANCE:
            break
        direction = history.direction(gradient, spectrum, curvature) * (residuals > TOLERANCE)
        slope = _dots(gradient, direction)
        change = _times(x, direction, exact=exact)
        step, curvature = problem.search(weights, direction, decisions, change, slope)
        weights = weights + step * direction
        decisions += step * change
        before, gradient = gradient, problem.gradient(weights, exact=exact)
        history.add(step * direction, gradient - before)
    return weights, residuals, iteration


def fit_logistic(
    embeddings: ArrayLike, labels: ArrayLike, c: float, *, start: Fits | None = None, spectrum: Spectrum | None = None
) -> Fits:
    """Fit one logistic regression per label to convergence; the last iterations run in double precision."""
    x = embedding_matrix(embeddings)
    y = label_matrix(labels, rows=len(x))
    if not (np.isfinite(c) and c > 0):
        raise ValueError(f"C must be a positive number, not {c}")
    share = y.mean(axis=0)
    fitted = (share > 0) & (share < 1)
    with np.errstate(divide="ignore"):
        weights = np.vstack([np.zeros((x.shape[1], y.shape[1])), np.log(share) - np.log1p(-share)])
    residuals, iterations = np.zeros(y.shape[1]), 0
    if fitted.any():
        begin = weights if start is None else start.weights
        spectrum = spectrum or Spectrum.of(x)
        weights[:, fitted], residuals[fitted], iterations = _solve(x, y[:, fitted], c, spectrum, begin[:, fitted])
    return Fits(weights, residuals, residuals <= TOLERANCE, iterations)


C_GRID = (0.01, 0.1, 1.0, 10.0, 100.0, 1e3, 1e4)


@dataclass(frozen=True)
class Probe:
    """Result of :func:`linear_probe`; classes without positive examples have an F1 of 0 and count in the mean."""

    macro_f1: float  # on the test split, over all classes
    f1: dict[str, float]  # on the test split, by class
    c: float  # chosen on the validation split
    at_edge: bool  # whether it is the smallest or largest C of several: a wider grid might choose another
    validation_f1: dict[float, float]  # macro F1 by C
    untrained: tuple[str, ...]  # classes without a positive example in the training split
    untested: tuple[str, ...]  # classes without a positive example in the test split
    unconverged: tuple[tuple[float, str, float], ...]  # (C, class, residual) of each fit beyond the tolerance
    predicted: Labels  # [n test, L]


def _without_positives(classes: Sequence[str], labels: Labels) -> tuple[str, ...]:
    return tuple(name for name, column in zip(classes, labels.T, strict=True) if not column.any())


def linear_probe(
    train: Split, validation: Split, test: Split, classes: Sequence[str], *, grid: Sequence[float] = C_GRID
) -> Probe:
    """Macro F1 of one logistic regression a label, with C tuned on the validation split.

    One C serves all labels: the one with the best macro F1, the smallest of equals. The model is not fitted again on
    training and validation data together (the paper is silent). F1 of a class without positives or predictions is 0, as
    scikit-learn's ``zero_division=0``.
    """
    if not grid:
        raise ValueError("the grid of C is empty")
    x = embedding_matrix(train[0], name="train embeddings")
    y = label_matrix(train[1], rows=len(x), name="train labels", classes=len(classes))
    vectors, labels = {}, {}
    for name, split in (("validation", validation), ("test", test)):
        vectors[name] = embedding_matrix(split[0], name=f"{name} embeddings", width=x.shape[1])
        labels[name] = label_matrix(split[1], rows=len(vectors[name]), name=f"{name} labels", classes=len(classes))
    spectrum, fits = Spectrum.of(x), dict[float, Fits]()
    last, scores = None, dict[float, float]()
    for c in sorted(set(grid)):
        last = fits[c] = fit_logistic(x, y, c, start=last, spectrum=spectrum)
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
            (c, classes[place], float(fit.residuals[place]))
            for c, fit in fits.items()
            for place in np.flatnonzero(~fit.converged).tolist()
        ),
        predicted=predicted,
    )


@dataclass(frozen=True)
class SingleLabelProbe:
    macro_f1: float
    f1: Mapping[str, float]  # by class
    predicted: tuple[str, ...]  # class of each test row
    solver: str
    converged: bool


def logistic_regression_f1(
    train: ArrayLike, train_labels: Sequence[str], test: ArrayLike, test_labels: Sequence[str], max_iter: int = 10_000
) -> SingleLabelProbe:
    """Fit PatenTEB's classifier (section 5.3, table 14): scikit-learn's logistic regression, L2, C = 1, random state 0.

    The solver is lbfgs with a tolerance of 1e-4, and saga if lbfgs does not converge. The table says "multi_class auto
    (One-vs-Rest)", which contradicts itself: with lbfgs, "auto" is one multinomial model. This one is fitted here.
    The mean is over the classes that are true or predicted in the test split, scikit-learn's default.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import f1_score

    x = embedding_matrix(train, name="train embeddings")
    held = embedding_matrix(test, name="test embeddings", width=x.shape[1])
    for solver in ("lbfgs", "saga"):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            model = LogisticRegression(C=1.0, solver=solver, max_iter=max_iter, tol=1e-4, random_state=0)
            model.fit(x, list(train_labels))
        converged = not any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
        if converged:
            break
    predicted = model.predict(held)
    names = sorted({*test_labels, *predicted.tolist()})
    f1 = f1_score(list(test_labels), predicted, labels=names, average=None, zero_division=0)
    return SingleLabelProbe(
        float(f1.mean()), dict(zip(names, f1.tolist(), strict=True)), tuple(predicted.tolist()), solver, converged
    )
