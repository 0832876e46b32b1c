"""How many threads a piece of work takes: threads that share short products wait for each other most of the time.

On two busy cores a linear probe of 1,200 x 256 embeddings takes 1.0 s of processor time on one thread and 5.0 s on two, the perceptron of
:mod:`.mlp_probe` 5 s and 38 s. On one thread the last digits of a score do not depend on the number of cores either.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

__all__ = ["SMALL_EMBEDDINGS", "one_thread"]

SMALL_EMBEDDINGS = 1 << 22
"""Numbers in a matrix of embeddings below which a protocol is short work: 16 MiB."""


@contextlib.contextmanager
def one_thread(wanted: bool = True) -> Iterator[None]:
    """Let BLAS, OpenMP and torch work on one thread inside the block, if ``wanted``.

    Example:
        >>> import torch
        >>> from patent_mteb.protocols.threads import one_thread
        >>> with one_thread():
        ...     torch.get_num_threads()
        1
    """
    if not wanted:
        yield
        return
    import torch
    from threadpoolctl import threadpool_limits

    before = torch.get_num_threads()
    with threadpool_limits(1):
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(before)
