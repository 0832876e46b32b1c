"""CLEF-IP 2013 in the layout of its release: topics, paths and measures of passages and documents, counted again."""

from __future__ import annotations

import mteb
import pytest
from small_data import scores_of
from small_patents import Words

from patent_mteb.errors import DataError

TASK = "ClefIP2013ClaimsToPassageRetrieval"
TOPICS_FOLDER = "02_topics/clef-ip-2013-clms-psg-TEST"
QRELS_FOLDER = "02_topics/2013-clef-ip-clsm-to-psg-qrels"
TOPICS = """<tid>PSG-1</tid>
<tfile>EP-1000001-A1.xml</tfile>
<tclaims>/patent-document/claims/claim[1] /patent-document/claims/claim[2]</tclaims>
<tfam-docs>EP-1000001-B1</tfam-docs>

<tid>PSG-2</tid>
<tfile>EP-1000002-A1.xml</tfile>
<tclaims>/patent-document/claims[1]/claim[1]</tclaims>
<tfam-docs></tfam-docs>
"""


def document(abstract, paragraphs, claims):
    parts = [f"<abstract><p>{abstract}</p></abstract>"]
    parts += [
        "<description>",
        "<heading>FIELD</heading>",
        *(f'<p num="{n}">{text}</p>' for n, text in enumerate(paragraphs, 1)),
        "</description>",
    ]
    parts += [
        "<claims>",
        *(f'<claim num="{n}"><claim-text>{text}</claim-text></claim>' for n, text in enumerate(claims, 1)),
        "</claims>",
    ]
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<patent-document>{"".join(parts)}</patent-document>\n'


DOCUMENTS = {
    "EP-0000001-B1": document("a rotor", ["the rotor turns", "a hub holds it", "a tower stands"], ["rotor with hub"]),
    "EP-0000002-A1": document("a valve", ["the valve shuts", "a seat"], ["valve with seat"]),
    "WO-1999000003-A1": document("eine Linse", ["the lens bends"], ["lens"]),
    "EP-1000001-A1": document("a rotor hub", ["the rotor hub"], ["A rotor.", "The hub of claim 1."]),
}
QRELS = {
    "EN": ["PSG-1,EP-0000001-B1,/patent-document/description/p[2]", "PSG-1,EP-0000001-B1,/patent-document/claims/claim[1]",
           "PSG-1,EP-0000002-A1,/patent-document/abstract/p", "PSG-1,EP-7777777-A1,/patent-document/abstract/p",
           "PSG-1,EP-0000001-B1,/patent-document/description/p[9]"],
    "DE": ["PSG-2,EP-0000002-A1,/patent-document/description/p[1]"],
}  # fmt: skip
RELEVANT = {
    "PSG-1": {"EP-0000001-B1#/patent-document/description[1]/p[2]", "EP-0000001-B1#/patent-document/claims[1]/claim[1]",
              "EP-0000002-A1#/patent-document/abstract[1]/p[1]"},
    "PSG-2": {"EP-0000002-A1#/patent-document/description[1]/p[1]"},
}  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    place = tmp_path / "CLEF-IP-2013"
    test, qrels = place / TOPICS_FOLDER, place / QRELS_FOLDER
    for one in (test / "tfiles", qrels, place / "01_document_collection/ep0/000"):
        one.mkdir(parents=True)
    (test / "clef-ip-2013-clms-psg-TEST.txt").write_text(TOPICS)
    (test / "tfiles/EP-1000001-A1.xml").write_text(DOCUMENTS["EP-1000001-A1"])
    (test / "tfiles/EP-1000002-A1.xml").write_text(document("a valve", [], ["A valve that shuts."]))
    for language, rows in QRELS.items():
        (qrels / f"2013-clef-ip-QRELS-{language}-claims-to-passages.txt").write_text("\n".join(rows) + "\n")
    for name, text in DOCUMENTS.items():
        (place / f"01_document_collection/ep0/000/{name}.xml").write_text(text, "utf-8")
    monkeypatch.setenv("PATENT_MTEB_DATA", str(tmp_path))
    return place


