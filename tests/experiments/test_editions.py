"""Editions: from real USPTO files and office actions to a report, rebuilt in another order, and every change named."""

import csv
import dataclasses
import datetime as dt
import hashlib
import json
import os
import shutil

import open_us_patents as world
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from open_us_patents import D1, D2, Q1
from paths import SHARED

from patent_mteb import cli
from patent_mteb.errors import DataError
from patent_mteb.experiments import editions
from patent_mteb.files import folder_lock
from patent_mteb.identity import content_hash
from patent_mteb.models import bm25
from patent_mteb.patents import on_disk
from patent_mteb.patents.collection import Collection
from patent_mteb.patents.records import Patent, Relation, TextLanguages, write_records
from patent_mteb.readers.importing import import_files
from patent_mteb.recipes.beir import read_qrels
from patent_mteb.tasks import catalogue

BULK = SHARED / "bulk" / "uspto"
FILES = [
    *("go_application_v4-5-A1.xml", "go_application_v4-4-A1.xml", "go_application_v4-4-A2.xml"),
    *("go_application_v1-5-A1_2.xml", "go_grant_v4-5-B1.xml", "go_grant_v4-5-B2.xml", "pap_US20010009014A1.xml"),
    *("xmlApp2004_US20050004437A1.xml", "xmlApp2004_US20050004974A1.xml", "xml2014_US08930553.xml"),
    *("go_grant_v4-0-B2.xml", "xml2006_US07272630B2.xml"),
]
TASKS = ("TACToTAC", "AbstractToTAC", "ClaimsToTAC", "ClaimToTAC", "ClaimToPassage")


def action(application, cited, kind, letter, claims, passages, day="2023-02-01T00:00:00", **more):
    """A row of the enriched citations, with the names of the published fields, each of an office action of its own."""
    return {
        "patentApplicationNumber": application,
        "obsoleteDocumentIdentifier": f"{application} {cited}",
        "citedDocumentIdentifier": cited,
        "countryCode": "US",
        "kindCode": kind,
        "citationCategoryCode": letter,
        "relatedClaimNumberText": claims,
        "passageLocationText": passages,
        "officeActionDate": day,
        "officeActionCategory": "CTNF",
        "examinerCitedReferenceIndicator": True,
        "applicantCitedExaminerReferenceIndicator": False,
        "nplIndicator": False,
        "qualitySummaryText": "AOK",
        "techCenter": "3600",
        "groupArtUnitNumber": "3671",
    } | more


BY_APPLICANT = {"examinerCitedReferenceIndicator": False, "applicantCitedExaminerReferenceIndicator": True}
ACTIONS = [
    action("17437086", "US 2005/0004437  A1", "A1", "X", "1-3", ["page 2 paragraphs [0010]-[0012] | claim 1"]),
    action("17437086", "US 2001/0009014  A1", "A1", "A", "4", ["[0030]"], officeActionCategory="CTFR"),
    action("17437086", "US 9358892  B1", "B1", "Y", "5", ["column 3, lines 1-20"]),
    action("17437086", "US 11147202  B2", "B2", "X", "1", None),  # granted after the priority date
    action("17173265", "US 2005/0004974  A1", "A1", "Y", "1,2", ["[0020]"], techCenter="2400"),
    action("17173265", "US 2015/0075015  A2", "A2", "X", "3", ["[0005]-[0006]"]),
    action("17173265", "US 6857133  B2", "B2", "A", "1", None, **BY_APPLICANT),
    action("10830857", "US 2001/0009014  A1", "A1", "X", "1", ["paragraphs [0031], [0033]"]),
    action("10830857", "US 7272630  B2", "B2", "X", "1", None, qualitySummaryText="FAIL"),
]


def edition(folder, files, actions):
    """The whole way of the command line, up to the edition."""
    rows = folder / "office-actions.jsonl"
    rows.parent.mkdir(parents=True)
    rows.write_text("".join(json.dumps(row) + "\n" for row in actions))
    for path in (*files, rows):
        assert cli.main(["data", "import", "-v", "0", str(path), "--out", str(folder / "records")]) == 0
    words = ["edition", "build", "open-us", str(folder / "records"), str(folder / "edition"), "--window", "2023"]
    assert cli.main(words) == 0
    return folder / "edition"


