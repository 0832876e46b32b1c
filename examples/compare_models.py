"""Compare models by a paired bootstrap over the queries, from the per-query scores in the results folder.

    python examples/compare_models.py MODEL MODEL MODEL [--task PatentCitationRetrieval] [--out results]
    python examples/compare_models.py patent-mteb/bm25-dapfam mteb/baseline-bm25s sentence-transformers/all-MiniLM-L6-v2

The p values are those of a paired bootstrap (10,000 resamples of the queries). They hold for all pairs together: if all
models are equal, the chance of any p below 0.05 is 5%. `patent-mteb report results --baseline MODEL` puts the same into
a whole report.
"""

from __future__ import annotations

import argparse
import os
from itertools import combinations
from pathlib import Path
from typing import Any

import mteb
import numpy as np
import polars as pl

from patent_mteb.experiments import run
from patent_mteb.metrics.significance import bootstrap, p_text
from patent_mteb.models import load
from patent_mteb.tasks import perquery

MEASURE = "ndcg@10"


def per_query(name: str, task: Any, folder: Path) -> pl.DataFrame:
    """Run a model (or take its result, if there is one) and read its score of every query."""
    model = load(name)
    (outcome,) = run.run(model, [task], folder, show_progress=False).outcomes
    if outcome.status != "scored":
        raise SystemExit(f"{name}: {outcome.reason}")
    path = perquery.path_of(perquery.folder(), model.mteb_model_meta, task.metadata.name, ".queries.parquet")
    return pl.read_parquet(path, columns=["query", MEASURE]).rename({MEASURE: name})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--task", default="PatentCitationRetrieval")
    parser.add_argument("--out", type=Path, default=Path("results"))
    arguments = parser.parse_args()
    os.environ.setdefault(perquery.VARIABLE, str(arguments.out / "results"))
    task = mteb.get_task(arguments.task)
    table, *others = (per_query(name, task, arguments.out) for name in arguments.models)
    for other in others:
        table = table.join(other, on="query", how="inner", validate="1:1")
    found = bootstrap(table.drop("query").to_numpy())
    print(f"\n{task.metadata.name}, {MEASURE} over {table.height} queries, with 95% interval")
    for place in np.argsort(-found.means):
        low, high = found.intervals()[place]
        print(f"  {found.means[place]:.4f}  [{low:.4f}, {high:.4f}]  {arguments.models[place]}")
    p_values = found.joint()
    for better, worse in combinations(np.argsort(-found.means), 2):
        p = p_values[better, worse]
        verdict = "significant" if p < 0.05 else "not significant"
        print(f"  {arguments.models[better]} > {arguments.models[worse]}: p {p_text(p)}, {verdict}")


if __name__ == "__main__":
    main()
