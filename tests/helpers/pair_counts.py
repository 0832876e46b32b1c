"""How many pairs WIPO-AT's recipes have by definition."""

from __future__ import annotations

from patent_mteb.patents.views import VIEWS


def naive_counts(corpus, split):
    """R1, R2, R3 by nested loops over all publications."""
    members = [patent for patent in corpus.patents if corpus.split[patent.family_id] == split]
    fine = {
        patent.publication_number: {(one.landscape, one.coarse, one.fine) for one in patent.labels if one.fine}
        for patent in members
    }
    co_label = 0
    for patent in members:
        for label in fine[patent.publication_number]:
            co_label += any(
                label in fine[other.publication_number] and other.family_id != patent.family_id for other in members
            )
    families = {patent.publication_number: patent.family_id for patent in members}
    edges = {(one.citing, one.cited) for one in corpus.citations if one.citing in families and one.cited in families}
    citations = sum(families[citing] != families[cited] for citing, cited in edges)
    sections = sum(bool(patent.abstract.strip() and VIEWS["Claim1"](patent).strip()) for patent in members)
    return co_label, citations, sections