@pytest.mark.slow
@pytest.mark.skipif(not BULK.is_dir(), reason="shared/data/bulk is not here")
def test_the_whole_way_on_real_files(tmp_path, monkeypatch, capsys):
    files = [BULK / name for name in FILES]
    first = edition(tmp_path / "one", files, ACTIONS)
    second = edition(tmp_path / "two", files[::-1], ACTIONS[::-1])
    for name in ("texts.tsv", "judgements.tsv", "patents.parquet", "citations.parquet"):
        assert (first / "manifest" / name).read_bytes() == (second / "manifest" / name).read_bytes()
    heads = [json.loads((place / "manifest" / "edition.json").read_text()) for place in (first, second)]
    for head in heads:
        names = [source["file"] for source in head["notes"].pop("sources")]
        assert sorted([*(path.name for path in files), "office-actions.jsonl"]) == names
    assert heads[0] == heads[1]
    assert cli.main(["edition", "verify", str(first / "manifest"), str(second)]) == 0
    places = (first / "manifest", tmp_path / "two" / "records", tmp_path / "rebuilt")
    assert cli.main(["edition", "rebuild", *map(str, places)]) == 0
    rebuilt = json.loads((tmp_path / "rebuilt" / "manifest" / "edition.json").read_text())
    assert rebuilt["notes"]["sources"] == editions.sources_of(tmp_path / "two" / "records"), "the files of its texts"
    assert "the same edition" in capsys.readouterr().out
    manifest = b"".join(path.read_bytes() for path in (first / "manifest").iterdir())
    assert b"apparatus" not in manifest.lower()  # no text

    qrels, _ = read_qrels(first / "PatentOpenUS" / "qrels" / "test.tsv")
    assert qrels["US2022159901A1"] == {"US2005004437A1": 3, "US2001009014A1": 1, "US9358892B1": 2}
    passages, _ = read_qrels(first / "PatentOpenUS" / "passages" / "qrels" / "test.tsv")
    assert passages["US2022159901A1#1"] == dict.fromkeys(
        ("US2005004437A1#10", "US2005004437A1#11", "US2005004437A1#12"), 3
    )

    monkeypatch.setenv("PATENT_MTEB_DATA", str(first))
    names = [f"PatentOpenUS2023{name}Retrieval" for name in TASKS]
    assert cli.main(["run", "-v", "0", "-m", "bm25", "--out", str(tmp_path / "results"), "-t", *names]) == 0
    found = {path.name.partition(".")[0] for path in (tmp_path / "results").rglob("PatentOpenUS2023*.json")}
    assert found == set(names)
    assert cli.main(["report", "-v", "0", str(tmp_path / "results"), "--every-table"]) == 0
    printed = capsys.readouterr().out
    assert "PatentOpenUS2023" in printed
    assert all(title in printed for title in ("Documents", "Claims", "Passages"))


def made(folder, settings=(), patents=world.PATENTS, citations=world.CITATIONS):
    editions.build(world.collection(patents, citations), folder, world.WINDOW, settings=settings)
    return folder


@pytest.fixture
def published(tmp_path):
    return made(tmp_path / "published") / "manifest"


@pytest.mark.slow
def test_the_baselines_of_an_edition_are_in_its_manifest(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("PATENT_MTEB_QUERY_SCORES", raising=False)
    root = made(tmp_path / "edition")
    assert cli.main(["edition", "baselines", str(root), "-m", "bm25", "-m", "bm25-dapfam", "-q"]) == 0
    printed = capsys.readouterr().out
    lines = (root / "manifest" / "baselines.md").read_text("utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| Patent")]
    scores = {}
    for path in (root / "baselines").rglob("PatentOpenUS*.json"):
        result = json.loads(path.read_text("utf-8"))
        (score,) = next(iter(result["scores"].values()))
        queries = pq.read_table(path.with_suffix(".queries.parquet"))
        scores.setdefault(path.name.partition(".")[0], []).append((score["main_score"], score, queries))
    assert {row[0] for row in rows} == set(scores) and len(rows) == 2 * len(TASKS)
    for name, found in scores.items():
        own = [row for row in rows if row[0] == name]
        best = sorted((value for value, *_ in found), reverse=True)
        assert [row[3].partition("†")[0] for row in own] == [f"{value:.4f}" for value in best]
        assert all(f" {row[1]} " in printed and int(row[4]) == found[0][2].num_rows for row in own)
    assert "Smallest difference" in lines[2] and cli.main(["edition", "verify", str(root / "manifest"), str(root)]) == 0


