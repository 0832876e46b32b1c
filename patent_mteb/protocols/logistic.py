"""L2-regularised logistic regressions of many labels at once.

For each label the objective is that of scikit-learn's ``LogisticRegression(C)``: C times the sum of the logistic losses plus half
the squared length of the weights, the intercept not penalised. It is strictly convex in the weights, so its solution does not
depend on the solver. :func:`fit_logistic` solves all labels at once by L-BFGS, with a product of the embeddings and a matrix of
one column a label where a solver for one label has a product with a vector. The Hessian of a label is close to the embeddings'
covariance times the label's total curvature; the covariance's eigenvectors, computed once, thus precondition every label and every C.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from patent_mteb.metrics import embedding_matrix
from patent_mteb.protocols import Labels, label_matrix

__all__ = ["MAX_ITERATIONS", "TOLERANCE", "Fits", "Spectrum", "fit_logistic"]

TOLERANCE = 1e-6
MAX_ITERATIONS = 1000
_MEMORY = 10
_ROWS = 1024
_SLICE = 1 << 18

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
    """Eigenvalues and eigenvectors of the embeddings' covariance; they only steer the solver, so single precision will do."""

    mean: Floats
    values: Floats
    vectors: Floats

    @classmethod
    def of(cls, x: Embeddings) -> Spectrum:
        mean = x.mean(axis=0, dtype=np.float64)
        values, vectors = np.linalg.eigh(x.T @ x / x.dtype.type(len(x)) - np.outer(mean, mean).astype(x.dtype))
        return cls(mean, np.maximum(values, 0).astype(np.float64), vectors.astype(np.float64))

    def solve(self, gradient: Floats, curvature: Floats) -> tuple[Floats, Floats]:
        """The Newton step [d + 1, L] for ``gradient`` if all rows had the same share of their label's ``curvature`` [L]; C is in both.

        Also [L] its length in the norm of that Hessian.
        """
        along = self.vectors.T @ (gradient[:-1] - np.outer(self.mean, gradient[-1]))
        scaled = along / (np.outer(self.values, curvature) + 1)
        weights = self.vectors @ scaled
        intercept = gradient[-1] / curvature
        return np.vstack([weights, intercept - self.mean @ weights]), np.sqrt(_dots(along, scaled) + gradient[-1] * intercept)


@dataclass(frozen=True)
class Fits:
    """One logistic regression a label.

    Attributes:
        weights: [d + 1, L], the intercept in the last row; a label without positive (without negative) examples has zero weights
            and an intercept of minus (plus) infinity, and so is never (always) predicted.
        residuals: [L], how far from the solution: the decision value of a row of length 1 is off by about this much at most.
        converged: [L], whether the residual is within the tolerance.
        iterations: that it took.
    """

    weights: Floats
    residuals: Floats
    converged: NDArray[np.bool_]
    iterations: int

    def decide(self, embeddings: ArrayLike) -> Floats:
        """[n, L] decision values for [n, d] embeddings; a label is predicted where its value is above 0."""
        return _times(embedding_matrix(embeddings, width=len(self.weights) - 1), self.weights, exact=True)


class _Problem:
    """The objectives of all labels: state of the rows at the current weights, and the line search along given directions."""

    def __init__(self, x: Embeddings, labels: Labels, c: float) -> None:
        self.x, self.labels, self.c = x, labels, c
        self.residuals = np.empty(labels.shape)

    def along(self, decisions: Floats, change: Floats, step: Floats) -> tuple[Floats, Floats, Floats]:
        """At ``decisions + step * change``: slope and second derivative of the loss in ``step``, and total curvature, each [L].

        The residuals there are kept for the gradient.
        """
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

    def search(self, weights: Floats, direction: Floats, decisions: Floats, change: Floats, slope: Floats) -> tuple[Floats, Floats]:
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
    """Curvature pairs of L-BFGS, one set a label."""

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


def _solve(
    x: Embeddings, labels: Labels, c: float, spectrum: Spectrum, weights: Floats, tolerance: float, max_iterations: int
) -> tuple[Floats, Floats, int]:
    problem, history = _Problem(x, labels, c), _History()
    exact = x.dtype == np.float64
    decisions = _times(x, weights, exact=exact)
    nowhere = np.zeros_like(decisions)
    _, _, curvature = problem.along(decisions, nowhere, np.ones(labels.shape[1]))
    gradient = problem.gradient(weights, exact=exact)
    for iteration in range(max_iterations + 1):
        residuals = spectrum.solve(gradient, curvature)[1]
        if not exact and (residuals.max() < 1e-3 * max(1.0, np.sqrt(c)) or iteration == max_iterations // 2):
            exact = True
            decisions = _times(x, weights, exact=exact)
            _, _, curvature = problem.along(decisions, nowhere, np.ones(labels.shape[1]))
            gradient = problem.gradient(weights, exact=exact)
            residuals = spectrum.solve(gradient, curvature)[1]
        if iteration == max_iterations or residuals.max() <= tolerance:
            break
        direction = history.direction(gradient, spectrum, curvature) * (residuals > tolerance)
        slope = _dots(gradient, direction)
        change = _times(x, direction, exact=exact)
        step, curvature = problem.search(weights, direction, decisions, change, slope)
        weights = weights + step * direction
        decisions += step * change
        before, gradient = gradient, problem.gradient(weights, exact=exact)
        history.add(step * direction, gradient - before)
    return weights, residuals, iteration


def fit_logistic(
    embeddings: ArrayLike,
    labels: ArrayLike,
    c: float,
    *,
    start: Fits | None = None,
    spectrum: Spectrum | None = None,
    tolerance: float = TOLERANCE,
    max_iterations: int = MAX_ITERATIONS,
) -> Fits:
    """Fit one logistic regression a label to convergence.

    Single-precision embeddings are used as they are; the last iterations run in double precision, a slice of rows at a time.

    Args:
        embeddings: [n, d]; labels: [n, L] boolean.
        c: the inverse regularisation, as scikit-learn's C.
        start: fits to start from, of the same data under another C.
        spectrum: of the same embeddings, where it was computed before.
        tolerance: of the residual, see :class:`Fits`.

    Raises:
        ValueError: NaN or infinite embeddings, shapes that do not fit, or a C that is not positive.
    """
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
        weights[:, fitted], residuals[fitted], iterations = _solve(
            x, y[:, fitted], c, spectrum or Spectrum.of(x), begin[:, fitted], tolerance, max_iterations
        )
    return Fits(weights, residuals, residuals <= tolerance, iterations)
