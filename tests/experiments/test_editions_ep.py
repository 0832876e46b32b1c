"""The whole way of PatentOpenEP on real files of the EPO, with citations in the tables and columns of PATSTAT that the
test writes.
"""

import csv

import pytest
from paths import SHARED

from patent_mteb import cli
from patent_mteb.files import read_jsonl
from patent_mteb.recipes import open_layout as layout
from patent_mteb.recipes.open_ep import read_languages

BULK = SHARED / "bulk" / "eps"
PUBLICATIONS = {
    "1": ("2136607", "A2", "9", "2009-12-23"),
    "2": ("2136607", "A3", "9", "2012-03-07"),  # which brought the search report
    "3": ("1019261", "B1", "2", "2003-07-09"),
    "4": ("1442058", "B1", "3", "2006-07-19"),
    "5": ("0546210", "B2", "4", "2003-07-09"),
    "6": ("2007181", "A2", "5", "2008-12-24"),
    "7": ("1873405", "A2", "6", "2008-01-02"),
    "8": ("3889521", "A1", "7", "2021-10-06"),
}
CITED = [
    ("2", "3", "X", "1"),
    ("2", "4", "A", "1"),
    ("2", "5", "Y", "2"),
    ("6", "5", "X", "1"),
    ("6", "7", "X", "2"),
    ("8", "7", "Y", "1"),
]
"""Citing, cited, letter, claim. EP1873405A2 is of 2008, later than the priority of EP2007181A2."""


def patstat(folder):
    """tls211, tls212 and tls215 as they are handed out: a citation, and its letters in a table of their own."""
    tables = {
        "tls211_part01": [
            [
                "pat_publn_id",
                "publn_auth",
                "publn_nr",
                "publn_nr_original",
                "publn_kind",
                "appln_id",
                "publn_date",
                "publn_lg",
            ],
            *(
                (key, "EP", number, number, kind, application, day, "en")
                for key, (number, kind, application, day) in PUBLICATIONS.items()
            ),
        ],
        "tls212_part01": [
            [
                *("pat_publn_id", "citn_replenished", "citn_id", "citn_origin", "cited_pat_publn_id", "cited_appln_id"),
                *("pat_citn_seq_nr", "cited_npl_publn_id", "npl_citn_seq_nr", "citn_gener_auth"),
            ],
            *(
                (one, "0", str(n), "SEA", other, "0", str(n), "0", "0", "EP")
                for n, (one, other, _, _) in enumerate(CITED, 1)
            ),
        ],
        "tls215_part01": [
            ["pat_publn_id", "citn_replenished", "citn_id", "citn_categ", "relevant_claim"],
            *((one, "0", str(n), letter, claim) for n, (one, _, letter, claim) in enumerate(CITED, 1)),
        ],
    }
    folder.mkdir()
    for name, rows in tables.items():
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as out:
            csv.writer(out).writerows(rows)
    return folder / "tls212_part01.csv"


@pytest.mark.slow
@pytest.mark.skipif(not BULK.is_dir(), reason="shared/data/bulk is not here")
def test_the_whole_way_on_real_files(tmp_path, monkeypatch, capsys):
    texts, citations = sorted(BULK.iterdir()), patstat(tmp_path / "patstat")
    for name, files in (("one", [*texts, citations]), ("two", [citations, *texts[::-1]])):
        assert cli.main(["data", "import", "-v", "0", *map(str, files), "--out", str(tmp_path / name)]) == 0
    first = tmp_path / "edition"
    words = ["edition", "build", "open-ep", str(tmp_path / "one"), str(first), "--window", "2008-01-01:2021-12-31"]
    assert cli.main(words) == 0
    assert (
        cli.main(["edition", "rebuild", *map(str, (first / "manifest", tmp_path / "two", tmp_path / "rebuilt"))]) == 0
    )
    for file in ("texts.tsv", "judgements.tsv"):
        assert (first / "manifest" / file).read_bytes() == (tmp_path / "rebuilt" / "manifest" / file).read_bytes()

    place = first / "PatentOpenEP"
    qrels = layout.read_subset(place / "claims").qrels
    assert qrels["EP2136607A2#1"] == {"EP1019261B1": 3, "EP1442058B1": 1, "EP0546210B2": 0}
    assert qrels["EP2007181A2#1"] == {"EP0546210B2": 3}, "EP1873405A2 came too late"
    assert qrels["EP3889521A1#1"] == {"EP1873405A2": 2}
    assert read_languages(place)["EP2136607A2"] == "de"
    french = {
        row["_id"]: row["text"]
        for _, row in read_jsonl(place / "claim_texts/fr/corpus.jsonl", ("_id", "text"), ("title",))
    }
    assert french["EP1019261B1#fr"].startswith("1. ")
    assert "selon la revendication 1" in french["EP1019261B1#fr"]

    monkeypatch.setenv("PATENT_MTEB_DATA", str(first))
    edition = "PatentOpenEP2008010120211231"
    asked = [
        f"{edition}Claim{pair}Retrieval"
        for pair in ("ToClaims", "DeToClaimsFr", "DeToClaimsEn", "EnToClaimsDe", "ToDescription")
    ]
    capsys.readouterr()
    assert cli.main(["run", "-v", "0", "-m", "bm25", "--out", str(tmp_path / "results"), "-t", *asked]) == 0
    assert {path.name.partition(".")[0] for path in (tmp_path / "results").rglob("PatentOpenEP2008*.json")} == set(
        asked
    )
    assert cli.main(["report", "-v", "0", str(tmp_path / "results"), "--out", str(tmp_path / "report")]) == 0
    assert "PatentOpenEP2008" in capsys.readouterr().out
