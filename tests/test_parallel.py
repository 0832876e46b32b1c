"""The same work on every engine: results, what is told, errors, and workers that are killed."""

from __future__ import annotations

import os
import signal

import pytest

from patent_mteb.errors import DataError
from patent_mteb.parallel import each, share


def squared(number, tell):
    tell(number)
    if number == 13:
        raise DataError("an unlucky number", path="b.csv", row=13, remedy="another")
    return number * number


def fatal(number, tell):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_every_thing_comes_with_its_result_and_all_units_are_told(workers):
    told = []
    assert dict(each(squared, [1, 2, 3], workers=workers, tell=told.append)) == {1: 1, 2: 4, 3: 9}
    assert sum(told) == 6
    with pytest.raises(DataError, match=r"b\.csv, row 13: an unlucky number"):
        list(each(squared, [1, 13], workers=workers))


def test_a_process_that_is_killed_is_one_message():
    with pytest.raises(DataError, match="was ended from outside"):
        list(each(fatal, [1, 2], workers=2))


def test_shares_are_read_or_refused():
    assert (share("1/1"), share("3/8")) == ((1, 1), (3, 8))
    for wrong in ("0/2", "3/2", "1", "a/b", "1/0", "-1/2"):
        with pytest.raises(DataError, match="not a share of the work"):
            share(wrong)
