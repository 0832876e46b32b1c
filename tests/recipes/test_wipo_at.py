"""The nine steps of the WIPO-AT recipe on a hand-made world of ten publications, and what its quality check catches."""

import json
import random
from dataclasses import replace

import mteb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_data import TEN_CITATIONS as CITATIONS
from small_data import TEN_PATENTS as PATENTS
from small_data import publication

from patent_mteb import sample
from patent_mteb.data import loading
from patent_mteb.errors import DataError, NotThereError
from patent_mteb.files import read_keyed, table_rows
from patent_mteb.patents.records import Citation, ExpertSummary, Label
from patent_mteb.recipes import wipo_at
from patent_mteb.recipes.beir import read_beir
from patent_mteb.tasks.wipo_at import DATA, labelled_texts


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    root = tmp_path_factory.mktemp("wipo")
    return root, wipo_at.build(PATENTS, CITATIONS, root)


def test_steps_and_counts(built):
    root, log = built
    counts = {
        step.name.split()[0] + " " + step.name.split()[1]: (step.rows_in, step.rows_out) for step in log.steps[:7]
    }
    assert counts == {
        "0.1 id": (10, 10),
        "0.2-0.3 patent": (10, 10),
        "0.4 label": (10, 11),
        "0.5 citation": (10, 7),
        "0.6 deduplication": (10, 9),
        "0.7 split": (8, 8),
        "0.8 text": (9, 9),
    }
    assert all((root / name).is_file() for name in log.files)


def test_citations_are_between_families_and_reach_every_document(built):
    root, _ = built
    assert read_beir(root / "WIPO-AT").qrels == {
        "US1A": {"WO2A": 1, "CN3A": 1},
        "JP1A": {"WO2A": 1, "CN3A": 1},
        "CN3A": {"RU6A": 1, "BR7A": 1},
        "DE4A": {"FR5A": 1, "JP1A": 1, "US1A": 1},
        "BR7A": {"ES8A": 1},
    }


def test_views_are_the_columns_of_table_1(built):
    root, _ = built
    rows = table_rows(read_keyed(root / "WIPO-AT" / "views.parquet"))
    claims = "1. A device US1A. 2. The device of claim 1, smaller."
    dwpi = "Expert title US1A detail novelty use advantage focus"
    assert rows["US1A"] == {
        "TA": "Title US1A Abstract US1A.",
        "TAC": f"Title US1A Abstract US1A. {claims}",
        "Abstract": "Abstract US1A.",
        "Claim1": "A device US1A.",
        "Claims": claims,
        "DWPIFull": f"{dwpi} {claims} Abstract US1A. Title US1A walking, frames",
        "DWPITA": dwpi,
    }


def test_the_earliest_of_identical_documents_is_kept_and_families_share_a_split(built):
    root, _ = built
    tables = read_beir(root / "WIPO-AT")
    assert "US2A" not in tables.corpus and "WO2A" in tables.corpus
    meta = table_rows(tables.metadata)
    assert meta["US1A"]["split"] == meta["JP1A"]["split"]
    assert meta["JP1A"]["jurisdiction"] == "US"
    assert meta["WO2A"]["coarse"] == ["Mobility", "Vision", "Mobility"]


def test_label_sets(built):
    root, _ = built
    folder = root / "WIPO-AT" / "labels"
    labels = {row["_id"]: row["labels"] for row in pq.read_table(folder / "Emerging.parquet").to_pylist()}
    fine = {
        "BR7A": ["Vision"],
        "CN3A": ["Vision"],
        "JP1A": ["Mobility"],
        "US1A": ["Mobility"],
        "WO2A": ["Mobility", "Vision"],
    }
    assert labels == fine
    vision = {row["_id"]: row["labels"] for row in pq.read_table(folder / "EmergingVision.parquet").to_pylist()}
    assert vision == {"BR7A": ["Readers"], "CN3A": ["Readers"], "WO2A": ["Readers"]}
    taxonomy = json.loads((folder / "taxonomy.json").read_text())
    assert taxonomy["Emerging"] == ["Mobility", "Vision"] and "ConventionalEnvironment" not in taxonomy


def test_the_same_bytes_in_any_order(built, tmp_path):
    root, log = built
    assert wipo_at.build(PATENTS[::-1], CITATIONS[::-1], tmp_path).files == log.files
    for name in log.files:
        assert (tmp_path / name).read_bytes() == (root / name).read_bytes(), name


def change(path, name, values):
    table = pq.read_table(path)
    pq.write_table(
        table.set_column(table.column_names.index(name), name, pa.array(values, table.schema.field(name).type)), path
    )


