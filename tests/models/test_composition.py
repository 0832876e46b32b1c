"""One model from several: every sensible combination runs, has an identity of its own, and scores the same with and
without a store.
"""

import json
from functools import lru_cache

import mteb
import numpy as np
import pytest
from mteb.cache import ResultCache
from mteb.models.model_meta import ModelMeta
from small_data import FixedSearch, HashEncoder, dapfam_tables, scores_of
from tiny_checkpoints import write_cross_encoder
from tiny_colbert import write_checkpoint
from tokenizers import Tokenizer, models, pre_tokenizers

from patent_mteb import cli
from patent_mteb.errors import ModelError
from patent_mteb.identity import identity_of
from patent_mteb.models import Hybrid, Passages, Reranked, Truncated, bm25, compose, load, stored
from patent_mteb.search.colbert import available_backends
from patent_mteb.tasks.catalogue import tasks

TASK = "PatentDAPFAMTAToTACRetrieval"


class Encoder(HashEncoder):
    """Shows a tokenizer, tells the store that it has no prompts, and works out the vector of a word once."""

    def __init__(self, name="tests/encoder", dims=64):
        super().__init__(name, dims)
        self.tokenizer = Tokenizer(models.WordLevel({"?": 0}, unk_token="?"))
        self.tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        self._word = lru_cache(maxsize=None)(super().vector)

    def store_prompt(self, task_metadata, prompt_type):
        return ""

    def vector(self, text):
        return sum((self._word(word) for word in text.split()), np.full(self.dims, 1e-3, np.float32))


class Shortest:
    """A cross-encoder that prefers short documents."""

    max_seq_length = 512
    mteb_model_meta = ModelMeta.create_empty(
        {"name": "tests/shortest", "revision": "1", "model_type": ["cross-encoder"]}
    )

    def predict(self, inputs1, inputs2, **kwargs):
        return np.array([-float(len(text)) for batch in inputs2 for text in batch["text"]])


SETTINGS = [
    {},
    {"dims": 8},
    {"dims": 16},
    {"passages": 10},
    {"passages": 20},
    {"passages": 20, "stride": 10},
    {"passages": 20, "aggregate": "avg_top3"},
    {"passages": 20, "aggregate": "avgP"},
    {"passages": 20, "aggregate": "sumP"},
    {"passages": 20, "aggregate": "firstP"},
    {"passages": 20, "dims": 8},
    {"fuse": "bm25"},
    {"fuse": "bm25", "alpha": 0.7},
    {"fuse": "bm25", "rrf_k": 60},
    {"fuse": "bm25", "rrf_k": 10},
    {"fuse": "bm25", "alpha": 0.7, "dims": 8},
    {"fuse": "bm25", "alpha": 0.7, "passages": 20},
    {"fuse": "bm25", "alpha": 0.7, "passages": 20, "aggregate": "avg_top3"},
    {"fuse": "encoder", "alpha": 0.7},
    {"fuse": "encoder", "alpha": 0.7, "passages": 20, "stride": 10},
    {"rerank": "shortest"},
    {"rerank": "shortest", "rerank_depth": 20},
    {"rerank": "shortest", "dims": 8},
    {"rerank": "shortest", "passages": 20},
    {"rerank": "shortest", "fuse": "bm25", "alpha": 0.7},
    {
        "rerank": "shortest",
        "fuse": "bm25",
        "rrf_k": 60,
        "passages": 20,
        "aggregate": "avg_top3",
        "dims": 8,
        "rerank_depth": 20,
    },
    {"spans": "3x8"},
    {"spans": "3x8", "dims": 8, "fuse": "bm25"},
]
LEXICAL = [
    {},
    {"passages": 20},
    {"passages": 20, "aggregate": "sumP"},
    {"fuse": "encoder", "alpha": 0.3},
    {"rerank": "shortest"},
    {"passages": 20, "fuse": "encoder", "rrf_k": 30, "rerank": "shortest"},
]
OTHERS = {"bm25": lambda: bm25("dapfam"), "encoder": lambda: Encoder("tests/second", 32), "shortest": Shortest}


def made(settings, store=None, base=Encoder):
    return compose(
        base(),
        store=store,
        **{name: OTHERS.get(value, lambda value=value: value)() for name, value in settings.items()},
    )


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    root = tmp_path_factory.mktemp("data")
    dapfam_tables(root)
    return root


@pytest.fixture
def task(data, monkeypatch):
    monkeypatch.setenv("PATENT_MTEB_DATA", str(data))
    return mteb.get_task(TASK)


@pytest.fixture
def store(tmp_path):
    return tmp_path / "store"


