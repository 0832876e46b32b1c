"""The cases of ``all.py``: each at growing sizes, against another library.

A case is prepared for a size, and gives two functions: ours, and the other one's (None where that is not installed).
Both are called with the same input, and what they give is compared (``gap``), so that no time is that of another
result.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import operator
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Size = Mapping[str, int]
Job = Callable[[], Any]
DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "pap2pat" / "patents.jsonl.gz"


@dataclass(frozen=True)
class Work:
    """One size, prepared: the two functions, the greatest difference of what they gave, and how much work it is where
    numbers of the size do not say that.
    """

    ours: Job
    theirs: Job | None = None
    gap: Callable[[Any, Any], float] = lambda ours, theirs: 0.0
    amount: float = 0.0


@dataclass(frozen=True)
class Case:
    """A benchmark, its competitor, and its expected growth: proportional to the product of ``law`` among a size's
    numbers.
    """

    name: str
    other: str
    law: tuple[str, ...]
    sizes: tuple[Size, ...]
    prepare: Callable[..., Work]
    repeats: int = 2
    goal: float = 0.0  # least ratio to the competitor
    seconds: float = 0.0  # most seconds of the largest size

    def amount(self, size: Size) -> float:
        return float(np.prod([size[name] for name in self.law]))


def growing(name: str, values: tuple[int, ...], **fixed: int) -> tuple[Size, ...]:
    """Sizes that differ in one number."""
    return tuple({**fixed, name: value} for value in values)


def has(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def run(command: list[str], folder: Path, **settings: str) -> None:
    """Run a command to its end; its processor time is that of a child."""
    own = {"PATENT_MTEB_CACHE": str(folder / "cache"), "HF_HUB_OFFLINE": "1", **settings}
    done = subprocess.run(command, env=os.environ | own, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")


def command(patents: int, *, step: str, before: tuple[str, ...] = ()) -> Work:
    """A step of ``scale.py`` on generated patents, as a user starts it."""
    import scale

    temporary = tempfile.TemporaryDirectory()
    folder = Path(temporary.name)
    generated = [sys.executable, scale.__file__, "--folder", str(folder), "--generate", str(patents)]
    run([*generated, *(["--examined"] if step in ("open_us", "edition") else [])], folder)
    data = {"PATENT_MTEB_DATA": str(folder / "root"), "PATENT_MTEB_SAMPLE": ""}
    for earlier in before:
        run(scale.commands(folder)[earlier], folder, **data)

    def ours() -> None:
        assert temporary  # its folder is there as long as this function
        for written in {"imported", "results", step, "root"} - ({"root"} if before else set()):
            shutil.rmtree(folder / written, ignore_errors=True)
        run(scale.commands(folder)[step], folder, **data)

    return Work(ours)


def report(models: int) -> Work:
    """The page and all figures of invented models on all tasks."""
    helpers = Path(__file__).resolve().parents[1] / "tests" / "helpers"
    temporary = tempfile.TemporaryDirectory()
    folder = Path(temporary.name)
    made = [sys.executable, str(helpers / "many_models.py"), str(folder / "results"), str(models)]
    run(made, folder, PYTHONPATH=os.pathsep.join([str(helpers), os.environ.get("PYTHONPATH", "")]))
    shown = [sys.executable, "-m", "patent_mteb.cli", "report", str(folder / "results"), "--html"]
    shown += [str(folder / "site"), "--plots"]

    def ours() -> None:
        assert temporary
        run(shown, folder)

    return Work(ours)


def first_score(times: int) -> Work:
    """BM25 on a task of the sample, each time in a new folder, against the import of mteb with its list of tasks."""
    temporary = tempfile.TemporaryDirectory()
    folder = Path(temporary.name)
    asked = [sys.executable, "-m", "patent_mteb.cli", "run", "-t", "PatentCitationRetrieval", "-m", "bm25", "--out"]

    def ours() -> None:
        for number in range(times):
            run([*asked, str(folder / str(number))], folder / str(number))
        shutil.rmtree(folder)

    def theirs() -> None:
        for _ in range(times):
            run([sys.executable, "-c", "import mteb; mteb.get_tasks()"], folder)

    return Work(ours, theirs)


def units(rows: int, dims: int, seed: int) -> np.ndarray:
    vectors = np.random.default_rng(seed).standard_normal((rows, dims), np.float32) + 0.3
    found: np.ndarray = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return found


def exact_search(documents: int, queries: int, dims: int, depth: int) -> Work:
    """The nearest documents, against the whole matrix of products and NumPy's partition."""
    import torch

    from patent_mteb.search.nearest import add_nearest
    from patent_mteb.search.run import TopK, ranked_ids

    held, asked = torch.from_numpy(units(documents, dims, 0)), torch.from_numpy(units(queries, dims, 1))
    names = ranked_ids(f"{number:07d}" for number in range(documents))

    def ours() -> np.ndarray:
        best = TopK([f"q{number}" for number in range(queries)], names, depth)
        add_nearest(best, asked, held, np.arange(documents))
        return best.run().scores

    def theirs() -> np.ndarray:
        products = (asked @ held.T).numpy()
        return -np.sort(-np.partition(products, documents - depth, axis=1)[:, documents - depth :], axis=1)

    return Work(ours, theirs, lambda one, other: float(np.abs(one - other).max()))


