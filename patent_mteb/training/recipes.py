"""The training recipes of the papers as a table of data.

A row has base, signal, loss and settings as the paper states them. ``open`` lists the details that the paper does not
state, with the choice made here. ``--set NAME=VALUE`` changes any field of :class:`Settings`. Sources: WIPO-AT §3.5;
PatentMap §4.1-6.2, appendix A, §C.3 and Table 6; PatenTEB §4.2-4.6, §7.1, §7.2, Tables 3 and 11; QaECTER §2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Annotated, Literal

from patent_mteb.errors import DataError
from patent_mteb.recipes.parameters import Bounds, Count, Positive, Share, read_params

Rate = Annotated[float, Bounds(0)]
Loss = Literal["ranking", "multitask", "mse", "late", "late-distillation", "sparse", "reranker"]


@dataclass(frozen=True)
class Settings:
    lr: Rate = 2e-5  # peak learning rate
    epochs: Rate = 1.0
    batch: Positive = 32  # pairs per forward step, which share in-batch negatives
    accumulation: Positive = 1  # gradient accumulation steps
    mini_batch: Positive = 32  # pairs in memory at a time; fewer than batch: gradients are cached, with equal results
    mini_batch_tokens: Positive | None = None  # tokens in memory at a time, instead of mini_batch: for long texts
    gradient_checkpointing: bool = False  # less memory, about a third more time, equal results
    warmup: Annotated[float, Bounds(0, 0.99)] = 0.1  # share of the steps; transformers reads 1 as one step
    schedule: Literal["linear", "cosine", "constant"] = "linear"  # of the learning rate after warm-up
    optimiser: str = "adamw_torch"  # its name in transformers
    weight_decay: Rate = 0.0
    clip: Rate = 1.0  # maximum norm of the gradient
    temperature: Annotated[float, Bounds(1e-4)] = 0.05  # divisor of similarities
    symmetric: bool = False  # add the loss from positives to anchors
    margin: Rate = 0.5  # of the contrastive loss
    precision: Literal["fp32", "fp16", "bf16"] = "fp32"  # autocast; fp16 needs a GPU
    max_length: Positive | None = None  # maximum tokens of a text; None for the model's own limit
    pooling: Literal["any", "cls", "mean"] = "any"  # that a base must have, or that a bare transformer gets
    head: Literal["none", "tanh", "linear"] = "none"  # projection that is trained on top and removed on saving
    head_width: Positive | None = None  # its output dimensions; None for those of its input
    swap: bool = False  # exchange views at random, so that negatives are of both kinds (PatentMap, positive+negative)
    self_share: Annotated[float, Bounds(0, 0.99)] = 0.0  # share of self-alignment pairs (QaECTER)
    section_tokens: tuple[str, ...] = ()  # tokens of the vocabulary that are never split; new ones are added
    guide: str = ""  # model whose scores exclude false negatives from the loss (GIST)
    hard_negatives: Count = 0  # mined negatives per pair
    negatives_from: Count = 10  # first rank of mined negatives
    negatives_margin: Share | None = None  # a negative scores lower than the positive by this share of its score
    negatives_reranker: str = ""  # cross-encoder that scores the candidates of the margin, which it needs
    negatives_faiss: bool = False  # search them with faiss
    matryoshka: tuple[Positive, ...] = ()  # further dimensions for the loss (MatryoshkaLoss)
    layer_dropping: bool = False  # add the loss of earlier layers (AdaptiveLayerLoss)
    layers: tuple[Count, ...] = ()  # layers of a distilled student
    width: Positive | None = None  # dimensions of its vectors
    pca_sample: Positive = 200_000  # teacher vectors to fit its projection
    pca_batch: Positive = 8_192  # of the incremental PCA
    sampling: Literal["proportional", "round_robin"] = "proportional"  # how several tables take turns
    tasks: Literal["all", "no-classification", "retrieval"] = "all"  # of PatenTEB's training tasks
    task_samples: Positive | None = None  # rows per task (PatenTEB Table 7: 10,000 to 150,000)
    prompts: bool = True  # PatenTEB's prompts in training and in the checkpoint
    signal: str = ""  # source of the pairs instead of the recipe's, such as cross-section for data without citations
    pair_seed: int = 42  # for sampling in the pairs
    checks: Positive = 10  # evaluations and checkpoints in a run
    check_steps: Positive | None = None  # steps between them, instead of checks
    checkpoint: Literal["best", "last"] = "best"  # which is saved
    criterion: Literal["loss", "retrieval"] = "loss"  # of the best: validation loss, or nDCG@10 of validation citations
    patience: Count = 0  # evaluations without a better checkpoint before the run stops; 0 never stops early


@dataclass(frozen=True)
class Recipe:
    name: str
    source: str  # paper and section
    bases: tuple[str, ...]  # hub ids of the models that the paper trains; the first is the default
    signal: str  # source of the pairs (patent_mteb.training.pairs)
    loss: Loss
    settings: Settings  # the paper's hyperparameters
    open: str  # details that the paper does not state, with the choice made here
    pairs: int = 0  # number of the paper's training pairs or texts; 0 if it is not stated


_BERT = ("anferico/bert-for-patents",)
_GTE = ("Alibaba-NLP/gte-modernbert-base",)
_WIPO = Settings(lr=2e-5, epochs=3, accumulation=32, mini_batch=8, warmup=0.1)
_WIPO_BASES = ("BAAI/bge-m3", "google/embeddinggemma-300m", "Qwen/Qwen3-Embedding-0.6B", "datalyes/patembed-base")
_WIPO_OPEN = (
    "batch per step (32 here; accumulation as stated), mini-batch (8, so that the cache saves memory), scale (20, the"
    " library's), optimiser, maximum length (the base's own), full weights or LoRA (full), which split pairs are of"
    " (train only, so that families of the test split are not seen)"
)
_WIPO_TEXTS = (
    "; texts of co-label and citation pairs (TAC); which of all co-labelled pairs (one partner for each publication and"
    " label)"
)

_COSINE = Settings(lr=1e-5, schedule="cosine", warmup=0.1, precision="fp16", max_length=512)
_TAGS = ("[abstract]", "[claim]", "[summary]", "[invention]", "[drawing]", "[description]")
_MAP = replace(_COSINE, batch=512, pooling="cls", head="tanh", section_tokens=_TAGS, checkpoint="last")
_HUPD = 2_780_124  # patents of HUPD in PatentMap's training data
_MAP_OPEN = (
    "width of the projector (its input's), weight decay, shares of the sampled sections (equal, the abstract included,"
    " which gives a dropout pair); views A and B are not turned where negatives are to stay title and abstract, because"
    " a turned pair would put its other view among them; DeepSpeed stage 1 (not used: it saves memory of several GPUs)"
)
MAP_SECTIONS = ("claims", "summary", "background", "drawings", "description")
_MAP_POLICIES = (
    *("dropout", "shuffle", "crop", "shuffle-crop", *MAP_SECTIONS),
    *("-".join(both) for both in combinations(MAP_SECTIONS, 2)),
    *("ipc", "paraphrase"),
)

_EMBED = replace(_COSINE, batch=32, accumulation=4, optimiser="paged_adamw_8bit", pooling="mean", check_steps=200)
_EMBED_OPEN = (
    "whether tasks weigh equally or rows do: §4.3.2 says the first, one epoch over 1,556,751 rows the second, which is"
    " done (sampling=round_robin is the first); the contrastive loss of eq. 2 takes all pairs, the one named takes the"
    " hard ones"
)

_LONG = replace(_EMBED, lr=5e-5, pooling="any", max_length=1024)
_LONG_OPEN = (
    "; pooling (the base's own, CLS: §4.2 says mean for all, the released long models pool by CLS); precision of the"
    " long models (fp16, the default of Table 3)"
)
LAYERS: Mapping[int, tuple[int, ...]] = {number: tuple(range(0, 24, 24 // number)) for number in (12, 8, 6, 4, 2)}
"""Layers of the 24-layer teacher, by the student's number of layers (PatenTEB §4.4)."""

