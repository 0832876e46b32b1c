"""The import: a part for each input, made once, replaced when the input changes, complete after a kill; nothing lost
without a count.
"""

import csv
import json
import pickle
import re

import pytest

from patent_mteb import cli
from patent_mteb.errors import DataError
from patent_mteb.patents.records import Citation, Patent, Relation, read_records
from patent_mteb.readers import READERS
from patent_mteb.readers.importing import Work, import_files
from patent_mteb.readers.records_directory import ADDED, CONFLICTS, JOINED, REPEATED, Tally, read_accounts


def table(path, rows, header=("publication_number", "title", "cites", "family members")):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows([header, *rows])
    return path


def rows_of(first, last):
    return [
        (f"US{number}B2", f"Pump {number}", f"US{number - 1}B2; EP{number}A1", f"WO20{number}A1")
        for number in range(first, last)
    ]


def titles(root):
    return {patent.publication_number: patent.title for patent in read_records(root / "patents", Patent)}


def written(root):
    return {path: path.stat().st_mtime_ns for path in root.rglob("*.parquet")}


def test_each_input_gives_one_part_of_each_kind(tmp_path):
    files = [table(tmp_path / "a.csv", rows_of(7000001, 7000040)), table(tmp_path / "b.csv", rows_of(7000100, 7000110))]
    done = import_files(files, tmp_path / "root")
    assert [account.records for account in done.accounts] == [
        {"patents": 39, "citations": 78, "relations": 39},
        {"patents": 10, "citations": 20, "relations": 10},
    ]
    for name, kind, expected in (("patents", Patent, 49), ("citations", Citation, 98), ("relations", Relation, 49)):
        assert len(list((tmp_path / "root" / name).iterdir())) == 2
        assert len(list(read_records(tmp_path / "root" / name, kind))) == expected
    assert {relation.kind for relation in read_records(tmp_path / "root" / "relations", Relation)} == {"member"}


def test_a_finished_part_is_not_made_again_and_a_changed_input_replaces_its_own(tmp_path):
    root = tmp_path / "root"
    one = table(tmp_path / "a.csv", rows_of(7000001, 7000004))
    two = table(tmp_path / "b.csv", rows_of(7000100, 7000102))
    import_files([one, two], root)
    before = written(root)
    assert import_files([one, two], root).accounts == list(read_accounts(root).values())
    assert written(root) == before
    table(one, rows_of(7000002, 7000006))
    import_files([one], root)
    after = written(root)
    assert sum(after.get(path) == when for path, when in before.items()) == 3, "the parts of the other input"
    assert len(after) == 6
    assert sorted(titles(root)) == [f"US{number}B2" for number in (*range(7000002, 7000006), 7000100, 7000101)]


def test_a_publication_of_two_inputs_is_kept_once_and_comes_back_with_a_changed_input(tmp_path):
    root = tmp_path / "root"
    one = table(tmp_path / "a.csv", rows_of(7000001, 7000004))
    two = table(tmp_path / "b.csv", rows_of(7000003, 7000006))
    _, second = import_files([one, two], root).accounts
    got = (second.left_out[REPEATED].count, second.left_out[REPEATED].examples, second.records["patents"])
    assert got == (1, ["US7000003B2"], 2)
    assert len(titles(root)) == 5
    table(one, rows_of(7000001, 7000003))
    import_files([one], root)
    assert len(titles(root)) == 5, "what only the second input has now is read from it again"
    assert not any(account.left_out for account in read_accounts(root).values())


def test_workers_give_the_same_records(tmp_path):
    files = [
        table(tmp_path / f"{name}.csv", rows_of(7000001 + 50 * place, 7000040 + 50 * place))
        for place, name in enumerate("ab")
    ]
    import_files(files, tmp_path / "alone")
    import_files(files, tmp_path / "parallel", work=Work(workers=2))
    for kind in ("patents", "citations", "relations"):
        parts = [sorted((tmp_path / root / kind).iterdir()) for root in ("alone", "parallel")]
        assert [part.name for part in parts[0]] == [part.name for part in parts[1]]
        assert [part.read_bytes() for part in parts[0]] == [part.read_bytes() for part in parts[1]]


def test_errors_of_worker_processes_are_complete():
    error = DataError("not valid UTF-8", path="b.csv", row=2, remedy="save it as UTF-8")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.path, again.row, again.remedy) == (str(error), error.path, 2, error.remedy)


