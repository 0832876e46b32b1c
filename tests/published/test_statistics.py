"""The statistics that the papers print of their tables, and those of other tables, counted by pandas and by hand."""

import re
from collections import Counter

import numpy as np
import pandas
import pytest
import released_layouts
from small_patents import world

from patent_mteb import cli
from patent_mteb.data.loading import Source
from patent_mteb.experiments.validation import validate
from patent_mteb.published import statistics
from patent_mteb.recipes.sophia import NAME, Params, build
from patent_mteb.tasks import dapfam, sophia


def statistics_of(task, folder):
    """Those of the headline task on a folder."""
    facts = task.BENCHMARK.facts
    (kind,) = [one for one in task.BENCHMARK.task_classes if one.metadata.name == facts.headline]
    found = kind(source=Source(kind.data, "local", "local-0", folder)).statistics()
    return {(statistic, name): value for statistic, numbers in found.items() for name, value in numbers.items()}


@pytest.fixture
def family_tables(tmp_path):
    """DAPFAM's tables with several offices, texts of different lengths, and a query without a relevant target."""
    tables = released_layouts.dapfam()
    draw = np.random.default_rng(1)
    for name in ("corpus", "queries"):
        rows = len(tables[name]["title_en"])
        tables[name]["earliest_claim_jurisdiction"] = draw.choice(["US", "JP", "SE"], rows).tolist()
        tables[name]["description_en"] = [f"\n{'very  long ' * n}text" if n % 5 else None for n in range(rows)]
    judged = tables["qrels_all"]
    first = [query == judged["query_id"][0] for query in judged["query_id"]]
    judged["relevance_score"] = [
        0.0 if one else score for one, score in zip(first, judged["relevance_score"], strict=True)
    ]
    folder = tmp_path / dapfam.DATA.key
    folder.mkdir(parents=True)
    for name, content in released_layouts.dapfam_files(**tables).items():
        (folder / name).write_bytes(content)
    return folder


def test_dapfam_as_pandas_describes_the_files(family_tables):
    found = statistics_of(dapfam, family_tables)
    frames = {
        name: pandas.read_parquet(family_tables / f"{name}.parquet") for name in ("corpus", "queries", "qrels_all")
    }
    texts = ["title_en", "abstract_en", "claims_text", "description_en"]
    for what, name in (("query", "queries"), ("target", "corpus")):
        words = frames[name][texts].fillna("").map(lambda text: len(text.split())).sum(axis=1).describe()
        names = {"mean": "mean", "standard deviation": "std"} | {share: share for share in ("25%", "50%", "75%")}
        expected = {key: words[theirs] for key, theirs in names.items()}
        assert {key: found[f"words of the full text of a {what}", key] for key in names} == pytest.approx(expected)
        offices = 100 * frames[name]["earliest_claim_jurisdiction"].value_counts(normalize=True)
        here = {key: found[f"jurisdiction of a {what} in percent", key] for key in ("US", "JP", "SE")}
        assert here == pytest.approx(offices.to_dict())
        assert len(frames[name]) == found["rows of the tables", "queries" if what == "query" else "targets"]
    relevant = frames["qrels_all"].query("relevance_score > 0")
    means = relevant.groupby(["domain_rel", "query_id"]).size().groupby("domain_rel").mean()
    assert relevant["query_id"].nunique() < len(frames["queries"])
    for domain in ("IN", "OUT"):
        assert found["relevant targets of a query that has any", domain] == pytest.approx(means[domain])
    assert found["rows of the tables", "relations"] == len(frames["qrels_all"])


@pytest.mark.slow
def test_sophia_as_counted_from_the_files(tmp_path):
    build(*world(180), tmp_path, Params(queries=130))
    folder = tmp_path / NAME
    found = statistics_of(sophia, folder)
    qrels = pandas.read_csv(folder / "qrels" / "test.tsv", sep="\t", dtype=str)
    sizes = qrels.groupby("query-id").size()
    edges = pandas.read_parquet(folder / "citations.parquet")
    years = pandas.read_parquet(folder / "metadata.parquet").set_index("_id")["publication_year"]
    lines = {name: len((folder / f"{name}.jsonl").read_text().splitlines()) for name in ("corpus", "queries")}
    assert found == pytest.approx(
        {
            ("documents and queries", "documents"): lines["corpus"],
            ("documents and queries", "queries"): lines["queries"],
            ("relevant documents of a query", "mean"): sizes.mean(),
            ("relevant documents of a query", "median"): sizes.median(),
            ("relevant documents of a query", "least"): sizes.min(),
            ("relevant documents of a query", "most"): sizes.max(),
            ("queries with a relevant document", "X or Y"): edges[edges["category"].isin(["X", "Y"])][
                "query-id"
            ].nunique(),
            ("queries with a relevant document", "A"): edges[edges["category"] == "A"]["query-id"].nunique(),
            **{
                ("queries of a year", str(year)): n
                for year, n in Counter(years[query] for query in sizes.index).items()
            },
        }
    )
    shown = " ".join(finding.text for finding in validate(tmp_path))
    assert re.search(rf"X or Y {found['queries with a relevant document', 'X or Y']} \(10000\), A \d+ \(9196\)", shown)


@pytest.mark.slow
def test_validate_shows_them_with_the_printed_ones(family_tables, capsys):
    assert cli.main(["data", "validate", str(family_tables.parent.parent)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "queries 10 (1247), targets 50 (45336), relations 120 (49869); in parentheses DAPFAM" in shown
    assert "FR none (1.48)" in shown and "tokens of a tokenizer that it does not state" in shown
    mean = statistics_of(dapfam, family_tables)["words of the full text of a target", "mean"]
    assert f"mean {mean:.2f} (11090.01), standard deviation" in shown


def test_the_printed_statistics_agree_with_each_other():
    """Table 6 counts families too: 969 of 1,247 queries are 77.71%; Table 7 times queries gives the released relations."""
    dapfam_rows = {
        (row["statistic"], row["name"]): float(row["value"]) for row in statistics("dapfam").iter_rows(named=True)
    }
    counts = {"US": 969, "JP": 111, "KR": 30, "DE": 24, "EP": 23, "GB": 21, "CN": 15, "SE": 9, "AU": 7, "NL": 6}
    for office, n in counts.items():
        assert dapfam_rows["jurisdiction of a query in percent", office] == pytest.approx(100 * n / 1247, abs=0.006)
    targets = {
        "US": 27656,
        "JP": 5907,
        "KR": 1573,
        "DE": 1880,
        "EP": 1920,
        "GB": 1143,
        "CN": 1268,
        "FR": 669,
        "TW": 448,
    }
    for office, n in targets.items():
        assert dapfam_rows["jurisdiction of a target in percent", office] == pytest.approx(100 * n / 45336, abs=0.006)
    for domain, relations, queries in (("IN", 19736, 1217), ("OUT", 5193, 905)):
        assert dapfam_rows["relevant targets of a query that has any", domain] == pytest.approx(
            relations / queries, abs=5e-5
        )
    assert statistics("sophia").filter(statistic="queries of a year")["value"].cast(int).sum() == 10_000
