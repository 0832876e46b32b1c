"""PatentMap's tables of the small world, in a folder; documents lack abstract, claims or description here and there."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
from small_patents import Words, evaluate, world

from patent_mteb.recipes.patentmap import DATA_SET, Params, build
from patent_mteb.tasks import patentmap

BY_NAME = {task.metadata.name: task for task in patentmap.BENCHMARK.task_classes}
ABS, CLM, IPC = (f"PatentMap{name}" for name in ("AbsToAbsRetrieval", "ClmToAllRetrieval", "IPCClassification"))
FREE = {
    "query_offices": (), "query_first_year": None, "query_last_year": None,
    "ipc_offices": (), "ipc_first_year": None, "ipc_last_year": None,
}  # fmt: skip


def write_folder(folder: Path) -> Path:
    """Build the tables below ``folder`` (the value of ``PATENT_MTEB_DATA``) and return the data set's own folder."""
    patents, citations = world(150)
    nothing = type(patents[0].description)()
    lacks = {
        1: {"claims": ()},
        2: {"description": nothing},
        3: {"abstract": ""},
        4: {"claims": (), "description": nothing},
    }
    for i, p in enumerate(patents[:100]):
        claims_for_abstract = {"abstract": " ".join(claim.text for claim in p.claims)} if i % 5 == 4 else {}
        patents[i] = changed(p, **(lacks.get(i % 5, {}) | claims_for_abstract))
    build(patents, citations, folder, Params(queries=30, small=3, mlt=40, same_subclass=5, **FREE))
    return folder / DATA_SET


def changed(record, **fields):
    return type(record)(**{name: fields.get(name, getattr(record, name)) for name in type(record).__slots__})


def run(name, model=None):
    """The numbers of a result."""
    scores = evaluate(BY_NAME[name](), model or Words())
    return {name: value for name, value in scores.items() if isinstance(value, int | float)}


def contents(root, file):
    path = root / "perf200" / "content" / f"{file}.json"
    return {row["dnum"]: row["Content"] for row in map(json.loads, path.read_text().splitlines())}


def gold(root):
    return json.loads((root / "perf200" / "mapping" / "gold.json").read_text())


def views(content, tags=False):
    """The three section texts of a patent, written anew."""
    tag = {name: f"[{name}] " if tags else "" for name in ("abstract", "claim", "invention")}
    claims = " ".join(text for name, text in sorted(content.items()) if name.startswith("c-en-"))
    description = " ".join(text for name, text in sorted(content.items()) if name.startswith("p0"))
    abstract = content["title"] + (f" [SEP] {tag['abstract']}{content['pa01']}" if "pa01" in content else "")
    return [abstract, claims and tag["claim"] + claims, description and tag["invention"] + description]


def classified(root):
    """The rows of both parts as pandas reads them, labels by the regular expression that the authors' reader uses on
    the printed list.
    """
    parts = {name: pd.read_csv(root / "IPC-Classification" / f"{name}_512.csv") for name in ("train", "test")}
    return {
        name: [
            (text, list(dict.fromkeys(code[:4] for code in codes)))
            for text, codes in zip(table["text"], table["ipcr_labels"].str.findall(r"'([^']+)'"), strict=True)
        ]
        for name, table in parts.items()
    }


def rewrite(root, name, change):
    """Change the table of one part, in place or by what ``change`` returns."""
    path = root / "IPC-Classification" / f"{name}_512.csv"
    table = pd.read_csv(path)
    instead = change(table)
    (table if instead is None else instead).to_csv(path, index=False)
