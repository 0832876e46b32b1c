"""The documentation is built, and nothing in it leads nowhere."""

from __future__ import annotations

import html
import html.parser
import json
import os
import re
import shutil
import subprocess
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


BUILD = """
import sys
sys.path.insert(0, sys.argv[1])
import generate
from patent_mteb.cli import app
from sphinx.cmd.build import main
command = generate.quietly
def quietly(*words):
    return app.parse([*map(str, words)]) if words[0] == "run" else command(*words)
generate.quietly = quietly
sys.exit(main(["-q", "-W", "--keep-going", "-d", f"{sys.argv[2]}/tree", sys.argv[1], f"{sys.argv[2]}/html"]))
"""
"""The build of the documentation, with the results that are there; its own runs are read only, as MiniLM takes a minute."""


@pytest.fixture(scope="module")
def site(tmp_path_factory, scored_sample, python):
    """The built pages by their paths. Commands on the pages run in forks, too."""
    for needed in ("sphinx", "furo", "myst_parser"):
        pytest.importorskip(needed)
    shutil.copytree(scored_sample, DOCS / "work", dirs_exist_ok=True)
    out = tmp_path_factory.mktemp("site")
    own = os.environ | {"PATH": f"{Path(python).parent}{os.pathsep}{os.environ['PATH']}"}
    command = [python, "-c", BUILD, str(DOCS), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=own)
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
            if "://" in target or target.startswith(("mailto:", "data:")) or path.startswith("example/"):
                continue
            looked_at += 1
            place = (root / path).parent / target if target else root / path
            name = place.resolve().relative_to(root.resolve()).as_posix()
            if not place.is_file() or (anchor and name in pages and anchor not in pages[name].anchors):
                dead.append(f"{path}: {link}")
    assert looked_at > 500 and not dead


@pytest.mark.slow
def test_what_is_generated_is_there(site):
    from report_folders import payload_of

    from patent_mteb.cli import COMMANDS
    from patent_mteb.tasks import catalogue

    texts, _ = site
    for task in catalogue.tasks():
        assert "get_task" in (page := texts[f"generated/tasks/{task.metadata.name}.html"])
        assert ("Scores on the sample" in page) == (
            ".sample" in page and not task.metadata.name.startswith("PatentOpen")
        )
    assert all(benchmark.name in texts["tasks.html"] for benchmark in catalogue.mteb_benchmarks())
    assert all(f"patent-mteb {name}" in texts[f"generated/commands/{name.split()[0]}.html"] for name in COMMANDS)
    assert (
        "PatentCitationRetrieval.sample" in texts["generated/start.html"] and "PATENT_MTEB_DATA" in texts["data.html"]
    )
    assert "bm25" in json.dumps(payload_of(texts["example/index.html"]))
    assert "plan" in texts["generated/api/patent_mteb.experiments.plan.html"]


HEIGHTS = """
<pre id="seen"></pre>
<script>
(async () => {
  const seen = {};
  for (const page of PAGES) {
    const frame = document.createElement("iframe");
    frame.style.cssText = "width: 1400px; height: 900px";
    frame.src = page;
    document.body.append(frame);
    await new Promise((resolve) => { frame.onload = resolve; });
    const root = frame.contentDocument.documentElement;
    seen[page] = [root.scrollHeight / 900, root.scrollWidth - frame.contentWindow.innerWidth];
    frame.remove();
  }
  document.getElementById("seen").textContent = JSON.stringify(seen);
})();
</script>
"""


@pytest.mark.slow
def test_no_page_is_taller_than_ten_screens_or_wider_than_one(site, tmp_path):
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
    if browser is None:
        pytest.skip("no Chromium is installed")
    texts, root = site
    lists = ("genindex.html", "search.html", "py-modindex.html")
    pages = [path for path in texts if path not in lists and not path.startswith("example/")]
    harness = root / "heights.html"
    harness.write_text(HEIGHTS.replace("PAGES", json.dumps(pages)), "utf-8")
    options = ("headless", "no-sandbox", "disable-gpu", "disable-web-security", "allow-file-access-from-files")
    command = [browser, *(f"--{name}" for name in options), f"--user-data-dir={tmp_path}", "--dump-dom"]
    command += ["--virtual-time-budget=600000", harness.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    seen = json.loads(html.unescape(re.search(r'<pre id="seen">(.*?)</pre>', shown, re.S)[1]))
    assert len(seen) == len(pages) > 200
    assert not {path: found for path, found in seen.items() if found[0] > 10 or found[1] > 0}
