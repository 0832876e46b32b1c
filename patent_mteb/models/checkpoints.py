"""Facts about the patent models of the papers that mteb does not know, one row per model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from patent_mteb.models.prompts import TABLE_11

Prompts = Literal["table11", "none"]


@dataclass(frozen=True)
class Checkpoint:
    """A published model. None means that no source states the value."""

    name: str  # hub id
    dim: int
    max_tokens: int
    pooling: Literal["mean", "cls"]
    licence: str  # as mteb spells it
    parameters: float | None = None  # total, in millions
    revision: str | None = None  # commit at which the facts were read
    modules: bool = True  # ships sentence-transformers modules; otherwise a bare transformer with this pooling
    head: bool = False  # a Dense layer after the pooling
    prompts: Prompts = "none"  # that the model was trained for
    trained_on: frozenset[str] | None = frozenset()  # rows of Table 11 whose training data the model has seen
    adapted_from: str | None = None  # the model that it was initialised with
    tagged: bool = False  # texts carry section tags (patent_mteb.models.variants.section_tags)
    tagged_in_paper: bool = False  # the PatentMap paper, and only that paper, evaluates it with section tags
    released: str | None = None  # ISO date
    source: str | None = None  # key in SOURCES


SOURCES = {
    "patenteb": """@misc{ayaou2025patenteb,
  author = {Iliass Ayaou and Denis Cavallucci},
  title = {PatenTEB: A Comprehensive Benchmark and Model Family for Patent Text Embedding},
  year = {2025},
}""",
    "paecter": """@misc{ghosh2024paecter,
  archiveprefix = {arXiv},
  author = {Mainak Ghosh and Sebastian Erhardt and Michael E. Rose and Erik Buunk and Dietmar Harhoff},
  eprint = {2402.19411},
  title = {PaECTER: Patent-level Representation Learning using Citation-informed Transformers},
  year = {2024},
}""",
    "patentsberta": """@article{bekamiri2024patentsberta,
  author = {Hamid Bekamiri and Daniel S. Hain and Roman Jurowetzki},
  doi = {10.1016/j.techfore.2024.123536},
  journal = {Technological Forecasting and Social Change},
  pages = {123536},
  title = {PatentSBERTa: A deep NLP based hybrid model for patent distance and classification using augmented SBERT},
  volume = {206},
  year = {2024},
}""",
    "bert-for-patents": """@techreport{srebrovic2020bertforpatents,
  author = {Rob Srebrovic and Jay Yonamine},
  institution = {Google},
  title = {Leveraging the BERT algorithm for Patents with TensorFlow and BigQuery},
  year = {2020},
}""",
    "patentmap": """@misc{zuo2025patentmap,
  author = {You Zuo and Kim Gerdes and {\\'E}ric de la Clergerie and Beno{\\^i}t Sagot},
  title = {Patent Representation Learning via Self-supervision},
  year = {2025},
}""",
    "legal-bert": """@inproceedings{chalkidis2020legalbert,
  author = {Ilias Chalkidis and Manos Fergadiotis and Prodromos Malakasiotis and Nikolaos Aletras and Ion Androutsopoulos},
  booktitle = {Findings of EMNLP},
  doi = {10.18653/v1/2020.findings-emnlp.261},
  title = {LEGAL-BERT: The Muppets straight out of Law School},
  year = {2020},
}""",  # noqa: E501
}

_TRAINED = frozenset(row for row in TABLE_11 if not row.startswith("clusters_"))
_NO_CLASSES = frozenset(row for row in _TRAINED if not row.startswith("class_"))
_RETRIEVAL = frozenset(row for row in _NO_CLASSES if not row.startswith("para_"))


_BERT_FOR_PATENTS = "anferico/bert-for-patents"
_REVISIONS = {
    "datalyes/patembed-large": "2d5c0f92a3e5dc3d5415c08e612c57543c0e03ad",
    "datalyes/patembed-base": "244ba452908a3093be11efb8a44396652317fb14",
    "mpi-inno-comp/paecter": "1f355d9e9a34dc4859e22d05ce27e970eeacfbd2",
    "AI-Growth-Lab/PatentSBERTa": "3ff1d553c861d8f5bfd902333d97fc95eb6b4c8f",
    "AAUBS/PatentSBERTa_V2": "40771047ef94e147703aa235c718f12716e5042a",
    "anferico/bert-for-patents": "148e559789f59c2660cb7e7aaa0812041660c607",
    "bhlim/bge-base-patentmatch": "62a9198eaf06871d479f214755138e29886782de",
}


def _row(name: str, dim: int, pooling: str, licence: str, parameters: float | None = None, **more: Any) -> Checkpoint:
    values = {"pooling": pooling, "licence": licence, "parameters": parameters, "max_tokens": 512} | more
    return Checkpoint(name, dim, revision=_REVISIONS.get(name), **values)


def _patembed(name: str, dim: int, parameters: float, pooling: str = "mean", **more: Any) -> Checkpoint:
    values = {"prompts": "table11", "trained_on": _TRAINED, "adapted_from": "datalyes/patembed-large"} | more
    values |= {"source": "patenteb", "released": "2025-10-08"}  # the paper's date
    return _row(f"datalyes/patembed-{name}", dim, pooling, "cc-by-nc-sa-4.0", parameters, **values)


def _large(name: str, **more: Any) -> Checkpoint:
    return _patembed(f"large{name}", 1024, 344.4, adapted_from=_BERT_FOR_PATENTS, **more)


def _long(tokens: int) -> Checkpoint:
    base = "Alibaba-NLP/gte-modernbert-base"
    return _patembed(f"base_long_{tokens}", 768, 149.0, "cls", max_tokens=tokens, adapted_from=base)


def _patentmap(name: str) -> Checkpoint:
    facts: dict[str, Any] = {"modules": False, "adapted_from": _BERT_FOR_PATENTS, "tagged": True, "source": "patentmap"}
    return _row(f"ZoeYou/PatentMap-V0-{name}", 1024, "cls", "cc-by-nc-4.0", **facts)


_PATENTMAP = ("SecPair-Claim", "SecPair-BackgroundDrawing", "Dropout", "CropShuffle", "SentShuffle", "IPC8")
_PLAIN_BERT: dict[str, Any] = {"modules": False, "tagged_in_paper": True, "source": "bert-for-patents"}
_BGE = "BAAI/bge-base-en-v1.5"
_ROWS = (
    _large(""),
    _patembed("base", 768, 193.1, head=True),
    _patembed("base_small", 512, 142.5, head=True),
    _patembed("small", 384, 117.4, head=True),
    _patembed("mini", 256, 92.2, head=True),
    _patembed("nano", 128, 67.1, head=True),
    *map(_long, (1024, 2048, 4096)),
    _large("_no_prompts", prompts="none"),
    _large("_all_ret_only", trained_on=_RETRIEVAL),
    _large("_all_no_classif", trained_on=_NO_CLASSES),
    _row("mpi-inno-comp/paecter", 1024, "mean", "apache-2.0", 340.0, adapted_from=_BERT_FOR_PATENTS, source="paecter"),
    _row("mpi-inno-comp/pat_specter", 768, "cls", "apache-2.0", source="paecter"),
    _row("AI-Growth-Lab/PatentSBERTa", 768, "cls", "not specified", 125.0, source="patentsberta"),
    _row("AAUBS/PatentSBERTa_V2", 768, "mean", "not specified", 125.0, trained_on=None),
    _row(_BERT_FOR_PATENTS, 1024, "mean", "apache-2.0", 340.0, **_PLAIN_BERT),
    _row("bhlim/bge-base-patentmatch", 768, "cls", "apache-2.0", 109.0, adapted_from=_BGE),
    *map(_patentmap, _PATENTMAP),
    _row("ZoeYou/patentbert-pytorch", 768, "cls", "not specified", modules=False),  # PatentMap's "PatentBERT"
    _row("nlpaueb/legal-bert-base-uncased", 768, "mean", "cc-by-sa-4.0", 109.0, modules=False, source="legal-bert"),
    _row("allenai/specter2_base", 768, "cls", "apache-2.0", modules=False),
)
CHECKPOINTS: dict[str, Checkpoint] = {checkpoint.name: checkpoint for checkpoint in _ROWS}
"""The registered checkpoints by hub id."""
