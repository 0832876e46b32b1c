"""Section tags in texts whose sections are joined by a blank, for PatentMap's models: known sections say where they begin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from patent_mteb.models.registry import section_tags
from patent_mteb.patents import views

__all__ = ["tagged_by_ends", "tagged_texts"]


def tagged_texts(texts: Mapping[str, str], parts: Sequence[str] | None) -> dict[str, str]:
    """Texts by id with the tags of their sections, as :func:`~patent_mteb.models.registry.section_tags` puts them; unchanged without parts.

    Example:
        >>> from patent_mteb.tasks.tagged import tagged_texts
        >>> tagged_texts({"EP1": "Pump [SEP] It pumps."}, ("title", "abstract"))
        {'EP1': 'Pump [SEP] [abstract] It pumps.'}
    """
    return dict(texts) if parts is None else {key: section_tags(text, parts) for key, text in texts.items()}


def tagged_by_ends(text: str, sections: dict[str, str]) -> str:
    """A text with ``[SEP]`` and a tag before each section that it ends with; what is left before them (the title) carries none.

    Args:
        text: sections joined by blanks, the title first.
        sections: name -> text of the sections behind the title, in their order; one that the text does not hold there is passed over.

    Example:
        >>> from patent_mteb.tasks.tagged import tagged_by_ends
        >>> tagged_by_ends("Pump It pumps. 1. A pump.", {"abstract": "It pumps.", "claim": "1. A pump."})
        'Pump [SEP] [abstract] It pumps. [SEP] [claim] 1. A pump.'
    """
    rest, tagged = text.strip(), []
    for name, section in reversed(sections.items()):
        known = section.strip()
        if known and rest.endswith(known):
            rest = rest.removesuffix(known).rstrip()
            tagged.append(section_tags(known, (name,)))
    return views.join_sections((rest, *reversed(tagged)), views.SEPARATOR)
