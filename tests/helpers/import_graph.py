"""The import graph of the package, read from its code: packages, their layers, and their imports.

    python tests/helpers/import_graph.py          # writes the picture in docs/architecture.md

Imports inside functions count, those for type checking do not.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "patent_mteb"
PAGE = ROOT / "docs" / "architecture.md"
LAYERS = (
    {"errors"},
    {"memory"},
    {"files", "_mteb", "parallel"},
    {"identity", "published"},
    {"patents", "endpoints", "model_identity"},
    {"readers", "sample", "metrics"},
    {"protocols", "store", "recipes"},
    {"data"},
    {"search"},
    {"models"},
    {"tasks"},
    {"training", "experiments"},
    {"report"},
    {"cli"},
    {"__init__"},
)
"""From the ground up; a package imports from the layers below its own only."""
LAYER = {package: number for number, packages in enumerate(LAYERS) for package in packages}


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def package_of(module: str) -> str:
    parts = module.split(".")
    return parts[1].replace("__main__", "cli") if len(parts) > 1 else "__init__"


class _Imports(ast.NodeVisitor):
    """Absolute names that a module imports at run time."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.at_import: list[str] = []
        self._inside = 0

    def visit_If(self, node: ast.If) -> None:
        if "TYPE_CHECKING" in ast.dump(node.test):
            for child in node.orelse:
                self.visit(child)
        else:
            self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._inside += 1
        self.generic_visit(node)
        self._inside -= 1

    def _add(self, names: list[str]) -> None:
        self.names += names
        if not self._inside:
            self.at_import += names

    def visit_Import(self, node: ast.Import) -> None:
        self._add([alias.name for alias in node.names])

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        assert not node.level, "imports are absolute"
        self._add([f"{node.module}.{alias.name}" for alias in node.names])


@cache
def imports_of(path: Path) -> _Imports:
    visitor = _Imports()
    visitor.visit(ast.parse(path.read_text("utf-8")))
    return visitor


def module_named(name: str) -> str:
    """The module that an imported name belongs to, empty for a name outside the package."""
    while name and name not in MODULES:
        name = name.rpartition(".")[0]
    return name


GRAPH = {
    module: {target for name in imports_of(path).names if (target := module_named(name)) and target != module}
    for module, path in MODULES.items()
}


_EVERYWHERE = ("__init__", "errors", "files", "memory")  # which every package may import: no arrows


def picture() -> str:
    """The packages and their imports as a mermaid graph, layer by layer; an arrow that a detour shows too is left out."""
    packages: dict[str, set[str]] = defaultdict(set)
    for module, targets in GRAPH.items():
        packages[package_of(module)] |= {package_of(target) for target in targets} - {package_of(module), *_EVERYWHERE}
    below: dict[str, set[str]] = {}
    for package in sorted(packages, key=LAYER.__getitem__):
        below[package] = (
            packages[package].union(*(below[target] for target in packages[package])) if packages[package] else set()
        )
    lines = ["```mermaid", "graph TD"]
    for package in sorted(packages, key=lambda package: (-LAYER[package], package)):
        if package in _EVERYWHERE[1:]:
            continue
        title = "patent_mteb" if package == "__init__" else package
        lines.append(f"  {package.strip('_')}[{title}]")
        direct = {
            target
            for target in packages[package]
            if not any(target in below[other] for other in packages[package] - {target})
        }
        lines += [f"  {package.strip('_')} --> {target.strip('_')}" for target in sorted(direct)]
    return "\n".join([*lines, "```"])


def with_picture(page: str) -> str:
    """The page with the picture as the code is now, between its two markers."""
    start, end = "<!-- the picture: python tests/helpers/import_graph.py -->", "<!-- end of the picture -->"
    before, _, rest = page.partition(start)
    return f"{before}{start}\n{picture()}\n{end}{rest.partition(end)[2]}"


if __name__ == "__main__":
    PAGE.write_text(with_picture(PAGE.read_text("utf-8")), "utf-8")
