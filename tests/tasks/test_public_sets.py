"""NOC4PC, patent phrases and HUPD in their published layouts, from a hub of this machine; scores computed again."""

from __future__ import annotations

import html
import io
import json
import re
import tarfile
from collections import Counter
from pathlib import Path

import mteb
import numpy as np
import pytest
import released_layouts
from paths import SHARED
from second_reading import dense
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score
from small_data import HashEncoder, scores_of

from patent_mteb.errors import DataError
from patent_mteb.tasks import hupd
from patent_mteb.tasks.hupd import read_applications

NOC, PHRASES = "PanoramaNOC4PCClassification", "PatentPhraseSimilaritySTS"
DECISION, IPC = "HUPDDecisionClassification", "HUPDIPCClassification"
ROWS = SHARED / "office-actions" / "benchmark" / "noc4pc"


def embeddings(texts):
    """The vectors of the model, text by text."""
    model = HashEncoder()
    return np.stack([np.asarray(model.encode([{"text": [text]}], task_metadata=None))[0] for text in texts])


def probed(train, test):
    """Macro F1 and accuracy of scikit-learn's logistic regression on rows of (label, vector)."""
    names, true = ([label for label, _ in part] for part in (train, test))
    x, y = (np.stack([vector for _, vector in part]) for part in (train, test))
    found = LogisticRegression(max_iter=1000, random_state=42).fit(x, names).predict(y)
    return f1_score(true, found, average="macro"), accuracy_score(true, found)


@pytest.fixture(autouse=True)
def nothing_read_before():
    """Two hubs of these tests give the same commit to other files, which no real hub does."""
    read_applications.cache_clear()


@pytest.mark.slow
def test_noc4pc_concatenates_the_claim_in_full_and_the_cited_paragraphs(hub):
    commit = released_layouts.publish(hub, released_layouts.PANORAMA)
    parts = {}
    for split in ("train", "test"):
        parts[split] = []
        for row in released_layouts.noc4pc(split):
            claims = [one.partition(" ")[2] for one in json.loads(row["context"])["claims"]]
            claim = " ".join(dict.fromkeys([claims[0], claims[row["claim_number"] - 1]]))
            first, second = json.loads(row["prior_art_specifications"])
            art = [first["title"], first["abstract"], *(one["content"] for one in second["paragraphs"])]
            vector = np.hstack(embeddings([claim, " ".join(art)]))
            parts[split].append((json.loads(row["answer"])["code"], vector))
    task = mteb.get_task(NOC)
    found = scores_of(task, HashEncoder())
    assert task.metadata.revision == commit and found["n_test"] == len(parts["test"])
    assert (found["macro_f1"], found["accuracy"]) == pytest.approx(probed(**parts), abs=1e-5)
    assert found["main_score"] == found["macro_f1"] and {"f1_102", "f1_103", "f1_ALLOW"} <= found.keys()


@pytest.mark.slow
@pytest.mark.skipif(not ROWS.is_dir(), reason="the rows of PANORAMA's repository are not in ../shared/data")
def test_the_real_rows_of_noc4pc_are_read(hub):
    rows = [json.loads(path.read_text("utf-8")) for path in sorted(ROWS.glob("*.json"))]
    assert len(rows) == 10 and {row["answer"]["code"] for row in rows} == {"102"}
    written = [
        row | {name: json.dumps(row[name]) for name in ("context", "prior_art_specifications", "answer")}
        for row in rows
    ]
    written[0]["answer"] = written[9]["answer"] = "103"  # a task needs two labels
    train = [row | {"application_number": "1"} for row in written[5:]]
    files = released_layouts.panorama_files(NOC4PC=written[:5])
    files["NOC4PC/train.parquet"] = released_layouts.table_of(train)
    released_layouts.publish(hub, released_layouts.PANORAMA, files)
    task = mteb.get_task(NOC)
    task.load_data()
    data = task.loaded_split
    assert data.labels == {"train": ["102"] * 4 + ["103"], "test": ["103"] + ["102"] * 4}
    for row, claim, art in zip(rows[:5], data.texts["test claim"], data.texts["test prior art"], strict=True):
        own = row["context"]["claims"][row["claim_number"] - 1].split(maxsplit=1)[1]
        own = re.split(r"(?<=[.])\s*2\s*\.\s", own)[0]  # the first text goes on with the other claims
        assert dense(claim).endswith(dense(html.unescape(own)))
        cited = [
            [one["content"] for one in document["paragraphs"]] or [document["title"], document["abstract"]]
            for document in row["prior_art_specifications"]
        ]
        assert dense(art) == dense(html.unescape("".join(text for texts in cited for text in texts)))


