"""DAPFAM tasks: parity with mteb's own eighteen, texts of every view, slices from one ranking, what bad data says."""

from pathlib import Path
from types import SimpleNamespace

import mteb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_data import HashEncoder, dapfam_tables, mteb_reads
from small_data import scores_of as scores

from patent_mteb.errors import DataError, NotThereError
from patent_mteb.patents.corpus import Texts
from patent_mteb.tasks import dapfam
from patent_mteb.tasks.perquery import receiving

THEIRS = [
    ("DAPFAMAllTitlAbsToFullTextRetrieval", "PatentDAPFAMTAToFullTextRetrieval"),
    ("DAPFAMInTitlAbsClmToTitlAbsClmRetrieval", "PatentDAPFAMTACToTACInRetrieval"),
    ("DAPFAMOutTitlAbsClmToTitlAbsRetrieval", "PatentDAPFAMTACToTAOutRetrieval"),
]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    root = tmp_path_factory.mktemp("data")
    dapfam_tables(root)
    return root


@pytest.fixture
def local(data, monkeypatch):
    return mteb_reads(monkeypatch, data)


@pytest.mark.slow
@pytest.mark.parametrize(("theirs", "ours"), THEIRS)
def test_parity_with_mteb_where_the_separator_does_not_matter(local, theirs, ours):
    model = HashEncoder()
    reference, mine = scores(mteb.get_task(theirs), model), scores(mteb.get_task(ours), model)
    shared = [name for name in reference if name.startswith(("ndcg", "recall", "map", "mrr", "precision"))]
    assert len(shared) > 20
    for name in shared:
        assert mine[name] == pytest.approx(reference[name], abs=1e-6), name


def test_the_separator_is_the_only_difference(local):
    theirs, ours = HashEncoder(keep_space=True), HashEncoder(keep_space=True)
    scores(mteb.get_task("DAPFAMAllTitlAbsClmToFullTextRetrieval"), theirs)
    scores(mteb.get_task("PatentDAPFAMTACToFullTextRetrieval"), ours)
    assert set(theirs.texts) != set(ours.texts)
    flat = {" ".join(text.split()) for text in theirs.texts}
    assert flat == {" ".join(text.split()) for text in ours.texts}


def test_in_and_out_are_slices_of_one_ranking_and_tasks_of_their_own(local):
    model = HashEncoder()
    everything = scores(mteb.get_task("PatentDAPFAMTAToTACRetrieval"), model)
    n_texts = len(model.texts)
    assert everything["main_score"] == everything["ndcg_at_100"]
    for domain, key in (("In", "in"), ("Out", "out")):
        part = scores(mteb.get_task(f"PatentDAPFAMTAToTAC{domain}Retrieval"), model)
        for measure in ("ndcg_at_100", "ndcg_at_10", "recall_at_100", "recall_at_10"):
            assert everything[f"{key}_{measure}"] == pytest.approx(part[measure], abs=1e-5)
        assert everything[f"{key}_n_queries"] == part["n_queries"]
    assert (everything["n_queries"], everything["in_n_queries"], everything["out_n_queries"]) == (8, 8, 7)
    assert n_texts == 40 + 8


def test_texts_of_every_view(local):
    table = pq.read_table(local / "queries.parquet")
    row = table.slice(0, 1).to_pylist()[0]
    expected = {
        "Title": row["title_en"],
        "TA": f"{row['title_en']} {row['abstract_en']}",
        "TAC": f"{row['title_en']} {row['abstract_en']} {row['claims_text']}",
        "Abstract": row["abstract_en"],
        "Description": row["description_en"],
        "FullText": f"{row['title_en']} {row['abstract_en']} {row['claims_text']} {row['description_en']}",
        "Keywords": row["abstract_keywords"],
        "Claim1": row["claims_text"].split("\n")[0].removeprefix("1. "),
    }
    for view, text in expected.items():
        assert dapfam.texts(table, view)[0] == text, view
    listed = table.drop(["abstract_keywords"]).append_column("keywords", pa.array([["a", "b"]] * len(table)))
    assert dapfam.texts(listed, "Keywords")[0] == "a, b"
    with pytest.raises(DataError, match="no keyword column"):
        dapfam.texts(table.drop(["abstract_keywords"]), "Keywords")


