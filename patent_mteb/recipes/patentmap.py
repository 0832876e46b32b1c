"""Recipe of PatentMap's evaluation data (§6.1, appendix C): the folders of ``ZoeYou/downstream``.

* ``perf200/`` and ``perf20/``: ``content/queries.json`` and ``content/documents.json`` (JSON lines ``{"dnum",
  "Content": {"title", "pa01", "c-en-0001", ..., "p0001", ...}}``: abstract, claims, paragraphs of the description) and
  ``mapping/gold.json`` (``{citing: [{"cited_id", "type"}]}``, types X, Y and A), for 200 and 20 queries.
* ``IPC-Classification/``: ``train_512.csv`` and ``test_512.csv``. ``text`` is ``title [SEP] abstract``, which may have
  section tags. ``ipcr_labels`` is a printed list of IPC codes, ``['A01B1/02' 'H04L12/28']``, separated by blanks or
  commas; a label is the first four characters of a code. The benchmark uses the rows whose ``section`` is ``abstract``.

Interpretations, where the paper gives no rule:

* A candidate query has abstract and claims, and cites a document of the input as X, Y or A.
* In the first half of the draws ("early rounds"), the next query is of the IPC section with the fewest queries, in the
  second half of any. Each draw takes the candidate with most second-level citations that no query has yet, then the
  smaller number.
* "More like this" is the cosine of tf-idf vectors of title, abstract and claims.
* The family of a query is not in the pool unless a query cites it.
* The classification split is drawn by family.

``require`` waives requirements on queries, and that of an abstract also on patents to classify; a patent without a date
passes the filters by year. Without ``category``, citations without a category count too, with the type ``cited`` and
the gain of an A. If there are no queries or too few patents to classify, the other tables are written, and a step of
the log gives the reason.

A text is ``title [SEP] abstract``, the claims, or the description. The authors' models read section tags (``title [SEP]
[abstract] ...``, ``[claim] ...``, ``[invention] ...``).

Sections are prepared as in the authors' evaluation. Backslash escapes of claims and description are resolved, and the
mark-up remnant `` -->`` is removed. A section is split at single blanks, not at line breaks, and cut to 500 pieces. The
authors embed the result (:meth:`Content.paper_section`); the suite reads its first 500 words, separated by blanks. A
title is not cut.
"""

from __future__ import annotations

import csv
import io
import json
import logging
import random
import re
import warnings
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from patent_mteb.errors import DataError, refuse_repeat
from patent_mteb.files import json_lines, load_json, text_lines, write_jsonl, write_text
from patent_mteb.patents import categories, ipc, views
from patent_mteb.patents.categories import UNGRADED, is_category, strongest
from patent_mteb.patents.corpus import Composed
from patent_mteb.patents.keyed import Keyed, Rows
from patent_mteb.patents.on_disk import DiskList, publications
from patent_mteb.patents.records import Citation, Patent
from patent_mteb.patents.scripts import first_words
from patent_mteb.patents.tables import column_of, frame_of, links_of, with_families_of_ends
from patent_mteb.patents.text import clean_patent
from patent_mteb.patents.views import SEPARATOR, join_sections
from patent_mteb.recipes.parameters import Count, Positive, Share
from patent_mteb.recipes.sampling import ipc_section
from patent_mteb.recipes.steps import (
    CATEGORIES,
    FIELDS,
    MATCH_THEM,
    BuildLog,
    Filter,
    Funnel,
    Need,
    filters_of,
    note_ungraded,
    within,
)
from patent_mteb.recipes.tfidf import tfidf_vectorizer, tfidf_words

logger = logging.getLogger(__name__)
FILES = {"train": "train_512.csv", "test": "test_512.csv"}  # file of each split

COLUMNS = ("text", "ipcr_labels", "section")
SECTION = "abstract"
_LIST = re.compile(r"\[\s*('[^']*'(\s*,\s*|\s+|\s*(?=\])))*\]")
_CODE = re.compile(r"'([^']+)'")
_TAG = re.compile(r"\[(?:abstract|claim|summary|invention|drawing|description)\] ")
_LONGEST = 1 << 24  # characters of a cell; the csv module's own limit, 131,072, is less than a description
_TEXTS_AT_ONCE = 10_000  # whose TF-IDF rows are multiplied together


