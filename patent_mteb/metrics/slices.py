"""Named slices of judgements and of queries.

All slices of a task are scored on the same ranking of the full corpus. Documents whose judgement is not in the slice
count as not relevant, and queries without a positive judgement in a slice are excluded from its mean. Judgements
(qrels) are ``{query id: {document id: gain}}`` with integer gains, as in trec_eval.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from patent_mteb.patents import ipc

Qrels = dict[str, dict[str, int]]

JURISDICTION_GROUPS: dict[str, tuple[str, ...]] = {
    "en": ("US", "EP", "WO", "GB", "AU", "CA"),
    "cn": ("CN", "TW", "HK"),
    "jp": ("JP",),
    "de": ("DE", "AT", "CH"),
    "fr": ("FR",),
    "es": ("ES",),
    "ru": ("RU", "SU"),
}
"""The seven filing-jurisdiction groups of WIPO-AT (§3.1.2, Table 16). The paper lists the offices of the
English-speaking and Chinese groups; for the German-speaking group we take DE, AT and CH, and SU as the predecessor of
RU."""

_GROUP_OF = {office: group for group, offices in JURISDICTION_GROUPS.items() for office in offices}


def jurisdiction_group(office: str) -> str | None:
    """Group of a two-letter office code, None for an office outside the seven groups (counted in ALL only)."""
    return _GROUP_OF.get(office.upper())


def domain(coarse_labels: Sequence[str], ipc_codes: Sequence[str]) -> str:
    """Coarse domain of a patent (WIPO-AT §3.3.1): its most frequent label, else its first IPC-3 code, else ``""``.

    ``coarse_labels`` has an entry for each taxonomy row. Of equally frequent labels the alphabetically first is taken
    (the paper does not state it). Invalid codes are skipped.
    """
    if coarse_labels:
        counts = Counter(coarse_labels)
        return min(counts, key=lambda label: (-counts[label], label))
    for code in ipc_codes:
        try:
            return ipc.at(code, "ipc3")
        except ValueError:
            continue
    return ""


def positive(qrels: Mapping[str, Mapping[str, int]]) -> Qrels:
    found = {
        query: {document: gain for document, gain in judged.items() if gain > 0} for query, judged in qrels.items()
    }
    return {query: judged for query, judged in found.items() if judged}


def own_family(
    family: Mapping[str, str], queries: Iterable[str], documents: Iterable[str]
) -> dict[str, frozenset[str]]:
    """Return the documents to exclude for each query: itself and those of its own family, if that is known."""
    query_ids = list(queries)
    families = {family.get(query, "") for query in query_ids} - {""}
    members: dict[str, set[str]] = {}
    known = set(query_ids)
    in_corpus = set()
    for document in documents:
        if (name := family.get(document, "")) in families:
            members.setdefault(name, set()).add(document)
        if document in known:
            in_corpus.add(document)
    return {query: frozenset(members.get(family.get(query, ""), set()) | ({query} & in_corpus)) for query in query_ids}


def by_query(qrels: Mapping[str, Mapping[str, int]], keep: Callable[[str], str | None]) -> dict[str, Qrels]:
    """Split judgements by query: ``keep`` returns the slice of a query, or None."""
    parts: dict[str, Qrels] = {}
    for query, judged in qrels.items():
        name = keep(query)
        if name is not None:
            parts.setdefault(name, {})[query] = dict(judged)
    return parts


def by_judgement(
    qrels: Mapping[str, Mapping[str, int]], names: Callable[[str, str], str | Iterable[str] | None]
) -> dict[str, Qrels]:
    """Split judgements by pair: ``names`` returns the slice (or slices) of a (query, document) pair, or None."""
    parts: dict[str, Qrels] = {}
    for query, judged in qrels.items():
        for document, gain in judged.items():
            found = names(query, document)
            for name in (found,) if isinstance(found, str) else found or ():
                parts.setdefault(name, {}).setdefault(query, {})[document] = gain
    return parts


def in_and_out(
    qrels: Mapping[str, Mapping[str, int]], query_domain: Mapping[str, str], document_domain: Mapping[str, str]
) -> tuple[dict[str, Qrels], int]:
    """Return the slices ``in`` and ``out`` of judgements by domain (WIPO-AT §3.3.1), and the number of dropped pairs.

    Pairs without a domain on either side belong to ALL only.
    """
    dropped = 0

    def name(query: str, document: str) -> str | None:
        nonlocal dropped
        ours, theirs = query_domain.get(query, ""), document_domain.get(document, "")
        if not ours or not theirs:
            dropped += 1
            return None
        return "in" if ours == theirs else "out"

    return by_judgement(qrels, name), dropped
