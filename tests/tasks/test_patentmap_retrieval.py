"""The authors' evaluation of PatentMap's retrieval, beside the suite's: against a loop over every query, section and
citation.
"""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from patentmap_folder import ABS, CLM, contents, gold, run, write_folder
from small_patents import Words

from patent_mteb.models.variants import with_section_tags
from patent_mteb.tasks.patentmap import read_search

SECTIONS = ("abstract", "claim", "invention")


@pytest.fixture
def root(tmp_path, monkeypatch):
    """Tables with all that the two protocols judge differently."""
    monkeypatch.setenv("PATENT_MTEB_DATA", str(tmp_path / "data"))
    root = write_folder(tmp_path / "data")
    folder, judged = root / "perf200", gold(root)
    first, second, third, fourth = sorted(judged)[:4]
    pool = sorted(contents(root, "documents"))
    judged[first] += [
        {"cited_id": "XX1", "type": "X"},
        {"cited_id": pool[0], "type": "D"},
    ]  # outside the pool; of another type
    judged[second] = [{"cited_id": "XX2", "type": "Y"}]  # a query that can find nothing
    judged[third] = [{"cited_id": pool[1], "type": "D"}]  # not relevant to the suite
    judged[fourth] += [{"cited_id": judged[fourth][0]["cited_id"], "type": "A"}, {"cited_id": fourth, "type": "A"}]
    (folder / "mapping" / "gold.json").write_text(json.dumps(judged))
    queries = [json.loads(line) for line in (folder / "content" / "queries.json").read_text().splitlines()]
    queries[5]["Content"] = {name: text for name, text in queries[5]["Content"].items() if not name.startswith("c-en")}
    (folder / "content" / "queries.json").write_text("".join(json.dumps(row) + "\n" for row in queries))
    with (folder / "content" / "documents.json").open("a") as stream:  # a query in its own pool
        stream.write(json.dumps(next(row for row in queries if row["dnum"] == fourth)) + "\n")
    return root


def texts(content, tags):
    """The three texts of a patent as the authors compose them, missing sections too."""
    claims = "\n".join(text for name, text in content.items() if name.startswith("c-en-"))
    description = " ".join(text for name, text in content.items() if name.startswith("p0"))
    tag = {name: f"[{name}] " if tags else "" for name in SECTIONS}
    whole = (
        f"{content['title']} [SEP] {tag['abstract']}{content.get('pa01', '')}",
        tag["claim"] + claims,
        tag["invention"] + description,
    )
    return [text.strip() for text in whole]


def rankings(root, query_section, sections, tags):
    """The documents of each query in order, and the number of the best section of each."""
    model = Words()
    documents = {
        key: [model.vector(texts(content, tags)[i]) for i in sections]
        for key, content in contents(root, "documents").items()
    }
    found, best = {}, {}
    for query, content in contents(root, "queries").items():
        ours = model.vector(texts(content, tags)[query_section])
        products = {key: [np.float32(ours @ theirs) for theirs in vectors] for key, vectors in documents.items()}
        found[query] = sorted(products, key=lambda key: (max(products[key]), key), reverse=True)
        best[query] = [int(np.argmax(products[key])) for key in found[query]]
    return found, best


def average_precision(cited, ranking):
    places = [place for place, key in enumerate(ranking, start=1) if key in cited]
    return sum(n / place for n, place in enumerate(places, start=1)) / len(cited)


def reciprocal_rank(cited, ranking):
    return next((1 / place for place, key in enumerate(ranking, start=1) if key in cited), 0)


