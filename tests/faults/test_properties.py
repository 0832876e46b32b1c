"""What holds for every value: two settings never share a path, whatever is read gives a result or one clear error,
nothing is lost on the way through a file.
"""

from __future__ import annotations

import json
import math
import string
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from mteb.models.model_meta import ModelMeta

from patent_mteb.errors import DataError, PatentMTEBError
from patent_mteb.identity import compose_meta, digest, json_digest, local_name, unambiguous_settings
from patent_mteb.models import bm25
from patent_mteb.patents import claims, ipc, records, text
from patent_mteb.recipes import beir, dapfam, label_sets, parameters, sophia
from patent_mteb.search import trec
from patent_mteb.search.bm25 import BM25, BM25Settings
from patent_mteb.search.run import Run
from patent_mteb.tasks import checks

usual = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
PATH = Path("data.parquet")

# ---------------------------------------------------------------- identities

WORDS = st.text(alphabet='ab_12:*?/\\"<>|.,[]{} ', max_size=6)
NAMES = st.text(alphabet="ab_1", min_size=1, max_size=5).filter(lambda name: name not in ("digest", "parts"))
LEAVES = st.none() | st.booleans() | st.integers(-12, 12) | st.floats(-2, 2, width=16) | WORDS
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2), max_leaves=3
)
SETTINGS = st.dictionaries(NAMES, VALUES, max_size=3)


def path_of(experiment):
    meta = ModelMeta.create_empty(
        {"name": "a/b", "revision": "1", "experiment_kwargs": unambiguous_settings(experiment) or None}
    )
    return meta.experiment_name


@pytest.mark.slow
@usual
@given(SETTINGS, SETTINGS)
@example({"a": "1__b_2"}, {"a": "1", "b": "2"})
@example({"a": "1__b_2"}, {"a": 1, "b": 2})
@example({"a_b": "c"}, {"a": "b_c"})
@example({"a": 1}, {"a": "1"})
@example({"a": True}, {"a": "True"})
@example({"a": None}, {"a": "None"})
@example({"a": ["1", "2"]}, {"a": ["1,2"]})
@example({"a": [1]}, {"a": "[1]"})
@example({"a": {"b": 1}}, {"a": "{b:1}"})
@example({"a": "query: "}, {"a": "query? "})
@example({}, {"": ""})
def test_two_settings_never_share_a_path(first, second):
    assume(json.dumps(first, sort_keys=True) != json.dumps(second, sort_keys=True))
    assert path_of(first) != path_of(second)
    assert digest(first) != digest(second)
    assert json_digest(first) != json_digest(second)


@usual
@given(SETTINGS)
def test_the_order_of_settings_does_not_matter_and_a_digest_is_added_once(experiment):
    again = dict(reversed(experiment.items()))
    assert path_of(experiment) == path_of(again)
    assert digest(experiment) == digest(again)
    assert unambiguous_settings(unambiguous_settings(experiment)) == unambiguous_settings(experiment)


@pytest.mark.slow
@usual
@given(SETTINGS, SETTINGS)
def test_two_composed_models_never_share_a_revision(first, second):
    assume(json.dumps(first, sort_keys=True) != json.dumps(second, sort_keys=True))
    part = [bm25("dapfam").mteb_model_meta]
    assert compose_meta("kind", part, first).revision != compose_meta("kind", part, second).revision


PATTERNS = st.text(alphabet=r"\w+*?[^ .]|b_", min_size=1, max_size=6)


@pytest.mark.slow
@usual
@given(PATTERNS, PATTERNS)
@example(r"\w\w+", "_w_w+")
@example(r"\w\w*", r"\w\w?")
def test_two_patterns_of_bm25_never_share_a_path(first, second):
    assume(first != second)
    made = []
    for pattern in (first, second):
        try:
            made.append(BM25(BM25Settings(token_pattern=pattern), "my/bm25").mteb_model_meta.experiment_name)
        except ValueError:
            assume(False)
    assert made[0] != made[1]


