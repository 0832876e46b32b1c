"""Facts about the patent models of the papers that mteb does not know, one row per model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from patent_mteb.models.prompts import TABLE_11

Prompts = Literal["table11", "none"]


@dataclass(frozen=True)
class Checkpoint:
    """A published model. None means that no source states the value.

    Attributes:
        name: hub id.
        licence: as mteb spells it.
        parameters: total parameters, in millions.
        revision: commit at which the facts were read.
        modules: the checkpoint ships sentence-transformers modules; otherwise it is a bare transformer, and ``pooling``
            applies.
        prompts: the setting that the model was trained for.
        trained_on: rows of Table 11 whose training data the model has seen.
        adapted_from: the model that it was initialised with.
        tagged: texts carry section tags (:func:`~patent_mteb.models.robustness.section_tags`).
        tagged_in_paper: the PatentMap paper, and only that paper, evaluates it with section tags.
        released: ISO date.
        source: key in :data:`SOURCES`.
    """

    name: str
    dim: int
    max_tokens: int
    pooling: Literal["mean", "cls"]
    licence: str
    parameters: float | None = None
    revision: str | None = None
    modules: bool = True
    prompts: Prompts = "none"
    trained_on: frozenset[str] | None = frozenset()
    adapted_from: str | None = None
    tagged: bool = False
    tagged_in_paper: bool = False
    released: str | None = None
    source: str | None = None


SOURCES = {
    "patenteb": (
        """@misc{ayaou2025patenteb,
  author = {Iliass Ayaou and Denis Cavallucci},
  title = {PatenTEB: A Comprehensive Benchmark and Model Family for Patent Text Embedding},
  year = {2025},
}"""
    ),
    "paecter": (
        """@misc{ghosh2024paecter,
  archiveprefix = {arXiv},
  author = {Mainak Ghosh and Sebastian Erhardt and Michael E. Rose and Erik Buunk and Dietmar Harhoff},
  eprint = {2402.19411},
  title = {PaECTER: Patent-level Representation Learning using Citation-informed Transformers},
  year = {2024},
}"""
    ),
    "patentsberta": (
        """@article{bekamiri2024patentsberta,
  author = {Hamid Bekamiri and Daniel S. Hain and Roman Jurowetzki},
  doi = {10.1016/j.techfore.2024.123536},
  journal = {Technological Forecasting and Social Change},
  pages = {123536},
  title = {PatentSBERTa: A deep NLP based hybrid model for patent distance and classification using augmented SBERT},
  volume = {206},
  year = {2024},
}"""
    ),
    "bert-for-patents": (
        """@techreport{srebrovic2020bertforpatents,
  author = {Rob Srebrovic and Jay Yonamine},
  institution = {Google},
  title = {Leveraging the BERT algorithm for Patents with TensorFlow and BigQuery},
  year = {2020},
}"""
    ),
    "patentmap": (
        """@misc{zuo2025patentmap,
  author = {You Zuo and Kim Gerdes and {\\'E}ric de la Clergerie and Beno{\\^i}t Sagot},
  title = {Patent Representation Learning via Self-supervision},
  year = {2025},
}"""
    ),
    "legal-bert": (
        """@inproceedings{chalkidis2020legalbert,
  author = {Ilias Chalkidis and Manos Fergadiotis and Prodromos Malakasiotis and Nikolaos Aletras and Ion Androutsopoulos},
  booktitle = {Findings of EMNLP},
  doi = {10.18653/v1/2020.findings-emnlp.261},
  title = {LEGAL-BERT: The Muppets straight out of Law School},
  year = {2020},
}"""  # noqa: E501
    ),
}

_TRAINED = frozenset(row for row in TABLE_11 if not row.startswith("clusters_"))
_NO_CLASSES = frozenset(row for row in _TRAINED if not row.startswith("class_"))
_RETRIEVAL = frozenset(row for row in _NO_CLASSES if not row.startswith("para_"))


def _patembed(name: str, dim: int, parameters: float, **other: Any) -> Checkpoint:
    values: dict[str, Any] = {
        "max_tokens": 512,
        "pooling": "mean",
        "licence": "cc-by-nc-sa-4.0",
        "prompts": "table11",
        "trained_on": _TRAINED,
        "adapted_from": "datalyes/patembed-large",
        "released": "2025-10-08",  # the paper's date
        "source": "patenteb",
    }
    return Checkpoint(f"datalyes/patembed-{name}", dim, parameters=parameters, **(values | other))


def _patentmap(name: str) -> Checkpoint:
    return Checkpoint(
        f"ZoeYou/PatentMap-V0-{name}",
        1024,
        512,
        "cls",
        "cc-by-nc-4.0",
        modules=False,
        adapted_from="anferico/bert-for-patents",
        tagged=True,
        source="patentmap",
    )


_BERT_FOR_PATENTS = {"adapted_from": "anferico/bert-for-patents"}
_MODERN_BERT = {"adapted_from": "Alibaba-NLP/gte-modernbert-base", "pooling": "cls"}

CHECKPOINTS: dict[str, Checkpoint] = {
    checkpoint.name: checkpoint
    for checkpoint in (
        _patembed("large", 1024, 344.4, revision="2d5c0f92a3e5dc3d5415c08e612c57543c0e03ad", **_BERT_FOR_PATENTS),
        _patembed("base", 768, 193.1, revision="244ba452908a3093be11efb8a44396652317fb14"),
        _patembed("base_small", 512, 142.5),
        _patembed("small", 384, 117.4),
        _patembed("mini", 256, 92.2),
        _patembed("nano", 128, 67.1),
        _patembed("base_long_1024", 768, 149.0, max_tokens=1024, **_MODERN_BERT),
        _patembed("base_long_2048", 768, 149.0, max_tokens=2048, **_MODERN_BERT),
        _patembed("base_long_4096", 768, 149.0, max_tokens=4096, **_MODERN_BERT),
        _patembed("large_no_prompts", 1024, 344.4, prompts="none", **_BERT_FOR_PATENTS),
        _patembed("large_all_ret_only", 1024, 344.4, trained_on=_RETRIEVAL, **_BERT_FOR_PATENTS),
        _patembed("large_all_no_classif", 1024, 344.4, trained_on=_NO_CLASSES, **_BERT_FOR_PATENTS),
        Checkpoint(
            "mpi-inno-comp/paecter",
            1024,
            512,
            "mean",
            "apache-2.0",
            340.0,
            "1f355d9e9a34dc4859e22d05ce27e970eeacfbd2",
            adapted_from="anferico/bert-for-patents",
            source="paecter",
        ),
        Checkpoint("mpi-inno-comp/pat_specter", 768, 512, "cls", "apache-2.0", source="paecter"),
        Checkpoint(
            "AI-Growth-Lab/PatentSBERTa",
            768,
            512,
            "cls",
            "not specified",
            125.0,
            "3ff1d553c861d8f5bfd902333d97fc95eb6b4c8f",
            source="patentsberta",
        ),
        Checkpoint(
            "AAUBS/PatentSBERTa_V2",
            768,
            512,
            "mean",
            "not specified",
            125.0,
            "40771047ef94e147703aa235c718f12716e5042a",
            trained_on=None,
        ),
        Checkpoint(
            "anferico/bert-for-patents",
            1024,
            512,
            "mean",
            "apache-2.0",
            340.0,
            "148e559789f59c2660cb7e7aaa0812041660c607",
            modules=False,
            tagged_in_paper=True,
            source="bert-for-patents",
        ),
        Checkpoint(
            "bhlim/bge-base-patentmatch",
            768,
            512,
            "cls",
            "apache-2.0",
            109.0,
            "62a9198eaf06871d479f214755138e29886782de",
            adapted_from="BAAI/bge-base-en-v1.5",
        ),
        *map(
            _patentmap, ("SecPair-Claim", "SecPair-BackgroundDrawing", "Dropout", "CropShuffle", "SentShuffle", "IPC8")
        ),
        Checkpoint(
            "nlpaueb/legal-bert-base-uncased",
            768,
            512,
            "mean",
            "cc-by-sa-4.0",
            109.0,
            modules=False,
            source="legal-bert",
        ),
        Checkpoint("allenai/specter2_base", 768, 512, "cls", "apache-2.0", modules=False),
    )
}
"""The registered checkpoints by hub id."""
