"""Which plots a report has, and the files they become."""

import sys

import polars as pl
import pytest
from report_folders import HEADLINE, add, model_folder, sample_world

from patent_mteb import report
from patent_mteb.report import drawing, figures
from patent_mteb.report.collect import ReportError, collect

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return collect(sample_world(tmp_path_factory.mktemp("world")))


@pytest.mark.slow
def test_matplotlib_is_an_extra(world, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ReportError, match=r"pip install -e '.\[report\]'"):
        drawing.lines(pl.DataFrame({"model": ["m"], "x": [1], "value": [0.1]}))
    with pytest.raises(ReportError, match="matplotlib"):
        report.run(world.folder, out=tmp_path, plots=True)
    report.run(world.folder, html=tmp_path)
    assert (tmp_path / "index.html").is_file(), "the page draws its own charts"


@pytest.mark.slow
def test_files_are_the_same_for_the_same_numbers(tmp_path):
    frame = pl.DataFrame({"model": ["m", "m"], "x": [1, 10], "value": [0.2, 0.9]})
    first, second = (
        figures.save(drawing.lines(frame, measure="Recall@k"), tmp_path / name / "recall.2") for name in ("a", "b")
    )
    assert [path.name for path in first] == ["recall.2.png", "recall.2.svg", "recall.2.pdf"]
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
    assert first[0].read_bytes().startswith(b"\x89PNG")
    assert "<svg" in first[1].read_text() and ">Recall@k</text>" in first[1].read_text()  # text is text


@pytest.mark.slow
def test_every_plot_that_there_is_data_for_and_no_other(world):
    drawn = {plot.name: plot for plot in figures.draw(world)}
    assert set(drawn) == {
        *(
            f"sample-wipo-at-{kind}"
            for kind in ("in-out", "sections", "jurisdictions", "recall", "scale", "distribution", "tasks")
        ),
        *(f"sample-wipo-at-{kind}" for kind in ("query-sections",)),
        *(f"sample-patenteb-{kind}" for kind in ("in-out", "ranks", "scale", "overlap", "profile", "groups", "tasks")),
        "sample-patenteb-distribution",
    }
    assert all("(sample)" in plot.figure.get_suptitle() for plot in drawn.values())


@pytest.mark.slow
def test_data_sources_are_never_in_one_plot(tmp_path):
    add(model_folder(tmp_path, "acme/small"), HEADLINE, 0.1, slices={"in": 0.2, "out": 0.1})
    add(model_folder(tmp_path, "acme/large"), HEADLINE, 0.1, kind="real", slices={"in": 0.3, "out": 0.2})
    drawn = {plot.name: plot.figure for plot in figures.draw(collect(tmp_path))}
    bars = {name: [label.get_text() for label in figure.axes[0].get_yticklabels()] for name, figure in drawn.items()}
    assert bars == {"sample-wipo-at-in-out": ["small"], "real-wipo-at-in-out": ["large"]}


@pytest.mark.slow
def test_what_compares_models_is_not_drawn_of_fewer_than_it_needs(tmp_path):
    for count, missing in ((1, {"correlations", "profile", "ranks"}), (7, {"correlations"}), (8, set())):
        for number in range(count):
            folder = model_folder(tmp_path / str(count), f"acme/m{number}")
            for task in ("PatenTEBTitle2Full", "PatenTEBBloom"):
                add(folder, task, 0.3 + 0.1 * number)
        drawn = {plot.name.removeprefix("sample-patenteb-") for plot in figures.draw(collect(tmp_path / str(count)))}
        assert drawn & {"correlations", "profile", "ranks"} == {"correlations", "profile", "ranks"} - missing
