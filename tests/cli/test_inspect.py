"""patent-mteb data inspect: a page whose commands can be pasted, and the same as JSON."""

from __future__ import annotations

import json
import re
import shlex
from typing import get_args

import pytest
from family_tables import write_families
from scipy.stats import t

from patent_mteb import cli, sample
from patent_mteb.cli import app, data
from patent_mteb.experiments.inspection import EXACT_UP_TO
from patent_mteb.patents.families import DEFINITIONS
from patent_mteb.patents.records import Citation, Patent, write_records


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    root = tmp_path_factory.mktemp("my records")
    patents, citations = sample.load()
    numbers = {patent.publication_number for patent in patents[:90]}
    write_records(root / "patents" / "one.parquet", Patent, patents[:90])
    write_records(
        root / "citations" / "one.parquet", Citation, [citation for citation in citations if citation.citing in numbers]
    )
    write_families(root / "families.parquet", {"US1B2": patents[0].family_id})
    return root


@pytest.mark.slow
def test_the_commands_of_the_page_run(records, tmp_path, capsys):
    patents, citations = records / "patents", records / "citations"
    assert cli.main(["data", "inspect", str(patents), str(citations)]) == 0
    page = capsys.readouterr().out
    commands = re.findall(r"^  (patent-mteb data build .*)$", page, re.MULTILINE)
    assert len(commands) >= 3
    shown = re.findall(r"^  ([\d,]+) queries can show differences of ([\d.]+)\*$", page, re.MULTILINE)
    assert len(shown) >= 2
    for queries, difference in shown:
        n = int(queries.replace(",", ""))
        quantiles = t.ppf(0.975, n - 1) + t.ppf(0.8, n - 1)
        assert float(difference) == pytest.approx(quantiles * 0.25 / n**0.5, abs=0.0006)
    assert "0.01 needs 4,908 queries" in page
    for command in commands:
        words = shlex.split(command)
        words[words.index("ROOT")] = str(tmp_path / words[2])
        assert cli.main(words[1:]) == 0


@pytest.mark.slow
def test_the_same_as_json_and_without_trying(records, capsys):
    assert cli.main(["data", "inspect", str(records), "--json", "--most", "0", "--families", "extended"]) == 0
    document = json.loads(capsys.readouterr().out)["result"]
    assert (document["publications"], document["plans"], document["family_definition"]) == (90, [], "extended")
    assert document["members_without_record"] == 1
    assert document["matching"]["number"]["links"] > 0


def test_the_words_of_the_options_are_those_of_the_package():
    assert tuple(DEFINITIONS) == get_args(data.Families)
    _, bound = app.parse(["data", "inspect", "records"])
    bound.apply_defaults()
    assert bound.arguments["most"] == EXACT_UP_TO