def straddle(folder):
    change(folder / "metadata.parquet", "split", ["train", "test"] * 4 + ["train"])
    change(folder / "metadata.parquet", "family_id", ["F"] * 9)


def stranger(folder):
    path = folder / "labels" / "Emerging.parquet"
    change(path, "labels", [["Flying"]] * pq.read_table(path).num_rows)


def unknown(folder):
    with (folder / "qrels/test.tsv").open("a") as out:
        out.write("US1A\tXX1\t1\n")


@pytest.mark.parametrize(
    ("breaks", "message"),
    [
        (straddle, "family 'F' straddles two splits: BR7A is in train, CN3A in test"),
        (stranger, "row 1: label 'Flying' of 'BR7A' is outside the taxonomy of Emerging"),
        (unknown, "judgement of the unknown document 'XX1'"),
    ],
)
def test_quality_check_names_the_offender(tmp_path, breaks, message):
    wipo_at.build(PATENTS, CITATIONS, tmp_path)
    breaks(tmp_path / "WIPO-AT")
    with pytest.raises(DataError, match=message):
        wipo_at.check(tmp_path / "WIPO-AT")


def step_of(log, name):
    (found,) = [step for step in log.steps if step.name == name]
    return found


def test_patents_without_expert_text_get_no_view_and_no_field_of_dwpi(tmp_path):
    """Review §1.4: DWPIFull was made of abstract, title and keywords."""
    log = wipo_at.build([replace(one, expert=ExpertSummary()) for one in PATENTS], CITATIONS, tmp_path)
    assert read_beir(tmp_path / "WIPO-AT").views == ("TA", "TAC", "Abstract", "Claim1", "Claims")
    assert (
        step_of(log, "0.8 text views").note
        == "left out: DWPIFull (no document has text of DWPI), DWPITA (no document has text of DWPI)"
    )
    assert pq.read_table(tmp_path / "WIPO-AT/fields.parquet").column_names == [
        "_id",
        "claim1",
        "abstract",
        "title",
        "keywords",
    ]
    assert step_of(log, "0.8b fields of DWPI").rows_out == 0


def test_empty_views_are_counted(tmp_path):
    """Review §1.1-3: an empty abstract stopped the build, and no message gave the counts."""
    bare = {"US1A": {"abstract": "", "claims": ()}, "RU6A": {"claims": ()}}
    patents = [replace(one, **bare.get(one.publication_number, {})) for one in PATENTS]
    log = wipo_at.build(patents, CITATIONS, tmp_path)
    assert step_of(log, "0.8 view Abstract").note == "1 documents without text, 1 of them queries, first 'US1A'"
    assert step_of(log, "0.8 view Claim1").note == "2 documents without text, 1 of them queries, first 'RU6A'"
    assert (step_of(log, "0.8 view Claim1").rows_in, step_of(log, "0.8 view Claim1").rows_out) == (9, 7)
    assert not [step for step in log.steps if step.name == "0.8 view TAC"]
    assert "2 rows of view Claim1 without text" in step_of(log, "0.9 quality assurance").note
    log = wipo_at.build(patents, CITATIONS, tmp_path / "claims", wipo_at.Params(require=("claims",)))
    assert [(step.name, step.rows_in, step.rows_out) for step in log.steps if "with claims" in step.name] == [
        ("0.3b with claims", 10, 8)
    ]
    assert not {"US1A", "RU6A"} & read_beir(tmp_path / "claims" / "WIPO-AT").corpus.keys()


def test_without_claims_the_headline_is_title_and_abstract_and_that_is_said(tmp_path, monkeypatch, caplog):
    """Review §1.5, in the log of the build and, once, in that of the task."""
    log = wipo_at.build([replace(one, claims=()) for one in PATENTS], CITATIONS, tmp_path)
    assert "claims in TAC, which is title and abstract here" in step_of(log, "0.8 text views").note
    monkeypatch.setenv(loading.DATA_VARIABLE, str(tmp_path))
    for name in ("PatentCitationRetrieval", "WIPOATTAToTARetrieval"):
        mteb.get_task(name).load_data()
    assert (
        caplog.text.count("documents, of which none has claims: TAC, the headline's text, is title and abstract") == 1
    )


