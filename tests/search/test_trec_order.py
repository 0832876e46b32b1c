"""Runs of other systems: the order of doubles survives single precision, ranks that contradict scores are counted."""

import logging
import math
from itertools import pairwise

import numpy as np
import pytest
import pytrec_eval

from patent_mteb.errors import DataError
from patent_mteb.search.fusion import Linear, fuse
from patent_mteb.search.run import Run
from patent_mteb.search.trec import read_run

DEPTH = 200
DOCUMENTS = [f"d{number:03}" for number in range(DEPTH)]


def written(path, results, ranks=None):
    """A file with repr(score), ranks by score and by id where scores are equal, or those given."""
    lines = []
    for query, found in results.items():
        order = sorted(found, key=lambda document: (found[document], document), reverse=True)
        for place, document in enumerate(order, start=1):
            rank = ranks[query][document] if ranks else place
            lines.append(f"{query} Q0 {document} {rank} {found[document]!r} vendor\n")
    path.write_text("".join(lines))
    return path


def ranking(found):
    return sorted(found, key=lambda document: (found[document], document), reverse=True)


def drawn(make, seed=0, queries=5):
    draw = np.random.default_rng(seed)
    documents = {f"q{n}": draw.permutation(DOCUMENTS).tolist() for n in range(queries)}
    return {query: dict(zip(own, make(draw).tolist(), strict=True)) for query, own in documents.items()}


