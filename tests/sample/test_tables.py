"""The tables that the recipes make of the sample: a change to any of them needs a new SAMPLE_VERSION, because results
carry it.
"""

import hashlib
import json

import pyarrow.parquet as pq
import pytest

from patent_mteb import recipes
from patent_mteb.data import loading
from patent_mteb.sample import SAMPLE_VERSION

DIGESTS = {
    "2": {
        "wipo_at": "246ac4c3c2594cb0",
        "dapfam": "862fd58f0cc3ddb7",
        "patenteb": "739a1216ad704236",
        "sophia": "c10bd9826a585fa3",
        "patentmap": "b4906f9670e02e27",
    }
}


def digest(root):
    total = hashlib.sha256()
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        total.update(path.relative_to(root).as_posix().encode())
        content = (
            json.dumps(pq.read_table(path).to_pylist(), default=str).encode()
            if path.suffix == ".parquet"
            else path.read_bytes()
        )
        total.update(content)
    return total.hexdigest()[:16]


@pytest.mark.slow
@pytest.mark.parametrize("recipe", recipes.RECIPES)
def test_the_tables_of_this_version_are_what_they_were(recipe):
    found = digest(loading.sample_root(recipe))
    assert found == DIGESTS[SAMPLE_VERSION][recipe], (
        f"the {recipe} tables of the sample changed: raise SAMPLE_VERSION and note the new digests"
    )
