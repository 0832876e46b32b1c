"""axe-core finds no barrier in any tab of the page, at two widths and in both themes."""

from importlib.resources import files

import pytest
from browser import observe


@pytest.mark.slow
@pytest.mark.parametrize(
    ("count", "theme"), [(3, "light"), (3, "dark"), pytest.param(25, "dark", marks=pytest.mark.long)]
)
def test_axe_finds_nothing(browser, report_of_many, tmp_path, count, theme):
    _, out = report_of_many(count)
    axe = files(pytest.importorskip("axe_core_python")).joinpath("axe.min.js").read_text(encoding="utf-8")
    text = (out / "index.html").read_text(encoding="utf-8")
    text = text.replace("<head>", f"<head><script>{axe}</script>", 1)
    flags = [f"--blink-settings=preferredColorScheme={0 if theme == 'dark' else 1}"]
    seen = observe(browser, text, "report_axe.js", tmp_path, flags=flags)
    for frame in ("wide", "phone"):
        assert "failed" not in seen[frame], seen[frame]
        assert seen[frame]["dark"] == (theme == "dark")
        assert seen[frame]["found"] == []
