"""The leak check: precision and recall on labelled cases and on altered real applications, and the cost of a look-up.

    python benchmarks/leaks.py

1. The labelled cases of ``tests/training/leak_cases.jsonl``, each alone: a publication of a test set and one that is
   trained on.
2. 450 applications of Pap2Pat as the test set. Trained on are 40 of them for each way to alter a text or a number,
   under another number and without a family, and 1,000 applications that share no inventor with the test set.
3. Processor time of a look-up and memory of an indexed text, at 450 to 6,800 texts (applications, then pieces of
   descriptions); half of the questions have a counterpart in the index. Next to it the look-up as it was before: runs
   of three words, common ones too, counted for every text of the index.
4. Both sides at the same size, 10,000 to 160,000 texts of 250 words in the frequencies of Pap2Pat: processor time of
   shingles, index and look-ups, and the size of the stored index. A fiftieth of the texts is in both.

1 and 2 are repeated with the index that is stored (``patent-mteb contamination --write``).
"""

from __future__ import annotations

import gzip
import json
import random
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from cases import DATA
from numpy.typing import NDArray

from patent_mteb.patents.claims import claims_text, first_independent_claim, split_claims
from patent_mteb.patents.records import Claim
from patent_mteb.training.contamination import read_indexes, write_indexes
from patent_mteb.training.leaks import (
    FEWEST,
    LEAST,
    Item,
    Leak,
    MeasuredSet,
    Shingled,
    ShingleIndex,
    common_shingles,
    examined,
    find_leaks,
    hashed,
    read_identifiers,
)

CASES = Path(__file__).resolve().parents[1] / "tests" / "training" / "leak_cases.jsonl"
TEST, EACH, UNRELATED = 450, 40, 1_000
SIZES = (450, 900, 1_700, 3_400, 6_800)
LARGE = (10_000, 40_000, 160_000)
LEGAL = {
    "the": "said", "a": "one", "an": "one", "comprising": "including", "comprises": "includes", "includes": "has",
    "having": "with", "wherein": "whereby", "plurality": "number", "first": "primary", "second": "secondary",
    "method": "process", "device": "apparatus", "configured": "adapted", "coupled": "connected", "least": "minimum",
}  # fmt: skip
Record = dict[str, Any]


def item(number: str, title_abstract: str, claims: Sequence[Claim]) -> Item:
    return Item(number, "", f"{title_abstract} {claims_text(claims)}", title_abstract, first_independent_claim(claims))


def reworded(one: Item, change: Callable[[list[str]], list[str]]) -> Item:
    texts = (" ".join(change(text.split())) for text in (one.text, one.title_abstract, one.claim))
    return Item("", "", *texts)


def replaced(every: int, words: Sequence[str], rng: random.Random) -> Callable[[list[str]], list[str]]:
    return lambda text: [rng.choice(words) if place % every == every - 1 else word for place, word in enumerate(text)]


