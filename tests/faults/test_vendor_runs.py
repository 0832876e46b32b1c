"""TREC runs as vendors write them, through ``patent-mteb runs score``: each is scored right, or refused with a remedy."""

from __future__ import annotations

import gzip
import json
import random

import ir_measures
import pytest
from ir_measures import Qrel, R

import patent_mteb
from patent_mteb.cli import main
from patent_mteb.experiments.evaluate import retrieval_task
from patent_mteb.models import bm25

TASK = "PatentMapAbsToAbsRetrieval.sample"


@pytest.fixture(scope="module")
def lines():
    ranking = patent_mteb.rank(bm25("dapfam"), TASK).to_dict()
    rows = ((q, d, rank, s) for q, found in ranking.items() for rank, (d, s) in enumerate(found.items(), 1))
    return [f"{query} Q0 {document} {rank} {score!r} vendor" for query, document, rank, score in rows]


@pytest.fixture(scope="module")
def right(lines, tmp_path_factory):
    """Recall@100 of the run by ir_measures."""
    task = retrieval_task(TASK)
    task.load_data()
    path = tmp_path_factory.mktemp("right") / "x.run"
    path.write_text("\n".join(lines))
    qrels = [Qrel(q, d, gain) for q, judged in task.tables.qrels.items() for d, gain in judged.items()]
    return ir_measures.calc_aggregate([R @ 100], qrels, list(ir_measures.read_trec_run(str(path))))[R @ 100]


def scored(tmp_path, capsys, written, *words):
    """Recall@100 as it is filed, or None, and what was said."""
    path = tmp_path / "vendor.run"
    path.write_bytes(written if isinstance(written, bytes) else "".join(f"{line}\n" for line in written).encode())
    capsys.readouterr()
    status = main(["runs", "score", str(path), "-t", TASK, "--out", str(tmp_path / "out"), *words])
    said = capsys.readouterr()
    told = " ".join(f"{said.out} {said.err}".split())
    assert "Traceback" not in told and "please report it" not in told and "RuntimeWarning" not in told
    found = list((tmp_path / "out").rglob(f"{TASK}.json"))
    assert (status == 0) == bool(found)
    if not found:
        assert "Remedy: " in told
        return None, told
    ((scores,),) = json.loads(found[0].read_text())["scores"].values()
    return scores["recall_at_100"], told


def with_field(lines, place, field, value):
    fields = lines[place].split()
    fields[field] = value
    return [*lines[:place], " ".join(fields), *lines[place + 1 :]]


def with_scores(lines, score):
    """``score`` of the rank and the score of each line."""
    split = [line.split() for line in lines]
    return [" ".join([*fields[:4], repr(score(int(fields[3]), float(fields[4]))), fields[5]]) for fields in split]


def with_ranks(lines, rank):
    split = [line.split() for line in lines]
    return [" ".join([*fields[:3], rank(int(fields[3])), *fields[4:]]) for fields in split]


RIGHT = {
    "as it is": lambda lines: lines,
    "line ends of Windows": lambda lines: "\r\n".join(lines).encode(),
    "tabs": lambda lines: [line.replace(" ", "\t") for line in lines],
    "byte order mark": lambda lines: b"\xef\xbb\xbf" + "\n".join(lines).encode(),
    "a query of another task": lambda lines: [*lines, f"ZZ Q0 {lines[0].split()[2]} 1 1.0 t"],
    "ranks from 0": lambda lines: with_ranks(lines, lambda rank: str(rank - 1)),
    "ranks all 0": lambda lines: with_ranks(lines, lambda rank: "0"),
    "no ranks": lambda lines: with_ranks(lines, lambda rank: "-"),
    "1e9 minus rank": lambda lines: with_scores(lines, lambda rank, score: 1e9 - rank),
    "near 1e-46": lambda lines: with_scores(lines, lambda rank, score: score * 1e-46),
    "near 1e40": lambda lines: with_scores(lines, lambda rank, score: score * 1e40),
    "near 1e308": lambda lines: with_scores(lines, lambda rank, score: score * 1e306),
    "one score of 1e308": lambda lines: with_field(lines, 0, 4, "1e308"),
    "no line end": lambda lines: "\n".join(lines).encode(),
    "tag cut off": lambda lines: "\n".join(lines).encode()[:-4],
}