WITH_STORE = [
    {"passages": 20, "stride": 10},
    {"passages": 20, "dims": 8},
    {"fuse": "bm25", "alpha": 0.7, "passages": 20},
    {"fuse": "encoder", "alpha": 0.7},
    SETTINGS[-3],
    {"spans": "3x8", "dims": 8, "fuse": "bm25"},
]
"""Each wrapper around a stored model, and all of them together."""


@pytest.mark.slow
@pytest.mark.parametrize("settings", WITH_STORE, ids=json.dumps)
def test_every_combination_scores_the_same_with_and_without_a_store(task, store, settings):
    plain = scores_of(task, made(settings))
    with_store = made(settings, store)
    np.testing.assert_equal(scores_of(task, with_store), plain)
    np.testing.assert_equal(scores_of(task, made(settings, store)), plain)
    assert 0 < plain["main_score"] <= 1
    assert with_store.mteb_model_meta.revision == made(settings).mteb_model_meta.revision


def test_every_combination_has_an_identity_of_its_own():
    every = [(made(settings), settings) for settings in SETTINGS]
    every += [(made(settings, base=OTHERS["bm25"]), settings) for settings in LEXICAL]
    assert len(every) > 30
    paths = [ResultCache("x").get_task_result_path(TASK, model.mteb_model_meta) for model, _ in every]
    assert len(set(paths)) == len(every)
    assert len({(model.mteb_model_meta.name, model.mteb_model_meta.experiment_name) for model, _ in every}) == len(
        every
    )
    lines = [str(identity_of(model.mteb_model_meta)) for model, _ in every]
    assert len(set(lines)) == len(every)
    words = {
        "passages": "'tokens': {}",
        "rrf_k": "'k': {}",
        "dims": "'dims': {}",
        "spans": "'spans': '{}'",
        "stride": "'stride': {}",
        "alpha": "'alpha': {}",
        "rerank_depth": "'k': {}",
    }
    names = {"bm25": "bm25-dapfam'", "encoder": "second", "shortest": "shortest"}
    for line, (_, settings) in zip(lines, every, strict=True):
        for name, value in settings.items():
            assert names.get(value, words.get(name, "{}").format(value)) in line, line


def test_a_number_is_the_same_setting_in_either_type():
    for name, whole in (("rrf_k", 60), ("alpha", 1)):
        revisions = {made({"fuse": "bm25", name: value}).mteb_model_meta.revision for value in (whole, float(whole))}
        assert len(revisions) == 1


def test_names_say_what_was_composed():
    names = [made(settings).mteb_model_meta.name for settings in SETTINGS]
    assert names[0] == names[1] == "tests/encoder"
    assert names[5] == "passages/20s10-maxP-encoder"
    assert names[12] == "hybrid/linear-0.7-bm25-dapfam+encoder"
    assert names[17] == "hybrid/linear-0.7-passages-20-avg_top3-bm25-dapfam+passages-20-avg_top3-encoder"
    assert names[24] == "reranked/100-hybrid-linear-0.7-bm25-dapfam+encoder+shortest"
    assert all(len(name) < 150 and "/" not in name.partition("/")[2] for name in names)


def test_options_mean_what_their_parts_mean():
    encoder, lexical = Encoder(), bm25("dapfam")
    by_hand = [
        ({"dims": 8}, Truncated(encoder, 8)),
        ({"passages": 20, "aggregate": "avg_top3", "stride": 10}, Passages(encoder, 20, "avg_top3", stride=10)),
        ({"fuse": "bm25", "alpha": 0.7}, Hybrid(lexical, encoder, alpha=0.7)),
        (
            {"fuse": "bm25", "rrf_k": 10, "passages": 20},
            Hybrid(Passages(lexical, 20), Passages(encoder, 20), "rrf", k=10),
        ),
        ({"rerank": "shortest", "rerank_depth": 20, "dims": 8}, Reranked(Truncated(encoder, 8), Shortest(), k=20)),
    ]
    for settings, model in by_hand:
        composed = made(settings)
        assert type(composed) is type(model)
        assert composed.mteb_model_meta.revision == model.mteb_model_meta.revision
        assert composed.mteb_model_meta.experiment_name == model.mteb_model_meta.experiment_name


def test_dimensions_and_fusion_encode_each_text_once(task, store):
    encoder = Encoder()
    for settings in (
        {},
        {"dims": 8},
        {"dims": 16, "fuse": bm25("dapfam")},
        {"passages": 20},
        {"passages": 20, "aggregate": "avgP"},
    ):
        scores_of(task, compose(encoder, store=store, **settings))
    again = 4  # of a large call, see patent_mteb.store.company
    assert len(encoder.texts) - again == len(set(encoder.texts)) > 48


