"""Hostile names and files in a results folder: no pattern, no markup, no formula, no escape sequence, and nothing is
left out silently.
"""

import contextlib
import csv
import io
import json
import logging
import os
import random
import re
import shutil
import subprocess
import sys
import unicodedata
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from classes import these_first
from report_folders import HEADLINE, add, built_tables, model_folder

from patent_mteb import report
from patent_mteb.cli import common, main
from patent_mteb.errors import DataError
from patent_mteb.report import rendering
from patent_mteb.report.collect import collect
from patent_mteb.report.statistics import statistics
from patent_mteb.report.words import inert, shortened, visible

TASK = f"{HEADLINE}.sample"
FORMULAS = ("=cmd('x')!A1", "-1", "@sum(A1)")
TEX = ("a$b", "$x^2", "\\frac", "$\\frac{$", "a_b^c", "{x}%#~", "[x]", "*x")
MARKUP = ("[/b]", "a\\[/b]", "[red]x", "a|b|c", "<img src=x>", "&lt;b&gt;", ":smile:")
CONTROL = ("\x1b[31mred", "two\nlines", "\u202eevil", "a\tb")
NAMES = (*FORMULAS, *TEX, *MARKUP, *CONTROL, "*?[1]", "模型", "n" * 200)
ALPHABET = "ab=+-@\t\r\n|$^_\\[]{}<>&%#~`*:'\",;\x00\x1b\x07\x7f\x9b\u200e\u202e\u2066\u2028é模😀"


def random_names(seed, number=40):
    dice = random.Random(seed)
    return ["".join(dice.choices(ALPHABET.replace("\x00", ""), k=dice.randint(1, 12))) for _ in range(number)]


def is_plain(text):
    return not any(unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for character in text)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """One model for each name, and the score of each."""
    root = tmp_path_factory.mktemp("hostile")
    scores = {}
    for number, name in enumerate(dict.fromkeys([*NAMES, *random_names(0)])):
        with contextlib.suppress(FileExistsError):
            more = {f"recall_at_{k}": 0.1 * rank for rank, k in enumerate((1, 10, 100))}
            value = round(0.9 - 0.005 * number, 5)
            add(model_folder(root, f"acme/{name}"), HEADLINE, value, slices={"in": value, "out": value / 2}, more=more)
            scores[visible(f"acme/{name}").replace("acme//", "acme/__")] = value
    return root, scores


def test_visible_and_inert_texts():
    for seed in range(200):
        for name in random_names(seed, 5):
            assert is_plain(visible(name))
            assert visible(visible(name)) == visible(name)
            assert visible(name) == name or not name.isprintable()
            assert not inert(name).startswith(("=", "+", "-", "@", "\t", "\r"))
            assert len(shortened(name, 5)) <= 5
    assert visible("a\x1b[31m\r\n\u202e\ud800") == "a\\x1b[31m\\r\\n\\u202e\\ud800"
    assert visible("two\nlines\r", lines=True) == "two\nlines\\r"


@pytest.mark.parametrize(
    ("name", "other"), [("run[1]", "run1"), ("runs[2024]", None), ("a*", "ab"), ("what?", "whats")]
)
def test_a_name_is_no_pattern(tmp_path, name, other):
    for folder, shift in ((name, 0.0), (other, 0.5), ("plain", 0.0)):
        if folder:
            queries = np.random.default_rng(1).random(40) / 2 + shift
            add(model_folder(tmp_path / folder, "acme/small"), HEADLINE, queries=queries)
    found, plain = (statistics(collect(tmp_path / folder)).scores for folder in (name, "plain"))
    assert found == plain != {}


@pytest.mark.slow
def test_hostile_names_in_every_form_of_a_table(hostile):
    root, scores = hostile
    table = built_tables(root)["sample-wipo-at"]
    by_name = {row[0].value: row for row in table.rows}
    assert len(by_name) == len(scores)
    markdown = [line for line in rendering.as_markdown(table).splitlines() if line.startswith("|")]
    assert len(markdown) == len(scores) + 2
    assert {len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in markdown} == {len(table.columns) + 1}
    rows = list(csv.reader(io.StringIO(rendering.as_csv(table))))
    assert {len(row) for row in rows} == {sum(1 + len(column.further) for column in table.columns)}
    latex = (
        rendering.as_latex(table).partition(r"\endlastfoot")[2].partition(r"\end{longtable}")[0].strip().splitlines()
    )
    assert len(latex) == len(scores)
    assert len({len(re.findall(r"(?<!\\)(?:\\\\)*&", line)) for line in latex}) == 1
    assert not any(line.lstrip().startswith(("[", "*")) for line in latex)
    for text in (*markdown, *(cell for row in rows for cell in row), *latex):
        assert is_plain(text)
    for row in rows[1:]:
        assert not any(cell.startswith(("=", "+", "@", "\t", "\r")) for cell in row)
        assert not (row[0].startswith("-"))


