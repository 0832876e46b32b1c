"""Leaks that were planted are found, each in its way; what is built from one corpus has none."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from patent_mteb.errors import DataError
from patent_mteb.patents.views import VIEWS
from patent_mteb.training import pairs
from patent_mteb.training.corpus import read_corpus
from patent_mteb.training.leaks import by_normal_number, check_pairs, examined, find_leaks
from patent_mteb.training.testsets import Item, MeasuredSet, present


@pytest.fixture(scope="module")
def corpus():
    return read_corpus("sample")


def reworded(text, every=9):
    """Each ninth word is another."""
    return " ".join("otherwise" if place % every == every - 1 else word for place, word in enumerate(text.split()))


def test_each_way_to_leak_is_found(corpus, tmp_path):
    """One family of the training split is planted in a test set: as it is, as another publication, reworded under a foreign number."""
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
    """The test set holds a bare number without family; the records know it as another publication of a training family."""
    one = next(corpus.members("train"))
    test = MeasuredSet("bare", lambda: iter([Item("KR1020990000001A", "", "")]))
    item = Item(one.publication_number, one.family_id, VIEWS["TAC"](one))
    assert not find_leaks(examined([item]), test, {})[0]
    assert (
        find_leaks(examined([item]), test, by_normal_number({"KR1020990000001A": one.family_id}))[0][one.publication_number].way == "family"
    )


def test_nothing_leaks_from_one_corpus(corpus, tmp_path):
    """All signals at once against the test split, and the check does not sleep: with one test family moved to train it finds it."""
    makers = [pairs.co_labelled, pairs.citing_and_cited, pairs.abstract_and_claim, pairs.ipc_matched]
    paths = [tmp_path / f"{make.__name__}.parquet" for make in makers]
    for path, make in zip(paths, makers, strict=True):
        pairs.write_pairs(path, make(corpus, "train", Counter()))
    record = check_pairs(paths, corpus, drop=False)
    assert record.leaking == 0 and list(record.checked) == ["the test split of the data"] and record.publications > 1000
    moved = next(corpus.members("test")).family_id
    careless = replace(corpus, split={**corpus.split, moved: "train"})
    pairs.write_pairs(paths[2], pairs.abstract_and_claim(careless, "train", Counter()))
    with pytest.raises(DataError, match="by number"):
        check_pairs(paths[2:3], corpus, drop=False)


def test_registered_sets_that_are_present_are_checked(corpus, tmp_path, monkeypatch):
    """Real data: the sample's DAPFAM and PatenTEB under PATENT_MTEB_DATA hold the families of records that are called otherwise."""
    from patent_mteb.data.sources import DATA_VARIABLE, sample_root

    real = replace(corpus, name="mine", folder=None)
    monkeypatch.setenv(DATA_VARIABLE, str(sample_root("patenteb")))
    found, absent = present(real)
    names = [one.name for one in found]
    assert "datalyes/retrieval_IN" in names and "datalyes/class_bloom" in names and "WIPO-AT" not in names
    assert any("DAPFAM" in name for name in absent)
    path = tmp_path / "pairs.parquet"
    pairs.write_pairs(path, pairs.abstract_and_claim(real, "train", Counter()))
    with pytest.raises(DataError, match=r"datalyes/class_bloom: \d+ by family"):
        check_pairs([path], real, drop=False)


def test_a_test_set_that_cannot_be_read_is_named_and_not_counted_as_checked(corpus, tmp_path, monkeypatch):
    """The sample's DAPFAM with a damaged corpus, and PatenTEB without the table of one task."""
    import shutil

    from patent_mteb.data.sources import DATA_VARIABLE, sample_root

    for benchmark in ("dapfam", "patenteb"):
        shutil.copytree(sample_root(benchmark), tmp_path / "data", dirs_exist_ok=True)
    for path in (tmp_path / "data").rglob("*DAPFAM*/**/*.parquet"):
        path.write_bytes(b"PAR1 torn")
    next((tmp_path / "data").rglob("class_bloom/test/data.parquet")).unlink()
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path / "data"))
    real = replace(corpus, name="mine", folder=None)
    path = tmp_path / "pairs.parquet"
    pairs.write_pairs(path, pairs.abstract_and_claim(real, "train", Counter()))
    record = check_pairs([path], real, drop=True)
    assert (
        set(record.unreadable) == {"datalyes/DAPFAM_patent", "datalyes/class_bloom"}
        and not record.unreadable.keys() & record.checked.keys()
    )
    assert "datalyes/retrieval_IN" in record.checked and f"2 unreadable, {len(record.absent)} absent" in record.contamination
