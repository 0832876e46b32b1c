"""``patent-mteb encode``: the texts of tasks into the embedding store, before any task is run."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING

from patent_mteb.cli import common, models
from patent_mteb.errors import DataError

if TYPE_CHECKING:
    from patent_mteb.experiments.encoding import Encoded, Job

HELP = "encode the texts of tasks into the embedding store, whole or in shares; a later run finds them there"
EXAMPLES: tuple[str, ...] = (
    "patent-mteb encode ROOT -m MODEL",
    "patent-mteb encode -b DAPFAM -m MODEL --shard 2/8 --store part-2",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "data", type=Path, nargs="?", help="directory that patent-mteb build made; without it that of PATENT_MTEB_DATA"
    )
    models.add_model(parser)
    parser.add_argument(
        "-t", "--tasks", nargs="+", default=[], metavar="TASK", help="names of tasks; without -t and -b all of DATA"
    )
    parser.add_argument("-b", "--benchmarks", nargs="+", default=[], metavar="BENCHMARK", help="names of benchmarks")
    common.add_shard(
        parser, "encode only this share: every N-th batch from the I-th on; 'store merge' puts stores together"
    )
    common.add_engine(parser)
    parser.add_argument("--dry-run", action="store_true", help="only count what is there and what would be encoded")
    models.add_server(parser)
    models.add_backend(parser)
    models.add_device(parser)
    models.add_batch_size(parser)
    models.add_batch_tokens(parser)
    models.add_store(parser, optional=False)
    parser.add_argument("--no-prompts", action="store_true", help="load a patent model without its prompts")
    parser.add_argument("--max-tokens", type=int, metavar="N", help="read no more tokens of a text")
    parser.add_argument("--layers", type=int, metavar="N", help="keep the first N transformer layers")
    parser.add_argument("--input", metavar="VARIANT", help="edit the texts, as for run")


def main(args: argparse.Namespace) -> int:
    from patent_mteb.experiments.encoding import encode_on_ray, encode_share
    from patent_mteb.parallel import share

    job = _job(args)
    if args.engine == "ray":
        if args.shard or args.dry_run:
            raise DataError("the engine 'ray' shares the work out itself", remedy="leave out --shard and --dry-run")
        done = encode_on_ray(job)
    else:
        done = [encode_share(job, share(args.shard) if args.shard else (1, 1), dry=args.dry_run)]
    _show(done)
    return 1 if any(one.skipped for one in done) else 0


def _job(args: argparse.Namespace) -> Job:
    from patent_mteb.experiments.encoding import Job
    from patent_mteb.store import default_path

    data = args.data.resolve() if args.data else None
    store = (args.store or default_path()).resolve()
    return Job(
        args.model,
        store,
        data,
        tuple(args.tasks),
        tuple(args.benchmarks),
        models.loading_of(args),
        models.encode_kwargs(args),
    )


def _show(done: Sequence[Encoded]) -> None:
    """Counts by task, of all shares that were made here."""
    counts = ("texts", "distinct", "in the store", "in this share", "encoded")
    rows = [(name, _of(one), *astuple(found)) for one in done for name, found in one.counts.items()]
    if len(rows) > 1:
        rows += [("all", _of(one), *astuple(one.total)) for one in done]
    common.show(("task", "share", *counts), rows, right=counts)
    for line in common.by_reason({name: reason for one in done for name, reason in one.skipped.items()}.items()):
        common.warn(f"skipped: {line}")


def _of(done: Encoded) -> str:
    return f"{done.share[0]}/{done.share[1]}"
