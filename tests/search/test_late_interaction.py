"""Exact MaxSim against naive NumPy, on token vectors that are themselves checked against a hand-written forward pass.

Run in both environments (sentence-transformers >= 6, and sentence-transformers 5.3 with PyLate). With
PATENT_MTEB_COLBERT_SCORES=<file> the first run writes its scores and the second one compares with them.
"""

import functools
import itertools
import json
import os
import string
from pathlib import Path

import mteb
import numpy as np
import pytest
import tiny_checkpoints
import torch
from datasets import Dataset
from mteb.mocks.mock_tasks import MockClassificationTask, MockRetrievalTask
from mteb.types import PromptType
from search_calls import mock_scores
from tiny_colbert import DIM, DOCUMENT_LENGTH, MARKERS, QUERY_LENGTH, VOCABULARY, WORDS, write_checkpoint
from torch.utils.data import DataLoader

from patent_mteb.errors import DataError, ModelError
from patent_mteb.search import colbert
from patent_mteb.search import late_interaction as li
from patent_mteb.search import maxsim as kernel

BACKENDS = colbert.available_backends()
pytestmark = pytest.mark.skipif(not BACKENDS, reason="neither sentence-transformers >= 6 nor PyLate is installed")
ST6 = "sentence-transformers" in BACKENDS


def texts(n, seed, longest=40):
    rng = np.random.default_rng(seed)
    vocabulary = [*WORDS, ".", ",", ";", "unheard"]
    return [" ".join(rng.choice(vocabulary, size=rng.integers(1, longest))) for _ in range(n)]


QUERIES, DOCUMENTS = texts(5, 1, 20), texts(21, 2)


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory):
    root = tmp_path_factory.mktemp("colbert")
    return {kind: write_checkpoint(root / kind, kind) for kind in MARKERS}


@pytest.fixture(scope="module")
def models(checkpoints):
    return {kind: li.LateInteraction(folder, memory_budget=1 << 20) for kind, folder in checkpoints.items()}


@functools.cache
def definition(folder, kind):
    from safetensors.numpy import load_file
    from transformers import BertConfig, BertModel

    backbone = folder / "0_Transformer" if kind == "both" else folder
    model = BertModel.from_pretrained(
        backbone, config=BertConfig.from_pretrained(backbone), add_pooling_layer=False
    ).eval()
    return (
        model,
        load_file(folder / ("model.safetensors" if kind == "stanford" else "1_Dense/model.safetensors"))[
            "linear.weight"
        ],
    )


def by_hand(folder, kind, text, is_query, prompt="", expand=True):
    """Token vectors from the definition: one BERT pass, projection, unit length; punctuation of documents left out."""
    model, linear = definition(folder, kind)
    names = [*VOCABULARY, *(marker for marker in MARKERS[kind] if marker not in VOCABULARY)]
    number = {name: position for position, name in enumerate(names)}
    marker = number[MARKERS[kind][0 if is_query else 1]]
    limit = QUERY_LENGTH if is_query else DOCUMENT_LENGTH
    body = [number.get(word, 1) for word in (prompt + text).split()][: limit - 3]
    ids = [2, marker, *body, 3]
    attention = [1] * len(ids)
    if is_query and expand:
        attention += [0] * (limit - len(ids))
        ids += [4] * (limit - len(ids))
    with torch.no_grad():
        hidden = model(torch.tensor([ids]), attention_mask=torch.tensor([attention])).last_hidden_state[0].numpy()
    vectors = hidden @ linear.T
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    punctuation = {number[mark] for mark in string.punctuation}
    return vectors if is_query else vectors[[token not in punctuation for token in ids]]


def naive(queries, documents):
    scores = np.zeros((len(queries), len(documents)))
    for i, query in enumerate(queries):
        for j, document in enumerate(documents):
            products = np.asarray(query, np.float64) @ np.asarray(document, np.float64).T
            scores[i, j] = sum(max(row) for row in products)
    return scores


def table(prefix, rows):
    return Dataset.from_dict({"id": [f"{prefix}{row:03d}" for row in range(len(rows))], "text": list(rows)})