def test_the_numbers_of_hostile_names_are_their_own(hostile):
    root, _ = hostile
    for row in collect(root).results.iter_rows(named=True):
        content = json.loads(Path(row["path"]).read_text())
        assert row["value"] == content["scores"]["test"][0]["main_score"]
        assert row["model"] == json.loads(Path(row["path"]).with_name("model_meta.json").read_text())["name"]


@pytest.mark.slow
def test_a_report_on_hostile_names(hostile, tmp_path, capsys):
    pytest.importorskip("vl_convert")
    root, scores = hostile
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        outcome = report.run(root, formats=rendering.FORMATS, out=tmp_path, html=tmp_path, plots=True, every_table=True)
    written = {path.relative_to(tmp_path).as_posix() for path in outcome.files}
    assert {
        "index.html",
        "report.md",
        "tables.tex",
        "csv/scores.csv",
        "csv/results.csv",
        "plots/sample-wipo-at-in-out.png",
    } <= written
    for path in outcome.files:
        if path.suffix in (".md", ".tex", ".csv"):
            assert all(map(is_plain, path.read_text().split("\n"))), path
    with (tmp_path / "csv" / "results.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == len(scores)
    assert not any(value.startswith(("=", "+", "-", "@")) for row in rows for value in row.values())
    outcome.print(common.console)
    printed = capsys.readouterr().out
    assert all(map(is_plain, printed.split("\n")))
    assert "acme/[/b]" in printed
    assert ":smile:" in printed


@pytest.mark.slow
def test_plots_show_names_as_they_are(hostile):
    pytest.importorskip("vl_convert")
    from patent_mteb.report.figures import draw, svg

    root, _ = hostile
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plots = {plot.name: plot for plot in draw(collect(root))}
        for plot in plots.values():
            assert "</svg>" in svg(plot.figure)
    labels = set(plots["sample-wipo-at-in-out"].figure["encoding"]["y"]["scale"]["domain"])
    assert {"a$b", "$x^2", "$\\frac{$", "\\u202eevil", "\\x1b[31mred", "a_b^c", "模型"} <= labels
    assert all(len(label) <= 150 for label in labels)


def test_names_that_look_alike_stay_apart(tmp_path):
    for number, (model, revision) in enumerate(
        [
            ("acme/a\x1b", "r"),
            ("acme/a\\x1b", "r"),
            ("acme/b", "a-long-revision-1"),
            ("acme/b", "a-long-revision-2"),
            ("acme/c", "r"),
        ]
    ):
        add(model_folder(tmp_path, model, revision), HEADLINE, 0.1 * number)
    runs = collect(tmp_path).runs
    assert len(runs) == 5
    assert "acme/c" in runs
    assert {"acme/b @a-long-revision-1", "acme/b @a-long-revision-2"} <= set(runs)


# --- the console


PRINTED = ("out[/x]", "out[red]y", "a\\[/b]", "a\x1b[31mb", "\u202ex", ":smile:")
TAKING_NAMES = (
    "report NAME",
    "publish results NAME out",
    "data validate NAME",
    "store info --store NAME",
    f"run -t {TASK} -m NAME",
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "name"),
    these_first(
        product(TAKING_NAMES, PRINTED), *product(TAKING_NAMES[2:3], PRINTED), *product(TAKING_NAMES, PRINTED[3:4])
    ),
)
def test_every_command_prints_names_as_they_are(tmp_path, monkeypatch, capsys, command, name):
    monkeypatch.chdir(tmp_path)
    words = [f"./{name}" if word == "NAME" else word for word in command.split()]
    with contextlib.suppress(SystemExit):
        assert main([*words, "-v", "1"]) in (0, 1, 2)
    said = "".join(capsys.readouterr())
    assert visible(name) in said.replace("\n", "")
    assert all(map(is_plain, said.replace("\t", " ").split("\n")))


