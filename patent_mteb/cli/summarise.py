"""``patent-mteb summarise``: the machine summaries that Sophia's five AI queries are made of."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patent_mteb.cli import common, language_models
from patent_mteb.errors import DataError
from patent_mteb.files import read_jsonl

if TYPE_CHECKING:
    from patent_mteb.patents.records import Patent

HELP = (
    "write machine summaries of patents (Sophia's AI queries) with a language model, or extracts that are named as such"
)
EXAMPLES: tuple[str, ...] = (
    (
        "patent-mteb summarise records --endpoint http://localhost:8000/v1 --model NAME --queries ROOT --out"
        " summaries.jsonl"
    ),
    "patent-mteb summarise records --extractive --out summaries.jsonl",
    "patent-mteb build sophia records ROOT --set summaries=summaries.jsonl",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("records", type=Path, help="a records directory, or patents.parquet or patents.jsonl")
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument(
        "--endpoint", metavar="URL", help="address of a server up to its version, such as http://localhost:8000/v1"
    )
    how.add_argument(
        "--extractive",
        action="store_true",
        help="no language model: sentences of the patents, named as extracts everywhere",
    )
    parser.add_argument("--model", metavar="NAME", help="the model's name at the server")
    parser.add_argument(
        "--queries", type=Path, metavar="ROOT", help="only the queries of the Sophia data that were built there"
    )
    parser.add_argument(
        "--kinds", nargs="+", metavar="KIND", help="abstract, features, claims, advantages, objectives; without it all"
    )
    parser.add_argument(
        "--characters", type=common.positive, default=60_000, metavar="N", help="of a patent that the model reads"
    )
    language_models.add_asking(parser)
    common.add_out(parser, "file of the summaries, JSON lines", metavar="FILE", default=Path("summaries.jsonl"))


def main(args: argparse.Namespace) -> int:
    from patent_mteb.endpoints.chat import CUT
    from patent_mteb.experiments.summarising import ModelSummaries, summarise_patents
    from patent_mteb.patents.collection import read_collection
    from patent_mteb.patents.summaries import write_summaries

    kinds = _kinds(args.kinds)
    writer = _writer(args)
    patents = _chosen(read_collection(args.records).patents, args.queries)
    found = summarise_patents(patents, writer, kinds, progress=common.bars(args))
    write_summaries(args.out, found.rows)
    said = [f"{len(found.rows)} {'extracts' if args.extractive else 'summaries'} in {args.out.resolve()}"]
    if found.existing:
        said.append(f"{found.existing} texts stood in the records already")
    if found.missing:
        said.append("could not be made: " + ", ".join(f"{kind} of {n}" for kind, n in found.missing.items()))
    if found.faults:
        said.append("answers that are not used: " + ", ".join(f"{n} {fault}" for fault, n in found.faults.items()))
    if CUT in found.faults:
        said.append("give the model more room to answer, such as --request '{\"max_tokens\": 2048}'")
    if isinstance(writer, ModelSummaries):
        used = writer.used
        said.append(
            f"{used.calls} answers, {used.input_tokens} tokens read, {used.output_tokens} written,"
            f" {writer.chat.meter.spent.calls} new"
        )
    for line in said:
        common.say(line)
    common.say(f"use them with: patent-mteb build sophia … --set summaries={args.out}")
    return 0 if (found.rows or found.existing) and not found.faults else 1


def _kinds(given: list[str] | None) -> tuple[str, ...]:
    from patent_mteb.patents.summaries import KINDS

    if unknown := [kind for kind in given or () if kind not in KINDS]:
        raise DataError(f"'{unknown[0]}' is no kind of summary", remedy=f"choose among {', '.join(KINDS)}")
    return tuple(given or KINDS)


def _writer(args: argparse.Namespace) -> Any:
    from patent_mteb.experiments.summarising import Extracts, ModelSummaries

    if args.extractive:
        return Extracts()
    if not args.model:
        raise DataError("no model is named", remedy="name one that the server has with --model")
    return ModelSummaries(language_models.chat_of(args, args.endpoint, args.model), characters=args.characters)


def _chosen(patents: Sequence[Patent], root: Path | None) -> Sequence[Patent]:
    """All patents, or those that are queries of the data that were built in a directory."""
    from patent_mteb.patents.on_disk import only, publications

    if root is None:
        return patents
    wanted = {row["_id"] for _, row in read_jsonl(root / "Sophia" / "queries.jsonl", ["_id"])}
    if lacking := wanted - {patent.publication_number for patent in publications(patents)}:
        raise DataError(
            f"{len(lacking)} queries of {root} are not among the records, such as {min(lacking)}",
            remedy="name their records",
        )
    return only(patents, lambda patent: patent.publication_number in wanted)
