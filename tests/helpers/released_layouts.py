"""The released data sets in exactly their published layout, with small invented content: what a loopback hub serves.

File names, formats, columns and types as the sets' cards and the readers of their authors name them (PatenTEB and
DAPFAM: one parquet file a split or configuration; PatentMap: JSON lines, JSON and csv). Written from these
descriptions, not with the recipes.
"""

from __future__ import annotations

import csv
import io
import json
import tarfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hub_server import Hub, Repository

from patent_mteb.data.hub import is_commit, is_short
from patent_mteb.tasks import catalogue

DAPFAM, PATENTMAP, PANORAMA = "datalyes/DAPFAM_patent", "ZoeYou/downstream", "LG-AI-Research/PANORAMA"
PHRASES, HUPD = "tasksource/patent-phrase-similarity", "HUPD/hupd"
PHRASES_FILE = "data/test-00000-of-00001-c5556affccbcc71f.parquet"
_TRIPLET = "q neg pos pos_link_type neg_computed_domain objective q_text pos_text neg_text"
PATENTEB = {
    "retrieval_IN": _TRIPLET,
    "retrieval_MIXED": _TRIPLET,
    "retrieval_OUT": _TRIPLET,
    "title2full": "first_ipcr3 q title full_text first_ipcr3_count",
    "problem2full": "first_ipcr3 q problem full_text first_ipcr3_count",
    "problem2solution": "first_ipcr3 q problem solution first_ipcr3_count",
    "effect2full": "q effect full_text",
    "effect2substance": "q effect substance",
    "class_text2ipc3": "first_ipcr3 label q text first_ipcr3_count",
    "class_bloom": "q text label",
    "class_nli_oldnew": "first_ipcr3 label q t q_text t_text first_ipcr3_count",
    "para_problem": "first_ipcr3 label q t text1 text2 first_ipcr3_count",
    "para_solution": "first_ipcr3 label q t text1 text2 first_ipcr3_count",
    "clusters_ext_full_ipc": "q text cluster_id",
    "clusters_inventor": "q text cluster_id",
}
"""Columns of the 15 sets, one ``test/data.parquet`` each."""

WITH_TRAIN = ("class_text2ipc3", "class_bloom", "class_nli_oldnew")
LABELS = {
    "class_text2ipc3": ("A21", "A61", "G06"),
    "class_bloom": ("early", "late", "normal"),
    "class_nli_oldnew": ("newer", "older"),
}
ROWS = 60
WORDS = [f"word{number}" for number in range(200)]


def text(draw, length=12):
    return " ".join(draw.choice(WORDS, length))


def lens(number):
    """A number in the style of Lens ids."""
    return f"{number:03}-530-185-733-934"


def patenteb(name, split="test", rows=ROWS, seed=0):
    """The columns of a split of a set of PatenTEB, as lists."""
    draw = np.random.default_rng([seed, *name.encode(), *split.encode()])
    start = 0 if split == "test" else 500
    makers = {
        "q": lambda row: lens(start + row),
        "t": lambda row: lens(start + 200 + row),
        "pos": lambda row: lens(start + 300 + row),
        "neg": lambda row: lens(start + 400 + row),
        "pos_link_type": lambda row: ("CITES", "CITED_BY")[row % 2],
        "neg_computed_domain": lambda row: "IN",
        "objective": lambda row: name.rpartition("_")[2],
        "first_ipcr3": lambda row: ("a21", "a61", "g06")[row % 3],
        "first_ipcr3_count": lambda row: 100 + row % 3,
        "label": lambda row: LABELS[name][row % len(LABELS[name])] if name in LABELS else row % 2,
        "cluster_id": lambda row: row % 7,
    }
    columns = PATENTEB[name].split()
    return {
        column: [makers[column](row) if column in makers else text(draw) for row in range(rows)] for column in columns
    }


def dapfam(documents=50, queries=10, seed=0):
    """The tables ``corpus``, ``queries`` and ``qrels_all`` of DAPFAM, as lists by column."""
    draw = np.random.default_rng(seed)

    def families(key, names):
        return {
            key: names,
            "classifications_ipcr_list_first_three_chars_list": [["A61", "G06"] for _ in names],
            "ipcr_codes_str": ["A61F 2/06;;G06F 3/01" for _ in names],
            "title_en": [text(draw, 4) for _ in names],
            "abstract_en": [text(draw) for _ in names],
            "claims_text": [f"1. A {text(draw, 6)}.\n2. The {text(draw, 4)} of claim 1." for _ in names],
            "description_en": [text(draw, 40) for _ in names],
        }

    names, asking = [lens(number) for number in range(documents)], [lens(900 + number) for number in range(queries)]
    relations: dict[str, list[object]] = {"query_id": [], "relevant_id": [], "relevance_score": [], "domain_rel": []}
    for number, query in enumerate(asking):
        chosen = draw.choice(names, 12, replace=False).tolist()
        domains = ["IN" if place % 2 or not number else "OUT" for place in range(6)] + ["NC"] * 6
        for document, domain in zip(chosen, domains, strict=True):
            for column, value in zip(relations, (query, document, float(domain != "NC"), domain), strict=True):
                relations[column].append(value)
    asked = families("query_id", asking) | {"abstract_keywords": [f"{text(draw, 1)}, {text(draw, 2)}" for _ in asking]}
    return {"corpus": families("relevant_id", names), "queries": asked, "qrels_all": relations}


