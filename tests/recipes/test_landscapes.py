"""Label sets of any landscape, counted naively; the paper's five sets for the paper's landscapes only."""

from collections import defaultdict

from small_data import TEN_PATENTS

from patent_mteb import sample
from patent_mteb.patents.records import Label, Patent
from patent_mteb.recipes.label_sets import LABEL_SETS, LabelSet, label_sets
from patent_mteb.recipes.steps import BuildLog


def named(*rows):
    return [Patent(f"US{number}A", f"F{number}", labels=tuple(labels)) for number, labels in enumerate(rows)]


def labels_of(patents):
    return [patent.labels for patent in patents]


def test_the_papers_landscapes_give_the_papers_sets():
    assert label_sets(labels_of(sample.load()[0]), 50, BuildLog("mine")) == list(LABEL_SETS)
    assert label_sets(labels_of(TEN_PATENTS), 50, BuildLog("mine")) == list(LABEL_SETS)


def test_a_landscape_of_the_papers_name_with_other_labels_is_an_own_one():
    patents = named(*([Label("Emerging", coarse, fine)] for coarse in ("Solar", "Wind") for fine in "xyxy"))
    assert label_sets(labels_of(patents), 4, BuildLog("mine")) == [
        LabelSet("Emerging", "Emerging"),
        LabelSet("EmergingSolar", "Emerging", "Solar"),
        LabelSet("EmergingWind", "Emerging", "Wind"),
    ]


def test_every_landscape_renamed_from_the_sample_gives_all_sets_that_a_naive_count_finds():
    patents = [
        Patent(
            one.publication_number,
            one.family_id,
            labels=tuple(Label(f"my {lab.landscape}", lab.coarse, lab.fine) for lab in one.labels),
        )
        for one in sample.load()[0]
    ]
    documents, fine = defaultdict(set), defaultdict(set)
    for one in patents:
        for lab in one.labels:
            documents[lab.landscape, lab.coarse].add(one.publication_number)
            fine[lab.landscape, lab.coarse].add(lab.fine)
    log = BuildLog("mine")
    found = label_sets(labels_of(patents), 100, log)
    big = {key for key, numbers in documents.items() if len(numbers) >= 100 and len(fine[key]) > 1}
    assert {(one.landscape, one.coarse) for one in found if one.coarse} == big and 0 < len(big) < len(documents)
    assert {one.name for one in found if not one.coarse} == {"MyEmerging", "MyConventional"}
    assert len(log.steps) == len(documents) - len(big) and all(
        "fewer than 100 documents" in step.note for step in log.steps
    )
    one = next(one for one in found if one.name == "MyConventionalSelfCare")
    assert {p.publication_number for p in patents if one.labels(p.labels)} == documents["my Conventional", "Self-Care"]


def test_names_are_free_and_what_is_no_set_is_counted():
    rows = [[Label("ab", "c", f)] for f in "xy"] + [[Label("abC", "d", f)] for f in "xy"]
    rows += [[Label("abC", "e")], [Label("", "k"), Label("", "l")]]
    rows += [[Label("one", "only")], [Label("ab", "", "x")], [Label("ab", "z")]]
    log = BuildLog("mine")
    found = {one.name: (one.landscape, one.coarse) for one in label_sets(labels_of(named(*rows)), 2, log)}
    assert found == {
        "Topics": ("", ""),
        "Ab": ("ab", ""),
        "AbC": ("ab", "c"),
        "AbC2": ("abC", ""),
        "AbCD": ("abC", "d"),
    }
    assert [(step.name, step.note) for step in log.steps] == [
        ("0.8b labels One", "no set: all have one label"),
        ("0.8b labels with a coarse category", "labels without one are in no set"),
    ]
