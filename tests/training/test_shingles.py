"""Rare shared shingles against plain sets of words, and the forms that a text is brought to."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from patent_mteb.training.leaks import (
    COMMON,
    FEWEST,
    FIELDS,
    LEAST,
    Shingled,
    ShingleIndex,
    _words,
    common_shingles,
    normal_form,
    shingles,
)

VOCABULARY = [f"word{'abcdefghij'[number // 10]}{'abcdefghij'[number % 10]}" for number in range(80)]


def pairs_of(text):
    """The runs of two words of a text without boilerplate."""
    words = text.split()
    return set(pairwise(words))


def noisy(text, noise, rng):
    return " ".join(rng.choice(VOCABULARY) if rng.random() < noise else word for word in text.split())


def naive_match(asked, items, common):
    """The greatest share by its rule, and who has it: Python sets, every item, every pair of fields that is
    compared.
    """
    hits = []
    mine = [pairs_of(text) for text in asked]
    for key, _, texts in items:
        its = [pairs_of(text) for text in texts]
        for one in range(3):
            for other in range(3):
                allowed = one == other or (one == 2 and not mine[other]) or (other == 2 and not its[one])
                first, second = mine[one] - common, its[other] - common
                fewer = min(len(first), len(second))
                least = LEAST[min(one, other)] * fewer + fewer**0.5
                if allowed and fewer >= FEWEST and len(first & second) >= least:
                    hits.append((len(first & second) / fewer, key, FIELDS[min(one, other)]))
    return hits


@pytest.mark.slow
def test_the_most_alike_is_found_with_its_share_and_field():
    """Three fields, some of them unknown, noise of several strengths, and a phrase that many families share."""
    rng = random.Random(0)
    phrase = " ".join(rng.sample(VOCABULARY, 9))

    def drawn(least, most):
        return " ".join(rng.choices(VOCABULARY, k=rng.randint(least, most)))

    items = []
    for number in range(60):
        abstract, claim = drawn(12, 25), f"{phrase} {drawn(12, 20)}"
        known = rng.choice([(abstract, claim), ("", ""), (abstract, "")])
        items.append((f"d{number}", f"F{number // 2}", (*known, f"{abstract} {claim} {drawn(5, 40)}")))
    families = Counter(
        pair
        for family in {one[1] for one in items}
        for pair in set.union(*(pairs_of(text) for one in items if one[1] == family for text in one[2]))
    )
    common = {pair for pair, number in families.items() if number > COMMON}
    index = ShingleIndex((key, family, Shingled.of(texts)) for key, family, texts in items)
    found = Counter()
    for number in range(120):
        _, _, texts = rng.choice(items)
        noise = rng.choice([0.02, 0.1, 0.25, 0.9])
        changed = [noisy(text, noise, rng) for text in texts]
        asked = rng.choice([changed, ["", "", changed[2]], [changed[0], "", drawn(20, 60)], ["", "", changed[1]]])
        hits, match = naive_match(asked, items, common), index.match(Shingled.of(asked))
        if not hits:
            assert match is None, number
            continue
        assert match is not None
        assert match.share == pytest.approx(max(hits)[0], abs=1e-12)
        assert (pytest.approx(match.share), match.id, match.field) in hits
        found[match.field] += 1
    assert len(common) >= 8 and min(found[field] for field in FIELDS) > 3 and found.total() < 112


def test_what_many_families_share_does_not_count():
    """A whole claim that is shared is found if few families have it, and by none if many have, in the index or in the
    training texts.
    """
    claim = "A pump with a red rotor that saves cold water because its valve opens by itself at night in winter."
    one = Shingled.of(["", claim, claim])

    def index(families, common=None):
        return ShingleIndex(((f"US{number}A1", f"F{number % families}", one) for number in range(60)), common)

    assert index(COMMON).match(one).share == 1 and index(COMMON + 1).match(one) is None
    trained = common_shingles((one, f"F{number}") for number in range(COMMON + 1))
    assert len(trained) == len(one.keys) and index(1, trained).match(one) is None
    others = [(f"X{number}", f"X{number}", Shingled.of(["", "", ""])) for number in range(1_000)]
    many = ShingleIndex([*((f"US{number}A1", f"F{number}", one) for number in range(31)), *others])
    assert many.match(one) is not None  # 31 of 1,031 families: fewer than the root


def test_short_texts_are_alike_only_if_equal():
    def whole(text):
        return Shingled.of(["", "", text])

    texts = [
        "A folding walking aid with lamp",
        "",
        "Display device",
        "Isolated peptide of SEQ ID NO: 1",
        "Abstract not available",
    ]
    index = ShingleIndex((str(number), str(number), whole(text)) for number, text in enumerate(texts))
    assert index.match(whole("a FOLDING walking-aid, with lamp!")).id == "0"
    others = [
        "A folding walking aid with lamps",
        "",
        "Display device",
        "Isolated peptide of SEQ ID NO: 2",
        "Abstract not available",
    ]
    assert [index.match(whole(text)) for text in others] == [None] * 5 and len(index) == 5
    assert index.match(whole("Isolated peptide of SEQ ID NO: 1")).share == 1
    assert ShingleIndex([]).match(whole(texts[0])) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Größe der Räder", "GROESSE DER RAEDER"),
        ("Größe", "Gro\u0308\u00dfe"),
        ("ﬂow coeﬃcient m²", "flow coefficient m2"),
        ("ＰＵＭＰ", "pump"),
        ("p\u200bu\u00adm\u2060p", "pump"),
        ("hou- sing, hou\u00ad\nsing", "housing, housing"),
        ("&lt;b&gt;pump&lt;/b&gt; &amp; valve", "pump & valve"),
        ("рumр", "pump"),
        ("Αντλία ΝΕΡΟΎ", "αντλια νερου"),
        ("œuvre, sœur, smørrebrød", "OEUVRE, soeur, smorrebrod"),
        ("正极，材料", "正极材料"),
    ],
)
def test_spellings_have_one_form(one, other):
    assert normal_form(one) == normal_form(other)


def test_every_word_of_a_long_text_counts_and_numbers_do_not():
    text = "A pump with a red rotor saves cold water because its valve opens by itself at night in winter."
    found = set(shingles(text))
    assert found <= set(shingles("filler words vary " * 5_000 + text))
    assert found == set(shingles(text.replace("rotor", "rotor (12a)").replace("valve", "valve 7")))
    assert shingles(text).dtype == np.uint32 and len(shingles("1. 2. 3. 4. 5. 6.")) == 0


def test_scripts_without_blanks_are_read_in_pieces_of_three_characters():
    assert _words("一种半导体 with gate 装置") == ["一种半", "种半导", "半导体", "with", "gate", "装置"]
    assert _words("gate of a transistor") == ["gate", "of", "a", "transistor"]