def patentmap(documents=40, queries=8, rows=40, seed=0):
    """The files of PatentMap's data as Python values: lines of ``content``, the dictionary ``gold``, rows of the two
    csv files.
    """
    draw = np.random.default_rng(seed)

    def record(number):
        content = {
            "title": text(draw, 4),
            "pa01": text(draw),
            "c-en-0001": text(draw),
            "c-en-0002": text(draw),
            "p0001": text(draw, 30),
        }
        return {"dnum": f"EP{number}", "Content": content}

    def codes(row):
        return ("['A01B1/02' 'H04L12/28']", "['G06F3/01']", "['H04L1/00', 'G06F3/01']")[row % 3]

    def table(start):
        kinds = ("abstract", "abstract", "claim")
        return [
            {
                "text": f"{text(draw, 4)} [SEP] {text(draw)}",
                "ipcr_labels": codes(start + row),
                "section": kinds[row % 3],
            }
            for row in range(rows)
        ]

    pool = [record(number) for number in range(documents)]
    asking = [record(1000 + number) for number in range(queries)]
    gold = {}
    for query in asking:
        cited = draw.choice(documents, 3, replace=False).tolist()
        gold[query["dnum"]] = [
            {"cited_id": f"EP{number}", "type": kind} for number, kind in zip(cited, "XYA", strict=True)
        ]
    return {"documents": pool, "queries": asking, "gold": gold, "train_512": table(0), "test_512": table(1)}


def parquet(columns, **types):
    """Bytes of a parquet file; ``types`` names what is not inferred."""
    arrays = {
        name: values if isinstance(values, (pa.Array, pa.ChunkedArray)) else pa.array(values, types.get(name))
        for name, values in columns.items()
    }
    out = io.BytesIO()
    pq.write_table(pa.table(arrays), out)
    return out.getvalue()


def json_lines(records):
    return "".join(f"{json.dumps(record)}\n" for record in records).encode()


def comma_separated(rows):
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def dapfam_files(**tables):
    return {
        "README.md": b"# DAPFAM",
        **{f"{name}.parquet": parquet(columns) for name, columns in (dapfam() | tables).items()},
    }


def patenteb_files(name, **splits):
    """Files of a set of PatenTEB; ``splits`` holds columns in place of the invented ones."""
    known = {split: patenteb(name, split) for split in ("test", *(["train"] if name in WITH_TRAIN else []))}
    return {
        "README.md": b"# set",
        **{f"{split}/data.parquet": parquet(columns) for split, columns in (known | splits).items()},
    }


def patentmap_files(**parts):
    found = patentmap() | parts
    files = {"README.md": b"# PatentMap"}
    for folder in ("perf20", "perf200"):
        files[f"{folder}/content/documents.json"] = json_lines(found["documents"])
        files[f"{folder}/content/queries.json"] = json_lines(found["queries"])
        files[f"{folder}/mapping/gold.json"] = json.dumps(found["gold"]).encode()
    for name in ("train_512", "test_512"):
        files[f"IPC-Classification/{name}.csv"] = comma_separated(found[name])
    return files


def panorama(questions=6, seed=0, nested=str):
    """The rows of PAR4PC and PI4PC, by folder; nested fields as JSON texts, or (``nested=dict``) as structures."""
    draw = np.random.default_rng(seed)

    def patent(number):
        return {
            "patent_id": f"US2014{number:07}",
            "title": text(draw, 4),
            "abstract": text(draw),
            "claims": [f"1. A {text(draw, 6)}."],
        }

    def own(value):
        return json.dumps(value) if nested is str else value

    known = [patent(number) for number in range(30)]
    rows: dict[str, list[dict[str, object]]] = {"PAR4PC": [], "PI4PC": []}
    for number in range(questions):
        claims = [f"1. A {text(draw, 8)}.", f"2. The {text(draw, 3)} of claim 1, {text(draw, 3)}."]
        asked = {
            "application_number": f"1509{number:04}",
            "claim_number": 1 + number % 2,
            "context": own({"title": text(draw, 4), "abstract": text(draw), "claims": claims}),
        }
        chosen = [known[place] for place in draw.choice(len(known), 8, replace=False)]
        letters = dict(zip("ABCDEFGH", chosen, strict=True))
        gold = ["A", "G"] if number % 2 else ["C"]
        answers = {"gold_answers": gold, "silver_answers": ["H"] if number % 3 else []}
        left = [letter for letter in letters if letter not in {*answers["gold_answers"], *answers["silver_answers"]}]
        rows["PAR4PC"].append({**asked, "options": own(letters), **answers, "negative_answers": left})
        paragraphs = {str(place): text(draw) for place in (8, 11, 13, 36, 44)}
        said = {key: value for key, value in patent(number).items() if key != "patent_id"} | {
            "specification": text(draw, 60)
        }
        rows["PI4PC"].append(
            {
                **asked,
                "prior_art_specification": own(said),
                "options": own(paragraphs),
                "gold_answers": [8],
                "silver_answers": [36],
                "negative_answers": [11, 13, 44],
            }
        )
    return rows


