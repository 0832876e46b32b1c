"""A killed and repeated import of full texts gives the same bytes as an uninterrupted one."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from patent_mteb.patents.records import Citation, Patent, Relation, read_records
from patent_mteb.readers import READERS, tables
from patent_mteb.readers.importing import import_files
from patent_mteb.readers.records_directory import read_accounts

DOCUMENT = """<?xml version="1.0" encoding="UTF-8"?>
<us-patent-grant lang="EN"><us-bibliographic-data-grant><publication-reference><document-id><country>US</country>
<doc-number>{number}</doc-number><kind>B2</kind><date>20150106</date></document-id></publication-reference>
<application-reference appl-type="utility"><document-id><doc-number>13{short:06}</doc-number></document-id></application-reference>
<invention-title>Pump {number}</invention-title><us-references-cited><us-citation><patcit><document-id><country>US</country>
<doc-number>{earlier}</doc-number><kind>B1</kind></document-id></patcit><category>cited by examiner</category></us-citation>
</us-references-cited></us-bibliographic-data-grant><description>{text}</description><claims/></us-patent-grant>
"""
EACH = 150
CODE = """
import sys
from pathlib import Path
from patent_mteb.readers.importing import import_files
import_files([Path(sys.argv[1])], Path(sys.argv[2]))
"""
WEEKS = 6


def weekly(path, first):
    """A zip of one file of documents, every fiftieth of which is malformed."""
    text = "<p>" + "A pump that does not leak. " * 40 + "</p>"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        documents = [
            DOCUMENT.format(
                number=number,
                earlier=number - 1_000_000,
                short=number % 1_000_000,
                text=text if number % 50 else "<p>torn",
            )
            for number in range(first, first + EACH)
        ]
        archive.writestr(f"{path.stem}.xml", "".join(documents))


def written(root):
    """The files of a directory without unfinished files of killed writers."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and path.suffix != ".partial"
    }


def finished(root):
    return sum(account.done for account in read_accounts(root).values())


@pytest.mark.slow
def test_a_killed_import_of_full_texts_ends_in_the_same_bytes(tmp_path):
    (tmp_path / "in").mkdir()
    for week in range(WEEKS):
        weekly(tmp_path / "in" / f"ipg1501{week:02}.zip", 8_000_000 + week * 1000)
    import_files([tmp_path / "in"], tmp_path / "uninterrupted")
    moments = random.Random(16)
    root = tmp_path / "killed"
    killed = 0
    for least in (0, 2, 4):
        running = subprocess.Popen([sys.executable, "-c", CODE, str(tmp_path / "in"), str(root)], env=os.environ)
        while running.poll() is None and (finished(root) < least or not root.exists()):
            time.sleep(0.001)
        time.sleep(moments.random() / 50)
        running.kill()
        killed += running.wait() != 0
    assert killed
    import_files([tmp_path / "in"], root)
    assert written(root) == written(tmp_path / "uninterrupted")
    assert len([name for name in written(root) if name.startswith("set-aside/")]) == WEEKS * EACH // 50
    good = WEEKS * EACH - WEEKS * EACH // 50
    assert (
        len(list(read_records(root / "patents", Patent)))
        == len(list(read_records(root / "citations", Citation)))
        == len(list(read_records(root / "relations", Relation)))
        == good
    )


def test_the_page_of_sources_names_each():
    page = (Path(__file__).parents[2] / "docs" / "readers.md").read_text("utf-8")
    ours = READERS.keys() - {reader.name for reader in tables.readers()}
    assert {name for name in ours if f"| `{name}` |" not in page} == set()
