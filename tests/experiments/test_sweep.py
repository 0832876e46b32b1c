"""The DAPFAM sweep: every row equals its own evaluation, and an interrupted sweep goes on where it stopped."""

import re
from pathlib import Path

import mteb
import numpy as np
import polars as pl
import polars.selectors as cs
import pytest
from small_data import HashEncoder, dapfam_tables, scores_of

import patent_mteb
from patent_mteb.data import loading
from patent_mteb.errors import DataError, ModelError
from patent_mteb.experiments import sweep
from patent_mteb.models import Quantised, Truncated
from patent_mteb.search import bm25 as bm25_module
from patent_mteb.search import passages as passages_module
from patent_mteb.search import timing
from patent_mteb.search.bm25 import BM25, BM25Index, BM25Settings, bm25
from patent_mteb.search.engine import FAST_VARIABLE
from patent_mteb.search.fusion import Hybrid
from patent_mteb.search.passages import Passages, TokenWindows, WordTokenizer
from patent_mteb.tasks import dapfam, retrieval
from patent_mteb.tasks.perquery import receiving

MATRIX = sweep.Matrix(
    backends=("bm25", "dense", "hybrid"),
    granularities=("document",),
    queries=("TA",),
    corpora=("TA", "TAC"),
    rrf=(60,),
    alphas=(0.7,),
)


@pytest.fixture(autouse=True)
def local(tmp_path_factory, monkeypatch):
    root = tmp_path_factory.mktemp("dapfam")
    dapfam_tables(root)
    monkeypatch.setenv(loading.DATA_VARIABLE, str(root))
    return root / "datalyes" / "DAPFAM_patent"


def without_seconds(table):
    return table.select(~cs.ends_with("seconds")).sort(pl.all())


@pytest.mark.slow
def test_rows_equal_their_own_evaluations(tmp_path):
    table = sweep.sweep([MATRIX], [HashEncoder()], bm25("dapfam"), tmp_path / "t.csv")
    models = {
        ("bm25", ""): bm25("dapfam"),
        ("dense", ""): HashEncoder(),
        ("hybrid", "rrf-60"): Hybrid(bm25("dapfam"), HashEncoder(), "rrf", k=60),
        ("hybrid", "linear-0.7"): Hybrid(bm25("dapfam"), HashEncoder(), alpha=0.7),
    }
    assert table.height == 2 * len(models)
    for row in table.iter_rows(named=True):
        found = scores_of(mteb.get_task(loading.plain_name(row["task"])), models[row["backend"], row["fusion"]])
        for name in ("ndcg_at_100", "in_ndcg_at_100", "out_ndcg_at_100", "recall_at_100", "in_recall_at_10"):
            assert row[name] == pytest.approx(found[name], abs=1e-5), (row, name)
        assert row["seconds"] > 0


@pytest.mark.slow
def test_every_evaluation_is_on_arrays_and_hides_what_a_query_must_not_see(local, tmp_path, monkeypatch):
    """Review A3: no evaluation of a sweep was on arrays, for its timer hid what a model can do. Every query is in its
    own corpus.
    """
    queries = pl.read_parquet(local / "queries.parquet").drop("abstract_keywords").rename({"query_id": "relevant_id"})
    pl.concat([pl.read_parquet(local / "corpus.parquet"), queries]).write_parquet(local / "corpus.parquet")
    scored, evaluations = [], []
    real = retrieval.retrieval_scores
    monkeypatch.setattr(
        retrieval, "retrieval_scores", lambda docs, *rest: scored.append(len(docs)) or real(docs, *rest)
    )
    with receiving(evaluations.append):
        table = sweep.sweep([MATRIX], [HashEncoder()], bm25("dapfam"), tmp_path / "t.csv")
    assert scored == [8] * table.height
    assert len(evaluations) == table.height
    for evaluation in evaluations:
        found = evaluation.run.to_dict()
        assert len(evaluation.run.doc_ids) == 48
        assert not any(query in documents for query, documents in found.items())
    monkeypatch.setenv(FAST_VARIABLE, "0")
    other = sweep.sweep([MATRIX], [HashEncoder()], bm25("dapfam"), tmp_path / "by mteb.csv")
    assert len(scored) == table.height
    assert without_seconds(other).equals(without_seconds(table))