def altered(one: Record, other: Record, words: Sequence[str], rng: random.Random) -> dict[str, Item]:
    """The ways to alter an application, with the title, abstract and claims of another one."""
    whole, more = item("", one["ta"], one["claims"]), item("", other["ta"], other["claims"])
    kept = one["claims"][: -(-len(one["claims"]) * 6 // 10)]
    return {
        "abstract only": Item("", "", one["abstract"]),
        "90% the same": reworded(whole, lambda text: text[len(text) // 10 :] + rng.choices(words, k=len(text) // 10)),
        "inside a longer text": Item("", "", f"{more.text} {whole.text} {more.claim}"),
        "same claims, other abstract": item("", other["ta"], one["claims"]),
        "another's abstract in front": Item("", "", f"{other['abstract']} {whole.text}"),
        "every tenth word replaced": reworded(whole, replaced(10, words, rng)),
        "every fifth word replaced": reworded(whole, replaced(5, words, rng)),
        "legal rewording": reworded(whole, lambda text: [LEGAL.get(word, word) for word in text]),
        "first 60% of the claims, other abstract": item("", other["ta"], [*kept, *other["claims"]]),
        "same title and abstract, other claims": item("", one["ta"], other["claims"]),
    }


def renumbered(number: str) -> dict[str, str]:
    """The ways to write ``US20130210636A1``."""
    year, serial = number[2:6], number[6:13]
    return {
        "number in another style": f"US {year}/{serial} A1",
        "other kind code": f"US{year}{serial}A9",
        "number of DOCDB, without its zero": f"US{year}{serial.removeprefix('0')}A1",
    }


def leaks_of(test: Iterable[Item], trained: Iterable[Item], stored: bool) -> dict[str, Leak]:
    seen, items = list(examined(trained)), list(test)
    common = common_shingles((one.shingles, one.family or one.number) for one in seen)
    test_set = MeasuredSet("test", lambda: iter(items))
    if not stored:
        return find_leaks(seen, test_set, {}, common)[0]
    with tempfile.TemporaryDirectory() as folder:
        write_indexes(Path(folder), [test_set])
        (only,) = read_indexes(Path(folder))
        found = find_leaks(seen, only, {}, common)[0]
    names = {f"{hashed(read_identifiers(one.id)[0]):016x}": one.id for one in items}
    return {key: replace(leak, found=names[leak.found]) for key, leak in found.items()}


def rates(found: int, leaks: int, false: int) -> str:
    return (
        f"precision {found / max(1, found + false):.3f}, recall {found / leaks:.3f} ({found} of {leaks}, {false} false"
        " alarms)"
    )


def labelled_cases(stored: bool) -> None:
    rows = [json.loads(line) for line in CASES.read_text("utf-8").splitlines()]
    found = false = 0
    started = time.process_time()
    for row in rows:
        test, train = (Item(**{"family": "", "text": "", **row[side]}) for side in ("test", "train"))
        leak = bool(leaks_of([test], [train], stored))
        found, false = found + (leak and row["leak"]), false + (leak and not row["leak"])
        if leak != row["leak"]:
            print(f"  {'false alarm' if leak else 'missed'}: {row['name']}")
    spent = (time.process_time() - started) / len(rows) * 1000
    leaks = sum(row["leak"] for row in rows)
    print(f"{len(rows)} labelled cases: {rates(found, leaks, false)}; {spent:.1f} ms a case\n")


def records(path: Path) -> list[Record]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    for one in found:
        one |= {"ta": f"{one['title']} {one['abstract']}", "claims": split_claims(one["claims"])}
    random.Random(0).shuffle(found)
    return found


def altered_applications(all_records: Sequence[Record], stored: bool) -> None:
    rng = random.Random(1)
    test, rest = all_records[:TEST], all_records[TEST:]
    words = [word for one in rest for word in one["ta"].split()]
    inventors = {name for one in test for name in one["inventors"]}
    unrelated = [one for one in rest if inventors.isdisjoint(one["inventors"])][:UNRELATED]
    trained: dict[str, Item] = {}
    expected: dict[str, tuple[str, str]] = {}
    for place, one in enumerate(test):
        own = f"{one['publication_number']}A1"
        ways = altered(one, rng.choice(rest), words, rng)
        if place // EACH < len(ways):
            way = list(ways)[place // EACH]
            key = f"EP{9_000_000 + place}A1"
            trained[key], expected[key] = replace(ways[way], id=key), (way, own)
        numbers = renumbered(own)
        if place // EACH < len(numbers):
            way = list(numbers)[place // EACH]
            trained[numbers[way]], expected[numbers[way]] = Item(numbers[way], "", ""), (way, own)
    others = [item(f"{one['publication_number']}A1", one["ta"], one["claims"]) for one in unrelated]
    started = time.process_time()
    measured = [item(f"{one['publication_number']}A1", one["ta"], one["claims"]) for one in test]
    leaks = leaks_of(measured, [*trained.values(), *others], stored)
    spent = (time.process_time() - started) / (len(trained) + len(others) + TEST) * 1000
    right = {key for key, (_, own) in expected.items() if key in leaks and leaks[key].found == own}
    for way in dict.fromkeys(way for way, _ in expected.values()):
        keys = [key for key, (its, _) in expected.items() if its == way]
        how = Counter(leaks[key].field or leaks[key].way for key in keys if key in right)
        print(f"  {way:<42}{sum(key in right for key in keys):>3} of {len(keys)}  {dict(how)}")
    wrong = leaks.keys() - right
    for key in wrong:
        print(f"  false alarm: {key} is {leaks[key].found} ({leaks[key].field}, {leaks[key].share})")
    print(f"  {'unrelated':<42}{sum(one.id in leaks for one in others):>3} of {len(others)}")
    print(f"Altered applications: {rates(len(right), len(expected), len(wrong))}; {spent:.2f} ms a publication\n")


class EveryText:
    """A look-up that counts the shared shingles for every text of the index, as it was done before."""

    def __init__(self, parts: Sequence[NDArray[Any]]) -> None:
        self.sizes = np.array([len(part) for part in parts])
        keys, owners = np.concatenate(parts), np.repeat(np.arange(len(parts), dtype=np.int32), self.sizes)
        order = np.argsort(keys, kind="stable")
        self.keys, self.owners = keys[order], owners[order]
        self.nbytes = self.keys.nbytes + self.owners.nbytes

    def best(self, asked: NDArray[Any]) -> tuple[int, float] | None:
        """The text that shares most, and the share; None if none shares enough."""
        starts, ends = (np.searchsorted(self.keys, asked, side=side) for side in ("left", "right"))
        lengths = ends - starts
        places = np.repeat(ends - np.cumsum(lengths), lengths) + np.arange(lengths.sum())
        shared = np.bincount(self.owners[places], minlength=len(self.sizes))
        fewer = np.minimum(self.sizes, len(asked))
        alike = (fewer >= FEWEST) & (shared >= fewer * LEAST[-1] + np.sqrt(fewer))
        shares = np.where(alike, shared / np.maximum(fewer, 1), 0)
        return (int(shares.argmax()), float(shares.max())) if shares.any() else None


def runs_of_three(text: str) -> NDArray[np.int64]:
    words = re.findall(r"\w+", text.casefold())[:1_000]
    return np.unique([hash(run) for run in zip(words, words[1:], words[2:], strict=False)])


def whole(texts: Iterable[str]) -> list[Shingled]:
    return [Shingled.of(("", "", text)) for text in texts]


def growth(all_records: Sequence[Record]) -> None:
    texts = [item("", one["ta"], one["claims"]).text for one in all_records]
    asked = texts[:200]  # the first hundred are not indexed
    pieces = (one["description"][start : start + 3_300] for one in all_records for start in range(0, 9_900, 3_300))
    texts += (piece for piece in pieces if len(piece) > 1_000)
    shingled, runs = whole(texts[100:]), [runs_of_three(text) for text in texts[100:]]
    print(f"{'texts':>6}{'ms a question':>16}{'before':>10}{'ratio':>7}{'B a text':>12}{'before':>12}")
    for size in SIZES:
        index = ShingleIndex((str(number), str(number), one) for number, one in enumerate(shingled[:size]))
        before = EveryText(runs[:size])
        spent = []
        for find, questions in ((index.match, whole(asked)), (before.best, [runs_of_three(text) for text in asked])):
            started = time.process_time()
            found = [find(one) for one in questions]
            spent.append((time.process_time() - started) / len(questions) * 1000)
            assert all(one is not None for one in found[100:])
        memory = "".join(f"{one.nbytes / size:>12,.0f}" for one in (index, before))
        print(f"{size:>6}{spent[0]:>16.2f}{spent[1]:>10.2f}{spent[1] / spent[0]:>7.1f}{memory}")


def at_scale(all_records: Sequence[Record]) -> None:
    counts = Counter(word for one in all_records for word in f"{one['ta']} {claims_text(one['claims'])}".split())
    words, rng = np.array(list(counts)), np.random.default_rng(0)
    shares = np.cumsum(list(counts.values())) / counts.total()

    def texts(number: int) -> Iterator[Item]:
        for row in range(number):
            drawn = words[np.searchsorted(shares, rng.random(250))]
            first, second = " ".join(drawn[:120]), " ".join(drawn[120:])
            yield Item(f"X{number}-{row}", "", f"{first} {second}", first, second)

    print(f"{'texts':>8}{'shingles':>10}{'index':>8}{'look-ups':>10}{'s in all':>10}{'found':>8}{'MB stored':>11}")
    for size in LARGE:
        test = list(texts(size))
        train = [*test[: size // 50], *texts(size - size // 50)]
        marks = [time.process_time()]
        seen = list(examined(replace(one, id=f"T{row}") for row, one in enumerate(train)))
        common = common_shingles((one.shingles, one.number) for one in seen)
        marks.append(time.process_time())
        with tempfile.TemporaryDirectory() as folder:
            (path,), _ = write_indexes(Path(folder), [MeasuredSet("test", partial(iter, test))])
            stored = path.stat().st_size / 1e6
            (only,) = read_indexes(Path(folder))
            index = only.index({}, common)
            marks.append(time.process_time())
            found = sum(index.texts.match(one.shingles) is not None for one in seen)
        marks.append(time.process_time())
        spent = np.diff(marks)
        print(
            f"{size:>8}{spent[0]:>10.1f}{spent[1]:>8.1f}{spent[2]:>10.1f}{spent.sum():>10.1f}{found:>8}{stored:>11.1f}",
            flush=True,
        )


def main() -> None:
    for stored in (False, True):
        print("the stored index" if stored else "the index in memory")
        labelled_cases(stored)
    if not DATA.exists():
        print(f"no {DATA}: altered applications and look-ups are not measured")
        return
    found = records(DATA)
    for stored in (False, True):
        print("the stored index" if stored else "the index in memory")
        altered_applications(found, stored)
    growth(found)
    at_scale(found)


if __name__ == "__main__":
    main()
