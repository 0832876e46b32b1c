"""The fifteen tasks of PatenTEB as data: what each reads, what it asks, and the revision and size of its release (§3, Table 1)."""

from __future__ import annotations

from dataclasses import dataclass

from patent_mteb.data.sources import DataSet

__all__ = [
    "CLASSES",
    "CLUSTERS",
    "PARAPHRASES",
    "RETRIEVAL",
    "REVISIONS",
    "CitationSpec",
    "ClassSpec",
    "ClusterSpec",
    "FragmentSpec",
    "ParaphraseSpec",
    "Spec",
]

REVISIONS = {
    "retrieval_IN": "161c119f15561d9b6adcde2a759cdf76a17b0a62",
    "retrieval_MIXED": "cabb81aa342a192678062832dad877e82c1b47ed",
    "retrieval_OUT": "d156b1ec2d307af32a366c9c44fedc56808ed49b",
    "title2full": "6ce1198",
    "problem2full": "8610033",
    "effect2full": "7159382",
    "class_text2ipc3": "5a30106",
    "class_bloom": "62c95f3",
    "para_problem": "4247eb8",
    "para_solution": "93112dc",
    "clusters_ext_full_ipc": "6bbeebd",
}
"""Pinned commits as far as they are known, by the hash that the set's card shows; the other sets are read from the branch ``main``."""

FULL = ("title", "abstract", "claim")
"""The parts of a whole patent's text, joined by ``[SEP]`` (§3)."""


@dataclass(frozen=True)
class Spec:
    """One task: its name in the suite and in the paper, what it is, and what an instruction model is asked."""

    name: str
    table: str
    description: str
    instruction: str

    @property
    def data(self) -> DataSet:
        return DataSet(f"datalyes/{self.table}", "patenteb", REVISIONS.get(self.table, "main"), gated=True, file="test/data.parquet")

    @property
    def parts(self) -> dict[str, tuple[str, ...]]:
        """The parts of the texts of each role, in order."""
        return {"query": FULL, "document": FULL, "text": FULL}


@dataclass(frozen=True)
class CitationSpec(Spec):
    """Symmetric retrieval from (query, positive, negative) rows."""


@dataclass(frozen=True)
class FragmentSpec(Spec):
    """Asymmetric retrieval: a fragment of each row asks for another text of the same row."""

    query: str = ""
    document: str = ""

    @property
    def parts(self) -> dict[str, tuple[str, ...]]:
        """Of the text that the title was taken from only abstract and claim are left (§3)."""
        whole = FULL[1:] if self.query == "title" else FULL
        return {"query": (self.query,), "document": whole if self.document == "full_text" else (self.document,)}


@dataclass(frozen=True)
class ClassSpec(Spec):
    """Classification of the text in ``texts``, or of the concatenated embeddings of two texts."""

    texts: tuple[str, ...] = ("text",)


@dataclass(frozen=True)
class ParaphraseSpec(Spec):
    """Correlation of cosine similarity and a binary label."""

    @property
    def parts(self) -> dict[str, tuple[str, ...]]:
        return {"text": (self.table.removeprefix("para_"),)}


@dataclass(frozen=True)
class ClusterSpec(Spec):
    """Clustering into as many clusters as there are labels."""


RETRIEVAL: tuple[Spec, ...] = (
    CitationSpec(
        "PatenTEBRetrievalIN",
        "retrieval_IN",
        "Given a patent, retrieve cited patents of the same IPC3 classes.",
        "Given a patent, retrieve patents of the same technical domain that it cites",
    ),
    CitationSpec(
        "PatenTEBRetrievalMIXED",
        "retrieval_MIXED",
        "Given a patent, retrieve cited patents whose IPC3 classes partly differ.",
        "Given a patent, retrieve patents that it cites",
    ),
    CitationSpec(
        "PatenTEBRetrievalOUT",
        "retrieval_OUT",
        "Given a patent, retrieve cited patents without a common IPC3 class.",
        "Given a patent, retrieve patents of other technical domains that it cites",
    ),
    FragmentSpec(
        "PatenTEBTitle2Full",
        "title2full",
        "Given a title, retrieve the patent without it.",
        "Given the title of a patent, retrieve the patent",
        "title",
        "full_text",
    ),
    FragmentSpec(
        "PatenTEBProblem2Full",
        "problem2full",
        "Given a problem, retrieve the patent that solves it.",
        "Given a technical problem, retrieve the patent that solves it",
        "problem",
        "full_text",
    ),
    FragmentSpec(
        "PatenTEBProblem2Solution",
        "problem2solution",
        "Given a problem, retrieve its solution.",
        "Given a technical problem, retrieve its solution",
        "problem",
        "solution",
    ),
    FragmentSpec(
        "PatenTEBEffect2Full",
        "effect2full",
        "Given an effect, retrieve the patent that has it.",
        "Given a technical effect, retrieve the patent that achieves it",
        "effect",
        "full_text",
    ),
    FragmentSpec(
        "PatenTEBEffect2Substance",
        "effect2substance",
        "Given an effect, retrieve the substance behind it.",
        "Given a technical effect, retrieve the substance that has it",
        "effect",
        "substance",
    ),
)
CLASSES: tuple[Spec, ...] = (
    ClassSpec(
        "PatenTEBText2IPC3",
        "class_text2ipc3",
        "Classify a patent by its dominant IPC3 class.",
        "Given a patent, find its IPC class",
    ),
    ClassSpec(
        "PatenTEBBloom",
        "class_bloom",
        "Classify a patent by when its citations come: early, normal or late in its class.",
        "Given a patent, tell whether it is cited early, late or as usual in its technical domain",
    ),
    ClassSpec(
        "PatenTEBNLIOldNew",
        "class_nli_oldnew",
        "Tell which of two linked patents is the newer one.",
        "Given two patents, one of which cites the other, tell which is the newer one",
        ("q_text", "t_text"),
    ),
)
PARAPHRASES: tuple[Spec, ...] = (
    ParaphraseSpec(
        "PatenTEBParaProblem",
        "para_problem",
        "Tell whether two different patents share the problem they state (one cites the other), or are of different domains.",
        "Retrieve the statement of the same technical problem",
    ),
    ParaphraseSpec(
        "PatenTEBParaSolution",
        "para_solution",
        "Tell whether two different patents share the solution they state (one cites the other), or are of different domains.",
        "Retrieve the statement of the same technical solution",
    ),
)
CLUSTERS: tuple[Spec, ...] = (
    ClusterSpec(
        "PatenTEBFullIPCClustering",
        "clusters_ext_full_ipc",
        "Group patents with the same full list of IPC codes.",
        "Identify the technology that the given patent belongs to",
    ),
    ClusterSpec(
        "PatenTEBInventorClustering",
        "clusters_inventor",
        "Group patents of the same inventors.",
        "Identify the inventors of the given patent",
    ),
)