@dataclass(frozen=True)
class Labelled:
    """A patent to classify: text without section tags, and subclasses in order."""

    text: str
    labels: tuple[str, ...]


def with_tag(text: str) -> str:
    """Add the tag before the abstract of ``title [SEP] abstract``."""
    title, separator, abstract = text.partition(SEPARATOR)
    return f"{title}{separator}{SECTION_TAGS[SECTION]} {abstract}" if separator else text


def csv_rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows with the line in which each begins."""
    csv.field_size_limit(_LONGEST)
    reader = csv.reader((f"{line}\n" for _, line in text_lines(path)), strict=True)
    header: Sequence[str] | None = None
    line = 1
    try:
        for cells in reader:
            if header is None:
                header = cells
                if missing := [name for name in COLUMNS if name not in header]:
                    problem = f"column '{missing[0]}' is missing (columns: {', '.join(header)})"
                    raise DataError(problem, path=path, row=1, remedy="add the column")
            elif cells and len(cells) != len(header):
                problem = f"{len(cells)} cells where the header names {len(header)} columns"
                remedy = "correct the quotes of the row, or download the file again"
                raise DataError(problem, path=path, row=line, remedy=remedy)
            elif cells:
                yield line, dict(zip(header, cells, strict=True))
            line = reader.line_num + 1
    except csv.Error as error:
        remedy = "correct the quotes, or download the file again"
        raise DataError(f"malformed CSV ({error})", path=path, row=line, remedy=remedy) from error
    if header is None:
        raise DataError("the file is empty", path=path, remedy="download the file again")


def _codes_in(cell: str, path: Path, row: int) -> list[str]:
    """Parse a printed list of codes, which may be empty."""
    if not cell.strip():
        return []
    if not _LIST.fullmatch(cell.strip()):
        problem = f"ipcr_labels {cell[:60]!r} is not a list of quoted codes such as ['A01B1/02' 'H04L12/28']"
        raise DataError(problem, path=path, row=row, remedy="write the list, or download the file again")
    return _CODE.findall(cell)


def read_labelled(path: Path) -> list[Labelled]:
    """Read the patents of a split.

    Rows of other sections, rows without a text or a subclass, and invalid codes are dropped and counted.
    """
    patents: list[Labelled] = []
    other = invalid = empty = 0
    for row, cells in csv_rows(path):
        if cells["section"].strip() != SECTION:
            other += 1
            continue
        labels = [code.strip()[:4] for code in _codes_in(cells["ipcr_labels"], path, row)]
        codes, unusable = ipc.codes_at(labels, "subclass")
        invalid += len(unusable)
        text = _TAG.sub("", cells["text"]).strip()
        if codes and text:
            patents.append(Labelled(text, codes))
        else:
            empty += 1
    for number, what in (
        (other, f"rows are of another section than '{SECTION}' and are dropped"),
        (invalid, "IPC codes cannot be read or stop above the subclass"),
        (empty, "patents have no text or no subclass and are dropped"),
    ):
        if number:
            logger.warning("%s: %d %s", path, number, what)
    return patents


def write_labelled(path: Path, rows: Iterable[tuple[str, Sequence[str]]]) -> None:
    """Write texts and their IPC codes in the published format."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(COLUMNS)
    for text, codes in rows:
        quoted = (f"'{code.replace(chr(39), '')}'" for code in codes)
        table.writerow((text, f"[{' '.join(quoted)}]", SECTION))
    write_text(path, out.getvalue())


