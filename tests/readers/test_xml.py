"""Bad files of twelve kinds and more: each gives one message or a counted reason, and the good documents around are
read.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from patent_mteb import files
from patent_mteb.errors import DataError
from patent_mteb.patents.records import Citation, Patent, Relation
from patent_mteb.readers import READERS, recognise, xml
from patent_mteb.readers.importing import import_files, remove
from patent_mteb.readers.items import Note, Skipped
from patent_mteb.readers.records_directory import SET_ASIDE, read_accounts

DECLARED = '<?xml version="1.0" encoding="UTF-8"?>\n'


def grant(
    number="08930553", *, kind="B2", date="20150106", title="Pump", claims="", cited="", doctype="", declared=DECLARED
):
    return f"""{declared}{doctype}<us-patent-grant lang="EN"><us-bibliographic-data-grant><publication-reference><document-id>
<country>US</country><doc-number>{number}</doc-number><kind>{kind}</kind><date>{date}</date></document-id></publication-reference>
<application-reference appl-type="utility"><document-id><country>US</country><doc-number>13648029</doc-number><date>20121009</date>
</document-id></application-reference><invention-title>{title}</invention-title>
<us-references-cited>{cited}</us-references-cited></us-bibliographic-data-grant><claims>{claims}</claims></us-patent-grant>
"""


FIRST, LAST = grant("08930551"), grant("08930552")


def read(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return list(READERS["uspto"].read(path))


def numbers(items):
    return [item.publication_number for item in items if isinstance(item, Patent)]


def reasons(items):
    return [(item.place, item.reason, item.text) for item in items if isinstance(item, Skipped)]


BOMB = "<!DOCTYPE us-patent-grant [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;'>]>\n"
DEFINES = "its document type defines entities: an entity bomb?"
MALFORMED = {
    "truncated in the middle of a concatenation": (grant()[:400], "not well-formed XML (ERR_GT_REQUIRED)"),
    "entity bomb in the text": (grant(title="&b;", doctype=BOMB), DEFINES),
    "entity bomb in an attribute": (
        grant(doctype=BOMB).replace('lang="EN"', 'lang="&b;"'),
        "its document type defines entities: an entity bomb?",
    ),
    "parameter entity": (grant(doctype='<!DOCTYPE g [<!ENTITY % p "x">]>'), DEFINES),
    "wrong encoding": (grant(title="Pompe à eau").encode("latin-1"), "not well-formed XML (ERR_INVALID_ENCODING)"),
    "an encoding that hides its characters": (
        grant(declared='<?xml version="1.0" encoding="UTF-7"?>'),
        "neither UTF-8 nor ISO 8859 nor Windows 125x",
    ),
    "without a number": (grant(""), "no publication number"),
    "a number without digits": (grant("unknown"), "no publication number"),
    "a control character": (grant(title="Pump\x01"), "not well-formed XML (ERR_INVALID_CHAR)"),
    "two roots": (grant() + "<us-patent-grant/>", "not well-formed XML (ERR_DOCUMENT_END)"),
}


@pytest.mark.parametrize("what", MALFORMED)
def test_a_malformed_document_is_saved_and_its_neighbours_are_read(tmp_path, what):
    content, reason = MALFORMED[what]
    raw = content if isinstance(content, bytes) else content.encode()
    saved = raw.decode("utf-8", "backslashreplace")
    items = read(tmp_path / "ipg.xml", FIRST.encode() + raw + LAST.encode())
    assert numbers(items) == ["US8930551B2", "US8930552B2"]
    assert reasons(items) == [("document 2", reason, saved)]
    done = import_files([tmp_path / "ipg.xml"], tmp_path / "records")
    (account,) = done.accounts
    assert account.records["patents"] == 2
    (aside,) = (tmp_path / "records" / SET_ASIDE).rglob("*.txt")
    assert aside.read_text("utf-8") == saved
    assert account.left_out[reason].examples == [f"document 2 ({aside.relative_to(tmp_path / 'records').as_posix()})"]
    assert read_accounts(tmp_path / "records")[account.part] == account
    remove(["ipg.xml"], tmp_path / "records")
    assert not aside.exists()


def test_external_entities_are_not_fetched(tmp_path):
    (tmp_path / "secret.txt").write_text("secret")
    doctype = f'<!DOCTYPE g SYSTEM "file://{tmp_path}/missing.dtd" [<!ENTITY s SYSTEM "file://{tmp_path}/secret.txt">]>'
    patent, *_ = read(tmp_path / "ipg.xml", grant(title="A &s; pump", doctype=doctype))
    assert patent.title == "A &s; pump"


def test_repeated_numbers_have_equal_or_other_documents(tmp_path):
    other = grant("08930551", title="Valve", cited="<us-citation><patcit><document-id><country>US</country><doc-number>5000000</doc-number>"
                  "</document-id></patcit></us-citation>")  # fmt: skip
    items = read(tmp_path / "ipg.xml", FIRST + FIRST + other + LAST)
    assert numbers(items) == ["US8930551B2", "US8930552B2"]
    assert reasons(items) == [
        ("document 2", "the same document once more", ""),
        ("document 3", "another document of a number that was read before", ""),
    ]
    assert not [item for item in items if isinstance(item, Citation)]
    assert len([item for item in items if isinstance(item, Relation)]) == 2


def test_a_day_00_is_the_first_of_its_month(tmp_path):
    patent, *_ = read(tmp_path / "ipg.xml", grant(date="20150100"))
    assert str(patent.publication_date) == "2015-01-01"


def test_claims_without_numbers_are_numbered_and_counted(tmp_path):
    claims = (
        "<claim><claim-text>A pump.</claim-text></claim><claim><claim-text>The pump of claim 1.</claim-text></claim>"
    )
    items = read(tmp_path / "ipg.xml", grant(claims=claims))
    assert [(claim.number, claim.depends_on) for claim in items[0].claims] == [(1, ()), (2, (1,))]
    notes = [item.what for item in items if isinstance(item, Note)]
    assert notes == ["a claim without a number, numbered by its position"] * 2


def test_every_citation_that_is_not_read_has_its_reason(tmp_path):
    entries = ["<nplcit><othercit>A book</othercit></nplcit>"] + [
        f"<patcit><document-id><country>US</country><doc-number>{number}</doc-number></document-id></patcit>"
        for number in ("2007/0140112", "2007/0140112", "", "08930553 B2", "unknown 17")
    ]
    items = read(tmp_path / "ipg.xml", grant(cited="".join(f"<us-citation>{entry}</us-citation>" for entry in entries)))
    assert [item.cited for item in items if isinstance(item, Citation)] == ["US2007140112", "USUNKNOWN17"]
    assert sorted(reason for _, reason, _ in reasons(items)) == [
        "a citation of other literature than patents",
        "a citation of the publication itself",
        "a citation without a number",
        "a repeated citation",
    ]
    assert [item.example for item in items if isinstance(item, Note)] == ["US8930553B2 cites US unknown 17"]


def zipped(files: dict[str, str | bytes]) -> bytes:
    with zipfile.ZipFile(stream := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


def test_a_zip_file_gives_its_documents_and_says_what_it_leaves(tmp_path):
    bomb = " " * (files.SMALL_MEMBER + 1)
    content = zipped(
        {
            "../../evil.xml": FIRST,
            "ipg.xml": FIRST + LAST,
            "lst.txt": "x",
            "bomb.xml": bomb,
            "inner.zip": b"PK",
            "p.XML": grant(),
        }
    )
    items = read(tmp_path / "ipg.zip", content)
    assert numbers(items) == ["US8930551B2", "US8930552B2", "US8930553B2"]
    assert [(place, reason.partition(":")[0]) for place, reason, _ in reasons(items)] == [
        ("../../evil.xml", "its path leads out of the zip"),
        ("lst.txt", "not XML, by its name (.txt)"),
        ("bomb.xml", "unpacks to more than 200 times its size"),
        ("inner.zip", "a zip file in the zip cannot be read (DataError)"),
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ipg.zip"]


def test_an_incomplete_member_affects_only_itself(tmp_path):
    content = bytearray(zipped({"one.xml": FIRST + LAST, "two.xml": grant()}))
    content[content.index(b"one.xml") + 60] ^= 0xFF
    items = read(tmp_path / "ipg.zip", bytes(content))
    assert numbers(items)[-1] == "US8930553B2"
    assert "the rest of a file in the zip cannot be read" in reasons(items)[-1][1]


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("empty.xml", b"", "empty"),
        ("cut.zip", zipped({"ipg.xml": FIRST})[:-40], "not a complete zip file"),
    ],
)
def test_a_file_that_is_broken_as_a_whole_gives_one_message(tmp_path, name, content, message):
    with pytest.raises(DataError, match=message) as caught:
        read(tmp_path / name, content)
    assert caught.value.path == tmp_path / name
    assert caught.value.remedy


def test_text_is_not_recognised_as_xml_and_saved_if_the_source_is_named(tmp_path):
    items = read(tmp_path / "mail.xml", "Dear patent office,\n")
    assert recognise(tmp_path / "mail.xml") is None
    assert reasons(items) == [("document 1", "not XML", "Dear patent office,\n")]


def test_documents_are_cut_wherever_a_chunk_ends(tmp_path, monkeypatch):
    (path := tmp_path / "ipg.xml").write_text(
        "".join(grant(f"0893{number:04}", title="é" * number) for number in range(40)), "utf-8"
    )
    whole = numbers(READERS["uspto"].read(path))
    assert len(whole) == 40
    for size in (1, 7, 64, 997):
        monkeypatch.setattr(xml, "_CHUNK", size)
        assert numbers(READERS["uspto"].read(path)) == whole


def test_a_document_that_is_too_long_is_skipped(tmp_path, monkeypatch):
    monkeypatch.setattr(xml, "LONGEST_DOCUMENT", 4000)
    monkeypatch.setattr(xml, "_CHUNK", 1000)
    items = read(tmp_path / "ipg.xml", FIRST + grant(title="x" * 9000) + LAST)
    assert numbers(items) == ["US8930551B2", "US8930552B2"]
    assert {reason for _, reason, _ in reasons(items)} <= {
        "longer than 0 MiB",
        "not XML",
        "not well-formed XML (ERR_TAG_NOT_FINISHED)",
    }


def test_sources_are_recognised_by_their_root(tmp_path):
    roots = {
        "us-patent-application": "uspto",
        "PATDOC": "uspto",
        "ep-patent-document": "epo",
        "ops:world-patent-data": "ops",
    }
    for root, name in roots.items():
        (path := Path(tmp_path / "one.xml")).write_text(f"{DECLARED}<!-- x -->\n<{root} xmlns:ops='o'/>")
        assert recognise(path).name == name


def test_a_zip_file_in_a_zip_file_is_read_and_one_in_that_is_not(tmp_path):
    innermost = zipped({"deep.xml": "<a>deep</a>"})
    inner = zipped({"one.xml": "<a>one</a>", "innermost.zip": innermost, "list.csv": "x"})
    (path := tmp_path / "delivery.zip").write_bytes(zipped({"index.xml": "<list/>", "DOC/inner.zip": inner}))
    found = list(xml.documents(path, xml.split_before))
    assert found[:2] == [
        ("index.xml, document 1", b"<list/>"),
        ("DOC/inner.zip, one.xml, document 1", b"<a>one</a>"),
    ]
    assert [(one.place, one.reason) for one in found[2:]] == [
        ("DOC/inner.zip, innermost.zip", "not XML, by its name (.zip)"),
        ("DOC/inner.zip, list.csv", "not XML, by its name (.csv)"),
    ]
    assert list(xml.first_roots(path)) == ["list", "a"]
