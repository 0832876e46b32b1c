"""The forms of a table: the same numbers, marks, letters and banners in every one of them."""

import csv
import io
import re
import shutil
import subprocess

import pytest
from report_folders import HEADLINE, add, built_tables, main_scores, model_folder

from patent_mteb.report import rendering

DAPFAM = "PatentDAPFAMTACToTACRetrieval"


def of_markdown(text):
    lines = [line for line in text.splitlines() if line.startswith("|")]
    rows = [[cell.strip().replace("\\", "") for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    return [[re.sub(r"\*\*|</?u>|<sup>.*?</sup>", "", cell) for cell in row] for row in rows[2:]]


def of_latex(text):
    body = text.replace(r"\allowbreak{}", "").partition(r"\endlastfoot")[2].partition(r"\end{longtable}")[0]
    rows = [line.removesuffix(r"\\").split(" & ") for line in body.strip().splitlines()]
    return [
        [
            re.sub(r"\\textbf\{(.*?)\}|\\underline\{(.*?)\}", r"\1\2", cell)
            .replace("$^{a}$", "")
            .replace("\\", "")
            .strip()
            for cell in row
        ]
        for row in rows
    ]


def of_terminal(table):
    from rich.console import Console

    console = Console(width=250, record=True, file=io.StringIO())
    console.print(rendering.as_terminal(table))
    return console.export_text()


@pytest.mark.slow
@pytest.mark.parametrize("baseline", [None, "lex/bm25"])
def test_every_form_shows_the_numbers_of_the_result_files(world, baseline):
    table = built_tables(world, baseline)["sample-patenteb-tasks"]
    scores = main_scores(world)
    models = [column.key for column in table.columns[3:]]
    assert sorted(models) == ["acme/large", "acme/small", "lex/bm25"]
    expected = []
    for group, task, measure, *_ in table.rows:
        values = [scores.get((f"{task.value}.sample", model), {}).get("main_score") for model in models]
        expected.append([group.value, task.value, measure.text, *values])
    assert len(expected) == 15

    def rounded(missing, untested="◦"):
        """With a baseline the retrieval tasks are compared, and the others marked as not compared."""
        marks = ["" if row[0] == "Retrieval" or not baseline else untested for row in expected]
        return [
            [*row[:3], *(missing if value is None else f"{value:.4f}{mark}" for value in row[3:])]
            for row, mark in zip(expected, marks, strict=True)
        ]

    assert of_markdown(rendering.as_markdown(table)) == rounded("–")
    assert of_latex(rendering.as_latex(table)) == rounded("--", "$circ$")
    lines = of_terminal(table).splitlines()
    for row in rounded("–"):
        (line,) = [line for line in lines if f" {row[1]} " in line]
        assert [word for word in line.split() if word != "a"] == " ".join(row).split()
    read = list(csv.DictReader(io.StringIO(rendering.as_csv(table))))
    assert [[float(row[model]) if row[model] else None for model in models] for row in read] == [
        row[3:] for row in expected
    ]
    if baseline:
        assert {row["acme/large_better_than_baseline"] for row in read if row["group"] == "Retrieval"} == {"true"}
        assert "<sup>a</sup>" in rendering.as_markdown(table)
        assert "$^{a}$" in rendering.as_latex(table)


def test_marks_in_every_form(tmp_path):
    for value, model in ((0.3, "acme/a_b"), (0.2, "acme/b|c"), (0.1, "acme/<c>&%")):
        add(model_folder(tmp_path, model), HEADLINE, value, slices={"in": value, "out": value / 2})
    table = built_tables(tmp_path)["sample-wipo-at"]
    markdown, latex = rendering.as_markdown(table), rendering.as_latex(table)
    assert "| acme/a\\_b | " in markdown
    assert "**0.3000**" in markdown
    assert "<u>0.2000</u>" in markdown
    assert "acme/b\\|c" in markdown
    assert "acme/\\<c\\>&%" in markdown
    assert all(len(row) == len(table.columns) for row in of_markdown(markdown))
    assert r"acme/a\_b" in latex
    assert r"\textbf{0.3000}" in latex
    assert r"\underline{0.2000}" in latex
    assert r"\&\%" in latex
    from rich.console import Console

    console = Console(width=250, force_terminal=True, color_system="standard", file=io.StringIO())
    console.print(rendering.as_terminal(table))
    text = console.file.getvalue()
    assert "\x1b[1m0.3000\x1b[0m" in text
    assert "\x1b[4m0.2000\x1b[0m" in text


def test_sample_and_local_tables_carry_a_banner_and_real_ones_none(tmp_path):
    folder = model_folder(tmp_path, "acme/small")
    add(folder, HEADLINE, 0.1)
    add(folder, DAPFAM, 0.2, kind="real")
    add(folder, "PatentDAPFAMTAToTARetrieval", 0.3, kind="local")
    tables = built_tables(tmp_path)
    assert set(tables) == {
        *("real-overall", "real-dapfam", "real-dapfam-tasks", "local-overall", "local-dapfam", "local-dapfam-tasks"),
        *("sample-overall", "sample-wipo-at", "sample-wipo-at-tasks"),
        *("real-jobs", "local-jobs", "sample-jobs"),
    }
    for name, table in tables.items():
        assert bool(table.banner) == (not name.startswith("real"))
        for form in (rendering.as_markdown(table), rendering.as_latex(table), of_terminal(table)):
            assert ("Built-in sample" in form) == name.startswith("sample")
            assert ("Local copies" in form) == name.startswith("local")
    assert [row[1].value for row in tables["real-dapfam-tasks"].rows] == [DAPFAM]
    assert [row[1].value for row in tables["local-dapfam-tasks"].rows] == ["PatentDAPFAMTAToTARetrieval"]


def hard(world):
    """Tables with everything that LaTeX stumbles over: markup in names, letters it lacks, many columns, texts too long
    for a line.
    """
    names = (
        "acme/{a_b}~^%$#&\\\\",
        'acme/[*]<c>|"`',
        "模型/größe≈α",
        "acme/" + "long-name_of-a.model" * 9,
        *(f"acme/model-{n}" for n in range(20)),
    )
    for number, model in enumerate(names):
        queries = [0.01 * number + 0.001 * query for query in range(60)]
        add(model_folder(world, model), HEADLINE, queries=queries, slices={"in": 0.2, "out": 0.1})
    return built_tables(world, names[4])


def test_latex_is_plain_and_no_part_is_wider_than_a_line(tmp_path):
    text = "\n".join(map(rendering.as_latex, hard(tmp_path).values()))
    assert all(ord(character) < 0x180 for character in text)
    assert "{[U+6A21]}" in text and "{[U+578B]}" in text and r"\allowbreak{}" in text
    assert text.count(r"\begin{longtable}") == text.count(r"\end{longtable}") > 8
    for columns, part in re.findall(r"\\begin\{longtable\}\{([^\n]*)\}\n(.*?)\\end\{longtable\}", text, flags=re.S):
        kinds = re.sub(r">\{.*?\}p\{0.25\\linewidth\}", "p", columns)
        assert set(kinds) <= set("lrp")
        widths = [0.25 * 345 / 3.6 if kind == "p" else 0 for kind in kinds]
        for row in part.partition(r"\endlastfoot")[2].strip().splitlines():
            cells = re.split(r"(?<!\\) & ", row.removesuffix(r" \\"))
            assert len(cells) == len(kinds)
            plain = [re.sub(r"\\(textbf|underline)|\\textdagger\{\}|\$\\approx\$|[\\{}$^]", "", cell) for cell in cells]
            widths = [
                width if kind == "p" else max(width, len(cell))
                for width, kind, cell in zip(widths, kinds, plain, strict=True)
            ]
        assert sum(widths) + 1.7 * len(kinds) <= 345 / 3.6 * 1.05, columns


def compiled(folder, body):
    """What LaTeX says of a document of these tables."""
    head = "\\documentclass{article}\n\\usepackage{array,booktabs,longtable}\n\\begin{document}\n"
    (folder / "tables.tex").write_text(f"{head}{body}\n\\end{{document}}\n")
    command = ["tectonic"] if shutil.which("tectonic") else ["pdflatex", "-halt-on-error", "-interaction=nonstopmode"]
    done = subprocess.run([*command, "tables.tex"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]
    return done.stdout


LATEX = pytest.mark.skipif(
    not (shutil.which("pdflatex") or shutil.which("tectonic")), reason="neither pdflatex nor tectonic is installed"
)


@LATEX
def test_latex_compiles(tmp_path):
    said = compiled(tmp_path, "\n".join(map(rendering.as_latex, hard(tmp_path / "world").values())))
    assert "Overfull \\hbox" not in said
