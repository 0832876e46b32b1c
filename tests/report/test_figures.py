"""Which plots a report has, and the files they become."""

import sys

import polars as pl
import pytest
from report_folders import HEADLINE, add, model_folder

from patent_mteb import report
from patent_mteb.report import drawing, figures
from patent_mteb.report.collect import ReportError, collect

pytest.importorskip("vl_convert")


@pytest.mark.slow
def test_the_renderer_is_an_extra(world, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(ReportError, match=r"pip install -e '.\[report\]'"):
        report.run(world, out=tmp_path, plots=True)
    assert not list(tmp_path.iterdir()), "said before anything is written"
    report.run(world, html=tmp_path)
    assert (tmp_path / "index.html").is_file(), "the page draws its own charts"


@pytest.mark.slow
def test_files_are_the_same_for_the_same_numbers(tmp_path):
    """Also where Vega counts what it has drawn, and a PDF lists its parts in any order."""
    frame = pl.DataFrame({"model": ["m"] * 2, "group": ["a", "b"], "value": [0.2, 0.9]})
    frame = frame.with_columns(alignment="value", uniformity="value", ssd=pl.lit(0.1), score="value")
    drawn = {"a.2": drawing.heatmap(frame, measure="Recall@k"), "b": drawing.plane(frame)}
    for name, figure in drawn.items():
        files = [figures.save(figure, tmp_path / str(number) / name) for number in range(6)]
        assert [path.name for path in files[0]] == [f"{name}.png", f"{name}.svg", f"{name}.pdf"]
        for same in zip(*files, strict=True):
            assert len({path.read_bytes() for path in same}) == 1, same[0]
    png, svg, pdf = (tmp_path / "0" / f"a.2.{suffix}" for suffix in ("png", "svg", "pdf"))
    assert png.read_bytes().startswith(b"\x89PNG") and b"pHYs" in png.read_bytes()[:60]
    assert ">Recall@k</text>" in svg.read_text() and b"LiberationSans" in pdf.read_bytes(), "text is text"
    assert svg.read_text().count('"colours"') == 1 and '"url(#colours)"' in svg.read_text()


@pytest.mark.slow
def test_every_plot_that_there_is_data_for_and_no_other(world):
    drawn = {plot.name: plot for plot in figures.draw(collect(world))}
    assert set(drawn) == {
        *(
            f"sample-wipo-at-{kind}"
            for kind in ("in-out", "sections", "jurisdictions", "recall", "distribution", "tasks")
        ),
        *(f"sample-wipo-at-{kind}" for kind in ("query-sections",)),
        *(f"sample-patenteb-{kind}" for kind in ("in-out", "ranks", "overlap", "profile", "groups", "tasks")),
        "sample-patenteb-distribution",
    }
    assert all("(sample)" in " ".join(plot.figure["title"]["text"]) for plot in drawn.values())


def test_panels_together_have_one_sentence(tmp_path):
    for number in range(3):
        folder = model_folder(tmp_path, f"acme/m{number}", n_parameters=10 ** (7 + number))
        for place, task in enumerate((HEADLINE, "WIPOATClaim1ToTACRetrieval", "WIPOATEmergingClassification")):
            add(folder, task, 0.3 + (0.1 - 0.04 * number) * place + 0.02 * number)
    drawn = {plot.name: plot.figure["title"]["text"] for plot in figures.draw(collect(tmp_path))}
    said = {name: " ".join(drawn[f"sample-wipo-at-{name}"]) for name in ("sections", "scale")}
    assert said["sections"].endswith("highest for the query Claim1 and the corpus TAC for 3 of 3 models")
    assert said["scale"].endswith("The largest model is the best in 0 of 2 groups")


@pytest.mark.slow
def test_data_sources_are_never_in_one_plot(tmp_path):
    add(model_folder(tmp_path, "acme/small"), HEADLINE, 0.1, slices={"in": 0.2, "out": 0.1})
    add(model_folder(tmp_path, "acme/large"), HEADLINE, 0.1, kind="real", slices={"in": 0.3, "out": 0.2})
    drawn = {plot.name: plot.figure for plot in figures.draw(collect(tmp_path))}
    bars = {name: figure["encoding"]["y"]["scale"]["domain"] for name, figure in drawn.items()}
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
