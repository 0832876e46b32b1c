"""The documentation is built, and nothing in it leads nowhere."""

from __future__ import annotations

import html.parser
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

DOCS = Path(__file__).parents[1] / "docs"


class Page(html.parser.HTMLParser):
    """The links and anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.anchors |= {found[name] for name in ("id", "name") if found.get(name)}
        self.links += [found[name] for name in ("href", "src") if found.get(name)]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built pages by their paths."""
    for needed in ("sphinx", "furo", "myst_parser"):
        pytest.importorskip(needed)
    out = tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "--keep-going",
        "-d",
        str(out / "tree"),
        str(DOCS),
        str(out / "html"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {
        path.relative_to(out / "html").as_posix(): path.read_text("utf-8") for path in (out / "html").rglob("*.html")
    }, out / "html"


@pytest.mark.slow
def test_no_link_leads_nowhere(site):
    texts, root = site
    pages = {path: Page(text) for path, text in texts.items()}
    dead, looked_at = [], 0
    for path, page in pages.items():
        for link in page.links:
            target, anchor = urldefrag(unquote(link))
            target = target.partition("?")[0]
            if "://" in target or target.startswith(("mailto:", "data:")) or path.startswith("report/"):
                continue
            looked_at += 1
            place = (root / path).parent / target if target else root / path
            name = place.resolve().relative_to(root.resolve()).as_posix()
            if not place.is_file() or (anchor and name in pages and anchor not in pages[name].anchors):
                dead.append(f"{path}: {link}")
    assert looked_at > 500 and not dead


@pytest.mark.slow
def test_what_is_generated_is_there(site):
    from patent_mteb.cli import COMMANDS
    from patent_mteb.report.page import unpacked
    from patent_mteb.tasks import catalogue

    texts, _ = site
    assert all(task.metadata.name in texts["tasks.html"] for task in catalogue.tasks())
    assert all(benchmark.name in texts["benchmarks.html"] for benchmark in catalogue.mteb_benchmarks())
    assert all(f"patent-mteb {command}" in texts["commands.html"] for command in COMMANDS)
    assert "PatentCitationRetrieval.sample" in texts["start.html"] and "PATENT_MTEB_DATA" in texts["data.html"]
    assert "bm25-dapfam" in unpacked(re.search(r'id="payload">(.*?)<', texts["report/index.html"])[1])
    assert "patent_mteb.experiments.plan.plan" in texts["api.html"]
