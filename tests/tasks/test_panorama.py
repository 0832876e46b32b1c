"""PANORAMA in its published layout, from a hub of this machine: grades, candidates and the authors' scores, computed a
second time.
"""

from __future__ import annotations

import html
import json
import math
import re

import mteb
import pytest
import released_layouts
from paths import SHARED
from search_calls import Cross
from second_reading import dense
from small_data import HashEncoder, scores_of

from patent_mteb.errors import DataError
from patent_mteb.experiments.run import unable
from patent_mteb.models import bm25
from patent_mteb.tasks.panorama import claim_of

ROWS = SHARED / "office-actions" / "benchmark"
TASKS = ("PanoramaPAR4PCReranking", "PanoramaPI4PCReranking")


def ndcg(gains, ideal):
    weight = [1 / math.log2(place + 2) for place in range(10)]
    return sum(map(float.__mul__, map(float, gains), weight)) / sum(
        map(float.__mul__, map(float, sorted(ideal, reverse=True)), weight)
    )


def expected(rows, rankings, single):
    """The authors' scores and nDCG of rankings of option keys."""
    scores = {"exact_match": [], "custom_score": [], "ndcg_at_10": []}
    for row, ranking in zip(rows, rankings, strict=True):
        gold, silver = set(map(str, row["gold_answers"])), set(map(str, row["silver_answers"]))
        gain = {key: 2 if key in gold else 1 if key in silver else 0 for key in json.loads(row["options"])}
        said = set(ranking[: 1 if single else len(gold)])
        scores["exact_match"].append(said <= gold if single else said == gold)
        points = 2 * len(said & gold) - len(said - gold - silver) - len(gold - said)
        scores["custom_score"].append(gain[ranking[0]] / 2 if single else max(0, points / (2 * len(gold))))
        scores["ndcg_at_10"].append(ndcg([gain[key] for key in ranking], gain.values()))
    return {name: sum(values) / len(values) for name, values in scores.items()}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "model"),
    [(TASKS[0], HashEncoder()), (TASKS[0], bm25()), (TASKS[1], Cross())],
    ids=["dense", "bm25", "cross-encoder"],
)
def test_scores_are_those_of_a_second_computation(hub, name, model):
    commit = released_layouts.publish(hub, released_layouts.PANORAMA)
    task = mteb.get_task(name)
    assert unable(model, task) == ""
    folder = name.removeprefix("Panorama").removesuffix("Reranking")
    rows = released_layouts.panorama()[folder]
    run = task.rank(model).to_dict()
    assert (task.metadata.revision, len(run)) == (commit, len(rows))
    rankings = []
    for row, ranking in zip(rows, run.values(), strict=True):
        options = json.loads(row["options"])
        assert len(ranking) == len(options) or isinstance(model, type(bm25()))  # which leaves out what shares no word
        key_of = {option["patent_id"]: key for key, option in options.items()} if folder == "PAR4PC" else {}
        rankings.append([key_of[document] if key_of else document.rpartition("/")[2] for document in ranking])
        assert set(rankings[-1]) <= set(options), "the candidates and nothing else"
    found = scores_of(task, model)
    assert {key: found[key] for key in ("exact_match", "custom_score", "ndcg_at_10")} == pytest.approx(
        expected(rows, rankings, folder == "PI4PC"), abs=1e-5
    )
    assert found["main_score"] == found["ndcg_at_10"]


@pytest.mark.parametrize("name", TASKS)
def test_every_published_field_is_in_the_texts_or_said_to_be_left_out(hub, name):
    released_layouts.publish(hub, released_layouts.PANORAMA)
    task = mteb.get_task(name)
    task.load_data()
    folder = name.removeprefix("Panorama").removesuffix("Reranking")
    row = released_layouts.panorama()[folder][1]  # claim 2 of its application
    claims = json.loads(row["context"])["claims"]
    assert task.tables.queries["15090001#2"] == " ".join(claim.partition(" ")[2] for claim in claims), (
        "behind the claim it depends on"
    )
    first = json.loads(row["options"])
    if folder == "PAR4PC":
        document = first["G"]
        words = (document["title"], document["abstract"], document["claims"][0])
        assert task.tables.corpus[document["patent_id"]] == " ".join(words)
        assert task.tables.qrels["15090001#2"] == {
            first[key]["patent_id"]: {"A": 2, "G": 2, "H": 1}.get(key, 0) for key in first
        }
    else:
        assert task.tables.corpus["15090001#2/36"] == first["36"]
        assert task.tables.qrels["15090001#2"] == {f"15090001#2/{key}": {"8": 2, "36": 1}.get(key, 0) for key in first}


def test_structures_and_texts_with_commas_are_read_alike(hub):
    tables = {}
    for nested in (str, dict):
        rows = released_layouts.panorama(nested=nested)
        for row in rows["PAR4PC"]:
            row |= (
                {name: ", ".join(row[name]) for name in ("gold_answers", "silver_answers", "negative_answers")}
                if nested is dict
                else {}
            )
        released_layouts.publish(hub, released_layouts.PANORAMA, released_layouts.panorama_files(**rows))
        task = mteb.get_task("PanoramaPAR4PCReranking")
        task.load_data()
        tables[nested] = (dict(task.tables.corpus), dict(task.tables.queries), task.tables.qrels)
    assert tables[str] == tables[dict]