def test_topics_passages_and_judgements(folder, caplog):
    task = mteb.get_task(TASK)
    task.load_data()
    tables = task.tables
    assert dict(tables.queries) == {"PSG-1": "A rotor. The hub of claim 1.", "PSG-2": "A valve that shuts."}
    assert {topic: set(judged) for topic, judged in tables.qrels.items()} == RELEVANT
    assert len(tables.corpus) == 5 + 4 + 3 + 4  # abstracts, paragraphs without headings, claims
    assert tables.corpus["EP-0000001-B1#/patent-document/description[1]/p[2]"] == "a hub holds it"
    assert {key.partition("#")[0] for key in tables.hidden["PSG-1"]} == {"EP-1000001-A1"}
    assert {name: set(part) for name, part in tables.slices.items()} == {"lang_en": {"PSG-1"}, "lang_de": {"PSG-2"}}
    assert "1 relevant passages of documents that are not there" in caplog.text
    assert "1 relevant passages that their document does not have" in caplog.text


def test_measures_are_those_of_a_second_computation(folder):
    task, model = mteb.get_task(TASK), Words()
    scores, run = scores_of(task, model), mteb.get_task(TASK).rank(model).to_dict()
    average, map_d, precision_d, document_map, document_recall = [], [], [], [], []
    for topic, ranking in run.items():
        keys, relevant = list(ranking), RELEVANT[topic]
        assert not any(key.startswith("EP-1000001-A1#") for key in keys) or topic == "PSG-2"
        places = [place for place, key in enumerate(keys, 1) if key in relevant]
        average.append(sum(n / place for n, place in enumerate(places, 1)) / len(relevant))
        documents = list(dict.fromkeys(key.partition("#")[0] for key in keys))
        wanted = {key.partition("#")[0] for key in relevant}
        found = [place for place, name in enumerate(documents, 1) if name in wanted]
        document_map.append(sum(n / place for n, place in enumerate(found, 1)) / len(wanted))
        document_recall.append(len(found) / len(wanted))
        inside, share = [], []
        for name in wanted:
            own = [key for key in keys if key.startswith(f"{name}#")]
            mine = [place for place, key in enumerate(own, 1) if key in relevant]
            inside.append(
                sum(n / place for n, place in enumerate(mine, 1)) / sum(key.startswith(f"{name}#") for key in relevant)
            )
            share.append(len(mine) / len(own) if own else 0)
        map_d.append(sum(inside) / len(inside))
        precision_d.append(sum(share) / len(share))
    expected = {"map_at_1000": average, "map_d": map_d, "precision_d": precision_d}
    expected |= {"document_map_at_100": document_map, "document_recall_at_100": document_recall}
    assert {name: scores[name] for name in expected} == pytest.approx(
        {name: sum(own) / len(own) for name, own in expected.items()}, abs=1e-5
    )
    assert scores["main_score"] == scores["map_at_1000"]
    assert scores["n_documents"] == 4
    assert 0 < scores["document_pres_at_100"] <= 1


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        (f"{TOPICS_FOLDER}/clef-ip-2013-clms-psg-TEST.txt", "<tid>PSG-2</tid>\n", "", r"row 6.*no <tid>"),
        (
            f"{TOPICS_FOLDER}/clef-ip-2013-clms-psg-TEST.txt",
            "claims[1]/claim[1]<",
            "claims[1]/claim[7]<",
            "names no claim",
        ),
        (f"{QRELS_FOLDER}/2013-clef-ip-QRELS-DE-claims-to-passages.txt", ",/patent", " /patent", r"row 1.*not topic"),
        ("01_document_collection/ep0/000/EP-0000002-A1.xml", "</patent-document>", "", "EP-0000002-A1.xml"),
    ],
)
def test_surprises_are_refused_with_their_place(folder, file, old, new, said):
    path = folder / file
    path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")
    with pytest.raises(DataError, match=said):
        mteb.get_task(TASK).load_data()


def test_without_documents_the_way_is_said(folder):
    for path in (folder / "01_document_collection").rglob("*.xml"):
        path.unlink()
    with pytest.raises(DataError, match=r"there is no document.*unpack the archives"):
        mteb.get_task(TASK).load_data()
