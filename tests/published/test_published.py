"""The published tables: as they were compared with the papers, described, and joined to the tasks that they name."""

import csv
import hashlib
from importlib.resources import files
from pathlib import Path

import mteb
import polars as pl
import pytest

from patent_mteb import published
from patent_mteb.models.registry import suite_metas
from patent_mteb.tasks import dapfam, patenteb, patentmap, sophia, wipo_at
from patent_mteb.tasks.patentmap import IPCClassification
from patent_mteb.tasks.retrieval import PatentRetrieval

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
EVERY = [(t.paper, t.table) for t in published.tables()]


def raw(paper, number):
    """Rows as dictionaries of printed strings, read without the package's loader, so that the printed digits are
    kept.
    """
    path = files("patent_mteb.published") / paper / f"table_{number:02d}.csv"
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


# ---------------------------------------- stored tables

# Digests of the tables as they were compared with the papers, every number of every row: a changed cell has to be
# compared again.
COMPARED = {
    "wipo_at": "faf440c6b8a1124d",
    "dapfam": "b219b7bd4177a496",
    "patenteb": "bbb020f5d2af22e9",
    "sophia": "896f614aed9253a5",
    "patentmap": "e42c7afec52fa128",
}


@pytest.mark.parametrize("paper", COMPARED)
def test_tables_are_the_ones_compared_with_the_papers(paper):
    folder = files("patent_mteb.published") / paper
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir(), key=lambda p: p.name):
        digest.update("\n".join([path.name, *path.read_text(encoding="utf-8").splitlines()]).encode())
    assert digest.hexdigest()[:16] == COMPARED[paper]


KINDS = {"score", "mean", "bound", "difference", "compared", "spread", "test", "ratio", "cost", "description"}


@pytest.mark.parametrize(("paper", "number"), EVERY)
def test_csv_and_descriptor_agree(paper, number):
    spec = next(t for t in published.tables(paper) if t.table == number)
    header = list(raw(paper, number)[0])
    assert [h for h in header if h != "task"] == ["model", "model_id", *spec.keys, *(c.column for c in spec.columns)]
    assert spec.caption and not spec.caption.endswith(".")
    for column in spec.columns:
        assert column.kind in KINDS
        assert column.metric and column.unit and column.printed
    units = [column.unit for column in spec.columns if column.kind not in ("cost", "description")]
    none = (paper, number) in {("wipo_at", 3), ("patentmap", 4)}
    assert units[:1] == ([] if none else [{"patentmap": "percent"}.get(paper, "fraction")])


@pytest.mark.parametrize(("paper", "number"), EVERY)
def test_no_row_twice_and_every_cell_in_range(paper, number):
    spec = next(t for t in published.tables(paper) if t.table == number)
    wide = published.printed(paper, number)
    assert not wide.select("model", *spec.keys).is_duplicated().any()
    assert not wide.select("model_id", "model", *(c.column for c in spec.columns)).is_duplicated().any()
    for column in spec.columns:
        values = wide[column.column].drop_nulls()
        assert len(values), column.column
        top = {"fraction": 1.0, "percent": 100.0}.get(column.unit, float("inf"))
        low = -top if column.kind == "difference" else 0.0
        assert values.is_between(low, top).all(), column.column
        if column.kind in ("score", "mean", "bound"):
            assert column.unit in ("fraction", "percent")
            assert values.min() > 0.0, column.column
            assert column.unit == "fraction" or values.max() > 1.0, column.column


# ---------------------------------------- the papers' own means

# Where the mean of the printed cells does not round to the printed mean: (paper, table, model, printed, recomputed).
# All are within one unit of the last digit, as far as rounded cells can lead.


# ---------------------------------------- differences and ratios in a row


# ---------------------------------------- tidy tables and tasks


def test_tidy_table_holds_every_printed_cell_with_its_meaning():
    for paper, number in EVERY:
        wide, tidy = published.printed(paper, number), published.table(paper, number)
        columns = next(t for t in published.tables(paper) if t.table == number).columns
        assert tidy["value"].to_list() == [row[c.column] for row in wide.iter_rows(named=True) for c in columns]
        assert tidy["model"].to_list() == [m for m in wide["model"] for _ in columns]
        assert set(tidy["paper"]) == {paper} and set(tidy["table"]) == {number}
        assert not tidy.drop("value").is_duplicated().any()

    dapfam = published.table("dapfam", 19).filter(
        (pl.col("query") == "TA") & (pl.col("corpus") == "Abstract") & (pl.col("slice") == "in")
    )
    assert dapfam.select("task", "metric", "kind", "unit", "value").rows() == [
        ("PatentDAPFAMTAToAbstractRetrieval", "ndcg_at_100", "score", "fraction", 0.3109),
        ("PatentDAPFAMTAToAbstractRetrieval", "recall_at_100", "score", "fraction", 0.4011),
    ]


