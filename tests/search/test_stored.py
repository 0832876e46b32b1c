"""Stored runs: reading returns the written run, and fusions of them against the equations written document by
document.
"""

import json
import math

import numpy as np
import pytest
from datasets import Dataset
from search_calls import context_of, corpus_of, run_of

from patent_mteb.errors import DataError
from patent_mteb.search.fusion import RRF, Linear
from patent_mteb.search.run import Run, ranked_ids
from patent_mteb.search.stored import FusedRuns, StoredRun, Weighted, fuse_all, ids_of

DOCS = ranked_ids(f"d{i}" for i in range(30))
QUERIES = {f"q{i}": "text" for i in range(6)}
CORPUS = dict.fromkeys(DOCS, "text")


def random_results(seed):
    draw = np.random.default_rng(seed)
    return {
        query: {
            str(document): float(np.float32(draw.integers(1, 9) / 8))
            for document in draw.choice(DOCS, draw.integers(1, 20), replace=False)
        }
        for query in QUERIES
    }


def naive(rankings, setting):
    """Equation 7 of DAPFAM, and equation 1 of WIPO-AT with a weight a run."""
    fused = {}
    for document in {document for ranking in rankings for document in ranking}:
        total = 0.0
        for number, ranking in enumerate(rankings):
            if document not in ranking:
                continue
            ordered = sorted(ranking, key=lambda one: (ranking[one], one), reverse=True)
            low, high = min(ranking.values()), max(ranking.values())
            if isinstance(setting, RRF):
                total += 1 / (setting.k + ordered.index(document) + 1)
            else:
                scaled = 1.0 if high == low else (ranking[document] - low) / (high - low)
                total += setting.weights[number] / sum(setting.weights) * scaled
        fused[document] = total
    return fused


@pytest.mark.parametrize("setting", [RRF(30), RRF(0), Weighted((1, 2, 5)), Weighted((1, 0, 1))])
def test_three_runs_by_the_equations(setting):
    results = [random_results(seed) for seed in range(3)]
    runs = [Run.from_dict(one, list(QUERIES), DOCS) for one in results]
    fused = fuse_all(runs, setting, 1000).to_dict()
    for query in QUERIES:
        expected = naive([one[query] for one in results], setting)
        assert fused[query] == pytest.approx(expected, abs=1e-6)
        scores = list(fused[query].values())
        assert scores == sorted(scores, reverse=True)
    assert fuse_all(runs, setting, 4).to_dict() == {
        query: dict(list(found.items())[:4]) for query, found in fused.items()
    }


def saved(folder, name, results):
    path = folder / f"{name}.run"
    Run.from_dict(results, list(QUERIES), DOCS).save(path, tag=name)
    return path


def test_what_a_query_must_not_see_is_left_out_before_anything_is_counted(tmp_path):
    results = [random_results(seed) for seed in range(2)]
    hidden = {query: frozenset(list(results[0][query])[:2]) for query in QUERIES}
    model = FusedRuns([StoredRun(saved(tmp_path, f"r{number}", one)) for number, one in enumerate(results)], RRF(60))
    fused = run_of(model, CORPUS, QUERIES, 100, hidden=hidden).to_dict()
    for query in QUERIES:
        left = [
            {document: score for document, score in one[query].items() if document not in hidden[query]}
            for one in results
        ]
        assert fused[query] == pytest.approx(naive(left, RRF(60)), abs=1e-6)


def test_only_so_many_documents_of_a_run_count(tmp_path):
    paths = [saved(tmp_path, f"r{number}", random_results(number)) for number in range(2)]
    fused = run_of(FusedRuns([StoredRun(path) for path in paths], RRF(10), depth=3), CORPUS, QUERIES, 100).to_dict()
    assert max(map(len, fused.values())) <= 6


def test_each_file_and_setting_is_an_identity_of_its_own(tmp_path):
    one, two = (StoredRun(saved(tmp_path, "same", random_results(number))) for number in range(2))
    assert (
        one.mteb_model_meta.name == two.mteb_model_meta.name
        and one.mteb_model_meta.revision != two.mteb_model_meta.revision
    )
    built = [
        ([one, two], RRF(30), 1000),
        ([two, one], RRF(30), 1000),
        ([one, two], RRF(31), 1000),
        ([one, two], RRF(30), 10),
    ]
    built += [([one, one], RRF(30), 1000), ([one, two], Linear(0.3), 1000), ([one, two], Weighted((0.7, 0.3)), 1000)]
    metas = [FusedRuns(runs, setting, depth).mteb_model_meta for runs, setting, depth in built]
    assert len({meta.revision for meta in metas}) == len(metas)
    assert metas[0].name == "fused/rrf-30-run-same+run-same" or "same" in metas[0].name
    json.dumps(metas[-1].experiment_kwargs)


def searched(model, queries=QUERIES, corpus=CORPUS):
    return run_of(model, corpus, queries, 10)


