"""What mteb's own tests ask of tasks, benchmarks and models holds for ours; the files for a pull request say it."""

import json
import re

import mteb
import pytest
from mteb.abstasks.task_metadata import TaskMetadata

from patent_mteb import cli
from patent_mteb.models.suite import suite_metas
from patent_mteb.tasks import catalogue

EVERY = [*catalogue.tasks(), *catalogue.sample_tasks()]


def test_metadata_are_filled_and_valid():
    for kind in EVERY:
        metadata = kind.metadata
        metadata._validate_metadata()
        assert metadata.is_filled(), metadata.name
        assert not metadata.dataset.get("trust_remote_code"), metadata.name
        assert metadata.dataset["revision"] and re.fullmatch(r"[\w.]+", metadata.name)
        assert mteb.get_tasks([metadata.name])[0].metadata.type == metadata.type


def test_tasks_on_the_sample_say_that_they_are_invented_and_have_statistics():
    for kind in catalogue.sample_tasks():
        assert (kind.metadata.sample_creation, kind.metadata.license) == ("created", "apache-2.0")
        assert kind.metadata.descriptive_stats is not None and kind.metadata.n_samples is not None


def test_models_have_what_is_known_of_them():
    for meta in suite_metas():
        assert meta.name and meta.loader is not None and meta.open_weights is not None and meta.model_type, meta.name
        if set(meta.model_type) & {"dense", "late-interaction", "sparse"}:
            assert meta.languages and meta.license and meta.reference, meta.name
        if "dense" in meta.model_type:
            assert meta.embed_dim and meta.max_tokens, meta.name


def test_the_files_of_a_pull_request(tmp_path, capsys):
    assert cli.main(["upstream", str(tmp_path)]) == 0
    assert f"files in {tmp_path}" in capsys.readouterr().out
    written = {one["name"]: one for one in json.loads((tmp_path / "tasks.json").read_text())}
    assert set(written) == {kind.metadata.name for kind in EVERY}
    for name in ("PatentCitationRetrieval", "PatenTEBBloom.sample"):
        fields = {key: value for key, value in written[name].items() if key in TaskMetadata.model_fields}
        again = TaskMetadata(**fields)
        assert again.main_score == mteb.get_tasks([name])[0].metadata.main_score and again.is_filled()
    for kind in catalogue.sample_tasks():
        path = tmp_path / "descriptive_stats" / kind.metadata.type / f"{kind.metadata.name}.json"
        assert all(part["num_samples"] > 0 for part in json.loads(path.read_text()).values())
    benchmarks = json.loads((tmp_path / "benchmarks.json").read_text())
    assert {one["name"] for one in benchmarks} == {one.name for one in catalogue.mteb_benchmarks()}
    assert len(json.loads((tmp_path / "models.json").read_text())) == len(suite_metas())


@pytest.mark.parametrize("count", [False, True])
def test_what_cannot_be_counted_is_said(tmp_path, monkeypatch, capsys, count):
    from patent_mteb.report import upstream

    monkeypatch.setattr(upstream.catalogue, "tasks", lambda: tuple(kind for kind in EVERY if kind.metadata.name == "PatenTEBTitle2Full"))
    assert cli.main(["upstream", str(tmp_path), *(["--count"] if count else [])]) == int(count)
    assert ("not counted: PatenTEBTitle2Full: " in capsys.readouterr().err) == count
