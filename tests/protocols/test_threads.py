"""One thread for small work, and as many as before afterwards."""

import pytest
from threadpoolctl import threadpool_info

from patent_mteb.protocols.mlp_probe import one_thread

torch = pytest.importorskip("torch")


def threads():
    return [pool["num_threads"] for pool in threadpool_info()] + [torch.get_num_threads()]


@pytest.mark.parametrize("fails", [False, True])
def test_one_thread_inside_and_as_many_as_before_after_it(fails):
    torch.set_num_threads(2)
    before = threads()
    assert max(before) > 1
    try:
        with one_thread():
            assert set(threads()) == {1}
            if fails:
                raise KeyError
    except KeyError:
        assert fails
    assert threads() == before


def test_large_work_keeps_its_threads():
    before = threads()
    with one_thread(False):
        assert threads() == before
