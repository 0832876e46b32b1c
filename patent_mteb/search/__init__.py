"""All that gives a ranking: every system is a :class:`~patent_mteb.search.base.ArraySearch` whose answer is one
:class:`Run`.
"""

from __future__ import annotations

# mteb comes first: the registration that follows its import must not meet half-imported modules of this package.
import mteb  # noqa: F401
