"""Configuration of the documentation: ``python -m sphinx docs site`` (the extra ``docs``).

Generated pages are written to ``docs/generated``, and the results that they show in ``docs/work``,
where a later build finds them.
"""

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
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinxcontrib.programoutput"]
html_theme = "furo"
html_title = f"patent-mteb {__version__}"
exclude_patterns = ["generated/*.md", "generated/tables/index.md", "work", "README.md"]
html_css_files = ["pages.css"]
html_static_path = ["static"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
suppress_warnings = ["misc.highlighting_failure", "myst.xref_missing", "myst.header"]
autodoc_typehints = "description"
autodoc_member_order = "bysource"


def with_others(app: Any, page: str, source: list[str]) -> None:
    """Put the pages that the contents do not name where they say OTHERS."""
    if page == "index":
        named = {line.strip() for line in source[0].splitlines()}
        others = sorted(path.stem for path in HERE.glob("*.md") if path.stem not in named | {"index"})
        source[0] = source[0].replace("OTHERS\n", "".join(f"{name}\n" for name in others))


def with_reports(app: Any, error: Exception | None) -> None:
    """Add the pages of the reports that the journeys show."""
    for made, name in (("site", "report"), ("list-try/page", "your-patents")):
        if error is None:
            shutil.copytree(HERE / "work" / made, Path(app.outdir) / name, dirs_exist_ok=True)


def setup(app: Any) -> None:
    app.connect("source-read", with_others)
    app.connect("build-finished", with_reports)
    generate.everything(HERE / "generated", HERE / "work")
