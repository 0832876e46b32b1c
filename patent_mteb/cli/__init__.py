"""The command ``patent-mteb``.

:mod:`patent_mteb.cli.app` holds the tree of commands, :mod:`patent_mteb.cli.options` the options that commands share,
and :mod:`patent_mteb.cli.common` prints. Every other module holds commands: functions whose annotated parameters are
the arguments. They import the library when they are called, so ``patent-mteb --help`` loads neither mteb nor torch.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import importlib.util
import logging
import os
import pkgutil
import signal
import sys
import traceback
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from cyclopts import CycloptsError
from rich.logging import RichHandler
from rich.text import Text

from patent_mteb.cli import app, common
from patent_mteb.cli.app import COMMANDS, execute
from patent_mteb.cli.options import SESSION, Session
from patent_mteb.errors import DataError, PatentMTEBError, of_the_machine
from patent_mteb.report.words import visible

__all__ = ["COMMANDS", "main"]

for _module in pkgutil.iter_modules(__path__):  # each registers its commands
    if _module.name != "__main__":
        importlib.import_module(f"{__name__}.{_module.name}")

atexit.register(gc.freeze)  # the last collection, of memory that is returned anyway, took half a second


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return the exit status; a usage error exits with status 2."""
    try:
        return _main(sys.argv[1:] if argv is None else argv)
    finally:
        if argv is None:  # the process ends: Python would print a traceback of an interrupt
            signal.signal(signal.SIGINT, signal.SIG_DFL)


def _main(words: Sequence[str]) -> int:
    common.ready_streams()
    common.begin("--json" in words)
    files, words = app.included(words)
    function, bound = app.parse(words)
    command = app.name_of(function)
    session = next((value for value in bound.arguments.values() if isinstance(value, Session)), SESSION)
    _log(session)
    collects = gc.get_threshold()
    gc.set_threshold(100_000, *collects[1:])  # what imports and builds create remains: collecting took a tenth
    try:
        _refuse_small_limit()
        for file in files:
            include(file)
        return common.finish(command, execute(function, bound))
    except CycloptsError as error:
        app.refuse(error, function)
    except PatentMTEBError as error:
        common.finish(command, 2, error)
        common.warn(Text("patent-mteb:", style="bold red"), error)
        return 2
    except BrokenPipeError:
        raise
    except Exception as error:
        from patent_mteb.files import cache_root

        if known := of_the_machine(error, cache_root()):
            common.finish(command, 2, known)
            common.warn(Text("patent-mteb:", style="bold red"), known)
            return 2
        message = _unexpected(command, error)
        common.finish(command, 1, error, message)
        if session.debug:
            raise
        common.warn(Text("patent-mteb:", style="bold red"), message)
        return 1
    except KeyboardInterrupt:
        common.finish(command, 130, KeyboardInterrupt("interrupted"))
        common.warn(Text("interrupted", style="bold red"))
        return 130
    finally:
        gc.set_threshold(*collects)


_LOADED = 2.7e9
"""Bytes of addresses that the libraries take. With fewer they abort, or never return from loading (OpenBLAS, 2026)."""


def _refuse_small_limit() -> None:
    with suppress(ImportError):  # Windows
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit not in (resource.RLIM_INFINITY, -1) and limit < _LOADED:
            problem = (
                f"the limit of addresses (ulimit -v) is {limit / 1e9:.1f} GB, too little for the libraries to load"
            )
            raise DataError(problem, remedy=f"allow {_LOADED / 1e9:.0f} GB or more: ulimit -v unlimited")


def include(file: Path) -> None:
    """Import a Python file, which registers its benchmarks."""
    name, found = file.stem, None
    if file.is_file() and not importlib.util.find_spec(name):
        found = importlib.util.spec_from_file_location(name, file)
    if found is None or found.loader is None:
        remedy = "name a Python file, with a name that no other module has"
        raise DataError("--include cannot import the file", path=file, remedy=remedy)
    module = sys.modules[name] = importlib.util.module_from_spec(found)  # its recipe is imported by this name
    try:
        found.loader.exec_module(module)
    except PatentMTEBError:
        raise
    except Exception as error:
        problem = f"the file of --include failed ({type(error).__name__}: {error})"
        raise DataError(problem, path=file, remedy="run it with Python to see where") from error


def _unexpected(command: str, error: Exception) -> str:
    """One line on an unexpected error: its type, its message, and the line of this package that raised it."""
    steps = [step for step in traceback.extract_tb(error.__traceback__) if "patent_mteb" in step.filename]
    place = f", at {steps[-1].filename}:{steps[-1].lineno}" if steps else ""
    message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"{command} failed ({message}{place}). Remedy: --debug prints the traceback; please report it."


class _Line(logging.Formatter):
    """A record as one line with its control characters escaped; a traceback keeps its lines."""

    def format(self, record: logging.LogRecord) -> str:
        return visible(super().format(record), lines=record.exc_info is not None)


def _log(session: Session) -> None:
    """Set up logging, and the bars of libraries that read their settings when they are imported."""
    verbosity = session.level
    if not session.bars:
        for variable in ("DISABLE_TQDM", "HF_HUB_DISABLE_PROGRESS_BARS", "HF_DATASETS_DISABLE_PROGRESS_BARS"):
            os.environ.setdefault(variable, "1")
    handler: logging.Handler = RichHandler(console=common.messages, show_path=False, log_time_format="[%X]")
    if not common.messages.is_terminal:  # in a file a message is one line, however long
        handler = logging.StreamHandler()
        handler.setFormatter(_Line("[%(asctime)s] %(levelname)-8s %(message)s", "%X"))
    # the import of bm25s resets its own level
    handler.addFilter(lambda record: not record.name.startswith("bm25s") or record.levelno >= logging.WARNING)
    logging.basicConfig(level=logging.WARNING, format="%(message)s", handlers=[handler], force=True)
    levels = (logging.CRITICAL, logging.WARNING, logging.INFO, logging.DEBUG)
    logging.getLogger("patent_mteb").setLevel(levels[verbosity])
    logging.getLogger("mteb").setLevel(logging.DEBUG if verbosity == 3 else logging.WARNING)
    if verbosity < 3:
        logging.getLogger("gcsfs").setLevel(logging.CRITICAL)  # it logs the traceback of an error that it also raises
        # it guesses parameters that the files of the checkpoint state
        logging.getLogger("mteb.models.model_meta").setLevel(logging.ERROR)
        warnings.filterwarnings("ignore", category=FutureWarning, module="mteb")
        warnings.filterwarnings("ignore", category=UserWarning, module="mteb")
