"""All that gives a ranking: every system is a :class:`~patent_mteb.search.base.ArraySearch` whose answer is one :class:`Run`."""

from __future__ import annotations

import mteb  # noqa: F401  (first: the registration that follows its import must not meet half-imported modules of this room)
