"""Settings on the command line: read by annotation, refused with everything that is needed to mend them."""

import dataclasses
import datetime as dt
import sys
import types
from pathlib import Path
from typing import Annotated, Literal

import pytest

from patent_mteb import recipes
from patent_mteb.errors import DataError
from patent_mteb.patents.collection import Collection
from patent_mteb.patents.records import Patent
from patent_mteb.recipes.parameters import Bounds, Setting, read_params, settings_of, written

EVERY = [(recipe, setting) for recipe in recipes.RECIPES for setting in settings_of(recipes.find(recipe).Params)]


def read(recipe, *assignments):
    return read_params(recipes.find(recipe).Params, assignments, recipe)


@pytest.mark.parametrize(
    ("recipe", "assignment", "value"),
    [
        ("patenteb", "split=0.8,0.1,0.1", (0.8, 0.1, 0.1)),
        ("patenteb", "split= 0.5 , 0.25, .25 ", (0.5, 0.25, 0.25)),
        ("patenteb", "ipc_clusters=3,100", (3, 100)),
        ("patenteb", "inventor_clusters=3,100", (3, 100)),
        ("patenteb", "cutoff=2020-02-29", dt.date(2020, 2, 29)),
        ("patenteb", "max_words=1_000", 1000),
        ("patenteb", "decile=1", 1.0),
        ("patentmap", "query_offices=EP,US", ("EP", "US")),
        ("patentmap", "query_offices=EP", ("EP",)),
        ("patentmap", "ipc_offices=", ()),
        ("patentmap", "query_first_year=None", None),
        ("patentmap", "ipc_last_year=none", None),
        ("patentmap", "query_last_year=2020", 2020),
        ("sophia", "first_year=None", None),
        ("open_us", "first_action=false", False),
        ("wipo_at", "train=0.5", 0.5),
        ("dapfam", "earliest_claim=1999-12-31", dt.date(1999, 12, 31)),
    ],
)
def test_values_have_the_type_of_the_annotation(recipe, assignment, value):
    got = getattr(read(recipe, assignment), assignment.partition("=")[0])
    assert got == value and type(got) is type(value)


@pytest.mark.parametrize(("recipe", "setting"), EVERY, ids=[f"{recipe}-{setting.name}" for recipe, setting in EVERY])
def test_every_default_survives_as_text_and_is_described(recipe, setting):
    module = recipes.find(recipe)
    assert read(recipe, f"{setting.name}={setting.default}") == module.Params()
    value = getattr(module.SAMPLE, setting.name)
    assert getattr(read(recipe, f"{setting.name}={written(value)}"), setting.name) == value
    assert setting.description


BAD = {
    ("patenteb", "split=0.8,0.1"): "3 values separated by commas (each number from 0 to 1)",
    ("patenteb", "split=0.8,0.1,0.1,0"): "3 values separated by commas (each number from 0 to 1)",
    ("patenteb", "split=0.8,x,0.1"): "3 values separated by commas (each number from 0 to 1)",
    ("patenteb", "split="): "3 values separated by commas (each number from 0 to 1)",
    ("patenteb", "split=2,-1,0"): "3 values separated by commas (each number from 0 to 1)",
    ("patenteb", "cutoff=20.6.2023"): "date (YYYY-MM-DD)",
    ("patenteb", "cutoff=None"): "date (YYYY-MM-DD)",
    ("patenteb", "decile=nan"): "number from 0 to 1",
    ("patenteb", "early_years=5.5"): "integer from 0 to 100",
    ("patentmap", "query_first_year=soon"): "integer, or None",
    ("patentmap", "query_offices=EP,,US"): "values separated by commas (each text)",
    ("patentmap", "queries=0"): "integer of at least 1",
    ("dapfam", "negatives=-1"): "integer of at least 0",
    ("dapfam", "seed="): "integer",
    ("open_us", "first_action=maybe"): "true or false",
    ("wipo_at", "train=inf"): "number from 0 to 1",
    ("wipo_at", "train=nan"): "number from 0 to 1",
    ("wipo_at", "train=5"): "number from 0 to 1",
    ("wipo_at", "train=-1"): "number from 0 to 1",
    ("sophia", "queries=-5"): "integer of at least 1",
}


@pytest.mark.parametrize(("recipe", "assignment"), BAD)
def test_a_bad_value_is_refused_with_setting_value_type_and_default(recipe, assignment):
    name, _, text = assignment.partition("=")
    with pytest.raises(DataError) as caught:
        read(recipe, assignment)
    default = next(setting.default for setting in recipes.settings(recipe) if setting.name == name)
    assert (
        caught.value.problem
        == f"setting {name} of recipe {recipe} cannot be '{text}', expected: {BAD[recipe, assignment]}"
    )
    assert caught.value.remedy.endswith(f"the default is {name}={default}")


