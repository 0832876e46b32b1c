"""The PatentMap tasks: texts and tags, best section, graded scores, section shares, bad data, the commit that was
fetched.
"""

from __future__ import annotations

import json
import logging

import numpy as np
import pytest
import pytrec_eval
from patentmap_folder import ABS, CLM, contents, gold, run, views, write_folder
from search_calls import corpus_of, run_of
from small_patents import Words

from patent_mteb.errors import DataError
from patent_mteb.models.variants import reads_section_tags, with_section_tags
from patent_mteb.search.cache import Cached
from patent_mteb.search.passages import BestSection, Passages


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("PATENT_MTEB_DATA", str(tmp_path / "data"))
    return write_folder(tmp_path / "data")


def naive(root, query_view, document_views, tags=False):
    """Full rankings by the best cosine, and the number of the best section."""
    model = Words()
    run_, best = {}, {}
    documents = {key: views(content, tags) for key, content in contents(root, "documents").items()}
    for query, content in contents(root, "queries").items():
        ours = model.vector(views(content, tags)[query_view])
        run_[query], best[query] = {}, {}
        for key, texts in documents.items():
            scores = {i: float(np.float32(ours @ model.vector(texts[i]))) for i in document_views if texts[i]}
            best[query][key] = max(scores, key=scores.get)
            run_[query][key] = max(scores.values())
    return run_, best


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "query", "sections", "tags"),
    [(ABS, 0, (0,), False), (CLM, 1, (0, 1, 2), False), (CLM, 1, (0, 1, 2), True)],
)
def test_retrieval_scores_are_those_of_a_naive_evaluation(root, name, query, sections, tags):
    run_, best = naive(root, query, sections, tags)
    model = with_section_tags(Words()) if tags else Words()
    scores = run(name, model)
    binary = {q: {entry["cited_id"]: 1 for entry in entries} for q, entries in gold(root).items()}
    graded = {
        q: {entry["cited_id"]: {"X": 3, "Y": 2, "A": 1}[entry["type"]] for entry in entries}
        for q, entries in gold(root).items()
    }
    expected = pytrec_eval.RelevanceEvaluator(binary, {"recall.20,50,100"}).evaluate(run_)
    for k in (20, 50, 100):
        assert scores[f"recall_at_{k}"] == pytest.approx(
            np.mean([v[f"recall_{k}"] for v in expected.values()]), abs=1e-5
        )
    expected = pytrec_eval.RelevanceEvaluator(graded, {"ndcg_cut.10,20,50,100"}).evaluate(run_)
    for k in (10, 20, 50, 100):
        assert scores[f"graded_ndcg_at_{k}"] == pytest.approx(
            np.mean([v[f"ndcg_cut_{k}"] for v in expected.values()]), abs=1e-6
        )
    only_x = {q: kept for q, judged in graded.items() if (kept := {d: 1 for d, gain in judged.items() if gain > 1})}
    expected = pytrec_eval.RelevanceEvaluator(only_x, {"recall.20"}).evaluate(run_)
    assert scores["xy_recall_at_20"] == pytest.approx(np.mean([v["recall_20"] for v in expected.values()]), abs=1e-6)
    assert scores["main_score"] == scores["recall_at_100"] and 0.1 < scores["recall_at_20"] < 1
    if name == CLM:
        counts = np.zeros(3)
        for q, found in run_.items():
            for document in sorted(found, key=lambda d: (found[d], d), reverse=True)[:100]:
                counts[best[q][document]] += 1
        shares = [scores[f"section_share_{section}"] for section in ("abstract", "claim", "invention")]
        assert shares == pytest.approx(counts / counts.sum()) and (counts > 0).all()
    else:
        assert not any(key.startswith("section_share") for key in scores)


class BySection:
    """Splits a document into its sections, in place of windows."""

    tokens, tag, settings = 1, "sections", {"column": "sections"}

    def __call__(self, rows):
        return [[text for text in row["sections"] if text.strip()] or [""] for row in rows]


def test_passages_read_the_sections_in_a_cache_as_without_it(root):
    model = Passages(Words(), splitter=BySection())
    expected, found = run(CLM, model), run(CLM, Cached(model))
    assert found == pytest.approx(expected, nan_ok=True)


