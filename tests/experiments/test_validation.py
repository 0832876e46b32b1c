"""validate: what is wrong is an error, what is not there a note with the tasks that it would add; all of it in one
pass.
"""

import logging
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_patents import world

from patent_mteb import cli, recipes
from patent_mteb.experiments.validation import validate
from patent_mteb.patents.collection import Collection
from patent_mteb.recipes.beir import write_beir
from patent_mteb.recipes.dataset import Identity


def ranks(folder):
    found = {"error": [], "note": [], "ok": []}
    for finding in validate(folder):
        found[finding.rank].append(finding.text)
    return found


@pytest.fixture
def acme(tmp_path):
    """Real patents lack texts: two without abstract, three without claims."""
    patents, citations = world()
    for number in (1, 2):
        patents[number] = replace(patents[number], abstract="")
    for number in (3, 4, 5):
        patents[number] = replace(patents[number], claims=())
    recipes.run("wipo_at", Collection(patents, citations), tmp_path, [], Identity("Acme", "2", "Acme Corp."))
    return tmp_path


@pytest.mark.slow
def test_build_validate_and_run_of_data_with_empty_views_end_well(acme, tmp_path, capsys, monkeypatch, caplog):
    monkeypatch.setenv("PATENT_MTEB_DATA", str(acme))
    with caplog.at_level(logging.WARNING, "mteb"):
        assert cli.main(["data", "validate", str(acme)]) == 0
    printed = capsys.readouterr()
    assert "cannot unload" not in printed.err + printed.out + caplog.text
    views = pq.read_table(acme / "WIPO-AT" / "views.parquet").to_pylist()
    empty = {name: sum(not row[name] for row in views) for name in views[0]}
    wanted = ", ".join(f"{name} {number}" for name, number in empty.items() if number)
    assert wanted == "Abstract 2, Claim1 3, Claims 3" and f"by view: {wanted}" in printed.out, "all views in one line"
    assert (
        "Acme, version 2, of Acme Corp.: 5 files as they were built" in printed.out
        and "20 tasks load (AcmeCitation" in printed.out
    )
    words = f"run -v 0 -t AcmeAbstractToClaim1Retrieval -m mteb/baseline-bm25s --out {tmp_path / 'results'}".split()
    assert cli.main(words) == 0
    assert "AcmeAbstractToClaim1Retrieval.local-" in capsys.readouterr().out


@pytest.mark.slow
def test_files_are_compared_with_what_was_built(acme):
    folder = acme / "WIPO-AT"
    (folder / "mine.txt").write_text("x")
    changed = folder / "corpus.jsonl"
    changed.write_bytes(changed.read_bytes().replace(b"spring", b"string", 1))
    (folder / "metadata.parquet").unlink()
    found = ranks(acme)
    assert len(found["error"]) == 2
    assert "corpus.jsonl: the file is not the one that was built" in "".join(found["error"])
    assert "metadata.parquet: the file is missing" in "".join(found["error"])
    assert any("1 files that dataset.json does not list: WIPO-AT/mine.txt" in text for text in found["note"])
    assert cli.main(["data", "validate", str(acme)]) == 2


def test_a_record_that_cannot_be_read_is_one_error_beside_what_the_tables_say(acme):
    (acme / "dataset.json").write_text('{"schema": 1}')
    found = ranks(acme)
    assert len(found["error"]) == 1 and "dataset.json" in found["error"][0]
    assert any("20 tasks load" in text for text in found["ok"])


def test_what_is_not_there_is_a_note_with_the_tasks_that_it_would_add(tmp_path):
    documents = {"d1": ("Walking frame", "A frame."), "d2": ("Hearing aid", "An aid.")}
    write_beir(tmp_path / "WIPO-AT", documents, {"q1": "frame"}, {"q1": {"d1": 1}})
    found = ranks(tmp_path)
    assert not found["error"] and len(found["ok"]) == 1 and "1 tasks load" in found["ok"][0]
    added = {
        text.partition(": ")[2].partition(": would add ")[0]: text for text in found["note"] if "would add" in text
    }
    numbers = {what: int(text.partition("would add ")[2].split()[0]) for what, text in added.items()}
    assert sum(number for what, number in numbers.items() if "text view" in what) == 31, "all cells but TAC to TAC"
    assert numbers["there are no label sets"] == 2, "for each"


def test_labels_by_hand_are_enough(tmp_path):
    folder = tmp_path / "WIPO-AT"
    (folder / "labels").mkdir(parents=True)
    ids = [f"d{number}" for number in range(12)]
    texts = {name: [f"{name} of {key}" for key in ids] for name in ("claim1", "abstract", "title", "keywords")}
    pq.write_table(pa.table({"_id": ids, **texts}), folder / "fields.parquet")
    splits = ["train"] * 6 + ["validation"] * 3 + ["test"] * 3
    pq.write_table(
        pa.table({"_id": ids, "split": splits, "labels": [[f"L{n % 2}"] for n in range(12)]}),
        folder / "labels" / "X.parquet",
    )
    found = ranks(tmp_path)
    assert not found["error"]
    assert any("2 tasks load (WIPOATXClassification, WIPOATXClustering)" in text for text in found["ok"])
    assert any("label sets only" in text and "would add 32 tasks" in text for text in found["note"])
    assert any("a data set without a name" in text and "dataset.json" in text for text in found["note"])
    (tmp_path / "dataset.json").write_text('{"schema": 1, "name": "Acme"}')
    assert any("2 tasks load (AcmeXClassification, AcmeXClustering)" in text for text in ranks(tmp_path)["ok"])
    rows = pq.read_table(folder / "labels" / "X.parquet").to_pylist()
    rows[0]["split"] = "nowhere"
    pq.write_table(pa.Table.from_pylist(rows), folder / "labels" / "X.parquet")
    assert len(ranks(tmp_path)["error"]) == 1, "what is there is wrong, said once"
