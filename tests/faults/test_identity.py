"""Two different settings, data revisions or models never share a result."""

from __future__ import annotations

import hashlib
import json
import os
import shutil

import mteb
import polars as pl
import pytest
import tiny_checkpoints
import torch
from mteb.cache import ResultCache
from sentence_transformers import SentenceTransformer
from small_data import HashEncoder

import patent_mteb
from patent_mteb import identity
from patent_mteb.data import loading
from patent_mteb.errors import DataError, ModelError
from patent_mteb.experiments import run, sweep
from patent_mteb.model_identity import loaded as settings
from patent_mteb.models import Hybrid, Passages, Truncated, bm25, changed, load, stored
from patent_mteb.models.loading import find_meta
from patent_mteb.models.variants import with_settings
from patent_mteb.report.collect import collect
from patent_mteb.search.bm25 import BM25, BM25Settings
from patent_mteb.store.batches import text_loader

TASK = "PatenTEBEffect2Substance.sample"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PATENT_MTEB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def settled_at_once(monkeypatch):
    """Hashes are remembered although the files were written a moment ago."""
    monkeypatch.setattr(identity, "_STABLE_AFTER_NS", 0)


class TestContent:
    """Hashes of folders, which are remembered."""

    @pytest.fixture
    def folder(self, tmp_path, cache, settled_at_once):
        folder = tmp_path / "checkpoint"
        folder.mkdir()
        (folder / "weights").write_text("aaaa")
        return folder

    @pytest.mark.parametrize("way", ["written", "replaced"])
    def test_the_same_size_and_time_is_not_the_same_content(self, folder, way):
        before, stat = identity.content_hash(folder), (folder / "weights").stat()
        assert list((folder.parent / "cache" / "hashes").iterdir())
        if way == "written":
            (folder / "weights").write_text("bbbb")
        else:
            (folder / "other").write_text("bbbb")
            (folder / "other").replace(folder / "weights")
        os.utime(folder / "weights", ns=(stat.st_atime_ns, stat.st_mtime_ns))
        assert identity.content_hash(folder) != before

    def test_what_changes_while_it_is_hashed_is_not_remembered(self, folder, monkeypatch):
        monkeypatch.setattr(identity, "_STABLE_AFTER_NS", 10**12)
        identity.content_hash(folder)
        assert not (folder.parent / "cache").exists()

    def test_linked_folders_belong_to_it(self, folder, tmp_path):
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "elsewhere" / "weights").write_text("one")
        (folder / "module").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
        before = identity.content_hash(folder)
        (tmp_path / "elsewhere" / "weights").write_text("two")
        assert identity.content_hash(folder) != before

    def test_a_link_into_itself_ends(self, folder):
        before = identity.content_hash(folder)
        (folder / "again").symlink_to(folder, target_is_directory=True)
        assert identity.content_hash(folder) == before

    @pytest.mark.parametrize("where", [".pooling", "../outside"])
    def test_what_modules_json_points_to_belongs_to_it(self, folder, where):
        (folder / "modules.json").write_text(json.dumps([{"idx": 0, "path": ""}, {"idx": 1, "path": where}]))
        (folder / where).mkdir()
        (folder / where / "weights").write_text("one")
        before = identity.content_hash(folder)
        (folder / where / "weights").write_text("two")
        assert identity.content_hash(folder) != before

    @pytest.mark.parametrize("damage", ["flipped", "high", "slashes", "empty", "half"])
    def test_a_damaged_memo_is_made_again(self, folder, damage):
        known = identity.content_hash(folder)
        (memo,) = (folder.parent / "cache" / "hashes").iterdir()
        whole = memo.read_bytes()
        left = {
            "flipped": bytes([whole[0] ^ 1]) + whole[1:],
            "high": bytes([whole[0] | 0x80]) + whole[1:],
            "slashes": b"/" * 32,
            "empty": b"",
            "half": whole[: len(whole) // 2],
        }
        memo.write_bytes(left[damage])
        assert identity.content_hash(folder) == known
        assert memo.read_bytes() == whole

    def test_a_file_that_breaks_off_is_named(self, folder, monkeypatch):
        def breaks(files):
            raise OSError(5, "Input/output error", str(folder / "weights"))

        monkeypatch.setattr(identity, "_digest", breaks)
        with pytest.raises(DataError, match=r"weights: a file cannot be read"):
            identity.content_hash(folder)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return tiny_checkpoints.checkpoint(tmp_path_factory.mktemp("models") / "tiny", 16, "mean")


def longer(model, length=8):
    model.model.max_seq_length = length


def trained(model):
    for weight in model.model.parameters():
        weight.data.mul_(1.5)


WRAPPERS = {
    "plain": lambda model, folder: model,
    "stored": lambda model, folder: stored(model, folder),
    "truncated": lambda model, folder: Truncated(model, 4),
    "stored and truncated": lambda model, folder: Truncated(stored(model, folder), 4),
    "passages": lambda model, folder: Passages(stored(model, folder), 64),
    "hybrid": lambda model, folder: Hybrid(bm25("dapfam"), model),
}


def scored(model, folder, **options):
    report = run.run(model, [mteb.get_task(TASK)], folder, show_progress=False, **options)
    (outcome,) = report.outcomes
    assert outcome.status == "scored", outcome.reason
    return outcome.main


def kwargs_of(model):
    return model.mteb_model_meta.experiment_kwargs or {}


class TestSettings:
    """Settings of a loaded model that its name does not tell."""

    @pytest.mark.slow
    def test_a_model_as_it_was_loaded_keeps_its_identity(self, checkpoint, tmp_path):
        for wrap in (
            lambda model: model,
            lambda model: stored(model, tmp_path),
            lambda model: settings.with_arguments(model, {"batch_size": 4}),
        ):
            assert kwargs_of(wrap(load(str(checkpoint)))) == {}
        model = load(str(checkpoint))
        patent_mteb.rank(model, TASK)
        assert kwargs_of(changed(model)) == {}
        longer(model)
        assert set(kwargs_of(changed(model))) == {"settings"}
        longer(model, 512)
        assert kwargs_of(changed(model)) == {}

    @pytest.mark.slow
    @pytest.mark.parametrize("wrapped", WRAPPERS)
    def test_a_changed_setting_is_refused_or_another_identity(self, checkpoint, tmp_path, wrapped):
        """tests/faults/test_pairs.py has the settings; here are the wrappers."""
        wrap = WRAPPERS[wrapped]
        model = load(str(checkpoint))
        wrapper = wrap(model, tmp_path)
        before = wrapper.mteb_model_meta
        longer(model)
        for one in (wrapper, wrapper, wrapper):  # a refusal does not accept the change
            with pytest.raises(ModelError, match=r"max_seq_length.*changed.*Remedy.*max_tokens=128.*changed\(model\)"):
                settings.check(one)
        after = wrap(changed(model), tmp_path).mteb_model_meta
        assert before.name == after.name
        assert (before.revision, before.experiment_name) != (after.revision, after.experiment_name)
        assert '"settings"' in json.dumps(after.experiment_kwargs)
        if wrapped != "plain":
            with pytest.raises(ModelError, match=r"max_seq_length.*changed"):
                settings.check(wrapper)

    @pytest.mark.slow
    def test_it_gets_its_own_score(self, checkpoint, tmp_path):
        plain = scored(load(str(checkpoint)), tmp_path / "results")
        model = load(str(checkpoint))
        scored(stored(model, tmp_path / "store"), tmp_path / "results")
        trained(model)
        found = scored(stored(changed(model), tmp_path / "store"), tmp_path / "results")
        other = load(str(checkpoint))
        trained(other)
        assert found == scored(changed(other), tmp_path / "apart") != plain
        assert scored(load(str(checkpoint)), tmp_path / "results") == plain
        assert len(list((tmp_path / "results").rglob(f"{TASK}.json"))) == 2

    @pytest.mark.slow
    @pytest.mark.parametrize("asked", ["evaluate", "rank", "mteb", "run", "store"])
    def test_a_changed_model_is_asked_nothing(self, checkpoint, tmp_path, asked):
        model = stored(load(str(checkpoint)), tmp_path / "store")
        cache = ResultCache(tmp_path / "results")
        ask = {
            "evaluate": lambda: patent_mteb.evaluate(model, TASK),
            "rank": lambda: patent_mteb.rank(model, TASK),
            "mteb": lambda: mteb.evaluate(
                model, mteb.get_task(TASK), cache=cache, co2_tracker=False, show_progress_bar=False
            ),
            "run": lambda: run.run(model, [mteb.get_task(TASK)], tmp_path / "results", show_progress=False),
            "store": lambda: model.encode(text_loader(["a pump"], 1), task_metadata=mteb.get_task(TASK).metadata),
        }[asked]
        ask()
        longer(model.model)
        with pytest.raises(ModelError, match=r"max_seq_length.*changed"):
            ask()

    @pytest.mark.slow
    @pytest.mark.parametrize("way", ["data", "view of NumPy"])
    def test_what_no_counter_shows_is_seen_by_the_digests(self, checkpoint, tmp_path, way):
        """At the latest at the end of the run, whose scores are said to be unreliable."""
        model = load(str(checkpoint))
        settings.check(model)
        weight = next(model.model.parameters())
        version = weight._version
        changing = weight.data if way == "data" else weight.detach().numpy()
        rows = changing[:] * 1
        changing[:] = rows[::-1].copy() if way != "data" else rows.flip(0)
        assert weight._version == version
        settings.check(model)
        with pytest.raises(ModelError, match="weights changed"):
            settings.check(model, whole=True)

    def test_a_training_that_changes_a_run_is_said_at_its_end(self, checkpoint, tmp_path):
        model, task = load(str(checkpoint)), mteb.get_task(TASK)
        encode = model.encode

        def changing(*args, **kwargs):
            found = encode(*args, **kwargs)
            if kwargs["task_metadata"].name == TASK:
                next(model.model.parameters()).data.mul_(1.001)
            return found

        model.encode = changing
        report = run.run(model, [task], tmp_path, show_progress=False)
        assert "weights changed" in (report.doubt or report.outcomes[0].reason) and report.exit_status == 1

    @pytest.mark.slow
    def test_arguments_of_encode_are_settings(self, checkpoint, tmp_path):
        whole = scored(load(str(checkpoint)), tmp_path)
        found = scored(load(str(checkpoint)), tmp_path, encode_kwargs={"truncate_dim": 2})
        assert found != whole
        assert scored(load(str(checkpoint)), tmp_path, encode_kwargs={"batch_size": 4}) == pytest.approx(whole)
        with pytest.raises(ModelError, match=r"encode_kwargs .*truncate_dim.*Remedy"):
            mteb.evaluate(
                load(str(checkpoint)),
                mteb.get_task(TASK),
                cache=None,
                co2_tracker=False,
                encode_kwargs={"truncate_dim": 2, "batch_size": 8},
            )
        scores = patent_mteb.evaluate(load(str(checkpoint)), TASK, encode_kwargs={"truncate_dim": 2})
        assert scores.filter(pl.col("slice") == "")["value"].to_list() == [pytest.approx(found, abs=1e-4)]

    def test_a_model_without_a_name_is_refused(self, checkpoint, tmp_path):
        nameless = HashEncoder()
        nameless.mteb_model_meta = mteb.models.model_meta.ModelMeta.create_empty()
        with pytest.raises(ModelError, match="has no name"):
            mteb.evaluate(
                nameless, mteb.get_task(TASK), cache=ResultCache(tmp_path), co2_tracker=False, show_progress_bar=False
            )
        assert not list(tmp_path.rglob(f"{TASK}.json"))

    def test_a_sentence_transformer_is_named_by_its_content(self, checkpoint, tmp_path):
        """Two checkpoints in one cache: each has its own score, and a changed one is another model."""

        def score(model):
            found = mteb.evaluate(
                model, mteb.get_task(TASK), cache=ResultCache(tmp_path), co2_tracker=False, show_progress_bar=False
            )
            return found.task_results[0].get_score()

        model, other = (SentenceTransformer(str(checkpoint), device="cpu") for _ in range(2))
        expected = patent_mteb.evaluate(load(str(checkpoint)), TASK).filter(pl.col("slice") == "")["value"][0]
        assert score(model) == pytest.approx(expected, abs=1e-5)
        with torch.no_grad():
            for weight in other.parameters():
                weight.copy_(torch.randn(weight.shape, generator=torch.Generator().manual_seed(1)))
        apart = score(other)
        assert apart != pytest.approx(expected, abs=1e-3)
        assert score(SentenceTransformer(str(checkpoint), device="cpu")) == pytest.approx(expected, abs=1e-5)
        folders = [path.parent.parent.name + "/" + path.parent.name for path in tmp_path.rglob("model_meta.json")]
        assert len(folders) == len(set(folders)) == 2 and all(one.startswith("local__") for one in folders)
        frame = patent_mteb.evaluate([SentenceTransformer(str(checkpoint), device="cpu"), other], TASK, baseline="bm25")
        values = frame.filter(pl.col("slice") == "")["value"].to_list()
        assert values[:2] == pytest.approx([expected, apart], abs=1e-4) and len(values) == 3
        assert frame["model"].n_unique() == 3


class TestPaths:
    """mteb replaces characters in a path before it hashes it."""

    def test_plain_settings_keep_their_path(self):
        kept = bm25("dapfam").mteb_model_meta
        assert (
            kept.experiment_name == "b_0.75__k1_1.2__method_lucene__stemmer_english__stopwords_en__token_pattern__w_w+"
        )
        assert with_settings(
            kept.model_copy(update={"experiment_kwargs": None}), input="noSEP+trim[1,-1]"
        ).experiment_kwargs == {"input": "noSEP+trim[1,-1]"}

    def test_such_a_model_is_loaded_again_from_its_metadata(self):
        model = BM25(BM25Settings(token_pattern=r"\w\w*"), "my/bm25")
        again = model.mteb_model_meta.load_model()
        assert again.settings == model.settings
        assert again.mteb_model_meta.experiment_name == model.mteb_model_meta.experiment_name


class TestSweep:
    MATRIX = sweep.Matrix(("dense",), queries=("TA",), corpora=("TA",))

    def one(self, model, out):
        return sweep.sweep([self.MATRIX], [model], bm25("dapfam"), out)["ndcg_at_100"].to_list()

    @pytest.fixture(autouse=True)
    def on_the_sample(self, monkeypatch):
        monkeypatch.setenv("PATENT_MTEB_SAMPLE", "1")

    @pytest.mark.slow
    def test_two_widths_have_rows_of_their_own(self, tmp_path):
        both, widths = tmp_path / "t.csv", (8, 64)
        shared = [self.one(Truncated(HashEncoder(), width), both)[-1] for width in widths]
        apart = [self.one(Truncated(HashEncoder(), width), tmp_path / f"{width}.csv")[-1] for width in widths]
        assert shared == apart and apart[0] != apart[1]

    def test_weights_of_a_fusion_in_full(self):
        matrix = sweep.Matrix(("hybrid",), rrf=(60,), alphas=(0.1234567, 0.1234568, 0.5))
        group, *_ = matrix.groups()
        assert [setting.fusion for setting in group] == ["rrf-60", "linear-0.1234567", "linear-0.1234568", "linear-0.5"]


def git_hash(content):
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class TestCopies:
    """What counts as the hub's data."""

    DATA = loading.DataSet("org/data", "dapfam", "a" * 40)

    @pytest.fixture
    def copy(self, tmp_path, cache, monkeypatch):
        monkeypatch.setenv(loading.DATA_VARIABLE, str(tmp_path))
        folder = tmp_path / "org" / "data"
        for name, content in (("corpus.parquet", b"corpus"), ("sub/queries.parquet", b"queries")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        self.noted(folder, "corpus.parquet", hashlib.sha256(b"corpus").hexdigest())
        self.noted(folder, "sub/queries.parquet", git_hash(b"queries"))
        return folder

    def noted(self, folder, name, etag, commit="a" * 40):
        note = folder / ".cache/huggingface/download" / f"{name}.metadata"
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(f"{commit}\n{etag}\n1700000000.0\n")
        return note

    def revision(self):
        return loading.resolve(self.DATA).revision

    def test_a_whole_download_is_the_hub_and_other_bytes_are_not(self, copy):
        assert self.revision() == "a" * 40
        (copy / "corpus.parquet").write_bytes(b"c0rpus")
        assert self.revision().startswith("local-")

    def test_a_note_of_another_file_says_nothing_of_these(self, copy):
        shutil.rmtree(copy / ".cache")
        self.noted(copy, "README.md", git_hash(b"readme"))
        assert self.revision().startswith("local-")

    def test_every_file_needs_its_note(self, copy):
        (copy / "metadata.parquet").write_bytes(b"mine")
        assert self.revision().startswith("local-")
        self.noted(copy, "metadata.parquet", git_hash(b"mine"), "b" * 40)
        assert self.revision().startswith("local-")

    @pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"a" * 40], ids=["empty", "binary", "half"])
    def test_a_damaged_note_is_no_note(self, copy, content):
        (copy / ".cache/huggingface/download/corpus.parquet.metadata").write_bytes(content)
        assert self.revision().startswith("local-")


