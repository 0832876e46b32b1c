"""A results folder of many models with long names on every task of the suite."""

from __future__ import annotations

import json
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
from report_folders import DATE, HEADLINE, attest, commit, data_revision, model_folder, write_queries

from patent_mteb.data.loading import Source
from patent_mteb.tasks.catalogue import suite_tasks

TAIL = "patent-embedding-model-contrastive-multilingual-instruct-v2.5-mntp-unsup-simcse-preview"
SLICES = ("in", "out", *(f"jurisdiction_{name}" for name in ("en", "cn", "jp", "de", "fr", "es", "ru")))
MANY = 13
"""Models that no chart shows all of, and no table in one part."""
LICENCES = ("apache-2.0", "mit", "cc-by-nc-4.0", None)


def names(count):
    """Names of models: of each three, one is as long as any on the hub."""
    return [f"organisation-{i % 5}/{TAIL if i % 3 == 0 else 'patent-embedding'}-{i:02}" for i in range(count)]


def many_models(root: Path, count: int, *, kind: str = "sample", queries: int = 0, only: str = "") -> Path:
    """Results of ``count`` models on all tasks, or on one, with intervals and, for retrieval, slices, and geometries; with
    ``queries`` the headline and Sophia's query types have per-query scores.
    """
    rng = np.random.default_rng(count)
    tasks = [
        task for task in suite_tasks().values() if only in ("", task.name) and (task.data.recipe or kind != "sample")
    ]
    states = {
        task.name: data_revision(task.name, "sample") if kind == "sample" else commit(task.data) for task in tasks
    }
    for number, name in enumerate(names(count)):
        size = int(2e7 * 1.35**number)
        known = {
            "max_tokens": 512 * 2 ** (number % 5),
            "embed_dim": 256 * 2 ** (number % 4),
            "license": LICENCES[number % 4],
            "release_date": f"{2019 + number % 7}-05-01",
            "memory_usage_mb": size * 4 / 2**20,
            "training_datasets": [None, [], ["PatenTEBClassIPC3"], ["PatentCitationRetrieval", "MSMARCO"]][number % 4],
            "model_type": ["dense"],
        }
        folder = model_folder(root, name, n_parameters=size, **known)
        for task in tasks:
            _write(folder, name, task, states[task.name], kind, number, rng, queries)
    return root


def _write(folder, name, task, revision, kind, number, rng, queries):
    label = f"{task.name}.sample" if kind == "sample" else task.name
    by_query = queries and (task.name == HEADLINE or task.benchmark == "Sophia")
    per_query = np.clip(rng.normal(0.25 + 0.015 * number, 0.2, queries), 0, 1) if by_query else None
    parts = (_parts if task.benchmark == "Sophia" else _domains)(per_query) if by_query else {}
    if by_query:  # a slice has the scores of its queries
        parts = {name: [*map(float, per_query)] for name in SLICES} | parts
    value = round(float(rng.normal(0.3 + 0.012 * number, 0.02) if per_query is None else per_query.mean()), 5)
    main = task.main_score
    scores = {
        main: value,
        "main_score": value,
        f"{main}_low": round(value - 0.02, 5),
        f"{main}_high": round(value + 0.02, 5),
    }
    if task.kind == "Retrieval":
        scores["n_queries"] = 1000 if per_query is None else queries
        for place, part in enumerate(SLICES):
            part_value = round(value * (1.1 - 0.06 * place), 5)
            scores |= {f"{part}_{main}": part_value, f"{part}_n_queries": 900 - 90 * place}
            scores |= {
                f"{part}_{main}_low": round(part_value - 0.03, 5),
                f"{part}_{main}_high": round(part_value + 0.03, 5),
            }
        for part, values in parts.items():
            known = [score for score in values if score is not None]
            scores |= {f"{part}_{main}": round(float(np.mean(known)), 5), f"{part}_n_queries": len(known)}
        if task.name == "SophiaTacdRetrieval":
            scores |= {
                f"inscope_{level}_at_{k}": value / (2 - k / 100)
                for level in ("section", "subclass", "subgroup")
                for k in (1, 10, 100)
            }
        if task.benchmark == "PatentMap":
            _geometry(folder, name, task, label, revision, subset_of(task, revision), rng)
        scores = {
            f"recall_at_{k}": min(1.0, value * (0.4 + 0.2 * rank)) for rank, k in enumerate((1, 10, 100))
        } | scores
    else:
        scores |= {"n_test": 20 if number == 0 else 200, "n_classes": 5}
    subset = subset_of(task, revision)
    result = {
        "dataset_revision": revision,
        "task_name": label,
        "mteb_version": "2.26.24",
        "scores": {task.split: [scores | {"hf_subset": subset, "languages": ["eng-Latn"]}]},
        "evaluation_time": 1.0 + number,
        "kg_co2_emissions": None,
        "date": DATE + 86_400 * number,
    }
    (folder / f"{label}.json").write_text(json.dumps(result))
    attest(folder / f"{label}.json", settings=name, weights=name, embeddings=name)
    if per_query is not None:
        write_queries(
            folder,
            label,
            per_query.tolist(),
            revision,
            subset,
            json.loads((folder / "model_meta.json").read_text()),
            parts=parts,
        )


def subset_of(task, revision):
    return Source(task.data, "hub", revision).subset


def _domains(scores):
    """IN of all queries, OUT of every second one."""
    known = list(map(float, scores))
    return {"in": known, "out": [score if place % 2 else None for place, score in enumerate(known)]}


def _parts(scores):
    """Slices of Sophia's queries."""
    tests = {"xy": lambda q: q % 2 == 0, "a": lambda q: q % 3 == 0}
    tests |= {f"ipc_{section}": lambda q, at=at: q % 8 == at for at, section in enumerate("abcdefgh")}
    tests |= {
        f"jurisdiction_{office}": lambda q, at=at: q % 6 == at
        for at, office in enumerate(("cn", "de", "en", "jp", "kr", "row"))
    }
    tests |= {f"year_{2016 + at}": lambda q, at=at: q % 10 == at for at in range(10)}
    return {name: [float(score) if test(q) else None for q, score in enumerate(scores)] for name, test in tests.items()}


def _geometry(folder, name, task, label, revision, subset, rng):
    """A geometry as ``patent-mteb geometry`` files it, with sections for the task whose corpus has them."""
    sections = ("abstract", "claim", "background", "drawing", "invention", "summary")
    values = {"alignment": 1.0, "uniformity": -3.0, "ssd": 0.2}
    if task.name == "PatentMapClmToAllRetrieval":
        values |= {
            f"{measure}_{section}": 0.3 for measure in ("alignment", "uniformity", "ssd") for section in sections
        }
        values |= {"ida_ratio": 0.5} | {f"ida_ratio_{one}_{other}": 0.5 for one, other in combinations(sections, 2)}
    measures = {
        key: float(value + rng.normal(0, 0.1)) if key != "ssd" else float(rng.uniform(0.05, 0.4))
        for key, value in values.items()
    }
    known = {"task": label, "model": name, "model_revision": "r1", "dataset_revision": revision, "subset": subset}
    (folder / f"{label}.geometry.jsonl").write_text(
        json.dumps(known | {"settings": {"seed": 42}, "measures": measures})
    )


if __name__ == "__main__":  # python tests/helpers/many_models.py FOLDER COUNT, with PYTHONPATH=tests/helpers
    many_models(Path(sys.argv[1]), int(sys.argv[2]), queries=200)