# ---------------------------------------------------------------- the benchmarks, on the sample

SAMPLED = (
    "PatentCitationRetrieval",
    "WIPOATConventionalEnvironmentClassification",
    "PatenTEBNLIOldNew",
    "PatenTEBParaSolution",
    "PatenTEBInventorClustering",
    "PatentMapClmToAllRetrieval",
)


@pytest.mark.slow
def test_store_changes_no_score_of_any_benchmark(store):
    kinds = [task for task in tasks() if task.metadata.name in SAMPLED]
    bare, once = Encoder(dims=16), Encoder(dims=16)
    model = stored(once, store)
    for kind in kinds:
        expected, found = (scores_of(mteb.get_task(f"{kind.metadata.name}.sample"), one) for one in (bare, model))
        np.testing.assert_equal(found, expected)
        assert 0 < found["main_score"] <= 1, kind.metadata.name
    assert {kind.metadata.type for kind in kinds} >= {
        "Retrieval",
        "MultilabelClassification",
        "Classification",
        "Clustering",
        "STS",
    }
    again = len(once.texts) - len(set(once.texts))
    assert again % 4 == 0 and again < 0.02 * len(once.texts), "four texts of each large call are encoded again"
    assert len(once.texts) < len(bare.texts)
    assert set(once.texts) == set(bare.texts)


# ---------------------------------------------------------------- what does not go together

REFUSED = [
    ({"alpha": 0.5}, "--alpha and --rrf need a second model. Remedy: name it with --fuse"),
    ({"rrf_k": 60}, "--alpha and --rrf need a second model"),
    ({"fuse": "bm25", "alpha": 0.5, "rrf_k": 60}, "exclude each other"),
    ({"stride": 10}, "--stride and --aggregate need passages"),
    ({"aggregate": "avgP"}, "--stride and --aggregate need passages"),
    ({"dims": 0}, "cannot keep 0 dimensions"),
    ({"rerank": "encoder"}, "is not a cross-encoder"),
    ({"rerank_depth": 10}, "--rerank-depth and --rerank-chunks need a second stage"),
]


@pytest.mark.parametrize(("settings", "message"), REFUSED)
def test_contradictory_options_are_refused(settings, message):
    with pytest.raises(ModelError, match=message):
        made(settings)


def test_what_a_model_cannot_do_is_refused(task, tmp_path):
    with pytest.raises(ModelError, match="has no dimensions to keep"):
        made({"dims": 8}, base=OTHERS["bm25"])
    search = FixedSearch({})
    with pytest.raises(ModelError, match="FixedSearch cannot score passages"):
        compose(search, passages=20)
    with pytest.raises(ModelError, match="FixedSearch cannot score passages"):
        compose(Encoder(), passages=20, fuse=search)
    with pytest.raises(ModelError, match="has a store already"):
        compose(stored(Encoder(), tmp_path / "a"), store=tmp_path / "b")
    with pytest.raises(ModelError, match="cannot keep 65 of 64 dimensions"):
        scores_of(task, compose(Encoder(), dims=65))
    for settings, message in (
        ({"passages": 0}, "a whole number from 1, not 0"),
        ({"passages": 20, "stride": 30}, "text would be skipped"),
        ({"passages": 20, "aggregate": "median"}, "unknown aggregation"),
        ({"fuse": "bm25", "alpha": 1.5}, "from 0 to 1"),
        ({"rerank": "shortest", "rerank_depth": 0}, "positive"),
    ):
        with pytest.raises(ValueError, match=message):
            made(settings)


# ---------------------------------------------------------------- late interaction


@pytest.fixture(scope="module")
def colbert(tmp_path_factory):
    if not available_backends():
        pytest.skip("neither sentence-transformers >= 6 nor PyLate is installed")
    folder = tmp_path_factory.mktemp("colbert") / "tiny"
    write_checkpoint(folder, "both")
    return folder


def numbers(scores):
    """The scores of a result, without its evidence."""
    return {name: value for name, value in scores.items() if name != "evidence"}


@pytest.mark.slow
def test_late_interaction_stays_maxsim_with_a_store(task, store, colbert):
    model = load(str(colbert))
    expected = scores_of(task, model)
    composed = compose(model, store=store)
    np.testing.assert_equal(numbers(scores_of(task, composed)), numbers(expected))
    np.testing.assert_equal(numbers(scores_of(task, compose(load(str(colbert)), store=store))), numbers(expected))
    assert composed.mteb_model_meta.experiment_kwargs == model.mteb_model_meta.experiment_kwargs
    fused = compose(model, fuse=bm25("dapfam"), alpha=0.5)
    both = scores_of(task, compose(model, store=store, fuse=bm25("dapfam"), alpha=0.5)), scores_of(task, fused)
    np.testing.assert_equal(*map(numbers, both))