def test_the_manifest_is_the_same_however_few_rows_are_in_memory(published, tmp_path, monkeypatch):
    monkeypatch.setattr(on_disk, "_SORTED_AT_ONCE", 3)
    again = made(tmp_path / "again") / "manifest"
    for name in ("texts.tsv", "judgements.tsv", "edition.json", "citations.parquet", "datasheet.md"):
        assert (again / name).read_bytes() == (published / name).read_bytes(), name
    head, *rows = (again / "texts.tsv").read_text("utf-8").splitlines()
    assert rows == sorted(rows, key=lambda row: row.split("\t")) and len(rows) > 9
    (published / "texts.tsv").write_text("\n".join([head, *reversed(rows)]) + "\n", "utf-8")
    assert editions.verify(published, again.parent) == []


def test_a_changed_source_document_is_named(published, tmp_path):
    patents = [
        dataclasses.replace(one, abstract="Another one.") if one.publication_number == D2 else one
        for one in world.PATENTS
    ]
    assert editions.verify(published, made(tmp_path / "again", patents=patents)) == [
        f"document {D2}: other text or classes"
    ]
    later = [
        dataclasses.replace(one, publication_date=dt.date(2015, 5, 8)) if one.publication_number == D2 else one
        for one in world.PATENTS
    ]
    (found,) = editions.verify(published, made(tmp_path / "later", patents=later))
    assert found == f"document {D2}: public 2015-05-07 in the manifest, 2015-05-08 here"
    fewer = [one for one in world.PATENTS if one.publication_number != "US2005000006A1"]
    assert "document US2005000006A1: missing here" in editions.verify(
        published, made(tmp_path / "fewer", patents=fewer)
    )


def test_a_changed_citation_is_named(published, tmp_path):
    letter = [
        (
            dataclasses.replace(one, category="A")
            if one.cited == D1 and one.category == "X" and one.claims == (1, 2)
            else one
        )
        for one in world.CITATIONS
    ]
    found = editions.verify(published, made(tmp_path / "letter", citations=letter))
    assert f"judgement of document {D1} for {Q1}: grade 3 in the manifest, 2 here" in found
    assert f"judgement of claim {D1} for {Q1}#2: missing here" in found
    gone = editions.verify(
        published, made(tmp_path / "gone", citations=[one for one in world.CITATIONS if one.cited != D2])
    )
    assert f"judgement of document {D2} for {Q1}: missing here" in gone


def test_a_changed_rule_is_named(published, tmp_path):
    found = editions.verify(published, made(tmp_path / "rule", ["documents=5"]))
    assert "rule documents: None in the manifest, 5 here" in found
    seed = editions.verify(published, made(tmp_path / "seed", ["seed=7"]))
    assert seed == ["rule seed: 42 in the manifest, 7 here"]


def test_a_changed_table_is_found_whatever_its_manifest_says(published, tmp_path):
    again = made(tmp_path / "again")
    assert editions.verify(published, again) == []
    path = again / "PatentOpenUS" / "qrels" / "test.tsv"
    path.write_text(path.read_text().replace(f"{Q1}\t{D2}\t2", f"{Q1}\t{D2}\t3"))
    assert editions.verify(published, again) == [
        f"judgement of document {D2} for {Q1}: grade 2 in the manifest, 3 here"
    ]


def manifest_of(folder):
    return {path.name: path.read_bytes() for path in (folder / "manifest").iterdir()}


def test_who_wrote_the_tables_makes_no_difference(published, tmp_path):
    """The same rows in another form of Parquet, and another version of the suite."""
    again = made(tmp_path / "again")
    for path in again.glob("PatentOpenUS/**/*.parquet"):
        before = path.read_bytes()
        pq.write_table(pq.read_table(path), path, compression="gzip", row_group_size=3, use_dictionary=False)
        assert path.read_bytes() != before
    head = json.loads((published / "edition.json").read_text())
    head["notes"]["versions"] = {"patent_mteb": "0.0.9", "pyarrow": "20.0.0"}
    (published / "edition.json").write_text(json.dumps(head))
    assert editions.verify(published, again) == []
    names = [content_hash(place / "PatentOpenUS") for place in (published.parent, again)]
    assert names[0] == names[1], "the revision of the data"

    path = again / "PatentOpenUS" / "judgements.parquet"
    table = pq.read_table(path)
    pq.write_table(table.set_column(2, "letter", pa.array(["A"] * len(table))), path)
    assert editions.verify(published, again) == ["table PatentOpenUS/judgements.parquet: other rows"]
    assert content_hash(again / "PatentOpenUS") != names[0]