def more_like_this(texts: Mapping[str, str], queries: Iterable[str], depth: int) -> dict[str, list[str]]:
    """Rank publications by tf-idf cosine to each query (negatives of Table 4); return the first ones.

    The words of all texts are in memory, but the vectors of one block of texts at a time.
    """
    words_of = tfidf_words()
    frequency: Counter[str] = Counter()  # in the order of the texts, in which scikit-learn adds up a cosine
    for text in texts.values():
        frequency.update(dict.fromkeys(words_of(text), 1))
    vectorizer = tfidf_vectorizer(frequency, len(texts), sublinear_tf=True)
    best = {query: (np.empty(0), np.empty(0, np.int64)) for query in queries}
    vectors_of_queries = vectorizer.transform(texts[query] for query in best).T
    remaining = iter(texts.values())
    for start in range(0, len(texts), _TEXTS_AT_ONCE):
        cosines = (vectorizer.transform(islice(remaining, _TEXTS_AT_ONCE)) @ vectors_of_queries).toarray()
        rows = np.arange(start, start + len(cosines))
        for query, of_query in zip(best, cosines.T, strict=True):
            distances, found = map(np.append, best[query], (-of_query, rows))
            first = np.argsort(distances, kind="stable")[:depth]  # ties are in order of the rows
            best[query] = distances[first], found[first]
    keys = column_of(texts)
    return {query: keys[rows].to_list() for query, (_, rows) in best.items()}


def sharing_subclasses(
    subclasses: Iterable[tuple[str, ...]], queries: Mapping[str, tuple[str, ...]]
) -> Mapping[str, Rows]:
    """Return the rows that share a subclass with each query, in order (negatives of Table 4)."""
    rows_of = {code: array("i") for codes in queries.values() for code in codes}
    for row, codes in enumerate(subclasses):
        for code in rows_of.keys() & codes:
            rows_of[code].append(row)
    none = np.empty(0, np.int32)
    return Composed(queries, lambda codes: np.unique(np.concatenate([none, *(rows_of[code] for code in codes)])))


DATA_SET = "ZoeYou/downstream"

NEEDS = (
    Need("title", "abstract section; IPC-Classification"),
    Need("abstract", "queries; abstract section; IPC-Classification", drops="queries, patents to classify"),
    Need("claims", "queries; claim section, PatentMapClmToAllRetrieval", drops="queries"),
    Need("description", "invention section of the documents"),
    Need("ipc", "queries, negatives of the same subclass; IPC-Classification", drops="queries, patents to classify"),
    Need("date", "years of the queries and of the patents to classify", drops="queries, patents to classify"),
    Need("citations", "perf200, perf20", drops="queries", fixed=True),
    Need("category", "grades, slices xy and a", drops="citations"),
)
"""Use of each field, and what the recipe drops where it is missing (§6.1, appendix C)."""


Required = Literal["abstract", "claims", "ipc", "date", "category"]


@dataclass(frozen=True)
class Params:
    """Settings of the recipe; the defaults are the paper's.

    Attributes:
        queries: most queries of ``perf200``.
        small: most queries of ``perf20``.
        query_offices: offices of the queries; none: any.
        query_first_year: least filing year of a query; None: any.
        query_last_year: greatest filing year of a query; None: any.
        mlt: negatives of a query by "more like this" (Table 4).
        same_subclass: negatives of a query from its IPC subclasses (Table 4).
        ipc_offices: offices of the patents to classify; none: any.
        ipc_first_year: least filing year of a patent to classify; None: any.
        ipc_last_year: greatest filing year of a patent to classify; None: any.
        ipc_per_year: most patents to classify of a year.
        ipc_test: share of the families to classify in the test split.
        require: fields that a query must have; without category, citations need none. The others are waived.
        seed: seed of every draw.
    """

    queries: Positive = 200
    small: Positive = 20
    query_offices: tuple[str, ...] = ("EP",)
    query_first_year: int | None = 2021
    query_last_year: int | None = 2022
    mlt: Count = 553
    same_subclass: Count = 160
    ipc_offices: tuple[str, ...] = ("US",)
    ipc_first_year: int | None = 2005
    ipc_last_year: int | None = 2009
    ipc_per_year: Positive = 6000
    ipc_test: Share = 0.15
    require: tuple[Required, ...] = get_args(Required)
    seed: int = 42