def ndcg(gains, ranking, k):
    def total(values):
        return sum(gain / math.log2(place + 2) for place, gain in enumerate(values[:k]))

    return total([gains.get(key, 0) for key in ranking]) / total(sorted(gains.values(), reverse=True))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "query", "sections", "tags"), [(ABS, 0, (0,), True), (CLM, 1, (0, 1, 2), False), (CLM, 1, (0, 1, 2), True)]
)
def test_paper_scores_are_those_of_the_authors_evaluation(root, name, query, sections, tags):
    scores = run(name, with_section_tags(Words()) if tags else Words())
    found, best = rankings(root, query, sections, tags)
    cited = {key: {entry["cited_id"] for entry in entries} for key, entries in gold(root).items()}
    graded = {key: {} for key in cited}
    for key, entries in gold(root).items():
        for entry in entries:
            gain = {"X": 3, "Y": 2, "A": 1}.get(entry["type"], 0)
            graded[key][entry["cited_id"]] = max(gain, graded[key].get(entry["cited_id"], 0))
    assert scores["paper_n_queries"] == len(cited) == 30
    for k in (10, 20, 50, 100):
        recall = np.mean([len(cited[key] & set(found[key][:k])) / len(cited[key]) for key in cited])
        assert scores[f"paper_recall_at_{k}"] == pytest.approx(recall, abs=1e-9)
        binary = np.mean([ndcg(dict.fromkeys(cited[key], 1), found[key], k) for key in cited])
        assert scores[f"paper_ndcg_at_{k}"] == pytest.approx(binary, abs=1e-9)
        several = {
            key: kept for key, gains in graded.items() if (kept := {one: gain for one, gain in gains.items() if gain})
        }
        assert scores[f"paper_graded_ndcg_at_{k}"] == pytest.approx(
            np.mean([ndcg(gains, found[key], k) for key, gains in several.items()]), abs=1e-9
        )
    for measure, of_query in (("map", average_precision), ("mrr", reciprocal_rank)):
        expected = np.mean([of_query(cited[key], found[key]) for key in cited])
        assert scores[f"paper_{measure}_at_1000"] == pytest.approx(expected, abs=1e-9)
    shares = [scores[f"paper_section_share_{section}"] for section in SECTIONS] if len(sections) > 1 else []
    first = [section for sections_of in best.values() for section in sections_of[:100]]
    assert shares == [pytest.approx(first.count(section) / len(first)) for section in sections if shares]
    assert not shares or shares != [scores[f"section_share_{section}"] for section in SECTIONS]
    assert len(several) == 29 and scores["n_queries"] < 30
    assert scores["paper_recall_at_100"] != scores["recall_at_100"]


@pytest.mark.slow
def test_both_ways_give_the_same_paper_scores(root, monkeypatch):
    fast = run(CLM, Words())
    monkeypatch.setenv("PATENT_MTEB_FAST", "0")
    slow = run(CLM, Words())
    names = [name for name in fast if name.startswith("paper_")]
    assert len(names) == 18 and all(slow[name] == pytest.approx(fast[name], abs=1e-9) for name in names)


@pytest.mark.slow
def test_bert_for_patents_reads_tags_for_the_paper_alone(root):
    model = Words("anferico/bert-for-patents")
    scores, plain, tagged = run(CLM, model), run(CLM), run(CLM, with_section_tags(Words()))
    assert scores["recall_at_20"] == plain["recall_at_20"] and scores["graded_ndcg_at_10"] == plain["graded_ndcg_at_10"]
    papers = [name for name in scores if name.startswith("paper_")]
    assert [scores[name] for name in papers] == [tagged[name] for name in papers] != [plain[name] for name in papers]


def test_a_pair_that_is_cited_with_two_categories_is_counted(root, caplog):
    import mteb

    judged = gold(root)
    first, second = sorted(judged)[6:8]
    pool = sorted(contents(root, "documents"))[:2]
    judged[first] = [{"cited_id": pool[0], "type": kind} for kind in ("A", "X", "A")]
    judged[second] = [
        {"cited_id": pool[0], "type": "Y"},
        {"cited_id": pool[0], "type": "A"},
        {"cited_id": pool[1], "type": "A"},
    ]
    (root / "perf200" / "mapping" / "gold.json").write_text(json.dumps(judged))
    found = read_search(mteb.get_task(ABS).source)
    assert "2 pairs that are cited with two categories (the stronger counts)" in caplog.text
    assert (found.gains[first], found.gains[second]) == ({pool[0]: 3}, {pool[0]: 2, pool[1]: 1})