def test_labels_without_citations(tmp_path, monkeypatch):
    """Review §3: a landscape of one's own, no citation; its sets come out under its name and load."""
    rng = random.Random(3)
    coarse = [f"topic {number}" for number in range(4)]
    patents = []
    for number in range(120):
        label = Label("green energy", coarse[number % 4], f"fine {rng.randrange(3)}" if number % 4 else "")
        patents.append(replace(publication(f"US{number}A", f"F{number}", labels=(label,)), expert=ExpertSummary()))
    log = wipo_at.build(patents, [], tmp_path, wipo_at.Params(fine_documents=30))
    assert log.files == [
        "WIPO-AT/fields.parquet",
        "WIPO-AT/labels/GreenEnergy.parquet",
        *(f"WIPO-AT/labels/GreenEnergyTopic{number}.parquet" for number in (1, 2, 3)),
        "WIPO-AT/labels/taxonomy.json",
        "WIPO-AT/metadata.parquet",
    ]
    assert step_of(log, "0.8 qrels").note == "no citation connects two families: no tables for retrieval"
    rows = pq.read_table(tmp_path / "WIPO-AT/labels/GreenEnergyTopic2.parquet").to_pylist()
    expected = {one.publication_number: [one.labels[0].fine] for one in patents if one.labels[0].coarse == "topic 2"}
    assert {row["_id"]: row["labels"] for row in rows} == expected
    counts = ", ".join(f"{split} {sum(row['split'] == split for row in rows)}" for split in wipo_at.SPLITS)
    assert step_of(log, "0.8b labels GreenEnergyTopic2").note.startswith(counts)
    assert 0 < sum(row["split"] == "train" for row in rows) < len(rows)
    assert wipo_at.check(tmp_path / "WIPO-AT") == {}
    monkeypatch.setenv(loading.DATA_VARIABLE, str(tmp_path))
    texts = labelled_texts(loading.resolve(DATA), "GreenEnergy", (*wipo_at.DWPI_FIELDS, "title")).texts
    assert sorted(text for part in texts.values() for text in part) == sorted(
        f"Title {one.publication_number}" for one in patents
    )
    with pytest.raises(NotThereError):
        labelled_texts(loading.resolve(DATA), "GreenEnergy", wipo_at.DWPI_FIELDS)
    small = wipo_at.build(patents, [], tmp_path / "small")
    assert (
        step_of(small, "0.8b labels GreenEnergyTopic1").note
        == "no set: fewer than 50 documents: fine_documents=30 takes it"
    )


def test_citations_without_labels(tmp_path):
    log = wipo_at.build([replace(one, labels=()) for one in PATENTS], CITATIONS, tmp_path)
    assert step_of(log, "0.8b labels").note == "no document has a label: no tables for classification and clustering"
    assert not (tmp_path / "WIPO-AT/labels").exists() and not (tmp_path / "WIPO-AT/fields.parquet").exists()


def test_with_neither_there_is_nothing_to_build(tmp_path):
    bare = [replace(one, labels=()) for one in PATENTS]
    found = (
        r"no citation connects two families of the corpus \(2 citations: 1 name an unknown publication, 1 families cite"
        r" themselves\)"
    )
    with pytest.raises(DataError, match=rf"{found}, and no document has a label"):
        wipo_at.build(bare, [Citation("US1A", "JP1A"), Citation("US1A", "elsewhere")], tmp_path)


@pytest.mark.slow
def test_queries_are_a_stratified_draw_of_all(tmp_path):
    patents, citations = sample.load()
    patents = patents[:200]
    wipo_at.build(patents, citations, tmp_path / "all")
    log = wipo_at.build(patents[::-1], citations, tmp_path / "some", wipo_at.Params(queries=40))
    every, some = (read_beir(tmp_path / name / "WIPO-AT") for name in ("all", "some"))
    assert len(some.queries) == 40 and some.corpus == every.corpus
    assert some.qrels == {query: every.qrels[query] for query in some.queries}
    step = step_of(log, "queries, stratified by year and IPC section")
    assert (step.rows_in, step.rows_out) == (len(every.queries), 40)


def test_the_quality_check_says_where_queries_are_no_tac(tmp_path):
    """What queries.jsonl holds is what TAC tasks ask with, whatever it is; white space apart."""
    wipo_at.build(PATENTS, CITATIONS, tmp_path)
    path = tmp_path / "WIPO-AT" / "queries.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(lines) > 2
    lines[0]["text"] = lines[0]["text"].replace(" ", "  ")
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert not any("TAC view" in what for what in wipo_at.check(tmp_path / "WIPO-AT"))
    lines[1]["text"] = "title and abstract only"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    odd = wipo_at.check(tmp_path / "WIPO-AT")
    assert (
        odd[f"of {len(lines)} queries have another text in queries.jsonl (which TAC tasks read) than their TAC view"]
        == 1
    )
    without = pq.read_table(tmp_path / "WIPO-AT" / "views.parquet").drop(["TAC"])
    pq.write_table(without, tmp_path / "WIPO-AT" / "views.parquet")
    assert wipo_at.check(tmp_path / "WIPO-AT") == odd  # told from corpus.jsonl