@pytest.mark.parametrize("rules", [[], ["families=given", "gate=effective"], ["documents=4", "queries=1"]])
def test_an_edition_is_rebuilt_from_its_manifest_and_the_texts_of_anyone(tmp_path, rules):
    english = [dataclasses.replace(one, languages=TextLanguages("en", "en", "en", "en")) for one in world.PATENTS]
    first = made(tmp_path / "first", rules, english) / "manifest"
    assert not any(word.encode() in path.read_bytes() for path in first.iterdir() for word in ("rotor", "painted"))
    bare = [
        dataclasses.replace(one, family_id=one.publication_number, publication_date=None, priority_date=None, ipc=())
        for one in world.PATENTS[::-1]
    ]
    _, missing = editions.rebuild(first, Collection(bare), tmp_path / "second")
    assert missing == [] and editions.verify(first, tmp_path / "second") == []
    for name in ("texts.tsv", "judgements.tsv"):
        assert (first / name).read_bytes() == (tmp_path / "second" / "manifest" / name).read_bytes()


def test_a_continuation_is_no_document_of_its_own(tmp_path):
    """It repeats the description of its parent, so whoever cites it cites the parent's family."""
    grant = world.publication("US11000009B2", "US15000009", "2018-05-01", "2008-07-01", words="rotor blade")
    cited = dataclasses.replace(world.CITATIONS[0], cited=grant.publication_number, category="Y", passages=())
    collection = dataclasses.replace(
        world.collection([*world.PATENTS, grant], [*world.CITATIONS[1:], cited]),
        relations=[Relation(grant.publication_number, "US12000001", "continuation")],
    )
    editions.build(collection, tmp_path / "joined", world.WINDOW)
    qrels, _ = read_qrels(tmp_path / "joined" / "PatentOpenUS" / "qrels" / "test.tsv")
    assert grant.publication_number not in qrels[Q1] and qrels[Q1][D1] == 2
    editions.build(collection, tmp_path / "apart", world.WINDOW, settings=["families=given"])
    qrels, _ = read_qrels(tmp_path / "apart" / "PatentOpenUS" / "qrels" / "test.tsv")
    assert qrels[Q1][grant.publication_number] == 2
    _, missing = editions.rebuild(
        tmp_path / "joined" / "manifest", Collection([*world.PATENTS, grant]), tmp_path / "again"
    )
    assert not missing and not editions.verify(tmp_path / "joined" / "manifest", tmp_path / "again")


def test_a_rebuild_names_every_text_that_is_missing_or_differs(published, tmp_path, capsys):
    patents = [
        dataclasses.replace(one, claims=(), abstract="Another.") if one.publication_number == D2 else one
        for one in world.PATENTS
        if one.publication_number != D1
    ]
    records = tmp_path / "records"
    write_records(records / "patents.parquet", Patent, patents)
    words = ["edition", "rebuild", str(published), str(records), str(tmp_path / "second")]
    assert cli.main(words) == 1
    told = " ".join("".join(capsys.readouterr()).split())
    assert f"2 publications of the manifest have no text here: {D1} is not in the records" in told
    assert f"{D2} has no claims in the records" in told
    assert f"document {D1}: other text or classes" in told or f"document {D1}: missing here" in told
    assert f"document {D2}: other text or classes" in told
    with pytest.raises(DataError, match="none of the"):
        editions.rebuild(published, Collection([]), tmp_path / "third")


def test_a_manifest_names_the_source_files(tmp_path):
    table = tmp_path / "list.csv"
    table.write_text("Publication Number,Title,Abstract\nUS7000001B2,A valve,It has a seal\n")
    import_files([table], tmp_path / "records")
    os.utime(table, (0, 0))  # the note is of the day of the import
    (row,) = editions.sources_of(tmp_path / "records")
    assert row["file"] == "list.csv" and row["bytes"] == table.stat().st_size
    assert row["sha256"] == hashlib.sha256(table.read_bytes()).hexdigest()
    assert row["day"] == dt.datetime.now(dt.UTC).date().isoformat()


