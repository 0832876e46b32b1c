"""What reaches the encoder: texts and characters with the embedding store and with stock mteb, on the built-in sample, in one run.

    python benchmarks/encode_once.py [--prompts] [--families DAPFAM Sophia]

Counted for (a) the DAPFAM tasks, (b) the Sophia tasks, each with a store of its own, and (c) the whole suite with one store. The
encoder is a counting one (16 numbers from a hash of the text), so that what remains is the tasks' own work, a few minutes. With
``--prompts`` it has a prompt for queries and one for documents, as E5 models do; a text is then distinct with its prompt. Stock mteb
runs the same tasks with the bare encoder; what a task repeats within itself, most of our tasks encode once without any store.

Target: distinct / encoded = 1.00 with the store. The figures are counts and the same on every machine. Exit status 1 if a text
was encoded twice, or a score of a task is not the same with and without the store.

Reference (sample version 1):
REFERENCE
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

os.environ["PATENT_MTEB_SAMPLE"] = "1"

import mteb
import numpy as np
from mteb.models.abs_encoder import AbsEncoder
from mteb.models.model_meta import ModelMeta

from patent_mteb.store import stored
from patent_mteb.tasks import FAMILIES

NOT_SCORES = ("evaluation_time", "mteb_version")


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
        self.mteb_model_meta = ModelMeta.create_empty({"name": "benchmarks/counting-encoder", "revision": f"prompts-{prompts}"})

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


def evaluate(model: Any, tasks: Iterable[type], scores: dict[str, Mapping[str, Any]]) -> None:
    """Run tasks and note their scores."""
    for kind in tasks:
        task = kind()
        result = mteb.evaluate(model, task, cache=None, show_progress_bar=False)
        ((found,),) = result.task_results[0].scores.values()
        scores[kind.metadata.name] = {name: value for name, value in found.items() if name not in NOT_SCORES}
        task.unload_data()
        print(".", end="", file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prompts", action="store_true")
    known = [module.FAMILY.name for module in FAMILIES]
    parser.add_argument("--families", nargs="+", choices=known, help="only these, each alone, without the whole suite")
    arguments = parser.parse_args()
    tasks = {module.FAMILY.name: module.TASKS for module in FAMILIES}
    chosen = arguments.families or [name for name in ("DAPFAM", "Sophia") if name in tasks]
    jobs = {name: tasks[name] for name in chosen}
    if not arguments.families:
        jobs["whole suite"] = tuple(task for module in FAMILIES for task in module.TASKS)
    os.environ["PATENT_MTEB_QUERY_SCORES"] = tempfile.mkdtemp()
    good = True
    lines = [f"{'':14}{'tasks':>6}{'':>9}{'texts':>10}{'distinct':>10}{'ratio':>7}{'characters':>14}{'distinct':>13}{'ratio':>7}"]
    for job, kinds in jobs.items():
        counts, scores = {}, {}
        for way in ("stock", "store"):
            encoder = CountingEncoder(arguments.prompts)
            scores[way] = {}
            with tempfile.TemporaryDirectory() as folder:
                evaluate(stored(encoder, folder) if way == "store" else encoder, kinds, scores[way])
            counts[way] = count = encoder.count
            lines.append(
                f"{job if way == 'stock' else '':14}{len(kinds):>6}{way:>9}{count.texts:>10,}{count.distinct:>10,}"
                f"{count.distinct / count.texts:>7.2f}{count.characters:>14,}{count.distinct_characters:>13,}"
                f"{count.distinct_characters / count.characters:>7.2f}"
            )
        lines.append(
            f"{'':20}{'stock / store':>9}{counts['stock'].texts / counts['store'].texts:>7.1f}x"
            f"{counts['stock'].characters / counts['store'].characters:>31.1f}x"
        )
        differing = [name for name in scores["stock"] if scores["stock"][name] != scores["store"][name]]
        if differing:
            lines.append(f"{'':20}other scores with the store: {', '.join(differing)}")
        good &= counts["store"].texts == counts["store"].distinct and not differing
    print("\n" + "\n".join(lines))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