def test_aggregations_share_one_pass(tmp_path):
    matrix = sweep.Matrix(("bm25",), ("passage",), ("TA",), ("TAC",), ("maxP", "avgP"), (8, 16))
    table = sweep.sweep([matrix], [], bm25("dapfam"), tmp_path / "t.csv")
    assert table.height == 4
    assert table.group_by("length").agg(pl.col("seconds").n_unique())["seconds"].to_list() == [1, 1]
    for row in table.iter_rows(named=True):
        model = Passages(
            bm25("dapfam"), aggregate=row["aggregate"], splitter=TokenWindows(row["length"], None, WordTokenizer())
        )
        found = scores_of(mteb.get_task(loading.plain_name(row["task"])), model)
        assert row["ndcg_at_100"] == pytest.approx(found["ndcg_at_100"], abs=1e-5)


@pytest.mark.slow
def test_an_interrupted_sweep_repeats_nothing_and_gives_the_same_table(tmp_path, monkeypatch):
    whole = sweep.sweep([MATRIX], [HashEncoder()], bm25("dapfam"), tmp_path / "whole.csv")
    real, ran = sweep._run, []

    def stopping(group, *args):
        if len(ran) == 3:
            raise KeyboardInterrupt
        ran.append(group)
        return real(group, *args)

    monkeypatch.setattr(sweep, "_run", stopping)
    out = tmp_path / "part.csv"
    with pytest.raises(KeyboardInterrupt):
        sweep.sweep([MATRIX], [HashEncoder()], bm25("dapfam"), out)
    assert 0 < pl.read_csv(out).height < whole.height
    first = list(ran)
    ran.clear()
    monkeypatch.setattr(sweep, "_run", lambda group, *args: ran.append(group) or real(group, *args))
    finished = sweep.sweep([MATRIX], [HashEncoder()], bm25("dapfam"), out)
    assert not [group for group in ran if group in first]
    assert len(ran) + len(first) == 6
    assert without_seconds(finished).equals(without_seconds(whole))
    ran.clear()
    again = sweep.sweep([MATRIX], [HashEncoder()], bm25("dapfam"), out)
    assert not ran
    assert without_seconds(again).equals(without_seconds(whole))


ONE = sweep.Matrix(queries=("TA",), corpora=("TAC",))


LEXICAL, DENSE = (sweep.Matrix((name,), queries=("TA",), corpora=("TAC",)) for name in ("bm25", "dense"))


@pytest.mark.slow
def test_every_setting_has_a_row_of_its_own_in_one_file(tmp_path):
    """Review D1: a second setting of one model was answered with the scores of the first."""
    encoder = HashEncoder()
    settings = [
        (encoder, None),
        (Truncated(encoder, 32), None),
        (Truncated(encoder, 8), None),
        (Quantised(encoder, "int8"), None),
        (Quantised(encoder, "binary"), None),
        (encoder, {"truncate_dim": 4}),
    ]
    out = tmp_path / "t.csv"
    for model, kwargs in settings:
        sweep.sweep([DENSE], [model], bm25("dapfam"), out, encode_kwargs=kwargs)
    for lexical in (
        bm25("dapfam"),
        bm25("bm25s"),
        bm25("dapfam", k1=0.4),
        bm25("dapfam", stemmer=None),
        BM25(BM25Settings(k1=3), "own"),
    ):
        whole = sweep.sweep([LEXICAL], [], lexical, out)
    assert whole.height == len(settings) + 5 and whole["model"].n_unique() == whole.height
    task = mteb.get_task(LEXICAL.settings()[0].task)
    for row, (model, kwargs) in zip(whole.iter_rows(named=True), settings, strict=False):
        found = patent_mteb.evaluate(model, task, encode_kwargs=kwargs)
        assert row["ndcg_at_100"] == pytest.approx(found.filter(slice="")["value"][0], abs=1e-5)
    dense = whole.filter(backend="dense")["ndcg_at_100"].to_list()
    assert len(set(dense[:3])) == 3 and whole.filter(backend="bm25")["ndcg_at_100"].n_unique() >= 3


@pytest.mark.slow
def test_several_encoders_and_backends_fill_one_table(tmp_path):
    out, encoder = tmp_path / "t.csv", HashEncoder()
    sweep.sweep([LEXICAL], [], bm25("dapfam"), out)  # review D10.2: first without a model, then with one
    matrix = sweep.Matrix(("bm25", "dense", "hybrid"), ("document",), ("TA",), ("TAC",), rrf=(60,), alphas=())
    whole = sweep.sweep([matrix], [encoder, Quantised(encoder, "binary")], bm25("dapfam"), out)
    assert whole.group_by("backend").len().sort("backend")["len"].to_list() == [1, 2, 2]
    assert whole.filter(backend="hybrid")["model"].str.contains(r" \+ ").all()


