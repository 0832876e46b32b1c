"""Options that several commands share; each is declared here once, with its type, its group and its help.

A command takes single options as annotated parameters, and sets of options as one of the dataclasses. Annotations here
are evaluated at once, because cyclopts resolves those of a base class in the module of the derived class.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import ArgumentCollection, Group, Parameter, Token
from cyclopts.validators import Number

from patent_mteb.cli import common
from patent_mteb.endpoints import KEY_VARIABLE
from patent_mteb.errors import DataError, ModelError

if TYPE_CHECKING:
    from mteb.models import EncoderProtocol

    from patent_mteb.endpoints.chat import Chat
    from patent_mteb.models.spec import ModelSpec


def exclusive(arguments: ArgumentCollection) -> None:
    """Refuse two options of a group whose options exclude each other."""
    named = [argument.name for argument in arguments if argument.has_tokens]
    if len(named) > 1:
        raise ValueError(f"{' and '.join(named)} exclude each other")


STORE = Group("Embedding store", validator=exclusive, sort_key=5)
MODEL = Group("Model", sort_key=2)
_SERVER = "A server with the OpenAI protocol. An answer is stored and never requested again."
LANGUAGE_MODEL = Group("Language model", help=_SERVER, sort_key=8)
MESSAGES = Group("Messages", sort_key=9)


_LARGEST = 2**31 - 1  # what the libraries below take as a count


def _whole(_: Any, tokens: Sequence[Token]) -> int:
    try:
        number = int(tokens[0].value)  # cyclopts itself rounds 2.5
    except ValueError:
        raise ValueError(f"'{tokens[0].value}' is not a whole number") from None
    if abs(number) > _LARGEST:
        raise ValueError(f"{number} is above {_LARGEST:,}")
    return number


def _finite(_: Any, value: float | None) -> None:
    if value is not None and not (math.isfinite(value) and value >= 0):
        raise ValueError("It must be a finite number, 0 or above")


def _device(_: Any, tokens: Sequence[Token]) -> str:
    """A bare number is a CUDA device, as in mteb."""
    word = tokens[0].value
    return f"cuda:{word}" if word.isdigit() else word


WHOLE = Parameter(converter=_whole, metavar="N")
POSITIVE = Parameter(converter=_whole, validator=Number(gte=1), metavar="N")
AMOUNT = Parameter(validator=_finite)
SEVERAL = Parameter(consume_multiple=(1, None))  # an option with one or more values: `--tasks A B`

Precision = Literal["float32", "bfloat16", "float16", "bfloat16-autocast", "int8", "uint8", "binary"]
"""Those of :mod:`patent_mteb.models.loading`, which ``--help`` does not import."""
_PRECISION = (
    "bfloat16, float16: of an encoder's weights; bfloat16-autocast: of its products, with unchanged weights; int8,"
    " uint8, binary: of its vectors; late interaction: int8, of its token vectors. Another than float32 is stored under"
    " a separate name."
)
_EMBEDDING_SERVER = (
    "Embedding server with the OpenAI protocol (http://host:8000/v1). -m is the model's name there, --model-revision"
    " its known revision; OPENAI_API_KEY holds the key."
)

Tasks = Annotated[tuple[str, ...], SEVERAL, Parameter(alias="-t", metavar="TASK...")]
Benchmarks = Annotated[tuple[str, ...], SEVERAL, Parameter(alias="-b", metavar="BENCHMARK...")]
Results = Annotated[
    Path, Parameter(name=["--out", "--output-folder"], metavar="DIR", help="Results folder, in mteb's structure.")
]
StoreFolder = Annotated[
    Path | None,
    Parameter(
        group=STORE, metavar="DIR", help="Embedding store; without it PATENT_MTEB_STORE or one in the user cache."
    ),
]
AllowMissing = Annotated[bool, Parameter(help="Queries that a run lacks retrieve nothing.")]
Shard = Annotated[str | None, Parameter(metavar="I/N")]
Settings = Annotated[
    tuple[str, ...], Parameter(name="--set", metavar="NAME=VALUE", help="Change a setting of the recipe; repeatable.")
]
Device = Annotated[
    str | None,
    Parameter(
        converter=_device,
        metavar="DEVICE",
        help="Torch device such as cpu, cuda:0 or 0; without it a GPU if there is one.",
    ),
]
Engine = Annotated[
    Literal["local", "ray"], Parameter(help="local: this machine; ray: the Ray cluster in reach, or a local one.")
]
Memory = Annotated[
    float | None,
    AMOUNT,
    Parameter(
        metavar="GB",
        help="Refuse work that needs more memory than this, by measurement, and keep blocks small enough for it.",
    ),
]
Order = Literal["score", "rank", "-score"]
SetOrder = Literal["score", "rank", "-score", "none"]
ORDER = Parameter(
    allow_leading_hyphen=True,
    help=(
        "Order of a run: score, the greatest first; -score, the smallest first (distances); rank. Without it the"
        " scores, unless the ranks contradict them."
    ),
)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Session:
    """What a command prints about its work. Every command has these options."""

    verbosity: Annotated[Literal[0, 1, 2, 3], Parameter(alias="-v", group=MESSAGES)] = 2
    """0: errors, 1: and warnings, 2: and progress, 3: everything."""
    quiet: Annotated[bool, Parameter(alias="-q", group=MESSAGES)] = False
    """The same as -v 0."""
    no_progress: Annotated[bool, Parameter(group=MESSAGES)] = False
    """No progress bars; without it there are bars on a terminal only."""
    json: Annotated[bool, Parameter(group=MESSAGES)] = False
    """Print one JSON document instead of text (docs/commands.md)."""
    debug: Annotated[bool, Parameter(group=MESSAGES)] = False
    """Print the traceback of an unexpected error."""

    @property
    def level(self) -> int:
        return 0 if self.quiet else self.verbosity

    @property
    def bars(self) -> bool:
        return self.level >= 2 and not self.no_progress and common.messages.is_terminal


SESSION = Session()


@dataclass(frozen=True, kw_only=True)
class WithData(Session):
    """A command that reads the tables of benchmarks."""

    data: Annotated[Path | None, Parameter(name="--data", metavar="DIR")] = None
    """Directory of 'patent-mteb data build' whose tables are read; without it that of PATENT_MTEB_DATA."""


WITH_DATA = WithData()


@dataclass(frozen=True, kw_only=True)
class Named(WithData):
    model: Annotated[str, Parameter(alias="-m", metavar="MODEL")]
    """Hub id, a name that mteb knows, or a checkpoint directory."""
    model_revision: Annotated[str | None, Parameter(group=MODEL, metavar="REVISION")] = None
    """Commit, tag or branch of a model on the hub."""
    precision: Annotated[Precision, Parameter(group=MODEL, help=_PRECISION)] = "float32"


@dataclass(frozen=True, kw_only=True)
class Encoding(WithData):
    """Where and how texts are encoded."""

    device: Device = None
    batch_size: Annotated[int | None, POSITIVE] = None
    """Texts that the model encodes at a time; without it the model's own."""
    store: StoreFolder = None

    @property
    def store_folder(self) -> Path | None:
        """Folder of the embedding store; None with ``--no-store``."""
        from patent_mteb.store import default_path

        return self.store or default_path()

    def encode_kwargs(self) -> dict[str, Any]:
        """mteb's ``encode_kwargs``. Below verbosity 2 there are no bars; in a file the store's bar is a line."""
        size = {} if self.batch_size is None else {"batch_size": self.batch_size}
        return size if self.level >= 2 and not self.no_progress else {**size, "show_progress_bar": False}


