"""Planted leaks are found, each in its way; benchmarks of one corpus have none."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import replace

import open_us_patents as world
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from family_ids import family_ids

from patent_mteb.errors import DataError
from patent_mteb.experiments import editions
from patent_mteb.patents.families import families_of
from patent_mteb.patents.records import Patent, write_records
from patent_mteb.patents.views import VIEWS
from patent_mteb.recipes.patenteb import SAMPLE
from patent_mteb.recipes.patenteb.families import PAPER
from patent_mteb.training import multitask, pairs
from patent_mteb.training.corpus import read_corpus
from patent_mteb.training.leaks import (
    Item,
    MeasuredSet,
    by_normal_number,
    check_pairs,
    examined,
    find_leaks,
    present,
)

SHARED = (
    " Machine translation of this text has been disabled by its publisher, contact local staff during office hours."
)


def leaks_of(test, train):
    return find_leaks(examined(train), MeasuredSet("test", lambda: iter(test)), {})[0]


@pytest.fixture(scope="module")
def corpus():
    return read_corpus("sample")


def reworded(text, every=9):
    """Each ninth word is another."""
    return " ".join("otherwise" if place % every == every - 1 else word for place, word in enumerate(text.split()))


@pytest.mark.slow
def test_each_way_to_leak_is_found(corpus, tmp_path):
    """One family of the training split is planted in a test set: as it is, as another publication, reworded under a
    foreign number.
    """
    first, second, third, *_ = [patent for patent in corpus.members("train") if len(VIEWS["TAC"](patent).split()) > 100]
    kin = Item("DE999999999A1", first.family_id, "Ein anderer Text.")
    other = Item("EP9999999A1", "foreign", reworded(VIEWS["TAC"](third)))
    written = Item(f"{second.publication_number[:2]} {second.publication_number[2:]}", "", "unlike")
    test = MeasuredSet("planted", lambda: iter([kin, other, written]))
    items = [Item(one.publication_number, one.family_id, VIEWS["TAC"](one)) for one in corpus.members("train")]
    leaks, size = find_leaks(examined(items), test, {})
    assert size == 3
    family = {patent.publication_number for patent in corpus.members("train") if patent.family_id == first.family_id}
    assert {key for key, leak in leaks.items() if leak.way == "family"} == family
    assert leaks[second.publication_number].way == "number"
    assert leaks[third.publication_number].way == "text" and leaks[third.publication_number].share >= 0.6
    same_texts = {one.publication_number for one in corpus.members("train") if one.family_id == third.family_id}
    assert leaks.keys() <= family | same_texts | {second.publication_number}

    path = tmp_path / "pairs.parquet"
    total = pairs.write_pairs(path, pairs.abstract_and_claim(corpus, "train", Counter()))
    with pytest.raises(DataError, match=r"pairs leak into test sets \(planted: .*by family.*--drop-leaks"):
        check_pairs([path], corpus, drop=False, test_sets=[test])
    record = check_pairs([path], corpus, drop=True, test_sets=[test])
    left = list(pairs.read_pairs(path))
    assert record.leaking == len(leaks) and len(left) == total - record.leaking
    assert not {pair.anchor_id for pair in left} & leaks.keys()
    assert record.contamination.startswith(f"{len(leaks)} of {total} pairs removed (planted: ")


def test_a_family_that_only_the_training_records_know(corpus):
    """The test set holds a bare number without family; the records know it as another publication of a training
    family.
    """
    one = corpus.members("train")[0]
    test = MeasuredSet("bare", lambda: iter([Item("KR1020990000001A", "", "")]))
    item = Item(one.publication_number, one.family_id, VIEWS["TAC"](one))
    assert not find_leaks(examined([item]), test, {})[0]
    assert (
        find_leaks(examined([item]), test, by_normal_number(families_of({"KR1020990000001A": one.family_id})))[0][
            one.publication_number
        ].way
        == "family"
    )


@pytest.mark.slow
def test_nothing_leaks_from_one_corpus(corpus, tmp_path):
    """All signals at once against the test split, and the check does not sleep: with one test family moved to train it
    finds it.
    """
    makers = [pairs.co_labelled, pairs.citing_and_cited, pairs.abstract_and_claim, pairs.ipc_matched]
    paths = [tmp_path / f"{make.__name__}.parquet" for make in makers]
    for path, make in zip(paths, makers, strict=True):
        pairs.write_pairs(path, make(corpus, "train", Counter()))
    record = check_pairs(paths, corpus, drop=False)
    assert record.leaking == 0 and list(record.checked) == ["the test split of the data"] and record.publications > 1000
    moved = corpus.members("test")[0].family_id
    careless = replace(corpus, split={**corpus.split, moved: "train"})
    pairs.write_pairs(paths[2], pairs.abstract_and_claim(careless, "train", Counter()))
    with pytest.raises(DataError, match="by number"):
        check_pairs(paths[2:3], corpus, drop=False)


@pytest.mark.slow
def test_a_test_set_that_cannot_be_read_is_named_and_not_counted_as_checked(corpus, tmp_path, monkeypatch):
    """The sample's DAPFAM with a damaged corpus, and PatenTEB without the table of one task."""
    from patent_mteb.data.loading import DATA_VARIABLE, sample_root

    for benchmark in ("dapfam", "patenteb"):
        shutil.copytree(sample_root(benchmark), tmp_path / "data", dirs_exist_ok=True)
    for folder in (tmp_path / "data" / "datalyes").iterdir():
        if folder.name not in ("DAPFAM_patent", "class_bloom", "retrieval_IN"):
            shutil.rmtree(folder)
    for path in (tmp_path / "data").rglob("*DAPFAM*/**/*.parquet"):
        path.write_bytes(b"PAR1 torn")
    next((tmp_path / "data").rglob("class_bloom/test/data.parquet")).unlink()
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path / "data"))
    real = replace(corpus, name="mine", folder=None, is_sample=False)
    path = tmp_path / "pairs.parquet"
    pairs.write_pairs(path, pairs.abstract_and_claim(real, "train", Counter()))
    record = check_pairs([path], real, drop=True)
    assert (
        set(record.unreadable) == {"datalyes/DAPFAM_patent", "datalyes/class_bloom"}
        and not record.unreadable.keys() & record.checked.keys()
    )
    assert (
        "datalyes/retrieval_IN" in record.checked
        and f"2 unreadable, {len(record.absent)} absent" in record.contamination
    )
    assert record.ways["datalyes/retrieval_IN"]["family"] > 0 and "WIPO-AT" in record.absent


