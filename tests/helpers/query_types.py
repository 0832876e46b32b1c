"""Results on Sophia's sample with three representations of the query, of which some queries lack one, for tests of the
report.
"""

import numpy as np
from report_folders import add, model_folder

TYPES = {"SophiaTacdRetrieval": 40, "SophiaAbRetrieval": 37, "SophiaAiAbRetrieval": 33}
"""The first so many queries have each representation."""
RUNS = ("acme/a", "acme/b")


def of_slice(name, number):
    return {
        "xy": number % 2 == 0,
        "a": number % 3 == 0,
        "ipc_a": number < 20,
        "ipc_h": number >= 20,
        "year_2020": number % 5 == 0,
    }[name]


def written(root, runs=RUNS, types=TYPES):
    """Results of the Sophia sample; by run, task and slice the score of each query."""
    rng = np.random.default_rng(11)
    found = {}
    for run in runs:
        folder = model_folder(root, run)
        for task, n in types.items():
            scores = rng.random(n).round(3).tolist()
            parts = {
                name: [round(score / 2, 4) if of_slice(name, number) else None for number, score in enumerate(scores)]
                for name in ("xy", "a", "ipc_a", "ipc_h", "year_2020")
            }
            add(folder, task, queries=scores, parts=parts)
            found |= {(run, f"{task}.sample", name): values for name, values in ({"": scores} | parts).items()}
    return found
