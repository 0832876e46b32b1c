"""Configuration of the documentation: ``python -m sphinx docs site`` (the extra ``docs``).

Generated pages are written to ``docs/_generated``.
"""

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
html_extra_path = ["_generated/extra"]
exclude_patterns = ["_generated", "README.md"]
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


def setup(app: Any) -> None:
    app.connect("source-read", with_others)
    generate.everything(HERE / "_generated")
