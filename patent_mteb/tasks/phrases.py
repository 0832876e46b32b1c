"""Google's patent phrase similarity: pairs of technical phrases, graded by persons (Aslanyan and Wetherbee 2022).

Read from the test split of the hub's copy of the data set, a parquet file with these columns (others are ignored):

==========  ============================================================================================================
column      content
==========  ============================================================================================================
``anchor``  a phrase
``target``  another phrase
``context`` CPC class, such as ``H04``, in whose sense the phrases are compared
``score``   0 (not related), 0.25, 0.5, 0.75 or 1 (very high)
==========  ============================================================================================================

The main score is the Pearson correlation of cosine similarity with the grade, as in the paper. The phrases are encoded
without their context: ``cpc_<section>_cosine_pearson`` is the correlation within a section of the CPC. A keyword that
two phrases share tells little here, because unrelated phrases with common words were added on purpose.
"""

from __future__ import annotations

import re

import numpy as np
from datasets import Dataset

from patent_mteb import files
from patent_mteb.data.loading import DataSet
from patent_mteb.errors import DataError
from patent_mteb.published import citation
from patent_mteb.tasks import checks
from patent_mteb.tasks.base import make_task
from patent_mteb.tasks.benchmark import Facts, PatentBenchmark
from patent_mteb.tasks.patenteb import Paraphrase

DATA = DataSet("tasksource/patent-phrase-similarity", "", "main")
FILE = "data/test-00000-of-00001-c5556affccbcc71f.parquet"
GRADES = (0, 0.25, 0.5, 0.75, 1)
_CONTEXT = re.compile(r"[A-HY]\d\d")

FACTS = Facts(
    name="PatentPhrases",
    description="Pairs of technical phrases from patents, whose similarity persons graded in the sense of a CPC class.",
    reference="https://arxiv.org/abs/2208.01171",
    bibtex=citation("aslanyan2022patents"),
    license="cc-by-4.0",
    date=("2000-01-01", "2022-08-01"),
    annotations="human-annotated",
    prefix="PatentPhrase",
)


class PhraseSimilarity(Paraphrase):
    group = "cpc"

    def load_split(self) -> Dataset:
        path = self.source.path(FILE)
        table = files.read_parquet(path, ("anchor", "target", "context", "score"))
        first, second, contexts = (checks.texts_of(table, name, path) for name in ("anchor", "target", "context"))
        scores = table["score"].to_pylist()
        for row, score in enumerate(scores, start=1):
            if score not in GRADES:
                problem = f"score {score} is not one of {', '.join(map(str, GRADES))}"
                raise DataError(problem, path=path, row=row, remedy="download the file again")
        checks.refuse_constant(list(map(str, scores)), path, "pairs")
        self._groups = np.array([text[0].lower() if _CONTEXT.match(text) else "" for text in contexts])
        checks.log_counts(
            path, {"pairs whose context is not a CPC class (in no slice)": int((self._groups == "").sum())}
        )
        return Dataset.from_dict({"sentence1": first, "sentence2": second, "score": scores})


_TASK = make_task(
    PhraseSimilarity,
    FACTS,
    DATA,
    "PatentPhraseSimilaritySTS",
    "STS",
    "Tell how similar two technical phrases are; the grades of persons are in the sense of a CPC class.",
    "cosine_pearson",
    prompt="Retrieve a technical phrase of the same meaning",
)
BENCHMARK = PatentBenchmark(FACTS, {"STS": (_TASK,)})
