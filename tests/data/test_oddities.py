"""Forms of published files, as the hub serves them, each with its right outcome.

The outcome is the score of the plain files, a score and a count in the log, or one message about the problem.

Types and rules of the released sets are printed on few cards, so a task may meet any of these. ``SAME`` files hold the
same data in another form: their score is that of the plain files, to the last digit.
"""

from __future__ import annotations

import logging
import shutil

import mteb
import pyarrow as pa
import pytest
import released_layouts
from huggingface_hub import constants
from released_layouts import (
    DAPFAM,
    PATENTMAP,
    dapfam,
    dapfam_files,
    patenteb,
    patenteb_files,
    patentmap,
    patentmap_files,
)
from small_data import HashEncoder, scores_of

from patent_mteb import tasks
from patent_mteb.data import hub as asked
from patent_mteb.errors import PatentMTEBError

TA, KEYWORDS = (f"PatentDAPFAM{pair}Retrieval" for pair in ("TAToTA", "KeywordsToTA"))
ABS = "PatentMapAbsToAbsRetrieval"
PARA, CLUSTERS, IN, TITLE, BLOOM = (
    f"PatenTEB{name}" for name in ("ParaProblem", "InventorClustering", "RetrievalIN", "Title2Full", "Bloom")
)
SET_OF = {
    PARA: "para_problem",
    CLUSTERS: "clusters_inventor",
    IN: "retrieval_IN",
    TITLE: "title2full",
    BLOOM: "class_bloom",
}


def number(ids):
    """Lens ids as the whole numbers that begin them."""
    return [int(key[:3]) for key in ids]


def integer_families():
    tables = dapfam()
    for name, column in (
        ("corpus", "relevant_id"),
        ("queries", "query_id"),
        ("qrels_all", "relevant_id"),
        ("qrels_all", "query_id"),
    ):
        tables[name][column] = number(tables[name][column])
    return dapfam_files(**tables)


def relations(**columns):
    """DAPFAM with other columns of relations; a function is given the known values."""
    known = dapfam()["qrels_all"]
    return dapfam_files(
        qrels_all=known | {name: make(known[name]) if callable(make) else make for name, make in columns.items()}
    )


def more_relations(*rows):
    known = dapfam()["qrels_all"]
    return dapfam_files(qrels_all={name: [*values, *(row[name] for row in rows)] for name, values in known.items()})


def relation(place=0, **changed):
    return {name: values[place] for name, values in dapfam()["qrels_all"].items()} | changed


def families(table, **columns):
    known = dapfam()[table]
    return dapfam_files(
        **{table: known | {name: make(known[name]) if callable(make) else make for name, make in columns.items()}}
    )


def repeated_family(**changed):
    known = dapfam()["corpus"]
    return dapfam_files(corpus={name: [*values, changed.get(name, values[3])] for name, values in known.items()})


def rows(name, **columns):
    """A set of PatenTEB with other columns; a function is given the known values, None leaves a column out."""
    known = patenteb(name)
    made = {column: make(known[column]) if callable(make) else make for column, make in columns.items()}
    return patenteb_files(
        name, test={column: values for column, values in (known | made).items() if values is not None}
    )


def but_first(value):
    return lambda values: [value, *values[1:]]


def typed(kind):
    return lambda values: pa.array(values, kind)


def dictionary(values):
    return pa.array(values).dictionary_encode()


def chunked(values):
    return pa.chunked_array([values[:20], values[20:]])


def first_twice(values):
    return [values[0], values[0], *values[2:]]


def content(part, edit):
    """PatentMap with one part edited in place."""
    found = patentmap()
    edit(found[part])
    return patentmap_files(**found)


def numeric(found):
    for name in ("documents", "queries"):
        for record in found[name]:
            record["dnum"] = int(record["dnum"].removeprefix("EP"))
    found["gold"] = {
        query[2:]: [{**entry, "cited_id": int(entry["cited_id"][2:])} for entry in entries]
        for query, entries in found["gold"].items()
    }
    return patentmap_files(**found)


