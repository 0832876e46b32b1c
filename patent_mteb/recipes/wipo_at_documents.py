"""The documents of WIPO-AT: their cleaned texts in a temporary file, and of each in memory what the recipe decides by."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from patent_mteb.patents import views
from patent_mteb.patents.records import Description, Label, Patent
from patent_mteb.patents.spool import Spool
from patent_mteb.patents.stored import publications
from patent_mteb.patents.text import clean_patent, text_key
from patent_mteb.patents.twins import twin_key
from patent_mteb.recipes.sampling import stratum

__all__ = ["DWPI_FIELDS", "PUBLIC_FIELDS", "VIEWS", "Document", "Documents", "field_texts", "read_documents", "view_texts"]

VIEWS = ("TA", "TAC", "Abstract", "Claim1", "Claims", "DWPIFull", "DWPITA")
DWPI_FIELDS = (
    "dwpi_title",
    "dwpi_detailed_description",
    "dwpi_novelty",
    "dwpi_use",
    "dwpi_advantage",
    "dwpi_technology_focus",
)
PUBLIC_FIELDS = ("claim1", "abstract", "title", "keywords")

_SECTIONS = tuple(dict.fromkeys(section for view in VIEWS for section in views.VIEW_SECTIONS[view]))
_NO_DESCRIPTION = Description()


@dataclass(frozen=True, slots=True)
class Document:
    """What is in memory of a document.

    Attributes:
        publication: its number, family and day of publication.
        place: number of its texts.
        sections: those of :data:`patent_mteb.patents.views.SECTIONS` that hold a text, as far as a view is made of them.
        content, twin, words: what equal texts share: a family's with the same title, abstract and claims; title and abstract, case and
            white space apart; all fields of classification, empty where there is none.
    """

    publication: Patent
    place: int
    jurisdiction: str
    ipc: tuple[str, ...]
    labels: tuple[Label, ...]
    stratum: tuple[str, str]
    sections: frozenset[str]
    content: bytes
    twin: bytes
    words: bytes

    @property
    def number(self) -> str:
        return self.publication.publication_number

    @property
    def family(self) -> str:
        return self.publication.family_id

    def has_view(self, view: str) -> bool:
        """Whether a text view holds anything."""
        return not self.sections.isdisjoint(views.VIEW_SECTIONS[view])


class Documents:
    """Documents with their texts.

    Args:
        rows: what is in memory.
        texts: the cleaned patents without their descriptions, by place.
    """

    def __init__(self, rows: Sequence[Document], texts: Spool[Patent]) -> None:
        self.rows, self._texts = rows, texts

    def chosen(self, rows: Sequence[Document]) -> Documents:
        """Some of the documents, in the order given."""
        return Documents(rows, self._texts)

    def patent(self, row: Document) -> Patent:
        """The cleaned patent of a document."""
        return self._texts[row.place]

    def patents(self) -> Iterator[Patent]:
        """The cleaned patents in the order of the documents."""
        return map(self.patent, self.rows)

    def __len__(self) -> int:
        return len(self.rows)


def read_documents(patents: Sequence[Patent]) -> Documents:
    """Clean patents one after the other.

    Example:
        >>> from patent_mteb.patents.records import Patent
        >>> from patent_mteb.recipes.wipo_at_documents import read_documents
        >>> documents = read_documents([Patent("US1A", "F1", title="<b>Pump</b>")])
        >>> next(documents.patents()).title, sorted(documents.rows[0].sections)
        ('Pump', ['title'])
    """
    texts: Spool[Patent] = Spool()
    rows: list[Document] = []
    labels: dict[Label, Label] = {}
    shared: dict[object, object] = {}
    for patent, publication in zip(patents, publications(patents), strict=True):
        cleaned = replace(clean_patent(patent), description=_NO_DESCRIPTION, translations=())
        sections = frozenset(name for name in _SECTIONS if views.SECTIONS[name](cleaned).strip())
        group = stratum(cleaned)
        fields = field_texts(cleaned, (*DWPI_FIELDS, *PUBLIC_FIELDS))
        rows.append(
            Document(
                publication,
                len(texts),
                sys.intern(cleaned.filing_jurisdiction or cleaned.jurisdiction),
                tuple(map(sys.intern, cleaned.ipc)),
                tuple(labels.setdefault(label, label) for label in cleaned.labels),
                shared.setdefault(group, group),  # type: ignore[arg-type]
                shared.setdefault(sections, sections),  # type: ignore[arg-type]
                text_key(cleaned.family_id, views.VIEWS["TAC"](cleaned)),
                twin_key(cleaned),
                text_key(*fields) if any(fields) else b"",
            )
        )
        texts.append(cleaned)
    return Documents(rows, texts)


def view_texts(patent: Patent, names: Sequence[str]) -> dict[str, str]:
    """Text views of a patent, by name; a section that several are made of is composed once.

    Example:
        >>> from patent_mteb.patents.records import Patent
        >>> from patent_mteb.recipes.wipo_at_documents import view_texts
        >>> view_texts(Patent("US1A", "F1", title="Pump", abstract="It pumps."), ["TA", "Abstract"])
        {'TA': 'Pump It pumps.', 'Abstract': 'It pumps.'}
    """
    wanted = dict.fromkeys(section for name in names for section in views.VIEW_SECTIONS[name])
    sections: Mapping[str, str] = {section: views.SECTIONS[section](patent) for section in wanted}
    return {name: views.join_sections(sections[section] for section in views.VIEW_SECTIONS[name]) for name in names}


def field_texts(patent: Patent, names: Sequence[str]) -> list[str]:
    """Fields of the classification texts (§3.6).

    Example:
        >>> from patent_mteb.patents.records import Patent
        >>> from patent_mteb.recipes.wipo_at_documents import field_texts
        >>> field_texts(Patent("US1A", "F1", title="Pump", keywords=("water", "air")), ["title", "keywords", "dwpi_use"])
        ['Pump', 'water, air', '']
    """
    own = {"dwpi_" + name: getattr(patent.expert, name) for name in ("title", "detailed_description", "novelty", "use", "advantage")}
    own["dwpi_technology_focus"] = patent.expert.technology_focus
    return [own[name] if name in own else views.VIEWS[name.capitalize()](patent) for name in names]