def search(model, queries=QUERIES, documents=DOCUMENTS, top_k=1000, task=MockRetrievalTask, batch_size=8, **kwargs):
    common = {"task_metadata": task.metadata, "hf_split": "test", "hf_subset": "default", "num_proc": None}
    encode_kwargs = {"batch_size": batch_size, "show_progress_bar": False}
    model.index(table("d", documents), encode_kwargs=encode_kwargs, **common)
    return model.search(table("q", queries), top_k=top_k, encode_kwargs=encode_kwargs, **common, **kwargs)


def ragged(rng, lengths, dim=16):
    return [rng.normal(size=(length, dim)).astype(np.float32) for length in lengths]


@pytest.mark.parametrize(("budget", "elements"), [(1 << 20, None), (1 << 30, None), (1 << 30, 50)])
def test_maxsim_is_naive_numpy(budget, elements, monkeypatch):
    if elements:
        monkeypatch.setitem(kernel._BLOCK_ELEMENTS, "cpu", elements)
    rng = np.random.default_rng(0)
    queries = ragged(rng, [1, 7, 32, 7, 64, 3])
    documents = ragged(rng, [1, 1, 90, 5, 80, 81, 2, 90, 17])
    found = kernel.maxsim(queries, documents, memory_budget=budget)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, naive(queries, documents), rtol=1e-5, atol=1e-5)


def test_maxsim_where_some_similarities_of_a_block_are_all_negative():
    """The largest number by its bits: positive and negative maxima, and zeros of both signs."""
    rng = np.random.default_rng(7)
    queries, documents = ragged(rng, [5, 9, 2]), ragged(rng, [1, 1, 2, 2, 3, 40])
    queries[1][:] = np.abs(queries[1])
    documents[2][:] = -np.abs(documents[2])
    documents[3][:] = [[0.0], [-0.0]]
    expected = naive(queries, documents)
    assert (expected < 0).any() and (expected > 0).any()
    np.testing.assert_allclose(kernel.maxsim(queries, documents), expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(kernel.maxsim(queries, documents, dtype="bfloat16"), expected, rtol=2e-2, atol=0.1)


def test_similarities_stay_within_a_quarter_of_the_budget():
    rng = np.random.default_rng(6)
    queries, documents = ragged(rng, [64] * 40), ragged(rng, [500, 510, 1500, 520])
    scorer = kernel.Scorer("float32", "cpu", 1 << 20)
    bags = scorer.bags(documents)
    for part in scorer.queries(queries):
        scorer(part, bags, len(documents))
    assert 0 < scorer._product._memory.numel() * 4 <= (1 << 20) / 4


def test_maxsim_refuses_what_has_no_score():
    rng = np.random.default_rng(4)
    one, none = ragged(rng, [3])[0], np.empty((0, 16), dtype=np.float32)
    with pytest.raises(ModelError, match="document number 2 has no token vectors"):
        kernel.maxsim([one], [one, none])
    with pytest.raises(ModelError, match="not a finite number"):
        kernel.maxsim([one], [one * np.nan])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-5), ("bfloat16", 1e-2)])
def test_maxsim_on_cuda(dtype, tolerance):
    rng = np.random.default_rng(5)
    unit = [
        vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        for vectors in ragged(rng, [*range(1, 12), *range(20, 300, 9)], 128)
    ]
    found = kernel.maxsim(unit[:11], unit[11:], device="cuda", dtype=dtype)
    np.testing.assert_allclose(found, naive(unit[:11], unit[11:]), rtol=tolerance)


@pytest.mark.parametrize("kind", MARKERS)
def test_markers_stay_under_prompts(models, checkpoints, kind):
    for is_query in (True, False):
        found = models[kind].encode_tokens(QUERIES[:3], is_query=is_query, prompt="find text ")
        for vectors, text in zip(found, QUERIES, strict=False):
            np.testing.assert_allclose(
                vectors, by_hand(checkpoints[kind], kind, text, is_query, "find text "), atol=2e-5
            )


def test_queries_without_expansion(tmp_path):
    folder = write_checkpoint(tmp_path / "short", "pylate", expand=False)
    for vectors, text in zip(li.LateInteraction(folder).encode_tokens(QUERIES, is_query=True), QUERIES, strict=True):
        np.testing.assert_allclose(vectors, by_hand(folder, "pylate", text, True, expand=False), atol=2e-5)


