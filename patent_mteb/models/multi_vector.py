"""Late-interaction models that mteb knows, searched exactly.

mteb searches ColBERT checkpoints with PyLate's approximate index, which needs another sentence-transformers than the suite's default.
:func:`exact` gives such an entry the suite's own loader: exact MaxSim, with either backend (:mod:`patent_mteb.search.late_interaction`).
The plain ``mteb`` command keeps mteb's entry; the two are told apart by ``maxsim=exact``.
"""

from __future__ import annotations

from mteb.models.model_meta import ModelMeta

from patent_mteb.search.colbert import KNOWN_SETTINGS
from patent_mteb.search.late_interaction import LateInteraction

__all__ = ["exact"]

_LOADER = "mteb.models.model_implementations.pylate_models.MultiVectorModel"
_UNDERSTOOD = {"trust_remote_code"}


def exact(meta: ModelMeta) -> ModelMeta:
    """The entry with exact search, if it is one of mteb's ColBERT checkpoints for texts; any other as it is.

    Example:
        >>> import mteb
        >>> from patent_mteb.models.multi_vector import exact
        >>> exact(mteb.get_model_meta("colbert-ir/colbertv2.0")).experiment_kwargs
        {'dtype': 'float32', 'maxsim': 'exact'}
    """
    loader = f"{getattr(meta.loader, '__module__', '')}.{getattr(meta.loader, '__qualname__', '')}"
    known = meta.name in KNOWN_SETTINGS
    if loader != _LOADER or meta.experiment_kwargs or not (known or set(meta.loader_kwargs) <= _UNDERSTOOD):
        return meta
    return meta.model_copy(
        update={
            "loader": LateInteraction,
            "loader_kwargs": {} if known else dict(meta.loader_kwargs),
            "experiment_kwargs": {"dtype": "float32", "maxsim": "exact"},
            "extra_requirements_groups": None,
        }
    )
