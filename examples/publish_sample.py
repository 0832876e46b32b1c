"""Write the tables of the built-in sample with a data card and Croissant metadata, ready to be published.

python examples/publish_sample.py DIRECTORY
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from patent_mteb import recipes
from patent_mteb.data.loading import sample_root
from patent_mteb.experiments.datasheet import CROISSANT, croissant
from patent_mteb.files import write_json
from patent_mteb.sample import SAMPLE_VERSION

ABOUT = {
    "name": "patent-mteb-sample",
    "description": "Invented patents in the layouts of five benchmarks of patent retrieval and classification."
    " No patent, person or company is real. Scores on these data say nothing about the published benchmarks.",
    "license": "https://www.apache.org/licenses/LICENSE-2.0",
    "version": f"{SAMPLE_VERSION}.0.0",
    "datePublished": "2026-11-23",
    "citeAs": "Cite the paper of each benchmark whose layout is used; see CITATION.cff of patent-mteb.",
    "isAccessibleForFree": True,
    "keywords": ["patents", "information retrieval", "synthetic data"],
}
CARD = Path(__file__).parents[1] / "docs" / "sample.md"


def main(folder: Path, names: Sequence[str] = ("wipo_at", "dapfam", "patenteb", "sophia", "patentmap")) -> None:
    for name in names:
        assert name in recipes.RECIPES
        shutil.copytree(sample_root(name), folder / name, dirs_exist_ok=True)
    shutil.copy(CARD, folder / "README.md")
    write_json(folder / CROISSANT, croissant(folder, ABOUT))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
