"""The cross-lingual tasks on the twelve publications: who asks whom in which language, behind the gate, scored a second
time.
"""

import math

import open_ep_patents as world
import pytest
from open_ep_patents import QD, QE, QF
from small_patents import Words

from patent_mteb.errors import NotThereError
from patent_mteb.experiments import editions
from patent_mteb.models import bm25
from patent_mteb.recipes.open_layout import document_of
from patent_mteb.tasks import catalogue, open_ep

EDITION = "PatentOpenEP2020"


@pytest.fixture
def tasks(tmp_path, monkeypatch):
    editions.build(world.collection(), tmp_path / "edition", world.WINDOW, "open_ep", ["match=number"])
    monkeypatch.setenv("PATENT_MTEB_DATA", str(tmp_path / "edition"))
    (benchmark,) = catalogue.own_benchmarks()
    return {kind.metadata.name.partition(".")[0].removeprefix(EDITION): kind() for kind in benchmark.task_classes}


def expected(kind, asked, given):
    """Judgements by hand: who asks in a language, and what has a text in the other."""
    found = {}
    for query, judged in world.CLAIMS.items():
        if world.SPOKEN[document_of(query)] in asked:
            rows = {
                f"{document}#{one}": gain
                for document, gain in judged.items()
                for one in given
                if document in world.VERSIONS[kind][one]
            }
            found |= {query: rows} if any(rows.values()) else {}
    return found


def ndcg(found, judged, depth=10):
    weight = [1 / math.log2(place + 2) for place in range(depth)]
    ideal = sorted(judged.values(), reverse=True)[:depth]
    return sum(judged.get(key, 0) * one for key, one in zip(found, weight, strict=False)) / sum(
        g * w for g, w in zip(ideal, weight, strict=False)
    )


def test_there_is_a_task_for_every_pair_of_languages(tasks):
    assert len(open_ep.PAIRS) == 6
    names = {
        f"Claim{q.capitalize()}To{kind}{d.capitalize()}Retrieval"
        for kind in world.VERSIONS
        for q, d in (*open_ep.PAIRS, ("", ""))
    }
    assert set(tasks) == names | {"TACToTACRetrieval", "ClaimToTACRetrieval", "ClaimToPassageRetrieval"}
    assert tasks["ClaimDeToClaimsFrRetrieval"].metadata.eval_langs[
        tasks["ClaimDeToClaimsFrRetrieval"].source.subset
    ] == ["deu-Latn", "fra-Latn"]


@pytest.mark.slow
def test_judgements_and_scores_of_every_pair(tasks):
    model, empty = Words(), []
    for kind in world.VERSIONS:
        for asked, given in (("", ""), *open_ep.PAIRS):
            task = tasks[f"Claim{asked.capitalize()}To{kind}{given.capitalize()}Retrieval"]
            wanted = expected(
                kind, (asked,) if asked else ("de", "en", "fr"), (given,) if given else ("de", "en", "fr")
            )
            if not wanted:
                empty.append((kind, asked, given))
                with pytest.raises(NotThereError, match="no claim has a relevant document"):
                    task.load_data()
                continue
            scores = next(iter(task.evaluate(model, "test", encode_kwargs={}).values()))
            run = task.rank(model).to_dict()
            assert {query: dict(judged) for query, judged in task.tables.qrels.items()} == wanted
            for query, documents in run.items():
                assert {document_of(key) for key in documents} <= world.SEEN[document_of(query)]
                assert not given or {key.partition("#")[2] for key in documents} == {given}
            assert scores["ndcg_at_10"] == pytest.approx(
                sum(ndcg(run[query], wanted[query]) for query in wanted) / len(wanted), abs=1e-5
            )
    assert ("Description", "fr", "de") in empty, "what was cited against it has no German description"


def test_slices_name_the_languages_and_the_gate_counts(tasks):
    task = tasks["ClaimToClaimsRetrieval"]
    scores = next(iter(task.evaluate(bm25(), "test", encode_kwargs={}).values()))
    slices = {name: set(part) for name, part in task.tables.slices.items()}
    of = {
        letter: {query for query in world.CLAIMS if query.startswith(number)}
        for letter, number in (("d", QD), ("e", QE), ("f", QF))
    }
    assert (slices["lang_de"], slices["lang_en"], slices["lang_fr"]) == (of["d"], of["e"], of["f"])
    assert slices["de_fr"] == {f"{QD}#1", f"{QD}#2"}
    assert slices["en_fr"] == {f"{QE}#3"}
    assert slices["fr_de"] == slices["fr_en"] == slices["fr_fr"] == of["f"]
    assert slices["x"] == {f"{QD}#1", f"{QD}#2", f"{QD}#3", f"{QE}#3", f"{QF}#1"}
    assert {"x_ndcg_at_10", "de_en_ndcg_at_10", "judged_at_10", "bpref"} <= set(scores)
    assert scores["gated_documents"] > 0
    assert scores["n_gated_judgements"] == 0, "the recipe left it out before"