def test_a_dataset_of_several_benchmarks_is_one_test_set_with_its_families(corpus, tmp_path, monkeypatch):
    """An edition is read by the benchmark of its recipe and by its own."""
    editions.build(world.collection(), tmp_path, world.WINDOW)
    monkeypatch.setenv("PATENT_MTEB_DATA", str(tmp_path))
    own, edition = present(replace(corpus, name="mine", folder=None, is_sample=False))[0]
    assert (own.name, edition.name) == ("the test split of the data", "PatentOpenUS")
    families = family_ids(world.PATENTS, definition="extended")
    found = {item.id: item.family for item in edition.items()}
    assert len(found) > 5 and found.items() <= families.items()
    path = tmp_path / "PatentOpenUS" / "metadata.parquet"
    unknown = pq.read_table(path).drop_columns("family_id")
    pq.write_table(unknown.append_column("family_id", pa.nulls(len(unknown), pa.string())), path)
    assert {item.id: item.family for item in edition.items()} == {key: key for key in found}


def test_a_training_publication_without_family_is_checked_by_its_number(corpus, tmp_path):
    path = tmp_path / "pairs.parquet"
    texts = {"anchor": "a pump", "positive": "a valve"}
    numbers = {"anchor_id": "EP1000000A1", "positive_id": "US9000000B2", "anchor_family": "", "positive_family": ""}
    pairs.write_pairs(path, [pairs.Pair(**texts, **numbers, signal="mine")])
    test = MeasuredSet("mine", lambda: iter([Item("EP 1 000 000 A1", "", "")]))
    record = check_pairs([path], corpus, drop=True, test_sets=[test])
    assert (record.publications, record.leaking, record.ways) == (2, 1, {"mine": {"number": 1}})


def test_title_and_abstract_alone_are_compared_with_title_and_abstract():
    same = " ".join(f"part{number}x" for number in range(30))
    other = [" ".join(f"side{side}word{number}x" for number in range(200)) for side in "ab"]
    test, train = (
        Item(number, number, f"{same} {claim}", title_abstract=same, claim=claim)
        for number, claim in zip(("EP1A1", "US2A1"), other, strict=True)
    )
    (leak,) = leaks_of([test], [train]).values()
    assert (leak.way, leak.field) == ("text", "title and abstract")


