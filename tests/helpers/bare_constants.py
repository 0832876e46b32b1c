"""The numeric constants at module level that no comment and no docstring explains."""

from __future__ import annotations

import ast
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "patent_mteb"


def _is_number(node: ast.expr) -> bool:
    """A number, or an expression of numbers alone such as ``1 << 20``; 0 and 1 say what they are."""
    if isinstance(node, ast.BinOp):
        return _is_number(node.left) and _is_number(node.right)
    if isinstance(node, ast.UnaryOp):
        return _is_number(node.operand)
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def bare_constants(path: Path) -> list[str]:
    text = path.read_text("utf-8")
    lines, body = text.splitlines(), ast.parse(text).body
    found = []
    for statement, following in zip(body, [*body[1:], None], strict=True):
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        value = getattr(statement, "value", None)
        if not isinstance(statement, ast.Assign | ast.AnnAssign) or value is None or not _is_number(value):
            continue
        said = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
        commented = "#" in lines[statement.lineno - 1] or lines[statement.lineno - 2].startswith("#")
        if isinstance(targets[0], ast.Name) and not said and not commented:
            found.append(f"{path.relative_to(PACKAGE.parent)}:{statement.lineno}: {lines[statement.lineno - 1]}")
    return found


def all_bare_constants() -> list[str]:
    return [line for path in sorted(PACKAGE.rglob("*.py")) for line in bare_constants(path)]


if __name__ == "__main__":
    print("\n".join(all_bare_constants()))
