"""A validation or a run that needs more memory than it may take is refused before it starts, by one message."""

from __future__ import annotations

import pyarrow as pa
import pytest

from patent_mteb import cli
from patent_mteb.data.loading import sample_root
from patent_mteb.errors import DataError
from patent_mteb.experiments.plan import documents_in, left_for_blocks
from patent_mteb.files import write_text
from patent_mteb.recipes.beir import write_beir


@pytest.fixture
def root(tmp_path):
    documents = {f"d{number}": ("Pump", f"A pump with {number} rotors.") for number in range(20)}
    known = [{"_id": key, "family_id": key, "ipc": ["F04B 1/00"], "jurisdiction": "US"} for key in (*documents, "q")]
    tables = (documents, {"q": "rotors"}, {"q": {"d1": 1}})
    write_beir(tmp_path / "root" / "WIPO-AT", *tables, metadata=pa.Table.from_pylist(known))
    return tmp_path / "root"


def test_documents_are_the_rows_of_the_largest_table(tmp_path):
    assert documents_in(tmp_path) == 0
    write_text(tmp_path / "WIPO-AT" / "queries.jsonl", "{}\n" * 7)
    write_text(tmp_path / "WIPO-AT" / "corpus.jsonl", "{}\n" * 12)
    assert documents_in(tmp_path) == 12
    write_text(tmp_path / "WIPO-AT" / "views.parquet", "no parquet\n" * 99)
    assert documents_in(tmp_path) == 12
    lines = (sample_root("wipo_at") / "WIPO-AT" / "corpus.jsonl").read_text("utf-8").count("\n")
    assert documents_in(sample_root("wipo_at")) == lines


def test_what_the_documents_leave_shrinks_to_a_refusal_that_says_how_much_would_do(tmp_path):
    write_text(tmp_path / "corpus.jsonl", "{}\n" * 100_000)
    assert left_for_blocks(None, "run", [tmp_path]) is None
    much, little = (left_for_blocks(gigabytes, "run", [tmp_path]) for gigabytes in (4, 2))
    assert much - little == pytest.approx(2) and 2 < much < left_for_blocks(4, "run", [])
    with pytest.raises(
        DataError, match=r"100,000 documents take about 1.0 GB of memory to validate, and 0.5 GB are allowed"
    ) as caught:
        left_for_blocks(0.5, "validate", [tmp_path])
    enough = float(caught.value.remedy.split("--memory ")[1].split(",")[0])
    assert left_for_blocks(enough, "validate", [tmp_path]) >= 0.2


def test_the_commands_refuse_before_anything_is_read_or_written(root, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("PATENT_MTEB_DATA", str(root))
    out = tmp_path / "results"
    for words, what in (
        (["validate", str(root)], "validate"),
        (["run", "-t", "PatentCitationRetrieval", "-m", "patent-mteb/bm25-dapfam", "--output-folder", str(out)], "run"),
    ):
        assert cli.main([*words, "--memory", "0.1"]) == 2
        said = " ".join(capsys.readouterr().err.split())
        assert f"GB of memory to {what}, and 0.1 GB are allowed" in said and "allow --memory " in said
    assert not out.exists()


def test_a_validation_within_its_memory_says_what_it_says_without(root, capsys):
    assert cli.main(["data", "validate", str(root)]) == 0
    without = capsys.readouterr().out
    assert cli.main(["data", "validate", str(root), "--memory", "1"]) == 0
    assert capsys.readouterr().out == without and "tasks load" in without
