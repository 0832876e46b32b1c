"""What mteb's own tests ask of tasks, benchmarks and models holds for ours; the files for a pull request say it."""

import json
import re
from pathlib import Path

import mteb
import pytest
from mteb.abstasks.task_metadata import TaskMetadata
from report_folders import add, model_folder

from patent_mteb import cli
from patent_mteb.models.registry import suite_metas
from patent_mteb.report.upstream import unknown_fields
from patent_mteb.tasks import catalogue
from patent_mteb.tasks.base import sizes

pytestmark = pytest.mark.usefixtures("sizes_of_releases")

FIELDS = {
    "revision": "revision",
    "release_date": "release date",
    "n_parameters": "parameters",
    "n_embedding_parameters": "parameters of the embeddings",
    "memory_usage_mb": "memory",
    "license": "licence",
}
EVERY = [*catalogue.tasks(), *catalogue.sample_tasks()]


@pytest.mark.slow
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


def formatted(bibtex):
    """An entry as mteb's own test writes it."""
    bibtexparser = pytest.importorskip("bibtexparser")
    from bibtexparser.bwriter import BibTexWriter

    writer = BibTexWriter()
    writer.indent, writer.add_trailing_comma = "  ", True
    options = {"common_strings": True, "ignore_nonstandard_types": False, "interpolate_strings": False}
    return writer.write(bibtexparser.loads(bibtex, bibtexparser.bparser.BibTexParser(**options))).strip()


def test_citations_have_the_form_that_mteb_writes():
    """mteb's tests/test_citation_formatting.py: reading and writing an entry gives the same bytes."""
    found = {kind.metadata.bibtex_citation for kind in EVERY} | {one.citation for one in catalogue.mteb_benchmarks()}
    found |= {meta.citation for meta in suite_metas()}
    citations = [one.strip() for one in found if one and one.strip()]
    assert len(citations) > 10
    assert [one for one in citations if formatted(one) != one] == []


def test_what_a_model_was_trained_on_can_be_derived():
    """mteb's tests/test_models/test_model_meta.py."""
    for meta in suite_metas():
        assert meta.name != meta.adapted_from
        assert meta.training_datasets is None or set(meta.training_datasets) <= set(meta.get_training_datasets())


def test_what_no_source_states_of_a_model_is_said_and_is_no_more_than_the_page_says(tmp_path, capsys):
    """mteb asks of every model a revision, and of open weights the parameters of the embeddings; a file of weights of
    ours has both.
    """
    page = (Path(__file__).parents[2] / "docs" / "upstream.md").read_text("utf-8")
    assert cli.main(["publish", "mteb", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    for field, names in unknown_fields(suite_metas()).items():
        assert {name for name in names if meta_of(name)[field] is None} == set(names)
        words = FIELDS[field]
        assert f"| {words} | {len(names)} |" in page
        assert (f"no source states the {words} of {len(names)} models" in said) == bool(names)


def meta_of(name):
    return mteb.get_model_meta(name).to_dict()


def test_models_have_what_is_known_of_them():
    for meta in suite_metas():
        assert meta.name and meta.loader is not None and meta.open_weights is not None and meta.model_type, meta.name
        if set(meta.model_type) & {"dense", "late-interaction", "sparse"}:
            assert meta.languages and meta.license and meta.reference, meta.name
        if "dense" in meta.model_type:
            assert meta.embed_dim and meta.max_tokens, meta.name


def test_the_files_of_a_pull_request(tmp_path, capsys):
    assert cli.main(["publish", "mteb", str(tmp_path)]) == 0
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
    counts = json.loads((tmp_path / "sizes.json").read_text())
    assert counts["PatentDAPFAMTACToTACRetrieval"] == {"queries": 1247, "texts": 45336}, (
        "DAPFAM Table 2 and the release"
    )
    for kind in catalogue.tasks():
        found = sizes(kind)
        assert counts.get(kind.metadata.name, {"queries": None, "texts": None}) == {
            "queries": found.queries,
            "texts": found.texts,
        }
    benchmarks = json.loads((tmp_path / "benchmarks.json").read_text())
    assert {one["name"] for one in benchmarks} == {one.name for one in catalogue.mteb_benchmarks()}
    assert len(json.loads((tmp_path / "models.json").read_text())) == len(suite_metas())


def test_the_description_of_a_pull_request_has_the_baselines_scores_on_published_data(tmp_path, capsys):
    folder = model_folder(tmp_path, "mteb/baseline-random-encoder")
    add(folder, "PatenTEBRetrievalIN", 0.25, kind="real", more={"paper_ndcg_at_10": 0.1234})
    add(folder, "PatenTEBParaProblem", 0.05, kind="real")
    add(folder, "PatenTEBTitle2Full", 0.5, kind="sample")
    assert cli.main(["publish", "mteb", str(tmp_path / "out"), "--results", str(tmp_path / "results")]) == 0
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in read(tmp_path / "out" / "scores.md")]
    found = {row[0]: row[1:] for row in rows if row and row[0].startswith("PatenTEB")}
    assert found.pop("PatenTEBRetrievalIN") == ["0.1234", "–"], "the paper's protocol"
    assert found.pop("PatenTEBParaProblem") == ["0.0500", "–"]
    assert len(found) == 8 and set(map(tuple, found.values())) == {("–", "–")}


def read(path):
    return path.read_text("utf-8").splitlines()


@pytest.mark.parametrize("count", [False, True])
def test_what_cannot_be_counted_is_said(tmp_path, monkeypatch, capsys, count):
    from patent_mteb.report import upstream

    monkeypatch.setattr(
        upstream.catalogue, "tasks", lambda: tuple(kind for kind in EVERY if kind.metadata.name == "PatenTEBTitle2Full")
    )
    assert cli.main(["publish", "mteb", str(tmp_path), *(["--count"] if count else [])]) == int(count)
    assert ("not counted: PatenTEBTitle2Full: " in capsys.readouterr().err) == count
