"""A against B: numbers against simple computations, words against numbers, and what is refused."""

import json
from dataclasses import replace

import numpy as np
import pytest
from report_folders import HEADLINE, add, model_folder
from scipy.stats import ttest_rel

from patent_mteb import cli, compare
from patent_mteb.report.collect import ReportError
from patent_mteb.report.comparison import Comparison

N = 400
BM25 = "patent-mteb/bm25-bm25s"


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """BM25, a model that is clearly worse, and one that hardly differs; with rankings of the first two."""
    rng = np.random.default_rng(7)
    first = np.round(rng.random(N), 3)
    scores = {
        BM25: first,
        "acme/worse": np.round(np.clip(first - 0.1 * rng.random(N), 0, 1), 3),
        "acme/near": np.round(np.clip(first + rng.normal(0, 0.2, N), 0, 1), 3),
    }
    root = tmp_path_factory.mktemp("compared")
    for model, values in scores.items():
        parts = {"in": [value if at % 2 else None for at, value in enumerate(values)]}
        path = add(model_folder(root, model), HEADLINE, queries=values, parts=parts)
        if path is not None and model != "acme/near":
            lines = [f"q{at} Q0 d{at}-{rank} {rank + 1} {10 - rank} x\n" for at in range(N) for rank in range(7)]
            path.with_suffix(".run").write_text("".join(lines))
            path.with_suffix(".qrels").write_text("".join(f"q{at} 0 d{at}-1 1\n" for at in range(N)))
    return root, scores


def test_the_numbers_are_those_of_a_simple_computation(results):
    root, scores = results
    found = compare(root, "bm25", "worse")
    (pair,) = found.pairs
    difference = scores[BM25] - scores["acme/worse"]
    assert pair.difference == pytest.approx(difference.mean(), abs=1e-9)
    assert (pair.higher, pair.lower, pair.queries) == ((difference > 0).sum(), (difference < 0).sum(), N)
    error = difference.std(ddof=1) / np.sqrt(N)
    assert pair.interval == pytest.approx(
        (difference.mean() - 1.97 * error, difference.mean() + 1.97 * error), rel=0.05
    )
    assert pair.distinguished and found.scores[BM25] == pytest.approx(scores[BM25].mean())
    slice_ = compare(root, "bm25", "worse", part="in").pairs[0]
    assert slice_.difference == pytest.approx(difference[1::2].mean(), abs=1e-9) and slice_.queries == N // 2
    near = compare(root, "bm25", "near", test="t").pairs[0]
    assert near.p == pytest.approx(ttest_rel(scores[BM25], scores["acme/near"]).pvalue, rel=1e-6)


def test_the_sentence_says_what_the_numbers_say(results):
    root, _ = results
    said = str(compare(root, "worse", "bm25"))
    assert said.startswith("BM25 is better than worse: nDCG@10 0.5") and "p < 0.0001; higher in" in said
    near = compare(root, "bm25", "near")
    (pair,) = near.pairs
    assert not pair.distinguished and "are not distinguishable" in str(near)
    assert f"needs about {pair.needed:,} searches; these are 400." in str(near)
    assert "in four of five cases" in pair.planning()


def test_an_end_near_zero_keeps_its_sign():
    pair = Comparison("a", "b", (0.3, 0.28), (-0.002, 0.042), 0.08, 1, 40, 30, 100, 300, 0.03, "ndcg_at_10")
    assert (
        "difference 0.02 [-0.002, 0.042], p = 0.0800; higher in 40 and lower in 30 of 100 searches" in pair.sentence()
    )
    several = replace(pair, pairs=10).sentence()
    assert "[-0.002, 0.042] for this pair alone, p = 0.0800 over all 10 pairs; " in several
    assert pair.turned().sentence() == pair.sentence() and pair.turned().difference == -pair.difference


def test_the_terminal_shows_the_queries_that_differ_most_and_what_was_found(results, capsys):
    root, scores = results
    assert cli.main(["compare", "bm25", "worse", "--results", str(root)]) == 0
    said = capsys.readouterr().out
    gaps = scores[BM25] - scores["acme/worse"]
    differing = compare(root, "bm25", "worse").differing
    assert [one.scores[0] - one.scores[1] for one in differing] == pytest.approx(sorted(gaps, reverse=True)[:3])
    assert differing[0].found[0][:2] == [(f"d{int(np.argmax(gaps))}-0", False), (f"d{int(np.argmax(gaps))}-1", True)]
    assert "BM25 is better than worse" in said and "A million patents cost BM25: " in said
    assert cli.main(["compare", "--results", str(root), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)["result"]
    assert len(document["pairs"]) == 3 and document["differing"] == []
    assert cli.main(["compare", "--results", str(root)]) == 0
    matrix = capsys.readouterr().out
    assert "≈" in matrix and "jointly over all pairs" in matrix


@pytest.mark.parametrize(
    ("models", "options", "said"),
    [
        (["bm25"], {}, "a comparison needs two models"),
        (["bm25", "unknown"], {}, "there are no results of a model 'unknown'"),
        (["bm25", "worse"], {"task": "Nothing"}, "there are no results on 'Nothing'"),
        (["bm25", "worse"], {"part": "nowhere"}, "has no slice 'nowhere'; it has: in"),
    ],
)
def test_what_cannot_be_compared_is_refused(results, models, options, said):
    with pytest.raises(ReportError, match=said):
        compare(results[0], *models, **options)


def test_models_on_other_queries_are_not_compared(tmp_path):
    add(model_folder(tmp_path, "acme/one"), HEADLINE, queries=np.linspace(0, 1, 60))
    add(model_folder(tmp_path, "acme/two"), HEADLINE, queries=np.linspace(0, 1, 70))
    with pytest.raises(ReportError, match="has no scores on the same queries of"):
        compare(tmp_path, "one", "two")
