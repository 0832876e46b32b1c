"""The words of docs/glossary.md: phrases that the project never uses, counted in code, messages and docs.

python tests/test_language.py [PATH ...]      # every hit with its line; without a path: the package and the docs
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
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
QUOTED = {ROOT / "docs" / "glossary.md": set(NEVER)}


ANY = re.compile("|".join(pattern.replace(" ", r"\s+") for pattern in NEVER.values()))


@lru_cache(maxsize=1)
def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text("utf-8"))))


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """The texts of a file, each with its first line: comments and string literals of code, paragraphs of a page."""
    source = path.read_text("utf-8")
    if path.suffix != ".py":
        line = 1
        for paragraph in re.split(r"(\n\s*\n)", source):
            yield line, re.sub(r"`[^`]*`", "`code`", paragraph)
            line += paragraph.count("\n")
        return
    for number, line in enumerate(source.splitlines(), start=1):
        if "#" in line:  # a comment, or a string that is read twice
            yield number, line.partition("#")[2]
    for node in nodes(path):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def identifiers(path: Path) -> Iterator[tuple[int, str]]:
    """The names that a file defines or uses."""
    for node in nodes(path):
        for field in ("id", "attr", "name", "arg", "asname"):
            if isinstance(name := getattr(node, field, None), str):
                yield getattr(node, "lineno", 0), name


def hits(path: Path) -> list[str]:
    """``file:line: rule: words`` of every phrase that a file should not hold."""
    quoted = set().union(*(rules for place, rules in QUOTED.items() if place == path or place in path.parents))
    name = path.relative_to(ROOT) if ROOT in path.parents else path
    found = []
    for line, text in prose(path):
        for rule, pattern in NEVER.items() if ANY.search(text) else ():
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


def test_the_rules_find_names_comments_and_texts_over_two_lines(tmp_path):
    code = tmp_path / "code.py"
    code.write_text("# this lies in a folder\nsomebody_else = 'a row is' ' no record'  # beside it\n")
    found = [hit.rpartition(": ")[2] for hit in hits(code)]
    assert found == ["'lies in'", "'beside'", "'is no record'", "'somebody_else' in a name"]


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
