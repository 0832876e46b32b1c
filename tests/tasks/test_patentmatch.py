"""PatentMatch in its published layout: every field, the leak-clean split, and the scores as scikit-learn and counting
find them.
"""

from __future__ import annotations

import csv
import io
import itertools

import mteb
import numpy as np
import pytest
from sklearn.metrics import average_precision_score
from small_data import HashEncoder, scores_of

from patent_mteb.errors import DataError
from patent_mteb.tasks import patentmatch

COLUMNS = ("", "claim_id", "patent_application_id", "cited_document_id", "text", "text_b", "label", "date")
TASK = "PatentMatchUltraBalancedPairs"


def row(number, application, document, claim, paragraph, label):
    return (str(number), f"{application}_{number // 2}", application, document, claim, paragraph, label, "20130101")


def rows_of(split, count, seed):
    draw = np.random.default_rng(seed)
    words = [f"word{number}" for number in range(60)]

    def text(length):
        return " ".join(draw.choice(words, length))

    found = []
    for number in range(0, count, 2):
        claim = f'A device "{text(3)}"\twith {text(5)}.'  # what quotation marks are for
        found += [
            row(number + one, f"EP{split}{number}", f"US{split}{number}{one}", claim, text(9), str(1 - one))
            for one in (0, 1)
        ]
    return found


def write(folder, variant="ultrabalanced", **splits):
    folder.mkdir(exist_ok=True)
    for split, rows in splits.items():
        out = io.StringIO()
        csv.writer(out, delimiter="\t", lineterminator="\n").writerows([COLUMNS, *rows])
        (folder / f"patentmatch_{split}_{variant}.tsv").write_text(out.getvalue(), "utf-8")


@pytest.fixture
def data(tmp_path, monkeypatch):
    train, test = rows_of("train", 10, 1), rows_of("test", 40, 2)
    chained = (*test[4][:4], train[0][4], *test[4][5:])  # its claim stands in the training file
    test[4] = chained
    test[6] = (
        *test[6][:3],
        test[5][3],
        *test[6][4:],
    )  # and this one shares a document with the other pair of that application
    write(tmp_path / "PatentMatch", train=train, test=test)
    monkeypatch.setenv("PATENT_MTEB_DATA", str(tmp_path))
    return train, test


def connected(test, train):
    """The leak once more, by walking from the training rows until nothing is added."""
    links = [
        {("i", one[1]), ("a", one[2]), ("d", one[3]), ("c", " ".join(one[4].split())), ("p", one[5])}
        for one in (*test, *train)
    ]
    reached = set.union(*links[len(test) :])
    while grown := [mark for marks in links if marks & reached for mark in marks - reached]:
        reached |= set(grown)
    return [bool(marks & reached) for marks in links[: len(test)]]


def test_scores_are_those_of_a_second_computation(data):
    train, test = data
    model, task = HashEncoder(), mteb.get_task(TASK)
    found = scores_of(task, model)
    leaking = connected(test, train)
    assert leaking == [4 <= place <= 7 for place in range(len(test))]
    assert (found["n_leaking"], found["n_test"]) == (4, 36)

    def vector(text):
        made = model.vector(" ".join(text.split()))
        return made / np.linalg.norm(made)

    cosine = [float(vector(one[4]) @ vector(one[5])) for one in test]
    label = [int(one[6]) for one in test]
    kept = [place for place, gone in enumerate(leaking) if not gone]
    assert (
        found["main_score"]
        == found["ap"]
        == pytest.approx(average_precision_score([label[i] for i in kept], [cosine[i] for i in kept]))
    )
    assert found["official_ap"] == pytest.approx(average_precision_score(label, cosine))
    order = [
        (cosine[x] > cosine[a]) + (cosine[x] == cosine[a]) / 2
        for x, a in itertools.product(kept, kept)
        if label[x] > label[a]
    ]
    assert found["roc_auc"] == pytest.approx(sum(order) / len(order))
    of_claims = [float(cosine[place] > cosine[place + 1]) for place in kept if place % 2 == 0]
    assert found["claim_auc"] == pytest.approx(sum(of_claims) / len(of_claims))
    assert found["n_claims"] == len(of_claims) == 18


def test_every_published_field_is_read(data, tmp_path):
    _, test = data
    pairs = patentmatch.read_pairs(tmp_path / "PatentMatch" / "patentmatch_test_ultrabalanced.tsv")
    for pair, own in zip(pairs, test, strict=True):
        assert (pair.claim_id, pair.application, pair.document, str(pair.label)) == (own[1], own[2], own[3], own[6])
        assert (pair.claim, pair.paragraph) == (" ".join(own[4].split()), own[5])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda one: (*one[:6], "Y", one[7]), r"row 3.*the label 'Y' is neither 1 \(X\) nor 0 \(A\)"),
        (lambda one: (*one[:5], "", *one[6:]), r"row 3.*'text_b' is empty"),
        (lambda one: one[:7], r"row 3.*the row has 7 cells, the heading 8"),
    ],
)
def test_surprises_are_refused_with_their_row(data, tmp_path, change, said):
    train, test = data
    write(tmp_path / "PatentMatch", train=train, test=[test[0], change(test[1]), *test[2:]])
    with pytest.raises(DataError, match=said):
        mteb.get_task(TASK).load_data()


def test_where_the_files_are_not_there_the_way_is_said(monkeypatch, tmp_path):
    monkeypatch.delenv("PATENT_MTEB_DATA", raising=False)
    with pytest.raises(DataError, match=r"patentmatch_train_ultrabalanced\.tsv"):
        mteb.get_task(TASK).load_data()
