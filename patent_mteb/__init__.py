"""The five patent-embedding benchmarks of the recent papers as ordinary mteb tasks.

Importing this package (or only installing it: see ``patent_mteb_autoload``) makes mteb know the suite: if mteb is imported already
its registries are extended at once, otherwise as soon as it is. Nothing else is imported, read or fetched.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import patent_mteb_autoload

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mteb.abstasks import AbsTask
    from mteb.benchmarks.benchmark import Benchmark

__all__ = ["__version__", "register", "register_benchmarks", "register_tasks"]

__version__ = "0.1.0"


def register() -> None:
    """Enter tasks, benchmarks and models of the suite in mteb's registries. Doing it again changes nothing.

    Raises:
        patent_mteb.errors.RegistrationError: mteb has moved a name that the registration needs, or a name of the suite is
            owned by mteb or by another package.
    """
    from patent_mteb import _mteb

    _mteb.register()


def register_tasks(tasks: Iterable[type[AbsTask]], hidden: Iterable[type[AbsTask]] = ()) -> None:
    """Enter task classes of your own in mteb's registry, as the suite enters its own; ``hidden`` ones resolve by name only.

    Raises:
        patent_mteb.errors.RegistrationError: a name is taken, or mteb has moved its registry.
    """
    from patent_mteb import _mteb

    _mteb.register_tasks(tasks, hidden)


def register_benchmarks(benchmarks: Iterable[Benchmark]) -> None:
    """Enter benchmarks of your own in mteb's registry.

    Raises:
        patent_mteb.errors.RegistrationError: a name is taken, or mteb has moved its registry.
    """
    from patent_mteb import _mteb

    _mteb.register_benchmarks(benchmarks)


if "mteb" in sys.modules:
    register()
else:
    patent_mteb_autoload.install()
