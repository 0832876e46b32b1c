"""A model on two tasks, with the scores that patent people ask for: overall, IN and OUT of the query's domain, by
jurisdiction.

    python examples/quickstart.py                                          # BM25
    python examples/quickstart.py sentence-transformers/all-MiniLM-L6-v2   # or the directory of a checkpoint

Both benchmarks are unreleased, so the tasks run on the built-in sample unless PATENT_MTEB_DATA names your data. Results
are written to ./results, where `patent-mteb report results` finds them.
"""

import sys

import mteb
from mteb.cache import ResultCache

from patent_mteb.models import load, stored

model = stored(load(sys.argv[1])) if len(sys.argv) > 1 else mteb.get_model("mteb/baseline-bm25s")
tasks = mteb.get_tasks(tasks=["PatentCitationRetrieval", "SophiaAbRetrieval"])

for result in mteb.evaluate(model, tasks, cache=ResultCache(".")).task_results:
    ((scores,),) = result.scores.values()
    print(f"\n{result.task_name}: nDCG@10 = {scores['ndcg_at_10']:.4f} over {scores['n_queries']} queries")
    for name, value in scores.items():
        if name.endswith("_ndcg_at_10"):
            slice_name = name.removesuffix("_ndcg_at_10")
            print(f"  {slice_name:18} {value:.4f} over {scores[f'{slice_name}_n_queries']} queries")
