"""A process that is killed at its n-th change of a file: at each open for writing, write, rename, removal and new
folder, whoever does it. Or at a moment of its life, by any signal.

``kill_at_write.c`` is preloaded into a server that imports the command line once and forks for every command, so that a case
costs a command and no imports. Needs a C compiler and Linux.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import mmap
import os
import pkgutil
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).with_name("kill_at_write.c")
COMPILER = shutil.which("cc") or shutil.which("gcc")
_SIZE = 1 << 20
_QUIET = {"OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}


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


class Killer:
    """Runs commands of ``patent-mteb``, each in a fresh process."""

    def __init__(self, server: subprocess.Popen[str]) -> None:
        self.server = server

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
        request = {
            "command": list(map(str, command)),
            "below": [str(folder) for folder in below],
            "nth": nth,
            "blow": blow and [blow.signal, blow.after],
            "environment": {name: str(value) for name, value in environment.items()},
        }
        assert self.server.stdin and self.server.stdout
        self.server.stdin.write(json.dumps(request) + "\n")
        self.server.stdin.flush()
        return Done(**json.loads(self.server.stdout.readline()))


@contextmanager
def killer(work: Path) -> Iterator[Killer]:
    """A server that lives as long as the block."""
    library = work / "killer.so"
    subprocess.run([str(COMPILER), "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE), "-ldl"], check=True)
    environment = {**os.environ, **_QUIET, "LD_PRELOAD": str(library), "KILLER": str(library)}
    command = [sys.executable, str(Path(__file__)), str(work)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as server:
        try:
            yield Killer(server)
        finally:
            assert server.stdin
            server.stdin.close()
            server.wait(60)


def serve(work: Path) -> None:
    """Answer requests, one a line: fork, arm, run, say how it ended."""
    import mteb

    import patent_mteb
    from patent_mteb import cli

    assert mteb
    for module in pkgutil.walk_packages(patent_mteb.__path__, "patent_mteb."):
        if not module.name.endswith(("__main__", ".terrier")):  # PyTerrier is not installed here
            importlib.import_module(module.name)
    for name in (
        "bm25s.numba",
        "sentence_transformers",
        "torch._dynamo",
        "sklearn.linear_model",
    ):  # what the commands import when they run
        importlib.import_module(name)
    shared = mmap.mmap(-1, _SIZE)
    arm = ctypes.CDLL(os.environ["KILLER"]).arm
    address = ctypes.addressof(ctypes.c_char.from_buffer(shared))
    for line in sys.stdin:
        request = json.loads(line)
        shared[:] = bytes(_SIZE)
        start = time.monotonic()
        child = os.fork()
        if child == 0:
            _child(
                request, work, lambda folders, nth: arm(folders, ctypes.c_long(nth), ctypes.c_void_p(address)), cli.main
            )
        if request["blow"]:
            number, after = request["blow"]
            time.sleep(after)
            os.kill(child, number)
        _, status = os.waitpid(child, 0)
        seconds = time.monotonic() - start
        code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        length = int.from_bytes(shared[8:16], "little")
        changes = shared[16 : 16 + length].decode("utf-8", "replace").splitlines()
        said = (work / "said").read_text("utf-8", "replace")[-4000:]
        print(json.dumps({"status": code, "changes": changes, "said": said, "seconds": seconds}), flush=True)


def _child(request, work, arm, main):  # type: ignore[no-untyped-def]
    status = 99
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        os.environ.update(request["environment"])
        said = os.open(work / "said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for stream in (1, 2):
            os.dup2(said, stream)
        arm(":".join(request["below"]).encode(), request["nth"])
        status = main(request["command"])
        sys.stdout.flush()
    except BaseException:
        import traceback

        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    serve(Path(sys.argv[1]))
    os._exit(0)
