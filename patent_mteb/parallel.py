"""The same work on many things: in turn, in processes of this machine, or on a Ray cluster. Whatever the engine, the
results are the same.

The work is a function of one thing and of ``tell``, by which it says how many units (documents, texts) it has done
since it last said so. It writes what it makes whole or not at all, so that it may be begun again: Ray does that where a
worker was killed.
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

ENGINES = ("local", "ray")
"""Where work is done: on this machine, or on the Ray cluster at hand (a local one is started where there is none)."""

Tell = Callable[[int], None]
Thing = TypeVar("Thing")
Result = TypeVar("Result")

_LOOK_SECONDS = 0.5
_RETRIES = 5
"""How often Ray begins work again whose worker was killed."""


def quiet(units: int) -> None:
    """Nobody looks."""


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def share(text: str) -> tuple[int, int]:
    """A share of the work as it is written: ``2/8`` is the second of eight."""
    first, slash, last = text.partition("/")
    if not (slash and first.isdigit() and last.isdigit() and 1 <= int(first) <= int(last)):
        raise DataError(f"'{text}' is no share of the work", remedy="write i/n with 1 <= i <= n, such as --shard 2/8")
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
    """Every thing with what the function makes of it, as they are finished."""
    if engine == "ray":
        return _on_ray(function, things, gpus, tell)
    if workers < 2 or len(things) < 2:
        return ((thing, function(thing, tell)) for thing in things)
    return _side_by_side(function, things, min(workers, len(things)), tell)


def _side_by_side(
    function: Callable[[Thing, Tell], Result], things: Sequence[Thing], workers: int, tell: Tell
) -> Iterator[tuple[Thing, Result]]:
    """In new processes, since a fork of one with threads may hang."""
    context = multiprocessing.get_context("spawn")
    done = context.Value("q", 0)
    told = 0
    with ProcessPoolExecutor(workers, context, _begin, (done,)) as pool:
        running = {pool.submit(_counted, function, thing): thing for thing in things}
        try:
            while running:
                finished, _ = wait(running, _LOOK_SECONDS, FIRST_COMPLETED)
                units, told = done.value - told, done.value
                if units:
                    tell(units)
                for future in finished:
                    yield running.pop(future), future.result()
        except BrokenProcessPool as error:
            raise DataError(
                "a process that worked for this one was ended from outside (was there not enough memory?)",
                remedy="start again, what is finished stays; fewer --workers need less memory",
            ) from error
        finally:
            pool.shutdown(cancel_futures=True)


_done: Any = None
"""In a process that works for another: the units that all of them have done."""


def _begin(done: Any) -> None:
    """Take the counter, and see to it that this process does not outlive the one that it works for."""
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
    """Ray, connected to the cluster of ``RAY_ADDRESS``, else to one of this machine, else to a new local one."""
    try:
        import ray
    except ImportError as error:
        raise PatentMTEBError("the engine 'ray' needs Ray. Remedy: pip install 'patent-mteb[ray]'") from error
    if not ray.is_initialized():
        try:
            ray.init(log_to_driver=False, include_dashboard=False)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise PatentMTEBError(
                f"no Ray cluster can be reached or started ({error}). Remedy: look at RAY_ADDRESS"
            ) from error
    return ray


def ray_slots() -> int:
    """How many workers the Ray cluster runs side by side: one for each GPU, or for each CPU where it has none."""
    resources = _ray().cluster_resources()
    return int(resources.get("GPU") or resources.get("CPU") or 1)


def _told(function: Callable[[Thing, Tell], Result], thing: Thing) -> tuple[Result, int]:
    units: list[int] = []
    return function(thing, units.append), sum(units)


def _on_ray(
    function: Callable[[Thing, Tell], Result], things: Sequence[Thing], gpus: bool, tell: Tell
) -> Iterator[tuple[Thing, Result]]:
    """As tasks of Ray, which begins those of a killed worker again."""
    ray = _ray()
    task = ray.remote(max_retries=_RETRIES, num_gpus=1 if gpus and ray.cluster_resources().get("GPU") else 0)(_told)
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