_ANY_QUERY: dict[str, Any] = {"query_offices": (), "query_first_year": None, "query_last_year": None}
_ANY_PATENT: dict[str, Any] = {"ipc_offices": (), "ipc_first_year": None, "ipc_last_year": None}
SAMPLE = Params(queries=25, small=5, mlt=6, same_subclass=2, ipc_per_year=25, **_ANY_QUERY, **_ANY_PATENT)


_PUBLICATION = {
    "jurisdiction": pl.String,
    "year": pl.Int32,
    "section": pl.String,
    "subclasses": pl.List(pl.String),
    "title": pl.Boolean,
    "abstract": pl.Boolean,
    "claims": pl.Boolean,
}
"""What filters and draws use of a publication: office, year of filing, IPC codes, and whether it has each text."""


def _publication(patent: Patent) -> tuple[Any, ...]:
    texts = (bool(patent.title), FIELDS["abstract"](patent), FIELDS["claims"](patent))
    return patent.jurisdiction, _year(patent), ipc_section(patent.ipc), _subclasses(patent), *texts


@dataclass(frozen=True)
class _Publications:
    """Publications in the order of their numbers: a table, and their cleaned records on disk."""

    table: pl.DataFrame
    cleaned: DiskList[Patent]

    def records(self, numbers: Iterable[str]) -> Iterator[Patent]:
        """Yield the records of some publications in the order of their numbers."""
        rows = self.table.filter(pl.col("number").is_in(list(numbers)))["row"]
        return map(self.cleaned.__getitem__, rows)

    def of_families_of(self, numbers: Sequence[str]) -> set[str]:
        """Return the publications of the families of some."""
        families = self.table.filter(pl.col("number").is_in(numbers)).select("family")
        return set(self.table.join(families, on="family", how="semi")["number"])


def build(patents: Sequence[Patent], citations: Sequence[Citation], root: Path, params: Params = Params()) -> BuildLog:
    """Write ``root/ZoeYou/downstream``."""
    log = BuildLog("PatentMap")
    cleaned = DiskList(map(clean_patent, patents))
    table = publications(patents).hstack(frame_of(map(_publication, cleaned), _PUBLICATION))
    known = _Publications(table.sort("number").with_row_index("place"), cleaned)
    log.step("publications", len(patents), len(table))
    failed = []
    for what, write in _TABLES.items():
        try:
            write(known, citations, root, params, log)
        except DataError as error:
            failed.append(error)
            log.step(what, len(table), 0, f"no tables: {error.problem}; {error.remedy}")
    if len(failed) == len(_TABLES):
        problems = "; and ".join(error.problem for error in failed)
        raise DataError(problems, remedy="; ".join(dict.fromkeys(error.remedy for error in failed)))
    log.record_files(root, DATA_SET)
    return log


def _retrieval(known: _Publications, citations: Sequence[Citation], root: Path, params: Params, log: BuildLog) -> None:
    """Write ``perf200`` and ``perf20``."""
    table = known.table
    links = _links(citations, table, "category" in params.require, log)
    chosen = _queries(table, links, params, log)
    log.step("queries by new second-level citations and IPC section", len(table), len(chosen))
    direct = links.filter(pl.col("citing").is_in(chosen))
    near = links.filter(pl.col("citing").is_in([*chosen, *direct["cited"]]))
    cited: dict[str, dict[str, str]] = {}
    for citing, number, kind in near.select("citing", "cited", "type").iter_rows():
        cited.setdefault(citing, {})[number] = kind
    depth = params.mlt + len(known.of_families_of(chosen)) + max((len(cited[query]) for query in chosen), default=0)
    texts = Composed(
        Keyed(table["number"], table["row"].to_list()),
        lambda row: views.VIEWS["TAC"](known.cleaned[row]) or "empty",
    )
    similar = more_like_this(texts, chosen, depth)
    of_queries = table.filter(pl.col("number").is_in(chosen)).select("number", "subclasses")
    same_subclass = sharing_subclasses(table["subclasses"].to_list(), dict(of_queries.iter_rows()))
    for name, number in (("perf200", params.queries), ("perf20", params.small)):
        queries = chosen[:number]
        pool = _pool(queries, known, cited, similar, same_subclass, params, log, name)
        folder = root / DATA_SET / name
        write_jsonl(folder / "content" / "queries.json", map(_content, known.records(queries)))
        write_jsonl(folder / "content" / "documents.json", map(_content, known.records(pool)))
        gold = {
            query: [{"cited_id": key, "type": kind} for key, kind in sorted(cited[query].items())]
            for query in sorted(queries)
        }
        write_text(folder / "mapping" / "gold.json", json.dumps(gold, indent=1) + "\n")


