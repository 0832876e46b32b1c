"""Steps are the batches of one pass, rows that no batch has are counted, settings without effect are refused."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest
from datasets import Dataset
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Router, StaticEmbedding
from small_bases import write_bert, write_late, write_sparse, write_static
from small_jobs import job, small

from patent_mteb.cli import main
from patent_mteb.errors import DataError, ModelError
from patent_mteb.models.folders import training_record
from patent_mteb.training import jobs
from patent_mteb.training.recipes import find_recipe, settings_for
from patent_mteb.training.running import one_pass


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return write_bert(tmp_path_factory.mktemp("bases") / "bert")


def labelled(*sizes):
    labels = [label for label, size in enumerate(sizes) for _ in range(size)]
    found = Dataset.from_dict({"anchor": [f"text {row}" for row in range(len(labels))], "label": labels})
    found.info.description = "triplet"
    return found


def pairs(anchors):
    found = Dataset.from_dict({"anchor": anchors, "positive": [f"positive {row}" for row in range(len(anchors))]})
    found.info.description = "ranking"
    return found


@pytest.mark.parametrize(
    ("sizes", "batches", "without"),
    [
        # two rows of each label in turn, until one label is left: 2 x the pairs of rows, at most those of the second
        pytest.param((1000, 20, 20, 20), 3, 980, id="one large"),
        pytest.param((80, 10, 10), 1, 70, id="eight tenths"),
        pytest.param((40, 40), 3, 0, id="two equal"),
        pytest.param((41, 41), 3, 2, id="odd"),
        pytest.param((100, 2), 1, 98, id="one pair"),
        pytest.param((33, 31), 2, 4, id="nearly equal"),
        pytest.param((3, 3, 3, 3, 3), 0 + 1, 5, id="threes"),
        pytest.param((64, 64, 1, 1, 1), 4, 3, id="single rows"),
        pytest.param((500, 400, 1), 25, 101, id="two large"),
        pytest.param((2, 2), 1, 0, id="smallest"),
    ],
)
def test_rows_of_labels_that_no_batch_has(sizes, batches, without):
    asked = job("patembed-multitask", "base", Path("run"), "batch=32")
    found, rows = one_pass({"table": labelled(*sizes)}, asked, 42)
    assert (found, rows.get("table", 0)) == (batches, without)


@pytest.mark.parametrize(
    ("anchors", "batch", "batches", "without"),
    [
        pytest.param([f"a{row}" for row in range(10)], 4, 3, 0, id="distinct"),
        pytest.param(["same"] * 10, 4, 3, 10, id="all the same: each is alone in its batch"),
        pytest.param(["same"] * 6 + [f"a{row}" for row in range(6)], 6, 2, 4, id="half"),
        pytest.param(["same", "same"], 2, 1, 2, id="two"),
        pytest.param([f"a{row}" for row in range(9)], 4, 3, 1, id="the last is alone"),
    ],
)
def test_rows_of_repeated_texts_that_no_batch_has(anchors, batch, batches, without):
    """A batch has each text once; a pass has as many batches as rows / batch. A pair alone in one trains nothing."""
    asked = job("wipo-r2", "base", Path("run"), f"batch={batch}")
    found, rows = one_pass({"pairs": pairs(anchors)}, asked, 42)
    assert found == batches and rows.get("pairs", 0) == without


def test_tables_that_take_turns_end_with_the_smallest():
    tables = {"large": pairs([f"a{row}" for row in range(12)]), "small": pairs([f"b{row}" for row in range(4)])}
    asked = job("patembed-multitask", "base", Path("run"), "batch=4", "sampling=round_robin")
    assert one_pass(tables, asked, 42) == (2, {"large": 8})
    assert one_pass(tables, job("patembed-multitask", "base", Path("run"), "batch=4"), 42) == (4, {})


def test_pairs_alone_with_a_negative_of_their_own_train():
    rows = {"anchor": ["same"] * 3, "positive": ["p", "q", "r"], "negative": ["n", "o", "m"]}
    found = Dataset.from_dict(rows)
    found.info.description = "ranking"
    assert one_pass({"pairs": found}, job("wipo-r2", "base", Path("run"), "batch=2"), 42) == (2, {"pairs": 1})


@pytest.mark.slow
def test_records_of_one_text_are_refused(tmp_path):
    whole = small()
    text = {"abstract": whole.patents[0].abstract, "claims": whole.patents[0].claims}
    corpus = replace(whole, patents=[replace(patent, **text) for patent in whole.patents])
    asked = job("wipo-r3", str(write_static(tmp_path / "base")), tmp_path / "out", "batch=4", drop_leaks=True)
    with pytest.raises(DataError, match=r"nothing to train: .* of pairs are in no batch of a pass, or alone in one"):
        jobs.train(asked, corpus, quiet=True)


@pytest.mark.slow
@pytest.mark.parametrize("write", [write_sparse, write_late])
def test_other_kinds_of_checkpoints_are_no_bases_of_encoders(write, tmp_path):
    base = write(tmp_path / "base")
    with pytest.raises(DataError, match=r"is of the kind '(sparse|late-interaction)', where 'encoder'"):
        jobs.train(job("wipo-r3", str(base), tmp_path / "out"), small(), quiet=True)


@pytest.mark.slow
def test_log_card_and_record_count_the_rows_and_an_epoch_is_one_pass(bert, tmp_path, caplog):
    asked = job(
        "wipo-r2", str(bert), tmp_path, "batch=120", "epochs=1", "mini_batch=16", "max_length=16", drop_leaks=True
    )
    done = jobs.train(asked, small(), quiet=True)
    record = training_record(done.checkpoints[0])
    (phrase,) = (one for one in record["warnings"] if "in no batch" in one)
    rows = done.prepared.counts["train"]
    assert record["steps"] == -(-rows // 120) and f"of {rows} rows of pairs" in phrase
    assert phrase in caplog.text and phrase in (done.checkpoints[0] / "README.md").read_text()


@pytest.mark.parametrize(
    ("recipe", "settings", "words"),
    [
        pytest.param("wipo-r2", ["hard_negatives=2", "negatives_reranker=ce"], "negatives_margin=0.05", id="no margin"),
        pytest.param("wipo-r2", ["negatives_reranker=ce"], "hard_negatives=1", id="reranker alone"),
        pytest.param("wipo-r2", ["negatives_margin=0.05"], "hard_negatives=1", id="margin alone"),
        pytest.param("wipo-r2", ["batch=1"], "batch=32", id="one pair"),
        pytest.param("patembed-ret-only", ["batch=1"], "batch=32", id="one pair of a task"),
        pytest.param("wipo-r2", ["epochs=0"], "epochs=1", id="no epoch"),
        pytest.param("patembed-multitask", ["batch=7"], "batch=8", id="odd"),
        pytest.param("patembed-multitask", ["batch=2"], "batch=4", id="two"),
        pytest.param("patembed-no-classif", ["batch=33"], "batch=34", id="pairs with labels"),
    ],
)
def test_settings_that_cannot_work_are_refused_before_anything_is_prepared(recipe, settings, words, tmp_path):
    found = find_recipe(recipe)
    asked = replace(job(recipe, "none", tmp_path / "out"), settings=settings_for(found, settings))
    with pytest.raises(DataError, match=words):
        jobs.train(asked, small(), quiet=True)
    assert not (tmp_path / "out").exists()


def test_an_odd_batch_trains_rankings(tmp_path):
    jobs._check_options(job("patembed-ret-only", "none", tmp_path, "batch=7"))
    jobs._check_options(job("wipo-r2", "none", tmp_path, "batch=7"))


def test_a_warm_up_of_all_steps_is_refused_with_its_bounds(tmp_path, capsys):
    words = ["train", "wipo-r2", "sample", "-m", "none", "--out", str(tmp_path / "out"), "--set", "warmup=1"]
    assert main(words) == 2
    assert "from 0 to 0.99" in " ".join(capsys.readouterr().err.split())


@pytest.mark.slow
def test_the_rate_rises_over_the_share_of_the_warm_up(bert, tmp_path):
    asked = job("wipo-r2", str(bert), tmp_path, "warmup=0.99", "max_length=16", max_steps=4, drop_leaks=True)
    jobs.train(asked, small(), quiet=True)
    with (tmp_path / "seed-42" / "history.csv").open() as stream:
        rates = [float(row["learning_rate"]) for row in csv.DictReader(stream) if row["loss"]]
    assert rates == sorted(rates) and rates[0] < rates[-1]


def test_more_dimensions_than_those_of_the_base_are_refused_before_the_pairs(bert, tmp_path):
    asked = job("wipo-r3", str(bert), tmp_path / "out", "matryoshka=9999,8")
    with pytest.raises(DataError, match=r"have \d+ dimensions, not 9999"):
        jobs.train(asked, small(), quiet=True)
    assert not (tmp_path / "out" / "pairs").exists()


def test_the_only_step_of_a_run_has_a_rate(bert, tmp_path):
    asked = job("wipo-r2", str(bert), tmp_path, "max_length=16", max_steps=1, drop_leaks=True)
    jobs.train(asked, small(), quiet=True)
    with (tmp_path / "seed-42" / "history.csv").open() as stream:
        assert [float(row["learning_rate"]) for row in csv.DictReader(stream) if row["loss"]] == [asked.settings.lr]


def test_an_asymmetric_base_is_a_sentence(bert, tmp_path):
    write_static(tmp_path / "static")
    static = SentenceTransformer(str(tmp_path / "static"), device="cpu")
    other = StaticEmbedding(static[0].tokenizer, embedding_weights=static[0].embedding.weight.detach().numpy())
    router = Router.for_query_document([static[0]], [other])
    SentenceTransformer(modules=[router], device="cpu").save(str(tmp_path / "router"), create_model_card=False)
    with pytest.raises(ModelError, match=r"asymmetric.*Remedy: choose another base"):
        jobs.train(job("wipo-r3", str(tmp_path / "router"), tmp_path / "out"), small(), quiet=True)
    assert not (tmp_path / "out" / "pairs").exists()
