"""Time of one-vs-rest logistic regression at one C: this package against scikit-learn, on random embeddings.

    python benchmarks/linear_probe.py [--rows 80000] [--dim 1024] [--labels 43] [--c 1.0]

scikit-learn runs for a part of the labels and its time is scaled up (it fits label by label). "Off by" is the largest
difference of a decision value from that of scikit-learn's Newton solver in double precision. The ratio counts, not the
seconds.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from patent_mteb.protocols.linear_probe import fit_logistic


def world(rows: int, dim: int, labels: int) -> tuple[np.ndarray, np.ndarray]:
    """Unit-length embeddings of uneven spectrum that carry labels from frequent (30%) to rare (0.2%), with some
    noise.
    """
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(labels, dim)).astype(np.float32)
    y = rng.random((rows, labels)) < np.geomspace(0.3, 0.002, labels)
    x = rng.standard_normal((rows, dim), dtype=np.float32) * 3 + y.astype(np.float32) @ centres
    x *= np.arange(1, dim + 1, dtype=np.float32) ** -0.5
    x += 0.5
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return x, y ^ (rng.random(y.shape) < 0.002)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=80_000)
    parser.add_argument("--dim", type=int, default=1024)
    parser.add_argument("--labels", type=int, default=43)
    parser.add_argument("--c", type=float, default=1.0)
    parser.add_argument("--reference-labels", type=int, default=2)
    args = parser.parse_args()
    x, y = world(args.rows, args.dim, args.labels)
    chosen = np.linspace(0, args.labels - 1, args.reference_labels).astype(int)
    warnings.simplefilter("ignore", ConvergenceWarning)

    start = time.perf_counter()
    fits = fit_logistic(x, y, args.c)
    ours = time.perf_counter() - start
    decisions = fits.decide(x)[:, chosen]

    exact = x.astype(np.float64)
    newton = [
        LogisticRegression(C=args.c, solver="newton-cholesky", tol=1e-10, max_iter=1000).fit(exact, y[:, label])
        for label in chosen
    ]
    truth = np.stack([model.decision_function(exact) for model in newton], axis=1)

    print(f"{args.rows} rows, {args.dim} dimensions, {args.labels} labels, C = {args.c}")
    for name, matrix, tolerance in (("default tolerance", x, 1e-4), ("tolerance 1e-8", exact, 1e-8)):
        start = time.perf_counter()
        models = [
            LogisticRegression(C=args.c, tol=tolerance, max_iter=10_000).fit(matrix, y[:, label]) for label in chosen
        ]
        spent = (time.perf_counter() - start) / len(chosen) * args.labels
        off = np.abs(np.stack([model.decision_function(matrix) for model in models], axis=1) - truth).max()
        print(f"scikit-learn lbfgs, {name:18} {spent:8.1f} s  {spent / ours:6.1f} x   off by {off:.1e}")
    print(
        f"patent_mteb, tolerance 1e-6            {ours:8.1f} s     1.0 x   off by {np.abs(decisions - truth).max():.1e}"
    )
    print(f"{fits.iterations} iterations, {fits.converged.sum()} of {args.labels} labels converged")


if __name__ == "__main__":
    main()
