"""Every messy table of tests/helpers/messy_tables.py ends as its row says: read right, read with a note, or refused."""

import pytest
from classes import one_of_each
from family_ids import family_ids
from messy_tables import CASES, Case

from patent_mteb.errors import DataError
from patent_mteb.patents.records import Citation, Patent, Relation, read_records
from patent_mteb.readers import recognise
from patent_mteb.readers.importing import import_files
from patent_mteb.readers.records_directory import read_accounts

HARMLESS = ("columns read", "columns of the map that are missing", "no family")


def records(root):
    """What the records of a directory hold, in the words of ``Case.gives``."""
    patents = list(read_records(root / "patents", Patent))
    citations, relations = (
        list(read_records(root / "citations", Citation)),
        list(read_records(root / "relations", Relation)),
    )
    families = list(family_ids(patents, relations, definition="joined").items())
    own = {one.publication_number for one in patents}
    named = [family for number, family in families if number in own]
    return {
        **{
            name: {one.publication_number: _plain(getattr(one, name)) for one in patents}
            for name in ("title", "abstract", "ipc", "publication_date", "priority_date", "family_id", "applicants", "inventors", "application_number")
        },
        "publication_number": [one.publication_number for one in patents],
        "novelty": {one.publication_number: one.expert.novelty for one in patents},
        "claims": {one.publication_number: [claim.text for claim in one.claims] for one in patents},
        "depends_on": {one.publication_number: [list(claim.depends_on) for claim in one.claims] for one in patents},
        "labels": {one.publication_number: [label.coarse for label in one.labels] for one in patents},
        "cited": sorted(f"{one.citing} {one.cited}" for one in citations),
        "category": [one.category for one in citations],
        "members": sorted(f"{one.number} {one.related}" for one in relations if one.kind == "member"),
        "families": sorted((named.count(family) for family in set(named)), reverse=True),
    }  # fmt: skip


def kind_of(case):
    """The fast tier has a table of each group and outcome."""
    return case.group, bool(case.remedy), bool(case.said)


def _plain(value):
    return "" if value is None else list(value) if isinstance(value, tuple) else str(value)


@pytest.mark.parametrize(
    "case", one_of_each(CASES, kind_of, pytest.mark.slow), ids=[f"{case.group}: {case.name}" for case in CASES]
)
def test_a_messy_table_ends_as_its_row_says(case: Case, tmp_path):
    made = case.make(tmp_path)
    source = ""
    if case.columns:
        source = str(tmp_path / "map.toml")
        (tmp_path / "map.toml").write_text(case.columns)
    files, root = made if isinstance(made, list) else [made], tmp_path / "root"
    if case.remedy:
        with pytest.raises(DataError) as error:
            import_files(files, root, source)
        assert case.said in error.value.problem and case.remedy in error.value.remedy, str(error.value)
        return
    import_files(files, root, source)
    if case.source:
        assert [recognise(file).name for file in files] == [case.source]
    accounts = read_accounts(root).values()
    said = [
        f"{what}: {'; '.join(tally.examples)}"
        for account in accounts
        for what, tally in (*account.left_out.items(), *account.notes.items())
    ]
    told = [one for one in said if not one.startswith(HARMLESS)]
    if case.said:
        assert any(case.said in one for one in said), said
    else:
        assert not told
    found = records(root)
    numbers = case.gives.get("publication_number", found["publication_number"])
    for name, expected in case.gives.items():
        got = found[name]
        if isinstance(got, dict):
            assert [got[number] for number in numbers] == list(expected), (name, said)
        else:
            assert sorted(map(str, got)) == sorted(map(str, expected)), (name, said)


def test_the_cases_have_names_of_their_own():
    assert len({(case.group, case.name) for case in CASES}) == len(CASES) >= 300
