import random

import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from patent_mteb.patents.families import Groups


@pytest.mark.parametrize("seed", range(5))
def test_groups_are_the_connected_components(seed):
    dice = random.Random(seed)
    things = [f"t{number:02}" for number in range(40)]
    pairs = [(dice.randrange(40), dice.randrange(40)) for _ in range(dice.randint(0, 40))]
    groups = Groups()
    for one, other in pairs:
        groups.connect(things[one], things[other])
    graph = coo_array(([1] * len(pairs), ([one for one, _ in pairs], [other for _, other in pairs])), shape=(40, 40))
    _, component = connected_components(graph, directed=False)
    first = {
        label: min(thing for thing, its in zip(things, component, strict=True) if its == label)
        for label in set(component)
    }
    assert [groups.of(thing) for thing in things] == [first[label] for label in component]