def noc4pc(split, applications=8, claims=4, nested=str):
    """The rows of NOC4PC: a row a claim; all claims of an application have one list of documents."""
    draw = np.random.default_rng([5, split == "test"])

    def own(value):
        return json.dumps(value) if nested is str else value

    rows = []
    for number in range(applications):
        texts = [f"1. A {text(draw, 8)}.", *(f"{one}. The {text(draw, 4)} of claim 1." for one in range(2, claims + 1))]
        documents = [
            {
                "patent_id": f"US{7000000 + place}B2",
                "title": text(draw, 3),
                "abstract": text(draw),
                "claims": [f"1. A {text(draw, 4)}."],
                "paragraphs": [{"key": key, "content": text(draw, 10)} for key in (8, 9)] if place else [],
            }
            for place in range(2)
        ]
        rows += [
            {
                "application_number": f"15{split == 'test':d}{number:05}",
                "claim_number": claim,
                "context": own({"title": text(draw, 4), "abstract": text(draw), "claims": texts}),
                "prior_art_specifications": own(documents),
                "answer": own({"reason": text(draw, 5), "code": ("102", "103", "ALLOW")[(number + claim) % 3]}),
            }
            for claim in range(1, claims + 1)
        ]
    return rows


def table_of(rows):
    return parquet({column: [row[column] for row in rows] for column in rows[0]})


def panorama_files(**folders):
    rows = panorama() | {"NOC4PC": noc4pc("test")} | folders
    tables = {f"{name}/test.parquet": table_of(own) for name, own in rows.items()}
    return {"README.md": b"# PANORAMA", "NOC4PC/train.parquet": table_of(noc4pc("train")), **tables}


def phrases(rows=60, seed=0):
    """The columns of the phrases' test split."""
    draw = np.random.default_rng(seed)
    return {
        "anchor": [text(draw, 2) for _ in range(rows)],
        "target": [text(draw, 2) for _ in range(rows)],
        "context": [("H04", "A61", "G06", "B01")[row % 4] for row in range(rows)],
        "score": [float(value) for value in draw.choice([0, 0.25, 0.5, 0.75, 1], rows)],
        "label": ["2b"] * rows,
    }


def phrases_files(**columns):
    return {"README.md": b"# phrases", PHRASES_FILE: parquet(phrases() | columns)}


def hupd(rows=40, seed=0):
    """The documents of HUPD's sample, with every field of the card."""
    draw = np.random.default_rng(seed)
    words = "date_produced main_cpc_label patent_number patent_issue_date abandon_date uspc_class uspc_subclass"
    words += " examiner_id examiner_name_last examiner_name_first examiner_name_middle background summary"
    decisions = ("ACCEPTED", "REJECTED", "ACCEPTED", "PENDING", "REJECTED")
    return [
        dict.fromkeys(words.split(), "")
        | {
            "application_number": f"149{row:05}",
            "publication_number": f"US2016{row:07}A1-20160707",
            "title": text(draw, 4),
            "decision": decisions[row % 5],
            "date_published": "20160707",
            "filing_date": f"201601{1 + row % 31:02}",
            "cpc_labels": ["G06F1730"],
            "main_ipcr_label": ("G06F1730", "A61F202", "H04L1228")[row % 3],
            "ipcr_labels": ["G06F1730"],
            "inventor_list": [],
            "abstract": text(draw),
            "claims": f"1. A {text(draw, 8)}. 2. The {text(draw, 3)} of claim 1.",
            "full_description": text(draw, 30),
        }
        for row in range(rows)
    ]


def hupd_files(documents=None):
    """The archive of the sample; a document that is a text is written as it is."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for number, document in enumerate(hupd() if documents is None else documents):
            content = (document if isinstance(document, str) else json.dumps(document)).encode()
            member = tarfile.TarInfo(f"sample/2016/149{number:05}.json")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return {"README.md": b"# HUPD", "data/sample-jan-2016.tar.gz": out.getvalue()}


def released():
    """Every data set that has been released, from the tasks' own list."""
    return {data.key: data for benchmark in catalogue.benchmarks() for data in benchmark.data_sets if data.released}


def files_of(key):
    if key == DAPFAM:
        return dapfam_files()
    others = {PANORAMA: panorama_files, PHRASES: phrases_files, HUPD: hupd_files}
    if key in others:
        return others[key]()
    return patentmap_files() if key == PATENTMAP else patenteb_files(key.partition("/")[2])


def publish(hub: Hub, key: str, files=None, lenient=False) -> str:
    """Put a released data set on the hub, at a commit that its pin stands for; returns the commit."""
    data = released()[key]
    repository = hub.repositories.setdefault(key, Repository(gated=data.gated, lenient=lenient))
    fixed = is_commit(data.revision) or is_short(data.revision)
    return repository.commit(
        files or files_of(key), sha=data.revision if fixed else "", branch="main" if fixed else data.revision
    )