@pytest.mark.slow
@pytest.mark.parametrize("case", RIGHT)
def test_scored_right(tmp_path, capsys, lines, right, case):
    assert scored(tmp_path, capsys, RIGHT[case](lines))[0] == pytest.approx(right, abs=6e-6)


CONTRADICTING = {
    "distances": lambda lines: with_scores(lines, lambda rank, score: -score),
    "one score for all": lambda lines: with_scores(lines, lambda rank, score: 1.0),
    "ranks upside down": lambda lines: with_ranks(lines, lambda rank: str(100_000 - rank)),
    "too close for doubles": lambda lines: with_scores(lines, lambda rank, score: 1 + score * 1e-18),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CONTRADICTING)
def test_ranks_that_contradict_scores_are_refused(tmp_path, capsys, lines, case):
    found, told = scored(tmp_path, capsys, CONTRADICTING[case](lines))
    assert found is None
    pairs = len(lines) - len({line.split()[0] for line in lines})
    assert "vendor.run, row " in told and f" of {pairs} pairs of neighbours" in told
    assert "--order rank, --order score" in told
    assert f"first of query '{lines[0].split()[0]}'" in told


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "order"),
    [("distances", "-score"), ("distances", "rank"), ("one score for all", "rank"), ("ranks upside down", "score")],
)
def test_an_order_that_is_said_counts_and_is_part_of_the_identity(tmp_path, capsys, lines, right, case, order):
    assert scored(tmp_path, capsys, CONTRADICTING[case](lines), "--order", order)[0] == pytest.approx(right, abs=6e-6)
    (meta,) = (tmp_path / "out").rglob("model_meta.json")
    assert json.loads(meta.read_text())["experiment_kwargs"] == {"order": order}
    words = f"runs score {tmp_path / 'vendor.run'} -t {TASK} --out {tmp_path / 'out'} --order={order}".split()
    assert main(words) == 0
    assert len(list((tmp_path / "out").rglob("model_meta.json"))) == 1


@pytest.mark.slow
def test_one_place_is_a_warning(tmp_path, capsys, lines, right):
    found, told = scored(tmp_path, capsys, with_field(lines, 3, 4, "-0.0"))
    assert found == pytest.approx(right, abs=6e-6)
    assert "disagree on 1 of" in told


def queries(lines):
    return list(dict.fromkeys(line.split()[0] for line in lines))