def _links(citations: Sequence[Citation], known: pl.DataFrame, graded: bool, log: BuildLog) -> pl.DataFrame:
    """Return the pairs of ``citing`` and ``cited`` publications with the ``type`` of their strongest citation."""
    links = links_of(citations, "category")
    types = ((name, strongest_type(name) or ("" if graded else CITED)) for name in links["category"].unique())
    kinds = frame_of(
        ((name, kind, _strength(kind), name == CITED or is_category(name)) for name, kind in types),
        {"category": pl.String, "type": pl.String, "strength": pl.Int32, "is_read": pl.Boolean},
    )
    links = with_families_of_ends(links.join(kinds, on="category"), known)
    read = links.filter("is_read")
    between = read.drop_nulls(["citing_family", "cited_family"])
    used = between.filter(pl.col("citing_family") != pl.col("cited_family"), pl.col("type") != "")
    name = "citations X, Y or A" if graded else "citations, with a category or not"
    note = (
        f"{len(read) - len(between)} of unknown publications, {len(links) - len(read)} with a category that no search"
        f" report uses, {len(between) - len(used)} other or within a family"
    )
    log.step(name, len(citations), len(used), note)
    note_ungraded(log, len(used.filter(pl.col("type") == CITED)), len(used))
    return used.sort("citing", "cited", -pl.col("strength")).unique(
        ["citing", "cited"], keep="first", maintain_order=True
    )


def _strength(kind: str) -> int:
    return categories.CATEGORIES.get(kind, UNGRADED).strength


def _year(patent: Patent) -> int | None:
    date = patent.application_date or patent.priority_date or patent.publication_date
    return date.year if date else None


def _bounds(name: str, offices: Sequence[str], first: int | None, last: int | None, *, dated: bool) -> list[Filter]:
    """Return the filters by office and year; ``name`` is the prefix of their settings.

    A patent without a date is of any year, unless dates are required.
    """
    in_years = within(pl.col("year"), first, last)
    if dated and (first is not None or last is not None):
        in_years &= pl.col("year").is_not_null()
    return [
        Filter(
            f"of the offices {', '.join(offices) or 'of any name'}",
            pl.col("jurisdiction").is_in(offices) if offices else pl.lit(True),
            f"set {name}_offices to yours, or empty for any",
        ),
        Filter(
            f"filed in the years {first or '...'} to {last or '...'}",
            in_years,
            f"set {name}_first_year=None and {name}_last_year=None, or widen them",
        ),
    ]