def products_alone(documents: int, queries: int, dims: int, depth: int) -> Work:
    """The same search against the bfloat16 product alone, which is the limit."""
    import torch

    held, asked = (
        torch.from_numpy(units(documents, dims, 0)).bfloat16(),
        torch.from_numpy(units(queries, dims, 1)).bfloat16(),
    )

    def theirs() -> None:
        for start in range(0, documents, 4096):
            torch.mm(held[start : start + 4096], asked.T)

    return Work(exact_search(documents, queries, dims, depth).ours, theirs)


def task_without_encoding(documents: int, queries: int, dims: int) -> Work:
    """A retrieval task with all its scores, the vectors given, against stock mteb."""
    import retrieval

    from patent_mteb.search import dense
    from patent_mteb.search.memory_cache import RankingCache

    dense.RANKINGS = RankingCache(0)  # or the second run would be read
    folder = tempfile.TemporaryDirectory()
    os.environ["PATENT_MTEB_QUERY_SCORES"] = folder.name
    retrieval.make(Path(folder.name), documents, queries, dims)

    def run(way: str) -> Any:
        return retrieval.evaluate(Path(folder.name), way)["scores"]

    def gap(one: Any, other: Any) -> float:
        return max(abs(one[name] - value) for name, value in other.items() if isinstance(value, float))

    return Work(lambda: run("patent-mteb"), lambda: run("mteb"), gap)


def bm25_index(documents: int, words: int) -> Work:
    import bm25_index as script

    from patent_mteb.search.bm25 import SETTINGS, BM25Index

    texts = script.texts(documents, words)
    gap = lambda one, other: float(np.abs(script.weights(one) - np.sort(other.scores["data"])).max())  # noqa: E731
    return Work(lambda: BM25Index(texts, SETTINGS["dapfam"]), lambda: script.library(texts), gap)


