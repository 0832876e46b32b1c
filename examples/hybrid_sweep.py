"""BM25 fused with an encoder under many settings: which weight, which constant? Each system ranks once for all of them.

    python examples/hybrid_sweep.py MODEL [MODEL ...] [--task PatentCitationRetrieval] [--plot alpha]

MODEL is a hub id or the directory of a checkpoint. Prints one row a setting and, with --plot, writes the curve over
alpha with the dense system alone as a star (alpha.png, alpha.svg and alpha.pdf; needs `pip install
"patent-mteb[report]"`).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import mteb
import polars as pl

from patent_mteb.models import RRF, Linear, bm25, load, stored
from patent_mteb.search.fusion import sweep_scores

SETTINGS = [*(Linear(tenth / 10) for tenth in range(11)), *(RRF(k) for k in (10, 30, 60, 100))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--task", default="PatentCitationRetrieval")
    parser.add_argument("--lexical", default="dapfam", help="setting of BM25: dapfam or bm25s")
    parser.add_argument("--store", type=Path, metavar="DIR", help="embedding store; by default in the user cache")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="name of the plot, without .png and .svg")
    arguments = parser.parse_args()
    task = mteb.get_task(arguments.task)
    measure = task.metadata.main_score.replace("_at_", "@")
    lexical = task.rank(bm25(arguments.lexical))
    rows = []
    for name in arguments.models:
        dense = task.rank(stored(load(name), arguments.store))
        for setting, found in zip(
            SETTINGS, sweep_scores(lexical, dense, SETTINGS, task.tables.qrels, [measure]), strict=True
        ):
            value = round(found.means()[measure], 5)  # as in a result of mteb
            rows.append(
                {"model": name, "setting": setting.tag, "alpha": getattr(setting, "alpha", None), "value": value}
            )
            print(f"{value:.4f}  {setting.tag:12} {name}", flush=True)
    table = pl.DataFrame(rows)
    for (name,), found in table.group_by("model", maintain_order=True):
        best = found.sort("value", descending=True).row(0, named=True)
        print(f"best for {name}: {best['setting']} with {best['value']:.4f}")
    if arguments.plot:
        from patent_mteb.report.drawing import lines
        from patent_mteb.report.figures import save

        title = f"BM25 and dense, {task.metadata.name}"
        frame = table.drop_nulls("alpha").select("model", "value", x="alpha")
        label, star = "α, weight of the dense system", "dense system alone (α = 1)"
        figure = lines(frame, measure=task.metadata.main_score, title=title, label=label, star=star)
        print("wrote", *save(figure, arguments.plot))


if __name__ == "__main__":
    main()