def _queries(known: pl.DataFrame, links: pl.DataFrame, params: Params, log: BuildLog) -> list[str]:
    """Draw the queries, at most one of each family, in their order."""
    has = {"abstract": pl.col("abstract"), "claims": pl.col("claims"), "ipc": pl.col("section") != ""}
    dated = "date" in params.require
    graded = "category" in params.require
    citing, remedy = ("citing another as X, Y or A", CATEGORIES) if graded else ("citing another", MATCH_THEM)
    filters = [
        *filters_of(NEEDS, params.require, has),
        *_bounds("query", params.query_offices, params.query_first_year, params.query_last_year, dated=dated),
        Filter(citing, pl.col("number").is_in(links["citing"].unique().implode()), remedy),
    ]
    qualified = Funnel(log, "publications", params.require, "queries: ")(known, filters)
    # the second-level citations of each, as places among the publications
    direct = (
        qualified.select(citing="number").with_row_index("owner").join(links.select("citing", "cited"), on="citing")
    )
    second = (
        direct.join(links.select("citing", further="cited"), left_on="cited", right_on="citing")
        .join(known.select("place", further="number"), on="further")
        .select("owner", "place")
        .unique()
    )
    owner, further = second["owner"].to_numpy(), second["place"].to_numpy()
    covered, left = np.zeros(len(known), bool), np.ones(len(qualified), bool)
    family, section = qualified["family"].rank("dense").to_numpy(), qualified["section"].to_numpy()
    per_section, drawn = Counter[str](), list[str]()
    while left.any() and len(drawn) < params.queries:
        candidates = left
        if len(drawn) < params.queries / 2:
            rarest = min(sorted(set(section[left])), key=per_section.__getitem__)
            candidates = left & (section == rarest)
        new = np.bincount(owner, ~covered[further], len(qualified))
        best = int(np.argmax(np.where(candidates, new, -1)))  # of equals the smallest number
        drawn.append(qualified["number"][best])
        per_section[section[best]] += 1
        covered[further[owner == best]] = True
        left = left & (family != family[best])
    return drawn


def _pool(
    queries: Sequence[str],
    known: _Publications,
    cited: Mapping[str, Mapping[str, str]],
    similar: Mapping[str, Sequence[str]],
    same_subclass: Mapping[str, Rows],
    params: Params,
    log: BuildLog,
    name: str,
) -> set[str]:
    query_families = known.of_families_of(queries)
    positives = {key for query in queries for key in cited[query]}
    numbers = known.table["number"]
    judged = known.table.filter(pl.col("number").is_in([*query_families, *positives]))
    place_of = dict(judged.select("number", "place").iter_rows())
    negatives: dict[str, set[str]] = {"more like this": set(), "same subclass": set(), "cited of cited": set()}
    draw = random.Random(f"{params.seed}/{name}")
    for query in queries:
        forbidden = query_families | set(cited[query])
        negatives["more like this"].update([key for key in similar[query] if key not in forbidden][: params.mlt])
        same = np.setdiff1d(same_subclass[query], [place_of[key] for key in forbidden], assume_unique=True)
        places = draw.sample(range(len(same)), min(params.same_subclass, len(same)))
        negatives["same subclass"].update(numbers.gather(same[places]))
        further = {key for direct in cited[query] for key in cited.get(direct, ())}
        negatives["cited of cited"].update(further - forbidden)
    pool = positives.union(*negatives.values())
    counts = ", ".join(f"{len(keys)} {why}" for why, keys in negatives.items())
    log.step(f"{name}: pool for {len(queries)} queries", len(numbers), len(pool), f"{len(positives)} cited, {counts}")
    return pool


def _content(patent: Patent) -> dict[str, Any]:
    content = {"title": patent.title}
    if patent.abstract:
        content["pa01"] = patent.abstract
    content |= {f"c-en-{claim.number:04d}": claim.text for claim in patent.claims}
    description = patent.description
    sections = (description.background, description.summary, description.drawings, description.detailed)
    content |= {f"p{number:04d}": text for number, text in enumerate(filter(None, sections), start=1)}
    return {"dnum": patent.publication_number, "Content": content}


