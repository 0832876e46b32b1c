"""What pages of the documentation show is what the commands print and what the code makes, and it is whole as plain Markdown."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import outputs
import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLE = ROOT / "docs" / "example"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_reads_whole_on_a_git_host(page):
    """No directive of Sphinx stands where its result should, and no link leads to a file that only a build makes."""
    text = page.read_text("utf-8")
    assert not re.findall(r"^(?:`{3,}|:{3,})\{.*|^<iframe.*", text, re.M)
    prose = re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.M | re.S)
    links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", prose)]
    own = [link for link in links if link and "://" not in link and not link.startswith("mailto:")]
    assert not [link for link in own if "generated" in link or not (page.parent / link).exists()]
    assert not re.search(r"(?<![\w.])/(?:root|home|tmp|work)/", text)


def test_every_page_is_in_the_contents():
    text = (ROOT / "docs" / "index.md").read_text("utf-8").partition("## Use")[2]
    assert set(re.findall(r"\]\((\w\S*)\.md\)", text)) == {page.stem for page in PAGES[2:]} - {"index"}


@pytest.mark.parametrize("name", outputs.pages(outputs.MADE))
def test_tables_are_those_of_the_code(name):
    text = (ROOT / "docs" / f"{name}.md").read_text("utf-8")
    assert outputs.made(text) == text


@pytest.mark.slow
@pytest.mark.parametrize("name", outputs.pages(outputs.CONSOLE))
def test_a_journey_shows_what_its_commands_print(name, python):
    """From an empty folder; a command that fails raises."""
    text = (ROOT / "docs" / f"{name}.md").read_text("utf-8")
    own = outputs.environment()
    printed = outputs.run(text, own | {"PATH": f"{Path(python).parent}{os.pathsep}{own['PATH']}"})
    assert outputs.normal(printed) == outputs.normal(text)
    assert len(printed) > 1.2 * len(outputs.CONSOLE.sub("", text))


@pytest.mark.slow
def test_a_notebook_shows_what_its_cells_return(monkeypatch):
    """In an empty folder, from the first cell to the last; all columns of its frames are shown."""
    monkeypatch.delenv("PATENT_MTEB_QUERY_SCORES", raising=False)
    text = outputs.NOTEBOOK.read_text("utf-8")
    assert outputs.notebook() == text
    assert text.count('"execute_result"') == 3 and "not distinguishable: nDCG@10 0." in text and "…\xa0" not in text


def test_what_varies_is_not_compared_and_scores_are():
    shown = "task       value  seconds\nA.sample  0.2899      9.8\n\n1 row 2026-11-28 in 2.5 min by 0.1.0+abc"
    later = "task       value  seconds\nA.sample  0.2899    12.25\n\n1 row 2027-01-02 in 13 min by 0.2.0"
    assert outputs.normal(shown) == outputs.normal(later)
    assert outputs.normal("model a/b: an embedding\nmodel, as it is") == outputs.normal(
        "model a/b: an\nembedding model, as it is"
    )
    assert outputs.normal(shown) != outputs.normal(shown.replace("0.2899", "0.2898"))
    assert outputs.normal(shown) != outputs.normal(shown.replace("1 row", "2 rows"))


def test_the_example_page_has_three_models_and_is_small():
    from report_folders import payload_of

    page, picture = EXAMPLE / "index.html", EXAMPLE / "page.png"
    text = page.read_text("utf-8")
    assert page.stat().st_size < 1_000_000 and picture.stat().st_size < 200_000
    shown = json.dumps(payload_of(text))
    assert all(name in shown for name in ("bm25", "wordllama", "all-MiniLM-L6-v2"))
    assert not re.search(r"/(?:root|home|tmp|work)/", shown)
    assert int.from_bytes(picture.read_bytes()[16:20], "big") == 1400