WIDTHS: Mapping[int, int] = {12: 768, 8: 512, 6: 384, 4: 256, 2: 128}
"""Dimensions of a student's vectors, by its number of layers (§4.2, §4.4)."""


VIEW_TOKENS = (
    *("[claim]", "[abstract]", "[independent]", "[object]", "[description]", "[advantage]"),
    *(f"[ai-{name}]" for name in ("abstract", "features", "claims", "advantages", "object")),
    "[tac]",
)
"""Section tokens of the twelve views of :data:`patent_mteb.training.pairs.TWELVE`, in their order."""


def _wipo(suffix: str, signal: str, pairs: int, more: str = "") -> Recipe:
    return Recipe(f"wipo-{suffix}", "WIPO-AT §3.5", _WIPO_BASES, signal, "ranking", _WIPO, _WIPO_OPEN + more, pairs)


def _map(policy: str, swap: bool) -> Recipe:
    signal = policy if policy in ("ipc", "paraphrase") else f"view:{policy}"
    name, settings = f"patentmap-{policy}{'-posneg' if swap else ''}", replace(_MAP, swap=swap)
    return Recipe(name, "PatentMap §4.1-6.2, A, C.3", _BERT, signal, "ranking", settings, _MAP_OPEN, _HUPD)


def _embed(name: str, source: str, bases: tuple[str, ...], settings: Settings, more: str = "") -> Recipe:
    pairs = 1_556_751 if settings.tasks == "all" else 0
    return Recipe(f"patembed-{name}", source, bases, "multitask", "multitask", settings, _EMBED_OPEN + more, pairs)