def _classification(
    known: _Publications, citations: Sequence[Citation], root: Path, params: Params, log: BuildLog
) -> None:
    """Write ``IPC-Classification``."""
    has = {"abstract": pl.col("abstract"), "ipc": pl.col("subclasses").list.len() > 0}
    dated = "date" in params.require
    filters = [
        *filters_of(NEEDS, [*params.require, "ipc"], has),
        Filter("with a title or an abstract", pl.col("title") | pl.col("abstract"), "add titles and abstracts"),
        *_bounds("ipc", params.ipc_offices, params.ipc_first_year, params.ipc_last_year, dated=dated),
    ]
    funnel = Funnel(log, "publications", [field for field in params.require if field != "ipc"], "IPC classification: ")
    usable = funnel(known.table, filters)
    draw = random.Random(params.seed)
    of_years = usable.group_by(pl.col("year").fill_null(0)).agg("place").sort("year")
    places = [
        place
        for of_year in of_years["place"].to_list()
        for place in draw.sample(of_year, min(params.ipc_per_year, len(of_year)))
    ]
    chosen = usable.filter(pl.col("place").is_in(places))
    families = sorted(chosen["family"].unique())
    draw.shuffle(families)
    test = families[: round(len(families) * params.ipc_test)]
    split = {"test": chosen.filter(pl.col("family").is_in(test)), "train": chosen.filter(~pl.col("family").is_in(test))}
    if any(part.is_empty() for part in split.values()):
        problem = f"{len(chosen)} publications in {len(families)} families are too few for a training and a test part"
        widen = "widen offices and years (ipc_offices, ipc_first_year, ipc_last_year)"
        raise DataError(problem, remedy=f"add patents with abstract and IPC codes, or {widen}")
    for name, part in split.items():
        path = root / DATA_SET / "IPC-Classification" / FILES[name]
        write_labelled(path, map(_labelled, known.records(part["number"])))
    note = f"{len(split['test'])} for testing"
    log.step("IPC classification: training and test part", len(usable), len(chosen), note)


def _subclasses(patent: Patent) -> tuple[str, ...]:
    return ipc.codes_at(patent.ipc, "subclass").codes


def _labelled(patent: Patent) -> tuple[str, list[str]]:
    """Return text and valid IPC codes, in compact form, of a patent."""
    codes = [ipc.parse(code)[-1] for code in patent.ipc if ipc.codes_at([code], "section").codes]
    return views.join_sections((patent.title, patent.abstract), SEPARATOR), codes


_TABLES = {"retrieval": _retrieval, "IPC classification": _classification}


SECTION_TAGS = {"abstract": "[abstract]", "claim": "[claim]", "invention": "[invention]"}
"""Tags of abstract, claims and description."""

WORDS = 500  # length of a section in pieces

CITED = "cited"  # type of a citation without a category, where the recipe does not require one

GAINS = {category: row.gain for category, row in categories.CATEGORIES.items()} | {CITED: UNGRADED.gain}
"""Gains of the graded nDCG by type of citation."""


@dataclass(frozen=True)
class Content:
    """The sections of a patent, cut to :data:`WORDS` pieces."""

    title: str
    abstract: str
    claims: str
    description: str

    def section(self, name: str, tags: bool) -> str:
        """Return the section ``abstract`` (with the title), ``claim`` or ``invention``."""
        if name == "abstract":
            return title_and_abstract(_words(self.title), _words(self.abstract), tags)
        text = _words(self.claims if name == "claim" else self.description)
        return f"{SECTION_TAGS[name]} {text}" if tags and text else text

    def paper_section(self, name: str, tags: bool) -> str:
        """Return the text that the authors embed, with marks of missing sections."""
        tag = f"{SECTION_TAGS[name]} " if tags else ""
        if name == "abstract":
            return f"{self.title}{SEPARATOR}{tag}{self.abstract}".strip()
        return f"{tag}{self.claims if name == 'claim' else self.description}".strip()


def _words(text: str) -> str:
    return first_words(text, WORDS)


def title_and_abstract(title: str, abstract: str, tags: bool) -> str:
    """Return ``title [SEP] [abstract] abstract``, without marks of a missing part."""
    tagged = f"{SECTION_TAGS['abstract']} {abstract}" if tags and abstract else abstract
    return join_sections((title, tagged), SEPARATOR)


_CLAIM = re.compile(r"c-en-(\d{1,18})")
_PARAGRAPH = re.compile(r"p(\d{1,18})")
_BROKEN_BYTE = re.compile(r"\\x[0-9a-fA-F]?(?![0-9a-fA-F])")
_NO_ESCAPE = re.compile(r"\\[^nrtbfav\"'\\]")


