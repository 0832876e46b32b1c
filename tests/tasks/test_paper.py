"""The papers' own protocol: mteb's DAPFAM tasks, sentence-transformers' evaluator, and both rankings of every search
read off one.
"""

import mteb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sentence_transformers.util import cos_sim
from small_data import HashEncoder, Letters, dapfam_tables, mteb_reads, scores_of

from patent_mteb.data import loading
from patent_mteb.models import Hybrid, Reranked, bm25
from patent_mteb.search.base import SearchContext
from patent_mteb.search.cache import Cached
from patent_mteb.search.engine import engine
from patent_mteb.tasks import dapfam, patenteb

try:
    from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator
except ImportError:
    from sentence_transformers.evaluation import InformationRetrievalEvaluator

OURS = {"TitlAbs": "TA", "TitlAbsClm": "TAC", "FullText": "FullText"}
THEIRS = {
    f"PatentDAPFAM{OURS[query]}To{OURS[corpus]}{domain.replace('All', '')}Retrieval.mteb": (
        f"DAPFAM{domain}{query}To{corpus}Retrieval"
    )
    for domain in ("All", "In", "Out")
    for query in ("TitlAbs", "TitlAbsClm")
    for corpus in ("TitlAbs", "TitlAbsClm", "FullText")
}
FEW = [
    "PatentDAPFAMTAToFullTextRetrieval.mteb",
    "PatentDAPFAMTACToTACInRetrieval.mteb",
    "PatentDAPFAMTACToTAOutRetrieval.mteb",
]
"""Each text and each domain; the other pairs have no code of their own."""


@pytest.fixture(scope="module", params=["queries apart", "queries in the corpus"])
def data(request, tmp_path_factory):
    """DAPFAM's tables; with overlap, one query is judged against itself too, as relevant and IN."""
    root = tmp_path_factory.mktemp("data")
    dapfam_tables(root)
    if request.param == "queries in the corpus":
        folder = root / "datalyes" / "DAPFAM_patent"
        queries, relations = pq.read_table(folder / "queries.parquet"), pq.read_table(folder / "qrels_all.parquet")
        twins = queries.drop(["abstract_keywords"]).rename_columns(["relevant_id", *queries.column_names[1:-1]])
        pq.write_table(pa.concat_tables([pq.read_table(folder / "corpus.parquet"), twins]), folder / "corpus.parquet")
        itself = pa.table(
            {"query_id": ["003-q"], "relevant_id": ["003-q"], "relevance_score": [1.0], "domain_rel": ["IN"]}
        )
        pq.write_table(pa.concat_tables([relations, itself]), folder / "qrels_all.parquet")
    return root


@pytest.fixture
def local(data, monkeypatch):
    return mteb_reads(monkeypatch, data)


def test_the_variants_are_mtebs_eighteen_tasks():
    assert {task.metadata.name for task in dapfam.MTEB_TASKS} == THEIRS.keys()
    assert len(THEIRS) == 18


@pytest.mark.slow
@pytest.mark.parametrize("ours", FEW)
def test_paper_scores_are_those_of_mtebs_own_tasks(local, ours):
    theirs, mine = HashEncoder(keep_space=True), HashEncoder(keep_space=True)
    reference, found = scores_of(mteb.get_task(THEIRS[ours]), theirs), scores_of(mteb.get_task(ours), mine)
    assert set(theirs.texts) == set(mine.texts)
    measured = [
        name for name, value in reference.items() if isinstance(value, float) and not name.startswith(("nauc", "main"))
    ]
    assert len(measured) == 6 * 7 + 1  # six measures at seven cut-offs, and accuracy
    for name in measured:
        assert found[f"paper_{name}"] == pytest.approx(reference[name], abs=1e-12), name


def test_where_a_query_finds_itself_the_protocols_differ(local):
    found = scores_of(mteb.get_task("PatentDAPFAMTACToTACRetrieval"), HashEncoder())
    overlap = len(pq.read_table(local / "corpus.parquet")) > 40
    assert (found["paper_ndcg_at_100"] != found["ndcg_at_100"]) == overlap
    assert (found["paper_in_recall_at_100"] != found["in_recall_at_100"]) == overlap or found["in_recall_at_100"] == 1.0
    assert found["paper_n_queries"] == found["n_queries"] == 8


