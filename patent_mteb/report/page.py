"""The leaderboard as one self-contained page: everything inline, no network.

The page is put together from the files in ``site``, from DataTables as the package itables ships it, and from a JSON payload; the last
two are packed. Text reaches the document as text nodes only, and a content security policy forbids every request, so that no model name
can do harm.
"""

from __future__ import annotations

import base64
import gzip
import html
import json
from collections.abc import Sequence
from importlib.resources import files

import polars as pl

from patent_mteb.report.cells import Table
from patent_mteb.report.collect import Collected
from patent_mteb.report.payload import TITLE, payload
from patent_mteb.report.statistics import Statistics

__all__ = ["page", "unpacked"]

_STYLES = ("page.css", "table.css")
_SCRIPTS = ("base.js", "models.js", "tables.js", "charts.js", "front.js", "benchmark.js", "explorer.js", "tabs.js")
"""In the order in which they run: each uses those before it."""


def page(
    collected: Collected,
    statistics: Statistics,
    tables: Sequence[Table],
    published: Sequence[Table] = (),
    messages: Sequence[str] = (),
    *,
    texts: bool = False,
    geometries: pl.DataFrame | None = None,
) -> str:
    """The page as HTML text.

    Args:
        tables: of :func:`patent_mteb.report.tables.build`, with those of geometries.
        published: of :func:`patent_mteb.report.published.beside`.
        messages: shown in a list that can be opened.
        geometries: of :func:`patent_mteb.report.geometry.read`.
        texts: read the texts of queries and documents of real data too, where their licence allows to show them.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.report.collect import collect
        >>> from patent_mteb.report.page import page
        >>> from patent_mteb.report.statistics import Statistics
        >>> from patent_mteb.report.tables import build
        >>> collected = collect(Path("results"))  # of 'patent-mteb run'
        >>> page(collected, Statistics(), build(collected, Statistics()))[:15]
        '<!doctype html>'
    """
    shown = payload(collected, statistics, tables, published, messages, texts=texts, geometries=geometries)
    content = json.dumps(shown, ensure_ascii=False, allow_nan=False)
    library, style = _library()
    parts = {
        "TITLE": html.escape(TITLE),
        "STYLE": "".join(map(_own, _STYLES)),
        "SCRIPT": "".join(map(_own, _SCRIPTS)),
        "LIBRARY": _packed(library),
        "LIBRARY_STYLE": _packed(style),
        "PAYLOAD": _packed(content),
    }
    text = _own("page.html")
    for name, part in parts.items():
        text = text.replace(f"@@{name}@@", part)
    return text


def _own(name: str) -> str:
    return files(__package__).joinpath("site", name).read_text("utf-8")


def _library() -> tuple[str, str]:
    """DataTables with its extensions as an ES module, and its style."""
    bundle = files("itables").joinpath("html")
    return bundle.joinpath("dt_bundle.js").read_text("utf-8"), bundle.joinpath("dt_bundle.css").read_text("utf-8")


def _packed(text: str) -> str:
    """A text as base64 of its gzip, the same for the same text."""
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode("ascii")


def unpacked(text: str) -> str:
    """What was packed for the page, as in its element ``payload``.

    Example:
        >>> import base64, gzip
        >>> from patent_mteb.report.page import unpacked
        >>> unpacked(base64.b64encode(gzip.compress(b"[1]")).decode())
        '[1]'
    """
    return gzip.decompress(base64.b64decode(text)).decode()