@pytest.mark.parametrize("kind", MARKERS)
def test_search_is_naive_maxsim(models, checkpoints, kind):
    found = search(models[kind])
    queries = [by_hand(checkpoints[kind], kind, text, True) for text in QUERIES]
    documents = [by_hand(checkpoints[kind], kind, text, False) for text in DOCUMENTS]
    expected = naive(queries, documents)
    for row, (query, ranking) in enumerate(found.items()):
        assert query == f"q{row:03d}"
        assert len(ranking) == len(DOCUMENTS)
        assert list(ranking.values()) == sorted(ranking.values(), reverse=True)
        for name, score in ranking.items():
            assert score == pytest.approx(expected[row, int(name[1:])], abs=1e-5)


def test_small_chunks_and_top_k_give_the_head_of_the_full_ranking(checkpoints, monkeypatch):
    model = li.LateInteraction(checkpoints["pylate"])
    full = search(model)
    monkeypatch.setattr(model, "_documents_per_chunk", lambda *_: 5)
    head = search(model, top_k=4)
    for query, ranking in full.items():
        assert list(head[query]) == list(ranking)[:4]
        np.testing.assert_allclose(list(head[query].values()), list(ranking.values())[:4], atol=1e-6)


@pytest.mark.parametrize("step", [1, 2, 100])
def test_equal_scores_rank_by_id_descending(models, monkeypatch, step):
    """Token vectors of small whole numbers, so that equal texts have equal scores in any block."""
    whole = {word: np.random.default_rng(row).integers(-3, 4, DIM).astype(np.float32) for row, word in enumerate(WORDS)}
    model = models["pylate"]
    monkeypatch.setattr(
        model, "encode_tokens", lambda rows, **_: [np.stack([whole[word] for word in row.split()]) for row in rows]
    )
    monkeypatch.setattr(model, "_documents_per_chunk", lambda *_: step)
    documents = ["rotor blade", "pump", "rotor blade", "rotor blade laser", "pump", "rotor blade"]
    found = search(model, ["laser", "rotor pump"], documents)
    for query, ranking in zip(([whole["laser"]], [whole["rotor"], whole["pump"]]), found.values(), strict=True):
        scores = naive([query], [[whole[word] for word in row.split()] for row in documents])[0]
        assert list(ranking.items()) == [
            (f"d{row:03d}", score) for score, row in sorted(zip(scores, range(6), strict=True), reverse=True)
        ]
    assert [list(ranking) for ranking in search(model, ["laser"], ["pump"] * 5, top_k=2).values()] == [["d004", "d003"]]


def test_search_of_given_candidates(models):
    full = search(models["stanford"])
    lists = {"q000": ["d003", "d001", "d013", "d003"], "q002": ["d003"], "q003": []}
    found = search(models["stanford"], top_ranked=lists)
    assert list(found) == list(full)
    for query, ranking in found.items():
        wanted = {name: score for name, score in full[query].items() if name in lists.get(query, [])}
        assert list(ranking) == list(wanted)
        np.testing.assert_allclose(list(ranking.values()), list(wanted.values()), atol=1e-6)
    assert [len(ranking) for ranking in search(models["stanford"], top_ranked=lists, top_k=2).values()][:4] == [
        2,
        0,
        1,
        0,
    ]
    with pytest.raises(DataError, match="'d999'"):
        search(models["stanford"], top_ranked={"q001": ["d999"]})


def test_reranking_encodes_only_the_candidates(models, monkeypatch):
    model, seen = models["pylate"], []
    original = model.encode_tokens
    monkeypatch.setattr(
        model, "encode_tokens", lambda rows, **kw: seen.extend(rows * (not kw["is_query"])) or original(rows, **kw)
    )
    search(model, top_ranked={"q000": ["d003", "d001"], "q004": ["d001"]})
    assert seen == [DOCUMENTS[1], DOCUMENTS[3]]


def test_bfloat16_search_is_close(checkpoints, models):
    model = li.LateInteraction(checkpoints["pylate"], dtype="bfloat16")
    exact, found = search(models["pylate"]), search(model)
    for query, ranking in found.items():
        for name, score in ranking.items():
            assert score == pytest.approx(exact[query][name], rel=1e-2)
    assert found != exact
    assert model.mteb_model_meta.experiment_name != models["pylate"].mteb_model_meta.experiment_name