REFUSED = {
    "UTF-16": (lambda lines: "\n".join(lines).encode("utf-16"), "UTF-16"),
    "line ends of old Macs": (lambda lines: "\r".join(lines).encode(), "columns instead of 6"),
    "nan": (lambda lines: with_field(lines, 3, 4, "nan"), "row 4: the score 'nan'"),
    "inf": (lambda lines: with_field(lines, 3, 4, "inf"), "row 4: the score 'inf'"),
    "-inf": (lambda lines: with_field(lines, 3, 4, "-inf"), "row 4: the score '-inf'"),
    "beyond doubles": (lambda lines: with_field(lines, 3, 4, "1e400"), "row 4: the score '1e400'"),
    "decimal comma": (lambda lines: with_field(lines, 3, 4, "1,5"), "row 4: the score '1,5'"),
    "score is a word": (lambda lines: with_field(lines, 3, 4, "x"), "row 4: the score 'x'"),
    "hexadecimal": (lambda lines: with_field(lines, 3, 4, "0x1p3"), "row 4: the score '0x1p3'"),
    "first line again": (lambda lines: [*lines, lines[0]], "second ranking"),
    "first line twice": (lambda lines: [lines[0], *lines], "row 2: query"),
    "own patents added in front": (
        lambda lines: [*(f"{q} Q0 {q} 1 999 t" for q in queries(lines)), *lines],
        "second ranking",
    ),
    "five columns": (lambda lines: [" ".join(line.split()[:5]) for line in lines], "row 1: 5 columns"),
    "seven columns": (lambda lines: [f"{line} x" for line in lines], "row 1: 7 columns"),
    "a query is missing": (
        lambda lines: [line for line in lines if line.split()[0] != lines[0].split()[0]],
        "--allow-missing",
    ),
    "one query only": (
        lambda lines: [line for line in lines if line.split()[0] == lines[0].split()[0]],
        "--allow-missing",
    ),
    "unknown document": (lambda lines: with_field(lines, 0, 2, "ZZ999"), "'ZZ999', which is not in the corpus"),
    "shuffled": (lambda lines: random.Random(0).sample(lines, len(lines)), "sort the lines by query"),
    "empty": (lambda lines: [], "no ranking"),
    "blank lines": (lambda lines: ["", "", ""], "no ranking"),
    "zero byte in an id": (lambda lines: with_field(lines, 0, 2, lines[0].split()[2] + "\0"), "not in the corpus"),
    "underline in a number": (lambda lines: with_field(lines, 3, 4, "1_0.5"), "row 4: the score '1_0.5'"),
    "digits of another script": (lambda lines: with_field(lines, 3, 4, "\u0661\u0662"), "row 4: the score"),
    "gzip without its ending": (lambda lines: gzip.compress("\n".join(lines).encode()), "compressed"),
    "Latin-1": (lambda lines: "\n".join([*lines, "q Q0 d\xe9 1 1 t"]).encode("latin-1"), "not valid UTF-8"),
    "surrogate": (lambda lines: "\n".join(lines).encode() + b"\xed\xa0\x80 Q0 d 1 1 t", "not valid UTF-8"),
    "qrels": (lambda lines: [f"{query} 0 d 1" for query in queries(lines)], "row 1: 4 columns"),
    "comment": (lambda lines: ["# my run", *lines], "row 1: 3 columns"),
    "header": (lambda lines: ["query Q0 document rank score tag", *lines], "row 1: the score 'score'"),
    "a line of 5 MB": (lambda lines: ["x" * 5_000_000, *lines], "row 1: 1 columns"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_a_remedy(tmp_path, capsys, lines, case):
    make, message = REFUSED[case]
    found, told = scored(tmp_path, capsys, make(lines))
    assert found is None and message in told


@pytest.mark.slow
@pytest.mark.parametrize(
    "spelled",
    [
        lambda lines: [line.lower() for line in lines],
        lambda lines: with_field(lines, 0, 2, lines[0].split()[2] + "\u00a0"),
    ],
    ids=["lower case", "a no-break space behind it"],
)
def test_numbers_in_another_spelling_are_those_of_the_corpus(tmp_path, capsys, lines, right, spelled):
    assert scored(tmp_path, capsys, spelled(lines))[0] == pytest.approx(right, abs=6e-6)


@pytest.mark.slow
def test_fuse_takes_an_order_for_each_run(tmp_path, capsys, lines, right):
    (tmp_path / "a.run").write_text("\n".join(lines))
    (tmp_path / "b.run").write_text("\n".join(CONTRADICTING["distances"](lines)))
    words = f"runs fuse {tmp_path / 'a.run'} {tmp_path / 'b.run'} -t {TASK} --out {tmp_path / 'out'} -v 0".split()
    assert main(words) == 2
    assert "b.run, row" in capsys.readouterr().err
    assert main([*words, "--order", "score", "--order", "-score"]) == 0
    (path,) = (tmp_path / "out").rglob(f"{TASK}.json")
    ((scores,),) = json.loads(path.read_text())["scores"].values()
    assert scores["recall_at_100"] == pytest.approx(right, abs=6e-6)
    assert '"-score"' in path.with_name("model_meta.json").read_text()
    assert main([*words, "--order", "score", "--order", "rank"]) == 0
    assert len(list((tmp_path / "out").rglob(f"{TASK}.json"))) == 2, "another order is another result"
    assert main([*words, *["--order", "score"] * 3]) == 2
    assert "3 orders for 2 runs" in capsys.readouterr().err