def test_all_scores_are_rounded_alike(tmp_path):
    whole = sweep.sweep([ONE], [HashEncoder()], bm25("dapfam"), tmp_path / "t.csv")
    for name in sweep.SCORES:
        assert whole[name].to_list() == whole[name].round(5).to_list()


@pytest.mark.slow
def test_a_corpus_is_indexed_and_tokenised_once_for_all_queries_and_lengths(tmp_path, monkeypatch):
    """Review D10.6, counted."""
    built, tokenised = [], []

    class Counted(BM25Index):
        def __init__(self, texts, settings):
            texts = list(texts)
            built.append(tuple(texts))
            super().__init__(texts, settings)

    monkeypatch.setattr(bm25_module, "BM25Index", Counted)
    monkeypatch.setattr(passages_module, "BM25Index", Counted)
    real = WordTokenizer.starts
    monkeypatch.setattr(WordTokenizer, "starts", lambda self, texts: tokenised.extend(texts) or real(self, texts))
    matrix = sweep.Matrix(
        ("bm25", "hybrid"), ("document", "passage"), ("TA", "Title"), ("TA",), ("maxP",), lengths=(4, 16), rrf=(60,)
    )
    monkeypatch.setattr(sweep, "tokenizer_of", lambda model: WordTokenizer())
    whole = sweep.sweep([matrix], [HashEncoder()], bm25("dapfam"), tmp_path / "t.csv")
    assert whole.height == 2 * 2 * (1 + 2)
    assert len(built) == len(set(built)) == 1 + 2  # documents, and passages of two lengths
    assert len(tokenised) == 2 * len(set(tokenised)) == 2 * 40  # 40 documents, once for each backend


def test_windows_of_words_are_the_same_for_every_backend(tmp_path, monkeypatch):
    """Review D10.10."""

    class Halves:
        name = "model"

        def starts(self, texts):
            return [np.arange(0, len(text), 2) for text in texts]

    cut = []
    real = TokenWindows.__call__
    monkeypatch.setattr(TokenWindows, "__call__", lambda self, rows: cut.append(real(self, rows)) or cut[-1])
    monkeypatch.setattr(sweep, "tokenizer_of", lambda model: WordTokenizer() if isinstance(model, BM25) else Halves())
    matrix = sweep.Matrix(("bm25", "dense"), ("passage",), ("TA",), ("TAC",), ("maxP",), (8,), tokens=("own", "words"))
    whole = sweep.sweep([matrix], [HashEncoder()], bm25("dapfam"), tmp_path / "t.csv")
    assert whole.select("backend", "tokens").rows() == [
        ("bm25", "own"),
        ("bm25", "words"),
        ("dense", "own"),
        ("dense", "words"),
    ]
    lexical, own, shared = cut  # words are what BM25 has of its own: its ranking was there
    assert lexical == shared != own
    expected = scores_of(
        mteb.get_task(matrix.settings()[0].task),
        Passages(HashEncoder(), splitter=TokenWindows(8, None, WordTokenizer())),
    )
    assert whole["ndcg_at_100"][3] == pytest.approx(expected["ndcg_at_100"], abs=1e-5)


def test_times_of_indexing_splitting_encoding_and_scoring_are_apart(tmp_path, monkeypatch):
    """Review D4, with a clock that only the parts themselves move."""
    now = [0.0]
    monkeypatch.setattr(timing.time, "perf_counter", lambda: now[0])

    def passing(seconds, function):
        def call(*args, **kwargs):
            now[0] += seconds
            return function(*args, **kwargs)

        return call

    monkeypatch.setattr(BM25Index, "__init__", passing(100, BM25Index.__init__))
    monkeypatch.setattr(TokenWindows, "__call__", passing(10, TokenWindows.__call__))
    monkeypatch.setattr(HashEncoder, "encode", passing(1000, HashEncoder.encode))
    monkeypatch.setattr(passages_module, "aggregate", passing(1, passages_module.aggregate))
    monkeypatch.setattr(sweep, "tokenizer_of", lambda model: WordTokenizer())
    matrix = sweep.Matrix(("bm25", "dense"), ("passage",), ("TA",), ("TAC",), ("maxP",), (8,))
    whole = sweep.sweep([matrix], [HashEncoder()], bm25("dapfam", k1=1.0), tmp_path / "t.csv")
    times = whole.select("backend", "index_seconds", "split_seconds", "encode_seconds", "seconds")
    assert sorted(times.iter_rows()) == [("bm25", 100.0, 10.0, 0.0, 1.0), ("dense", 0.0, 10.0, 2000.0, 1.0)]


