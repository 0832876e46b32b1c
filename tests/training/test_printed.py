"""The papers' own seeds, against figures of the print."""

from __future__ import annotations

import pytest

from patent_mteb.training.comparing import Printed, printed_of
from patent_mteb.training.recipes import RECIPES


def test_means_and_deviations_over_seeds():
    """WIPO-AT Tables 13, 14, 20: patembed-base R3 .1796 ± .0012 (OUT .0793 ± .0013), Qwen3 R4 .1533 ± .0025, R3-matched
    is one run.
    """
    found = {(one.table, one.model, one.slice): one for name in RECIPES for one in printed_of(name)}
    assert found[13, "patembed-base-R3", "out"] == Printed(13, "patembed-base-R3", "ndcg@10", "out", 0.0793, 0.0013)
    assert (found[14, "Qwen3-0.6B-R4", ""].mean, found[14, "Qwen3-0.6B-R4", ""].spread) == (0.1533, 0.0025)
    assert (found[14, "patembed-base-R3-matched", ""].mean, found[14, "patembed-base-R3-matched", ""].spread) == (
        0.1790,
        None,
    )
    assert found[20, "patembed-base-R4", ""].spread == 0.0132


@pytest.mark.parametrize("name", ["qaecter", "wipo-r1", "patentmap-crop"])
def test_recipes_without_seeds_in_print(name):
    assert printed_of(name) == []