def without(files, name):
    return {path: body for path, body in files.items() if path != name}


def section(name, value):
    return lambda records: records[5]["Content"].update({name: value})


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 132\n"

SAME = {
    "DAPFAM: whole numbers as ids": (TA, integer_families),
    "DAPFAM: true and false as gains": (
        TA,
        lambda: relations(relevance_score=lambda values: [value > 0 for value in values]),
    ),
    "DAPFAM: dictionaries of ids": (TA, lambda: relations(query_id=dictionary, relevant_id=dictionary)),
    "DAPFAM: a table in several chunks": (TA, lambda: families("corpus", title_en=chunked)),
    "DAPFAM: no IPC codes at all": (TA, lambda: families("corpus", ipcr_codes_str=[None] * 50)),
    "DAPFAM: keywords as lists": (
        KEYWORDS,
        lambda: families("queries", abstract_keywords=lambda values: [value.split(", ") for value in values]),
    ),
    "PatenTEB: labels 0.0 and 1.0": (
        PARA,
        lambda: rows("para_problem", label=lambda values: [float(value) for value in values]),
    ),
    "PatenTEB: labels in quotes": (
        PARA,
        lambda: rows("para_problem", label=lambda values: [str(value) for value in values]),
    ),
    "PatenTEB: clusters as floats": (
        CLUSTERS,
        lambda: rows("clusters_inventor", cluster_id=lambda values: [float(value) for value in values]),
    ),
    "PatenTEB: whole numbers as ids": (IN, lambda: rows("retrieval_IN", q=number, pos=number, neg=number)),
    "PatenTEB: large strings": (
        IN,
        lambda: rows("retrieval_IN", q_text=typed(pa.large_string()), pos=typed(pa.large_string())),
    ),
    "PatenTEB: classes in capitals": (
        TITLE,
        lambda: rows("title2full", first_ipcr3=lambda values: [value.upper() for value in values]),
    ),
    "PatentMap: whole numbers as ids": (ABS, lambda: numeric(patentmap())),
    "PatentMap: no description": (ABS, lambda: content("documents", section("p0001", None))),
}

COUNTED = {
    "DAPFAM: a NULL abstract": (
        TA,
        lambda: families("corpus", abstract_en=but_first(None)),
        "1 rows of corpus have no abstract_en",
    ),
    "PatenTEB: an empty text": (
        CLUSTERS,
        lambda: rows("clusters_inventor", text=but_first("")),
        "1 of 60 rows have an empty 'text'",
    ),
    "PatenTEB: a NULL text of a negative": (
        IN,
        lambda: rows("retrieval_IN", neg_text=but_first(None)),
        "have an empty 'neg_text'",
    ),
    "PatenTEB: one id with two texts": (
        IN,
        lambda: rows("retrieval_IN", pos=first_twice),
        "have another text for a known id in column pos",
    ),
    "PatenTEB: one text of two ids": (
        TITLE,
        lambda: rows("title2full", full_text=first_twice),
        "1 of 60 documents repeat the text",
    ),
    "PatentMap: a query that cites itself": (ABS, lambda: itself(), "1 judgements of a patent for itself"),
}


def itself():
    found = patentmap()
    query = found["queries"][0]
    found["documents"].append(query)
    found["gold"][query["dnum"]].append({"cited_id": query["dnum"], "type": "X"})
    return patentmap_files(**found)