def test_two_stage_rows_carry_no_model_id():
    two_stage = published.table("wipo_at", 7).filter(pl.col("reranker_id") != "")
    assert set(two_stage["model_id"]) == {""} and two_stage.height == 4 * 4


@pytest.mark.parametrize("number", [4, 6, 7, 11, 12, 15, 17, 18, 21, 22, 23, 24])
def test_a_table_that_does_not_state_its_query_text_is_joined_to_no_task(number):
    tidy = published.table("wipo_at", number).filter(pl.col("kind") == "score")
    assert len(tidy) and set(tidy["task"]) == {""}
    assert all(view.startswith(("query not stated; corpus ", "query not stated; best view")) for view in tidy["view"])


CLASSES = {
    task.metadata.name: task
    for module in (wipo_at, dapfam, patenteb, sophia, patentmap)
    for task in module.BENCHMARK.task_classes
}
DIRECTIONS = {"Abs→Abs": ("abstract", ("abstract",)), "Clm→All": ("claim", ("abstract", "claim", "invention"))}


def camel(name):
    return "".join(part.capitalize() for part in name.split("_"))


def texts_of(task):
    """What a task reads, asked of its class."""
    if hasattr(task, "cell"):
        return task.cell.query, task.cell.corpus
    if hasattr(task, "pair"):
        return task.pair.query, task.pair.corpus, task.pair.domain, task.pair.as_mteb
    if hasattr(task, "label_set"):
        return task.label_set.name, task.metadata.name.removeprefix(f"WIPOAT{task.label_set.name}")
    if hasattr(task, "representation"):
        return task.representation
    if hasattr(task, "spec"):
        return task.spec.table
    return (task.query_section, task.document_sections) if issubclass(task, PatentRetrieval) else task.metadata.name


def sections_named(row):
    (direction,) = [
        name
        for name in (*DIRECTIONS, "KNN", "Linear Probe")
        if name in row["printed"].replace(" ", "") or name in row["printed"]
    ]
    return DIRECTIONS.get(direction, "PatentMapIPCClassification")


NAMED = {
    ("wipo_at", 10): lambda row: (row["query"], row["corpus"]),
    ("wipo_at", 19): lambda row: (row["view"], row["view"], "", False),
    **{("dapfam", number): lambda row: (row["query"], row["corpus"], "", False) for number in (17, 19)},
    **{("wipo_at", number): lambda row: (camel(row["column"]), "Classification") for number in (8, 25)},
    **{("wipo_at", number): lambda row: (camel(row["column"]), "Clustering") for number in (9, 26)},
    ("patenteb", 15): lambda row: row["printed"],
    **{("sophia", number): lambda row: camel(row["query"]) for number in (2, 4)},
    ("sophia", 3): lambda row: camel(row["column"]),
    **{("patentmap", number): sections_named for number in (2, 3, 5, 6)},
}
"""What each joined table says that a number was measured on, in the terms of the tasks."""

SCORES_OUT = {("wipo_at", 19, "claim1")}
"""Scores that a joined table has and that are joined to no task all the same; its note says why."""


@pytest.mark.parametrize("spec", published.tables(), ids=lambda spec: f"{spec.paper}-{spec.table}")
def test_a_table_is_joined_to_what_it_names_or_says_why_it_is_not(spec):
    printed = {column.column: column.printed for column in spec.columns}
    rows = [
        row | {"printed": printed[row["column"]]}
        for row in published.table(spec.paper, spec.table).iter_rows(named=True)
    ]
    joined = [row for row in rows if row["task"] and row["kind"] == "score"]
    if spec.not_joined:
        assert not joined and not spec.protocol
        assert (spec.paper, spec.table) not in NAMED
        return
    assert joined and spec.protocol in ("paper", "same")
    assert {
        (spec.paper, spec.table, row["column"]) for row in rows if row["kind"] == "score" and not row["task"]
    } <= SCORES_OUT
    named = NAMED[spec.paper, spec.table]
    for row in joined:
        task = CLASSES[row["task"]]
        assert texts_of(task) == named(row), row
        name = published.score_name(row["metric"], row["slice"])
        two_protocols = isinstance(task, type) and (
            issubclass(task, PatentRetrieval) or issubclass(task, IPCClassification)
        )
        assert name.startswith("paper_") == two_protocols, name
        assert spec.protocol == "paper" or not two_protocols


def printed_lines(head, count):
    text = (SHARED / "papers" / "wipo-at.txt").read_text(encoding="utf-8").splitlines()
    start = next(place for place, line in enumerate(text) if line.startswith(head))
    return text[start + 2 : start + 2 + count]


def printed_rows(head, count):
    return [line.split() for line in printed_lines(head, count)]


@pytest.mark.skipif(not SHARED.exists(), reason="the papers' texts are not here")
def test_tables_10_and_19_are_those_of_the_text():
    stored = [[row["model"], row["query"], row["corpus"], row["ndcg_at_10"]] for row in raw("wipo_at", 10)]
    assert stored == [
        [model, query, corpus.replace("-", ""), value] for model, query, corpus, value in printed_rows("Table 10:", 8)
    ]
    columns = ["model", "ta", "tac", "abstract", "claim1", "mean", "in", "out", "gap"]
    assert [[row[column] for column in columns] for row in raw("wipo_at", 19)] == printed_rows("Table 19:", 13)


