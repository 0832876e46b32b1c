import gzip
import json
import re
from pathlib import Path

import pytest

from patent_mteb.patents import views
from patent_mteb.patents.claims import (
    ClaimSet,
    claims_text,
    first_independent_claim,
    independent_claims,
    read_claims,
    split_claims,
)
from patent_mteb.patents.records import Claim, Description, ExpertSummary, MachineSummaries, Patent
from patent_mteb.patents.text import clean, clean_patent

DATA = Path(__file__).parents[3] / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the folder with real patents is not here")

PATENT = Patent(
    "US1A1",
    "F1",
    title="Orthosis",
    abstract="An abstract.",
    claims=(Claim(3, "The kit of claim 4.", (4,)), Claim(4, "A splint."), Claim(5, "A method.")),
    description=Description("Back.", "", "Figures.", "Details."),
    keywords=("hand, wrist", "splint"),
    expert=ExpertSummary("DWPI title", "detail", "novelty", "use", "", "focus"),
    summaries=MachineSummaries("a", "f", "c", "ad", "o"),
)


CLAIMS = "3. The kit of claim 4. 4. A splint. 5. A method."
EXPECTED = {
    "Title": "Orthosis",
    "Abstract": "An abstract.",
    "TA": "Orthosis An abstract.",
    "TAC": f"Orthosis An abstract. {CLAIMS}",
    "Claim1": "A splint.",
    "Claims": CLAIMS,
    "Keywords": "hand, wrist, splint",
    "Description": "Back. Figures. Details.",
    "FullText": f"Orthosis An abstract. {CLAIMS} Back. Figures. Details.",
    "Tacd": f"Orthosis An abstract. {CLAIMS} Back. Figures. Details.",
    "DWPIFull": f"DWPI title detail novelty use focus {CLAIMS} An abstract. Orthosis hand, wrist, splint",
    "DWPITA": "DWPI title detail novelty use focus",
}


def test_every_view():
    assert {name: view(PATENT) for name, view in views.VIEWS.items()} == EXPECTED


def test_views_of_a_bare_patent_are_empty():
    assert {view(Patent("US1A1", "F1")) for view in views.VIEWS.values()} == {""}


def test_missing_sections_leave_no_separator():
    patent = Patent("US1A1", "F1", title="Orthosis", claims=(Claim(1, "A splint."),))
    assert views.VIEWS["TA"](patent) == "Orthosis"
    assert views.VIEWS["TAC"](patent) == "Orthosis 1. A splint."


def test_join_sections():
    assert views.join_sections(["a ", "", "  ", " b"]) == "a b"
    assert views.join_sections(iter(["a", "b"]), " [SEP] ") == "a [SEP] b"
    assert views.join_sections([]) == ""


TWO = [(1, "A device with a lever."), (2, "The device of claim 1, bent.")]