@usual
@given(st.text(alphabet=string.ascii_letters + "模型 ._-[]*/\\:\n", min_size=1, max_size=30))
def test_a_directory_has_a_name_that_is_a_name_of_a_folder(name):
    assume(name.strip("/. ") and "\0" not in name)
    found = local_name(Path("/models") / name.replace("/", "-"))
    organisation, _, label = found.partition("/")
    assert organisation == "local" and label and "/" not in label and label.isprintable() and " " not in label


# ---------------------------------------------------------------- readers: a result, or an error of the suite


def reads(function, *arguments):
    """The result, or None where it is refused."""
    try:
        return function(*arguments)
    except PatentMTEBError as error:
        assert str(error).count("\n") <= 2 and len(str(error)) < 2000
        return None


def read_patents(path):
    return list(records.read_records(path, records.Patent))


ANYTHING = st.text(max_size=40) | st.text(alphabet="0123456789.,;/- ABCDEFGHabcdefgh()[]claimof\n\t", max_size=60)


@pytest.mark.slow
@usual
@given(ANYTHING)
def test_every_text_is_cleaned_and_split_into_claims(value):
    assert isinstance(text.clean(value), str)
    found = claims.read_claims(value)
    numbers = [claim.number for claim in found.claims]
    assert all(parent < claim.number for claim in found.claims for parent in claim.depends_on) or len(
        set(numbers)
    ) == len(numbers)


@usual
@given(ANYTHING)
def test_an_ipc_code_is_one_or_is_refused(value):
    try:
        levels = ipc.parse(value)
    except ValueError as error:
        assert str(error).startswith(repr(value))
    else:
        assert ipc.parse(levels[-1]) == levels


CELLS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**40), 2**40)
    | st.floats()
    | st.text(max_size=6)
    | st.lists(st.text(max_size=3), max_size=2)
)


@usual
@given(st.lists(CELLS, min_size=1, max_size=5))
def test_labels_are_words_or_refused(values):
    found = reads(checks.label_names, values, "label", PATH)
    if found is not None:
        assert len(found) == len(values) and all(isinstance(name, str) and name for name in found)
        for one, other, first, second in zip(values, values[1:], found, found[1:], strict=False):
            assert one != other or first == second, "equal labels have one name"


COLUMNS = st.one_of(
    *(
        st.lists(st.none() | kind, min_size=1, max_size=4)
        for kind in (st.text(max_size=4), st.integers(-9, 9), st.floats(), st.booleans(), st.dates())
    )
)


@usual
@given(COLUMNS, st.booleans())
def test_ids_are_read_or_refused(values, optional):
    found = reads(checks.ids_of, pa.table({"q": values}), "q", PATH, optional)
    if found is not None:
        assert len(found) == len(values) and (optional or all(found))


@usual
@given(COLUMNS)
def test_texts_are_read_or_refused(values):
    found = reads(checks.texts_of, pa.table({"text": values}), "text", PATH)
    assert found is None or [value or "" for value in values] == found


@usual
@given(
    st.binary(max_size=60)
    | st.lists(st.tuples(WORDS, WORDS, WORDS), max_size=4).map(
        lambda rows: "".join("\t".join(r) + "\n" for r in rows).encode()
    )
)
@example(b"q\td\t" + b"9" * 5000 + b"\n")
@example("q\td\t٣\n".encode())
def test_qrels_are_read_or_refused(content):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "test.tsv"
        path.write_bytes(b"query-id\tcorpus-id\tscore\n" + content)
        found = reads(beir.read_qrels, path)
    if found is not None:
        judged, rows = found
        assert sum(map(len, judged.values())) == len(rows)
        assert all(isinstance(gain, int) for gains in judged.values() for gain in gains.values())


DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["_id", "text", "title", "x"]), inner, max_size=4)
    ),
    max_leaves=6,
)


@usual
@given(st.lists(DOCUMENTS, max_size=3), st.binary(max_size=4))
def test_a_layout_is_read_or_refused(rows, tail):
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "qrels").mkdir()
        (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\td\t1\n")
        (folder / "queries.jsonl").write_text('{"_id": "q", "text": "a"}\n')
        lines = ['{"_id": "d", "text": "a"}', *map(json.dumps, rows)]
        (folder / "corpus.jsonl").write_bytes("\n".join(lines).encode() + b"\n" + tail)
        found = reads(beir.read_beir, folder)
    if found is not None:
        assert "d" in found.corpus and len(found.corpus) <= len(rows) + 2


@usual
@given(DOCUMENTS)
def test_a_taxonomy_is_read_or_refused(document):
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "labels").mkdir()
        (Path(place) / "labels" / "taxonomy.json").write_text(json.dumps(document))
        found = reads(label_sets.read_taxonomy, Path(place))
    assert found is None or all(isinstance(label, str) for labels in found.values() for label in labels)