def test_scores_of_bytes_are_close_and_filed_apart(checkpoints, models, tmp_path):
    """int8 loses at most half a step of a value, so at most the length of that in every dot product
    (Cauchy-Schwarz).
    """
    exact, small = models["pylate"], li.LateInteraction(checkpoints["pylate"], vectors="int8")
    plain, coded = (model.encode_tokens(DOCUMENTS, is_query=False, batch_size=1) for model in (exact, small))
    for before, after in zip(plain, coded, strict=True):
        steps = np.abs(before).max(axis=1, keepdims=True) / 127
        assert (np.abs(after - before) <= steps * 0.5001).all() and (after != before).any()
    lost = max(np.linalg.norm(after - before, axis=1).max() for before, after in zip(plain, coded, strict=True))
    expected, found = search(exact), search(small)
    for query, ranking in found.items():
        for name, score in ranking.items():
            assert abs(score - expected[query][name]) <= QUERY_LENGTH * 2.1 * lost
    assert small.mteb_model_meta.experiment_kwargs["vectors"] == "int8"
    assert small.mteb_model_meta.experiment_name != exact.mteb_model_meta.experiment_name
    with pytest.raises(ModelError, match="unknown token vectors 'int4'"):
        li.LateInteraction(checkpoints["pylate"], vectors="int4")


@pytest.mark.slow
def test_store_of_bytes_is_a_place_of_its_own_and_changes_no_score(checkpoints, tmp_path):
    small, plain = (li.LateInteraction(checkpoints["pylate"], vectors=kind) for kind in ("int8", "float32"))
    search(plain.with_store(tmp_path / "store", "float32"), batch_size=1)
    kept = small.with_store(tmp_path / "store", "float32")
    assert kept.mteb_model_meta == small.mteb_model_meta
    expected = {query: pytest.approx(ranking, abs=1e-6) for query, ranking in search(small, batch_size=1).items()}
    assert search(kept, batch_size=1) == expected
    found = (kept.encode_tokens(rows, is_query=rows is QUERIES) for rows in (QUERIES, DOCUMENTS))
    tokens = sum(map(len, itertools.chain.from_iterable(found)))
    assert [path.stat().st_size for path in (tmp_path / "store").rglob("*.rows")].count(tokens * (DIM + 4)) == 1


def test_precision_int8_loads_a_model_of_bytes(checkpoints):
    from patent_mteb.models.loading import load

    assert load(str(checkpoints["stanford"]), precision="int8").mteb_model_meta.experiment_kwargs["vectors"] == "int8"
    with pytest.raises(ModelError, match="has no precision"):
        load(str(checkpoints["stanford"]), precision="binary")


def counting(monkeypatch, model):
    seen = []
    original = model._encoder.encode
    monkeypatch.setattr(model._encoder, "encode", lambda rows, **kw: seen.extend(rows) or original(rows, **kw))
    return seen


@pytest.mark.slow
def test_store_of_token_vectors_encodes_once_and_changes_nothing(checkpoints, tmp_path, monkeypatch):
    """One text a batch: a vector depends in its last bits on what it is padded with, and a store batches the distinct
    texts only.
    """
    model = li.LateInteraction(checkpoints["pylate"])
    rows = [*DOCUMENTS, DOCUMENTS[3], *QUERIES]
    expected, means = search(model, documents=rows, batch_size=1), encode(model, rows)
    seen = counting(monkeypatch, model)
    kept = model.with_store(tmp_path / "store", "float32")
    for query, ranking in search(kept, documents=rows, batch_size=1).items():
        assert ranking == pytest.approx(expected[query], abs=1e-6)
    assert sorted(seen) == sorted([*QUERIES, *DOCUMENTS, *QUERIES])
    seen.clear()
    again = model.with_store(tmp_path / "store", "float32")
    assert search(again, documents=rows) == search(kept, documents=rows)
    np.testing.assert_allclose(encode(again, rows), means, atol=1e-6)
    assert not seen
    assert kept.mteb_model_meta == model.mteb_model_meta
    search(
        li.LateInteraction(checkpoints["pylate"], model_prompts={"document": "text "}).with_store(
            tmp_path / "store", "float32"
        )
    )


