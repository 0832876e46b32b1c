"""Models that give no vectors, the same for all, or other ones than their name and revision promise: run, encode,
store, merge.

``train`` has the same models in tests/training/test_bad_models.py.
"""

from __future__ import annotations

import json
import shutil

import mteb
import pytest
import small_bases
import tiny_checkpoints
import torch
from sentence_transformers import SparseEncoder
from sentence_transformers.sparse_encoder.modules import MLMTransformer, SpladePooling

from patent_mteb.cli import main
from patent_mteb.errors import DataError, ModelError
from patent_mteb.experiments import run
from patent_mteb.models import load, stored
from patent_mteb.models.behaviour import Canaries
from patent_mteb.store import EmbeddingStore
from patent_mteb.store.merging import merge

TASK = "PatenTEBEffect2Substance.sample"
CLASSES = "PatenTEBBloom.sample"


def permuted(name, weight):
    return (
        weight[torch.randperm(len(weight), generator=torch.Generator().manual_seed(0))]
        if name.endswith("word_embeddings.weight")
        else weight
    )


def of_one_case(folder):
    path = folder / "tokenizer.json"
    document = json.loads(path.read_text("utf-8"))
    document["pre_tokenizer"] = {"type": "WhitespaceSplit"}
    path.write_text(json.dumps(document), "utf-8")


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    root = tmp_path_factory.mktemp("models")
    small_bases.write_bert(root / "good")
    good = root / "good"
    for name, change in small_bases.BAD.items():
        small_bases.changed(good, root / name, change)
    small_bases.changed(good, root / "permuted", permuted)
    for name, kind in (("float16", torch.float16), ("bfloat16", torch.bfloat16)):
        small_bases.stored_in(good, root / name, kind)
    shutil.copytree(good, root / "tokenizer")
    of_one_case(root / "tokenizer")
    tiny_checkpoints.bare(root / "masked", 16, head=True)
    SparseEncoder(modules=[MLMTransformer(str(root / "masked")), SpladePooling()], device="cpu").save(
        str(root / "sparse")
    )
    return root


OTHERS = ("permuted", "tokenizer", "float16")
"""Other weights, other tokens, another type of number."""


def on_the_hub(folder):
    """As if the files of one revision of a hub model had changed, which its name does not show."""
    model = load(str(folder))
    model.loaded_revision = None
    model.mteb_model_meta = model.mteb_model_meta.model_copy(update={"name": "org/model", "revision": "main"})
    return model


def scored(model, folder, task=TASK):
    return run.run(model, [mteb.get_task(task)], folder, show_progress=False).outcomes[0]


@pytest.fixture(scope="module")
def right(models, tmp_path_factory):
    """The score of each in a folder of its own."""
    return {name: scored(on_the_hub(models / name), tmp_path_factory.mktemp(name)).main for name in ("sparse", *OTHERS)}


@pytest.fixture
def folder(models, tmp_path_factory, tmp_path):
    """The results and the store of the good model, under the name and revision that the others have, too."""
    made = tmp_path_factory.getbasetemp() / "good"
    if not made.is_dir():
        model = stored(on_the_hub(models / "good"), made / "store")
        assert scored(model, made / "results").status == "scored"
    return shutil.copytree(made, tmp_path / "good")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "task"), [("nan", TASK), ("overflowing", TASK), ("inf", CLASSES)])
def test_a_model_without_vectors_has_no_score_and_stores_nothing(models, tmp_path, name, task):
    with pytest.raises(ModelError, match="NaN or infinite"):
        load(str(models / name))


@pytest.mark.slow
def test_encode_stops_with_one_message(models, tmp_path, capsys):
    status = main(["store", "encode", "-t", TASK, "-m", str(models / "nan"), "--store", str(tmp_path / "store")])
    said = capsys.readouterr()
    assert status != 0 and "NaN or infinite" in said.err + said.out and "Traceback" not in said.err


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sparse"])
def test_each_has_its_own_score(models, right, tmp_path, name):
    plain, other = (scored(load(str(models / one)), tmp_path / "results") for one in ("good", name))
    assert plain.status == other.status == "scored" and other.main == right[name]
    assert len(list((tmp_path / "results").rglob(f"{TASK}.json"))) == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_under_one_revision_it_never_takes_the_score_of_another(models, folder, right, name):
    found = scored(on_the_hub(models / name), folder / "results")
    assert found.main == right[name] and not found.cached
    assert list((folder / "results").rglob(f"{TASK}.json.quarantined"))


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_under_one_revision_it_never_takes_the_vectors_of_another(models, folder, right, tmp_path, name):
    try:
        found = scored(stored(on_the_hub(models / name), folder / "store"), tmp_path / "second")
    except ModelError as error:
        assert "does not give the vectors that it gave in the store" in str(error)
    else:
        assert found.main == right[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_stores_of_two_models_under_one_revision_are_not_merged(models, folder, tmp_path, name):
    Canaries(stored(on_the_hub(models / name), tmp_path / name)).look()
    good = EmbeddingStore(folder / "store")
    if {one.directory.name for one in good.info()} & {
        one.directory.name for one in EmbeddingStore(tmp_path / name).info()
    }:
        with pytest.raises(DataError, match="other vectors for the same texts"):
            merge(good, [tmp_path / name])
    else:
        assert merge(good, [tmp_path / name]).known == 0, "another type of number has a space of its own"
