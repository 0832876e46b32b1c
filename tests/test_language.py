"""The words of docs/glossary.md: phrases that the project never uses, counted in code, messages and docs.

python tests/test_language.py [PATH ...]      # every hit with its line; without a path: the package and the docs
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "patent_mteb"
PAGES = (
    *sorted((ROOT / "docs").glob("*.md")),
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
)
NEVER = {
    "is no X, are no X (write: is not X, invalid X)": r"(?<![Tt]here)\s(?:is|are|was|were) no (?!longer\b|more\b|less\b|fewer\b|\S+er than\b)\w+",
    "nobody, somebody, whoever": r"\b(?:nobody|somebody|whoever|whomever)\b",
    "so many (write: n, at most n)": r"\bso many\b",
    "is told, are told (write: receives, is configured with)": r"\b(?:is|are|was|were|be|been) told\b",
    "anew (write: again)": r"\banew\b",
    "filed apart, filed under (write: stored under a separate name)": r"\bfiled (?:apart|under)\b",
    "lies in (write: is in)": r"\b(?:lies?|lying|lay) (?:in|on|under|at|next)\b",
    "stands in, stands on (write: is in)": r"\b(?:stands?|stood|standing) (?:in|on|under|at|next|for itself)\b",
    "beside (write: next to, along with)": r"\bbeside\b",
    "told apart (write: distinguished)": r"\btold apart\b|\b(?:tells?|telling) (?:\w+ ){1,3}apart\b",
    "made of no other, the most first, at hand": r"\bmade of no other\b|\bthe most first\b|\bat hand\b",
    "what is X as a noun": r"\b[Ww]hat (?:is|are|was|were)\b(?![^.!:;]*\?)",
    "metaphors of houses": r"\b(?:houses?|halls?|rooms?)\b",
}
NAMES = re.compile(r"(?:^|_)(?:nobody|somebody|whoever|anew|beside|told|house|hall|rooms?)(?:_|$)")
"""Words of the list that no identifier may hold."""
QUOTED = {
    PACKAGE / "sample": {"metaphors of houses"},  # texts of invented patents
    ROOT / "docs" / "glossary.md": set(NEVER),
}


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """The texts of a file, each with its first line: comments and string literals of code, paragraphs of a page."""
    source = path.read_text("utf-8")
    if path.suffix != ".py":
        line = 1
        for paragraph in re.split(r"(\n\s*\n)", source):
            yield line, re.sub(r"`[^`]*`", "`code`", paragraph)
            line += paragraph.count("\n")
        return
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def identifiers(path: Path) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(path.read_text("utf-8")).readline):
        if token.type == tokenize.NAME:
            yield token.start[0], token.string


def hits(path: Path) -> list[str]:
    """``file:line: rule: words`` of every phrase that a file should not hold."""
    quoted = set().union(*(rules for place, rules in QUOTED.items() if place == path or place in path.parents))
    name = path.relative_to(ROOT) if ROOT in path.parents else path
    found = []
    for line, text in prose(path):
        for rule, pattern in NEVER.items():
            if rule not in quoted:
                for match in re.finditer(pattern.replace(" ", r"\s+"), text):
                    place = line + text[: match.start()].count("\n")
                    found.append(f"{name}:{place}: {rule}: {' '.join(match[0].split())[:60]!r}")
    if path.suffix == ".py":
        found += [f"{name}:{line}: {word!r} in a name" for line, word in identifiers(path) if NAMES.search(word)]
    return found


def files(paths: Iterable[Path] = (PACKAGE, *PAGES)) -> list[Path]:
    return [one for path in paths for one in (sorted(path.rglob("*.py")) if path.is_dir() else [path])]


def test_the_words_are_those_of_the_glossary():
    found = [hit for path in files() for hit in hits(path)]
    assert not found, "\n".join(found)


def test_the_rules_find_what_they_name(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("A row without a number is no record.\n\nIt lies\nin a folder. There is no index. What is new?\n")
    assert [hit.rpartition(": ")[2] for hit in hits(page)] == ["'is no record'", "'lies in'"]


if __name__ == "__main__":
    found = [
        hit for path in files([Path(one).resolve() for one in sys.argv[1:]] or (PACKAGE, *PAGES)) for hit in hits(path)
    ]
    print(*found, f"{len(found)} phrases", sep="\n")
    sys.exit(bool(found))