def test_arguments_that_are_refused_are_shown_as_they_are(capsys):
    for words in (
        ["list", "tasks", "\x1b[31mx"],
        ["report", "a", "--html"],
        ["\x1b[31m"],
        ["run", "-t", "a", "-m", "b", "--co", "\u202e"],
    ):
        with pytest.raises(SystemExit):
            main(words)
        assert all(map(is_plain, capsys.readouterr().err.split("\n")))


def test_written_files_are_named_as_they_are(tmp_path, capsys):
    add(model_folder(tmp_path / "in", "acme/small"), HEADLINE, 0.1)
    out = tmp_path / "out[/x]\x1b[31m\nnext"
    assert main(["report", str(tmp_path / "in"), "--format", "csv", "--out", str(out)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert visible(str(out / "csv" / "scores.csv")) in lines
    assert len(lines) == len(list(out.rglob("*.csv"))) + 1  # a line says what the files hold


def test_escape_sequences_in_logs_do_nothing(capsys):
    from rich.logging import RichHandler

    logger = logging.getLogger("patent_mteb.tests.names")
    logger.addHandler(RichHandler(console=common.messages, show_path=False))
    logger.warning("model %s", "\x1b]0;title\x07 [/b] \u202e")
    common.show(("a[/b]", "b\n"), [("\x1b[31m", None), ("[red]x\\[", 1)], right=("b\n",))
    said = capsys.readouterr()
    assert "\\x1b]0;title" in said.err
    assert "[red]x\\[" in said.out
    assert all(map(is_plain, (said.err + said.out).split("\n")))
    logger.handlers.clear()


READY = "from patent_mteb.cli import common; common.ready_streams(); "
SHOW = READY + r"common.show(('gr\xf6\xdfe',), [['\u2013\u2192\u6a21'], ['x' * 100_000]]); common.say('end')"


def shell(line, **variables):
    folder = str(Path(report.__file__).parents[2])
    environment = os.environ | {"PYTHONPATH": folder, "PY": sys.executable, "SHOW": SHOW} | variables
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line}"], env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "line", ['"$PY" -c "$SHOW" | true', '"$PY" -c "$SHOW" >&- 2>&- <&-', '"$PY" -m patent_mteb.cli --help | true']
)
def test_nobody_reads(line):
    done = shell(line)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize(
    "variables", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}]
)
def test_a_terminal_without_unicode(variables):
    done = shell('"$PY" -c "$SHOW"', **variables)
    assert (done.returncode, done.stderr) == (0, "")
    assert "gr\\xf6\\xdfe" in done.stdout or "größe" in done.stdout


@pytest.mark.slow
def test_a_closed_output_is_no_file(tmp_path):
    code = READY + "import os; f = open('data', 'w'); f.write('x'); f.flush(); os.write(1, b'y')"
    done = shell(f'cd "$FOLDER"; "$PY" -c "{code}" >&-', FOLDER=str(tmp_path))
    assert done.returncode == 0
    assert (tmp_path / "data").read_text() == "x"


# --- what a report cannot see


def only_message(folder, *words):
    (message,) = [message for message in collect(folder).messages if all(word in message for word in words)]
    return message


def test_results_at_an_unexpected_depth_are_named(tmp_path):
    add(model_folder(tmp_path, "acme/small"), HEADLINE, 0.1)
    slash = add(model_folder(tmp_path, "acme/large", "refs/pr/1"), HEADLINE, 0.2)
    bare = add(model_folder(tmp_path, "bare"), HEADLINE, 0.3)
    beside = tmp_path / "acme__other" / "r1"
    beside.mkdir(parents=True)
    shutil.copy(bare, beside / bare.name)
    deep = model_folder(tmp_path, "acme/small", "r1", {"a": 1}) / "deeper"
    deep.mkdir()
    for task in "ABCDE":
        (deep / f"{task}.json").write_text("{}")
    assert collect(tmp_path).results["value"].to_list() == [0.1]
    for path in (slash, bare, beside / bare.name):
        assert "1 result file" in only_message(tmp_path, f"{path.parent}: ", path.name)
    assert "5 result files (A.json, B.json, C.json and 2 more)" in only_message(tmp_path, str(deep))
    (tmp_path / "results" / "notes").mkdir()
    (tmp_path / "results" / "notes" / "package.json").write_text("{}")
    assert not [message for message in collect(tmp_path).messages if "notes" in message]


