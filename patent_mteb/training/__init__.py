"""Training: from records to pairs, to a checkpoint, to rows with intervals.

===========================  ====================================================================================
:mod:`.corpus`               records with the split of their families, from records, a built directory or the sample
:mod:`.views`, :mod:`.pairs` the views of a patent, and one function a training signal
:mod:`.shingles`, :mod:`.testsets`, :mod:`.leaks`   what may not be trained on, and what is found of it in pairs
:mod:`.recipes`              the recipes of the papers as one table of data
:mod:`.losses`, :mod:`.bases`, :mod:`.running`      losses, models and the trainers of sentence-transformers
:mod:`.comparing`            before and after: difference, interval, p
===========================  ====================================================================================
"""

from __future__ import annotations

# mteb comes first: the registration that follows its import must not meet half-imported modules of this package.
import mteb  # noqa: F401

__all__: list[str] = []