@pytest.mark.slow
def test_store_keeps_settings_prompts_and_checkpoints_apart(checkpoints, tmp_path):
    def found(store, folder=checkpoints["pylate"], **settings):
        model = li.LateInteraction(folder, **settings)
        return search(model.with_store(tmp_path / store, "float32"), QUERIES[:2], DOCUMENTS[:4])

    found("store")
    other = write_checkpoint(tmp_path / "pylate", "pylate", seed=1)
    for number, change in enumerate(
        ({"document_length": 9}, {"model_prompts": {"Retrieval-document": "text "}}, {"folder": other})
    ):
        assert found("store", **change) == found(f"alone {number}", **change)


def test_half_precision_store_has_its_own_identity(checkpoints, tmp_path, models):
    kept = models["pylate"].with_store(tmp_path / "store")
    exact, found = search(models["pylate"]), search(kept)
    assert found != exact
    for query, ranking in found.items():
        assert ranking == pytest.approx(exact[query], rel=2e-3)
    assert kept.mteb_model_meta.experiment_kwargs == {
        **models["pylate"].mteb_model_meta.experiment_kwargs,
        "store_dtype": "float16",
    }


def encode(model, rows, task=MockClassificationTask, **kwargs):
    loader = DataLoader(Dataset.from_dict({"text": rows}), batch_size=4)
    return model.encode(
        loader, task_metadata=task.metadata, hf_split="test", hf_subset="default", show_progress_bar=False, **kwargs
    )


def test_mean_of_document_tokens(models, checkpoints):
    found = encode(models["pylate"], DOCUMENTS)
    expected = [by_hand(checkpoints["pylate"], "pylate", text, False).mean(axis=0) for text in DOCUMENTS]
    np.testing.assert_allclose(found, expected, atol=2e-5)
    assert (np.linalg.norm(found, axis=1) < 0.999).all()
    np.testing.assert_array_equal(found, encode(models["pylate"], DOCUMENTS, prompt_type=PromptType.query))


def test_prompts_of_the_task(checkpoints):
    prompts = {"NFCorpus-query": "find ", "Retrieval": "text ", "Classification": "find text "}
    model = li.LateInteraction(checkpoints["pylate"], model_prompts=prompts)
    hand = [by_hand(checkpoints["pylate"], "pylate", text, False, "text ") for text in DOCUMENTS[:5]]
    queries = [by_hand(checkpoints["pylate"], "pylate", text, True, "find ") for text in QUERIES[:2]]
    found = search(model, QUERIES[:2], DOCUMENTS[:5], task=mteb.get_task("NFCorpus"))
    scores = [[found[f"q{row:03d}"][f"d{column:03d}"] for column in range(5)] for row in range(2)]
    np.testing.assert_allclose(scores, naive(queries, hand), atol=1e-5)
    mean = by_hand(checkpoints["pylate"], "pylate", DOCUMENTS[0], False, "find text ").mean(axis=0)
    np.testing.assert_allclose(encode(model, DOCUMENTS[:1])[0], mean, atol=2e-5)


def test_stored_prompts_apply_to_both_sides_and_to_the_mean(tmp_path):
    folder = write_checkpoint(tmp_path / "prompted", "pylate", prompts={"query": "find ", "document": "text "})
    model = li.LateInteraction(folder)
    assert model.model_prompts == {"query": "find ", "document": "text "}
    score = search(model, QUERIES[:1], DOCUMENTS[:1])["q000"]["d000"]
    query, document = (
        by_hand(folder, "pylate", QUERIES[0], True, "find "),
        by_hand(folder, "pylate", DOCUMENTS[0], False, "text "),
    )
    assert score == pytest.approx(naive([query], [document])[0, 0], abs=1e-5)
    np.testing.assert_allclose(encode(model, DOCUMENTS[:1])[0], document.mean(axis=0), atol=2e-5)


def test_prompts_that_would_be_dropped_are_refused(checkpoints):
    with pytest.raises(ModelError, match="NoSuchTask"), pytest.warns(UserWarning, match="NoSuchTask"):
        li.LateInteraction(checkpoints["pylate"], model_prompts={"NoSuchTask-query": "x "})
    with pytest.raises(ModelError, match="'query' is not a text"):
        li.LateInteraction(checkpoints["pylate"], model_prompts={"query": {"q_text": "x "}})