def test_who_is_interrupted_between_tables_and_manifest_leaves_none_and_repeats(published, tmp_path, monkeypatch):
    folder = made(tmp_path / "again")
    whole = manifest_of(folder)

    def interrupted(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(editions, "write_json", interrupted)
        made(folder, ["documents=5"])
    assert not (folder / "manifest" / "edition.json").exists()
    with pytest.raises(DataError, match=r"edition\.json"):
        editions.verify(folder / "manifest", published.parent)
    made(folder)
    assert manifest_of(folder) == whole == manifest_of(published.parent)


def test_one_build_at_a_time(tmp_path):
    with (
        folder_lock(tmp_path / "edition", writer="import"),
        pytest.raises(DataError, match=r"another build of an edition writes here.*wait until"),
    ):
        made(tmp_path / "edition")
    assert not (tmp_path / "edition" / "PatentOpenUS").exists()
    made(tmp_path / "edition")


def test_another_data_set_keeps_its_manifest(published):
    with pytest.raises(DataError, match="PatentOpenUS"):
        editions.build(world.collection(), published.parent, "2022")
    assert editions.verify(published, published.parent) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "column", "told"),
    [
        ("metadata.parquet", "public", "have no first public day"),
        ("metadata.parquet", "priority", "have no priority date"),
        ("judgements.parquet", "query", "row 2.*the judgement has no query or no document"),
        ("judgements.parquet", "phases", ""),
        ("metadata.parquet", "ipc", ""),
        ("views.parquet", "Abstract", ""),
    ],
)
def test_nulls_in_the_tables_are_nothing_said_or_refused(tmp_path, monkeypatch, name, column, told):
    path = made(tmp_path / "edition") / "PatentOpenUS" / name
    table = pq.read_table(path)
    values = table[column].to_pylist()
    place = table["_id"].to_pylist().index(Q1 if column == "priority" else D1) if "_id" in table.column_names else 1
    values[place] = [None] if column == "phases" else None
    columns = {one: pa.array(values, table[one].type) if one == column else table[one] for one in table.column_names}
    pq.write_table(pa.table(columns), path)
    monkeypatch.setenv("PATENT_MTEB_DATA", str(tmp_path / "edition"))
    (benchmark,) = catalogue.own_benchmarks()
    task = next(kind() for kind in benchmark.task_classes if "TACToTAC" in kind.metadata.name)
    if told:
        with pytest.raises(DataError, match=told):
            task.load_data()
    else:
        scores = next(iter(task.evaluate(bm25(), "test", encode_kwargs={}).values()))
        assert not [one for one in scores if "none" in one.lower()]
        assert 0 < scores["ndcg_at_10"] <= 1


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2026", "2026-01-01", "2026-12-31"),
        ("2026Q4", "2026-10-01", "2026-12-31"),
        ("2024-02", "2024-02-01", "2024-02-29"),
        ("2026-07-03:2026-07-04", "2026-07-03", "2026-07-04"),
    ],
)
def test_windows(text, first, last):
    assert tuple(day.isoformat() for day in editions.window_of(text)) == (first, last)


@pytest.mark.parametrize("text", ["", "26Q3", "2026Q5", "2026-13", "2026-07-04:2026-07-03", "summer"])
def test_what_is_no_window_is_said(text):
    with pytest.raises(DataError, match=r"is not a window.*Remedy: write a year"):
        editions.window_of(text)


def test_folders_that_hold_no_edition_are_said(published, tmp_path):
    with pytest.raises(DataError, match="no edition was built here"):
        editions.verify(published, tmp_path / "nothing")
    with pytest.raises(DataError, match=r"edition\.json"):
        editions.verify(tmp_path, published.parent)
    shutil.copytree(published, tmp_path / "torn")
    (tmp_path / "torn" / "texts.tsv").write_text("part\tid\n")
    with pytest.raises(DataError, match=r"texts.tsv.*the columns are not part, id"):
        editions.verify(tmp_path / "torn", published.parent)