def test_phrases_are_correlated_with_the_grades_and_within_sections(hub):
    released_layouts.publish(hub, released_layouts.PHRASES)
    rows = released_layouts.phrases()
    first, second = embeddings(rows["anchor"]), embeddings(rows["target"])
    cosines = (first * second).sum(1) / np.linalg.norm(first, axis=1) / np.linalg.norm(second, axis=1)
    grades, sections = np.array(rows["score"]), np.array([one[0].lower() for one in rows["context"]])
    found = scores_of(mteb.get_task(PHRASES), HashEncoder())
    assert found["cosine_pearson"] == found["main_score"] == pytest.approx(np.corrcoef(cosines, grades)[0, 1], abs=1e-5)
    for section in "habg":
        part = sections == section
        wanted = np.corrcoef(cosines[part], grades[part])[0, 1]
        assert found[f"cpc_{section}_cosine_pearson"] == pytest.approx(wanted, abs=1e-5)
        assert found[f"cpc_{section}_n_pairs"] == part.sum()


@pytest.mark.slow
def test_hupd_is_split_by_filing_date(hub, caplog):
    released_layouts.publish(hub, released_layouts.HUPD)
    rows = released_layouts.hupd()
    for name, label, text in (
        (DECISION, lambda row: row["decision"], lambda row: row["claims"]),
        (IPC, lambda row: row["main_ipcr_label"][:4], lambda row: f"{row['title']} {row['abstract']}"),
    ):
        kept = [row for row in rows if name == IPC or row["decision"] in ("ACCEPTED", "REJECTED")]
        vectors = embeddings([text(row) for row in kept])
        parts = {"train": [], "test": []}
        for row, vector in zip(kept, vectors, strict=True):
            parts["train" if row["filing_date"] <= "20160121" else "test"].append((label(row), vector))
        found = scores_of(mteb.get_task(name), HashEncoder())
        assert (found["macro_f1"], found["accuracy"]) == pytest.approx(probed(**parts), abs=1e-5)
        assert found["n_test"] == len(parts["test"])
    assert "8 applications without a label of the task (skipped)" in caplog.text