def test_only_invisible_results(tmp_path):
    path = add(model_folder(tmp_path, "acme/large", "refs/pr/1"), HEADLINE, 0.2)
    with pytest.raises(DataError, match=re.escape(str(path.parent))):
        collect(tmp_path)


def test_files_that_are_no_files(tmp_path):
    folder = model_folder(tmp_path, "acme/small")
    path = add(folder, HEADLINE, 0.1)
    os.mkfifo(folder / "A.json")
    (folder / "B.json").mkdir()
    (folder / "C.json").symlink_to(folder / "nowhere")
    path.with_name(f"{path.name}.quarantined").write_text("{")  # it was run again: no message
    (folder / "D.json.quarantined").write_text("{")
    (tmp_path / "results" / os.fsdecode(b"acme__\xff")).mkdir()
    (folder / "loop").symlink_to(tmp_path / "results")
    for name in "ABC":
        assert "no regular file" in only_message(tmp_path, f"{name}.json")
    assert "quarantined" in only_message(tmp_path, "json.quarantined") and "D.json" in only_message(tmp_path, "quar")
    assert "not UTF-8" in only_message(tmp_path, "\\udcff")
    assert collect(tmp_path).results["value"].to_list() == [0.1]


def with_score(name, value):
    def change(content):
        content["scores"]["test"][0][name] = value

    return change


CONTENTS = {
    "a date beyond floats": '{"date": 1e400}',
    "a date before all": '{"date": -5}',
    "half of a surrogate pair": '{"dataset_revision": "\\ud800"}',
    "no task": '{"task_name": null}',
    "a number for an entry": '{"scores": {"test": [3]}}',
    "a number for a split": '{"scores": {"test": 3}}',
    "an object for a split": '{"scores": {"test": {"a": 1}}}',
    "nan queries": with_score("in_n_queries", float("nan")),
    "infinitely many queries": with_score("in_n_queries", float("inf")),
    "fewer than no queries": with_score("in_n_queries", -1.0),
    "half a query": with_score("in_n_queries", 2.5),
    "a score beyond floats": with_score("recall_at_10", 10**400),
    "an infinite score": with_score("recall_at_10", float("inf")),
}
DESCRIPTIONS = {
    "a list": "[]",
    "cut": "{",
    "a number": "3",
    "a number for a name": '{"name": 3, "revision": "r1"}',
    "no name": '{"revision": "r1"}',
    "no revision": '{"name": "NAME"}',
    "a list of settings": '{"name": "NAME", "revision": "r1", "experiment_kwargs": []}',
    "a text for a part": '{"name": "NAME", "revision": "r1", "experiment_kwargs": {"kind": "hybrid", "parts": ["a"]}}',
    "a number for parts": '{"name": "NAME", "revision": "r1", "experiment_kwargs": {"parts": 3}}',
    "an empty part": '{"name": "NAME", "revision": "r1", "experiment_kwargs": {"parts": [{"name": "a", "parts": [{}]}]}}',
    "a number of arguments": '{"name": "NAME", "revision": "r1", "loader_kwargs": 3}',
    "a number of prompts": '{"name": "NAME", "revision": "r1", "loader_kwargs": {"model_prompts": 3}}',
    "half of a surrogate pair": '{"name": "NAME\\ud800"}',
    "another model": '{"name": "acme/other", "revision": "r1"}',
}


@pytest.mark.slow
def test_hostile_content_of_a_result_is_named(tmp_path):
    """Each result is one of its model's two."""
    paths = {}
    for number, (what, change) in enumerate(CONTENTS.items()):
        folder = model_folder(tmp_path, f"acme/m{number}")
        paths[what] = path = add(folder, HEADLINE, 0.1)
        content = json.loads(path.read_text())
        if isinstance(change, str):
            content |= json.loads(change)
        else:
            change(content)
        path.write_text(json.dumps(content))
        add(folder, "WIPOATTAToTARetrieval", 0.2)
    for what, text in {"deep": "[" * 200_000, "a byte order mark": "\ufeff{}"}.items():
        paths[what] = path = add(model_folder(tmp_path, f"acme/{what}"), HEADLINE, 0.1)
        path.write_text(text)
    messages = collect(tmp_path).messages
    assert {
        what for what, path in paths.items() if not any(str(path) in one and "left out" in one for one in messages)
    } == set()
    assert report.run(tmp_path, formats=("csv", "markdown"), html=tmp_path / "page").files


