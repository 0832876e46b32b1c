"""Apply a function to many items: in turn, in processes, or on a Ray cluster.

The results do not depend on the engine. The function gets an item and a callback for progress, to which it reports the
number of units (documents, texts) done since its last call. It must write its output completely or not at all, because
Ray runs it again when a worker was killed.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait as wait_for
from typing import Any, TypeVar

from patent_mteb.errors import DataError, PatentMTEBError

Tell = Callable[[int], None]
Thing = TypeVar("Thing")
Result = TypeVar("Result")
_LOOK_SECONDS = 0.5  # until Ctrl-C is noticed while workers run
_RETRIES = 5  # how often Ray runs a function again whose worker was killed


def quiet(units: int) -> None:
    """Ignore progress."""


def cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def share(text: str) -> tuple[int, int]:
    """Parse a share of the work: ``2/8`` is the second of eight."""
    first, slash, last = text.partition("/")
    if not (slash and first.isdigit() and last.isdigit() and 1 <= int(first) <= int(last)):
        raise DataError(
            f"'{text}' is not a share of the work", remedy="write i/n with 1 <= i <= n, such as --shard 2/8"
        )
    return int(first), int(last)


def each(
    function: Callable[[Thing, Tell], Result],
    things: Sequence[Thing],
    *,
    workers: int = 1,
    engine: str = "local",
    gpus: bool = False,
    tell: Tell = quiet,
) -> Iterator[tuple[Thing, Result]]:
    """Yield every item with its result, in the order in which they finish.

    The engine is ``local`` (this machine) or ``ray`` (a Ray cluster; a local one is started if there is none).
    """
    if engine == "ray":
        return _on_ray(function, things, gpus, tell)
    if workers < 2 or len(things) < 2:
        return ((thing, function(thing, tell)) for thing in things)
    return _side_by_side(function, things, min(workers, len(things)), tell)


def _side_by_side(
    function: Callable[[Thing, Tell], Result], things: Sequence[Thing], workers: int, tell: Tell
) -> Iterator[tuple[Thing, Result]]:
    """Run in new processes: a fork of a process with threads may hang."""
    context = multiprocessing.get_context("spawn")
    done = context.Value("q", 0)
    reported = 0
    with ProcessPoolExecutor(workers, context, _begin, (done,)) as pool:
        running = {pool.submit(_counted, function, thing): thing for thing in things}
        try:
            while running:
                finished, _ = wait(running, _LOOK_SECONDS, FIRST_COMPLETED)
                units, reported = done.value - reported, done.value
                if units:
                    tell(units)
                for future in finished:
                    yield running.pop(future), future.result()
        except BrokenProcessPool as error:
            raise DataError(
                "a worker process was ended from outside (not enough memory?)",
                remedy="start again: finished work stays; fewer --workers need less memory",
            ) from error
        finally:
            pool.shutdown(cancel_futures=True)


_done: Any = None  # in a worker process: the number of units that all workers have done


def _begin(done: Any) -> None:
    """Store the shared counter, and end this worker when its parent ends."""
    global _done
    _done = done
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        wait_for([parent.sentinel])
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


def _counted(function: Callable[[Thing, Tell], Result], thing: Thing) -> Result:
    def tell(units: int) -> None:
        with _done.get_lock():
            _done.value += units

    return function(thing, tell)


def _ray() -> Any:
    """Connect Ray to ``RAY_ADDRESS``, else to this machine, else start it here."""
    try:
        import ray
    except ImportError as error:
        raise PatentMTEBError("the engine 'ray' needs Ray", remedy="pip install -e '.[ray]'") from error
    if not ray.is_initialized():
        try:
            ray.init(log_to_driver=False, include_dashboard=False)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise PatentMTEBError(
                f"no Ray cluster can be reached or started ({error})", remedy="look at RAY_ADDRESS"
            ) from error
    return ray


def ray_slots() -> int:
    """Number of parallel workers of the Ray cluster: its GPUs, else its CPUs."""
    resources = _ray().cluster_resources()
    return int(resources.get("GPU") or resources.get("CPU") or 1)


def _with_units(function: Callable[[Thing, Tell], Result], thing: Thing) -> tuple[Result, int]:
    units: list[int] = []
    return function(thing, units.append), sum(units)


def _on_ray(
    function: Callable[[Thing, Tell], Result], things: Sequence[Thing], gpus: bool, tell: Tell
) -> Iterator[tuple[Thing, Result]]:
    """Run as Ray tasks; Ray repeats those of a killed worker."""
    ray = _ray()
    task = ray.remote(max_retries=_RETRIES, num_gpus=1 if gpus and ray.cluster_resources().get("GPU") else 0)(
        _with_units
    )
    running = {task.remote(function, thing): thing for thing in things}
    try:
        while running:
            finished, _ = ray.wait(list(running), num_returns=1)
            for reference in finished:
                result, units = ray.get(reference)
                tell(units)
                yield running.pop(reference), result
    except ray.exceptions.RayTaskError as error:
        raise error.cause from error
    finally:
        for reference in running:
            ray.cancel(reference, force=True)
