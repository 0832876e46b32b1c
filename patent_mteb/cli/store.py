"""``patent-mteb store``: the embedding store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from patent_mteb.cli import common
from patent_mteb.cli.app import command
from patent_mteb.cli.options import (
    SESSION,
    Benchmarks,
    Engine,
    Loading,
    Named,
    Session,
    Shard,
    StoreFolder,
    Tasks,
)
from patent_mteb.errors import DataError

if TYPE_CHECKING:
    from patent_mteb.experiments.encoding import Encoded


@command("store info", "patent-mteb store info")
def info(*, store: StoreFolder = None, session: Session = SESSION) -> None:
    """List the models and vectors of the store."""
    from patent_mteb.store import EmbeddingStore

    opened = EmbeddingStore(store, create=False)
    common.say(f"store in {opened.path}")
    rows = []
    for space in opened.info():
        vectors = f"{space.dtype}, one a token" if space.ragged else space.dtype
        rows.append((space.model, space.revision, vectors, space.texts, common.number(space.nbytes / 1e6, 1)))
    common.show(("model", "revision", "vectors", "texts", "MB"), rows, right=("texts", "MB"))
    for path in opened.leftovers():
        common.say(f"note {path}: left by a process that was stopped; prune removes it")


@command("store verify", "patent-mteb store verify")
def verify(*, store: StoreFolder = None, session: Session = SESSION) -> int:
    """Read and check everything in the store."""
    from patent_mteb.store import EmbeddingStore

    report = EmbeddingStore(store, create=False).verify()
    for damage in report.damages:
        common.say(f"{'error' if damage.fatal else 'note'} {damage}")
    common.say(
        f"{report.texts} texts in {report.spaces} spaces ({report.nbytes / 1e6:.1f} MB):"
        f" {'ok' if report.ok else 'damaged'}"
    )
    return 0 if report.ok else 1


@command("store prune", "patent-mteb store prune --older-than 90 --dry-run")
def prune(
    *,
    model: Annotated[str | None, Parameter(alias="-m", metavar="MODEL")] = None,
    older_than: Annotated[float | None, Parameter(metavar="DAYS")] = None,
    damaged: bool = False,
    dry_run: bool = False,
    force: bool = False,
    store: StoreFolder = None,
    session: Session = SESSION,
) -> None:
    """Remove embeddings of a model, old ones, or damaged ones.

    Args:
        model: Remove the embeddings of this model.
        older_than: Remove embeddings that were not used for this number of days.
        damaged: Remove damaged shards, and keep their readable embeddings.
        dry_run: Only print what would be removed.
        force: Also remove embeddings that a running process uses.
    """
    from patent_mteb.store import EmbeddingStore

    opened = EmbeddingStore(store, create=False)
    try:
        pruned = opened.prune(model=model, older_than_days=older_than, damaged=damaged, dry_run=dry_run, force=force)
    except ValueError as error:
        raise DataError(str(error), remedy="say what to remove: --model, --older-than or --damaged") from error
    for line in pruned.removed:
        common.say(line)
    for line in pruned.kept:
        common.say(f"left, a running process uses it (--force removes it all the same): {line}")
    common.say(f"{'would free' if dry_run else 'freed'} {pruned.freed_bytes / 1e6:.1f} MB")


@command("store merge", "patent-mteb store merge other-store --store here")
def merge(
    others: Annotated[tuple[Path, ...], Parameter(metavar="OTHER")] = (),
    /,
    *,
    store: StoreFolder = None,
    session: Session = SESSION,
) -> None:
    """Copy the embeddings of other stores into this one.

    Args:
        others: Stores whose embeddings are copied to this one.
    """
    from patent_mteb.store import EmbeddingStore
    from patent_mteb.store.merging import merge

    if not others:
        raise DataError("no store to merge is named", remedy="name one or more after 'merge'")
    opened = EmbeddingStore(store)
    done = merge(opened, list(others))
    common.say(f"{done.copied} texts copied to {opened.path}, {done.known} were there already ({done.spaces} spaces)")
    if done.uncompared:
        common.say(
            f"note {done.uncompared} spaces share no text with the store: whether the same model filled them was not"
            " checked"
        )
    for note in done.notes:
        common.say(f"note {note}: copied without it")


@dataclass(frozen=True, kw_only=True)
class _Tasks(Named):
    tasks: Tasks = ()
    """Names of tasks; without -t and -b all of DATA."""
    benchmarks: Benchmarks = ()
    """Names of benchmarks."""


@dataclass(frozen=True, kw_only=True)
class EncodeOptions(Loading, _Tasks):
    shard: Shard = None
    """Encode only this share: every N-th batch from the I-th; 'store merge' joins stores."""
    engine: Engine = "local"
    dry_run: bool = False
    """Only count the stored texts and the texts to encode."""


@command(
    "store encode",
    "patent-mteb store encode ROOT -m MODEL",
    "patent-mteb store encode -b DAPFAM -m MODEL --shard 2/8 --store part-2",
)
def encode(data: Path | None = None, /, *, options: EncodeOptions) -> int:
    """Encode the texts of tasks into the store, all of them or a share; a later run reads them there.

    Args:
        data: Directory of 'patent-mteb data build'; without it that of PATENT_MTEB_DATA.
    """
    from patent_mteb.experiments.encoding import Job, encode_on_ray, encode_share
    from patent_mteb.parallel import share
    from patent_mteb.store import default_path

    job = Job(
        options.spec(),
        (options.store or default_path()).resolve(),
        data.resolve() if data else None,
        options.tasks,
        options.benchmarks,
        options.encode_kwargs(),
        options.device,
    )
    if options.engine == "ray":
        if options.shard or options.dry_run:
            raise DataError("the engine 'ray' shares the work out itself", remedy="leave out --shard and --dry-run")
        done = encode_on_ray(job)
    else:
        done = [encode_share(job, share(options.shard) if options.shard else (1, 1), dry=options.dry_run)]
    _show(done)
    return 1 if any(one.skipped for one in done) else 0


def _show(done: Sequence[Encoded]) -> None:
    counts = ("texts", "distinct", "in the store", "in this share", "encoded")
    rows = [(name, _share(one), *astuple(found)) for one in done for name, found in one.counts.items()]
    if len(rows) > 1:
        rows += [("all", _share(one), *astuple(one.total)) for one in done]
    common.show(("task", "share", *counts), rows, right=counts)
    skipped = {name: reason for one in done for name, reason in one.skipped.items()}
    common.warn_by_reason("skipped: ", skipped.items())


def _share(done: Encoded) -> str:
    return f"{done.share[0]}/{done.share[1]}"
