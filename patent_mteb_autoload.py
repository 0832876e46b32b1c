"""Import hook that registers the suite whenever ``mteb`` has been imported.

``patent_mteb_autoload.pth`` is installed next to the package and starts it in every Python process, so that the
unmodified ``mteb`` command knows the suite. Until ``mteb`` is imported it costs one look at a name for each import, and
imports nothing. It is a module of its own, because starting it as a part of ``patent_mteb`` would import that package.
``PATENT_MTEB_AUTOLOAD=0`` (or false, no, off) switches it off; importing ``patent_mteb`` installs it nevertheless.

The hook remains: ``python -m mteb`` looks for mteb before it imports it, mteb may be imported again, and a registration
that failed must be reported at every import, not only at the first.
"""

from __future__ import annotations

import os
import sys

MARK = "patent_mteb_autoload"
CALLED = "patent_mteb:register"
"""Module and function that are called when mteb has been imported; by name, so that this module depends on nothing."""


class _Hook:
    mark = MARK

    def find_spec(self, name, path=None, target=None):  # type: ignore[no-untyped-def]
        if name != "mteb":
            return None
        others = (
            finder for finder in sys.meta_path if getattr(finder, "mark", None) != MARK and hasattr(finder, "find_spec")
        )
        spec = next((spec for finder in others if (spec := finder.find_spec(name, path, target)) is not None), None)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def exec_module(module):  # type: ignore[no-untyped-def]
                run(module)
                _call()

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _call() -> None:
    from importlib import import_module

    package, _, function = CALLED.partition(":")
    try:
        found = import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        import warnings

        warnings.warn(
            f"patent-mteb is only half removed: {__file__} exists, the package {package} does not. mteb runs without "
            "it. Install patent-mteb again, or delete that file and the .pth file next to it.",
            RuntimeWarning,
            stacklevel=2,
        )
    else:
        getattr(found, function)()


def install() -> None:
    """Put the hook in front of the import machinery, once."""
    if not any(getattr(finder, "mark", None) == MARK for finder in sys.meta_path):
        sys.meta_path.insert(0, _Hook())


def remove() -> None:
    """Take the hook out again."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if getattr(finder, "mark", None) != MARK]


if (
    os.environ.get("PATENT_MTEB_AUTOLOAD", "1").strip().lower() not in ("0", "false", "no", "off")
    and "mteb" not in sys.modules
):
    install()
