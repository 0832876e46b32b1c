"""How the documentation is built: ``python -m sphinx docs site`` (the extra ``docs``). What is generated lies in ``docs/_generated``."""

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import generate  # noqa: E402

from patent_mteb.identity import __version__  # noqa: E402

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
suppress_warnings = ["misc.highlighting_failure", "myst.xref_missing", "toc.empty_glob"]
autodoc_typehints = "description"
autodoc_member_order = "bysource"


def setup(app: Any) -> None:
    generate.everything(HERE / "_generated")
