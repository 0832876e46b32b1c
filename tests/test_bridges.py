"""The examples of docs/bridges.md, and that each tool computes the score of the task."""

from __future__ import annotations

import json
import re
from pathlib import Path

import mteb
import numpy as np
import pytest
from mteb.models import CompressionWrapper
from mteb.types import OutputDType

import patent_mteb
from patent_mteb.errors import ModelError
from patent_mteb.experiments.anonymous import copy_results
from patent_mteb.experiments.run import run
from patent_mteb.files import write_lines
from patent_mteb.metrics.measures import Judged
from patent_mteb.models import Hybrid, Quantised, bm25
from patent_mteb.models.composition import identified
from patent_mteb.search import trec
from patent_mteb.search.run import Run

PAGE = Path(__file__).parents[1] / "docs" / "bridges.md"
BLOCKS = dict(
    re.findall(r"^#+ ([^\n]+)\n(?:(?!^#+ ).)*?^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
)
TASK = "PatentDAPFAMTitleToTARetrieval.sample"
NAME = "patent-mteb/bm25-dapfam"
START, ST = "Bridges to other tools", "Training loops of sentence-transformers"


@pytest.fixture(scope="module")
def names():
    """What the first example of the page defines."""
    names: dict = {}
    exec(BLOCKS[START], names)
    names["task"].load_data()
    names["qrels"] = names["task"].tables.scored
    return names


def shown(block, names):
    """Run a block and return the value of its last line, as an interpreter shows it."""
    names = dict(names)
    *lines, last = BLOCKS[block].strip().splitlines()
    if last.partition("(")[0].count(" = "):
        exec(BLOCKS[block], names)
        return names
    exec("\n".join(lines), names)
    return eval(last, names)


def stated(names, measure="ndcg_at_10"):
    frame = names["score"].filter((names["score"]["slice"] == "") & (names["score"]["measure"] == measure))
    return frame["value"][0]


def test_every_example_of_the_page_is_tested():
    assert set(BLOCKS) == {
        START,
        "ir_measures",
        "ranx",
        "BEIR",
        "ir_datasets",
        "datasets",
        "PyTerrier",
        ST,
        "Models of mteb: HybridSearch, CompressionWrapper",
    }


@pytest.mark.slow
def test_ir_measures_computes_the_score_of_the_task(names):
    import ir_measures

    assert shown("ir_measures", names)[ir_measures.nDCG @ 10] == pytest.approx(stated(names), abs=1e-9)


@pytest.mark.slow
def test_ranx_computes_the_score_of_the_task(names):
    pytest.importorskip("ranx")
    assert shown("ranx", names)["ndcg@10"] == pytest.approx(stated(names), abs=1e-9)


@pytest.mark.slow
def test_beir_computes_the_score_of_the_task_and_datasets_reads_the_folder(names, tmp_path, monkeypatch):
    pytest.importorskip("beir")
    monkeypatch.chdir(tmp_path)
    ndcg, *_ = shown("BEIR", names)
    assert ndcg["NDCG@10"] == pytest.approx(stated(names), abs=1e-5)
    found = dict(names)
    exec(BLOCKS["datasets"], found)
    names["task"].load_data()
    tables = names["task"].tables
    assert set(found["documents"]["_id"]) == set(tables.corpus)
    pairs = {(pair["query-id"], pair["corpus-id"]) for pair in found["pairs"]}
    assert pairs == {(query, document) for query, judged in tables.scored.items() for document in judged}


@pytest.mark.slow
@pytest.mark.parametrize("ids", [["007", "12345678", "99"], ["NA", "null", "1e5"]])
def test_datasets_reads_ids_as_they_are_written(tmp_path, monkeypatch, ids):
    """Ids of digits would become numbers, and NA a missing value, if the example named no types."""
    from patent_mteb.recipes.beir import write_beir

    monkeypatch.chdir(tmp_path)
    write_beir(
        tmp_path / "beir", dict.fromkeys(ids, ("", "A valve.")), {ids[0]: "A pump."}, {ids[0]: dict.fromkeys(ids, 1)}
    )
    found = {}
    exec(BLOCKS["datasets"], found)
    assert found["documents"]["_id"][:] == ids
    assert [(pair["query-id"], pair["corpus-id"], pair["score"]) for pair in found["pairs"]] == [
        (ids[0], key, 1) for key in ids
    ]


def test_reciprocal_rank_with_a_cut_off_orders_ties_otherwise_as_the_page_says():
    import ir_measures
    from ir_measures import RR

    run, qrels = {"q": {"d1": 1.0, "d2": 1.0, "d3": 0.5}}, {"q": {"d1": 1}}
    theirs = ir_measures.calc_aggregate([RR, RR @ 10], qrels, run)
    ranked = Run.from_dict(run)
    ours = Judged(ranked.docs, qrels, ranked.query_ids, ranked.doc_ids).scores(["mrr@10"]).scores["mrr@10"][0]
    assert (theirs[RR], theirs[RR @ 10], ours) == (0.5, 1.0, 0.5)


SEPARATORS = "\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e\xa0\u3000"
"""Characters at which Python's ``splitlines`` or ``split`` cuts and files of lines and columns do not."""


@pytest.mark.parametrize("separator", SEPARATORS, ids=ascii)
def test_ids_with_any_separator_of_unicode_survive_the_exported_folder(tmp_path, separator):
    """``recipes.beir`` allows such ids; a tool that cuts them would leave the own family in the ranking."""
    from patent_mteb.experiments.bridges import without_excluded
    from patent_mteb.recipes.beir import read_beir, write_beir

    document, query = f"D{separator}1", f"{separator}q{separator}"
    corpus = {document: ("", "A valve."), "D2": ("", "A pump.")}
    write_beir(tmp_path / "beir", corpus, {query: "A valve."}, {query: {document: 1}})
    read = read_beir(tmp_path / "beir")
    assert list(read.corpus) == list(corpus) and dict(read.queries.items()) == {query: "A valve."}
    assert read.qrels == {query: {document: 1}}
    write_lines(tmp_path / "beir" / "excluded.tsv", ["query-id\tcorpus-id", f"{query}\t{document}"])
    assert without_excluded({query: {document: 1.0, "D2": 0.5}}, tmp_path / "beir") == {query: {"D2": 0.5}}


@pytest.mark.parametrize("separator", SEPARATORS.replace("\x0b", "").replace("\x0c", ""), ids=ascii)
def test_ids_with_separators_outside_ascii_space_are_read_from_trec_files(tmp_path, separator):
    """trec_eval and most tools separate columns at the white space of C, so files of others have such ids."""
    path = tmp_path / "a.run"
    path.write_text(f"q{separator}1 Q0 D{separator}1 1 0.5 tag\nq{separator}1 Q0 D2 2 0.25 tag\n", "utf-8")
    assert trec.read_run(path) == {f"q{separator}1": {f"D{separator}1": 0.5, "D2": 0.25}}
    copy_results(tmp_path, tmp_path / "anonymous")
    (copied,) = (tmp_path / "anonymous").rglob("*.run")
    assert [len(line.split()) for line in copied.read_text("utf-8").splitlines()] == [6, 6]


@pytest.mark.slow
def test_the_interface_of_ir_datasets_has_all_of_a_task(names, tmp_path):
    """Field by field as ir_datasets' own reader of the exported BEIR files, and ir_measures on it has the score."""
    import ir_measures

    TrecQrels = pytest.importorskip("ir_datasets.formats").TrecQrels

    from patent_mteb.experiments.bridges import IrDataset, write_task

    assert shown("ir_datasets", names)[ir_measures.nDCG @ 10] == pytest.approx(stated(names), abs=1e-9)
    dataset = IrDataset(TASK)
    note = write_task(TASK, tmp_path / "beir")
    iterators = (dataset.docs_iter(), dataset.queries_iter(), dataset.qrels_iter())
    assert [sum(1 for _ in one) for one in iterators] == [note[of] for of in ("documents", "queries", "judgements")]
    corpus = [json.loads(line) for line in (tmp_path / "beir/corpus.jsonl").open()]
    assert [(document["_id"], document["text"]) for document in corpus] == [tuple(one) for one in dataset.docs_iter()]
    queries = [json.loads(line) for line in (tmp_path / "beir/queries.jsonl").open()]
    assert [(query["_id"], query["text"]) for query in queries] == [tuple(one) for one in dataset.queries_iter()]
    _, *rows = (line.split() for line in (tmp_path / "beir/qrels/test.tsv").open())
    ours = [(one.query_id, one.doc_id, one.relevance) for one in dataset.qrels_iter()]
    assert ours == [(query, document, int(gain)) for query, document, gain in rows]
    assert set(TrecQrels(None, {}).qrels_cls()._fields) == set(next(dataset.qrels_iter())._fields)
    excluded = [tuple(line.split()) for line in (tmp_path / "beir/excluded.tsv").open()][1:]
    assert excluded and not any(dataset.sees(*pair) for pair in excluded)
    assert all(dataset.sees(query, document) for query, document, _ in ours)


@pytest.mark.slow
def test_pyterrier_computes_the_score_of_the_task_and_drops_what_a_query_must_not_see(names, monkeypatch):
    pt = pytest.importorskip("pyterrier")
    from patent_mteb.experiments.terrier import TerrierProvider

    provider = TerrierProvider()
    monkeypatch.setitem(pt.datasets._core._loaded_providers, "patent_mteb", provider)
    table = shown("PyTerrier", names)
    assert table["ndcg_cut_10"][0] == pytest.approx(stated(names), abs=1e-9)
    assert {TASK, "PatentCitationRetrieval"} <= set(provider.list_dataset_names())
    with pytest.raises(KeyError):
        provider.get_dataset("PatentNothing")
    dataset = provider.get_dataset(TASK)
    topics, hidden = dataset.get_topics(), dataset.task.tables.hidden
    rows = [(query, document, 1.0) for query in topics["qid"] for document in hidden.get(query, ())]
    assert rows
    import pandas as pd

    assert dataset.seen()(pd.DataFrame(rows, columns=["qid", "docno", "score"])).empty


@pytest.mark.slow
def test_the_development_evaluator_reads_no_test_text_and_no_own_family(names, tmp_path, monkeypatch):
    from tiny_checkpoints import checkpoint

    from patent_mteb.training.corpus import read_corpus
    from patent_mteb.training.development import development_evaluator

    monkeypatch.chdir(tmp_path)
    (tmp_path / "path/to").mkdir(parents=True)
    checkpoint(tmp_path / "path/to/checkpoint", 16, "mean")
    value = shown(ST, names)
    assert 0 < value < 1
    evaluator = development_evaluator("sample")
    corpus = read_corpus("sample")
    assert {corpus.split[family] for family in evaluator.queries_ids} == {"validation"}
    assert {corpus.split[family] for family in evaluator.corpus_ids} == {"train", "validation"}
    assert not set(evaluator.queries_ids) & set(evaluator.corpus_ids)
    cited = {frozenset((one.citing, one.cited)) for one in corpus.citations}
    of = {patent.publication_number: patent.family_id for patent in corpus.patents}
    linked = {frozenset(of.get(number, number) for number in pair) for pair in cited}
    pairs = [(query, document) for query, judged in evaluator.relevant_docs.items() for document in judged]
    assert pairs and all(frozenset(pair) in linked for pair in pairs)


@pytest.mark.slow
def test_mtebs_hybrid_search_has_the_score_of_ours_and_an_identity_of_its_settings(names, tmp_path):
    frame = names["patent_mteb"].evaluate(
        [
            mteb.HybridSearch([bm25("dapfam"), bm25("bm25s")], sub_model_top_k=1000),
            Hybrid(bm25("dapfam"), bm25("bm25s"), "rrf", k=60),
        ],
        names["task"],
    )
    first, second = frame.filter(frame["slice"] == "")["value"]
    assert first == pytest.approx(second, abs=1e-9)
    names["task"].load_data()
    systems = [bm25("dapfam"), bm25("bm25s")]
    hybrids = [
        mteb.HybridSearch(systems),
        mteb.HybridSearch(systems, weights=[0.9, 0.1]),
        mteb.HybridSearch(systems, rrf_k=10),
    ]
    hybrids += [mteb.HybridSearch(systems, fusion_strategy="rsf"), mteb.HybridSearch(systems[::-1])]
    paths = {(meta.name, meta.revision) for meta in (identified(hybrid).mteb_model_meta for hybrid in hybrids)}
    assert len(paths) == len(hybrids)
    assert hybrids[0].mteb_model_meta.revision == "no_revision_available", "the user's object is unchanged"
    report = run(hybrids[1], [names["task"]], tmp_path, show_progress=False)
    assert report.exit_status == 0 and report.meta.revision == identified(hybrids[1]).mteb_model_meta.revision
    with pytest.raises(ModelError, match="fuses with the function 'first'"):
        identified(mteb.HybridSearch(systems, fusion_strategy=first_of))


def first_of(scores, weights):
    return scores[0]


first_of.__name__ = "first"


@pytest.mark.slow
def test_mtebs_compression_wrapper_is_accepted_and_has_the_score_of_its_bits(tmp_path):
    from small_data import HashEncoder

    class Bits(HashEncoder):
        def encode(self, *args, **kwargs):
            return (np.asarray(super().encode(*args, **kwargs)) > 0).astype(np.float32)

    theirs = CompressionWrapper(HashEncoder(), OutputDType.BINARY)
    expected, found, ours = (
        patent_mteb.evaluate(model, TASK)["value"] for model in (Bits(), theirs, Quantised(HashEncoder(), "binary"))
    )
    assert found.to_list() == pytest.approx(expected.to_list(), abs=1e-6)
    assert found.to_list() != pytest.approx(ours.to_list(), abs=1e-3), "the page says that they differ"
    report = run(theirs, patent_mteb.get_tasks("PatentMap", types=["Retrieval"], sample=True)[:1], tmp_path)
    assert report.exit_status == 0 and report.meta.experiment_kwargs["output_dtypes"] == "binary"