def test_a_broken_file_stops_with_one_message_and_what_was_finished_stays(tmp_path, capsys):
    good = table(tmp_path / "a.csv", rows_of(7000001, 7000004))
    (tmp_path / "b.csv").write_bytes(b"publication_number,title\nUS7B2,\xff\n")
    words = ["data", "import", "table", str(good), str(tmp_path / "b.csv"), "--out", str(tmp_path / "root")]
    assert cli.main(words) == 2
    said = capsys.readouterr().err
    assert "b.csv, row 2: not valid UTF-8" in said and said.count("Remedy") == 1
    table(tmp_path / "b.csv", rows_of(7000100, 7000102))
    assert cli.main(words) == 0
    assert len(titles(tmp_path / "root")) == 5


def test_import_json_has_skipped_documents_and_notes_with_positions(tmp_path):
    file = table(
        tmp_path / "a.csv",
        [("", "Nameless", "", ""), *rows_of(7000001, 7000003), ("US7000001B2", "Again", "US9B2", "")],
    )
    import_files([file], tmp_path / "root")
    (row,) = json.loads((tmp_path / "root" / "import.json").read_text())["inputs"]
    assert row["left_out"] == {"no publication number": {"count": 1, "examples": ["row 2"]}}
    repeated = "the publication is in an earlier row with another title: only citations and relations are read"
    assert row["notes"][repeated] == {"count": 1, "examples": ["row 5: US7000001B2 'Again'"]}
    assert row["records"] == {"patents": 2, "citations": 5, "relations": 2}
    assert titles(tmp_path / "root")["US7000001B2"] == "Pump 7000001"


def test_a_note_counts_all_cases(tmp_path):
    import_files([table(tmp_path / "a.csv", rows_of(7000001, 7000008))], tmp_path / "root")
    (account,) = read_accounts(tmp_path / "root").values()
    found = account.notes["columns read"]
    assert (found.count, len(found.examples)) == (4, 1), "four columns are named in one line"


def test_class_codes_that_cannot_be_read_are_counted(tmp_path):
    header = ("publication_number", "ipc", "cpc")
    rows = [
        ("US10000001B2", "A61K 31/505, 31/506", "H01L21/302,101@C"),
        ("US10000002B2", "mechanical; F04B 1/00", "514/256"),
    ]
    import_files([csv_of(tmp_path / "list.csv", header, *rows)], tmp_path / "R")
    one, other = sorted(read_records(tmp_path / "R" / "patents", Patent), key=lambda patent: patent.publication_number)
    assert (one.ipc, one.cpc) == (("A61K31/505", "A61K31/506"), ("H01L21/302",))
    assert (other.ipc, other.cpc) == (("mechanical", "F04B1/00"), ("514/256",))
    (account,) = read_accounts(tmp_path / "R").values()
    (tally,) = [tally for what, tally in account.notes.items() if "IPC or CPC code" in what]
    assert (tally.count, tally.examples) == (2, ["US10000002B2: mechanical", "US10000002B2: 514/256"])


def test_sources_are_named_or_recognised(tmp_path, capsys):
    table(tmp_path / "in" / "a.csv", rows_of(7000001, 7000004))
    (tmp_path / "in" / "notes.txt").write_text("nothing of that kind\n")
    (tmp_path / "in" / ".hidden.csv").write_text("publication_number\nUS1B2\n")
    assert cli.main(["data", "import", str(tmp_path / "in"), "--out", str(tmp_path / "root")]) == 0
    assert "notes.txt: left out, no reader recognises this file" in capsys.readouterr().err
    assert len(titles(tmp_path / "root")) == 3
    for words, said in (
        ([str(tmp_path / "in" / "notes.txt")], "no reader recognises this file"),
        (["absent.csv"], "the file is missing"),
        (["lens", str(tmp_path / "in" / "a.csv")], "is missing (columns: "),
        (["lens"], "no file is named"),
    ):
        assert cli.main(["data", "import", *words, "--out", str(tmp_path / "other")]) == 2
        assert said in capsys.readouterr().err
    assert cli.main(["data", "import", str(tmp_path / "in")]) == 2
    capsys.readouterr()
    assert cli.main(["data", "import", "--sources"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:]] == list(READERS)


def test_many_files_are_summarised(tmp_path, capsys):
    for number in range(13):
        table(
            tmp_path / "in" / f"{number}.csv", [*rows_of(7000001 + number, 7000002 + number), ("", "Nameless", "", "")]
        )
    assert cli.main(["data", "import", str(tmp_path / "in"), "--out", str(tmp_path / "root")]) == 0
    rows = [re.split(r"\s{2,}", line.strip()) for line in capsys.readouterr().out.splitlines()]
    found = {row[1]: (row[2], row[3]) for row in rows if row[0] == "13 files" and row[1] != "note"}
    assert found == {
        "patents": ("13", "table"),
        "citations": ("26", "table"),
        "relations": ("13", "table"),
        "left out": ("13", "no publication number: row 3"),
    }


def csv_of(path, header, *rows):
    return table(path, rows, header)