def test_a_family_does_not_find_itself(tmp_path, monkeypatch):
    dapfam_tables(tmp_path)
    folder = tmp_path / "datalyes" / "DAPFAM_patent"
    queries = pq.read_table(folder / "queries.parquet")
    twin = queries.drop(["abstract_keywords"]).rename_columns(["relevant_id", *queries.column_names[1:-1]])
    pq.write_table(pa.concat_tables([pq.read_table(folder / "corpus.parquet"), twin]), folder / "corpus.parquet")
    monkeypatch.setenv("PATENT_MTEB_DATA", str(tmp_path))
    evaluations = []
    with receiving(evaluations.append):
        scores(mteb.get_task("PatentDAPFAMTAToTARetrieval"), HashEncoder())
    seen = evaluations[0].run.to_dict()
    assert len(seen) == 8
    for query, found in seen.items():
        assert query not in found
        assert len(found) == 47


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("corpus", lambda t: t.drop(["claims_text"]), "column 'claims_text' is missing"),
        ("queries", lambda t: t.set_column(0, "query_id", pa.array(range(len(t)))), "row 1: unknown query '000-q'"),
        (
            "queries",
            lambda t: t.set_column(0, "query_id", pa.array([0.5 + x for x in range(len(t))])),
            "column 'query_id' have type double",
        ),
    ],
)
def test_bad_tables_are_named(tmp_path, monkeypatch, name, change, message):
    dapfam_tables(tmp_path)
    path = tmp_path / "datalyes" / "DAPFAM_patent" / f"{name}.parquet"
    pq.write_table(change(pq.read_table(path)), path)
    monkeypatch.setenv("PATENT_MTEB_DATA", str(tmp_path))
    with pytest.raises(DataError, match=message):
        mteb.get_task("PatentDAPFAMTAToTARetrieval").load_data()


def test_section_tags_are_put_before_the_sections_that_a_family_has(local):
    change = pq.read_table(local / "corpus.parquet").to_pylist()
    change[0] |= {
        "title_en": "Pump",
        "abstract_en": None,
        "claims_text": "1. A pump.",
        "description_en": "Pumps are old.",
    }
    table = pa.Table.from_pylist(change[:1])
    assert dapfam.tagged_texts(table, "FullText") == ["Pump [SEP] [claim] 1. A pump. [SEP] [invention] Pumps are old."]
    assert dapfam.tagged_texts(table, "Abstract") == [""]
    assert dapfam.tagged_texts(table, "Claim1") == ["[claim] A pump."]
    assert dapfam.tagged_texts(table, "Title") == ["Pump"]


def test_models_that_read_section_tags_get_them_and_no_other(local):
    plain, tagged = HashEncoder(), HashEncoder()
    tagged.mteb_model_meta = tagged.mteb_model_meta.model_copy(update={"experiment_kwargs": {"section_tags": True}})
    task = mteb.get_task("PatentDAPFAMTACToDescriptionRetrieval")
    task.load_data()
    split = next(iter(task.dataset.values()))["train"]
    assert task.texts_for(plain, split) is split
    found = task.texts_for(tagged, split)
    rows = {row["query_id"]: row for row in pq.read_table(local / "queries.parquet").to_pylist()}
    for key, text in zip(found["queries"]["id"], found["queries"]["text"], strict=True):
        row = rows[key]
        assert text == f"{row['title_en']} [SEP] [abstract] {row['abstract_en']} [SEP] [claim] {row['claims_text']}"
    assert all(text.startswith("[invention] ") for text in found["corpus"]["text"])
    assert found["relevant_docs"] == split["relevant_docs"]


def test_families_whose_claims_could_not_be_split_are_counted_and_a_view_without_any_is_refused(caplog):
    task = SimpleNamespace(source=SimpleNamespace(path=Path))
    refuse = dapfam.DAPFAMRetrieval._refuse_without_first_claims
    refuse(task, "corpus.parquet", "TAC", Texts.collected([("1", "")]))
    refuse(task, "corpus.parquet", "Claim1", Texts.collected([("1", "A pump."), ("2", "")]))
    assert caplog.messages == ["corpus.parquet: 1 families without a first claim have no text in the view Claim1"]
    with pytest.raises(NotThereError, match="no claim set could be split"):
        refuse(task, "corpus.parquet", "Claim1", Texts.collected([("1", ""), ("2", "")]))
