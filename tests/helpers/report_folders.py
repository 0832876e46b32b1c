"""Small results folders for the tests of the report: written by hand in the form of mteb and
patent_mteb.tasks.perquery; and what a test needs to look at them: main scores as the files hold them, and the tables of
the report by name.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from patent_mteb.data import hub
from patent_mteb.data.loading import REGISTERED, Source, plain_name, sample_revision
from patent_mteb.report import tables
from patent_mteb.report.collect import collect
from patent_mteb.report.statistics import Statistics, statistics
from patent_mteb.tasks.catalogue import suite_tasks
from patent_mteb.tasks.evidence import card_digest, checksum, with_identity

DATE = 1_760_000_000.0
VECTORS = {"width": 8, "digest": "v", "length": 1.0, "mean": 0.5}


def data_revision(task, kind):
    data = suite_tasks()[plain_name(task)].data
    if kind == "sample":
        return sample_revision(data.recipe)
    if kind == "real" and not data.released:
        REGISTERED[data.key] = frozenset({"aaaaaaaaaaaa"})
    if kind == "local" or not data.released:
        return "local-bbbbbbbbbbbb" if kind == "local" else "local-aaaaaaaaaaaa"
    return commit(data)


def commit(data):
    """A full commit that the pin of a released data set stands for."""
    return (data.revision if hub.is_short(data.revision) or hub.is_commit(data.revision) else "").ljust(40, "c")


def model_folder(root, model, revision="r1", settings=None, **meta):
    """The folder of a model's results, with its model_meta.json."""
    folder = root / "results" / model.replace("/", "__").replace(" ", "_") / revision
    if settings:
        folder = (
            folder
            / "experiments"
            / "_".join(f"{key}_{value}" for key, value in settings.items() if not isinstance(value, list))
        )
    folder.mkdir(parents=True, exist_ok=True)
    fields = {
        "name": model,
        "revision": revision,
        "n_parameters": 22_000_000,
        "embed_dim": 64,
        "use_instructions": False,
    }
    (folder / "model_meta.json").write_text(json.dumps(fields | {"experiment_kwargs": settings} | meta))
    return folder


def add(
    folder,
    task,
    value=None,
    *,
    kind="sample",
    queries=None,
    slices=None,
    parts=None,
    more=None,
    revision=None,
    date=DATE,
    save_queries=True,
):
    """Write one result, and per-query scores whose mean is its main score if ``queries`` are given ({slice: score} in
    ``slices`` are those of each of the first 77 queries, {slice: scores by query, None outside} in ``parts`` are filed
    and their means stated).
    Returns the path of the result.
    """
    meta = json.loads((folder / "model_meta.json").read_text())
    spec = suite_tasks()[plain_name(task)]
    if kind == "sample" and not task.endswith(".sample"):
        task += ".sample"
    revision = revision or data_revision(task, kind)
    if kind == "local" and "local-" not in task:
        task += f".{revision}"
    subset = Source(spec.data, "hub", revision).subset
    scores = {"prompts": {"query": "", "document": ""}, **(more or {})}
    if queries is not None:
        value = round(float(np.mean(queries)), 5)
        scores["n_queries"] = len(queries)
    scores |= {spec.main_score: value, "main_score": value, "hf_subset": subset, "languages": ["eng-Latn"]}
    for name, values in (parts or {}).items():
        known = [score for score in values if score is not None]
        scores |= {f"{name}_{spec.main_score}": round(float(np.mean(known)), 5), f"{name}_n_queries": len(known)}
    n = min(77, len(queries)) if queries is not None and save_queries else 77
    stated = {
        name: [score] * n + [None] * ((0 if queries is None else len(queries)) - n)
        for name, score in (slices or {}).items()
    }
    for name, values in stated.items():
        scores |= {f"{name}_{spec.main_score}": values[0], f"{name}_n_queries": n}
    result = {
        "dataset_revision": revision,
        "task_name": task,
        "mteb_version": "2.26.24",
        "scores": {spec.split: [scores]},
        "evaluation_time": 1.0,
        "kg_co2_emissions": None,
        "date": date,
    }
    path = folder / f"{task}.json"
    path.write_text(json.dumps(result))
    with (folder / "run_settings.jsonl").open("a") as out:
        out.write(
            json.dumps(
                {
                    "task": task,
                    "splits": [spec.split],
                    "subsets": [subset],
                    "version": {"mteb": "2.26.24", "torch": "2.13.0", "flash-attn": None},
                    "encode_kwargs": {"batch_size": 32},
                }
            )
            + "\n"
        )
    if queries is not None and save_queries:
        write_queries(folder, task, queries, revision, subset, meta, parts={**stated, **(parts or {})})
    return attest(path)