def cut(text: str) -> str:
    """Return the first :data:`WORDS` pieces between single blanks, without ``-->``."""
    return " ".join(text.replace(" -->", "").split(" ")[:WORDS]).strip()


def unescaped(text: str) -> str:
    r"""Resolve backslash escapes; if that fails, remove those that escape nothing."""
    if "\\" not in text:
        return text
    plain = text.replace("\\/", "/").replace('\\"', '"')
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # a backslash that does not begin an escape stays
            return plain.encode().decode("unicode_escape").encode("latin-1").decode()
    except UnicodeError:
        return _NO_ESCAPE.sub("", _BROKEN_BYTE.sub("", plain))


def strongest_type(category: str) -> str:
    """Return the type of a citation: its strongest category, or :data:`CITED`."""
    return CITED if category == CITED else strongest(category)


def _numbered(content: Mapping[str, str], pattern: re.Pattern[str], separator: str) -> str:
    numbered = sorted((int(match[1]), text) for name, text in content.items() if (match := pattern.fullmatch(name)))
    return separator.join(text for _, text in numbered)


def _patent(record: Mapping[str, Any]) -> tuple[str, Content]:
    """Parse a record; raise KeyError, TypeError or AttributeError if it is invalid."""
    key, content = record["dnum"], record["Content"]
    if isinstance(key, int) and not isinstance(key, bool):
        key = str(key)
    if not isinstance(key, str) or not key:
        raise TypeError("dnum is neither a text nor a number")
    texts = {name: text for name, text in content.items() if text is not None}
    if wrong := [name for name, text in texts.items() if not isinstance(text, str)]:
        raise TypeError(f"'{wrong[0]}' is not a text")
    claims = cut(unescaped(_numbered(texts, _CLAIM, "\n")))
    description = cut(unescaped(_numbered(texts, _PARAGRAPH, " ")))
    return key, Content(texts.get("title", "").strip(), cut(texts.get("pa01", "")), claims, description)


def _patents(path: Path) -> Iterator[tuple[int, tuple[str, Content]]]:
    for row, record in json_lines(path):
        try:
            yield row, _patent(record)
        except (KeyError, TypeError, AttributeError) as error:
            reason = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
            problem = f"not a patent of the form {{dnum, Content}} ({reason})"
            raise DataError(problem, path=path, row=row, remedy="correct the line") from error


def read_content(path: Path) -> dict[str, Content]:
    """Read a file of ``content/`` and count repeated lines, which published ones have."""
    patents: dict[str, Content] = {}
    rows: dict[str, int] = {}
    again = 0
    for row, (key, content) in _patents(path):
        if patents.setdefault(key, content) != content:
            refuse_repeat(rows, key, row, path=path, what="", remedy="keep one of the two rows, which differ")
        again += rows.setdefault(key, row) != row
    if again:
        logger.warning("%s: %d lines repeat an earlier one", path, again)
    if not patents:
        raise DataError("the file is empty", path=path, remedy="write at least one patent")
    return patents


def read_gold(path: Path) -> list[tuple[str, str, str]]:
    """Read ``gold.json``: citing number, cited number, category (empty if null)."""

    def refused(problem: str) -> DataError:
        form = "not of the form {citing: [{cited_id, type}]}"
        return DataError(f"{form} ({problem})", path=path, remedy="correct the file or download it again")

    gold = load_json(path)
    if not isinstance(gold, dict):
        raise refused(f"a JSON {type(gold).__name__}")
    listed = []
    for query, entries in gold.items():
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise refused(f"'{query}' has no list of objects")
        for entry in entries:
            document, category = entry.get("cited_id"), entry.get("type")
            if isinstance(document, int) and not isinstance(document, bool):
                document = str(document)
            if not isinstance(document, str):
                raise refused(f"cited_id of '{query}' is {document!r}")
            if "type" not in entry or not isinstance(category, (str, type(None))):
                raise refused(f"type of '{query}' and '{document}' is {category!r}")
            listed.append((query, document, category or ""))
    return listed