@pytest.mark.slow
def test_damaged_sample_tables_are_rebuilt(cache, caplog):
    def root():
        loading.sample_root.cache_clear()
        return loading.sample_root("dapfam")

    folder = root()
    table = folder / "datalyes" / "DAPFAM_patent" / "queries.parquet"
    whole = table.read_bytes()
    for damage in (table.unlink, lambda: table.write_bytes(whole[:-8])):
        damage()
        caplog.clear()
        with caplog.at_level("WARNING", logger="patent_mteb"):
            assert root() == folder
        assert table.read_bytes() == whole
        assert len([record for record in caplog.records if "are rebuilt" in record.message]) == 1
        assert [path.name for path in folder.parent.iterdir()] == ["dapfam"]
    loading.sample_root.cache_clear()


class TestCheckpoints:
    """Models by name: what was loaded is what is filed."""

    NAME = "datalyes/patembed-nano"

    @pytest.fixture(scope="class")
    def weights(self, tmp_path_factory):
        return [
            tiny_checkpoints.checkpoint(tmp_path_factory.mktemp("nano") / "nano", 128, "mean", layers=1, seed=seed)
            for seed in (0, 1)
        ]

    @pytest.fixture
    def hub(self, tmp_path, monkeypatch, weights):
        """A cache of the hub whose main is the first of two commits; gives a function that moves it."""
        from huggingface_hub import constants

        monkeypatch.delenv("PATENT_MTEB_MODELS", raising=False)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
        for module in ("huggingface_hub.file_download", "transformers.utils.hub"):
            monkeypatch.setattr(f"{module}.constants.HF_HUB_CACHE", str(tmp_path / "hub"), raising=False)
        place = tmp_path / "hub" / "models--datalyes--patembed-nano"
        commits = ["c" * 40, "d" * 40]
        for commit, folder in zip(commits, weights, strict=True):
            shutil.copytree(folder, place / "snapshots" / commit)
        (place / "refs").mkdir()

        def move(number):
            (place / "refs" / "main").write_text(commits[number])
            return commits[number]

        move(0)
        return move

    @pytest.mark.slow
    def test_the_commit_that_was_loaded_is_filed(self, hub, tmp_path):
        found = {}
        for number in (0, 1):
            commit = hub(number)
            model = load(self.NAME, device="cpu")
            assert model.mteb_model_meta.revision == commit
            found[commit] = scored(model, tmp_path / "results")
            assert list((tmp_path / "results").rglob(f"{commit}/{TASK}.json"))
        assert len(set(found.values())) == 2
        assert load(self.NAME, "c" * 40, device="cpu").mteb_model_meta.revision == "c" * 40
        assert mteb.get_model(self.NAME, device="cpu").mteb_model_meta.revision == "d" * 40

    @pytest.fixture
    def copy(self, monkeypatch, tmp_path, weights):
        """Puts one of two checkpoints where PATENT_MTEB_MODELS, set after the import, has the model."""
        monkeypatch.setenv("PATENT_MTEB_MODELS", str(tmp_path / "models"))
        place = tmp_path / "models" / self.NAME

        def put(number):
            shutil.rmtree(place, ignore_errors=True)
            shutil.copytree(weights[number], place)
            return f"local-{identity.content_revision(place)}"

        return put

    @pytest.mark.slow
    def test_a_copy_that_is_put_there_after_the_import_is_filed_as_what_it_is(self, copy, hub, monkeypatch, tmp_path):
        """The metadata of a model that is not loaded yet: mteb's registry holds it from the import on."""
        monkeypatch.setenv("PATENT_MTEB_MODELS", str(tmp_path / "models"))
        meta, found = mteb.get_model_meta(self.NAME), {}
        for number in (0, 1):
            revision = copy(number)
            assert stored(meta, tmp_path / "store").mteb_model_meta.revision == revision
            found[revision] = scored(meta, tmp_path / "results")
            assert list((tmp_path / "results").rglob(f"{revision}/{TASK}.json"))
        assert len(set(found.values())) == 2
        mteb.evaluate(
            meta,
            mteb.get_task(TASK),
            cache=ResultCache(tmp_path / "results"),
            co2_tracker=False,
            show_progress_bar=False,
        )
        assert set(collect(tmp_path / "results").results["revision"]) == set(found), (
            "mteb's own command has files that contradict themselves"
        )
        monkeypatch.delenv("PATENT_MTEB_MODELS")
        assert stored(meta, tmp_path / "store").mteb_model_meta.revision == "c" * 40

    @pytest.mark.slow
    def test_files_that_are_exchanged_before_they_are_loaded_are_noticed(self, copy, checkpoint, tmp_path):
        first = copy(0)
        kept = stored(mteb.get_model_meta(self.NAME), tmp_path / "store")
        assert kept.mteb_model_meta.revision == first
        copy(1)
        with pytest.raises(
            ModelError, match=f"files were changed before they were loaded, they are local-.* and not {first}"
        ):
            _ = kept.model
        folder = shutil.copytree(checkpoint, tmp_path / "mine")
        meta = find_meta(str(folder))
        (folder / "more.txt").write_text("x")
        assert (
            meta.load_model(device="cpu").mteb_model_meta.revision == identity.content_revision(folder) != meta.revision
        )

    def test_a_revision_of_a_directory_is_refused(self, checkpoint):
        with pytest.raises(ModelError, match="has no revision"):
            load(str(checkpoint), "a" * 40)

    def test_a_directory_of_other_letters_has_a_name(self, tmp_path):
        assert len({identity.local_name(tmp_path / name) for name in ("模型", "型模")} - {"local/"}) == 2