STD = "±\\pm"


def with_sign(value):
    return value if value.startswith("-") else f"+{value}"


def with_spread(row, *names):
    """The cells of a row as printed: each value, and its spread where there is one."""
    return " ".join(f"{row[name]} {STD} {row[f'{name}_std']}" if row[f"{name}_std"] else row[name] for name in names)


def by_base(rows):
    found = {}
    for row in rows:
        found.setdefault(row["base"], []).append(row)
    return found.items()


def as_text_11(rows):
    yield "Model R0 R3 R4 R0 R3 R4 R0 R3 R4"
    for base, recipes in by_base(rows):
        assert [row["recipe"] for row in recipes] == ["R0", "R3", "R4"]
        cells = [row[name] for name in ("ndcg_at_10", "macro_f1", "v_measure") for row in recipes]
        yield " ".join([base, *filter(None, cells)])  # the text has lost the dash


def as_text_12(rows):
    names = {"": "ALL slice", "out": "OUT-of-domain slice"}
    for row, before in zip(rows, [None, *rows], strict=False):
        if before is None or before["slice"] != row["slice"]:
            yield names[row["slice"]]
        cells = (row["zero_shot"], row["fine_tuned"], with_sign(row["difference"]), row["p_value"], row["significance"])
        yield " ".join((row["base"], row["recipe"], *cells))


def as_text_spread(rows):
    return (f"{row['base']} {row['recipe']} {with_spread(row, 'all', 'in', 'out')}" for row in rows)


def as_text_14(rows):
    for base, recipes in by_base(rows):
        assert [row["recipe"] for row in recipes] == ["R3", "R3-matched", "R4"]
        yield " ".join([base, *(with_spread(row, "ndcg_at_10") for row in recipes)])


def as_text_15(rows):
    for row in rows:
        if row["model"] == "Jina-ColBERT":
            yield "ColBERT models (MaxSim)"
        yield " ".join(
            (row["model"], row["ta"], row["tac"], row["dwpi_full"], row["dwpi_ta"], with_sign(row["advantage"]))
        )


def as_text_17(rows):
    names = ("model", "compared", "score", "compared_score", "difference", "p_value", "significance")
    return (" ".join(row[name] for name in names) for row in rows)


def as_text_24(rows):
    for row in rows:
        p = {"<": "<<", "=": ""}[row["p_relation"]] + row["p_value"] + "∗" * len(row["significance"])
        scores = f"{row['score']} {row['compared_score']} {with_sign(row['difference'])}"
        yield f"{row['model']} vs {row['compared']} {scores} {p} {int(row['queries']):,}"


def as_text_dwpi(rows):
    names = ("model", "no_dwpi", "dwpi_only", "combined", "advantage")
    return (" ".join(filter(None, (row[name] for name in names))) for row in rows)


AS_TEXT = {
    11: as_text_11,
    12: as_text_12,
    13: as_text_spread,
    14: as_text_14,
    15: as_text_15,
    17: as_text_17,
    20: as_text_spread,
}
AS_TEXT |= {24: as_text_24, 27: as_text_dwpi, 28: as_text_dwpi}


@pytest.mark.skipif(not SHARED.exists(), reason="the papers' texts are not here")
@pytest.mark.parametrize("number", AS_TEXT)
def test_a_table_written_out_is_the_text_of_the_paper(number):
    """Line by line, every character of the model, the setting and the numbers."""
    lines = list(AS_TEXT[number](raw("wipo_at", number)))
    assert lines == printed_lines(f"Table {number}:", len(lines))


def test_unknown_paper_and_table_say_what_there_is():
    with pytest.raises(ValueError, match=r"paper 'clef'. Known papers: wipo_at, dapfam"):
        published.tables("clef")
    with pytest.raises(ValueError, match=r"Table 1 of 'sophia' is not stored. Stored tables: 2, 3, 4, 5"):
        published.table("sophia", 1)


# ---------------------------------------- models

UNKNOWN = {"allenai/specter2", "nvidia/llama-nemotron-embed-1b-v2"}
"""Released on the hub, unknown to mteb; the first is an adapter, which the suite does not load."""


def test_model_ids_are_those_of_mteb_or_of_the_suite():
    ids = {model for paper, number in EVERY for model in published.table(paper, number)["model_id"]}
    ids |= {row[name] for row in raw("wipo_at", 7) for name in ("first_stage_id", "reranker_id")}
    known = {meta.name for meta in suite_metas()} | UNKNOWN
    assert ids > UNKNOWN
    for model in sorted(ids - known - {""}):
        assert mteb.get_model_meta(model, fetch_from_hf=False).name == model
