"""Characters that old files write by the names that SGML gives them (``&mgr;``): replaced before a document is parsed."""

from __future__ import annotations

import re
from html.entities import html5

__all__ = ["with_characters"]

_GREEK = {
    "agr": "α", "bgr": "β", "ggr": "γ", "dgr": "δ", "egr": "ε", "zgr": "ζ", "eegr": "η", "thgr": "θ", "igr": "ι", "kgr": "κ", "lgr": "λ",
    "mgr": "μ", "ngr": "ν", "xgr": "ξ", "ogr": "ο", "pgr": "π", "rgr": "ρ", "sgr": "σ", "sfgr": "ς", "tgr": "τ", "ugr": "υ", "phgr": "φ",
    "khgr": "χ", "psgr": "ψ", "ohgr": "ω", "Agr": "Α", "Bgr": "Β", "Ggr": "Γ", "Dgr": "Δ", "Egr": "Ε", "Zgr": "Ζ", "EEgr": "Η",
    "THgr": "Θ", "Igr": "Ι", "Kgr": "Κ", "Lgr": "Λ", "Mgr": "Μ", "Ngr": "Ν", "Xgr": "Ξ", "Ogr": "Ο", "Pgr": "Π", "Rgr": "Ρ", "Sgr": "Σ",
    "Tgr": "Τ", "Ugr": "Υ", "PHgr": "Φ", "KHgr": "Χ", "PSgr": "Ψ", "OHgr": "Ω",
}  # fmt: skip
"""ISO 8879 ISOgrk1, the one public set of the old files that HTML 5 does not know under its names."""

_XML_ENTITIES = (b"amp", b"lt", b"gt", b"quot", b"apos")
_REFERENCE = re.compile(rb"&([A-Za-z][A-Za-z0-9.]*);")


def with_characters(content: bytes) -> bytes:
    """A document with a number instead of each name of a character; names that nobody knows are kept as text.

    Example:
        >>> from patent_mteb.readers.characters import with_characters
        >>> with_characters(b"5 &mgr;m &amp; more &nothing;")
        b'5 &#956;m &amp; more &amp;nothing;'
    """
    return _REFERENCE.sub(_character, content)


def _character(match: re.Match[bytes]) -> bytes:
    name = match[1]
    if name in _XML_ENTITIES:
        return match[0]
    text = name.decode()
    characters = _GREEK.get(text) or html5.get(f"{text};")
    return b"".join(b"&#%d;" % ord(one) for one in characters) if characters else b"&amp;" + name + b";"