@pytest.mark.parametrize(
    "change",
    [
        {"rules": None},
        {"notes": ["1"]},
        {"tables": "none"},
        {"rules": {"documents": 5}},
        {"tables": {"corpus.jsonl": None}},
        {"recipe": 5},
        {"recipe": ["open_us"]},
        {"recipe": None},
        {"window": 2026},
        {"licence": None},
        {"edition": {}},
    ],
)
def test_a_head_of_another_form_is_no_manifest(published, tmp_path, change):
    shutil.copytree(published, tmp_path / "torn")
    head = tmp_path / "torn" / "edition.json"
    head.write_text(json.dumps({**json.loads(head.read_text()), **change}))
    with pytest.raises(DataError, match="not the manifest of an edition"):
        editions.verify(tmp_path / "torn", published.parent)


@pytest.mark.parametrize("lacking", ["recipe", "window", "licence", "rules", "edition"])
def test_a_head_that_lacks_an_entry_is_refused_by_a_rebuild(published, tmp_path, lacking):
    shutil.copytree(published, tmp_path / "torn")
    head = tmp_path / "torn" / "edition.json"
    head.write_text(json.dumps({name: one for name, one in json.loads(head.read_text()).items() if name != lacking}))
    with pytest.raises(DataError, match=rf"edition\.json.*has no '{lacking}'"):
        editions.rebuild(tmp_path / "torn", world.collection(), tmp_path / "rebuilt")
    assert not (tmp_path / "rebuilt").exists()


@pytest.mark.parametrize("recipe", ["wipo_at", "this", "../../etc", "__main__"])
def test_a_manifest_cannot_name_another_module(published, tmp_path, recipe):
    shutil.copytree(published, tmp_path / "torn")
    head = tmp_path / "torn" / "edition.json"
    head.write_text(json.dumps({**json.loads(head.read_text()), "recipe": recipe}))
    with pytest.raises(DataError, match="is not a recipe of editions"):
        editions.rebuild(tmp_path / "torn", world.collection(), tmp_path / "rebuilt")


@pytest.mark.parametrize(("table", "what"), [("texts.tsv", ""), ("judgements.tsv", "judgement of ")])
def test_a_repeated_row_is_a_difference(published, tmp_path, table, what):
    shutil.copytree(published, tmp_path / "other")
    head, first, *others = (published / table).read_text().splitlines(keepends=True)
    (tmp_path / "other" / table).write_text("".join([head, first, first, *others]))
    (found,) = editions.verify(tmp_path / "other", published.parent)
    assert found.startswith(what) and found.endswith(": 2 rows in the manifest, 1 here")


@pytest.mark.parametrize("name", ["patents.parquet", "citations.parquet"])
def test_other_or_missing_records_are_a_difference(published, tmp_path, name):
    other = shutil.copytree(published, tmp_path / "other")
    pq.write_table(pq.read_table(published / name).slice(1), other / name)
    assert editions.verify(other, published.parent) == [f"records {name}: other rows"]
    (other / name).unlink()
    assert editions.verify(other, published.parent) == [f"records {name}: missing"]


def test_the_benchmark_of_a_manifest_is_compared(published, tmp_path):
    head = shutil.copytree(published, tmp_path / "other") / "edition.json"
    head.write_text(json.dumps({**json.loads(head.read_text()), "benchmark": "Other"}))
    (found,) = editions.verify(head.parent, published.parent)
    assert found.startswith("benchmark: 'Other' in the manifest, 'PatentOpenUS")


def test_a_part_that_is_unknown_here_is_a_difference(published, tmp_path):
    shutil.copytree(published, tmp_path / "other")
    texts = tmp_path / "other" / "texts.tsv"
    texts.write_text(texts.read_text() + "drawings\tUS1A\t0\t\t\t\n")
    assert editions.verify(tmp_path / "other", published.parent) == ["drawings US1A: missing here"]


def test_every_claim_and_paragraph_is_in_the_manifest_with_the_digest_of_its_text(published):
    with (published / "texts.tsv").open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    for part, name in (("claims", "queries.jsonl"), ("passages", "corpus.jsonl")):
        path = published.parent / "PatentOpenUS" / part / name
        texts = [json.loads(line) for line in path.read_text().splitlines()]
        wanted = {row["_id"]: hashlib.sha256(row["text"].encode()).hexdigest()[:32] for row in texts}
        (digest,) = {column for column in rows[0] if rows[0][column] and len(rows[0][column]) == 32}
        assert wanted and {row["id"]: row[digest] for row in rows if row["part"] == part} == wanted
