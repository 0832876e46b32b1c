"""Judgements of documents that their query must not see: in no score, slice, export or statistic, and counted."""

from __future__ import annotations

import json
import math
import random

import mteb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_data import FixedSearch, HashEncoder, dapfam_tables, scores_of

from patent_mteb.errors import DataError
from patent_mteb.experiments.bridges import IrDataset, write_task
from patent_mteb.experiments.validation import validate
from patent_mteb.models import bm25
from patent_mteb.search.engine import FAST_VARIABLE
from patent_mteb.search.stored import StoredRun
from patent_mteb.tasks.perquery import receiving

TASK = "PatentCitationRetrieval"
OFFICES = {"US": "en", "CN": "cn", "JP": "jp"}


class World:
    """A random WIPO-AT folder: families of one to three, graded judgements, a query or two in the corpus."""

    def __init__(self, seed, n_documents=14, n_queries=7):
        draw = random.Random(seed)
        self.documents = [f"D{i:02}" for i in range(n_documents)]
        self.queries = [f"Q{i}" for i in range(n_queries)]
        self.documents += self.queries[:2]
        self.family = {key: f"F{draw.randrange(9)}" for key in (*self.documents, *self.queries)}
        self.family |= {key: None for key in self.family if draw.random() < 0.15}
        self.office = {query: draw.choice(list(OFFICES)) for query in self.queries}
        self.qrels = {
            query: {
                key: draw.choice([-1, 0, 0, 1, 1, 2, 3])
                for key in draw.sample(self.documents, draw.randint(1, 5))
                if key != query
            }
            for query in self.queries
        }
        self.family["Q3"] = self.family["D00"] = "F0"
        self.qrels["Q3"] = {"D00": 1}  # a query with nothing left
        self.ranking = {query: draw.sample(self.documents, len(self.documents)) for query in self.queries}

    def hides(self, query, key):
        return key == query or (self.family[query] is not None and self.family[key] == self.family[query])

    def write(self, root, own=True):
        folder = root / "WIPO-AT"
        (folder / "qrels").mkdir(parents=True)
        rows = [{"_id": key, "title": "", "text": f"text of {key}"} for key in self.documents]
        (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        rows = [{"_id": key, "text": f"text of {key}"} for key in self.queries]
        (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        lines = [f"{query}\t{key}\t{gain}" for query, judged in self.qrels.items() for key, gain in judged.items()]
        (folder / "qrels/test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *lines]) + "\n")
        keys = list(self.family)
        columns = {"_id": keys, "family_id": pa.array([self.family[key] for key in keys], pa.string())}
        columns["jurisdiction"] = [self.office.get(key, "EP") for key in keys]
        pq.write_table(pa.table(columns), folder / "metadata.parquet")
        if own:
            (root / "dataset.json").write_text(json.dumps({"schema": 1, "name": "Odd"}))
        return root

    def scored(self, everything=False, office=None):
        """{query: {document: positive gain}} of the queries with any; by default without hidden documents."""
        judged = {
            query: {key: g for key, g in found.items() if g > 0 and (everything or not self.hides(query, key))}
            for query, found in self.qrels.items()
            if office in (None, self.office[query])
        }
        return {query: found for query, found in judged.items() if found}

    def mean(self, judged, everything=False, k=10):
        """Mean nDCG and recall at k, naively."""
        ndcg, recall = [], []
        for query, gains in judged.items():
            found = [key for key in self.ranking[query] if everything or not self.hides(query, key)][:k]
            best = sorted(gains.values(), reverse=True)[:k]
            ideal = sum(gain / math.log2(place + 2) for place, gain in enumerate(best))
            ndcg.append(sum(gains.get(key, 0) / math.log2(place + 2) for place, key in enumerate(found)) / ideal)
            recall.append(sum(key in gains for key in found) / len(gains))
        return sum(ndcg) / len(ndcg), sum(recall) / len(recall)


@pytest.mark.parametrize("fast", ["1", "0"])
@pytest.mark.parametrize("seed", range(4))
def test_scores_slices_and_exports_have_the_visible_judgements(seed, fast, tmp_path, monkeypatch):
    world = World(seed)
    monkeypatch.setenv("PATENT_MTEB_DATA", str(world.write(tmp_path / "data")))
    monkeypatch.setenv(FAST_VARIABLE, fast)
    task, evaluations = mteb.get_task(TASK), []
    with receiving(evaluations.append):
        scores = scores_of(task, FixedSearch(world.ranking))
    visible = world.scored()
    ndcg, recall = world.mean(visible)
    assert (scores["ndcg_at_10"], scores["recall_at_10"]) == pytest.approx((ndcg, recall), abs=6e-6)
    assert scores["n_queries"] == len(visible)
    for office, group in OFFICES.items():
        part = world.scored(office=office)
        assert scores.get(f"jurisdiction_{group}_n_queries", 0) == len(part)
        if part:
            assert scores[f"jurisdiction_{group}_ndcg_at_10"] == pytest.approx(world.mean(part)[0], abs=1e-9)
    hidden = sum(world.hides(query, key) for query, found in world.qrels.items() for key in found)
    assert scores.get("n_hidden_judgements", 0) == hidden
    judged = {
        query: {key: g for key, g in world.qrels[query].items() if not world.hides(query, key)} for query in visible
    }
    assert evaluations[0].qrels == judged, "the qrels file of a stored run"
    assert set(evaluations[0].per_query.queries) == set(visible)
    dataset = IrDataset(mteb.get_task(TASK))
    pairs = {(query, key, gain) for query, found in judged.items() for key, gain in found.items()}
    assert {row[:3] for row in dataset.qrels_iter()} == pairs
    note = write_task(mteb.get_task(TASK), tmp_path / "beir")
    assert note["judgements"] == len(pairs)
    rows = (tmp_path / "beir/qrels/test.tsv").read_text().splitlines()[1:]
    assert {tuple(row.split("\t")) for row in rows} == {(query, key, str(gain)) for query, key, gain in pairs}


def test_a_perfect_run_scores_one_and_the_hidden_judgements_are_said(tmp_path, monkeypatch, caplog):
    world = World(11)
    world.qrels["Q5"] |= {key: 1 for key in world.documents if world.hides("Q5", key)} | {"D01": 1}
    world.family["Q5"] = world.family["D05"] = "F-own"
    world.qrels["Q5"]["D05"] = 1
    monkeypatch.setenv("PATENT_MTEB_DATA", str(world.write(tmp_path / "data")))
    lines = [
        f"{query} Q0 {key} {place + 1} {gain - place / 100} oracle"
        for query, judged in world.qrels.items()
        for place, (key, gain) in enumerate(sorted(judged.items(), key=lambda pair: -pair[1]))
    ]
    (tmp_path / "oracle.run").write_text("\n".join(lines) + "\n")
    scores = scores_of(mteb.get_task(TASK), StoredRun(tmp_path / "oracle.run"))
    assert scores["ndcg_at_10"] == 1.0
    hidden = sum(world.hides(query, key) for query, found in world.qrels.items() for key in found)
    total = sum(map(len, world.qrels.values()))
    said = f"Odd: {hidden} of {total} judgements are of the query itself or its own family; they do not count"
    assert hidden and said in caplog.messages
    lost = [query for query in world.scored(everything=True) if query not in world.scored()]
    assert f"{len(lost)} queries have no relevant document that they may see, first {lost[0]}" in caplog.text
    findings = [one.text for one in validate(tmp_path / "data") if one.rank == "note"]
    assert said in findings, "data validate says it, once for all tasks"


def test_data_whose_relevant_documents_are_all_hidden_are_refused(tmp_path, monkeypatch):
    world = World(5)
    world.family = dict.fromkeys(world.family, "F1")
    monkeypatch.setenv("PATENT_MTEB_DATA", str(world.write(tmp_path)))
    with pytest.raises(DataError, match="no query has a relevant document that it may see"):
        mteb.get_task(TASK).load_data()
    assert any("that it may see" in one.text for one in validate(tmp_path) if one.rank == "error")


@pytest.mark.parametrize("fast", ["1", "0"])
@pytest.mark.parametrize("seed", range(3))
def test_the_papers_protocol_judges_and_searches_everything(seed, fast, tmp_path, monkeypatch):
    """A copy of the published data set: the paper's evaluator hides nothing, so it scores more queries."""
    world = World(seed)
    monkeypatch.setenv("PATENT_MTEB_DATA", str(world.write(tmp_path, own=False)))
    monkeypatch.setenv(FAST_VARIABLE, fast)
    scores = scores_of(mteb.get_task(TASK), FixedSearch(world.ranking))
    every = world.scored(everything=True)
    assert scores["paper_n_queries"] == len(every) > scores["n_queries"] == len(world.scored())
    found = (scores["paper_ndcg_at_10"], scores["paper_recall_at_10"])
    assert found == pytest.approx(world.mean(every, everything=True), abs=6e-6)
    assert scores["ndcg_at_10"] == pytest.approx(world.mean(world.scored())[0], abs=6e-6)
    for office, group in OFFICES.items():
        if part := world.scored(everything=True, office=office):
            expected = world.mean(part, everything=True)[0]
            assert scores[f"paper_jurisdiction_{group}_ndcg_at_10"] == pytest.approx(expected, abs=1e-9)


def test_a_stored_run_is_not_asked_for_queries_that_only_the_paper_scores(tmp_path, monkeypatch):
    """``publish beir`` exports the scored queries, so that a run of others has no more."""
    world = World(0)
    monkeypatch.setenv("PATENT_MTEB_DATA", str(world.write(tmp_path / "data", own=False)))
    lines = [
        f"{query} Q0 {key} {place + 1} {-place} other"
        for query in world.scored()
        for place, key in enumerate(world.ranking[query])
    ]
    (tmp_path / "other.run").write_text("\n".join(lines) + "\n")
    scores = scores_of(mteb.get_task(TASK), StoredRun(tmp_path / "other.run"))
    assert scores["paper_n_queries"] == scores["n_queries"] == len(world.scored())


def test_a_task_on_one_domain_and_its_bm25_have_the_same_rule(tmp_path, monkeypatch):
    """DAPFAM: a relation of a query to itself is hidden in the task on all relations and in that of its domain."""
    dapfam_tables(tmp_path)
    folder = tmp_path / "datalyes" / "DAPFAM_patent"
    queries = pq.read_table(folder / "queries.parquet")
    twins = queries.drop(["abstract_keywords"]).rename_columns(["relevant_id", *queries.column_names[1:-1]])
    pq.write_table(pa.concat_tables([pq.read_table(folder / "corpus.parquet"), twins]), folder / "corpus.parquet")
    rows = pq.read_table(folder / "qrels_all.parquet").to_pylist()
    rows.append({"query_id": "001-q", "relevant_id": "001-q", "relevance_score": 1.0, "domain_rel": "OUT"})
    pq.write_table(pa.Table.from_pylist(rows), folder / "qrels_all.parquet")
    monkeypatch.setenv("PATENT_MTEB_DATA", str(tmp_path))
    for name, expected in (("PatentDAPFAMTAToTARetrieval", 1), ("PatentDAPFAMTAToTAInRetrieval", 0)):
        for model in (HashEncoder(), bm25("dapfam")):
            assert scores_of(mteb.get_task(name), model).get("n_hidden_judgements", 0) == expected
    assert scores_of(mteb.get_task("PatentDAPFAMTAToTAOutRetrieval"), HashEncoder())["n_hidden_judgements"] == 1