def test_a_query_whose_only_relevant_document_is_itself_is_counted_and_scored_by_the_paper_only(
    tmp_path, monkeypatch, caplog
):
    dapfam_tables(tmp_path)
    folder = tmp_path / "datalyes" / "DAPFAM_patent"
    queries = pq.read_table(folder / "queries.parquet")
    twins = queries.drop(["abstract_keywords"]).rename_columns(["relevant_id", *queries.column_names[1:-1]])
    pq.write_table(pa.concat_tables([pq.read_table(folder / "corpus.parquet"), twins]), folder / "corpus.parquet")
    rows = [row for row in pq.read_table(folder / "qrels_all.parquet").to_pylist() if row["query_id"] != "001-q"]
    rows.append({"query_id": "001-q", "relevant_id": "001-q", "relevance_score": 1.0, "domain_rel": "IN"})
    pq.write_table(pa.Table.from_pylist(rows), folder / "qrels_all.parquet")
    mteb_reads(monkeypatch, tmp_path)
    theirs, mine = HashEncoder(keep_space=True), HashEncoder(keep_space=True)
    ours = "PatentDAPFAMTACToTACRetrieval.mteb"
    found, reference = scores_of(mteb.get_task(ours), mine), scores_of(mteb.get_task(THEIRS[ours]), theirs)
    assert (found["paper_n_queries"], found["n_queries"]) == (8, 7)
    assert found["paper_ndcg_at_100"] == pytest.approx(reference["ndcg_at_100"], abs=1e-12)
    (message,) = [line for line in caplog.messages if "that they may see" in line]
    assert "1 queries have no relevant document that they may see, first 001-q; they are not scored, except" in message


@pytest.mark.slow
@pytest.mark.parametrize("spec", patenteb.RETRIEVAL[:3], ids=lambda spec: spec.name)
def test_patenteb_paper_scores_are_those_of_the_papers_evaluator(monkeypatch, spec):
    monkeypatch.setenv(loading.SAMPLE_VARIABLE, "1")
    rows = pq.read_table(
        loading.sample_root("patenteb") / "datalyes" / spec.table / "test" / "data.parquet"
    ).to_pylist()
    queries = {row["q"]: row["q_text"] for row in rows}
    corpus = {row[side]: row[f"{side}_text"] for side in ("pos", "neg") for row in rows}
    relevant = {query: {row["pos"] for row in rows if row["q"] == query} for query in queries}
    assert queries.keys() & corpus.keys()
    model = HashEncoder()

    class Vectors:
        similarity = staticmethod(cos_sim)

        def encode_query(self, sentences, **kwargs):
            return np.stack([model.vector(sentence) for sentence in sentences])

        encode_document = encode = encode_query

    evaluator = InformationRetrievalEvaluator(
        queries,
        corpus,
        relevant,
        ndcg_at_k=[10],
        precision_recall_at_k=[100],
        map_at_k=[100],
        score_functions={"cos": cos_sim},
    )
    reference = evaluator.compute_metrices(Vectors())["cos"]
    found = scores_of(mteb.get_task(spec.name), model)
    assert found["paper_ndcg_at_10"] == pytest.approx(reference["ndcg@k"][10], abs=6e-6)
    assert found["paper_recall_at_100"] == pytest.approx(reference["recall@k"][100], abs=6e-6)
    assert found["paper_ndcg_at_10"] != found["ndcg_at_10"]


def test_a_fragment_task_files_the_same_scores_twice(monkeypatch):
    """Its document has the id of its query, so that nothing is hidden there."""
    monkeypatch.setenv(loading.SAMPLE_VARIABLE, "1")
    found = scores_of(mteb.get_task("PatenTEBTitle2Full"), HashEncoder())
    assert found["paper_ndcg_at_10"] == found["ndcg_at_10"] > 0


SYSTEMS = {
    "dense": HashEncoder,
    "cached hybrid": lambda: Cached(Hybrid(bm25("dapfam"), HashEncoder(), depth=20)),
    "reranked hybrid": lambda: Reranked(
        Hybrid(bm25("dapfam"), HashEncoder(), depth=20), Letters(), k=7, max_length=None
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SYSTEMS)
def test_both_rankings_are_those_of_two_searches(local, name):
    task = mteb.get_task("PatentDAPFAMTAToTACRetrieval")
    task.load_data()
    split = task.dataset[task.source.subset][task.split]
    hidden = {
        query: {query, f"{number:03}-d", f"{number + 1:03}-d"} for number, query in enumerate(split["queries"]["id"])
    }
    context = SearchContext(task.metadata, task.split, task.source.subset, {}, hidden=hidden)
    open_context = SearchContext(task.metadata, task.split, task.source.subset, {})

    def system():
        made = engine(SYSTEMS[name]())
        made.ensure_indexed(split["corpus"], context)
        return made

    both = system().rank_both(split["queries"], 15, context)
    for run, alone in zip(both, (context, open_context), strict=True):
        expected = system().rank(split["queries"], 15, alone)
        assert run.to_dict() == expected.to_dict()
        assert run.depth == expected.depth
        assert (run.first_stage is None) == (expected.first_stage is None)
        if run.first_stage is not None:
            assert run.first_stage.run.to_dict() == expected.first_stage.run.to_dict()