def test_precision_is_refused(models):
    with pytest.raises(ModelError, match="precision"):
        encode(models["pylate"], ["rotor"], precision="int8")


def test_lengths_of_the_caller(checkpoints):
    model = li.LateInteraction(checkpoints["stanford"], query_length=20, document_length=9)
    assert {len(vectors) for vectors in model.encode_tokens(QUERIES, is_query=True)} == {20}
    assert max(len(vectors) for vectors in model.encode_tokens(["rotor " * 30], is_query=False)) == 9
    assert model.mteb_model_meta.experiment_kwargs == {
        "dtype": "float32",
        "maxsim": "exact",
        "query_length": 20,
        "document_length": 9,
    }


def test_markers_of_the_caller(checkpoints, models):
    swapped = li.LateInteraction(checkpoints["stanford"], query_marker="[unused1]", document_marker="[unused0]")
    plain = models["stanford"].encode_tokens(["rotor blade"], is_query=False)[0]
    found = swapped.encode_tokens(["rotor blade"], is_query=False)[0]
    assert found.shape == plain.shape
    assert not np.allclose(found, plain, atol=1e-3)


def test_identity_comes_from_the_content(tmp_path):
    metas = []
    for parent, seed in (("a", 0), ("b", 1), ("c", 0)):
        (tmp_path / parent).mkdir()
        metas.append(
            li.LateInteraction(write_checkpoint(tmp_path / parent / "colbert", "pylate", seed=seed)).mteb_model_meta
        )
    assert {meta.name for meta in metas} == {"local/colbert"}
    assert metas[0].revision == metas[2].revision != metas[1].revision
    assert metas[0].experiment_kwargs == {"dtype": "float32", "maxsim": "exact"}
    assert metas[0].loader_kwargs["backend"] == BACKENDS[0]
    assert str(tmp_path) not in json.dumps(metas[0].to_dict())
    again = metas[0].load_model(device="cpu")
    assert isinstance(again, li.LateInteraction)
    assert again.mteb_model_meta.revision == metas[0].revision


def test_unreachable_name_is_one_clear_error(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ModelError, match=r"colbert-ir/colbertv2\.0"):
        li.LateInteraction("colbert-ir/colbertv2.0")


def test_a_plain_encoder_is_refused(tmp_path):
    folder = write_checkpoint(tmp_path / "bert", "pylate")
    (folder / "config_sentence_transformers.json").unlink()
    (folder / "modules.json").unlink()
    assert not colbert.is_late_interaction(folder)
    with pytest.raises(ModelError, match="not a late-interaction checkpoint but a BertModel"):
        li.LateInteraction(folder)


@pytest.mark.parametrize("kind", ["pylate", "stanford"])
def test_a_checkpoint_without_projection_is_refused(tmp_path, kind):
    with pytest.raises(ModelError, match=r"projection|linear"):
        li.LateInteraction(write_checkpoint(tmp_path / "half", kind, projection=False))


def test_markers_outside_the_vocabulary_are_refused(tmp_path):
    folder = write_checkpoint(tmp_path / "markers", "pylate", markers=("[QQ] ", "[DD] "))
    with pytest.raises(ModelError, match=r"marker '\[QQ\] '"):
        li.LateInteraction(folder)


@pytest.mark.parametrize("model_type", [{}, {"model_type": "SentenceTransformer"}])
def test_an_older_checkpoint_whose_markers_its_tokenizer_would_split_gives_the_same_vectors(tmp_path, model_type):
    new, old = (write_checkpoint(tmp_path / name, "pylate") or tmp_path / name for name in ("new", "old"))
    path = old / "config_sentence_transformers.json"
    settings = json.loads(path.read_text("utf-8"))
    del settings["model_type"]
    path.write_text(json.dumps({**settings, **model_type}), "utf-8")
    for is_query in (True, False):
        ours, theirs = (
            li.LateInteraction(folder, device="cpu").encode_tokens(["rotor blade"], is_query=is_query)
            for folder in (new, old)
        )
        np.testing.assert_array_equal(ours[0], theirs[0])


