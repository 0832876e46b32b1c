#!/usr/bin/env bash
# mteb 2.26.24: a clustering task draws other documents each time it is used, so the second model gets another test.
# Input:    one task object, evaluated twice with the same model.
# Expected: the same V-measure: same task, model and seed.
# Seen:     two V-measures. A new task object gives the first again.
# For us:   each evaluation must start from the task's seed, or a score depends on the place of a model in the list.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check mteb==2.26.24 torch==2.13.0
HF_HUB_OFFLINE=1 "$folder/venv/bin/python" - <<'PYTHON'
import mteb
import numpy
from datasets import Dataset, DatasetDict
from mteb.abstasks.clustering import AbsTaskClustering
from mteb.models import ModelMeta

draw = numpy.random.default_rng(0)
points = {f"text {i}": draw.normal(size=8) for i in range(200)}

class Clusters(AbsTaskClustering):
    max_fraction_of_documents_to_embed = None
    max_document_to_embed = 60
    n_clusters = 2
    metadata = mteb.TaskMetadata(
        name="Clusters", description="-", reference=None, type="Clustering", category="t2c", modalities=["text"],
        dataset={"path": "none", "revision": "1"}, eval_splits=["test"], eval_langs=["eng-Latn"], main_score="v_measure",
        date=("2020-01-01", "2020-01-02"), domains=["Legal"], task_subtypes=[], license="mit", annotations_creators="derived",
        dialect=[], sample_creation="created", bibtex_citation="",
    )

    def load_data(self, **_):
        labels = [i % 4 for i in range(200)]
        self.dataset = DatasetDict(test=Dataset.from_dict({"sentences": list(points), "labels": labels}))
        self.data_loaded = True

class Points:
    mteb_model_meta = ModelMeta.create_empty(overwrites={"name": "a/points", "revision": "1"})

    def encode(self, inputs, **_):
        return numpy.array([points[text] for batch in inputs for text in batch["text"]])

    def similarity(self, first, second):
        return first @ second.T

    def similarity_pairwise(self, first, second):
        return (first * second).sum(axis=1)

def score(task):
    results = mteb.evaluate(Points(), task, cache=None, overwrite_strategy="always")
    return results.task_results[0].scores["test"][0]["v_measure"]

task = Clusters()
seen = score(task), score(task), score(Clusters())
print(seen)
assert seen[0] == seen[2] != seen[1]
PYTHON
