"""The description by its headings: no line lost on any real text, and the sections that the USPTO's own marks give."""

import dataclasses
import gzip
import json
import re
from collections import Counter

import pytest

from patent_mteb.patents.records import Description
from patent_mteb.patents.text import clean, plain_lines, split_description

NAMES = [field.name for field in dataclasses.fields(Description)]


def lines_of(found):
    return [line for text in dataclasses.astuple(found) for line in text.split("\n") if line]


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("It has a seal.", [0, 0, 0, 1]),
        ("", [0, 0, 0, 0]),
        (
            "Title\nCROSS REFERENCE TO RELATED APPLICATIONS\nNone.\nBACKGROUND\nB.\nSUMMARY\nS.\nDETAILED DESCRIPTION\nD.",
            [5, 2, 0, 2],
        ),
        ("TECHNICAL FIELD\nF.\nBACKGROUND ART\nB.\nDISCLOSURE OF THE INVENTION\nS.\nDESCRIPTION OF EMBODIMENTS\nD.", [4, 2, 0, 2]),
        ("FIELD OF THE INVENTION\nF.\nDESCRIPTION OF THE INVENTION\nD.", [2, 0, 0, 2]),
        (
            "DESCRIPTION\nBACKGROUND\nB.\nBRIEF DESCRIPTION OF THE DRAWINGS\nFIG. 1 is a pump.\nFIG. 2.\nDefinitions\nD.",
            [3, 0, 3, 2],
        ),
        ("BACKGROUND\nB.\nSUMMARY\nS.\nBRIEF DESCRIPTION OF DRAWINGS\nFIG. 1.\nDESCRIPTION\nD.", [2, 2, 2, 2]),
        ("A pump. BACKGROUND OF THE INVENTION Pumps leak. SUMMARY OF THE INVENTION Ours does not.", [3, 2, 0, 0]),
        ("BACKGROUND\nB.\nDETAILED DESCRIPTION OF SOME EMBODIMENTS\nD.", [2, 0, 0, 2]),
        ("<p>BACKGROUND</p><p>B.</p><p>SUMMARY:</p><p>S.</p>", [2, 2, 0, 0]),
        ("Technical Problem\nLeaks.\nSolution to Problem\nA seal.\nAdvantageous Effects of Invention\nIt is tight.", [0, 6, 0, 0]),
    ],
)  # fmt: skip
def test_headings_open_sections(text, counts):
    found = split_description(text)
    assert [len(getattr(found, name).split("\n")) if getattr(found, name) else 0 for name in NAMES] == counts


@pytest.mark.slow
def test_no_line_of_a_real_description_is_lost_or_doubled(real_data):
    with gzip.open(real_data / "pap2pat" / "patents.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["description"] for line in lines][::6]
    found = [split_description(text) for text in texts]
    for text, parts in zip(texts, found, strict=True):
        assert Counter(lines_of(parts)) == Counter(plain_lines(text))
    filled = Counter(name for parts in found for name in NAMES if getattr(parts, name))
    assert filled["background"] > 0.9 * len(texts)
    assert filled["summary"] > 0.8 * len(texts), (
        "the texts are cut at 10,000 characters: later sections are often missing"
    )


def marked_sections(xml):
    """Paragraphs of a grant's description by the processing instructions that the office puts around its sections."""
    found = {}
    for name, mark in (("drawings", "brief-description-of-drawings"), ("detailed", "DETDESC")):
        if match := re.search(rf"<\?{mark}[^>]*end=\"lead\"\?>(.*?)<\?{mark}[^>]*end=\"tail\"\?>", xml, re.DOTALL):
            found[name] = [
                clean(text, boilerplate=False) for text in re.findall(r"<p [^>]*>(.*?)</p>", match[1], re.DOTALL)
            ]
    return found


def test_the_sections_are_those_that_the_office_marks(real_data):
    """An independent reference: what stands between the marks of the XML, against the headings of the same text without
    them.
    """
    checked = wrong = 0
    for path in sorted((real_data / "bulk" / "uspto").glob("*.xml")):
        for xml in re.split(r"(?=<\?xml )", path.read_text("utf-8", errors="replace")):
            marked = marked_sections(xml)
            description = re.search(r"<description[^>]*>(.*)</description>", xml, re.DOTALL)
            if len(marked) < 2 or description is None:
                continue
            found = split_description(re.sub(r"<\?.*?\?>", "", description[1]))
            for name, paragraphs in marked.items():
                its = " ".join(getattr(found, name).split())
                for paragraph in filter(None, paragraphs):
                    checked += 1
                    wrong += paragraph[:60] not in its
    if not checked:
        pytest.skip("no grant with marks")
    print(checked, wrong)
    assert wrong <= 0.05 * checked