def leak_lookup(texts: int, questions: int) -> Work:
    """The text that each question repeats, if any: half of the questions are texts with every tenth word replaced."""
    import bm25_index as bm25
    import leaks as script

    from patent_mteb.training.leaks import ShingleIndex, common_shingles

    words = bm25.texts(texts + questions // 2, 300)
    altered = script.replaced(10, words[-1].split(), random.Random(0))
    indexed = script.whole(words[:texts])
    asked = script.whole([*(" ".join(altered(text.split())) for text in words[: questions // 2]), *words[texts:]])
    common = common_shingles((one, str(number)) for number, one in enumerate(indexed))
    index = ShingleIndex((str(number), str(number), one) for number, one in enumerate(indexed))
    every = script.EveryText([one.without(common).keys for one in indexed])

    def ours() -> list[tuple[int, float] | None]:
        return [(int(found.id), found.share) if (found := index.match(one)) else None for one in asked]

    def theirs() -> list[tuple[int, float] | None]:
        return [every.best(one.without(common).keys) for one in asked]

    return Work(ours, theirs, lambda one, other: float(sum(map(operator.ne, one, other))))


def bm25_search(queries: int, documents: int, words: int) -> Work:
    import bm25_index as script
    import bm25s
    import Stemmer

    from patent_mteb.search.bm25 import SETTINGS, BM25Index

    texts = script.texts(documents, words)
    asked = [" ".join(text.split()[:60]) for text in script.texts(queries, words)]
    index, library = BM25Index(texts, SETTINGS["dapfam"]), script.library(texts)

    def ours() -> np.ndarray:
        best = [
            np.sort(row)[::-1][:100]
            for start in range(0, queries, 32)
            for row in index.scores(asked[start : start + 32]).toarray()
        ]
        return np.array(best)

    def theirs() -> np.ndarray:
        tokens = bm25s.tokenize(asked, stopwords="en", stemmer=Stemmer.Stemmer("english"), show_progress=False)
        found: np.ndarray = library.retrieve(tokens, k=100, show_progress=False).scores
        return found

    return Work(ours, theirs, lambda one, other: float(np.abs(one - other).max()))


def fusion(queries: int, depth: int) -> Work:
    """Eight settings, against ranx."""
    import fusion_sweep as script

    from patent_mteb.search.fusion import RRF, sweep

    first, second = (script.rankings(queries, depth, 20 * depth, seed) for seed in (1, 2))

    def ours() -> list[Any]:
        return list(sweep(first, second, script.SETTINGS, depth, threads=1))

    if not has("ranx"):
        return Work(ours)
    import ranx

    runs = [ranx.Run(run.to_dict()) for run in (first, second)]

    def theirs() -> list[Any]:
        return [
            (
                ranx.fuse(runs, norm=None, method="rrf", params={"k": setting.k})
                if isinstance(setting, RRF)
                else ranx.fuse(
                    runs, norm="min-max", method="wsum", params={"weights": (1 - setting.alpha, setting.alpha)}
                )
            )
            for setting in script.SETTINGS
        ]

    def gap(one: list[Any], other: list[Any]) -> float:
        pairs = zip(
            (run.rows(np.array([0])).to_dict()["q0"] for run in one), (dict(run["q0"]) for run in other), strict=True
        )
        return max(abs(value - found[name]) for ours, found in pairs for name, value in ours.items() if name in found)

    return Work(ours, theirs, gap)


def swept_ranks(queries: int, depth: int, judged: int) -> Work:
    """The ranks of the judged documents under eight settings, against the sweep of whole rankings."""
    import fusion_sweep as script

    from patent_mteb.metrics.measures import ranks_of
    from patent_mteb.search.fusion import sweep, sweep_ranks

    first, second = (script.rankings(queries, depth, 20 * depth, seed) for seed in (1, 2))
    pairs = script.judged(first, judged)

    def theirs() -> np.ndarray:
        return np.array([ranks_of(run.docs, pairs) for run in sweep(first, second, script.SETTINGS, depth, threads=1)])

    ours = lambda: sweep_ranks(first, second, script.SETTINGS, pairs, depth)  # noqa: E731
    return Work(ours, theirs, lambda one, other: float(np.abs(one - other).max()))


def scores(queries: int, depth: int) -> Work:
    """All scores of a run, against mteb's own."""
    import fusion_sweep as script
    from mteb._evaluators.retrieval_metrics import calculate_retrieval_scores

    from patent_mteb.metrics.measures import Judged, retrieval_scores

    run, ks, draw = script.rankings(queries, depth, 20 * depth, 1), (1, 10, 100, 1000), np.random.default_rng(2)
    rows = zip(run.query_ids, run.docs, strict=True)
    qrels = {query: {run.doc_ids[row[place]]: 1 for place in draw.integers(0, depth, 5)} for query, row in rows}

    def ours() -> float:
        judged = Judged(run.docs, qrels, run.query_ids, run.doc_ids)
        return retrieval_scores(run.docs, run.scores, judged.all, ks)["ndcg_at_10"]

    return Work(
        ours,
        lambda: calculate_retrieval_scores(run.to_dict(), qrels, ks).ndcg["NDCG@10"],
        lambda one, other: abs(float(one - other)),
    )


def paired_bootstrap(queries: int, models: int) -> Work:
    """p values of all pairs of models, 1,000 resamples, against SciPy's bootstrap of one pair after the other."""
    from scipy.stats import bootstrap as of_scipy

    from patent_mteb.metrics.significance import bootstrap

    table = np.random.default_rng(0).random((queries, models))
    pairs = [(one, other) for one in range(models) for other in range(one)]

    def theirs() -> list[Any]:
        options = {"n_resamples": 1000, "method": "percentile", "rng": np.random.default_rng(0), "batch": 100}
        return [of_scipy((table[:, one] - table[:, other],), np.mean, **options) for one, other in pairs]

    return Work(lambda: bootstrap(table, resamples=1000).p_values(), theirs)


def knn(rows: int, queries: int, dims: int) -> Work:
    from sklearn.neighbors import KNeighborsClassifier

    from patent_mteb.protocols.knn import majority_vote, neighbours

    train, held = units(rows, dims, 0), units(queries, dims, 1)
    labels = np.random.default_rng(0).random((rows, 10)) < 0.3

    def theirs() -> Any:
        fitted = {
            k: KNeighborsClassifier(k, metric="cosine", algorithm="brute").fit(train, labels.astype(int))
            for k in (1, 5, 25)
        }
        return {k: model.predict(held).astype(bool) for k, model in fitted.items()}

    return Work(
        lambda: majority_vote(neighbours(train, held, 25), labels, (1, 5, 25)),
        theirs,
        lambda one, other: float(max((one[k] != other[k]).mean() for k in other)),
    )


def linear_probe(rows: int, dims: int, labels: int) -> Work:
    import linear_probe as script
    from sklearn.linear_model import LogisticRegression

    from patent_mteb.protocols.linear_probe import fit_logistic

    x, y = script.world(rows, dims, labels)

    def theirs() -> np.ndarray:
        exact = x.astype(np.float64)
        models = [
            LogisticRegression(C=1.0, tol=1e-8, max_iter=10_000).fit(exact, y[:, label]) for label in range(labels)
        ]
        return np.stack([model.decision_function(exact) for model in models], axis=1)

    return Work(lambda: fit_logistic(x, y, 1.0).decide(x), theirs, lambda one, other: float(np.abs(one - other).max()))


def late_interaction(documents: int, queries: int) -> Work:
    import maxsim as script
    import torch

    from patent_mteb.search.maxsim import maxsim

    rng = np.random.default_rng(0)
    asked, held = script.unit(rng, np.full(queries, 32)), script.unit(rng, rng.integers(200, 301, documents))

    def theirs() -> np.ndarray:
        from sentence_transformers.util.similarity import maxsim as stock

        found: np.ndarray = stock([torch.from_numpy(v) for v in asked], [torch.from_numpy(v) for v in held]).numpy()
        return found

    known = has("sentence_transformers.util.similarity")
    return Work(
        lambda: maxsim(asked, held), theirs if known else None, lambda one, other: float(np.abs(one - other).max())
    )


def from_the_store(texts: int, dims: int) -> Work:
    """Hash texts and gather their vectors, every checksum verified, against NumPy's copy of the same rows in memory."""
    from patent_mteb.store import EmbeddingStore, hash_texts

    folder, vectors = tempfile.TemporaryDirectory(), units(texts, dims, 0)
    words = [f"text number {number}" for number in range(texts)]
    EmbeddingStore(folder.name).space({"model": "m", "revision": "1"}, "float32").append(hash_texts(words), vectors)
    order = np.random.default_rng(1).permutation(texts)
    asked = [words[place] for place in order]

    def ours() -> Any:
        assert folder  # it is there as long as this function
        return EmbeddingStore(folder.name).space({"model": "m", "revision": "1"}, "float32").gather(hash_texts(asked))

    return Work(ours, lambda: vectors[order], lambda one, other: float(np.abs(one - other).max()))


def encoding(texts: int, *, view: str, **options: Any) -> Work:
    """MiniLM on real patents, as stock mteb encodes them and as the suite does; the gap is the greatest cosine
    distance. A third each of the mixed texts are titles, abstracts and TAC.
    """
    import precision
    from datasets import Dataset
    from mteb.types import PromptType
    from torch.utils.data import DataLoader

    from patent_mteb.models import load
    from patent_mteb.store import stored

    with gzip.open(DATA, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line, _ in zip(lines, range(texts), strict=False)]
    parts = {"titles": ("title",), "abstracts": ("abstract",), "TAC": ("title", "abstract", "claims")}
    views = list(parts) if view == "mixed" else [view]
    held = [" ".join(row[part] or "" for part in parts[views[number % len(views)]]) for number, row in enumerate(rows)]
    budget = {"batch_tokens": options.pop("batch_tokens")} if "batch_tokens" in options else {}
    stock, ours = load(str(precision.minilm()), device="cpu"), load(str(precision.minilm()), device="cpu", **options)

    def vectors(model: Any, **more: Any) -> np.ndarray:
        import mteb

        where = {
            "task_metadata": mteb.get_task("PatentCitationRetrieval.sample").metadata,
            "hf_split": "test",
            "hf_subset": "default",
        }
        loader: Any = DataLoader(Dataset.from_dict({"text": held}), batch_size=32)
        return np.asarray(
            model.encode(loader, prompt_type=PromptType.document, show_progress_bar=False, **where, **more)
        )

    def encoded() -> np.ndarray:
        with tempfile.TemporaryDirectory() as folder:
            return vectors(stored(ours, folder), **budget)

    network = stock.model
    tokens = sum(
        len(ids) for ids in network.tokenizer(held, truncation=True, max_length=network.max_seq_length)["input_ids"]
    )
    return Work(encoded, lambda: vectors(stock), lambda one, other: float(1 - (one * other).sum(axis=1).min()), tokens)
