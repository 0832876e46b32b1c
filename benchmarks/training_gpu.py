"""Train five recipes over three seeds on real patents, and time a training step with and without our settings.

    python benchmarks/training_gpu.py recipes --model MINILM --records patents.jsonl.gz --out DIR
    python benchmarks/training_gpu.py engine --model MINILM --records patents.jsonl.gz --out DIR

``--records`` is the table of Pap2Pat (1,813 applications). ``recipes`` writes ``DIR/recipes.json``, with the scores
before and after and the intervals of the paired bootstrap; the same command resumes by recipe and seed, and
``--limit`` ends it after so many seconds. ``engine`` writes ``DIR/engine.json``: seconds per step of R3 and texts per
second of encoding, for MiniLM and for random weights of the size of Qwen3-Embedding-0.6B.

Pap2Pat has neither citations nor IPC codes. The multi-task recipe therefore trains three of its thirteen tasks, where
the beginning of the background is the problem and the abstract the solution. ColBERT trains on pairs of R3, from a
MiniLM with a random projection to 128 dimensions.
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.multi_vector_encoder.model import MultiVectorEncoder
from sentence_transformers.sentence_transformer import losses
from sentence_transformers.sentence_transformer.modules import Pooling
from transformers import TrainerCallback

from patent_mteb.cli import main as command
from patent_mteb.files import write_json
from patent_mteb.models import load
from patent_mteb.recipes import patenteb
from patent_mteb.store import stored
from patent_mteb.training import jobs, multitask
from patent_mteb.training.corpus import Corpus, read_corpus
from patent_mteb.training.pairs import abstract_and_claim
from patent_mteb.training.preparing import Job
from patent_mteb.training.recipes import find_recipe, settings_for

SEEDS = (42, 7, 13)
SHARES = (0.77, 0.05)  # of the families, in train and validation
PROBLEM_WORDS = 60

MULTITASK = ("optimiser=adamw_torch", "accumulation=1", "pooling=any", "check_steps=100", "precision=bf16")
RECIPES: Mapping[str, tuple[str, ...]] = {
    "wipo-r3": ("accumulation=1", "checks=3", "mini_batch=32"),
    "patentmap-claims-summary": ("batch=64", "epochs=3", "pooling=any", "precision=bf16", "checks=1"),
    "patembed-multitask": (*MULTITASK, "epochs=2"),
    "patembed-distill-2": (*MULTITASK, "epochs=4", "lr=1e-3"),
    "colbert-contrastive": ("signal=cross-section", "epochs=3", "lr=5e-5", "checks=3"),
}


class Stop(TrainerCallback):
    """Ends a run at a deadline. Its last checkpoint is used again."""

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if time.monotonic() > self.deadline:
            raise TimeoutError("the time limit is reached; the same command continues")


def machine() -> dict[str, Any]:
    return {
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else f"processor, {platform.machine()}",
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }


def corpus_of(table: Path, out: Path) -> Corpus:
    records = out / "records"
    if not (records / "import.json").is_file() and (
        status := command(["data", "import", str(table), "--out", str(records)])
    ):
        sys.exit(status)
    return read_corpus(records, SHARES)


def with_problems(corpus: Corpus) -> Corpus:
    """Mark problem and solution as abstracts from Japan do, and give all patents one IPC code, which means nothing."""
    changed = []
    for one in corpus.patents:
        problem = " ".join(one.description.background.split()[:PROBLEM_WORDS])
        abstract = f"PROBLEM TO BE SOLVED: {problem} SOLUTION: {one.abstract}" if problem else one.abstract
        changed.append(replace(one, abstract=abstract, ipc=("G06F 1/00",)))
    multitask.PAPER = replace(
        patenteb.SAMPLE, require=("title", "abstract", "claims"), split=(*SHARES, 1 - sum(SHARES))
    )
    return replace(corpus, patents=changed)


def late_base(model: str, out: Path) -> str:
    folder = out / "late"
    if not folder.is_dir():
        torch.manual_seed(42)
        MultiVectorEncoder(model, device="cpu").save_pretrained(str(folder), create_model_card=False)
    return str(folder)


def recipes(arguments: argparse.Namespace) -> int:
    out, deadline = arguments.out, time.monotonic() + arguments.limit
    corpus = corpus_of(arguments.records, out)
    path = out / "recipes.json"
    report = json.loads(path.read_text()) if path.is_file() else {"machine": machine(), "recipes": {}}
    for name in arguments.only or RECIPES:
        if report["recipes"].get(name, {}).get("seeds") == list(arguments.seeds):
            continue
        recipe, began = find_recipe(name), time.monotonic()
        job = Job(
            recipe=recipe,
            settings=settings_for(recipe, [*RECIPES[name], *arguments.set]),
            base=late_base(arguments.model, out) if recipe.loss == "late" else arguments.model,
            out=out / name,
            seeds=tuple(arguments.seeds),
            max_steps=arguments.steps,
            drop_leaks=True,
        )
        data = with_problems(corpus) if recipe.loss in ("multitask", "mse") else corpus
        try:
            done = jobs.train(job, data, callbacks=[Stop(deadline)], quiet=True)
        except TimeoutError as error:
            print(f"{name}: {error}", file=sys.stderr)
            return 3
        records = [json.loads((folder / "patent_mteb_training.json").read_text()) for folder in done.checkpoints]
        report["recipes"][name] = {
            "seeds": list(arguments.seeds),
            "seconds": round(time.monotonic() - began, 1),
            "steps": [one["steps"] for one in records],
            "best_steps": [one["best_step"] for one in records],
            "pairs": records[0]["pairs"],
            "deviations": records[0]["deviations"],
            "warnings": [one["warnings"] for one in records],
            "changes": [asdict(one) for one in done.changes],
        }
        write_json(path, report)
        for one in done.changes:
            print(
                f"{name}: {one.what}, {one.measure}, {one.n_queries}: {one.before:.4f} -> {one.after:.4f}", flush=True
            )
            print(
                f"    {one.difference:+.4f} [{one.low:+.4f}, {one.high:+.4f}], seeds {one.spread or 0:.4f}", flush=True
            )
    return 0


class Timed(TrainerCallback):
    """Measures steps after the first two, and ends the run."""

    def __init__(self, steps: int) -> None:
        self.steps, self.seconds = steps, list[float]()

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        _wait()
        self.began = time.perf_counter()

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        _wait()
        self.seconds.append(time.perf_counter() - self.began)
        if len(self.seconds) == self.steps + 2:
            raise StopIteration

    @property
    def median(self) -> float:
        return float(np.median(self.seconds[2:]))


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def qwen(model: str, out: Path, small: bool) -> str:
    """Random weights of the size of Qwen3-Embedding-0.6B, with the tokenizer of another model."""
    from transformers import AutoTokenizer, Qwen3Config, Qwen3Model

    folder = out / "qwen"
    if not (folder / "modules.json").is_file():
        sizes = {"hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28, "num_attention_heads": 16}
        sizes |= {"num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151_936}
        if small:
            sizes |= {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "vocab_size": 30_522}
        torch.manual_seed(0)
        bare = out / "qwen-bare"
        Qwen3Model(Qwen3Config(**sizes)).save_pretrained(bare)
        tokenizer = AutoTokenizer.from_pretrained(model)
        tokenizer.model_max_length = 512
        tokenizer.save_pretrained(bare)
        transformer: Any = SentenceTransformer(str(bare), device="cpu")[0]
        pooling = Pooling(transformer.get_embedding_dimension(), pooling_mode="lasttoken")
        SentenceTransformer(modules=[transformer, pooling], device="cpu").save(str(folder), create_model_card=False)
    return str(folder)


def stock(model: str, pairs: Dataset, batch: int, part: int, out: Path, bf16: bool, timed: Timed) -> None:
    """Train as the documentation of sentence-transformers shows, with cached gradients of ``part`` pairs."""
    network = SentenceTransformer(model, model_kwargs={"dtype": "float32"})
    arguments = SentenceTransformerTrainingArguments(
        output_dir=str(out), per_device_train_batch_size=batch, max_steps=1000, bf16=bf16, report_to="none",
        save_strategy="no", disable_tqdm=True, use_cpu=not torch.cuda.is_available(),
    )  # fmt: skip
    loss = losses.CachedMultipleNegativesRankingLoss(network, mini_batch_size=part)
    SentenceTransformerTrainer(network, arguments, train_dataset=pairs, loss=loss, callbacks=[timed]).train()


def engine(arguments: argparse.Namespace) -> int:
    out, steps = arguments.out, arguments.steps or 6
    corpus = corpus_of(arguments.records, out)
    found = [(pair.anchor, pair.positive) for pair in abstract_and_claim(corpus, "train", Counter())]
    pairs = Dataset.from_dict({"anchor": [one for one, _ in found], "positive": [other for _, other in found]})
    texts = [text for pair in found for text in pair]
    texts += [f"{one.title} {one.abstract} {one.claims[0].text}" for one in corpus.members("train")]
    report: dict[str, Any] = {"machine": machine(), "training": [], "encoding": []}
    models = {
        "MiniLM": (arguments.model, 256, 32),
        "0.6B, random": (qwen(arguments.model, out, arguments.small), 64, 8),
    }
    for who, (model, batch, part) in models.items():
        tokens = part * 512
        ours: dict[str, tuple[str, ...]] = {
            "ours, cached gradients": (f"mini_batch={part}",),
            "ours, token batches": (f"mini_batch_tokens={tokens}",),
            "ours, token batches, bf16": (f"mini_batch_tokens={tokens}", "precision=bf16"),
        }
        batch = arguments.batch or batch

        def run(name: str, train: Callable[[Timed], Any], who: str = who, batch: int = batch) -> None:
            gc.collect()
            timed = Timed(steps)
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
                torch.cuda.reset_peak_memory_stats()
            row: dict[str, Any] = {"model": who, "settings": name, "batch": batch}
            try:
                train(timed)
            except StopIteration:
                row |= {"seconds_per_step": timed.median, "texts_per_second": 2 * batch / timed.median}
            except torch.OutOfMemoryError as error:
                row |= {"error": str(error)}
            if torch.cuda.is_available():
                row["peak_gb"] = torch.cuda.max_memory_allocated() / 1e9
            report["training"].append(row)
            print(row, flush=True)
            write_json(out / "engine.json", report)

        def of_recipe(changed: tuple[str, ...], timed: Timed, model: str = model, batch: int = batch) -> None:
            recipe = find_recipe("wipo-r3")
            settings = settings_for(recipe, [f"batch={batch}", "accumulation=1", "epochs=1000", "checks=1", *changed])
            folder = out / "engine" / f"{len(report['training'])}-{time.time_ns()}"
            job = Job(recipe=recipe, settings=settings, base=model, out=folder, drop_leaks=True)
            prepared = jobs.prepare(job, corpus)
            one = replace(prepared.sets[0], validation="", validation_rows=0)
            trainee = jobs._trainee(job, corpus, replace(prepared, sets=(one,)), 42)
            jobs.run_seed(job, 42, trainee, [timed], quiet=True)

        for bf16 in (False, True):
            name = f"sentence-transformers{', bf16' if bf16 else ''}"
            run(name, partial(stock, model, pairs, batch, part, out / "stock", bf16))
        for name, changed in ours.items():
            run(name, partial(of_recipe, changed))
        encoders: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
            "mteb": ({}, {}),
            "ours, token batches": ({}, {"batch_tokens": 65_536}),
            "mteb, bfloat16": ({"precision": "bfloat16"}, {}),
            "ours, token batches, bfloat16": ({"precision": "bfloat16"}, {"batch_tokens": 65_536}),
            "ours, token batches, bfloat16-autocast": ({"precision": "bfloat16-autocast"}, {"batch_tokens": 65_536}),
        }
        exact: Any = None
        for name, (options, more) in encoders.items():
            gc.collect()
            encoder: Any = load(model, **options)
            encoded_by = stored(encoder, out / "stores" / f"{time.time_ns()}") if more else encoder
            chosen = texts[: arguments.texts] if who == "MiniLM" else texts[: arguments.texts : 4]
            _encoded(encoder, texts[:64], {})
            began = time.perf_counter()
            vectors = _encoded(encoded_by, chosen, more)
            seconds = time.perf_counter() - began
            exact = vectors if exact is None else exact
            cosine = (vectors * exact).sum(1) / np.linalg.norm(vectors, axis=1) / np.linalg.norm(exact, axis=1)
            row = {"model": who, "settings": name, "texts": len(chosen), "texts_per_second": len(chosen) / seconds}
            report["encoding"].append(row | {"least_cosine": float(cosine.min())})
            print(report["encoding"][-1], flush=True)
            write_json(out / "engine.json", report)
    return 0


def _encoded(model: Any, texts: list[str], more: Mapping[str, Any]) -> Any:
    import mteb
    from mteb.types import PromptType
    from torch.utils.data import DataLoader

    task = mteb.get_task("PatentCitationRetrieval.sample").metadata
    loader: Any = DataLoader(Dataset.from_dict({"text": texts}), batch_size=32)
    where = {"task_metadata": task, "hf_split": "test", "hf_subset": "default", "prompt_type": PromptType.document}
    vectors = np.asarray(model.encode(loader, show_progress_bar=False, **where, **more), np.float32)
    _wait()
    return vectors


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("job", choices=("recipes", "engine"))
    parser.add_argument("--model", required=True, help="directory of all-MiniLM-L6-v2")
    parser.add_argument("--records", type=Path, required=True, help="Pap2Pat's patents.jsonl.gz")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS))
    parser.add_argument("--steps", type=int, help="recipes: at most; engine: timed steps (6)")
    parser.add_argument("--only", nargs="+", choices=RECIPES)
    parser.add_argument("--limit", type=float, default=480, help="seconds; recipes only")
    parser.add_argument("--set", action="append", default=[], help="settings for all recipes, NAME=VALUE")
    parser.add_argument("--batch", type=int, help="engine: pairs in a step")
    parser.add_argument("--texts", type=int, help="engine: encode at most so many")
    parser.add_argument("--small", action="store_true", help="engine: a tiny encoder instead of 0.6B, for a trial")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    return recipes(arguments) if arguments.job == "recipes" else engine(arguments)


if __name__ == "__main__":
    sys.exit(main())
