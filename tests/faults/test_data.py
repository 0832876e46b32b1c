"""Bad data: what would make a score wrong is refused with file, row and remedy, the rest is counted; never a traceback.

Every row of the tables below scored silently, or ended in a traceback, before. ``patent-mteb data validate`` and a run meet
the same errors: each refused input is loaded by the task and validated.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import logging
from collections import Counter
from unittest import mock

import mteb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_data import dapfam_tables
from small_patents import world

from patent_mteb import cli, recipes
from patent_mteb.data import loading
from patent_mteb.errors import DataError
from patent_mteb.experiments import validation
from patent_mteb.patents import records
from patent_mteb.patents.collection import Collection
from patent_mteb.recipes.beir import write_beir
from patent_mteb.recipes.label_sets import LABEL_SETS
from patent_mteb.recipes.wipo_at import DWPI_FIELDS, PUBLIC_FIELDS, VIEWS
from patent_mteb.tasks.retrieval import visible

IDS, FAMILIES = [f"US{i}A" for i in range(12)], [f"F{i}" for i in range(12)]
STRINGS = pa.list_(pa.string())
MET = Counter()


@pytest.fixture(scope="module", autouse=True)
def all_inputs(counted):
    """Notes how many bad inputs of this file were tried, and how many of them did not end as they should."""
    MET.clear()
    yield
    counted("bad inputs: data and records", MET["tried"], wrong=MET["tried"] - MET["as expected"], lost=0, tracebacks=0)


@contextlib.contextmanager
def bad_input():
    MET["tried"] += 1
    yield
    MET["as expected"] += 1


@pytest.fixture
def wipo(tmp_path, monkeypatch):
    """Twelve documents of twelve families: eight to train, two to validate, two to test; every task of WIPO-AT
    loads.
    """
    folder = tmp_path / "data" / "WIPO-AT"
    corpus = {key: (f"Title {key}", f"Text of {key}.") for key in IDS}
    metadata = pa.table(
        {
            "_id": IDS,
            "family_id": FAMILIES,
            "jurisdiction": ["US"] * 12,
            "ipc": pa.array([["A61H 3/00"]] * 12, STRINGS),
            "coarse": pa.array([["Mobility"]] * 12, STRINGS),
            "split": ["train"] * 8 + ["validation"] * 2 + ["test"] * 2,
        }
    )
    views = pa.table({"_id": IDS, **{name: [f"{name} of {key}" for key in IDS] for name in VIEWS}})
    write_beir(
        folder,
        corpus,
        {key: f"query {key}" for key in IDS[:3]},
        {"US0A": {"US5A": 1}, "US1A": {"US6A": 1}},
        metadata,
    )
    pq.write_table(views, folder / "views.parquet")
    fields = {name: [f"{name} of {key}" for key in IDS] for name in (*DWPI_FIELDS, *PUBLIC_FIELDS)}
    pq.write_table(pa.table({"_id": IDS, **fields}), folder / "fields.parquet")
    (folder / "labels").mkdir()
    labels = pa.array([["A"], ["B"]] * 4 + [["A"], ["B"]] + [["A"], ["A"]], STRINGS)
    for one in LABEL_SETS:
        rows = {"_id": IDS, "split": metadata["split"], "labels": labels}
        write_labels(folder, rows, one.name)
    (folder / "labels" / "taxonomy.json").write_text(json.dumps({one.name: ["A", "B"] for one in LABEL_SETS}))
    monkeypatch.setenv(loading.DATA_VARIABLE, str(tmp_path / "data"))
    return folder


def write_labels(folder, rows, name="Emerging"):
    pq.write_table(pa.table(rows), folder / "labels" / f"{name}.parquet")


def change(path, name, values):
    """Replace a column, or add one."""
    table = pq.read_table(path)
    values = values if isinstance(values, (pa.Array, pa.ChunkedArray)) else pa.array(values)
    if name in table.column_names:
        table = table.set_column(table.column_names.index(name), name, values)
    else:
        table = table.append_column(name, values)
    pq.write_table(table, path)


def labels(name, edit):
    """Change a column of the label file by a function of its values."""

    def breaks(folder):
        path = folder / "labels" / "Emerging.parquet"
        column = pq.read_table(path)[name]
        change(path, name, pa.array(edit(column.to_pylist()), column.type))

    return breaks


def first_labels(value):
    return labels("labels", lambda rows: [value, *rows[1:]])


def last_labels(*values):
    return labels("labels", lambda rows: [*rows[: -len(values)], *values])


def column(file, name, values):
    return lambda folder: change(folder / file, name, values)


def meta(name, values):
    return column("metadata.parquet", name, values)


def line(name, text, encoding="utf-8"):
    return lambda folder: (folder / name).write_bytes(text.encode(encoding))


def qrels(*rows):
    return line("qrels/test.tsv", "".join(f"{row}\n" for row in ("query-id\tcorpus-id\tscore", *rows)))


def repeated(folder):
    path = folder / "fields.parquet"
    table = pq.read_table(path)
    pq.write_table(pa.concat_tables([table, table.slice(0, 1)]), path)


def same_text(folder):
    path = folder / "fields.parquet"
    for name in (*DWPI_FIELDS, *PUBLIC_FIELDS):
        values = pq.read_table(path)[name].to_pylist()
        change(path, name, [*values[:11], values[0]])


def a_folder(folder):
    (folder / "corpus.jsonl").unlink()
    (folder / "corpus.jsonl").mkdir()


def unchanged(folder):
    """Both test documents have one label."""


def zipped(folder):
    (folder / "corpus.jsonl").write_bytes(gzip.compress(b"{}"))


def two_forms(folder):
    line("corpus.jsonl", '{"_id": "\u00e9", "text": "x"}\n')(folder)
    qrels("US0A\te\u0301\t1")(folder)


def bad_utf8(name, column):
    def breaks(folder):
        table = pq.read_table(folder / name)
        offsets = pa.array(range(0, 2 * len(table) + 1, 2), pa.int32()).buffers()[1]
        broken = pa.StringArray.from_buffers(len(table), offsets, pa.py_buffer(b"ab" * (len(table) - 1) + b"\xff\xfe"))
        change(folder / name, column, broken)

    return breaks


RETRIEVAL, CLASSES, CLUSTERS = "PatentCitationRetrieval", "WIPOATEmergingClassification", "WIPOATEmergingClustering"
VIEWED = "WIPOATAbstractToTARetrieval"

WIPO = {
    # a score that would be wrong
    "leak by id": (
        CLASSES,
        labels("_id", lambda ids: [*ids[:11], ids[0]]),
        "row 12: document 'US0A' .* train and test",
    ),
    "document twice in a split": (
        CLASSES,
        labels("_id", lambda ids: [ids[0], *ids[:1], *ids[2:]]),
        "row 2: .* occurs twice",
    ),
    "leak by family": (CLASSES, meta("family_id", [*FAMILIES[:11], "F0"]), "family 'F0' straddles two splits"),
    "leak by text": (CLASSES, same_text, r"row 12: document 'US11A' .* has the text of 'US0A'"),
    "constant labels": (CLASSES, last_labels(*[["A"]] * 12), "all 8 training documents have the same label"),
    "label outside the taxonomy": (CLASSES, last_labels(["C"]), "row 12: label 'C' of"),
    "one cluster": (CLUSTERS, unchanged, "all 2 rows have the same label"),
    "each its own cluster": (CLUSTERS, last_labels(["A"], ["B"]), "is its own cluster"),
    "ipc a string": (RETRIEVAL, meta("ipc", ["A61H 3/00"] * 12), "metadata.parquet: column 'ipc' has type string"),
    "family_id an integer": (RETRIEVAL, meta("family_id", range(12)), "'family_id' has type int64, expected string"),
    "null _id in metadata": (RETRIEVAL, meta("_id", [None, *IDS[1:]]), "metadata.parquet, row 1: _id is null"),
    "fields twice": (CLASSES, repeated, "fields.parquet, row 13: _id 'US0A' occurs twice"),
    "gain of 10^18": (RETRIEVAL, qrels(f"US0A\tUS5A\t{10**18}"), "row 2: the score 1000000000000000000 is not a grade"),
    "gain of 10^30": (RETRIEVAL, qrels(f"US0A\tUS5A\t{10**30}"), "is not a grade of relevance"),
    "empty label": (CLASSES, first_labels([""]), "row 1: a label of 'US0A' is empty"),
    "empty label list": (CLUSTERS, first_labels([]), "row 1: document 'US0A' has no label"),
    # a traceback
    "label list null": (CLASSES, first_labels(None), "row 1: document 'US0A' has no label"),
    "label null": (CLASSES, first_labels([None]), "row 1: a label of 'US0A' is null"),
    "taxonomy a list": (CLASSES, line("labels/taxonomy.json", '["A"]'), "a JSON list where an object is expected"),
    "taxonomy of numbers": (
        CLASSES,
        line("labels/taxonomy.json", '{"Emerging": 5}'),
        "Emerging are not a list of strings",
    ),
    "views of integers": (VIEWED, column("views.parquet", "Abstract", range(12)), "column 'Abstract' has type int64"),
    "surrogate in a text": (
        RETRIEVAL,
        line("corpus.jsonl", '{"_id": "a", "text": "\\ud800"}\n'),
        "row 1: half of a surrogate",
    ),
    "surrogate in an id": (RETRIEVAL, line("queries.jsonl", '{"_id": "\\ud83d", "text": ""}\n'), r"row 1: .* \(.ud83d"),
    "nested brackets": (RETRIEVAL, line("corpus.jsonl", "[" * 100_000 + "\n"), "row 1: the JSON is nested too deeply"),
    "number of 5,000 digits": (
        RETRIEVAL,
        line("corpus.jsonl", f'{{"_id": {"9" * 5000}}}\n'),
        "row 1: a number that cannot",
    ),
    "invalid UTF-8 in parquet": (
        RETRIEVAL,
        bad_utf8("metadata.parquet", "jurisdiction"),
        "row 12: column 'jurisdiction'",
    ),
    "invalid UTF-8 in fields": (CLASSES, bad_utf8("fields.parquet", "title"), "fields.parquet, row 12: column 'title'"),
    "UTF-16": (
        RETRIEVAL,
        line("corpus.jsonl", '{"_id": "a"}\n', "utf-16"),
        "UTF-16 or UTF-32.*Remedy: .*iconv -f utf-16",
    ),
    "UTF-16 without mark": (RETRIEVAL, line("queries.jsonl", '{"_id": "a"}\n', "utf-16-le"), "UTF-16 or UTF-32"),
    "gzip": (RETRIEVAL, zipped, r"corpus.jsonl: the file is compressed \(gzip\)"),
    "a directory": (RETRIEVAL, a_folder, "corpus.jsonl: a directory is where a file is expected"),
    "ids in two Unicode forms": (RETRIEVAL, two_forms, "in another Unicode form"),
    "only self-judgements": (RETRIEVAL, qrels("US0A\tUS0A\t1"), "no judgement is positive but those of a document"),
}


def validated(folder, task):
    """What the validation finds where this is the only task of the benchmark."""
    with mock.patch.object(validation, "_classes", lambda *benchmark: [type(mteb.get_task(task))]):
        return validation.validate(folder)


def refused_alike(task, folder, message):
    """The task refuses the data by the message, and so does the validation; neither by anything but a DataError."""
    with bad_input():
        with pytest.raises(DataError, match=message) as caught:
            mteb.get_task(task).load_data()
        assert caught.value.remedy
        assert str(caught.value) in [finding.text for finding in validated(folder, task) if finding.rank == "error"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", WIPO)
def test_wipo_at_refuses(wipo, kind):
    task, breaks, message = WIPO[kind]
    breaks(wipo)
    refused_alike(task, wipo, message)


@pytest.mark.slow
def test_the_hand_made_directory_loads(wipo):
    found = validation.validate(wipo)
    assert any("tasks load" in finding.text for finding in found)
    assert all("same label" in one.text for one in found if one.rank == "error"), (
        "two test documents of one class are no clustering"
    )


@pytest.mark.slow
def test_families_are_compared_over_the_splits_of_the_label_file(wipo):
    """The metadata's own split may be right: the tasks use the label file's."""
    meta("family_id", [*FAMILIES[:7], "F6", *FAMILIES[8:]])(wipo)
    mteb.get_task(CLASSES).load_data()
    labels("split", lambda splits: [*splits[:6], "test", *splits[7:]])(wipo)
    refused_alike(CLASSES, wipo, "Emerging.parquet: family 'F6' straddles two splits: US6A is in test, US7A in train")


def without(name):
    return lambda folder: (folder / name).unlink()


def without_families(folder):
    path = folder / "metadata.parquet"
    pq.write_table(pq.read_table(path).drop(["family_id"]), path)


def without_taxonomy(*values):
    def breaks(folder):
        (folder / "labels" / "taxonomy.json").unlink()
        last_labels(*values)(folder)

    return breaks


COUNTED = {
    "no metadata": (RETRIEVAL, without("metadata.parquet"), "own family is not removed: no family_id"),
    "no family_id": (RETRIEVAL, without_families, "own family is not removed: no family_id"),
    "family_id null": (RETRIEVAL, meta("family_id", [None, *FAMILIES[:11]]), "without family_id"),
    "null in ipc": (RETRIEVAL, meta("ipc", pa.array([[None, "A61H 3/00"]] * 12, STRINGS)), "12 null items in lists of"),
    "no list has an item": (RETRIEVAL, meta("ipc", pa.array([[]] * 12)), ""),
    "graded gains": (RETRIEVAL, qrels("US0A\tUS5A\t3"), "1 judgements with a score above 1"),
    "empty view": (VIEWED, column("views.parquet", "TA", ["", *IDS[1:]]), "1 of 12 rows have an empty view TA"),
    "test class without training row": (
        CLASSES,
        without_taxonomy(["A"], ["Z"]),
        "1 of 2 labels of the test split occur in no training row: Z",
    ),
    "labels without family": (CLASSES, without("metadata.parquet"), "12 of 12 documents have no family_id"),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", COUNTED)
def test_wipo_at_counts(wipo, caplog, kind):
    task, breaks, message = COUNTED[kind]
    breaks(wipo)
    with bad_input():
        with caplog.at_level(logging.WARNING, "patent_mteb"):
            mteb.get_task(task).load_data()
        assert message in caplog.text
        assert any(message in finding.text for finding in validated(wipo, task) if finding.rank != "error")


@pytest.mark.slow
def test_all_test_classes_unseen(wipo):
    without_taxonomy(["Y"], ["Z"])(wipo)
    refused_alike(CLASSES, wipo, r"no label of the test split occurs in the training split \('Y' is one\)")


# --- PatenTEB


@pytest.fixture
def teb(tmp_path, monkeypatch):
    monkeypatch.setenv(loading.DATA_VARIABLE, str(tmp_path / "data"))

    def write(task, test, train=None):
        folder = tmp_path / "data" / "datalyes" / FOLDERS[task]
        for split, columns in (("test", test), ("train", train)):
            if columns is not None:
                (folder / split).mkdir(parents=True, exist_ok=True)
                pq.write_table(pa.table(columns), folder / split / "data.parquet")
        return folder

    return write


def links(**changes):
    rows = {"q": ["a", "b"], "pos": ["c", "d"], "neg": ["e", "f"]}
    texts = {f"{name}_text": [f"{name} text {key}" for key in keys] for name, keys in rows.items()}
    return {**rows, **texts, **changes}


def classes(*names, start=0, **changes):
    numbers = range(start, start + len(names))
    return {"q": [f"p{i}" for i in numbers], "text": [f"text {i}" for i in numbers], "label": list(names), **changes}


def pairs(*names):
    return {
        "text1": [f"one {i}" for i in range(len(names))],
        "text2": [f"two {i}" for i in range(len(names))],
        "label": list(names),
    }


def clusters(*names):
    return {"text": [f"text {i}" for i in range(len(names))], "cluster_id": list(names)}


CITED, BLOOM, PARA, CLUSTER = "PatenTEBRetrievalIN", "PatenTEBBloom", "PatenTEBParaProblem", "PatenTEBFullIPCClustering"
FOLDERS = {CITED: "retrieval_IN", BLOOM: "class_bloom", PARA: "para_problem", CLUSTER: "clusters_ext_full_ipc"}
NAN = float("nan")
TRAIN = classes("early", "late", "early", "late", start=10)
TEB = {
    "ids NaN": (CITED, links(q=[1.0, NAN]), None, "the ids of column 'q' have type double"),
    "id null": (CITED, links(q=["a", None]), None, "row 2: column 'q' is empty"),
    "every positive is its query": (CITED, links(pos=["a", "b"]), None, "no query has a relevant document that it may"),
    "all of test in train": (
        BLOOM,
        classes("early", "late"),
        classes("early", "late"),
        "every test row is also in the",
    ),
    "one class in train": (
        BLOOM,
        classes("early", "late"),
        classes("late", "late", start=5),
        "all 2 rows of the train",
    ),
    "all test classes unseen": (BLOOM, classes("x", "y"), TRAIN, "no label of the test split occurs in the training"),
    "label null": (BLOOM, classes("early", None), TRAIN, "row 2: column 'label' is empty"),
    "label a list": (BLOOM, classes(["early"], ["late"]), TRAIN, "holds a list where a label is expected"),
    "pair labels all 1": (PARA, pairs(1, 1), None, r"all 2 pairs have the same label \('1'\)"),
    "one cluster": (CLUSTER, clusters(1, 1), None, "all 2 rows have the same label"),
    "one row": (CLUSTER, clusters(1), None, "all 1 rows have the same label"),
    "each its own": (CLUSTER, clusters(1, 2), None, "its own cluster"),
    "cluster NaN": (CLUSTER, clusters(1.0, NAN), None, "row 2: column"),
}


@pytest.mark.parametrize("kind", TEB)
def test_patenteb_refuses(teb, kind):
    task, test, train, message = TEB[kind]
    refused_alike(task, teb(task, test, train), message)


def test_patenteb_counts_what_its_users_cannot_mend(teb, caplog):
    """Released tables may repeat rows over their splits and lack texts among thousands: said, not refused."""
    folder = teb(BLOOM, classes("early", "late", "late", start=12, text=["text 12", None, "new"]), TRAIN)
    with caplog.at_level(logging.WARNING, "patent_mteb"):
        data = mteb.get_task(BLOOM).load_split()
    assert data.texts["test text"] == ["text 12", "", "new"]
    assert "leakage: 2 of 3 test rows are also in the training split (compared by id)" in caplog.text
    assert "leakage: 1 of 3 test rows are also in the training split (compared by text)" in caplog.text
    assert "1 of 3 rows have an empty 'text'" in caplog.text
    assert not [finding for finding in validated(folder, BLOOM) if finding.rank == "error"]
    caplog.clear()
    teb(CITED, links(neg=["e", None], neg_text=["neg text", None], q_text=["a", None]))
    with caplog.at_level(logging.WARNING, "patent_mteb"):
        tables = mteb.get_task(CITED).load_tables()
    assert tables.corpus.keys() == {"c", "d", "e"} and tables.queries == {"a": "a", "b": ""}
    assert "1 of 2 rows have no negative" in caplog.text and "1 of 2 rows have an empty 'q_text'" in caplog.text


def test_labels_of_two_types_are_one_label(teb, caplog):
    teb(BLOOM, classes(1.0, 0.0), classes(1, 0, 1, start=10))
    data = mteb.get_task(BLOOM).load_split()
    assert data.labels == {"test": ["1", "0"], "train": ["1", "0", "1"]}
    teb(PARA, pairs(True, False))
    assert mteb.get_task(PARA).load_split()["score"] == [1.0, 0.0]


def test_unseen_test_classes_are_said(teb, caplog):
    teb(BLOOM, classes("early", "normal"), TRAIN)
    with caplog.at_level(logging.WARNING, "patent_mteb"):
        mteb.get_task(BLOOM).load_split()
    assert "1 of 2 labels of the test split occur in no training row: normal" in caplog.text


# --- DAPFAM


@pytest.fixture
def dapfam(tmp_path, monkeypatch):
    dapfam_tables(tmp_path / "data")
    monkeypatch.setenv(loading.DATA_VARIABLE, str(tmp_path / "data"))
    return tmp_path / "data" / "datalyes" / "DAPFAM_patent"


def relations(edit):
    def breaks(folder):
        rows = pq.read_table(folder / "qrels_all.parquet").to_pylist()
        pq.write_table(pa.Table.from_pylist(edit(rows)), folder / "qrels_all.parquet")

    return breaks


def scores(values, kind=None):
    return lambda folder: change(folder / "qrels_all.parquet", "relevance_score", pa.array(values, kind))


TA, KEYWORDS = "PatentDAPFAMTAToTARetrieval", "PatentDAPFAMKeywordsToTARetrieval"
TWICE = "row 97: the relation .* in row 1"
DAPFAM = {
    "twice, two scores": (TA, relations(lambda r: [*r, {**r[0], "relevance_score": 0.0}]), TWICE),
    "twice, two domains": (TA, relations(lambda r: [*r, {**r[0], "domain_rel": "OUT"}]), TWICE),
    "positive and NC": (
        TA,
        relations(lambda r: [{**one, "domain_rel": "NC"} for one in r]),
        "row 1: the relation is positive, but its domain_rel is NC",
    ),
    "score NaN": (TA, scores([NAN] * 96), "row 1: relevance_score is nan, not a number"),
    "score null": (TA, scores([None] * 96, pa.float64()), "row 1: relevance_score is None, not a number"),
    "score a string": (TA, scores(["1"] * 96), "row 1: relevance_score is '1', not a number"),
    "no positive": (TA, scores([0.0] * 96), "no relation is positive"),
    "no OUT": (
        "PatentDAPFAMTAToTAOutRetrieval",
        relations(lambda r: [one for one in r if one["domain_rel"] != "OUT"]),
        "no OUT relation is positive",
    ),
    "keywords integers": (KEYWORDS, column("queries.parquet", "abstract_keywords", range(8)), "has type int64"),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", DAPFAM)
def test_dapfam_refuses(dapfam, kind):
    task, breaks, message = DAPFAM[kind]
    breaks(dapfam)
    refused_alike(task, dapfam, message)


@pytest.mark.slow
def test_dapfam_reads_what_may_be_published(dapfam, caplog):
    """Integer ids, a row twice, boolean scores, a query judged by itself: the same task, and each is counted."""
    before = mteb.get_task(TA).load_tables()
    tables = {
        name: pq.read_table(dapfam / f"{name}.parquet").to_pylist() for name in ("corpus", "queries", "qrels_all")
    }
    query, document, relation = (rows[0] for rows in (tables["queries"], tables["corpus"], tables["qrels_all"]))
    own = {**query, "relevant_id": query["query_id"]}
    tables["corpus"] += [{name: own.get(name) for name in document}, {**document}]
    itself = {"relevant_id": relation["query_id"], "relevance_score": 1.0, "domain_rel": "IN"}
    tables["qrels_all"].append({**relation, **itself})
    rows = (*tables["corpus"], *tables["queries"])
    number = {key: at for at, key in enumerate(dict.fromkeys(r.get("relevant_id") or r["query_id"] for r in rows))}
    for name, rows in tables.items():
        for row in rows:
            row |= {column: number[row[column]] for column in ("query_id", "relevant_id") if column in row}
            if name == "qrels_all":
                row["relevance_score"] = row["relevance_score"] > 0
        pq.write_table(pa.Table.from_pylist(rows), dapfam / f"{name}.parquet")
    with caplog.at_level(logging.WARNING, "patent_mteb"):
        after = mteb.get_task(TA).load_tables()
    renamed = {
        str(number[q]): {str(number[d]): gain for d, gain in judged.items()} for q, judged in before.qrels.items()
    }
    assert visible(after).qrels == renamed
    assert after.queries == {str(number[key]): text for key, text in before.queries.items()}
    assert "1 documents repeat an earlier one" in caplog.text
    assert "1 relations of a query to itself (not relevant)" in caplog.text
    assert not [finding for finding in validated(dapfam, TA) if finding.rank == "error"]


@pytest.mark.slow
def test_dapfam_counts(dapfam, caplog):
    relations(lambda rows: [*rows, rows[0]])(dapfam)
    for column in ("title_en", "abstract_en", "claims_text", "description_en"):
        values = pq.read_table(dapfam / "corpus.parquet")[column].to_pylist()
        change(dapfam / "corpus.parquet", column, [None, *values[1:]])
    change(dapfam / "queries.parquet", "abstract_keywords", pa.array([["a", None]] * 8))
    change(dapfam / "queries.parquet", "ipcr_codes_str", list(range(8)))
    with caplog.at_level(logging.WARNING, "patent_mteb"):
        tables = mteb.get_task("PatentDAPFAMKeywordsToFullTextRetrieval").load_tables()
    assert next(iter(tables.corpus.values())) == "" and set(tables.queries.values()) == {"a"}
    assert "1 relations are repeated" in caplog.text
    assert "1 rows of corpus have no description_en" in caplog.text
    assert "no IPC codes are known" in caplog.text
    assert not [finding for finding in validated(dapfam, TA) if finding.rank == "error"]


# --- PatentMap


@pytest.fixture
def perf(tmp_path, monkeypatch):
    folder = tmp_path / "data" / "ZoeYou" / "downstream" / "perf200"
    monkeypatch.setenv(loading.DATA_VARIABLE, str(tmp_path / "data"))
    write_perf(folder)
    return folder


def write_perf(folder, gold=None, documents=("US2", "US3"), extra=""):
    def rows(keys):
        return "".join(
            json.dumps({"dnum": key, "Content": {"title": f"Title {key}", "c-en-0001": "A pump."}}) + "\n"
            for key in keys
        )

    for name in ("content", "mapping"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "content" / "documents.json").write_text(rows(documents) + extra)
    (folder / "content" / "queries.json").write_text(rows(["EP1"]))
    text = gold if isinstance(gold, str) else json.dumps(gold or {"EP1": [{"cited_id": "US2", "type": "X"}]})
    (folder / "mapping" / "gold.json").write_text(text)


ABS = "PatentMapAbsToAbsRetrieval"
GOLD = {
    "type a number": ({"gold": {"EP1": [{"cited_id": "US2", "type": 5}]}}, "type of 'EP1' and 'US2' is 5"),
    "cited a list": ({"gold": {"EP1": [{"cited_id": ["US2"], "type": "X"}]}}, r"cited_id of 'EP1' is \['US2'\]"),
    "no list": ({"gold": {"EP1": {"cited_id": "US2"}}}, "'EP1' has no list of objects"),
    "nested": ({"gold": "[" * 100_000}, "gold.json: the JSON is nested too deeply"),
    "surrogate": ({"extra": '{"dnum": "US9", "Content": {"title": "\\ud800"}}\n'}, "documents.json, row 3: half of a"),
}


@pytest.mark.parametrize("kind", GOLD)
def test_patentmap_refuses(perf, kind):
    written, message = GOLD[kind]
    write_perf(perf, **written)
    refused_alike(ABS, perf.parent, message)


def test_patentmap_reads_what_is_published(perf, caplog):
    """Numbers as ids, a document's line twice, citing ids that are no queries, a key of thousands of digits that is no
    claim.
    """
    gold = {
        "EP1": [{"cited_id": 22, "type": "X"}, {"cited_id": "US99", "type": "X"}],
        "EP7": [{"cited_id": "US2", "type": "X"}],
    }
    extra = json.dumps({"dnum": "US4", "Content": {"title": "x", f"c-en-{'9' * 5000}": "A lens."}})
    write_perf(perf, gold, documents=(22, 22, "US3"), extra=extra)
    with caplog.at_level(logging.WARNING, "patent_mteb"):
        tables = mteb.get_task(ABS).load_tables()
    assert tables.qrels == {"EP1": {"22": 1}} and tables.corpus.keys() == {"22", "US3", "US4"}
    assert "1 lines repeat an earlier one" in caplog.text
    assert "1 citations of patents that are not queries (ignored)" in caplog.text
    assert "1 citations of documents that are not in the pool (ignored)" in caplog.text


# --- records, resolution, the last door


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ('"ipc": [null]', "row 1: .*field 'ipc' holds a null"),
        ('"title": "\\ud800"', "row 1: half of a surrogate pair"),
        ('"claims": [{"number": 99999999999999999999, "text": ""}]', "row 1: .*claims"),
    ],
)
def test_records_that_cannot_be_used(tmp_path, field, message):
    path = tmp_path / "patents.jsonl"
    path.write_text(f'{{"publication_number": "US1A", "family_id": "F", {field}}}\n')
    with bad_input(), pytest.raises(DataError, match=message):
        list(records.read_records(path, records.Patent))


def test_a_broken_root_breaks_no_listing(tmp_path, monkeypatch):
    expected = {type(task): task.metadata.name.removesuffix(".sample") for task in mteb.get_tasks(task_types=["STS"])}
    path = tmp_path / "file"
    path.write_text("no directory")
    monkeypatch.setenv(loading.DATA_VARIABLE, str(path))
    found = {type(task): task.metadata.name for task in mteb.get_tasks(task_types=["STS"])}
    assert found == expected
    with pytest.raises(DataError, match="there is no such folder of data") as told:
        mteb.get_task(PARA).load_data()
    with pytest.raises(DataError) as direct:
        loading.resolve(type(mteb.get_task(PARA)).data)
    assert str(told.value) == str(direct.value)


def test_what_resolution_itself_breaks_on_waits_for_the_data(monkeypatch):
    def broken(*arguments):
        raise PermissionError(13, "Permission denied", "labels/Secret.parquet")

    monkeypatch.setattr(loading, "resolve", broken)
    task = mteb.get_task(RETRIEVAL)
    with pytest.raises(DataError, match="Permission denied"):
        task.load_data()


@pytest.mark.slow
def test_the_last_door(wipo, monkeypatch, capsys):
    def broken(*arguments, **options):
        raise ZeroDivisionError("nobody foresaw this")

    monkeypatch.setattr("patent_mteb.recipes.beir.read_qrels", broken)
    assert cli.main(["data", "validate", str(wipo)]) == 2
    streams = capsys.readouterr()
    assert "breaks on this data (ZeroDivisionError: nobody foresaw this)" in streams.out and str(wipo) in streams.out
    assert "--debug" in streams.out and "Traceback" not in streams.out + streams.err
    with pytest.raises(ZeroDivisionError):
        cli.main(["data", "validate", str(wipo), "--debug"])
    monkeypatch.setattr("patent_mteb.recipes.find", broken)
    for command in (
        ["data", "build", "dapfam", "p.jsonl", "c.jsonl", "out"],
        ["data", "build", "dapfam", "--settings"],
    ):
        assert cli.main(command) == 1
        said = capsys.readouterr().err
        assert "build failed (ZeroDivisionError: nobody foresaw this" in said and "--debug" in said
        assert said.count("\n") == 1


@pytest.mark.slow
def test_sophia_says_that_the_own_family_stays(tmp_path, monkeypatch, caplog):
    recipes.run("sophia", Collection(*world()), tmp_path)
    folder = tmp_path / "Sophia"
    (folder / "metadata.parquet").unlink()
    monkeypatch.setenv(loading.DATA_VARIABLE, str(tmp_path))
    with caplog.at_level(logging.WARNING, "patent_mteb"):
        mteb.get_task("SophiaClmsRetrieval").load_data()
    assert "own family is not removed: no family_id in Sophia/metadata.parquet" in caplog.text