def _distill(number: int) -> Recipe:
    name, bases = f"patembed-distill-{number}", ("datalyes/patembed-large",)
    settings = replace(_EMBED, lr=1e-4, layers=LAYERS[number], width=WIDTHS[number])
    left = (
        "optimiser and epochs of distillation (those of Table 3); whether texts carry prompts twice (those of the"
        " training rows, once); Table 7 is task_samples"
    )
    return Recipe(name, "PatenTEB §4.4", bases, "multitask-texts", "mse", settings, left, 2_318_732)


def _late(name: str, source: str, loss: Loss, batch: int, left: str) -> Recipe:
    settings = Settings(lr=1e-5, epochs=1, batch=batch, temperature=1.0, hard_negatives=1)
    return Recipe(f"colbert-{name}", source, ("colbert-ir/colbertv2.0",), "citations", loss, settings, left)


_ROWS = (
    _wipo("r1", "co-label", 99_587, _WIPO_TEXTS),
    _wipo("r2", "citations", 42_154, _WIPO_TEXTS),
    _wipo("r3", "cross-section", 89_438),
    _wipo("r4", "union", 231_179, _WIPO_TEXTS),
    _wipo("r3-matched", "matched", 231_179, "; drawn with replacement, seed 42, to the number of pairs of R4"),
    *(_map(policy, swap) for policy in _MAP_POLICIES for swap in (False, True)),
    _embed("multitask", "PatenTEB §4.3, Tables 3 and 11", _BERT, _EMBED),
    *(
        _embed(f"long-{length}", "PatenTEB §4.2, 4.6", _GTE, replace(_LONG, max_length=length), _LONG_OPEN)
        for length in (1024, 2048, 4096)
    ),
    _embed("no-classif", "PatenTEB §7.1", _BERT, replace(_EMBED, tasks="no-classification")),
    _embed("ret-only", "PatenTEB §7.1", _BERT, replace(_EMBED, tasks="retrieval")),
    _embed("no-prompts", "PatenTEB §7.1", _BERT, replace(_EMBED, prompts=False)),
    *map(_distill, LAYERS),
    Recipe(
        "qaecter",
        "QaECTER §2.1-2.2",
        _BERT,
        "citations-and-self",
        "ranking",
        replace(
            _MAP,
            pooling="mean",
            head="linear",
            self_share=0.5,
            section_tokens=VIEW_TOKENS,
            checkpoint="best",
            criterion="retrieval",
            patience=3,
        ),
        "share of self-alignment pairs (half), batch, rate, schedule, temperature, width of the head (those of"
        " PatentMap, of the same base); names of the section tokens (one for each of the twelve views, before the views"
        " of self-alignment pairs; new ones start as [invention]); patience (three evaluations) and measure (nDCG@10 of"
        " citations of the validation split); views of cited patents (TAC)",
    ),
    _late(
        "contrastive",
        "WIPO-AT §3.5",
        "late",
        32,
        "every number; the paper trains with colbert-ai on query, positive and negative; here the multi-vector trainer"
        " of sentence-transformers, in-batch negatives and one mined negative",
    ),
    _late(
        "distill",
        "WIPO-AT §3.5 (form of the data), PyLate",
        "late-distillation",
        16,
        "no paper trains so; scores of a teacher (--teacher MODEL, any encoder) on positive and mined negative,"
        " Kullback-Leibler divergence",
    ),
    Recipe(
        "splade",
        "SPLADE v2, by sentence-transformers",
        ("naver/splade-cocondenser-ensembledistil",),
        "citations",
        "sparse",
        Settings(batch=32, mini_batch=8, temperature=1.0, hard_negatives=1),
        "no paper trains so; every number; weights of the regularisers (5e-5 for queries, 3e-5 for documents, of the"
        " library's examples)",
    ),
    Recipe(
        "reranker",
        "cross-encoder, by sentence-transformers",
        ("Alibaba-NLP/gte-reranker-modernbert-base",),
        "citations",
        "reranker",
        Settings(batch=32, mini_batch=8, temperature=0.1, hard_negatives=1),
        "no paper trains so; every number; negatives by BM25 and in the batch; measured on the 50 candidates of BM25",
    ),
)

RECIPES: Mapping[str, Recipe] = {recipe.name: recipe for recipe in _ROWS}


def find_recipe(name: str) -> Recipe:
    if name not in RECIPES:
        near = [one for one in RECIPES if one.split("-")[0] == name.split("-")[0]] or list(RECIPES)
        raise DataError(f"unknown training recipe '{name}'", remedy=f"choose one of {', '.join(near)}")
    return RECIPES[name]


def settings_for(recipe: Recipe, assignments: Sequence[str] = ()) -> Settings:
    """Return the settings of a recipe with some of them changed, each as ``NAME=VALUE``."""
    settings: Settings = read_params(Settings, assignments, recipe.name, base=recipe.settings)
    return settings
