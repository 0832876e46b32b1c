"""Public patent tasks that mteb brings along: taken into ``PatentMTEB+`` as they are, with mteb's names, scores and data.

=====================================  ================================================================================================
task                                   content
=====================================  ================================================================================================
``BigPatentClustering.v2``             US descriptions by CPC section (Sharma et al. 2019, CC BY 4.0); V-measure
``SwedishPatentCPC{Subclass,Group}…``  claims of Swedish patents of 1885-1972, by optical character recognition, and their CPC classes,
                                       several each (KTH and PRV, MIT); accuracy of mteb's multi-label protocol
=====================================  ================================================================================================

They know neither the suite's evidence nor its data resolution: mteb loads them, and ``PATENT_MTEB_DATA`` says nothing to them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mteb.abstasks import AbsTask

from patent_mteb import _mteb

__all__ = ["NAMES", "taken"]

NAMES: Mapping[str, Sequence[str]] = {
    "BigPatent": ("BigPatentClustering.v2",),
    "Swedish CPC": ("SwedishPatentCPCSubclassClassification", "SwedishPatentCPCGroupClassification"),
}
"""mteb's names by the benchmark that they stand for."""


def taken() -> dict[str, tuple[type[AbsTask], ...]]:
    """mteb's task classes by the benchmark that they stand for.

    Raises:
        RegistrationError: this mteb has no task of a name.

    Example:
        >>> from patent_mteb.tasks.taken import taken
        >>> [task.metadata.name for task in taken()["BigPatent"]]
        ['BigPatentClustering.v2']
    """
    return {label: tuple(map(_mteb.task_of_mteb, names)) for label, names in NAMES.items()}
