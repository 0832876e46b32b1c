"""A process that is killed at its n-th change of a file: at each open for writing, write, rename, removal and new
folder, whoever does it. Or at a moment of its life, by any signal.

``kill_at_write.c`` is preloaded into the server of :mod:`forked`, so that a case costs a command and no imports. Needs a
C compiler and Linux.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from forked import forking

SOURCE = Path(__file__).with_name("kill_at_write.c")
COMPILER = shutil.which("cc") or shutil.which("gcc")
_SIZE = 1 << 20
_QUIET = {"OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}
_IMPORTED = ("sentence_transformers", "sklearn.linear_model", "torch._dynamo", "bm25s.numba", "mteb", "patent_mteb.*")
_ARMED = """
import ctypes, mmap, sys
from patent_mteb.cli import main
_, library, changes, folders, nth, *command = sys.argv
with open(changes, "r+b") as file:
    shared = mmap.mmap(file.fileno(), 0)
address = ctypes.addressof(ctypes.c_char.from_buffer(shared))
ctypes.CDLL(library).arm(folders.encode(), ctypes.c_long(int(nth)), ctypes.c_void_p(address))
sys.exit(main(command))
"""


@dataclass(frozen=True)
class Done:
    """How a command ended: its exit status (-9: killed), the changes that it made (call and path), what it said, and
    how long it took.
    """

    status: int
    changes: list[str]
    said: str
    seconds: float


@dataclass(frozen=True)
class Blow:
    """A signal that a command gets so many seconds after its start."""

    signal: int
    after: float


@dataclass(frozen=True)
class Killer:
    """Runs commands of ``patent-mteb``, each in a fresh process."""

    python: Path
    library: Path

    def run(
        self,
        command: Sequence[str | Path],
        below: Sequence[Path],
        nth: int = 0,
        blow: Blow | None = None,
        **environment: str | Path,
    ) -> Done:
        """Run a command; at the ``nth`` change below the folders it is killed, never if that is 0. A blow hits it as
        well.
        """
        changes, said = self.library.with_name("changes"), self.library.with_name("said")
        changes.write_bytes(bytes(_SIZE))
        words = [self.python, "-c", _ARMED, self.library, changes, ":".join(map(str, below)), nth, *command]
        known = {**os.environ, **_QUIET, **{name: str(value) for name, value in environment.items()}}
        start = time.monotonic()
        with said.open("wb") as out, subprocess.Popen(map(str, words), stdout=out, stderr=out, env=known) as running:
            if blow:
                time.sleep(blow.after)
                running.send_signal(blow.signal)
        seconds, written = time.monotonic() - start, changes.read_bytes()
        length = int.from_bytes(written[8:16], "little")
        lines = written[16 : 16 + length].decode("utf-8", "replace").splitlines()
        return Done(running.returncode, lines, said.read_text("utf-8", "replace")[-4000:], seconds)


@contextmanager
def killer(work: Path) -> Iterator[Killer]:
    """A server that lives as long as the block."""
    library = work / "killer.so"
    subprocess.run([str(COMPILER), "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE), "-ldl"], check=True)
    with mock.patch.dict(os.environ, {**_QUIET, "LD_PRELOAD": str(library)}), forking(work, *_IMPORTED) as python:
        del os.environ["LD_PRELOAD"]  # the server has it
        yield Killer(python, library)