def test_the_runs_of_the_paper_are_its_249_and_each_has_its_printed_numbers():
    settings = [setting for matrix in sweep.PAPER for setting in matrix.settings()]
    assert [len(matrix.settings()) for matrix in sweep.PAPER] == [16, 128, 9, 96]
    assert len(set(settings)) == 249 and set(settings) == set(sweep.printed_rows())
    page = Path(__file__).parents[3] / "shared" / "papers" / "dapfam.txt"
    if not page.exists():
        pytest.skip("the paper's text is not here")
    read = {}
    tables_of_runs = r"Table (17|18|19|20): Full results[^\n]*\nQuery Corpus[^\n]*\n(.*?)\nTable"
    for heading, lines in re.findall(tables_of_runs, page.read_text("utf-8"), re.DOTALL):
        for line in lines.splitlines():
            if found := re.fullmatch(r"(T \+ A \+ C|T \+ A|A|K) (.+?)((?: 0\.\d{4}){6})", " ".join(line.split())):
                query, place, numbers = found.groups()
                read[heading, VIEWS[query], place] = [float(number) for number in numbers.split()]
    assert len(read) == 249
    tables = {
        ("bm25", "document"): "17",
        ("bm25", "passage"): "18",
        ("dense", "document"): "19",
        ("dense", "passage"): "20",
    }
    for setting, printed in sweep.printed_rows().items():
        passage = f"p{setting.length} ({setting.aggregate.replace('avg_top3', 'avg_topN')})"
        place = passage if setting.length else LONG[setting.corpus]
        numbers = read[tables[setting.backend, setting.granularity], setting.query, place]
        assert numbers == [printed[name] for name in sweep.PRINTED.values()]


VIEWS = {"T + A": "TA", "T + A + C": "TAC", "A": "Abstract", "K": "Keywords"}
LONG = {
    "FullText": "Full Text",
    "TA": "Title + Abstract",
    "TAC": "Title + Abstract + Claims",
    "Description": "Description",
    "Abstract": "Abstract",
}


def test_differences_are_those_to_the_release_only(tmp_path, monkeypatch):
    setting = sweep.Setting("bm25", "document", "TA", "TAC")
    scores = {"ndcg_at_100": 0.25, "paper_ndcg_at_100": 0.24, "in_recall_at_100": 0.3432}
    released, other = (
        sweep.row_of(setting, {"model": "m", "data": data}, "T", scores, {})
        for data in (dapfam.DATA.revision, "sample-1")
    )
    assert released["printed_ndcg_at_100"] == other["printed_ndcg_at_100"] == 0.2392
    assert (
        released["difference_ndcg_at_100"] == pytest.approx(0.24 - 0.2392)
        and released["difference_in_recall_at_100"] == 0
    )
    assert other["difference_ndcg_at_100"] is None
    assert released["printed_model"] == "mteb/baseline-bm25s"
    assert "printed_model" not in sweep.row_of(
        sweep.Setting("bm25", "document", "Title", "TAC"), {"model": "m", "data": ""}, "T", {}, {}
    )


def test_a_table_of_other_data_is_not_continued(local, tmp_path):
    out = tmp_path / "t.csv"
    sweep.sweep([LEXICAL], [], bm25("dapfam"), out)
    queries = pl.read_parquet(local / "queries.parquet")
    queries.with_columns(pl.col("title_en") + " w1").write_parquet(local / "queries.parquet")
    with pytest.raises(DataError, match="other data"):
        sweep.sweep([LEXICAL], [], bm25("bm25s"), out)
    out.write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match=r"cannot be read|not a table of a sweep"):
        sweep.sweep([LEXICAL], [], bm25("dapfam"), out)


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"backends": ("bm52",)}, "backend 'bm52' is unknown"),
        ({"aggregates": ("max",)}, "aggregate 'max' is unknown"),
        ({"queries": ("Claims",)}, "query 'Claims' is unknown"),
        ({"queries": ("Title",), "corpora": ("Abstract",)}, "no chosen pair"),
    ],
)
def test_unknown_factors_are_named(chosen, message):
    with pytest.raises(DataError, match=message):
        sweep.Matrix(**chosen)


def test_a_dense_backend_needs_a_model(tmp_path):
    with pytest.raises(ModelError, match="needs an encoder"):
        sweep.sweep([sweep.Matrix(("dense",))], [], bm25("dapfam"), tmp_path / "t.csv")
