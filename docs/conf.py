"""Configuration of the documentation: ``python -m sphinx docs site`` (the extra ``docs``).

Generated pages are written to ``docs/generated``, and the results that they show in ``docs/work``,
where a later build finds them.
"""

import re
import shutil
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import generate  # noqa: E402

from patent_mteb import __version__  # noqa: E402

project = "patent-mteb"
author = "The patent-mteb authors"
copyright = author
release = version = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = f"patent-mteb {__version__}"
exclude_patterns = ["work"]
html_css_files = ["pages.css"]
html_static_path = ["static"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
suppress_warnings = ["misc.highlighting_failure", "myst.xref_missing", "myst.header"]
autodoc_typehints = "description"
autodoc_member_order = "bysource"


LISTED = {"tasks": "benchmarks", "commands": "commands", "api": "api"}
"""Pages, and the folder of generated pages that each lists."""


def with_contents(app: Any, page: str, source: list[str]) -> None:
    """Add what Markdown has no words for: the contents, and links to pages in the place of links to files."""
    text = source[0].replace("(../README.md#five-minutes)", "(generated/start.md)")
    text = re.sub(r"\(\.\./(patent_mteb\S*?)(?:/__init__)?\.py\)", _module, text)
    if page == "index":
        for caption, part in re.findall(r"^## (.+)\n((?:(?!## ).*\n)*)", text, re.M):
            names = "\n".join(re.findall(r"\]\((\S+)\.md\)", part))
            text += f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{names}\n```\n"
    elif page in LISTED:
        text += f"\n```{{toctree}}\n:glob:\n:maxdepth: 1\n\ngenerated/{LISTED[page]}/*\n```\n"
    source[0] = text


def _module(link: re.Match[str]) -> str:
    return f"(generated/api/{link[1].replace('/', '.')}.md)"


def with_example(app: Any, error: Exception | None) -> None:
    """Add the example page."""
    if error is None:
        shutil.copytree(HERE / "example", Path(app.outdir) / "example", dirs_exist_ok=True)


def setup(app: Any) -> None:
    app.connect("source-read", with_contents)
    app.connect("build-finished", with_example)
    generate.everything(HERE / "generated", HERE / "work")