def test_leaks_into_test_sets_of_one_name_are_counted_for_each(corpus, tmp_path):
    """One of them cannot be read, and does not pass for checked."""

    def broken():
        raise DataError("the table is damaged")

    path = tmp_path / "pairs.parquet"
    pairs.write_pairs(path, pairs.abstract_and_claim(corpus, "validation", Counter()))
    members = {pair.anchor_id: pair.anchor_family for pair in pairs.read_pairs(path)}
    first, *_, last = members
    sets = [MeasuredSet("mine", lambda key=key: iter([Item(key, members[key], "")])) for key in (first, last)]
    sets.insert(1, MeasuredSet("mine", broken))
    record = check_pairs([path], corpus, drop=True, test_sets=sets)
    found = {name: sum(ways.values()) for name, ways in record.ways.items()}
    families = list(members.values())
    assert members[first] != members[last] and list(record.checked) == ["mine", "mine (2)"]
    assert list(record.unreadable) == ["mine (1)"]
    assert found == {"mine": families.count(members[first]), "mine (2)": families.count(members[last])}


def test_a_directory_called_sample_is_checked_against_every_test_set(corpus, tmp_path, monkeypatch):
    """Own records in a directory ``sample``: the other test sets are looked for, and PatenTEB's settings are the
    paper's.
    """
    monkeypatch.delenv("PATENT_MTEB_DATA", raising=False)
    write_records(tmp_path / "sample" / "patents.parquet", Patent, list(corpus.patents)[:40])
    own = read_corpus(tmp_path / "sample")
    assert own.name == corpus.name == "sample"
    assert "WIPO-AT" in present(own)[1] and present(corpus)[1] == []
    monkeypatch.setattr(multitask, "table_data", lambda patents, citations, params, log: params)
    assert multitask.world_of(own) == PAPER and multitask.world_of(corpus) == SAMPLE != PAPER


def test_a_text_that_many_families_of_the_test_set_share_identifies_none():
    """Publications of one family are one; those whose family is unknown are families of their own."""
    trained = [Item("US9000000A1", "X", SHARED)]

    def test(family):
        return [Item(f"EP{1_000_000 + number}A1", family(number), SHARED) for number in range(30)]

    assert leaks_of(test(lambda number: "F1"), trained) and leaks_of(test(lambda number: f"F{number % 20}"), trained)
    assert not leaks_of(test(lambda number: f"F{number}"), trained) and not leaks_of(test(lambda number: "0"), trained)


def test_a_sentence_that_many_families_share_does_not_hide_a_copied_text():
    def text(number):
        return " ".join(f"part{number}n{word}x" for word in range(30)) + SHARED

    test = [Item(f"EP{1_000_000 + number}A1", f"F{number}", text(number)) for number in range(30)]
    (leak,) = leaks_of(test, [Item("US9000000A1", "X", text(7))]).values()
    assert (leak.found, leak.way, leak.share) == ("EP1000007A1", "text", 1.0)
    assert not leaks_of(test, [Item("US9000000A1", "X", text(31))])


def test_families_of_the_training_records_in_their_normal_form():
    records = {"US 2019/0123456 A1": "12345.0", "EP1000000A1": "0", "EP 1 000 001 B1": " F2 "}
    assert by_normal_number(families_of(records)) == {"US2019123456A1": "12345", "EP1000001B1": "F2"}


@pytest.mark.slow
def test_divisions_are_dropped_and_counted_by_field(corpus, tmp_path):
    """Title and abstract of training publications with the claims of others; the record says by which field they were
    found.
    """
    first, second, *_ = [one for one in corpus.members("train") if len(one.claims) > 3]
    division = Item.of(replace(first, publication_number="EP9999999A1", family_id="X1", claims=second.claims))
    assert division.title_abstract in division.text and Item.of(second).claim in division.text
    path = tmp_path / "pairs.parquet"
    pairs.write_pairs(path, pairs.abstract_and_claim(corpus, "train", Counter()))
    record = check_pairs([path], corpus, drop=True, test_sets=[MeasuredSet("divided", lambda: iter([division]))])
    assert record.ways == {"divided": {"text": record.leaking}} and record.dropped
    assert set(record.fields["divided"]) == {"title and abstract", "first claim"}
    assert sum(record.fields["divided"].values()) == record.leaking < 12
    left = {pair.anchor_id for pair in pairs.read_pairs(path)}
    assert not left & {first.publication_number, second.publication_number}
