"""Inputs and publications that are removed or replaced, and what the preview of an import says and asks."""

from pathlib import Path

import pytest

from patent_mteb import cli
from patent_mteb.errors import DataError
from patent_mteb.patents.records import Citation, Patent, read_records
from patent_mteb.readers import records_directory
from patent_mteb.readers.importing import import_files, remove
from patent_mteb.readers.records_directory import REMOVED, read_accounts

LIST = (
    "Publication Number,Title,Cited Patents\nUS7000001B2,Pump,US6000001B2\nUS7000002B2,Seal,US6000001B2;US7000001B2\n"
)


@pytest.fixture
def root(tmp_path):
    """A list, topics that were joined to it, and another list that shares a publication with it."""
    (tmp_path / "list.csv").write_text(LIST)
    (tmp_path / "topics.csv").write_text("Publication Number,Topic\nUS7000001B2,Flow\nUS7000003B2,Heat\n")
    (tmp_path / "other.csv").write_text("Publication Number,Title\nUS7000002B2,Gasket\n")
    import_files([tmp_path / f"{name}.csv" for name in ("list", "topics", "other")], tmp_path / "root")
    return tmp_path / "root"


def titles(root):
    return {one.publication_number: one.title for one in read_records(root / "patents", Patent)}


def topics(root):
    return {
        one.publication_number: [label.coarse for label in one.labels] for one in read_records(root / "patents", Patent)
    }


def test_a_removed_input_takes_what_it_joined_and_leaves_what_others_gave(root, tmp_path):
    assert titles(root) == {"US7000001B2": "Pump", "US7000002B2": "Gasket", "US7000003B2": ""}
    (gone,) = remove(["topics.csv"], root)
    assert gone.records == {"patents": 1, "citations": 0, "relations": 0} and gone.joined == 1
    assert topics(root) == {"US7000001B2": [], "US7000002B2": []}
    (gone,) = remove([str(tmp_path / "list.csv")], root)
    assert gone.records == {"patents": 2, "citations": 3, "relations": 0}
    assert gone.kept == {"US7000002B2"}, "the other list has it too"
    assert titles(root) == {"US7000002B2": "Gasket"} and not list(read_records(root / "citations", Citation))
    assert [Path(one.path).name for one in read_accounts(root).values()] == ["other.csv"]


def test_removed_publications_stay_out_of_later_imports(root, tmp_path):
    (gone,) = remove(["US 7,000,002 B2"], root)
    assert gone.records == {"patents": 1, "citations": 2, "relations": 0}
    assert titles(root) == {"US7000001B2": "Pump", "US7000003B2": ""}
    assert [one.cited for one in read_records(root / "citations", Citation)] == ["US6000001B2"]
    (tmp_path / "list.csv").write_text(LIST.replace("Pump", "Rotor"))
    import_files([tmp_path / "list.csv"], root)
    assert titles(root) == {"US7000001B2": "Rotor", "US7000003B2": ""}
    accounts = {Path(one.path).name: one for one in read_accounts(root).values()}
    assert accounts["list.csv"].left_out[REMOVED].count == 1
    assert {name: one.records["patents"] for name, one in accounts.items()} == {
        "topics.csv": 2,
        "other.csv": 0,
        "list.csv": 0,
    }


def test_a_replaced_input_is_counted(root, tmp_path, capsys):
    (tmp_path / "list-2.csv").write_text("Publication Number,Title\nUS7000001B2,Rotor\n")
    words = ["data", "import", str(tmp_path / "list-2.csv"), "--replace", "list.csv", "--out", str(root)]
    assert cli.main(words) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "list.csv: removed 2 patents, 3 citations, 0 relations; 2 of its 2 publications are in other inputs" in said
    assert titles(root) == {"US7000001B2": "Rotor", "US7000002B2": "Gasket", "US7000003B2": ""}
    assert topics(root)["US7000001B2"] == ["Flow"], "what the topics gave stays"


