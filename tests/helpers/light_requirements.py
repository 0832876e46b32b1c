"""The light installation's lock file: everything that BM25 runs and reports import, without torch and what needs it.

``python tests/helpers/light_requirements.py`` writes ``requirements-light.txt`` from the installed versions.
"""

from __future__ import annotations

import importlib.metadata
import re
from pathlib import Path

from packaging.requirements import Requirement

FILE = Path(__file__).parents[2] / "requirements-light.txt"
WITHOUT = {"torch", "transformers", "sentence-transformers", "hf-xet"}
SMALLER = {"pandas": "2.2.3", "polars": "1.34.0", "polars-runtime-32": "1.34.0", "pyarrow": "24.0.0"}
"""Older versions that take 100 MB less. :mod:`test_install` runs with them."""
MORE = {"pytz": "2026.6"}  # pandas 2 needs it
HEAD = """# The light installation, without torch: pip install --no-compile --no-deps -r requirements-light.txt .
# Written by tests/helpers/light_requirements.py.
"""


def _name(text: str) -> str:
    return re.sub(r"[-_.]+", "-", text).lower()


def needed() -> dict[str, str]:
    """Return the versions of all packages that the suite needs, directly or not, without those of models."""
    open_ones = [Requirement(one) for one in importlib.metadata.requires("patent-mteb") or ()]
    found: dict[str, str] = {}
    while open_ones:
        one = open_ones.pop()
        name = _name(one.name)
        if name in WITHOUT or (one.marker and not one.marker.evaluate({"extra": ""})) or name in found:
            continue
        found[name] = SMALLER.get(name) or importlib.metadata.version(name)
        open_ones += [Requirement(text) for text in importlib.metadata.requires(name) or ()]
    return dict(sorted((found | MORE).items()))


def lines() -> list[str]:
    """Return the rows of the lock file."""
    return [f"{name}=={version}" for name, version in needed().items()]


if __name__ == "__main__":
    FILE.write_text(HEAD + "\n".join(lines()) + "\n", "utf-8")