@pytest.mark.parametrize(
    "text",
    [
        "1. A device with a lever.\n2. The device of claim 1, bent.",
        "1 . A device with a lever.\n2 . The device of claim 1, bent.",
        "1) A device with a lever.\n2) The device of claim 1, bent.",
        "1: A device with a lever.\n2: The device of claim 1, bent.",
        "1- A device with a lever.\n2- The device of claim 1, bent.",
        "1.A device with a lever.\n2.The device of claim 1, bent.",
        "1、A device with a lever.\n2、The device of claim 1, bent.",
        "1 A device with a lever.\n2. The device of claim 1, bent.",
        "Claim 1. A device with a lever.\nClaim 2. The device of claim 1, bent.",
        "[Claim 1] A device with a lever.\n[Claim 2] The device of claim 1, bent.",
        "1. A device with a lever. 2. The device of claim 1, bent.",
        "1. A device\r\n  with\ta  lever.\r\n\r\n2. The device of claim 1,\r\nbent.\r\n",
        "What is claimed is:\n1. A device with a lever.\n2. The device of claim 1, bent.",
        "What is claimed is: 1. A device with a lever. 2. The device of claim 1, bent.",
        "US 1 A1\n1. A device with a lever.\n2. The device of claim 1, bent.",
        "A device with a lever.\n2. The device of claim 1, bent.",
        "A device with a lever. 2. The device of claim 1, bent.",
        "CLAIMS\n\n1. A device with a lever.\n2. The device of claim 1, bent.\n* * * * *",
        "The embodiments claimed are defined as follows:\n1. A device with a lever.\n2. The device of claim 1, bent.",
        "A device with a lever.\nThe device of claim 1, bent.",
        "A device with a lever. The device of claim 1, bent.",
        "We claim:\nA device\nwith a lever.\nThe device of claim 1, bent.",
        (
            '<claims><claim num="1"><claim-text>1. A device <b>with</b> a lever.</claim-text></claim><claim num="2">'
            '<claim-text>2. The device of <claim-ref idref="CLM-1">claim 1</claim-ref>, bent.</claim-text></claim></claims>'
        ),
        (
            '<claim num="1"><claim-text>A device<claim-text>with a lever.</claim-text></claim-text></claim>'
            '<claim num="2"><claim-text>The device of claim&#160;1, bent.</claim-text></claim>'
        ),
        "1. (Original) A device with a lever.\n2. (Currently Amended) The device of claim 1, bent.",
        "1. (previously presented): A device with a lever.\n2. (New) The device of claim 1, bent.",
    ],
)
def test_forms_of_numbering(text):
    claims = split_claims(text)
    assert [(claim.number, claim.text) for claim in claims] == TWO
    assert [claim.depends_on for claim in claims] == [(), (1,)]


def numbered(text):
    return [(claim.number, claim.text) for claim in split_claims(text)]


def test_no_claims():
    assert read_claims("") == ClaimSet((), ())
    assert split_claims(" \n\n ") == ()
    assert first_independent_claim(()) == ""
    assert claims_text(()) == ""


@pytest.mark.parametrize("form", ["1. {}\n2. {}", "1. {} 2. {}"])
@pytest.mark.parametrize(
    "first",
    [
        "A method comprising: 1) mixing; 2) stirring; and 3) drying.",
        "A method comprising:\n1) mixing;\n2) stirring; and\n3) drying.",
        "A method comprising:\n(1) mixing;\n(2) stirring.",
        "A method comprising:\n1. mixing;\n2. stirring; and\n3. drying.",
        "A method comprising:\n1.1 mixing;\n2.1) stirring.",
        "A method at a pH of at least 2. 5 to 10 % are added.",
        "A peptide of SEQ ID NO. 2.",
        "A peptide of SEQ ID NO. 2. and others.",
        "An alloy with\n2.5 % nickel.",
        "A compound, which is 2-chloro-4-(1,3-dioxo-2. 3)phenol.",
    ],
)
def test_numbers_within_a_claim(form, first):
    second = "The method of claim 1, wherein 3. is left out."
    assert numbered(form.format(first, second)) == [(1, " ".join(first.split())), (2, second)]


def test_claims_without_full_stops():
    text = "1. A device\n2. The device of claim 1\n3. A system comprising:\na lever\n4. A method"
    assert numbered(text) == [
        (1, "A device"),
        (2, "The device of claim 1"),
        (3, "A system comprising: a lever"),
        (4, "A method"),
    ]
    assert numbered("1. A device 2. The device of claim 1 3. A kit")[1:] == [(2, "The device of claim 1"), (3, "A kit")]


def test_numbers_left_out_and_out_of_sequence():
    gap = "21. A device.\n23. The device of claim 21.\n29. A method."
    assert [number for number, _ in numbered(gap)] == [21, 23, 29]
    assert [number for number, _ in numbered(gap.replace("\n", " "))] == [21, 23, 29]
    twice = (
        "1. A device.\n2. The device of claim 1, wherein a.\n2. The device of claim 1, wherein b.\n3. The device of"
        " claim 2."
    )
    assert [number for number, _ in numbered(twice)] == [1, 2, 2, 3]
    swapped = "1. A device.\n3. The device of claim 1.\n2. The device of claim 1.\n4. A method."
    assert [number for number, _ in numbered(swapped)] == [1, 3, 2, 4]