def changed(row, **fields):
    return {**row, **fields}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"options": "A, B"}, r"row 2.*'options' is neither a structure nor JSON"),
        ({"gold_answers": ["Z"]}, r"row 2.*the answer 'Z' is not among the options A, B"),
        (
            {"context": json.dumps({"title": "t", "abstract": "a", "claims": "1. A pump."})},
            r"row 2.*context.claims is not a list",
        ),
        (
            {"options": json.dumps({"A": {"patent_id": "US1", "title": "t", "abstract": "a"}})},
            r"row 2.*option 'A' has no claims",
        ),
    ],
)
def test_surprises_are_refused_with_their_row(hub, change, said):
    rows = released_layouts.panorama()["PAR4PC"]
    rows[1] = changed(rows[1], **change)
    released_layouts.publish(hub, released_layouts.PANORAMA, released_layouts.panorama_files(PAR4PC=rows))
    with pytest.raises(DataError, match=said):
        mteb.get_task("PanoramaPAR4PCReranking").load_data()


def test_questions_that_cannot_be_asked_are_counted(hub, caplog):
    rows = released_layouts.panorama()["PAR4PC"]
    rows[0] = changed(rows[0], claim_number=7)
    rows[2] = changed(rows[2], gold_answers=[], negative_answers=list("ABCDEFG"))
    rows[3] = changed(rows[3], negative_answers=["B"])
    released_layouts.publish(hub, released_layouts.PANORAMA, released_layouts.panorama_files(PAR4PC=rows))
    task = mteb.get_task("PanoramaPAR4PCReranking")
    task.load_data()
    assert len(task.tables.qrels) == len(rows) - 2
    for told in (
        "1 questions whose claim the application does not have",
        "1 questions without a gold answer",
        "options that no answer names",
    ):
        assert told in caplog.text


def test_a_limited_task_keeps_its_candidates(hub):
    released_layouts.publish(hub, released_layouts.PANORAMA)
    task = mteb.get_task("PanoramaPAR4PCReranking").limit_to(2)
    run = task.rank(HashEncoder()).to_dict()
    assert [len(ranking) for ranking in run.values()] == [8, 8]


def test_claims_of_the_published_samples_kind():
    """The first text of a published sample holds the whole set."""
    claims = [
        "1. A pump. 2. The pump of claim 1, in red. 3. A valve.",
        "2. The pump of claim 1, in red.",
        "3. A valve.",
    ]
    assert [claim_of(claims, number) for number in (1, 2, 3, 4)] == [
        "A pump.",
        "A pump. The pump of claim 1, in red.",
        "A valve.",
        "",
    ]
    assert claim_of(["A pump.", "The pump of claim 1, in red."], 2) == "A pump. The pump of claim 1, in red."


@pytest.mark.slow
@pytest.mark.skipif(not ROWS.is_dir(), reason="the rows of PANORAMA's repository are not in ../shared/data")
@pytest.mark.parametrize("name", TASKS)
def test_the_real_rows_are_read(hub, name):
    """Ten published rows a task, nested fields as JSON texts, as the authors' script writes them."""
    folder = name.removeprefix("Panorama").removesuffix("Reranking")
    rows = [json.loads(path.read_text("utf-8")) for path in sorted((ROWS / folder.lower()).glob("*.json"))]
    nested = ("context", "options", "prior_art_specification")
    written = [{key: json.dumps(value) if key in nested else value for key, value in row.items()} for row in rows]
    released_layouts.publish(hub, released_layouts.PANORAMA, released_layouts.panorama_files(**{folder: written}))
    task = mteb.get_task(name)
    task.load_data()
    assert len(rows) == 10
    for row, (query, judged) in zip(rows, task.tables.qrels.items(), strict=True):
        assert query.startswith(f"{row['application_number']}#{row['claim_number']}")
        grades = dict.fromkeys(row["silver_answers"], 1) | dict.fromkeys(row["gold_answers"], 2)
        for key, option in row["options"].items():
            document = option["patent_id"] if folder == "PAR4PC" else f"{query}/{key}"
            text = (
                f"{option['title']} {option['abstract']} {' '.join(option['claims'])}" if folder == "PAR4PC" else option
            )
            assert judged[document] == grades.get(key, grades.get(int(key) if key.isdigit() else key, 0))
            assert dense(task.tables.corpus[document]) == dense(html.unescape(text))
        assert len(judged) == len(row["options"])
        own = re.sub(r"^\s*\d+\s*\.\s*", "", row["context"]["claims"][row["claim_number"] - 1])
        own = re.split(r"(?<=[.])\s*2\s*\.\s", own)[0]  # the first text goes on with the other claims
        assert dense(task.tables.queries[query]).endswith(dense(own)), "behind the claims that it depends on"