def test_what_is_no_setting_is_refused(tmp_path):
    for assignment in ("summariser=x", "sead=7"):
        with pytest.raises(
            DataError, match=f"recipe sophia has no setting '{assignment.partition('=')[0]}'.*choose among first_year, "
        ):
            recipes.run("sophia", Collection([], []), tmp_path, [assignment])
    with pytest.raises(DataError, match="setting seed of recipe dapfam has no value, expected: integer"):
        read("dapfam", "seed")
    with pytest.raises(
        DataError, match=r"do not go together: the shares of the split \(0.8, 0.1, 0.2\) do not add up to one"
    ):
        read("patenteb", "split=0.8,0.1,0.2")
    with pytest.raises(DataError, match="more than one together"):
        read("wipo_at", "train=0.8", "validation=0.3")
    with pytest.raises(DataError, match=r"positive_share=0\.0"):
        read("patenteb", "positive_share=0")


@dataclasses.dataclass(frozen=True)
class Params:
    """All that an annotation can say.

    Attributes:
        mode: how it is
            done.
        first, second: two numbers.

    Text behind the attributes: no attribute.
    """

    mode: Literal["fast", "slow", 3] = "fast"
    first: float | None = None
    second: Annotated[float, Bounds(greatest=2)] = 1e-3
    pair: tuple[str, int] = ("a", 1)
    dates: tuple[dt.date, ...] = ()
    names: tuple[Literal["x", "y"], ...] = ("y",)
    cells: tuple[tuple[int, ...], ...] = ()
    path: Path = Path()
    either: int | str = 0
    anything: object = None


def test_settings_are_described_by_annotation_and_docstring():
    assert settings_of(Params) == [
        Setting("mode", "one of fast, slow, 3", "fast", "how it is done."),
        Setting("first", "number, or None", "None", "two numbers."),
        Setting("second", "number from -inf to 2", "0.001", "two numbers."),
        Setting("pair", "2 values separated by commas (text, integer)", "a,1", ""),
        Setting("dates", "values separated by commas (each date (YYYY-MM-DD))", "", ""),
        Setting("names", "values separated by commas (each one of x, y)", "y", ""),
    ]
    assignments = [
        "mode=3",
        "first=-1e3",
        "second=2",
        "pair=EP, 5",
        "dates=2020-01-01,2021-01-01",
        "names=x,y,x",
        "mode=slow",
    ]
    expected = Params("slow", -1000.0, 2.0, ("EP", 5), (dt.date(2020, 1, 1), dt.date(2021, 1, 1)), ("x", "y", "x"))
    assert read_params(Params, assignments, "mine") == expected
    for bad in ("mode=medium", "names=x,z", "names=x,", "pair=EP", "second=2.1", "first=", "dates=,"):
        with pytest.raises(DataError, match=f"of recipe mine cannot be '{bad.partition('=')[2]}'"):
            read_params(Params, [bad], "mine")


@pytest.mark.parametrize("name", ["wipo_at", "WIPO-AT", "wipo-at", "Wipo_AT"])
def test_names_of_recipes_in_any_spelling(name):
    assert recipes.find(name) is recipes.find("wipo_at") and recipes.settings(name) == recipes.settings("wipo_at")
    for benchmark in ("DAPFAM", "PatenTEB", "Sophia", "PatentMap"):
        assert recipes.find(benchmark) is recipes.find(benchmark.lower())


@pytest.mark.parametrize("name", ["wipoat", "", "..", "a b", "patent_mteb.recipes.nothing", "nothing.at.all"])
def test_unknown_recipes_are_refused(name):
    with pytest.raises(
        DataError, match=r"there is no recipe '.*choose one of wipo_at, dapfam, patenteb, sophia, patentmap"
    ):
        recipes.find(name)


def test_only_a_recipe_outside_the_package_has_a_source_file():
    assert recipes.source_file("DAPFAM") is None and recipes.source_file("json").name == "__init__.py"
    for name, message in (("no_such_module", "there is no recipe"), ("sys", "has no file")):
        with pytest.raises(DataError, match=message):
            recipes.source_file(name)


def test_a_recipe_whose_own_imports_fail_says_so(tmp_path, monkeypatch):
    (tmp_path / "broken_recipe.py").write_text("import a_module_that_nobody_has")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="a_module_that_nobody_has"):
        recipes.find("broken_recipe")


def test_a_recipe_of_ones_own_is_run_by_its_dotted_name(tmp_path, monkeypatch):
    module = types.ModuleType("my_recipe")
    module.SAMPLE = None
    module.build = lambda patents, citations, root, params=None: recipes.BuildLog(f"{len(patents)} {params}")
    monkeypatch.setitem(sys.modules, "my_recipe", module)
    assert [one.name for one in recipes.settings("my_recipe")] == ["match", "families", "twins"]
    assert (
        recipes.run("my_recipe", Collection([Patent("US1A", "F1"), Patent("US2A", "F2")], []), tmp_path).benchmark
        == "2 None"
    )
    with pytest.raises(DataError, match="has no settings"):
        recipes.run("my_recipe", Collection([], []), tmp_path, ["seed=1"])
    module.Params = Params
    assert recipes.run("my_recipe", Collection([], []), tmp_path, ["mode=slow"]).benchmark == f"0 {Params('slow')}"