@dataclass(frozen=True, kw_only=True)
class WithStore(Encoding):
    """Encoding that can do without the embedding store."""

    no_store: Annotated[bool, Parameter(group=STORE)] = False
    """Encode every text again and store no embedding."""

    @property
    def store_folder(self) -> Path | None:
        return None if self.no_store else super().store_folder


@dataclass(frozen=True, kw_only=True)
class Model(Encoding, Named):
    """The model of ``-m``, and how it encodes."""

    def settings(self) -> dict[str, Any]:
        return {"precision": self.precision}

    def spec(self) -> "ModelSpec":
        from patent_mteb.models.spec import ModelSpec

        return ModelSpec(self.model, self.model_revision, **self.settings())

    def load(self, **instead: Any) -> Any:
        from patent_mteb.models.loading import load

        return load(self.spec(), device=self.device, **instead)

    def load_encoder(self) -> "EncoderProtocol":
        """Load the model of ``-m`` with the embedding store in front of it."""
        from mteb.models import EncoderProtocol

        from patent_mteb.models.composition import in_store

        model = self.load()
        if not isinstance(model, EncoderProtocol):
            raise ModelError(f"{model.mteb_model_meta.name} does not embed texts", remedy="name an encoder with -m")
        encoder: EncoderProtocol = in_store(model, self.store_folder)
        return encoder


@dataclass(frozen=True, kw_only=True)
class StoredModel(WithStore, Model):
    """A model and its embedding store."""