@pytest.mark.parametrize(
    ("text", "kept", "cancelled"),
    [
        ("1. A device.\n2. (canceled)\n3. A method.", [1, 3], (2,)),
        ("1. A device.\n2. (Cancelled).\n3. A method.", [1, 3], (2,)),
        ("1. A device.\n2. [canceled]\n3. Canceled.\n4. A method.", [1, 4], (2, 3)),
        ("1. A device. 2. (canceled) 3. A method.", [1, 3], (2,)),
        ("1-3. (canceled)\n4. A method.\n5. The method of claim 4.", [4, 5], (1, 2, 3)),
        ("1.-3. (canceled)\n4. A method.\n5. The method of claim 4.", [4, 5], (1, 2, 3)),
        ("1. to 3. (canceled)\n4. A method.\n5. The method of claim 4.", [4, 5], (1, 2, 3)),
        ("1-3. (canceled) 4. A method. 5. The method of claim 4.", [4, 5], (1, 2, 3)),
        ("1. A device.\n2, 3 and 5-6. (canceled)\n7. A method.", [1, 7], (2, 3, 5, 6)),
        ("1. A device.\n2. (withdrawn)\n3. (Withdrawn) A method.", [1, 3], (2,)),
        ("1. A device.\n2.\n3. A method.", [1, 3], ()),
        ("1-2. (canceled)", [], (1, 2)),
    ],
)
def test_cancelled_claims(text, kept, cancelled):
    claims = read_claims(text)
    assert [claim.number for claim in claims.claims] == kept
    assert claims.cancelled == cancelled
    assert not any("cancel" in claim.text.lower() or "(" in claim.text for claim in claims.claims)


@pytest.mark.parametrize(
    ("text", "depends_on"),
    [
        ("A device, wherein claims are processed for an insurance claim.", ()),
        ("A device.", ()),
        ("The device of claim 1.", (1,)),
        ("A device according to Claim 2, wherein", (2,)),
        ("A device as claimed in claim1", (1,)),
        ("The device of claim 1 or 2.", (1, 2)),
        ("The device of claim 1 or claim 3.", (1, 3)),
        ("The device of any one of claims 1 to 3.", (1, 2, 3)),
        ("The device of any one of claims 1-3 and 5.", (1, 2, 3, 5)),
        ("The device of claims 1, 2, and/or 4.", (1, 2, 4)),
        ("The device of claims 1,2,4.", (1, 2, 4)),
        ("The device of claims 1 through 3 or of claim 5.", (1, 2, 3, 5)),
        ("The device of any of claims 1 to any of claims 3.", (1, 2, 3)),
        ("The device of one of the claims 2 to 4.", (2, 3, 4)),
        ("The device of any preceding claim.", (1, 2, 3, 4, 5)),
        ("The device as claimed in one of the preceding claims.", (1, 2, 3, 4, 5)),
        ("The device according to any of the previous device claims.", (1, 2, 3, 4, 5)),
        ("The device of any of the above-mentioned claims.", (1, 2, 3, 4, 5)),
        ("The device of any of the foregoing claims 1 to 2.", (1, 2)),
        ("The device of any one of the claims.", (1, 2, 3, 4, 5)),
        ("The device of the preceding claim.", (5,)),
        ("The device of claim, wherein", (5,)),
        ("The device of claim l, wherein", (1,)),
        ("The device of claim. 3 wherein", (3,)),
        ("The device of claim 1, 5% of which", (1,)),
        ("The device of claim 1, 2-chlorophenol being", (1,)),
        ("The device of claims 1 to 90.", (1, 2, 3, 4, 5)),
        ("The device of claim 90.", (90,)),
        ("The device of claim 6.", (5,)),
        ("A device with a lever. The device of claim 6, with a valve.", ()),
        ("The device of any one of claims 4 to 6.", (4, 5)),
        ("A device, wherein during step (a) of this claim 6 it rests.", ()),
        ("A system comprising the device of claim 1.", (1,)),
        ("A method of making the device as defined in claims 2 and 4, comprising", (2, 4)),
    ],
)
def test_references(text, depends_on):
    before = "".join(f"{number}. A device {number}.\n" for number in range(1, 6))
    assert split_claims(before + "6. " + text)[-1] == Claim(6, text, depends_on)