FIELDS = ["publication_number", "family_id", "title", "abstract", "claims", "description", "ipc", "publication_date"]
FIELDS += ["labels", "summaries"]
ROWS = st.dictionaries(
    st.sampled_from(FIELDS),
    CELLS | st.dates().map(str) | st.dictionaries(st.sampled_from(["number", "text"]), CELLS, max_size=2),
    max_size=6,
)


@usual
@given(st.lists(ROWS, min_size=1, max_size=2))
def test_records_are_read_or_refused(rows):
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "patents.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        found = reads(read_patents, path)
    assert found is None or len(found) == len(rows)


@usual
@given(
    st.sampled_from([(dapfam.Params, "dapfam"), (sophia.Params, "sophia")]),
    st.data(),
    st.text(max_size=8) | st.sampled_from(["nan", "inf", "-1", "1e9", "None", "9" * 5000, "2020-13-01", "١"]),
)
def test_a_setting_of_a_recipe_is_read_or_refused(recipe, data, value):
    params, name = recipe
    chosen = data.draw(st.sampled_from([setting.name for setting in parameters.settings_of(params)]))
    found = reads(parameters.read_params, params, [f"{chosen}={value}"], name)
    if found is not None:
        read = getattr(found, chosen)
        assert not (isinstance(read, float) and math.isnan(read))
        again = parameters.read_params(params, [f"{chosen}={parameters.written(read)}"], name)
        assert getattr(again, chosen) == read


@pytest.mark.slow
@usual
@given(ROWS)
def test_parquet_of_any_type_is_read_or_refused(row):
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "patents.parquet"
        try:
            pq.write_table(pa.Table.from_pylist([row] if row else [{"x": 1}]), path)
        except (pa.ArrowException, ValueError):
            assume(False)
        reads(read_patents, path)


# ---------------------------------------------------------------- runs and names

IDS = st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)
SCORES = st.floats(-(2.0**100), 2.0**100, width=32) | st.sampled_from([0.0, -0.0, 1.0, 1.0 + 2**-23])
RANKINGS = st.dictionaries(IDS, st.dictionaries(IDS, SCORES, max_size=6), min_size=1, max_size=4)


def naive(scores):
    """The order of a run by its definition: single precision, equal ones by id, descending."""
    return [
        document
        for document, _ in sorted(scores.items(), key=lambda pair: (np.float32(pair[1]), pair[0]), reverse=True)
    ]


@usual
@given(RANKINGS)
def test_a_run_is_in_its_order(results):
    run = Run.from_dict(results)
    assert run.ordered() is run
    for query, scores in results.items():
        assert [document for document, _ in run.ranking(query)] == naive(scores)
        assert [document for document, _ in run.top(2).ranking(query)] == naive(scores)[:2]


@pytest.mark.slow
@usual
@given(RANKINGS)
def test_a_run_survives_a_trec_file(results):
    run = Run.from_dict(results)
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "x.run"
        try:
            run.save(path)
        except DataError as error:
            assert "is not allowed in a TREC file" in str(error) and not path.exists()
            assert any(
                not name or set(name) & set(" \t\n\r\v\f\0\ufeff")
                for name in (*results, *(d for scores in results.values() for d in scores))
            )
            return
        assert Run.load(path).to_dict() == {query: scores for query, scores in run.to_dict().items() if scores}
        assert trec.read_run(path).keys() == {query for query, scores in results.items() if scores}


@pytest.mark.long
@settings(max_examples=20_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(SETTINGS, SETTINGS)
def test_many_settings_never_share_a_path(first, second):
    assume(json.dumps(first, sort_keys=True) != json.dumps(second, sort_keys=True))
    assert path_of(first) != path_of(second)