REFUSED = {
    "DAPFAM: a document that is only judged": (
        TA,
        lambda: more_relations(relation(relevant_id="unknown")),
        r"row 121: unknown document 'unknown'",
    ),
    "DAPFAM: a query that is only judged": (
        TA,
        lambda: more_relations(relation(query_id="unknown")),
        r"row 121: unknown query 'unknown'",
    ),
    "DAPFAM: a domain in small letters": (
        TA,
        lambda: relations(domain_rel=but_first("in")),
        r"row 1: domain_rel is 'in'",
    ),
    "DAPFAM: one family with two texts": (
        TA,
        lambda: repeated_family(abstract_en="another"),
        "'003-530-185-733-934' occurs twice",
    ),
    "DAPFAM: no keywords": (
        KEYWORDS,
        lambda: dapfam_files(
            queries={name: values for name, values in dapfam()["queries"].items() if name != "abstract_keywords"}
        ),
        "no keyword column among: query_id, ",
    ),
    "DAPFAM: the corpus in parts": (
        TA,
        lambda: {
            name.replace("corpus.parquet", "corpus-00000-of-00002.parquet"): body
            for name, body in dapfam_files().items()
        },
        r"has no file corpus\.parquet at revision 780f4011d602",
    ),
    "PatenTEB: a third label": (
        PARA,
        lambda: rows("para_problem", label=but_first(2)),
        r"row 1: label '2' is neither 0 nor 1",
    ),
    "PatenTEB: no training split": (
        BLOOM,
        lambda: without(patenteb_files("class_bloom"), "train/data.parquet"),
        r"no file train/data\.parquet",
    ),
    "PatenTEB: the pointer instead of the file": (
        PARA,
        lambda: {"test/data.parquet": POINTER},
        r"test/data\.parquet: .*Remedy",
    ),
    "PatentMap: one number of two patents": (
        ABS,
        lambda: content("documents", lambda records: records.append({"dnum": "EP0", "Content": {"title": "another"}})),
        "row 41: 'EP0' occurs twice .first in row 1",
    ),
    "PatentMap: gold of another form": (ABS, lambda: patentmap_files(gold={"EP1000": ["EP1"]}), "not of the form"),
    "PatentMap: no number": (
        ABS,
        lambda: content("documents", lambda records: records[2].pop("dnum")),
        "row 3: .*'dnum' is missing",
    ),
    "PatentMap: a section that is not a text": (
        ABS,
        lambda: content("documents", section("pa01", 7)),
        "row 6: .*'pa01' is not a text",
    ),
}


def key_of(task):
    return f"datalyes/{SET_OF[task]}" if task in SET_OF else PATENTMAP if task.startswith("PatentMap") else DAPFAM


def score(hub, task, files=None):
    """The scores of a task on the files as the hub serves them. Nothing is left of an earlier fetch, for the commit is
    always the pin's.
    """
    hub.repositories.clear()
    shutil.rmtree(constants.HF_HUB_CACHE, ignore_errors=True)
    asked.forget()
    for module in (tasks.dapfam, tasks.patentmap):
        for value in vars(module).values():
            getattr(value, "cache_clear", int)()
    released_layouts.publish(hub, key_of(task), files)
    found = scores_of(mteb.get_task(task), HashEncoder())
    return {name: value for name, value in found.items() if isinstance(value, int | float)}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SAME))
def test_the_same_data_in_another_form_have_the_same_score(hub, name):
    task, files = SAME[name]
    assert score(hub, task, files()) == pytest.approx(score(hub, task), nan_ok=True, abs=0, rel=0)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(COUNTED))
def test_what_is_odd_is_counted_and_the_rest_is_scored(hub, caplog, name):
    task, files, note = COUNTED[name]
    with caplog.at_level(logging.WARNING):
        found = score(hub, task, files())
    assert 0 <= found["main_score"] <= 1 or task == PARA
    assert note in caplog.text


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_would_make_a_score_wrong_is_refused(hub, name):
    task, files, problem = REFUSED[name]
    with pytest.raises(PatentMTEBError, match=problem) as refused:
        score(hub, task, files())
    assert "Remedy: " in str(refused.value)


def test_a_family_twice_alike_is_counted(hub, caplog):
    assert score(hub, TA, repeated_family()) and "repeat" in caplog.text


def test_a_family_judged_for_itself_is_counted(hub, caplog):
    tables = dapfam()
    query = tables["queries"]["query_id"][0]
    tables["corpus"] = {
        name: [*values, query if name == "relevant_id" else values[0]] for name, values in tables["corpus"].items()
    }
    for name, value in relation(query_id=query, relevant_id=query).items():
        tables["qrels_all"][name].append(value)
    assert score(hub, TA, dapfam_files(**tables)) and "itself" in caplog.text