def test_a_claim_that_mentions_itself_does_not_depend_on_itself():
    """Claim 2 has lost its number and is at the end of claim 1, which stays the first independent claim."""
    text = (
        "1. A virus containing a site. A virus according to claim 1, being DNA. 2. A virus of claim 1, frozen. 3. A kit"
        " comprising a vial."
    )
    claims = split_claims(text)
    assert [claim.depends_on for claim in claims] == [(), (1,), ()]
    assert first_independent_claim(claims) == claims[0].text


@pytest.mark.parametrize(
    "text", ["1 , A pump.\n2. The pump of claim 1, with a seal.", "I . A pump.\n2 . The pump of claim 1, with a seal."]
)
def test_claims_whose_numbers_were_misread_keep_their_first_claim(text):
    claims = split_claims(text)
    assert first_independent_claim(claims).endswith("A pump.")
    assert claims[1].depends_on == (1,)


def test_references_leave_cancelled_claims_out_of_ranges():
    claims = split_claims(
        "1. A device.\n2-3. (canceled)\n4. A lever.\n5. The device of claims 1-4.\n6. The device of claim 2."
    )
    assert [claim.depends_on for claim in claims] == [(), (), (1, 4), (2,)]


def test_first_independent_claim():
    first = split_claims("1. (canceled)\n2. The kit of claim 3.\n3. A lever.\n4. A splint.")
    assert first_independent_claim(first) == "A lever."
    assert [claim.number for claim in independent_claims(first)] == [3, 4]
    orphans = split_claims("1. (canceled)\n2. The kit of claim 1.\n3. The kit of claim 2.")
    assert independent_claims(orphans) == ()
    assert first_independent_claim(orphans) == "The kit of claim 1."


def test_claims_text_reads_back():
    claims = split_claims("1. A device.\n2. The device of claim 1.\n4. A kit comprising:\na lever.")
    assert claims_text(claims) == "1. A device. 2. The device of claim 1. 4. A kit comprising: a lever."
    assert claims_text(claims, "\n") == "1. A device.\n2. The device of claim 1.\n4. A kit comprising: a lever."
    for separator in (" ", "\n"):
        assert split_claims(claims_text(claims, separator)) == claims


@pytest.mark.parametrize(
    "text",
    [
        "if a < b and c > d then a<b>c",
        "n1<n2<n3 or n1>n2>n3; T<5, ~40 % with N=T, and T>N",
        "/dboxstorage/<ceph_idx>/<pool_idx>/<dataid>",
        "the start token <s> and <request> and <<layer by layer>>",
        "Orthosis [SEP] [abstract] a hand [Sep]",
        "DSPE-PEG[2000]-Mal (US2007027082 [0115]) and see paragraph [0012] of it",
        "AT&T; R&D, P&ID, a&b",
        "1-(2-{[4-(Δ9)-yl]}) ≤ 5 × 10⁻³ µm, ∑x² ≈ ½ °C, 𝑥",
        "PROBLEM TO BE SOLVED: To bend. SOLUTION: A lever.",
        "FIELD: medicine. SUBSTANCE: a lever. EFFECT: bends.",
        "A device in the field of art. Summary statistics are shown.",
        "The government has set new limits for emissions.",
        "EXAMPLE 1",
        "Definitions",
    ],
)
def test_clean_leaves_real_text_alone(text):
    assert clean(text) == text
    assert clean(text, boilerplate=False) == text