HARD = {
    "1e9 minus rank": lambda draw: 1e9 - draw.permutation(DEPTH),
    "time stamps in nanoseconds": lambda draw: 1.7e18 + 1024.0 * draw.permutation(DEPTH),
    "near 1e-46": lambda draw: draw.random(DEPTH) * 1e-46,
    "below every normal single": lambda draw: draw.random(DEPTH) * 1e-40,
    "denormal doubles": lambda draw: draw.integers(1, 400, DEPTH) * 5e-324,
    "near 1e308": lambda draw: draw.standard_normal(DEPTH) * 4e307,
    "one at 1e308": lambda draw: np.append(1e308, draw.random(DEPTH - 1)),
    "one at -1e308": lambda draw: np.append(-1e308, draw.random(DEPTH - 1)),
    "the greatest singles": lambda draw: -3.4028234e38 + 1e25 * draw.permutation(DEPTH),
    "cosines a double apart": lambda draw: 0.9 + draw.permutation(DEPTH) * 2**-53,
    "around zero": lambda draw: (draw.permutation(DEPTH) - DEPTH / 2) * 1e-46,
    "zeros and signs": lambda draw: draw.choice([0.0, -0.0, 5e-324, -5e-324, 1e-45, -1e-45, 1.0], DEPTH),
    "probabilities over 300 orders": lambda draw: np.exp(-700 * draw.random(DEPTH)),
    "with ties": lambda draw: 1e9 - draw.integers(0, 20, DEPTH),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("case", HARD)
def test_the_order_of_doubles_survives_single_precision(tmp_path, case):
    """Also where mteb, trec_eval or another reader of the saved file compares in single precision."""
    results = drawn(HARD[case])
    path = written(tmp_path / "vendor.run", results)
    run = Run.load(path)
    assert run.scores.dtype == np.float32 and np.isfinite(run.scores).all()
    for query, found in run.to_dict().items():
        assert list(found) == ranking(results[query])
        doubles = pairwise(results[query][document] for document in found)
        assert [a == b for a, b in doubles] == [a == b for a, b in pairwise(found.values())], "equal stays equal"
    run.save(tmp_path / "again.run")
    assert Run.load(tmp_path / "again.run").to_dict() == run.to_dict()
    qrels = {query: {document: 1} for query, found in results.items() for document in ranking(found)[77:78]}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank"}).evaluate(run.to_dict())
    assert [round(1 / one["recip_rank"]) for one in theirs.values()] == [78] * len(results)


@pytest.mark.parametrize("case", ["near 1e-46", "near 1e308", "1e9 minus rank"])
def test_a_linear_fusion_is_that_of_the_doubles(tmp_path, case):
    results, other = drawn(HARD[case]), drawn(lambda draw: draw.random(DEPTH), seed=1)
    first, second = (Run.load(written(tmp_path / f"{n}.run", one)) for n, one in enumerate((results, other)))
    fused = fuse(first, second, Linear(0.3), DEPTH).to_dict()
    for query in results:
        scaled = []
        for found in (results[query], other[query]):
            low, span = min(found.values()), math.ldexp(max(found.values()), -2) - math.ldexp(min(found.values()), -2)
            scaled.append({document: (score / 4 - low / 4) / span for document, score in found.items()})
        expected = {document: 0.7 * scaled[0][document] + 0.3 * scaled[1][document] for document in DOCUMENTS}
        assert fused[query] == pytest.approx(expected, abs=2e-6)


def test_what_single_precision_holds_stays_as_it_is_written(tmp_path):
    results = drawn(lambda draw: np.round(30 * draw.random(DEPTH), 3))
    assert read_run(written(tmp_path / "bm25.run", results)) == results


def test_scores_next_to_ones_that_are_separated_are_only_rounded(tmp_path):
    """Doubles that single precision would merge are one step apart; the others, below 0 too, are the nearest floats."""
    apart = {"a": 3.0000000001, "b": 3.0, "c": 0.0}
    kept = {"d": -1.1, "e": -2.3, "f": -1e-3, "g": -7.7, "h": -0.9}
    found = read_run(written(tmp_path / "x.run", {"q": apart | kept}))["q"]
    assert {document: found[document] for document in kept} == {
        document: float(np.float32(score)) for document, score in kept.items()
    }
    assert sorted(found, key=found.__getitem__, reverse=True) == ["a", "b", "c", "f", "h", "d", "e", "g"]
    assert (found["a"], found["b"], found["c"]) == (3.0, float(np.nextafter(np.float32(3), np.float32(0))), 0.0)


def test_a_rank_of_18_digits_is_a_rank(tmp_path):
    (tmp_path / "x.run").write_text(f"q Q0 a {10**18 - 1} 3 t\nq Q0 b 1 2 t\n")
    assert ranking(read_run(tmp_path / "x.run", order="rank")["q"]) == ["b", "a"]


def test_a_few_contradictions_are_a_warning_and_more_than_one_in_a_hundred_are_refused(tmp_path, caplog):
    results = {"p": {f"d{n:03}": float(n) for n in range(101)}, "q": {f"d{n:03}": float(n) for n in range(101)}}
    own = {query: dict(enumerate(ranking(found))) for query, found in results.items()}
    ranks = {query: {document: rank for rank, document in order.items()} for query, order in own.items()}
    ranks["q"]["d100"], ranks["q"]["d099"] = ranks["q"]["d099"], ranks["q"]["d100"]
    ranks["q"]["d050"], ranks["q"]["d049"] = ranks["q"]["d049"], ranks["q"]["d050"]
    with caplog.at_level(logging.WARNING):
        assert read_run(written(tmp_path / "two.run", results, ranks)) == results
    assert "two.run, row 102: ranks and scores disagree on 2 of 200 pairs" in caplog.text and "query 'q'" in caplog.text
    ranks["p"]["d007"], ranks["p"]["d006"] = ranks["p"]["d006"], ranks["p"]["d007"]
    with pytest.raises(
        DataError,
        match=r"three\.run, row 94: .* disagree on 3 of 200 .*\(3 .*opposite order, 0 equal.*'p'.*--order rank",
    ):
        read_run(written(tmp_path / "three.run", results, ranks))


def test_equal_scores_contradict_ranks_that_are_not_the_order_of_ids(tmp_path):
    same = {"q": dict.fromkeys(DOCUMENTS, 1.0)}
    upwards = {"q": {document: rank for rank, document in enumerate(DOCUMENTS)}}
    assert read_run(written(tmp_path / "own.run", same)) == same
    silent = {"q": dict.fromkeys(DOCUMENTS, 0)}
    assert read_run(written(tmp_path / "lines.run", same, silent)) == same
    path = written(tmp_path / "upwards.run", same, upwards)
    with pytest.raises(DataError, match=r"disagree on 199 of 199 .*\(0 have .* 199 equal scores\)"):
        read_run(path)
    assert ranking(read_run(path, order="rank")["q"]) == DOCUMENTS
    path.write_text("".join(f"q Q0 {document} 0 1.0 t\n" for document in DOCUMENTS))
    with pytest.raises(DataError, match="disagree on 199 of 199"):
        read_run(path)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("q Q0 a 1 3 t\nq Q0 b first 2 t\n", "row 2: the rank 'first' is not a whole number"),
        ("q Q0 a 1 3 t\nq Q0 b 1.5 2 t\n", "row 2: the rank '1.5' is not"),
        ("q Q0 a 1 3 t\nq Q0 b -1 2 t\n", "row 2: the rank '-1' is not"),
        (f"q Q0 a {'9' * 5000} 3 t\n", "row 1: the rank '9+.*' is not"),
        (
            "q Q0 a 1 3 t\nq Q0 b 2 1 t\nq Q0 c 1 2 t\n",
            "row 3: query 'q' has two documents of rank 1, the first in row 1",
        ),
    ],
)
def test_ranks_that_order_nothing_are_refused_where_they_decide(tmp_path, lines, message):
    path = tmp_path / "x.run"
    path.write_text(lines)
    with pytest.raises(DataError, match=message):
        read_run(path, order="rank")
    assert read_run(path)["q"]["a"] == 3