def attest(path, changed=None, scores=None, **model):
    """Give the result in a file the evidence that a task would have given it, after changes of its scores, with changes
    of the evidence: {part: {name: value}}.
    """
    document = json.loads(path.read_text())
    meta = json.loads((path.parent / "model_meta.json").read_text())
    experiment = path.parent.name if path.parent.parent.name == "experiments" else ""
    facts = {
        "name": meta["name"],
        "revision": meta["revision"],
        "experiment": experiment,
        "settings": "s",
        "weights": "w",
        "card": card_digest(meta),
    }
    spec = suite_tasks().get(plain_name(document["task_name"]))
    for entry in next(iter(document["scores"].values())):
        entry |= scores or {}
        subset = entry["hf_subset"]
        revision = document["dataset_revision"] if subset == "default" else subset
        record = {
            "version": "0.1.0",
            "scoring": spec.scoring if spec else "",
            "data": {"task": document["task_name"], "revision": revision, "digest": "d"},
            "texts": {"text": {"n": 3, "digest": "t"}},
            "embeddings": dict(VECTORS),
            "model": facts | {"device": "cpu", "dtype": "torch.float32"} | model,
        }
        for part, values in (changed or {}).items():
            record[part] = {**record.get(part, {}), **values} if isinstance(values, dict) else values
        entry["evidence"] = record
        entry["evidence"]["seal"] = checksum(entry)
    path.write_text(json.dumps(document))
    return path


def write_queries(folder, task, queries, revision, subset, meta, /, parts=MappingProxyType({}), **changed):
    spec = suite_tasks()[plain_name(task)]
    experiment = folder.name if folder.parent.name == "experiments" else None
    identity = {
        "task": task,
        "main_score": spec.main_score,
        "model": meta["name"],
        "model_revision": meta["revision"],
        "experiment": experiment,
        "dataset_revision": revision,
        "subset": subset,
    } | changed
    columns = {
        "query": [f"q{number}" for number in range(len(queries))],
        spec.main_score.replace("_at_", "@"): list(map(float, queries)),
    }
    columns |= {f"slice:{name}": [value is not None for value in values] for name, values in parts.items()}
    columns |= {f"score:{name}": pa.array(values, pa.float64()) for name, values in parts.items()}
    pq.write_table(with_identity(pa.table(columns), identity), folder / f"{task}.queries.parquet")


HEADLINE = "PatentCitationRetrieval"
DIAGONAL = (HEADLINE, "WIPOATTAToTARetrieval", "WIPOATClaim1ToClaim1Retrieval")
JURISDICTIONS = ("en", "cn", "jp", "de", "fr", "es", "ru")


def sample_world(root: Path, n: int = 60) -> Path:
    """Three models on the sample: two complete on PatenTEB's retrieval, one lexical and partly measured; WIPO-AT with
    slices.
    """
    rng = np.random.default_rng(0)
    easy = rng.random(n)
    for level, (model, parameters) in enumerate(
        (("lex/bm25", 0), ("acme/small", 22_000_000), ("acme/large", 335_000_000))
    ):
        folder = model_folder(root, model, n_parameters=parameters)
        for shift, task in enumerate(DIAGONAL):
            queries = np.clip(0.5 * easy + 0.12 * level - 0.05 * shift + 0.05 * rng.standard_normal(n), 0, 1)
            mean = float(queries.mean())
            slices = {"in": mean * 1.1, "out": mean * 0.4}
            slices |= {
                f"jurisdiction_{name}": mean * (1 - 0.05 * position) for position, name in enumerate(JURISDICTIONS)
            }
            recall = {
                f"recall_at_{k}": min(1.0, mean * (0.3 + 0.2 * rank))
                for rank, k in enumerate((1, 3, 5, 10, 20, 100, 1000))
            }
            add(folder, task, queries=queries, slices=slices, more=recall)
        for task, spec in suite_tasks().items():
            if spec.benchmark == "PatenTEB" and (level or spec.kind == "Retrieval"):
                if spec.kind == "Retrieval":
                    add(folder, task, queries=np.clip(0.6 * easy + 0.1 * level, 0, 1))
                else:
                    add(folder, task, 0.5 + 0.1 * level)
    return root


def main_scores(root):
    """The scores of every result by task and model, read from the files by hand."""
    scores = {}
    for path in root.glob("results/*/*/*.json"):
        if path.name != "model_meta.json":
            (entries,) = json.loads(path.read_text())["scores"].values()
            scores[path.stem, path.parts[-3].replace("__", "/")] = entries[0]
    return scores


def built_tables(root, baseline=None):
    """The tables of the report by name."""
    collected = collect(root)
    compared = statistics(collected, baseline) if baseline else Statistics()
    return {table.name: table for table in tables.build(collected, compared)}


def payload_of(page):
    """What a page shows, of its text."""
    packed = re.search(r'id="payload">(.*?)</script>', page, re.S)[1]
    return json.loads(gzip.decompress(base64.b64decode(packed)))
