"""Packages import downwards only, without a circle, and the light packages import neither mteb nor torch."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from import_graph import GRAPH, LAYER, MODULES, PACKAGE, PAGE, imports_of, module_named, package_of, with_picture

from patent_mteb import _mteb

TOP_LEVEL = {"py.typed"} | {
    f"{name}.py" for name in ("__init__", "__main__", "_mteb", "errors", "files", "identity", "memory", "parallel")
}
WITHOUT_MTEB = {
    "endpoints",
    "errors",
    "files",
    "identity",
    "published",
    "patents",
    "readers",
    "sample",
    "metrics",
    "recipes",
}


def test_the_top_level_holds_nothing_else_and_every_package_has_its_layer():
    assert {path.name for path in PACKAGE.iterdir() if path.is_file()} <= TOP_LEVEL
    assert {package_of(module) for module in MODULES} <= LAYER.keys()


def test_packages_import_downwards_only():
    upward = [
        f"{module} -> {target}"
        for module, targets in GRAPH.items()
        for target in targets
        if package_of(module) != package_of(target) and LAYER[package_of(target)] >= LAYER[package_of(module)]
    ]
    assert not upward


def test_no_module_imports_itself_by_a_detour():
    state: dict[str, int] = {}
    circles: list[list[str]] = []

    def walk(module: str, path: list[str]) -> None:
        state[module] = 1
        for target in sorted(GRAPH[module] - {"patent_mteb"}):
            if state.get(target) == 1:
                circles.append([*path[path.index(target) :], target] if target in path else [module, target])
            elif target not in state:
                walk(target, [*path, target])
        state[module] = 2

    for module in GRAPH:
        if module not in state:
            walk(module, [module])
    assert not circles


@pytest.mark.slow
def test_packages_of_facts_know_neither_mteb_nor_torch():
    """All of them in one process of their own: whatever they reach may not reach mteb or torch either."""
    wanted = [module for module in MODULES if package_of(module) in WITHOUT_MTEB]
    assert {package_of(module) for module in wanted} == WITHOUT_MTEB
    code = (
        "import sys, importlib\n"
        f"for name in {wanted!r}:\n"
        "    importlib.import_module(name)\n"
        "    assert not {'mteb', 'torch'} & sys.modules.keys(), name\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_package_that_imports_mteb_imports_it_first():
    """Importing mteb registers the suite; a module of a package must not be half-imported when that happens."""
    for package in {package_of(module) for module in MODULES} - {"__init__", "_mteb"}:
        users = [
            module
            for module, path in MODULES.items()
            if package_of(module) == package
            and any(name.split(".")[0] == "mteb" for name in imports_of(path).at_import)
        ]
        if users:
            assert "import mteb" in (PACKAGE / package / "__init__.py").read_text("utf-8"), users


@pytest.mark.slow
def test_no_module_uses_private_names_of_mteb():
    """All of them are used in ``_mteb.py``, whose contract tests/test_mteb.py holds."""
    private = [
        f"{module}: {name}"
        for module, path in MODULES.items()
        if module != "patent_mteb._mteb"
        for name in imports_of(path).names
        if name.startswith("mteb.") and any(step.startswith("_") for step in name.split("."))
    ]
    assert not private
    replaced = {method for _, _, method in _mteb.METHODS}
    for module, path in MODULES.items():
        if module != "patent_mteb._mteb":
            defined = {
                node.name for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.FunctionDef)
            }
            assert not defined & replaced, f"{module} replaces a private method of mteb; use the hooks of _mteb.py"


@pytest.mark.slow
def test_no_module_imports_a_private_name_of_another():
    borrowed = [
        f"{module}: {name}"
        for module, path in MODULES.items()
        for name in imports_of(path).names
        if module_named(name)
        and name.rpartition(".")[2].startswith("_")
        and not name.endswith(("__version__", "_mteb"))
    ]
    assert not borrowed


def test_the_tests_mirror_the_packages():
    folders = {path.name for path in Path(__file__).parent.iterdir() if path.is_dir() and any(path.glob("test_*.py"))}
    packages = {package_of(module) for module, path in MODULES.items() if path.parent != PACKAGE}
    assert packages <= folders


def test_the_picture_in_the_docs_is_that_of_the_code():
    page = PAGE.read_text("utf-8")
    assert page == with_picture(page), "write it again: python tests/helpers/import_graph.py"
