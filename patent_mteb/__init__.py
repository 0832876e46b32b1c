"""The five patent-embedding benchmarks of the recent papers as ordinary mteb tasks.

Importing this package (or only installing it: see ``patent_mteb_autoload``) makes mteb know the suite: if mteb is imported already
its registries are extended at once, otherwise as soon as it is. Nothing else is imported, read or fetched.
"""

from __future__ import annotations

import sys

import patent_mteb_autoload

__all__ = ["__version__", "register"]

__version__ = "0.1.0"


def register() -> None:
    """Enter tasks, benchmarks and models of the suite in mteb's registries. Doing it again changes nothing.

    Raises:
        patent_mteb.errors.RegistrationError: mteb has moved a name that the registration needs, or a name of the suite is
            owned by mteb or by another package.
    """
    from patent_mteb import _mteb

    _mteb.register()


if "mteb" in sys.modules:
    register()
else:
    patent_mteb_autoload.install()
