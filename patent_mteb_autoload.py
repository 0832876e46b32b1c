"""Import hook that registers the suite as soon as ``mteb`` has been imported.

``patent_mteb_autoload.pth`` (installed beside the package) starts it in every Python process, so that the unmodified ``mteb``
command knows the suite. Until somebody imports ``mteb`` it costs one look at a name for each import, and imports nothing; it is a
module of its own, because starting it as a part of ``patent_mteb`` would import that package. ``PATENT_MTEB_AUTOLOAD=0`` switches it
off; importing ``patent_mteb`` installs it all the same.
"""

from __future__ import annotations

import os
import sys

MARK = "patent_mteb_autoload"


class _Hook:
    mark = MARK

    def find_spec(self, name, path=None, target=None):  # type: ignore[no-untyped-def]
        if name != "mteb":
            return None
        remove()
        from importlib.util import find_spec

        spec = find_spec("mteb")
        if spec is None or spec.loader is None:
            return spec
        loader = spec.loader
        run = loader.exec_module

        def exec_module(module):  # type: ignore[no-untyped-def]
            loader.exec_module = run  # type: ignore[method-assign]
            run(module)
            import patent_mteb

            patent_mteb.register()

        loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def install() -> None:
    """Put the hook in front of the import machinery, once."""
    if not any(getattr(finder, "mark", None) == MARK for finder in sys.meta_path):
        sys.meta_path.insert(0, _Hook())


def remove() -> None:
    """Take the hook out again."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if getattr(finder, "mark", None) != MARK]


if os.environ.get("PATENT_MTEB_AUTOLOAD", "1") != "0" and "mteb" not in sys.modules:
    install()
