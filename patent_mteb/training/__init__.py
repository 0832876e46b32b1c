"""Train embedding models on patents, with a leak check against every test set.

=====================================  ============================================================================
:mod:`.recipes`                        the recipes of the papers as a table of data
:mod:`.corpus`, :mod:`.pairs`          training data: records with a split by family, and the pairs of each signal
:mod:`.leaks`                          test data among the training pairs
:mod:`.preparing`                      a job, its folder and its tables of pairs
:mod:`.bases`, :mod:`.losses`          the model that is trained, and the losses
:mod:`.running`, :mod:`.jobs`          a run of one seed, and a job of all seeds
:mod:`.multitask`, :mod:`.distilling`, :mod:`.late`  PatenTEB's tasks, distillation, late interaction
:mod:`.checkpoints`, :mod:`.comparing` saved models, and scores before and after training
=====================================  ============================================================================
"""

from __future__ import annotations

# mteb is imported first: its import triggers the registration, which needs fully imported modules of this package.
import mteb  # noqa: F401