def test_hupd_counts_what_it_skips_and_refuses_a_broken_archive(hub, caplog, tmp_path, monkeypatch):
    rows = released_layouts.hupd()
    rows[2]["filing_date"] = ""
    rows[3]["main_ipcr_label"] = ""
    files = released_layouts.hupd_files([*rows, rows[0], "{broken"])
    released_layouts.publish(hub, released_layouts.HUPD, files)
    task = mteb.get_task(IPC)
    task.load_data()
    for words in (
        "1 documents without a number or a filing date (skipped)",
        "1 documents that repeat an application (skipped)",
        "1 documents that are not JSON objects (skipped)",
        "1 applications without a label of the task (skipped)",
    ):
        assert words in caplog.text
    assert len(read_applications(task.source)) == len(rows) - 1
    archive = tmp_path / "data" / "HUPD" / "hupd" / "data" / "sample-jan-2016.tar.gz"
    archive.parent.mkdir(parents=True)
    monkeypatch.setenv("PATENT_MTEB_DATA", str(tmp_path / "data"))
    content = files["data/sample-jan-2016.tar.gz"]
    for written in (content[: len(content) // 2], b"no archive", json.dumps(rows[0]).encode()):
        archive.write_bytes(written)
        with pytest.raises(DataError, match=r"archive|compressed"):
            mteb.get_task(IPC).load_data()
    archive.unlink()
    with pytest.raises(DataError):
        mteb.get_task(IPC).load_data()


def changed(rows, **values):
    rows[1] |= values
    return rows


@pytest.mark.parametrize(
    ("name", "files", "said"),
    [
        (NOC, {"answer": "perhaps"}, r"row 2: 'answer' is neither a structure nor JSON of one"),
        (NOC, {"prior_art_specifications": "[0045] A circuit"}, r"row 2: 'prior_art_specifications' is neither"),
        (NOC, {"context": "{}"}, r"row 2: context.claims is not a list of texts"),
        (PHRASES, {"score": 3.0}, r"row 2: score 3.0 is not one of 0, 0.25, 0.5, 0.75, 1"),
        (PHRASES, {"score": None}, r"row 2: score None is not one of"),
    ],
)
def test_surprises_are_refused_with_their_row(hub, name, files, said):
    if name == NOC:
        content = released_layouts.panorama_files(NOC4PC=changed(released_layouts.noc4pc("test"), **files))
        released_layouts.publish(hub, released_layouts.PANORAMA, content)
    else:
        ((column, value),) = files.items()
        values = released_layouts.phrases()[column]
        values[1] = value
        released_layouts.publish(hub, released_layouts.PHRASES, released_layouts.phrases_files(**{column: values}))
    with pytest.raises(DataError, match=said):
        mteb.get_task(name).load_data()


def test_answers_of_another_kind_and_unknown_claims_are_counted(hub, caplog):
    rows = released_layouts.noc4pc("test")
    rows[0]["answer"] = json.dumps({"code": "REJECT_UNKNOWN"})
    rows[1]["claim_number"] = 99
    rows[5]["prior_art_specifications"] = "[]"
    rows[6]["answer"] = json.loads(rows[6]["answer"])["code"]  # a code alone is an answer
    released_layouts.publish(hub, released_layouts.PANORAMA, released_layouts.panorama_files(NOC4PC=rows))
    task = mteb.get_task(NOC)
    task.load_data()
    assert len(task.loaded_split.labels["test"]) == len(rows) - 3
    for reason in ("with another answer than", "whose claim the application", "without a text of the prior art"):
        assert f"1 rows {reason}" in caplog.text


@pytest.mark.parametrize("name", [NOC, PHRASES, DECISION])
def test_where_the_data_are_not_there_the_reason_is_said(monkeypatch, tmp_path, name):
    monkeypatch.setenv("PATENT_MTEB_DATA", str(tmp_path))
    task = mteb.get_task(name)
    (folder := Path(tmp_path) / task.data.key).mkdir(parents=True)
    (folder / "README.md").write_text("nothing else")
    with pytest.raises(DataError, match=r"the file is missing"):
        mteb.get_task(name).load_data()


def documents(path):
    counts = Counter()
    return list(hupd._documents(path, counts)), counts


@pytest.mark.parametrize(
    "document", ["[" * 100_000, '{"title": "\\ud800"}', '{"title": "'], ids=["deep", "surrogate", "cut"]
)
def test_hupd_counts_documents_that_cannot_be_read(tmp_path, document):
    rows = released_layouts.hupd()
    files = released_layouts.hupd_files([rows[0], document, rows[1]])
    (tmp_path / "a.tar.gz").write_bytes(files["data/sample-jan-2016.tar.gz"])
    assert documents(tmp_path / "a.tar.gz") == (rows[:2], {"documents that are not JSON objects (skipped)": 1})


def test_hupd_refuses_a_bomb_before_it_is_unpacked(tmp_path):
    """20 MiB of blanks in an archive of a few kilobytes: more than 200 times its size, and more than 16 MiB."""
    with tarfile.open(tmp_path / "bomb.tar.gz", "w:gz") as archive:
        member = tarfile.TarInfo("sample/2016/14900000.json")
        member.size = 20 << 20
        archive.addfile(member, io.BytesIO(b" " * member.size))
    with pytest.raises(DataError, match=r"bomb\.tar\.gz: it unpacks to more than 200 times its size.*14900000\.json"):
        documents(tmp_path / "bomb.tar.gz")
