"""Shares of an import: merged they are one import, byte for byte; interrupted at any file and repeated, they end in the
same bytes.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from broken_files import grant

from patent_mteb import cli
from patent_mteb.errors import DataError
from patent_mteb.files import folder_lock
from patent_mteb.readers.importing import Work, import_files, import_share, merge_shares
from patent_mteb.readers.records_directory import REPEATED, read_accounts


@pytest.fixture
def inputs(tmp_path):
    """Three tables, each of which but the first repeats the last publication of the one before and one of which has a
    row without a number, and a file with a malformed document.
    """
    folder = tmp_path / "in"
    folder.mkdir()
    for place in range(3):
        first = 7_000_000 + place * 10
        rows = [f"US{number}B2,Pump {number},US{number - 1}B2" for number in range(first - (place > 0), first + 10)]
        rows += [",Nameless,"] if place == 1 else []
        (folder / f"{place}.csv").write_text("\n".join(["publication_number,title,cites", *rows]) + "\n", "utf-8")
    (folder / "3.xml").write_text(grant("07000100") + grant("07000101", title="Pump\x01"), "utf-8")
    return folder


def content(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


@pytest.fixture
def whole(tmp_path, inputs):
    import_files([inputs], tmp_path / "whole")
    accounts = read_accounts(tmp_path / "whole").values()
    assert [account.left_out[REPEATED].count for account in accounts if REPEATED in account.left_out] == [1] * 2
    found = content(tmp_path / "whole")
    assert sum(name.startswith("set-aside/") for name in found) == 1
    return found


@pytest.mark.slow
def test_shares_in_one_directory_merge_to_the_bytes_of_one_import(tmp_path, inputs, whole):
    root = tmp_path / "root"
    for number in (3, 1, 2):
        assert cli.main(["data", "import", str(inputs), "--out", str(root), "--shard", f"{number}/3"]) == 0
    assert "import.json" not in content(root)
    assert cli.main(["data", "import", "--merge", "--out", str(root)]) == 0
    assert content(root) == whole
    assert cli.main(["data", "import", str(inputs), "--out", str(root)]) == 0, "nothing is left to do"
    assert content(root) == whole


def test_shares_in_directories_of_their_own_merge_to_the_bytes_of_one_import(tmp_path, inputs, whole):
    for number in (1, 2):
        import_share([inputs], tmp_path / f"share{number}", (number, 2), work=Work(workers=2))
    merge_shares(tmp_path / "root", [tmp_path / "share1", tmp_path / "share2"])
    assert content(tmp_path / "root") == whole


def test_shares_join_what_was_imported_before(tmp_path, inputs, whole):
    root = tmp_path / "root"
    import_files([inputs / "0.csv"], root)
    for number in (1, 2):
        import_share([inputs], root, (number, 2))
    merge_shares(root)
    assert content(root) == whole


class Stopped(BaseException):
    pass


def stopping(monkeypatch, nth):
    """The nth file that would take its place, or go, does not."""
    count = itertools.count(1)

    def stopped(change):
        def stop(self, *given, **named):
            if next(count) == nth:
                raise Stopped
            return change(self, *given, **named)

        return stop

    for name in ("replace", "unlink", "rename"):
        monkeypatch.setattr(Path, name, stopped(getattr(Path, name)))


@pytest.mark.slow
def test_an_import_stopped_at_any_file_and_repeated_ends_in_the_same_bytes(tmp_path, inputs, whole, monkeypatch):
    for nth in itertools.count(1, 2):
        root = tmp_path / f"at{nth}"
        with monkeypatch.context() as patch:
            stopping(patch, nth)
            try:
                import_files([inputs], root)
                break
            except Stopped:
                pass
        import_files([inputs], root)
        assert content(root) == whole, nth
    assert nth > 14, "nine parts, two of them twice, and the accounts"


@pytest.mark.slow
def test_a_merge_stopped_at_any_file_and_repeated_ends_in_the_same_bytes(tmp_path, inputs, whole, monkeypatch):
    shares = [tmp_path / f"share{number}" for number in (1, 2)]
    for number, share in enumerate(shares, start=1):
        import_share([inputs], share, (number, 2))
    for nth in itertools.count(1, 2):
        root = tmp_path / f"at{nth}"
        with monkeypatch.context() as patch:
            stopping(patch, nth)
            try:
                merge_shares(root, shares)
                break
            except Stopped:
                pass
        merge_shares(root, shares)
        assert content(root) == whole, nth
    assert nth > 12


def test_a_changed_input_whose_loser_was_not_read_again_is_finished_later(tmp_path, inputs, monkeypatch):
    root = tmp_path / "root"
    import_files([inputs], root)
    changed = inputs / "0.csv"
    changed.write_text("publication_number,title,cites\nUS7000000B2,Pump,\n", "utf-8")
    import_files([inputs], tmp_path / "expected")
    with monkeypatch.context() as patch:
        stopping(patch, 7)
        with pytest.raises(Stopped):
            import_files([changed], root)
    assert any(account.again for account in read_accounts(root).values())
    import_files([changed], root)
    kept = {account.path: account.records for account in read_accounts(root).values()}
    assert kept == {account.path: account.records for account in read_accounts(tmp_path / "expected").values()} | {
        str(changed): {"patents": 1, "citations": 0, "relations": 0},
        str(inputs / "1.csv"): {"patents": 11, "citations": 11, "relations": 0},
    }


def test_invalid_merges_give_one_message(tmp_path, inputs, capsys):
    root = tmp_path / "root"
    import_share([inputs], root, (1, 3))
    for words, said in (
        (["--merge"], "of 3 shares of this import 2 are missing: 2, 3. Remedy: import with --shard 2/3"),
        ([str(inputs / "0.csv"), "--shard", "1/3"], "this share was started with other inputs"),
        ([str(inputs), "--shard", "4/3"], "'4/3' is not a share of the work"),
    ):
        assert cli.main(["data", "import", *words, "--out", str(root)]) == 2
        error = " ".join(capsys.readouterr().err.split())
        assert said in error and error.count("Remedy") == 1
    import_share([inputs], root, (2, 3))
    import_share([inputs], root, (3, 3))
    unfinished = root / "shares" / "3-of-3" / "share.json"
    document = json.loads(unfinished.read_text("utf-8"))
    document["inputs"][0]["done"] = False
    unfinished.write_text(json.dumps(document), "utf-8")
    with pytest.raises(DataError, match="share 3/3 has not finished this input"):
        merge_shares(root)


def test_imports_lock_a_directory_and_shares_do_not(tmp_path, inputs, capsys):
    root = tmp_path / "root"
    with folder_lock(root, writer="import"):
        for words in ([str(inputs)], [str(inputs), "--shard", "1/2"], ["--merge"]):
            assert cli.main(["data", "import", *words, "--out", str(root)]) == 2
            assert "another import writes here" in capsys.readouterr().err
    with folder_lock(root, shared=True, writer="import"):
        import_share([inputs], root, (1, 2))
        with pytest.raises(DataError, match="another import writes here"):
            import_files([inputs], root)
