"""Training jobs of seconds, and the weights that they give."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from safetensors.numpy import load_file

from patent_mteb.training.corpus import read_corpus
from patent_mteb.training.preparing import Job
from patent_mteb.training.recipes import find_recipe, settings_for

QUICK = ["lr=0.02", "accumulation=1", "batch=32", "epochs=2", "checks=3"]


def small():
    """Some of the sample's patents in each split: a run of seconds."""
    whole = read_corpus("sample")
    sizes = {"train": 260, "validation": 60, "test": 100}
    chosen = [patent for split, most in sizes.items() for patent in list(whole.members(split))[:most]]
    return replace(whole, patents=chosen)


def job(name, base, out, *settings, **more):
    recipe = find_recipe(name)
    chosen = settings_for(recipe, [*QUICK, *settings])
    return Job(recipe=recipe, settings=chosen, base=base, out=out, device="cpu", **more)


def weights(folder):
    return {str(path.relative_to(folder)): load_file(path) for path in sorted(folder.rglob("*.safetensors"))}


def same(first, second):
    assert first.keys() == second.keys()
    for file in first:
        assert first[file].keys() == second[file].keys()
        assert all(np.array_equal(first[file][name], second[file][name]) for name in first[file])
