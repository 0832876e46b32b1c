"""The table in docs/recipes.md of which recipe needs which field, from the recipes' ``NEEDS``.

python tests/helpers/needs_table.py          # writes it again
"""

from __future__ import annotations

from pathlib import Path

from patent_mteb import recipes

PAGE = Path(__file__).resolve().parents[2] / "docs" / "recipes.md"
START, END = "<!-- the needs: python tests/helpers/needs_table.py -->\n", "<!-- end of the needs -->\n"
NAMES = {"wipo_at": "WIPO-AT", "dapfam": "DAPFAM", "patenteb": "PatenTEB", "sophia": "Sophia", "patentmap": "PatentMap"}


def table() -> str:
    lines = ["| benchmark | field | use | dropped without it |", "|---|---|---|---|"]
    for recipe in recipes.RECIPES:
        for need in recipes.needs(recipe):
            fixed = " (cannot be waived)" if need.fixed else ""
            lines.append(f"| {NAMES[recipe]} | `{need.field}` | {need.serves} | {need.drops}{fixed} |")
    return "\n".join(lines).replace("*", r"\*") + "\n"


def with_table(page: str) -> str:
    head, _, rest = page.partition(START)
    return head + START + table() + END + rest.partition(END)[2]


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text("utf-8")), "utf-8")
