"""The colours of the page, light and dark: contrast by WCAG 2 of texts and marks with their backgrounds."""

import re
from importlib.resources import files

import pytest

CSS = files("patent_mteb.report").joinpath("site", "page.css").read_text("utf-8")
LIGHT, DARK = (
    dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block)) for block in re.findall(r":root \{(.*?)\}", CSS, re.DOTALL)
)
TEXTS = {
    "ink": ("page", "stripe", "raised", "tied"),
    "soft": ("page", "stripe", "raised"),
    "best": ("page", "stripe", "tied", "raised"),
}
TEXTS |= {"accent": ("page", "raised"), "on-accent": ("accent",), "warn": ("warn-page",)}


def channels(colour):
    return [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]


def luminance(rgb):
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in rgb]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first, second):
    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_texts_and_series_contrast_with_their_backgrounds(palette):
    assert len(palette) > 20
    for text, grounds in TEXTS.items():
        for ground in grounds:
            assert contrast(channels(palette[text]), channels(palette[ground])) >= 4.5, (text, ground)
    for series in range(8):
        assert contrast(channels(palette[f"c{series}"]), channels(palette["raised"])) >= 3, series
    assert len({palette[f"c{series}"] for series in range(8)}) == 8


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_numbers_on_a_heatmap_can_be_read_at_every_shade(palette):
    weak, strong = map(int, re.search(r"Math.round\((\d+) \+ (\d+) \* strength\)", charts()).groups())
    for share in range(weak, weak + strong + 1):
        heat, ground = channels(palette["heat"]), channels(palette["stripe"])
        mixed = [share / 100 * one + (1 - share / 100) * other for one, other in zip(heat, ground, strict=True)]
        assert contrast(channels(palette["ink"]), mixed) >= 4.5, share


def charts():
    return files("patent_mteb.report").joinpath("site", "charts.js").read_text("utf-8")