@pytest.mark.parametrize("model_type", ["Another", None])
def test_a_model_type_whose_projection_would_be_random_is_refused(tmp_path, model_type):
    folder = write_checkpoint(tmp_path / "model", "pylate") or tmp_path / "model"
    path = folder / "config_sentence_transformers.json"
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), "model_type": model_type}), "utf-8")
    with pytest.raises(ModelError, match="prefixes of a PyLate model and the model_type"):
        li.LateInteraction(folder)


def test_other_bad_arguments(checkpoints, tmp_path):
    with pytest.raises(ModelError, match="not a model"):
        colbert.inspect_checkpoint(tmp_path)
    for wrong, message in (
        ({"dtype": "float16"}, "unknown dtype"),
        ({"backend": "colbert"}, "unknown backend"),
        ({"backend": "pylate" if ST6 else "sentence-transformers"}, "not installed"),
        ({"memory_budget": 10}, "too small"),
        ({"revision": "abc"}, "directory, which has no revision"),
    ):
        with pytest.raises(ModelError, match=message):
            li.LateInteraction(checkpoints["pylate"], **wrong)


def test_late_interaction_checkpoints_are_recognised(checkpoints):
    for kind, folder in checkpoints.items():
        assert colbert.is_late_interaction(folder)
        assert colbert.inspect_checkpoint(folder).format == ("stanford" if kind == "stanford" else "pylate")


@pytest.mark.slow
def test_it_holds_mtebs_protocol(models):
    found = mock_scores(models["pylate"], MockClassificationTask)
    assert all(0 <= score <= 1 for score in found.values())


def test_backend_agrees_with_the_other_environment(models):
    path = os.environ.get("PATENT_MTEB_COLBERT_SCORES")
    if not path:
        pytest.skip("PATENT_MTEB_COLBERT_SCORES names no file to share between the two environments")
    found = {kind: search(model) for kind, model in models.items()}
    if not Path(path).exists():
        Path(path).write_text(json.dumps({"backend": BACKENDS[0], "scores": found}), encoding="utf-8")
        pytest.skip(f"first environment: wrote the scores of {BACKENDS[0]} to {path}")
    other = json.loads(Path(path).read_text(encoding="utf-8"))
    assert other["backend"] != BACKENDS[0]
    assert other["scores"].keys() == found.keys()
    for kind, rankings in found.items():
        for query, ranking in rankings.items():
            assert other["scores"][kind][query].keys() == ranking.keys()
            for name, score in ranking.items():
                assert score == pytest.approx(other["scores"][kind][query][name], abs=1e-5)


@pytest.mark.slow
@pytest.mark.skipif(not ST6, reason="sentence-transformers >= 6 is not installed")
def test_checkpoint_saved_by_sentence_transformers(tmp_path):
    """Token vectors without projection: Transformer, MultiVectorMask, Normalize. Markers are text here."""
    from sentence_transformers import MultiVectorEncoder
    from sentence_transformers.base.modules import Normalize, Transformer
    from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask

    transformer = Transformer(str(tiny_checkpoints.bare(tmp_path / "bare", 16)))
    mask, norm = MultiVectorMask(skiplist_words=[]), Normalize(module_input_name="token_embeddings")
    native = MultiVectorEncoder(
        modules=[transformer, mask, norm], prompts={"query": "[Q] find ", "document": "[D] "}, device="cpu"
    )
    native.save(str(tmp_path / "native"))
    model = li.LateInteraction(tmp_path / "native")
    assert (model.checkpoint.query_marker, model.checkpoint.document_marker) == ("[Q] ", "[D] ")
    assert model.model_prompts == {"query": "find ", "document": ""}
    queries = [np.asarray(vectors) for vectors in native.encode_query(QUERIES, convert_to_numpy=True)]
    documents = [np.asarray(vectors) for vectors in native.encode_document(DOCUMENTS, convert_to_numpy=True)]
    expected = naive(queries, documents)
    for row, ranking in enumerate(search(model).values()):
        assert ranking == {name: pytest.approx(expected[row, int(name[1:])], rel=1e-6) for name in ranking}
    other = model.encode_tokens(["x"], is_query=True, prompt="text ")[0]
    np.testing.assert_allclose(
        other, native.encode_query(["x"], prompt="[Q] text ", convert_to_numpy=True)[0], atol=1e-6
    )
