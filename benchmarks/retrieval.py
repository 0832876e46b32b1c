"""Time and memory of evaluating a dense model on a retrieval task, without encoding: stock mteb against this package.

    python benchmarks/retrieval.py [--documents 20000] [--queries 8000] [--width 384] [--repeat 1] [--wipo-at-size]

Both evaluate the same vectors to depth 1,000 with all of mteb's scores; each in a process of its own, one after the
other. Memory is the highest resident memory less what the process held before. Saving mteb's predictions is left out,
and so is the time in which the model hands over its vectors. ``--wipo-at-size`` is 113,148 documents, 46,069 queries
and 1,024 dimensions; stock mteb takes 18 GB there. The ratio counts, not the seconds; where the machine is shared,
rather that of processor time.

Reference (2 cores of an AMD EPYC with bfloat16, of which other programs left about one; processor time is as good as
equal to the seconds): default size 16.5 s and 1.40 GB against 4.8 s and 0.54 GB, ratio 3.4; 113,148 documents x 6,000
queries x 1,024 dimensions 41.9 s and 2.76 GB against 14.8 s and 1.10 GB, ratio 2.8. The WIPO-AT size took this package
91.5 s and 2.06 GB, of which the matrix product is 55 s; stock mteb, on two free cores, 316 s and 17.8 GB. The Python
code of stock mteb uses one core; the work of this package is distributed over all.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

WIPO_AT = {"documents": 113_148, "queries": 46_069, "width": 1_024}
RELEVANT = 3


def make(folder: Path, documents: int, queries: int, width: int) -> None:
    """Unit vectors in groups around a common direction, as those of patents are; a query is the mean of the documents
    that it cites.
    """
    draw = np.random.default_rng(0)
    scale = (np.arange(1, width + 1) ** -0.4).astype(np.float32)
    common = draw.standard_normal(width, np.float32) * scale
    groups = draw.standard_normal((500, width), np.float32) * scale
    vectors = draw.standard_normal((documents, width), np.float32) * scale
    vectors += common + groups[draw.integers(0, len(groups), documents)]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cited = draw.integers(0, documents, (queries, RELEVANT))
    asked = draw.standard_normal((queries, width), np.float32) * scale * np.float32(0.05)
    for column in cited.T:
        asked += vectors[column]
    asked /= np.linalg.norm(asked, axis=1, keepdims=True)
    np.save(folder / "documents.npy", vectors)
    np.save(folder / "queries.npy", asked)
    np.save(folder / "cited.npy", cited)


def model(folder: Path) -> Any:
    """An mteb encoder that looks its vectors up: the text of a document or query is its number."""
    from mteb.models.abs_encoder import AbsEncoder
    from mteb.models.model_meta import ModelMeta, ScoringFunction

    class Rows(AbsEncoder):
        seconds = 0.0

        def __init__(self) -> None:
            meta = {"name": "benchmark/rows", "revision": "1", "similarity_fn_name": ScoringFunction.COSINE}
            self.mteb_model_meta = ModelMeta.create_empty(meta)
            self.vectors = {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("documents", "queries")}

        def encode(self, inputs: Any, *, prompt_type: Any = None, **kwargs: Any) -> Any:
            started = time.perf_counter()
            name = "queries" if prompt_type.value == "query" else "documents"
            found = self.vectors[name][[int(text) for text in inputs.dataset["text"][:]]]
            self.seconds += time.perf_counter() - started
            return found

    return Rows()


def evaluate(folder: Path, way: str) -> dict[str, Any]:
    """One evaluation in this process."""
    import mteb
    import torch
    from mteb.abstasks.retrieval import AbsTaskRetrieval
    from mteb.timing import TimingStack

    import patent_mteb  # noqa: F401
    from patent_mteb.tasks.retrieval import RetrievalTables

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS") or len(os.sched_getaffinity(0))))
    encoder, cited = model(folder), np.load(folder / "cited.npy")
    sizes = {name: len(vectors) for name, vectors in encoder.vectors.items()}
    tables = RetrievalTables(
        corpus={f"d{number}": str(number) for number in range(sizes["documents"])},
        queries={f"q{number}": str(number) for number in range(sizes["queries"])},
        qrels={f"q{number}": {f"d{document}": 1 for document in row} for number, row in enumerate(cited.tolist())},
    )
    ours = mteb.get_task("PatentCitationRetrieval.sample")
    ours.load_tables = lambda: tables
    split = ours.load_split()
    ours.dataset = {ours.source.subset: {ours.split: split}}  # what the evidence is of

    class Stock(AbsTaskRetrieval):
        metadata = ours.metadata

    task = Stock() if way == "mteb" else ours
    task.k_values = (1, 3, 5, 10, 20, 100, 1000)
    timer = TimingStack()
    arguments = {
        "encode_kwargs": {"show_progress_bar": False},
        "hf_split": "test",
        "hf_subset": "default",
        "timer": timer,
    }
    with Memory() as memory:
        started, cpu = time.perf_counter(), time.process_time()
        scores = task._evaluate_subset(encoder, split, **arguments)
        wall, cpu = time.perf_counter() - started - encoder.seconds, time.process_time() - cpu - encoder.seconds
    phases = {phase["name"]: phase["end"] - phase["start"] for phase in timer.phases}
    return {"wall": wall, "cpu": cpu, "memory": memory.gained, "phases": phases, "scores": scores}


class Memory:
    """Highest resident memory of the process inside the block, in GB above that at its start; pages of mapped files not
    counted.
    """

    def __enter__(self) -> Memory:
        self._before = self._highest = _resident()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._stop.wait(0.02):
            self._highest = max(self._highest, _resident())

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    @property
    def gained(self) -> float:
        return self._highest - self._before


def _resident() -> float:
    """Resident memory in GB, without pages of mapped files where the system reports them separately."""
    status = Path("/proc/self/status")
    if status.exists():
        fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(fields.get("RssAnon", fields["VmRSS"]).split()[0]) / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--queries", type=int, default=8_000)
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--repeat", type=int, default=1, help="number of runs, of which the best counts")
    parser.add_argument("--wipo-at-size", action="store_true")
    parser.add_argument("--only", choices=("mteb", "patent-mteb"), help="one side alone")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        folder, way = arguments.child
        print(json.dumps(evaluate(Path(folder), way)))
        return
    size = WIPO_AT if arguments.wipo_at_size else {name: getattr(arguments, name) for name in WIPO_AT}
    print("{documents:,} documents x {queries:,} queries x {width:,} dimensions, depth 1,000".format(**size))
    print(f"{'':<14}{'seconds':>10}{'processor':>12}{'memory':>12}")
    found: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder), **size)
        for way in ("mteb", "patent-mteb") if arguments.only is None else (arguments.only,):
            command = [sys.executable, __file__, "--child", folder, way]
            settings = {**os.environ, "PATENT_MTEB_FAST": "1", "PATENT_MTEB_QUERY_SCORES": folder}
            runs = [_last_line(command, settings) for _ in range(arguments.repeat)]
            best = found[way] = min(runs, key=lambda run: run["wall"])
            print(f"{way:<14}{best['wall']:>8.1f} s{best['cpu']:>10.1f} s{best['memory']:>9.2f} GB")
            print("              " + ", ".join(f"{name} {seconds:.1f} s" for name, seconds in best["phases"].items()))
    if len(found) == 2:
        theirs, ours = found["mteb"], found["patent-mteb"]
        ratios = [theirs[name] / ours[name] for name in ("wall", "cpu", "memory")]
        print(f"{'ratio':<14}{ratios[0]:>8.1f} x{ratios[1]:>10.1f} x{ratios[2]:>9.1f} x")
        shared = [name for name, value in theirs["scores"].items() if isinstance(value, float)]
        print(
            f"{len(shared)} scores, greatest difference"
            f" {max(abs(theirs['scores'][name] - ours['scores'][name]) for name in shared):.1e}"
        )


def _last_line(command: list[str], settings: dict[str, str]) -> dict[str, Any]:
    output = subprocess.run(command, env=settings, stdout=subprocess.PIPE, text=True, check=True).stdout
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    return found


if __name__ == "__main__":
    main()
