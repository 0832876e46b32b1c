"""dataset.json records a build: one directory has one name, and a build replaces the previous one completely."""

import hashlib
import json
from dataclasses import replace

import pyarrow.parquet as pq
import pytest
from small_patents import world

from patent_mteb import cli, recipes
from patent_mteb.errors import DataError
from patent_mteb.patents.collection import Collection
from patent_mteb.patents.records import Citation, Patent, read_records, write_records
from patent_mteb.recipes import dataset
from patent_mteb.recipes.dataset import Identity

SOPHIA = ["queries=20"]


def test_the_record_is_what_hashlib_and_pyarrow_say(tmp_path):
    patents, citations = world()
    patents[3] = replace(patents[3], abstract=" ")
    log = recipes.run(
        "wipo_at",
        Collection(patents, citations),
        tmp_path,
        ["seed=7"],
        Identity("Acme", "2", "Acme Corp.", "cc-by-4.0"),
    )
    record = dataset.read(tmp_path)
    assert (record.name, record.version, record.owner, record.licence) == ("Acme", "2", "Acme Corp.", "cc-by-4.0")
    built = record.recipes["wipo_at"]
    assert built.settings["seed"] == "7" and any("7 instead of 42" in one for one in built.deviations)
    assert built.counts == {step.name: step.rows_out for step in log.steps}
    files = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file())
    assert sorted([*built.files, "dataset.json"]) == files == sorted([*log.files, "dataset.json"])
    for name, file in built.files.items():
        content = (tmp_path / name).read_bytes()
        assert (file.bytes, file.sha256) == (len(content), hashlib.sha256(content).hexdigest())
    views = pq.read_table(tmp_path / "WIPO-AT" / "views.parquet").to_pylist()
    counted = {name: sum(bool((row[name] or "").strip()) for row in views) for name in views[0]}
    assert built.files["WIPO-AT/views.parquet"].filled == counted and counted["Abstract"] == len(views) - 1


def test_the_input_hash_is_of_the_records_and_not_of_their_files(tmp_path):
    patents, citations = world(20)
    for form in ("jsonl", "parquet"):
        write_records(tmp_path / f"p.{form}", Patent, patents)
    hashes = {
        dataset.input_hash(list(read_records(tmp_path / f"p.{form}", Patent)), citations)
        for form in ("jsonl", "parquet")
    }
    assert hashes == {dataset.input_hash(patents, citations)}
    changed = [replace(patents[0], title="Another"), *patents[1:]]
    assert (
        dataset.input_hash(changed, citations) not in hashes
        and dataset.input_hash(patents, citations[1:]) not in hashes
    )


def test_one_directory_has_one_name(tmp_path, capsys, monkeypatch):
    patents, citations = world()
    write_records(tmp_path / "p.parquet", Patent, patents)
    write_records(tmp_path / "c.parquet", Citation, citations)
    root = tmp_path / "my pumps"

    def build(*more):
        files = [str(path) for path in (tmp_path / "p.parquet", tmp_path / "c.parquet", root)]
        return cli.main(["data", "build", "sophia", *files, "--set", *SOPHIA, *more])

    assert build("--owner", "Acme Corp.") == 0
    assert dataset.read(root).name == "MyPumps"
    before = (root / "dataset.json").read_bytes()
    assert build("--name", "Valves") == 2
    assert "holds the data set MyPumps, not Valves" in capsys.readouterr().err.replace("\n", " ")
    assert (root / "dataset.json").read_bytes() == before
    assert build("--name", "MyPumps", "--data-version", "2") == 0
    record = dataset.read(root)
    assert (record.version, record.owner) == ("2", "Acme Corp."), "an omitted field stays unchanged"


@pytest.mark.parametrize("name", ["acme", "Acme Corp", "WIPO-AT", "1st", "Patent", "DAPFAM", "../x", "", "A" * 41])
def test_names_that_no_task_can_begin_with_are_refused(tmp_path, name):
    (tmp_path / "dataset.json").write_text(json.dumps({"schema": 1, "name": name}))
    with pytest.raises(DataError, match="choose"):
        dataset.read(tmp_path)
    if name:
        with pytest.raises(DataError, match="choose"):
            dataset.with_identity(tmp_path, None, Identity(name))


def test_two_recipes_share_a_directory_and_a_rebuilt_one_leaves_nothing_behind(tmp_path):
    patents, citations = world()
    recipes.run("sophia", Collection(patents, citations), tmp_path, SOPHIA)
    recipes.run("wipo_at", Collection(patents, citations), tmp_path)
    record = dataset.read(tmp_path)
    assert set(record.recipes) == {"sophia", "wipo_at"}
    stale = dict(record.recipes["wipo_at"].files) | {"datalyes/gone/test/data.parquet": dataset.FileRecord(1, "")}
    (tmp_path / "datalyes/gone/test").mkdir(parents=True)
    (tmp_path / "datalyes/gone/test/data.parquet").write_text("x")
    document = dataset.to_json(record, "wipo_at", replace(record.recipes["wipo_at"], files=stale))
    (tmp_path / "dataset.json").write_text(json.dumps(document))
    recipes.run("wipo_at", Collection(patents, citations), tmp_path)
    assert not (tmp_path / "datalyes" / "gone").exists(), "a table of the last build that this one does not make"
    assert (tmp_path / "WIPO-AT").exists() and (tmp_path / "Sophia").exists()
    assert set(dataset.read(tmp_path).recipes) == {"sophia", "wipo_at"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "malformed JSON"),
        ("[]", "an object is expected"),
        ('{"name": "Acme"}', "the schema is None"),
        ('{"schema": 2, "name": "Acme"}', "newer version"),
        ('{"schema": 1, "name": 5}', "name is 5"),
        ('{"schema": 1, "name": "Acme", "recipes": {"wipo_at": {"files": {"a": {}}}}}', "cannot be read"),
        ('{"schema": 1, "name": "Acme", "recipes": []}', "cannot be read"),
    ],
)
def test_a_broken_record_is_named(tmp_path, content, message):
    (tmp_path / "dataset.json").write_text(content)
    with pytest.raises(DataError, match=message) as caught:
        dataset.read(tmp_path)
    assert "dataset.json" in str(caught.value) and "Remedy" in str(caught.value)