def test_an_input_replaced_by_itself_is_read_again(root, tmp_path):
    before = titles(root), topics(root)
    import_files([tmp_path / "list.csv"], root, replaced=["list.csv"])
    assert titles(root) == {**before[0], "US7000002B2": "Seal"}, "it is the last input now"
    assert topics(root) == before[1]


@pytest.mark.parametrize("words", [["--remove", "absent.csv"], ["--replace", "US7000001B2", "FILE"]])
def test_an_unknown_input_is_refused_with_those_that_are_known(root, tmp_path, capsys, words):
    words = [str(tmp_path / "list.csv") if word == "FILE" else word for word in words[::-1]][::-1]
    assert cli.main(["data", "import", *words[2:], *words[:2], "--out", str(root)]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "is not an input" in said and "choose among the inputs: list.csv, topics.csv, other.csv" in said
    assert len(titles(root)) == 3


def test_a_missing_file_stops_a_removal_before_anything_is_lost(root, tmp_path):
    before = titles(root), topics(root)
    (tmp_path / "other.csv").unlink()
    with pytest.raises(DataError, match="must be read again because another input changed"):
        remove(["list.csv"], root)
    assert (titles(root), topics(root)) == before


@pytest.mark.parametrize("stop", range(1, 9))
def test_an_interrupted_removal_is_finished_by_the_next_command(root, tmp_path, monkeypatch, stop):
    """Interrupted at each of the first writes and deletions; then the list is removed again, or another import runs."""
    calls = []

    def dying(do):
        def made(*words, **options):
            calls.append(do)
            if len(calls) == stop:
                raise KeyboardInterrupt
            return do(*words, **options)

        return made

    with monkeypatch.context() as patch:
        patch.setattr(records_directory, "remove_part", dying(records_directory.remove_part))
        patch.setattr(records_directory, "save_accounts", dying(records_directory.save_accounts))
        patch.setattr(records_directory, "_drop_publications", dying(records_directory._drop_publications))
        try:
            remove(["list.csv"], root)
        except KeyboardInterrupt:
            pass
        else:
            assert stop > 4, calls
    import_files([tmp_path / "topics.csv", tmp_path / "other.csv"], root)
    if any(one.path.endswith("list.csv") for one in read_accounts(root).values()):
        remove(["list.csv"], root)
    assert titles(root) == {"US7000001B2": "", "US7000002B2": "Gasket", "US7000003B2": ""}
    assert not list(read_records(root / "citations", Citation))


GUESSED = "Alpha,Title,Family\nUS7000001B2,Pump,5\nUS7000002B2,Seal,4\n"


def answering(monkeypatch, answer):
    asked = []
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda text: asked.append(text) or answer)
    return asked


def test_the_preview_says_what_each_column_is_read_as_and_why(tmp_path, capsys):
    (tmp_path / "t.csv").write_text(GUESSED)
    assert cli.main(["data", "import", str(tmp_path / "t.csv"), "--out", str(tmp_path / "root")]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines[1:5] == [
        "column values read as why",
        "Alpha publication numbers, each different publication_number its values",
        "Title words, each different title its name",
        "Family small whole numbers, each different not read "
        "small whole numbers, each different, looks like the size of the family: not used",
    ]


def test_a_terminal_is_asked_only_where_values_alone_decide(tmp_path, monkeypatch, capsys):
    (tmp_path / "t.csv").write_text(GUESSED)
    (tmp_path / "plain.csv").write_text(LIST)
    words = ["data", "import", str(tmp_path / "t.csv"), "--out", str(tmp_path / "root")]
    asked = answering(monkeypatch, "n")
    assert cli.main(words) == 2 and len(asked) == 1
    assert "--suggest" in capsys.readouterr().err and not (tmp_path / "root").exists()
    assert cli.main([*words, "--yes"]) == 0 and len(asked) == 1
    assert cli.main(["data", "import", str(tmp_path / "plain.csv"), "--out", str(tmp_path / "plain")]) == 0
    assert len(asked) == 1, "its names say what they are"
    answering(monkeypatch, "")
    assert cli.main([*words[:-1], str(tmp_path / "again")]) == 0