@pytest.mark.parametrize(
    ("dirty", "plain"),
    [
        ("H<sub>2</sub>O and <i>in vitro</i><br/>next", "H2O and in vitro next"),
        ('<p id="p-0001" num="0001">One.</p><p>Two.</p>', "One. Two."),
        ("<?brief end?><!-- note -->A <FIGREF idref='D1'>FIG. 1</FIGREF>", "A FIG. 1"),
        ("<ul><li>one</li><li>two</li></ul>", "one two"),
        ("a &lt; b &amp;&nbsp;c &#8805; d &#x2265; e &deg;C", "a < b & c ≥ d ≥ e °C"),
        ("H&lt;sub&gt;2&lt;/sub&gt;O &amp;lt; &amp;amp;micro;", "H2O < µ"),
        ("&notanentity; &not;", "&notanentity; ¬"),
        (
            "soft\u00adhyphen zero\u200bwidth \ufeffmark a\u2062b \u202eturn\x00\x07",
            "softhyphen zerowidth mark ab turn",
        ),
        (" a \t b\u00a0c\u2003d \r\n\r\n e\u2028f ", "a b c d e f"),
        ("", ""),
        (" \n\t ", ""),
    ],
)
def test_clean_markup_and_white_space(dirty, plain):
    assert clean(dirty) == plain
    assert clean(dirty, boilerplate=False) == plain


@pytest.mark.parametrize(
    ("dirty", "plain"),
    [
        ("DESCRIPTION\nTECHNICAL FIELD\nThe invention relates to levers.", "The invention relates to levers."),
        ("1. Field of the Invention\nLevers.\n2. Description of the Related Art\nBars.", "Levers. Bars."),
        ("**Patent Documents**\nUS 5.\nII. Background\nBars.", "US 5. Bars."),
        ("BRIEF DESCRIPTION OF THE DRAWINGS\nFIG. 1 shows a lever.", "FIG. 1 shows a lever."),
        (
            "RELATED APPLICATIONS\nThis application claims priority to US 1/2.\nIt is a continuation of US 1/1.\nLevers bend.",
            "Levers bend.",
        ),
        (
            "STATEMENT REGARDING FEDERALLY SPONSORED RESEARCH\nNot Applicable\nBACKGROUND\nThe government pays for levers.",
            "The government pays for levers.",
        ),
        (
            "STATEMENT AS TO RIGHTS TO INVENTIONS MADE UNDER FEDERALLY SPONSORED RESEARCH\nGovernment support.\nLevers are known.",
            "Levers are known.",
        ),
        (
            "STATEMENT AS TO RIGHTS TO INVENTIONS MADE UNDER FEDERALLY SPONSORED RESEARCH AND DEVELOPMENT\nNot applicable\nLevers bend.",
            "Levers bend.",
        ),
        (
            "This invention was made with government support under grant X. The government has certain rights in it.\nLevers are known.",
            "Levers are known.",
        ),
        ("[0001] Levers bend. [0002] Bars too, as in US 1 [0115].", "Levers bend. Bars too, as in US 1 [0115]."),
        ("[0001]Levers bend.\n【0002】Bars too.", "Levers bend. Bars too."),
        ("(57) ABSTRACT: A lever.", "A lever."),
        ("Abstract\nA lever.", "A lever."),
        ("BACKGROUND OF THE INVENTION Levers bend. SUMMARY OF THE INVENTION: Bars too.", "Levers bend. Bars too."),
        ("CROSS-REFERENCE TO RELATED APPLICATIONS BACKGROUND OF THE INVENTION Levers bend.", "Levers bend."),
        (
            "PROBLEM TO BE SOLVED: To bend.SOLUTION: A lever. SELECTED DRAWING: Figure 1 COPYRIGHT: (C)2004,JPO&NCIPI",
            "PROBLEM TO BE SOLVED: To bend.SOLUTION: A lever.",
        ),
        ("A lever bends. COPYRIGHT: (C)2010,JPO&INPIT", "A lever bends."),
        ("FIELD:\nmedicine.\nSUBSTANCE:\na lever.", "FIELD: medicine. SUBSTANCE: a lever."),
    ],
)
def test_clean_boilerplate(dirty, plain):
    assert clean(dirty) == plain
    assert clean(plain) == plain
    assert clean(dirty, boilerplate=False) == " ".join(dirty.split())


def test_legal_paragraphs_end_where_the_text_begins():
    text = (
        "RELATED APPLICATIONS\nThis application claims the benefit of US 1.\nLevers bend.\nA sequence listing is a"
        " list."
    )
    assert clean(text) == "Levers bend. A sequence listing is a list."


