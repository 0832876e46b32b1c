"""PatentMap: prior-art retrieval and IPC classification ("Patent Representation Learning via Self-supervision", §6.1, appendix C).

Data: the folders ``perf200`` and ``IPC-Classification`` of ``ZoeYou/downstream`` (see :mod:`patent_mteb.recipes.patentmap` for their
files). No commit of it is known to us, so the hub's ``main`` is taken and its commit (:mod:`patent_mteb.data.hub`) is recorded as the data
set revision of each result.

Texts: see :mod:`patent_mteb.recipes.patentmap_content`; which models read section tags: :mod:`patent_mteb.models.section_tags`.
Scores that begin with ``paper_`` are those of the authors' evaluation on the same pass (:mod:`patent_mteb.tasks.patentmap_retrieval`,
:mod:`patent_mteb.tasks.patentmap_ipc`).
"""

from __future__ import annotations

from patent_mteb.data.sources import DataSet
from patent_mteb.tasks.base import make_task, task_metadata
from patent_mteb.tasks.benchmark import Facts, PatentBenchmark
from patent_mteb.tasks.patentmap_ipc import IPCClassification
from patent_mteb.tasks.patentmap_retrieval import PatentMapRetrieval

__all__ = ["BENCHMARK", "DATA", "FACTS"]

DATA = DataSet("ZoeYou/downstream", "patentmap", "main", file="perf200/mapping/gold.json")

FACTS = Facts(
    name="PatentMap",
    description="Prior-art retrieval among hard negatives, and classification into IPC subclasses.",
    reference="https://arxiv.org/abs/2511.10657",
    bibtex=r"""@misc{zuo2025patentmap,
  author = {You Zuo and Kim Gerdes and {\'E}ric de la Clergerie and Beno{\^i}t Sagot},
  title = {Patent Representation Learning via Self-supervision},
  year = {2025},
}""",
    license="not specified",
    date=("2005-01-01", "2022-12-31"),
    prefix="PatentMap",
    prompt_rows=((r"PatentMap\w+Retrieval", "retrieval_MIXED"), (r"PatentMap\w+Classification", "class_text2ipc3")),
    paper="patentmap",
)


def _retrieval(name: str, query: str, sections: tuple[str, ...], description: str) -> type[PatentMapRetrieval]:
    told = {"query": description.partition(", by ")[0]}
    metadata = task_metadata(
        FACTS, DATA, name, "Retrieval", description, "recall_at_100", annotations_creators="expert-annotated", prompt=told
    )
    return make_task(PatentMapRetrieval, __name__, metadata, data=DATA, facts=FACTS, query_section=query, document_sections=sections)


BENCHMARK = PatentBenchmark(
    FACTS,
    {
        "Retrieval": (
            _retrieval(
                "PatentMapAbsToAbsRetrieval",
                "abstract",
                ("abstract",),
                "Given a patent application by title and abstract, retrieve the patents that its search report cites, "
                "by title and abstract.",
            ),
            _retrieval(
                "PatentMapClmToAllRetrieval",
                "claim",
                ("abstract", "claim", "invention"),
                "Given a patent application by its claims, retrieve the patents that its search report cites, "
                "by abstract, claims or description, whichever is closest.",
            ),
        ),
        "Classification": (
            make_task(
                IPCClassification,
                __name__,
                task_metadata(
                    FACTS,
                    DATA,
                    "PatentMapIPCClassification",
                    "MultilabelClassification",
                    "Classify a patent by title and abstract into IPC subclasses.",
                    "knn_precision_at_1",
                    annotations_creators="expert-annotated",
                    prompt="Given a patent, find all IPC subclasses that it belongs to",
                    task_subtypes=["Topic classification"],
                ),
                data=DATA,
                facts=FACTS,
            ),
        ),
    },
)