@dataclass(frozen=True, kw_only=True)
class Loading(Model):
    """Everything that changes the model of ``-m``, or the texts that it reads."""

    server: Annotated[str | None, Parameter(group=MODEL, metavar="URL", help=_EMBEDDING_SERVER)] = None
    backend: Annotated[Literal["torch", "onnx", "openvino", "auto"] | None, Parameter(group=MODEL)] = None
    """Runtime of the encoder; stored under a separate name unless it is torch; auto takes the fastest on 64 texts."""
    attention: Annotated[Literal["eager", "sdpa", "flash_attention_2"] | None, Parameter(group=MODEL)] = None
    """How torch computes attention; stored under a separate name."""
    batch_tokens: Annotated[int | None, POSITIVE, Parameter(group=MODEL)] = None
    """Sort texts by tokens and encode batches of N tokens, with hardly any padding; sentence-transformers models."""
    no_prompts: Annotated[bool, Parameter(group=MODEL)] = False
    """Leave out the prompts of the model."""
    max_tokens: Annotated[int | None, WHOLE, Parameter(group=MODEL)] = None
    """Read at most N tokens of a text (papers: 512 for Sophia, 8192 for PatenTEB)."""
    layers: Annotated[int | None, WHOLE, Parameter(group=MODEL)] = None
    """Keep the first N transformer layers (PatenTEB Table 9)."""
    input: Annotated[str | None, Parameter(group=MODEL, metavar="VARIANT")] = None
    """Edit the texts: noSEP, trim[1], trim[-1], noSEP+trim[1,-1] (PatenTEB Table 10)."""

    def settings(self) -> dict[str, Any]:
        own = ("server", "backend", "attention", "max_tokens", "layers", "input")
        return {**super().settings(), "prompts": not self.no_prompts, **{name: getattr(self, name) for name in own}}

    def encode_kwargs(self) -> dict[str, Any]:
        if self.batch_tokens is None:
            return super().encode_kwargs()
        if self.store_folder is None:
            raise ModelError("--batch-tokens works with the embedding store only", remedy="leave out --no-store")
        return {**super().encode_kwargs(), "batch_tokens": self.batch_tokens}


@dataclass(frozen=True, kw_only=True)
class LanguageModel(Session):
    """Requests to a language model: budget, prices, stored answers. The address belongs to the command."""

    key_variable: Annotated[str, Parameter(group=LANGUAGE_MODEL, metavar="NAME")] = KEY_VARIABLE
    """Environment variable that holds the key."""
    answers: Annotated[Path | None, Parameter(group=LANGUAGE_MODEL, metavar="FILE")] = None
    """Stored answers; without it answers.sqlite in the user cache."""
    at_once: Annotated[int, POSITIVE, Parameter(group=LANGUAGE_MODEL)] = 8
    """Requests at the same time."""
    timeout: Annotated[float, AMOUNT, Parameter(group=LANGUAGE_MODEL, metavar="S")] = 120.0
    """Seconds that an answer may take."""
    request: Annotated[str | None, Parameter(group=LANGUAGE_MODEL, metavar="JSON")] = None
    """More fields of each request, such as '{"max_tokens": 16}'; the temperature is 0."""
    budget_calls: Annotated[int | None, POSITIVE, Parameter(group=LANGUAGE_MODEL)] = None
    """Stop before more than N calls."""
    budget_tokens: Annotated[int | None, POSITIVE, Parameter(group=LANGUAGE_MODEL)] = None
    """Stop when N tokens are read and written."""
    budget_cost: Annotated[float | None, AMOUNT, Parameter(group=LANGUAGE_MODEL, metavar="C")] = None
    """Stop when the cost reaches C, at these prices:"""
    price_input: Annotated[float, AMOUNT, Parameter(group=LANGUAGE_MODEL, metavar="P")] = 0.0
    """Price of a million input tokens."""
    price_output: Annotated[float, AMOUNT, Parameter(group=LANGUAGE_MODEL, metavar="P")] = 0.0
    """Price of a million output tokens."""

    def chat(self, url: str, model: str) -> "Chat":
        """The model behind an address, with these settings."""
        from patent_mteb.endpoints.chat import Answers, Budget, Chat, Meter, Prices
        from patent_mteb.endpoints.client import Endpoint
        from patent_mteb.files import ANSWERS, cache_root

        budget = Budget(self.budget_calls, self.budget_tokens, self.budget_cost)
        meter = Meter(budget, Prices(self.price_input, self.price_output))
        endpoint = Endpoint(url, key_variable=self.key_variable, timeout=self.timeout)
        answers = Answers(self.answers or cache_root() / ANSWERS)
        return Chat(endpoint, model, answers, meter, settings=_fields(self.request), at_once=self.at_once)


def _fields(text: str | None) -> dict[str, Any]:
    remedy = "write it like '{\"max_tokens\": 16}'"
    try:
        found = json.loads(text or "{}")
    except ValueError as error:
        raise DataError(f"--request is not JSON ({error})", remedy=remedy) from error
    if not isinstance(found, dict):
        raise DataError("--request is not a JSON object", remedy=remedy)
    return found
