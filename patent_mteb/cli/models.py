"""The options of commands that load a model: its name, what changes it, where it runs, the store of its embeddings."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patent_mteb.cli.common import positive
from patent_mteb.errors import ModelError

if TYPE_CHECKING:
    from mteb.models import EncoderProtocol


PRECISIONS = ("float32", "bfloat16", "float16", "bfloat16-autocast", "int8", "uint8", "binary")
"""Those of :mod:`patent_mteb.models.loading`, which is not imported for ``--help``."""

_LOADED = ("precision", "max_tokens", "layers", "input", "server", "backend", "attention")
"""Options that go to :func:`patent_mteb.models.loading.load` under their own names."""


def add_model(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    """``-m``, ``--model-revision`` and ``--precision``."""
    parser.add_argument(
        "-m", "--model", required=required, help="hub id, a name that mteb knows, or a checkpoint directory"
    )
    parser.add_argument("--model-revision", metavar="REVISION", help="commit, tag or branch of a model on the hub")
    parser.add_argument(
        "--precision",
        choices=PRECISIONS,
        default="float32",
        help=(
            "bfloat16, float16: of an encoder's weights; bfloat16-autocast: of its products, the weights stay as they"
            " are; int8, uint8, binary: of its vectors; late interaction: int8, of its token vectors; another than"
            " float32 is filed apart"
        ),
    )


def add_backend(parser: argparse.ArgumentParser) -> None:
    """``--backend`` and ``--attention``."""
    parser.add_argument(
        "--backend", choices=("torch", "onnx", "openvino"), help="what runs the encoder; filed apart unless it is torch"
    )
    parser.add_argument(
        "--attention", choices=("eager", "sdpa", "flash_attention_2"), help="how torch computes attention; filed apart"
    )


def add_server(parser: argparse.ArgumentParser) -> None:
    """``--server``."""
    parser.add_argument(
        "--server",
        metavar="URL",
        help=(
            "a server in the OpenAI protocol that embeds (http://host:8000/v1); -m is the model's name there,"
            " --model-revision what you know of it; a key is read from OPENAI_API_KEY"
        ),
    )


def add_device(parser: argparse.ArgumentParser) -> None:
    """``--device``; a bare number is that of a CUDA device, as for mteb."""
    parser.add_argument(
        "--device",
        type=lambda name: f"cuda:{name}" if name.isdigit() else name,
        help="torch device such as cpu, cuda:0 or 0; without it a GPU if there is one",
    )


def add_batch_size(parser: argparse.ArgumentParser) -> None:
    """``--batch-size``."""
    parser.add_argument(
        "--batch-size", type=int, metavar="N", help="texts that the model encodes at a time; without it the model's own"
    )


def add_batch_tokens(parser: argparse.ArgumentParser) -> None:
    """``--batch-tokens``, for commands with a store."""
    parser.add_argument(
        "--batch-tokens",
        type=positive,
        metavar="N",
        help=(
            "sort texts by tokens and encode as many at a time as N tokens hold, with hardly any padding;"
            " sentence-transformers models"
        ),
    )


def add_store(parser: argparse.ArgumentParser, *, optional: bool = True) -> None:
    """``--store`` and, where a command can do without one, ``--no-store``."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--store",
        type=Path,
        metavar="DIR",
        help="embedding store; without it PATENT_MTEB_STORE or one in the user cache",
    )
    if optional:
        group.add_argument("--no-store", action="store_true", help="encode every text anew and keep no embedding")


def store_folder(args: argparse.Namespace) -> Path | None:
    """Folder of the embedding store; None with ``--no-store``."""
    from patent_mteb.store import default_path

    return None if args.no_store else args.store or default_path()


def encode_kwargs(args: argparse.Namespace) -> dict[str, Any]:
    """mteb's ``encode_kwargs``; no bars where only warnings are wanted. In a file the bar of the store is a line now
    and then.
    """
    size = {} if args.batch_size is None else {"batch_size": args.batch_size}
    if (budget := getattr(args, "batch_tokens", None)) is not None:
        if getattr(args, "no_store", False):
            raise ModelError("--batch-tokens is of encoding into a store. Remedy: leave out --no-store")
        size["batch_tokens"] = budget
    return size if args.verbosity >= 2 and not args.no_progress else {**size, "show_progress_bar": False}


def loading_of(args: argparse.Namespace) -> dict[str, Any]:
    """What the options of a command say to :func:`patent_mteb.models.loading.load`; a command need not have all of
    them.
    """
    told = {name: getattr(args, name, None) for name in _LOADED}
    return {
        "revision": args.model_revision,
        "device": args.device,
        "prompts": not getattr(args, "no_prompts", False),
        **told,
    }


def load_model(args: argparse.Namespace, **instead: Any) -> Any:
    """The model of ``-m``."""
    from patent_mteb.models.loading import load

    return load(args.model, **{**loading_of(args), **instead})


def load_encoder(args: argparse.Namespace) -> EncoderProtocol:
    """The model of ``-m``, in front of the embedding store."""
    from mteb.models import EncoderProtocol

    from patent_mteb.store import stored

    model = load_model(args)
    if not isinstance(model, EncoderProtocol):
        raise ModelError(f"{model.mteb_model_meta.name} does not embed texts. Remedy: name an encoder with -m")
    folder = store_folder(args)
    encoder: EncoderProtocol = model if folder is None else stored(model, folder)
    return encoder
