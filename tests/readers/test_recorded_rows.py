"""The rows of ``../shared/data/uspto`` and ``pap2pat``, read with ``json`` alone: every field of every record."""

import gzip
import json
import re
import unicodedata
from collections import Counter

import pytest
from paths import SHARED
from second_reading import referred

from patent_mteb.patents.records import Citation, Patent
from patent_mteb.readers import recognise

CANCELLED = r"(?:claims?)?(?:\d+[.,]?(?:-|to|and)?)+\w?[.:]?[(\[]?(?:cancell?ed|withdrawn|deleted)[)\]]?[.;]?"
MARK = re.compile(
    rf"(?:{CANCELLED})*(?:[(\[]?(?:claim)?\d+[)\]]?[.):-]*)?(?:{CANCELLED}|\(originallypresented\))*", re.IGNORECASE
)


def squeezed(text):
    """A text without blanks, line ends and invisible characters."""
    return "".join(one for one in text if not one.isspace() and unicodedata.category(one) != "Cf")


def normal(number):
    """A number of the United States or WIPO as DOCDB writes it; one without office as it is written."""
    bare = re.sub(r"[^A-Z\d]", "", number.upper())
    if bare.startswith("WO"):
        year, serial = (bare[2:6], bare[6:]) if bare[2:4] in ("19", "20") and len(bare) > 10 else (bare[2:4], bare[4:])
        century = "" if len(year) == 4 else "19" if year > "77" else "20"
        return f"WO{century}{year}{serial.lstrip('0'):0>6}"
    if application := re.fullmatch(r"PCT([A-Z]{2})(\d\d)(\d+)", bare):
        return f"WO20{application[2]}{application[1]}{application[3]:0>6}W"
    if not re.match(r"[A-Z]{2}", number):
        return number
    return re.sub(r"^US(PP|D|RE|H)?0+", r"US\1", re.sub(r"^US(20\d\d)0(\d{6})", r"US\1\2", bare))


def same_claims(written, claims):
    """Whether claims have the texts of a text in its order; numbers and cancelled claims are between them."""
    rest, start, between = squeezed(written), 0, []
    for claim in claims:
        text = squeezed(claim.text)
        if (found := rest.find(text, start)) < 0:
            return False
        between.append(rest[start:found])
        if (printed := re.findall(r"\d+", between[-1])) and int(printed[-1]) != claim.number:
            return False
        start = found + len(text)
    return all(MARK.fullmatch(one) for one in (*between, rest[start:]))


def same_lines(written, lines):
    """Whether a description has all lines of a text, which it sorts into sections; headings without text may miss."""
    wanted, got = (Counter(filter(None, map(squeezed, one))) for one in (written.splitlines(), lines))
    return not got - wanted and all(line.upper() == line and len(line) < 60 for line in wanted - got)


def code(text):
    return re.sub(r"(?<=^[A-Z]\d\d[A-Z])0+", "", text)


FIELDS = {
    "title": lambda row, one: squeezed(row["title"]) == squeezed(one.title),
    "abstract": lambda row, one: squeezed(row["abstract"]) == squeezed(one.abstract),
    "claims": lambda row, one: same_claims(row["claims"], one.claims),
    "ipc": lambda row, one: list(dict.fromkeys(map(code, row["ipc"]))) == list(one.ipc),
    "inventors": lambda row, one: list(dict.fromkeys(row["inventors"])) == list(one.inventors),
    "description": lambda row, one: same_lines(row["description"], one.description.lines()),
}


SLIPS = {"uspto": 1, "pap2pat": 50}


@pytest.mark.slow
@pytest.mark.parametrize("name, records", [("uspto", 225), ("pap2pat", 1813)])
def test_every_field_of_the_rows_is_read(name, records, compared):
    path = SHARED / name / "patents.jsonl.gz"
    if not path.is_file():
        pytest.skip(f"no ../shared/data/{name}")
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream]
    items = list(recognise(path).read(path))
    patents = [one for one in items if isinstance(one, Patent)]
    cited = {}
    for one in items:
        if isinstance(one, Citation):
            cited.setdefault(one.citing, []).append(one.cited)
    assert len(patents) == len(rows) == records
    wrong, fields = [], 0
    for row, patent in zip(rows, patents, strict=True):
        found = {field: same(row, patent) for field, same in FIELDS.items() if field in row}
        found["publication_number"] = patent.publication_number == normal(row["publication_number"])
        if "cites" in row:
            found["cites"] = cited.get(patent.publication_number, []) == list(map(normal, row["cites"]))
        fields += len(found)
        wrong += [(row["publication_number"], field) for field, same in found.items() if not same]
    compared(f"{name}/patents.jsonl.gz", len(patents), fields, fields - len(wrong))
    assert not wrong
    claims = [(one.publication_number, claim) for one in patents for claim in one.claims]
    other = [pair for pair in claims if referred(pair[1].text, pair[1].number) != pair[1].depends_on]
    # References of a claim to itself, to 'claim 1 1' and to 'claim' need a judgement; no other reference differs.
    assert len(other) <= SLIPS[name] < len(claims) / 500, other[-5:]
