"""A stand-in for ``python`` whose processes begin with their imports done: a server imports once and forks for each.

``with forking(folder, *modules) as python`` gives the path of a program that takes ``-c CODE``, ``-m MODULE`` or a
script, and has the working directory, environment, streams, signals and exit status of its process; ``patent-mteb`` is next to
it. What the imported libraries read from the environment, they read when the server starts.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

_PROGRAM = """#!{python} -ISE
import array, json, os, signal, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda number, _: server.sendall(bytes([number])))
streams = array.array("i", (0, 1, 2))
server.sendmsg([b"."], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, streams)])
request = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
server.sendall(len(request).to_bytes(8, "big") + request)
answer = json.loads(server.makefile().readline())
if answer < 0:
    if answer != -signal.SIGKILL:
        signal.signal(-answer, signal.SIG_DFL)
    os.kill(os.getpid(), -answer)
os._exit(answer)
"""


@contextlib.contextmanager
def forking(folder: Path, *modules: str) -> Iterator[Path]:
    """The program, as long as the block; ``modules``, or ``package.*`` with all of it, are imported before.

    Where the system cannot do it, the program is Python itself.
    """
    if not hasattr(os, "pidfd_open"):
        yield Path(sys.executable)
        return
    address = f"\0forked-{os.getpid()}-{folder.name}"  # in no directory, whose name may be too long
    program, command = folder / "forked-python", folder / "patent-mteb"
    program.write_text(_PROGRAM.format(python=sys.executable, address=address))
    command.write_text(f'#!/bin/sh\nexec "{program}" -m patent_mteb.cli "$@"\n')
    for file in (program, command):
        file.chmod(0o755)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen()
    start = [sys.executable, __file__, str(listener.fileno()), *modules]
    own = {**os.environ, "PATENT_MTEB_AUTOLOAD": "0"}
    with subprocess.Popen(start, env=own, stdin=subprocess.PIPE, pass_fds=[listener.fileno()]):
        listener.close()  # a server that has ended refuses its callers
        yield program


def in_child(action: Callable[[], object]) -> int:
    """Start an action in a fork of this process, which ends with status 1 if it fails; return the number of the fork."""
    child = os.fork()
    if not child:
        status = 1
        try:
            action()
            status = 0
        finally:
            os._exit(status)
    return child


def _serve(listener: socket.socket) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the processes that answer are not waited for
    while sys.stdin not in select.select([listener, sys.stdin], [], [])[0]:  # which ends with the tests
        caller, _ = listener.accept()
        if not os.fork():
            listener.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _answer(caller)
        caller.close()


def _answer(caller: socket.socket) -> None:
    """Run what the caller asks for in a process of its own, and say how it ended."""
    _, streams, _, _ = socket.recv_fds(caller, 1, 3)
    size = int.from_bytes(caller.recv(8, socket.MSG_WAITALL), "big")
    arguments, folder, environment = json.loads(caller.recv(size, socket.MSG_WAITALL))
    child = os.fork()
    if not child:
        caller.close()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        os._exit(_run(arguments))
    watched = [caller, os.pidfd_open(child)]
    while caller in select.select(watched, [], [])[0]:
        passed_on = caller.recv(1)
        os.kill(child, passed_on[0] if passed_on else signal.SIGKILL)  # nothing: the caller was killed
        watched = watched if passed_on else watched[1:]
    _, status = os.waitpid(child, 0)
    with contextlib.suppress(BrokenPipeError):
        caller.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def _run(arguments: list[str]) -> int:
    """As the interpreter does: the paths and the hook of its environment, then the program."""
    kind, *rest = arguments
    sys.path[1:1] = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    if sys.modules.pop("patent_mteb_autoload", None):
        importlib.import_module("patent_mteb_autoload")
    status = 0
    try:
        if kind == "-c":
            sys.argv, sys.path[0] = ["-c", *rest[1:]], ""
            exec(compile(rest[0], "<string>", "exec"), {"__name__": "__main__"})
        elif kind == "-m":
            sys.argv, sys.path[0] = rest, ""
            runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
        else:
            sys.argv, sys.path[0] = arguments, str(Path(kind).parent)
            runpy.run_path(kind, run_name="__main__")
    except SystemExit as stopped:
        code = stopped.code
        status = code if isinstance(code, int) else int(code is not None)
        if isinstance(code, str):
            print(code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
        status = 1
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    return status


if __name__ == "__main__":
    for package in sys.argv[2:]:
        found = importlib.import_module(package.removesuffix(".*"))
        for module in pkgutil.walk_packages(found.__path__, f"{found.__name__}.") if package.endswith(".*") else ():
            if not module.name.endswith(("__main__", ".terrier")):  # PyTerrier is not installed here
                importlib.import_module(module.name)
    _serve(socket.socket(fileno=int(sys.argv[1])))