def test_a_later_table_adds_to_earlier_records_and_corrects_them(tmp_path):
    root = tmp_path / "root"
    first = csv_of(
        tmp_path / "a.csv",
        ("publication_number", "family_id", "title", "abstract", "topic"),
        ("US7000001B2", "F1", "Pump", "A pump.", "Flow"),
        ("US7000002B2", "F2", "Seal", "", ""),
        ("US7000003B2", "F3", "Rotor", "A rotor.", ""),
    )
    labels = csv_of(
        tmp_path / "b.csv",
        ("publication_number", "topic"),
        ("US7000001B2", "Heat"), ("US7000002B2", "Heat"), ("US7000004B2", "Heat"),
    )  # fmt: skip
    texts = csv_of(
        tmp_path / "c.csv",
        ("publication_number", "title", "abstract", "description"),
        ("US7000001B2", "Pump, corrected", "", ""), ("US7000002B2", "", "A seal.", "A long text."),
    )  # fmt: skip
    import_files([first], root)
    import_files([labels], root)
    _, _, third = import_files([first, labels, texts], root).accounts
    one, two, three, four = list(read_records(root / "patents", Patent))
    assert (one.title, one.abstract, one.family_id) == ("Pump, corrected", "A pump.", "F1")
    assert [[label.coarse for label in patent.labels] for patent in (one, two, three, four)] == [
        ["Flow", "Heat"], ["Heat"], [], ["Heat"],
    ]  # fmt: skip
    got = (two.title, two.abstract, two.description.summary or two.description.detailed)
    assert got == ("Seal", "A seal.", "A long text.")
    assert (three.title, three.abstract) == ("Rotor", "A rotor.")
    assert third.notes[CONFLICTS] == Tally(1, ["US7000001B2: title"])
    assert third.notes[ADDED] == Tally(2, ["US7000002B2: abstract, description"])
    assert third.records["patents"] == 0 and third.left_out[REPEATED].count == 2
    accounts = {account.path: account for account in read_accounts(root).values()}
    assert accounts[str(first)].notes[JOINED].count == 4, "two by the labels, two by the texts"


def test_a_corrected_label_table_replaces_its_labels(tmp_path):
    root = tmp_path / "root"
    first = csv_of(tmp_path / "a.csv", ("publication_number", "title"), ("US7000001B2", "Pump"))
    labels = csv_of(tmp_path / "b.csv", ("publication_number", "topic"), ("US7000001B2", "Heat"))
    import_files([first, labels], root)
    csv_of(labels, ("publication_number", "topic"), ("US7000001B2", "Flow"))
    import_files([labels], root)
    (one,) = list(read_records(root / "patents", Patent))
    assert [label.coarse for label in one.labels] == ["Flow"] and one.title == "Pump"


def test_an_interrupted_join_gives_the_same(tmp_path, monkeypatch):
    from patent_mteb.readers import records_directory

    first = csv_of(
        tmp_path / "a.csv", ("publication_number", "title"), ("US7000001B2", "Pump"), ("US7000002B2", "Seal")
    )
    more = [
        csv_of(tmp_path / f"{name}.csv", ("publication_number", "title", "topic"), ("US7000001B2", name, name))
        for name in "bc"
    ]
    import_files([first, *more], tmp_path / "whole")
    drop, calls = records_directory._drop_publications, []

    def dies(*words):
        calls.append(words)
        if len(calls) == 2:
            raise KeyboardInterrupt
        drop(*words)

    monkeypatch.setattr(records_directory, "_drop_publications", dies)
    with pytest.raises(KeyboardInterrupt):
        import_files([first, *more], tmp_path / "root")
    import_files([first, *more], tmp_path / "root")
    for name in ("whole", "root"):
        one, two = list(read_records(tmp_path / name / "patents", Patent))
        assert (one.title, [label.coarse for label in one.labels], two.title) == ("c", ["b", "c"], "Seal")
    assert [one.notes for one in read_accounts(tmp_path / "root").values()] == [
        one.notes for one in read_accounts(tmp_path / "whole").values()
    ]


def test_an_unknown_category_is_counted_and_kept_as_written(tmp_path):
    rows = [
        ("US7000001B2", "EP1000001A1", "X"),
        ("US7000001B2", "EP1000002A1", "Q"),
        ("US7000001B2", "EP1000003A1", ""),
    ]
    file = table(tmp_path / "a.csv", rows, ("citing", "cited", "citation category"))
    (account,) = import_files([file], tmp_path / "root").accounts
    found = read_records(tmp_path / "root" / "citations", Citation)
    assert [one.category for one in found] == ["X", "Q", ""]
    (note,) = (tally for what, tally in account.notes.items() if "letter" in what)
    assert (note.count, note.examples) == (1, ["US7000001B2: Q"])