@pytest.mark.slow
def test_hostile_descriptions_of_a_model_are_named(tmp_path):
    paths = {}
    for number, (what, meta) in enumerate(DESCRIPTIONS.items()):
        name = f"acme/m{number}"
        folder = model_folder(tmp_path, name)
        add(folder, HEADLINE, 0.1)
        paths[what] = folder / "model_meta.json"
        paths[what].write_text(meta.replace("NAME", name))
    messages = collect(tmp_path).messages
    assert {what for what, path in paths.items() if not any(str(path) in one for one in messages)} == set()
    assert report.run(tmp_path, formats=("csv",), html=tmp_path / "page", plots=False).files


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [{"kind": "hybrid", "method": "linear", "alpha": "x"}, {"dims": "x"}, {"dims": 2**70}, {"a": {"b": ["\x1b"]}}],
)
def test_odd_settings_and_sizes(tmp_path, settings):
    part = [{"name": "a/b"}, {"name": "c/d\x1b"}]
    for number, more in enumerate(({}, {"parts": part} if "kind" in settings else {})):
        folder = model_folder(
            tmp_path, "acme/small", f"r{number}", settings | more, n_parameters=10**400, embed_dim=2**80
        )
        add(
            folder,
            HEADLINE,
            0.1 + number / 10,
            slices={"in": float("nan"), "out": float("nan")},
            more={"recall_at_1": float("nan")},
        )
    assert len(collect(tmp_path).runs) == 2
    outcome = report.run(tmp_path, formats=rendering.FORMATS, out=tmp_path / "out", html=tmp_path / "page")
    assert all(is_plain(line) for path in outcome.files for line in path.read_text().split("\n"))


@pytest.mark.parametrize("metadata", [b"[]", b"3", b"{}", b"{", None])
@pytest.mark.parametrize("kind", ["text", "number", "list"])
def test_hostile_per_query_scores_are_named(tmp_path, metadata, kind):
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = model_folder(tmp_path, "acme/small")
    add(folder, HEADLINE, queries=np.linspace(0, 1, 3))
    path = folder / f"{TASK}.queries.parquet"
    kept = pq.read_schema(path).metadata
    ids = {"text": ["a", "b", "c"], "number": [1, 2, 3], "list": [["a"], ["b"], ["c"]]}[kind]
    table = pa.table({"query": ids, "ndcg@10": ["x", "y", "z"] if kind == "text" else [0.0, 0.5, 1.0]})
    pq.write_table(table.replace_schema_metadata({"patent_mteb": metadata} if metadata else kept), path)
    assert only_message(tmp_path, str(path))
    assert collect(tmp_path).results["queries"].to_list() == [None], "the digest of the file is another"


# --- killed


@pytest.mark.slow
def test_a_report_killed_at_any_write_leaves_the_old_files_whole(tmp_path, monkeypatch):
    folder = model_folder(tmp_path / "in", "acme/small")
    add(folder, HEADLINE, 0.1, slices={"in": 0.1, "out": 0.05})
    out = tmp_path / "out"

    def make():
        report.run(tmp_path / "in", formats=("csv", "markdown"), out=out, html=out)

    def state():
        return {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}

    make()
    old = state()
    add(folder, HEADLINE, 0.9, slices={"in": 0.8, "out": 0.7})
    replace = Path.replace
    for stop in range(len(old) + 1):
        calls = iter(range(len(old) + 1))

        def killed(self, target, calls=calls, stop=stop):
            if next(calls) == stop:
                raise KeyboardInterrupt
            return replace(self, target)

        monkeypatch.setattr(Path, "replace", killed)
        if stop < len(old):
            with pytest.raises(KeyboardInterrupt):
                make()
            now = state()
            assert now.keys() == old.keys()
            assert sum(now[path] != old[path] for path in old) <= stop
            for path, content in now.items():
                assert path.suffix != ".html" or content.endswith(b"</html>\n") or content == old[path]
        else:
            make()
            assert b"0.9000" in (out / "report.md").read_bytes()
