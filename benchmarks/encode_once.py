"""What reaches the encoder: texts and characters with the embedding store and with stock mteb, on the built-in sample,
in one run.

    python benchmarks/encode_once.py [--prompts] [--benchmarks DAPFAM Sophia]

Counted for (a) the DAPFAM tasks, (b) the Sophia tasks, each with a store of its own, and (c) the whole suite with one
store. The encoder is a counting one (16 numbers from a hash of the text), so that what remains is the tasks' own work,
a few minutes. With ``--prompts`` it has a prompt for queries and one for documents, as E5 models do; a text is then
distinct with its prompt. Stock mteb runs the same tasks with the bare encoder; what a task repeats within itself, most
of our tasks encode once without any store.

Target: distinct / encoded = 1.00 with the store. The figures are counts and the same on every machine. Exit status 1 if
a text was encoded twice, or a score of a task is not the same with and without the store.

Reference (sample version 1; distinct / encoded is 1.00 with the store everywhere, and no score differs):

    DAPFAM, 72 tasks           91,608 ->  6,731 texts (13.6 times fewer), 134.5 -> 8.7 million characters (15.5 times)
    Sophia, 12 tasks            7,438 ->  1,870 texts (4.0), 22.5 -> 2.7 million characters (8.3); 1,425 are queries
    whole suite, 164 tasks    199,172 -> 21,193 texts (9.4), 265.3 -> 27.4 million characters (9.7)
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

os.environ["PATENT_MTEB_SAMPLE"] = "1"

import mteb
import numpy as np
from mteb.models.abs_encoder import AbsEncoder
from mteb.models.model_meta import ModelMeta

from patent_mteb.store import stored
from patent_mteb.tasks.base import PatentTask
from patent_mteb.tasks.catalogue import benchmarks, tasks


@dataclass
class Count:
    """Texts that were encoded, how many of them are distinct with their prompt, and characters of either."""

    texts: int = 0
    distinct: int = 0
    characters: int = 0
    distinct_characters: int = 0


class CountingEncoder(AbsEncoder):
    """Vectors from a hash of prompt and text; counts what it is given."""

    def __init__(self, prompts: bool) -> None:
        self.prompts = prompts
        self.count = Count()
        self._seen: set[bytes] = set()
        self.mteb_model_meta = ModelMeta.create_empty(
            {"name": "benchmarks/counting-encoder", "revision": f"prompts-{prompts}"}
        )

    def store_prompt(self, task_metadata: Any, prompt_type: Any) -> str:
        """Tells the store which prompt goes before a text."""
        return f"{prompt_type.value}: " if self.prompts and prompt_type else ""

    def encode(self, inputs: Any, *, task_metadata: Any, prompt_type: Any = None, **kwargs: Any) -> Any:
        prompt = self.store_prompt(task_metadata, prompt_type)
        return np.stack([self._vector(prompt, text) for batch in inputs for text in batch["text"]])

    def _vector(self, prompt: str, text: str) -> Any:
        digest = hashlib.blake2b((prompt + text).encode(), digest_size=16).digest()
        self.count.texts += 1
        self.count.characters += len(text)
        if digest not in self._seen:
            self._seen.add(digest)
            self.count.distinct += 1
            self.count.distinct_characters += len(text)
        return np.frombuffer(digest, np.int8).astype(np.float32)


def evaluate(model: Any, tasks: Sequence[type[PatentTask]]) -> dict[str, str]:
    """All scores of each task, with every digit (as text: NaN is equal to itself)."""
    scores = {}
    for task in tasks:
        result = mteb.evaluate(model, task(), cache=None, show_progress_bar=False)
        ((found,),) = result.task_results[0].scores.values()
        evidence = {**found["evidence"], "cost": None, "seal": None}  # seconds differ
        scores[task.metadata.name] = json.dumps({**found, "evidence": evidence}, sort_keys=True)
        print(".", end="", file=sys.stderr, flush=True)
    return scores


def compare(job: str, tasks: Sequence[type[PatentTask]], prompts: bool) -> bool:
    """Run tasks both ways, print the counts, and say whether each text was encoded once and all scores are the same."""
    stock, once = CountingEncoder(prompts), CountingEncoder(prompts)
    with tempfile.TemporaryDirectory() as folder:
        expected, found = evaluate(stock, tasks), evaluate(stored(once, folder), tasks)
    print(f"\n{job}, {len(tasks)} tasks")
    for way, count in (("stock mteb", stock.count), ("store", once.count)):
        texts, characters = count.distinct / count.texts, count.distinct_characters / count.characters
        print(
            f"  {way:11}{count.texts:>9,} texts, {count.distinct:>7,} distinct: {texts:.2f}"
            f"{count.characters:>16,} characters, {count.distinct_characters:>12,} distinct: {characters:.2f}"
        )
    texts, characters = stock.count.texts / once.count.texts, stock.count.characters / once.count.characters
    print(f"  {'ratio':11}{texts:>8.1f}x texts {characters:>41.1f}x characters")
    other = [name for name in expected if expected[name] != found[name]]
    print(f"  scores that differ: {', '.join(other) or 'none'}", flush=True)
    return once.count.texts == once.count.distinct and not other


def main() -> int:
    known = {benchmark.name: benchmark.task_classes for benchmark in benchmarks()}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prompts", action="store_true")
    parser.add_argument("--benchmarks", nargs="+", choices=known, help="only these, without the whole suite")
    arguments = parser.parse_args()
    jobs = {name: known[name] for name in arguments.benchmarks or ("DAPFAM", "Sophia")}
    if not arguments.benchmarks:
        jobs["whole suite"] = tasks()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PATENT_MTEB_QUERY_SCORES"] = folder
        good = [compare(job, chosen, arguments.prompts) for job, chosen in jobs.items()]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