@pytest.mark.parametrize("settings", [{"dims": 4}, {"passages": 20}])
def test_late_interaction_has_no_single_vector_to_cut(store, colbert, settings):
    with pytest.raises(ModelError):
        compose(load(str(colbert)), store=store, **settings)


# ---------------------------------------------------------------- mteb's own check


# ---------------------------------------------------------------- the command


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory):
    """A static word-vector model, another one, and a tiny cross-encoder, as directories."""
    from sentence_transformers import SentenceTransformer

    try:
        from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    except ImportError:
        from sentence_transformers.models import StaticEmbedding

    root = tmp_path_factory.mktemp("models")
    words = {"?": 0, **{f"w{number}": number + 1 for number in range(120)}}
    for name, width in (("one", 16), ("two", 8)):
        tokenizer = Tokenizer(models.WordLevel(words, unk_token="?"))
        tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        vectors = np.random.default_rng(width).standard_normal((len(words), width)).astype(np.float32)
        SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_weights=vectors)], device="cpu").save(
            str(root / name)
        )
    return {"MODEL": root / "one", "SECOND": root / "two", "CROSS": write_cross_encoder(root / "cross", words=[*words])}


COMMANDS = [
    "",
    "--no-store",
    "--passages 20 --stride 10 --fuse SECOND --alpha 0.3",
    "--dims 4 --passages 20 --aggregate avgP --fuse patent-mteb/bm25-dapfam --rrf 30 --rerank CROSS --rerank-depth 7",
]


def run(*arguments):
    return cli.main(["run", "-v", "1", "-t", TASK, *arguments])


@pytest.mark.slow
def test_the_command_composes_as_python_does(task, tmp_path, store, checkpoints, capsys, monkeypatch):
    monkeypatch.delenv("PATENT_MTEB_QUERY_SCORES")
    folder = tmp_path / "out"
    seen = {}
    for line in COMMANDS:
        words = [str(checkpoints.get(word, word)) for word in line.split()]
        kept = [] if "--no-store" in words else ["--store", str(store)]
        assert run("-m", str(checkpoints["MODEL"]), "--output-folder", str(folder), *kept, *words) == 0, (
            capsys.readouterr().err
        )
        paths = set(folder.rglob(f"{TASK}.local-*[0-9a-f].json")) - seen.keys()
        if line == "--no-store":
            assert not paths, "the store is not part of the identity"
            continue
        (path,) = paths
        seen[path] = json.loads(path.read_text())["scores"]["train"][0]
        assert path.with_suffix(".queries.parquet").exists()
    assert len({scores["ndcg_at_100"] for scores in seen.values()}) == len(seen) == len(COMMANDS) - 1
    model = load(str(checkpoints["MODEL"]))
    settings = {"dims": 4, "passages": 20, "aggregate": "avgP", "fuse": bm25("dapfam"), "rrf_k": 30, "rerank_depth": 7}
    composed = compose(model, store=store, rerank=load(str(checkpoints["CROSS"])), **settings)
    alone = compose(model, passages=20, stride=10, fuse=load(str(checkpoints["SECOND"])), alpha=0.3)
    *_, last = seen.items()
    assert ResultCache(folder).get_task_result_path(last[0].stem, alone.mteb_model_meta) in seen
    assert ResultCache(folder).get_task_result_path(last[0].stem, composed.mteb_model_meta) == last[0]
    for name, value in scores_of(task, composed).items():
        if name not in ("hf_subset", "languages", "mteb_version") and isinstance(value, float) and not np.isnan(value):
            assert last[1][name] == pytest.approx(value, abs=1e-5), name


def test_options_that_do_not_go_together_are_refused(checkpoints, tmp_path, capsys):
    for words, said in ((["--alpha", "0.5"], "second model"), (["--passages", "20", "--stride", "64"], "be skipped")):
        assert run("-m", str(checkpoints["MODEL"]), "--output-folder", str(tmp_path), *words) == 2
        streams = capsys.readouterr()
        assert said in streams.err.replace("\n", " ") and "Traceback" not in streams.err
    assert not list(tmp_path.rglob(f"{TASK}.*.json"))
    with pytest.raises(SystemExit) as stopped:
        run("-m", str(checkpoints["MODEL"]), "--store", str(tmp_path), "--no-store")
    assert stopped.value.code == 2
    assert "exclude each other" in capsys.readouterr().err