def test_one_line_is_never_taken_for_a_legal_paragraph():
    text = "This application claims priority to US 1. The invention is a lever."
    assert clean(text) == text


def test_clean_patent():
    dirty = Patent(
        "US1A1",
        "F1",
        title=" A <b>lever</b>\n",
        abstract="ABSTRACT\nA&nbsp;lever.",
        claims=(Claim(1, "A\nlever."), Claim(2, " \u200b "), Claim(3, "The <i>lever</i> of claim 1.", (1,))),
        description=Description("BACKGROUND\nBars.", "", "", "[0002] Levers."),
        keywords=("a  b", "\t", "c"),
        expert=ExpertSummary(title="T&amp;T"),
        summaries=MachineSummaries(claims=" x "),
        ipc=("A61F 2/06",),
    )
    assert clean_patent(dirty) == Patent(
        "US1A1",
        "F1",
        title="A lever",
        abstract="A lever.",
        claims=(Claim(1, "A lever."), Claim(3, "The lever of claim 1.", (1,))),
        description=Description("Bars.", "", "", "Levers."),
        keywords=("a b", "c"),
        expert=ExpertSummary(title="T&T"),
        summaries=MachineSummaries(claims="x"),
        ipc=("A61F 2/06",),
    )
    assert clean_patent(PATENT) == PATENT


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        "<p a=b ",
        "<",
        "&amp;",
        "&#38;",
        "* ",
        "- ",
    ],
)
def test_repetitive_text_is_read(piece):
    text = "1. A device of " + piece * (20_000 // len(piece))
    assert clean(text).startswith("1. A device of")


def line_by_line(text):
    """Independent reader: a line that opens with the number that is next opens a claim, and nothing else does."""
    claims, cancelled, following = [], [], 1
    for line in re.sub("[\u2061-\u2064]", "", text).split("\n"):
        match = re.match(r"\s*(\d+)\.?(?: ?- ?(\d+)\.?)? (.*)", line)
        if match and int(match[1]) == following:
            following = int(match[2] or match[1]) + 1
            if re.fullmatch(r"\(cancell?ed\)", match[3].strip()):
                cancelled.extend(range(int(match[1]), following))
            else:
                claims.append([int(match[1]), match[3]])
        elif claims:
            claims[-1][1] += " " + line
    return [(number, " ".join(body.split())) for number, body in claims], cancelled


@pytest.mark.slow
@needs_data
def test_real_claim_sets_against_a_line_by_line_reader():
    texts = []
    for name in ("pap2pat", "uspto"):
        with gzip.open(DATA / name / "patents.jsonl.gz", "rt", encoding="utf-8") as lines:
            texts += [json.loads(line)["claims"] for line in lines][::4]
    sets = [read_claims(text) for text in texts]
    same = [
        ([(claim.number, claim.text) for claim in found.claims], list(found.cancelled)) == line_by_line(text)
        for text, found in zip(texts, sets, strict=True)
    ]
    # the others are misnumbered, have run-on lines, other forms of numbering or typing errors
    assert (len(same), sum(same)) == (511, 501)
    assert sum(len(found.claims) for found in sets) == 11_076
    assert sum(len(independent_claims(found.claims)) for found in sets) == 1_467
    assert all(first_independent_claim(found.claims) for found in sets)


@pytest.mark.slow
@needs_data
def test_real_descriptions_cleaned():
    with gzip.open(DATA / "pap2pat" / "patents.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [row["description"] for row in map(json.loads, lines)]
    cleaned = [clean(text) for text in texts[::3]]
    for before, after in zip(texts[::3], cleaned, strict=True):
        assert clean(after) == after
        assert not re.match(r"(?:DESCRIPTION|BACKGROUND|TECHNICAL FIELD|CROSS)\b", after)
        assert "\n" not in after
        assert len(after) > 0.9 * len(" ".join(before.split()))
    assert not any(text.startswith("STATEMENT AS TO") for text in cleaned)
    assert sum("overnment support under" in text for text in texts[::3]) == 61
    assert sum("overnment support under" in text for text in cleaned) == 0