def test_ids_that_do_not_fit_are_answered(tmp_path, caplog):
    path = saved(tmp_path, "r", random_results(0))
    more = {**QUERIES, "q7": "text", "q8": "text"}
    with pytest.raises(DataError, match=r"r\.run.*2 of 8 queries.*'q7'.*--allow-missing"):
        searched(StoredRun(path), more)
    found = searched(StoredRun(path, allow_missing=True), more).to_dict()
    assert found["q7"] == {} and found["q0"]
    with pytest.raises(DataError, match="none of the 1 queries"):
        searched(StoredRun(path, allow_missing=True), {"other": "text"})
    known = set(random_results(0)["q0"])
    with pytest.raises(DataError, match=r"query 'q0' found document 'd\d+', which is not in the corpus"):
        searched(StoredRun(path), {"q0": "text"}, {document: "text" for document in DOCS if document not in known})
    searched(StoredRun(path), {"q0": "text"})
    assert "5 queries are not the task's" in caplog.text


def test_problems_of_a_file_are_reported_once(tmp_path, caplog):
    """A task requests the ranking with and without hidden documents."""
    model = StoredRun(saved(tmp_path, "r", random_results(0)))
    hidden = set(random_results(0)["q0"])
    model.ensure_indexed(corpus_of(CORPUS), context_of())
    seen, whole = model.rank_both(corpus_of({"q0": "text"}), 30, context_of({"q0": hidden}))
    assert seen.to_dict() == {"q0": {}} and whole.to_dict()["q0"].keys() == hidden
    assert caplog.text.count("queries are not the task's") == caplog.text.count("its own family") == 1


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("", "it has no ranking"),
        ("q0 Q0 d1 1 0.5 t\nq1 Q0 d1 1 0.5 t\nq0 Q0 d2 1 0.4 t\n", r"row 3.*query 'q0' has a second ranking"),
    ],
)
def test_files_that_are_no_runs_are_answered(tmp_path, lines, message):
    path = tmp_path / "bad.run"
    path.write_text(lines)
    with pytest.raises(DataError, match=message):
        StoredRun(path)


def test_settings_that_do_not_fit_are_answered():
    runs = [Run.from_dict(random_results(seed), list(QUERIES), DOCS) for seed in range(3)]
    with pytest.raises(DataError, match="two runs or more"):
        fuse_all(runs[:1], RRF(60))
    with pytest.raises(DataError, match="alpha weighs two runs, and there are 3"):
        fuse_all(runs, Linear(0.5))
    with pytest.raises(DataError, match="2 weights for 3 runs"):
        fuse_all(runs, Weighted((1, 1)))
    for weights, message in (((1, -1), "is a number from 0"), ((1, math.nan), "not nan"), ((0, 0), "all 0")):
        with pytest.raises(ValueError, match=message):
            Weighted(weights)


def test_a_run_is_read_once_for_all_settings(tmp_path, monkeypatch):
    made = []
    real = Run.from_dict.__func__
    stored = [StoredRun(saved(tmp_path, f"r{number}", random_results(number))) for number in range(2)]
    monkeypatch.setattr(Run, "from_dict", classmethod(lambda cls, *args: made.append(1) or real(cls, *args)))
    corpus = Dataset.from_dict({"id": DOCS, "text": DOCS})
    queries = Dataset.from_dict({"id": list(QUERIES), "text": list(QUERIES)})
    for setting in (RRF(10), RRF(60), Linear(0.5)):
        model = FusedRuns(stored, setting)
        model.ensure_indexed(corpus, context_of())
        model.rank(queries, 10, context_of())
    assert len(made) == 2


IDS = ["EP3000000A1", "EP3000000B1", "US9000000B2", "WO2010123456"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("EP 3000000 A1", "EP3000000A1"),
        ("US 9,000,000 B2", "US9000000B2"),
        ("US9000000", "US9000000B2"),
        ("WO 2010/123456 A1", "WO2010123456"),
        ("EP3000000", ""),  # of two publications
        ("EP3000000B2", ""),
        ("US9000000A1", ""),  # another kind is another publication
        ("d17", ""),
    ],
)
def test_a_patent_number_in_any_spelling_is_the_id_of_its_publication(name, expected):
    assert ids_of([name, "US9000000B2"], IDS) == ({name: expected} if expected else {})


def test_a_number_that_may_be_of_two_documents_is_refused_with_both(tmp_path):
    (path := tmp_path / "hits.csv").write_text("query,document,score\nq1,EP 3000000,1\n")
    texts = dict.fromkeys(["EP3000000A1", "EP3000000B1"], "text")
    with pytest.raises(DataError, match="in the corpus of the task; of its number there are: EP3000000A1, EP3000000B1"):
        run_of(StoredRun(path), texts, {"q1": "text"})
    with pytest.raises(DataError, match=r"none of the 1 queries of the task, such as 'EP1A1' \(the file has 'q1'\)"):
        run_of(StoredRun(path), texts, {"EP1A1": "text"})
