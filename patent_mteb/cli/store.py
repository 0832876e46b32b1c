"""``patent-mteb store``: the embedding store from outside."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from patent_mteb.cli import common, models
from patent_mteb.errors import DataError

if TYPE_CHECKING:
    from patent_mteb.store import EmbeddingStore

HELP = "look at the embedding store, check it, free space, or merge others into it"
EXAMPLES: tuple[str, ...] = (
    "patent-mteb store info",
    "patent-mteb store merge other-store --store here",
    "patent-mteb store prune --older-than 90 --dry-run",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        choices=("info", "verify", "prune", "merge"),
        help="list what it holds, read and check everything, remove, or merge",
    )
    parser.add_argument(
        "others", nargs="*", type=Path, metavar="OTHER", help="merge: stores whose embeddings are copied to this one"
    )
    models.add_store(parser, optional=False)
    parser.add_argument("-m", "--model", help="prune: remove the embeddings of this model")
    parser.add_argument(
        "--older-than", type=float, metavar="DAYS", help="prune: remove what nobody has used for so many days"
    )
    parser.add_argument(
        "--damaged", action="store_true", help="prune: remove damaged shards, keeping what is whole in them"
    )
    parser.add_argument("--dry-run", action="store_true", help="prune: only say what would be removed")
    parser.add_argument("--force", action="store_true", help="prune: remove what a running process uses too")


def main(args: argparse.Namespace) -> int:
    from patent_mteb.store import EmbeddingStore

    if args.action == "merge":
        return _merge(EmbeddingStore(args.store), args.others)
    if args.others:
        raise DataError(f"'{args.others[0]}' is read by merge only", remedy="name the store itself with --store")
    store = EmbeddingStore(args.store, create=False)
    if args.action == "info":
        return _info(store)
    return _verify(store) if args.action == "verify" else _prune(store, args)


def _info(store: EmbeddingStore) -> int:
    common.say(f"store in {store.path}")
    rows = []
    for space in store.info():
        vectors = f"{space.dtype}, one a token" if space.ragged else space.dtype
        rows.append((space.model, space.revision, vectors, space.texts, common.number(space.nbytes / 1e6, 1)))
    common.show(("model", "revision", "vectors", "texts", "MB"), rows, right=("texts", "MB"))
    for path in store.leftovers():
        common.say(f"note {path}: left by a process that was stopped; prune removes it")
    return 0


def _merge(store: EmbeddingStore, others: Sequence[Path]) -> int:
    from patent_mteb.store.merging import merge

    if not others:
        raise DataError("no store to merge is named", remedy="name one or more behind 'merge'")
    done = merge(store, others)
    common.say(f"{done.copied} texts copied to {store.path}, {done.known} were there already ({done.spaces} spaces)")
    if done.uncompared:
        common.say(
            f"note {done.uncompared} spaces share no text with the store: whether the same model filled them was not"
            " checked"
        )
    for note in done.notes:
        common.say(f"note {note}: copied without it")
    return 0


def _verify(store: EmbeddingStore) -> int:
    report = store.verify()
    for damage in report.damages:
        common.say(f"{'error' if damage.fatal else 'note'} {damage}")
    common.say(
        f"{report.texts} texts in {report.spaces} spaces ({report.nbytes / 1e6:.1f} MB):"
        f" {'ok' if report.ok else 'damaged'}"
    )
    return 0 if report.ok else 1


def _prune(store: EmbeddingStore, args: argparse.Namespace) -> int:
    try:
        pruned = store.prune(
            model=args.model, older_than_days=args.older_than, damaged=args.damaged, dry_run=args.dry_run
        )
    except ValueError as error:
        raise DataError(str(error), remedy="say what to remove: --model, --older-than or --damaged") from error
    for line in pruned.removed:
        common.say(line)
    for line in pruned.kept:
        common.say(f"left, a running process uses it (--force removes it all the same): {line}")
    common.say(f"{'would free' if args.dry_run else 'freed'} {pruned.freed_bytes / 1e6:.1f} MB")
    return 0
