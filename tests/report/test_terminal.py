"""Tables on terminals of every width: no line is wider, no name and no number is cut."""

import io
import re

import pytest
from many_models import many_models, names
from report_folders import built_tables
from rich.console import Console
from rich.text import Text

from patent_mteb.report.rendering import as_csv, as_markdown, as_terminal
from patent_mteb.report.terminal import Hanging, Sheet, folded

MODELS = names(5)
TASKS = ("PatentCitationRetrieval", "WIPOATRespiratoryClassification.NoDWPI")


def shown(sheet, width):
    console = Console(width=width, file=io.StringIO())
    console.print(sheet, crop=False)
    return console.file.getvalue()


def scores(rows, columns):
    return [
        [
            f"{(11 * row + 7 * column) % 97 / 97:.4f}\N{NO-BREAK SPACE}[0.10,\N{NO-BREAK SPACE}0.20]"
            for column in range(columns)
        ]
        for row in range(rows)
    ]


def sheet(heads, titles, numbers):
    rows = [[*map(Text, head), *map(Text, row)] for head, row in zip(heads, numbers, strict=True)]
    leading = len(heads[0])
    return Sheet(titles, rows, right=range(leading, len(titles)), leading=leading)


def of_models(columns):
    return sheet(
        [[model] for model in MODELS],
        ["Model", *(f"Score {n} of many" for n in range(columns))],
        scores(len(MODELS), columns),
    )


def of_tasks(columns):
    heads = [["Classification", task, "nDCG@10"] for task in TASKS]
    return sheet(heads, ["Group", "Task", "Measure", *names(columns)], scores(len(TASKS), columns))


@pytest.mark.parametrize("width", [60, 80, 100, 200, 400])
@pytest.mark.parametrize("columns", [1, 3, 12])
def test_no_line_is_wider_and_every_number_stands_with_its_row(width, columns):
    for made, heads in ((of_models(columns), MODELS), (of_tasks(columns), TASKS)):
        text = shown(made, width)
        lines = [line.rstrip() for line in text.splitlines()]
        assert max(map(len, lines)) <= width
        together = "".join(line.strip() for line in lines) if width < max(map(len, heads)) else text
        places = [together.index(head) for head in heads]
        assert places == sorted(places)
        for place, after, row in zip(places, [*places[1:], len(together)], scores(len(heads), columns), strict=True):
            assert re.findall(r"0\.\d{4}\s\[0\.10,\s0\.20\]", together[place:after]) == row


def test_numbers_of_a_column_stand_below_each_other():
    numbers = [line for line in shown(of_models(3), 80).splitlines() if "[" in line]
    ends = {tuple(found.end() for found in re.finditer(r"\]", line)) for line in numbers}
    assert len(numbers) == len(MODELS) and len(ends) == 1


def test_a_table_that_fits_is_not_stacked():
    assert shown(Sheet(["a", "b"], [[Text("x"), Text("1")]], right=(1,)), 80).split("\n")[:2] == ["a  b", "x  1"]


def test_names_are_broken_after_separators_and_stay_whole():
    for model in MODELS:
        for width in (12, 30, 200):
            lines = folded(model, width).split("\n")
            assert "".join(lines) == model
            assert all(re.search(r"[/_.=,@+\-]$", line) for line in lines[:-1])
    assert folded(MODELS[0], 200) == MODELS[0]


@pytest.mark.slow
def test_the_front_table_fits_80_columns_in_three_lines_a_model(tmp_path):
    """Benchmarks that do not count towards the score are named as columns of the other formats."""
    root = many_models(tmp_path, 2)
    front = next(table for name, table in built_tables(root).items() if name == "sample-overall")
    lines = shown(as_terminal(front), 80).splitlines()
    assert max(map(len, lines)) <= 80
    start = next(at for at, line in enumerate(lines) if line.startswith("organisation-1"))
    assert "172 of 172" in " ".join(" ".join(lines[start : start + 5]).split())
    assert any(line.startswith("In the other formats: PatentOpenUS, PatentOpenUSGrants.") for line in lines)
    assert "patentopenus" in as_csv(front).partition("\n")[0] and "PatentOpenUS" in as_markdown(front)


def test_the_lines_that_continue_a_sentence_are_indented():
    said = Text("patent-mteb: a sentence of many words that is broken\n  item: a name and what it has", "bold")
    assert shown(Hanging(said), 24).splitlines() == [
        "patent-mteb: a sentence ",
        "  of many words that is ",
        "  broken",
        "  item: a name and what ",
        "    it has",
    ]
    assert shown(Hanging(Text("")), 24) == "\n" and Hanging(said).least == 14


BENCHMARKS = ("WIPO-AT", "DAPFAM", "PatenTEB", "Sophia", "PatentMap", "PatentOpenUS", "PatentOpenUSGrants")


@pytest.mark.parametrize(
    ("n_benchmarks", "name", "width", "n_lines", "spared"),
    [
        (7, "model-{}", 120, 1, ()),
        (7, "model-{}", 80, 1, BENCHMARKS[5:]),
        (7, f"{'long-' * 9}{{}}", 80, 2, BENCHMARKS[6:]),
        (5, f"{'long-' * 9}{{}}", 80, 2, ()),
        (7, "model-{}", 30, 2, BENCHMARKS[1:]),
    ],
)
def test_spare_columns_are_named_where_a_row_would_have_three_lines(n_benchmarks, name, width, n_lines, spared):
    titles = ["Model", "Rank", *BENCHMARKS[:n_benchmarks], "GB"]
    numbers = [["12\N{NO-BREAK SPACE}[11,\N{NO-BREAK SPACE}14]", *["0.506"] * n_benchmarks, "8.2"] for _ in range(18)]
    rows = [[*map(Text, [name.format(at), *row])] for at, row in enumerate(numbers)]
    made = Sheet(titles, rows, right=range(1, len(titles)), spare=range(2, 2 + n_benchmarks))
    lines = [line.rstrip() for line in shown(made, width).splitlines()]
    assert max(map(len, lines)) <= width
    table, _, note = "\n".join(lines).partition("\nOn a wider ")
    assert len(table.splitlines()) == n_lines * 19
    said = f"terminal, or with --every-table: {', '.join(spared)}."
    assert " ".join(note.split()) == (said if spared else "")
    assert table.count("0.506") == 18 * (n_benchmarks - len(spared)) and "GB" in table