class Numbers:
    """A search model whose texts are their own scores; notes how many rows it is asked for."""

    mteb_model_meta = Words().mteb_model_meta

    def index(self, corpus, **kwargs):
        self.texts = dict(zip(corpus["id"], corpus["text"], strict=True))

    def search(self, queries, *, top_k, top_ranked=None, **kwargs):
        self.asked = top_k
        allowed = self.texts if top_ranked is None else top_ranked["q"]
        ranked = sorted(allowed, key=lambda row: float(self.texts[row]), reverse=True)[:top_k]
        return {"q": {row: float(self.texts[row]) for row in ranked}}


FOUR = corpus_of(
    dict.fromkeys("abcd", ""), sections=[["1", "5", "2"], ["4", "", "4"], ["3", " ", ""], ["", "", ""]]
)  # d has no text in any section


def test_best_section_leaves_hidden_documents_out_with_all_their_sections():
    fixed = Numbers()
    run = run_of(BestSection(fixed), FOUR, {"q": "any"}, 2, hidden={"q": {"a", "d", "nowhere"}})
    assert run.to_dict() == {"q": {"b": 4.0, "c": 3.0}}
    assert run.parts.tolist() == [[0, 0]]
    assert fixed.asked == 6 + 3  # the three sections of a
    candidates = {"q": ["a", "c"]}
    assert run_of(
        BestSection(Numbers()), FOUR, {"q": "any"}, 2, hidden={"q": {"a"}}, top_ranked=candidates
    ).to_dict() == {"q": {"c": 3.0}}
    nothing = run_of(BestSection(Numbers()), FOUR, {"q": "any"}, 2, top_ranked={"q": ["d"]})
    assert nothing.to_dict() == {"q": {}}
    assert nothing.parts.shape == nothing.docs.shape


def test_winning_sections_are_those_of_a_loop_and_ties_go_by_document():
    draw = np.random.default_rng(0)
    sections = {
        f"d{i:02}": [str(draw.integers(0, 9)) if draw.random() < 0.7 else "" for _ in range(3)] for i in range(60)
    }
    corpus = corpus_of(dict.fromkeys(sections, ""), sections=list(sections.values()))
    run = run_of(BestSection(Numbers()), corpus, {"q": "any"}, 25)
    best = {
        key: max((float(text), -place) for place, text in enumerate(own) if text)
        for key, own in sections.items()
        if any(own)
    }
    expected = sorted(best, key=lambda key: (best[key][0], key), reverse=True)[:25]
    assert list(run.to_dict()["q"].items()) == [(key, best[key][0]) for key in expected]
    assert run.parts[0].tolist() == [-best[key][1] for key in expected]


def test_section_tags_are_part_of_the_identity():
    plain = Words()
    tagged = with_section_tags(plain)
    assert plain.mteb_model_meta.experiment_name != tagged.mteb_model_meta.experiment_name
    assert [reads_section_tags(model.mteb_model_meta) for model in (plain, tagged)] == [False, True]
    assert tagged.seen is plain.seen
    assert reads_section_tags(Words("ZoeYou/PatentMap-V0-SecPair-Claim").mteb_model_meta)


def test_odd_judgements_are_counted(root, caplog):
    path = root / "perf200" / "mapping" / "gold.json"
    found = gold(root)
    first, second, third = sorted(found)[:3]
    n = len(found[first])
    found[first] += [
        {"cited_id": "XX1", "type": "X"},
        {"cited_id": min(contents(root, "documents")), "type": "Q"},
        {"cited_id": second, "type": "L"},
    ]
    found[second] = [{"cited_id": "XX2", "type": "A"}]
    del found[third]
    path.write_text(json.dumps(found))
    with caplog.at_level(logging.WARNING, "patent_mteb"):
        scores = run(ABS)
    for text in (
        "2 citations of documents that are not in the pool",
        "1 citations with a category that no search report uses",
        "1 citations without a category X, Y or A",
        "2 queries without a relevant document",
    ):
        assert text in caplog.text
    assert scores["n_queries"] == 28 and n > 0


def test_a_query_without_claims_leaves_claims_to_all_only(root, caplog):
    path = root / "perf200" / "content" / "queries.json"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[0]["Content"] = {name: text for name, text in rows[0]["Content"].items() if not name.startswith("c-en")}
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with caplog.at_level(logging.WARNING, "patent_mteb"):
        assert run(CLM)["n_queries"] == 29
    assert "1 of 30 queries have no claim and are skipped" in caplog.text
    assert run(ABS)["n_queries"] == 30


def test_gold_that_cannot_be_used(root):
    path = root / "perf200" / "mapping" / "gold.json"
    path.write_text(json.dumps({"XX9": [{"cited_id": "a", "type": "X"}]}))
    with pytest.raises(DataError, match="no judgement is positive"):
        run(ABS)
