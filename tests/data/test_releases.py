"""Row counts of the releases: the papers' totals."""

import pytest

from patent_mteb.data.releases import ROWS, rows_of
from patent_mteb.tasks.patenteb import CLASSES, CLUSTERS, PARAPHRASES, RETRIEVAL

pytestmark = pytest.mark.usefixtures("sizes_of_releases")


def test_patenteb_adds_up_to_the_totals_of_the_paper():
    """Table 2: 46,845 + 60,265 + 40,764 + 37,382 + 134,064 = 319,320."""
    groups = {
        "symmetric": RETRIEVAL[:3],
        "asymmetric": RETRIEVAL[3:],
        "classes": CLASSES,
        "pairs": PARAPHRASES,
        "clusters": CLUSTERS,
    }
    sizes = {name: sum(rows_of(spec.data.key, "test/data.parquet") for spec in specs) for name, specs in groups.items()}
    assert sizes == {"symmetric": 46_845, "asymmetric": 60_265, "classes": 40_764, "pairs": 37_382, "clusters": 134_064}
    assert sum(sizes.values()) == 319_320


def test_every_classification_set_has_a_training_part():
    assert {key for key, file in ROWS if file.startswith("train")} == {spec.data.key for spec in CLASSES}
    assert rows_of("datalyes/retrieval_IN", "train/data.parquet") is None
