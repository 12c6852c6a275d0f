"""How fits on a Dask cluster end before their time: nothing is left on the workers."""

import time

import numpy as np
import pytest
from interrupts import interrupt_when
from reference.clusters import processes

from maxmargin.errors import InvalidInput

pytest.importorskip("distributed")

from maxmargin.inputs import dask_worker
from maxmargin.inputs.dask_blocks import DaskBlocks
from maxmargin.inputs.dask_rows import DaskRows

pytestmark = pytest.mark.xdist_group("dask")


@pytest.fixture(scope="module")
def client():
    with processes(2) as client:
        yield client


class Slowly:
    """A block that a worker takes its time to make."""

    def __init__(self, number, seconds, error=None):
        self.number, self.seconds, self.error = number, seconds, error

    def __call__(self):
        if self.error is not None:
            raise InvalidInput(self.error)
        time.sleep(self.seconds)
        return np.ones((10, 2)) * self.number, np.arange(10) % 2, None


def held(client):
    return sum(client.run(lambda: len(dask_worker._held)).values())


# ---------------------------------------------------------------- while blocks are loaded


def test_ctrl_c_while_blocks_are_loaded_leaves_none_behind(client):
    blocks = DaskBlocks([Slowly(k, 0.4) for k in range(6)])
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt), interrupt_when(lambda: time.monotonic() > begun + 0.6):
        DaskRows(blocks, client)
    time.sleep(1.0)  # what ran on goes on to its end
    assert held(client) == 0


def test_an_error_in_one_block_leaves_none_behind(client):
    parts = [Slowly(0, 0, "no such bucket"), *(Slowly(k, 0.4) for k in range(1, 4))]
    with pytest.raises(InvalidInput, match="no such bucket"):
        DaskRows(DaskBlocks(parts), client)
    time.sleep(1.0)
    assert held(client) == 0


def test_a_block_that_comes_after_the_end_is_not_kept(monkeypatch):
    monkeypatch.setattr(dask_worker, "_held", {})
    monkeypatch.setattr(dask_worker, "_over", {})
    monkeypatch.setattr(dask_worker, "MOST_OVER", 2)

    def ending():
        dask_worker.drop_fit("one")
        return np.zeros((4, 2)), np.arange(4) % 2, None

    assert isinstance(dask_worker.load_block("one", 0, ending), dask_worker.Failed)
    assert isinstance(dask_worker.load_block("two", 0, ending), dask_worker.Loaded)
    assert list(dask_worker._held) == [("two", 0)]
    for fit in ("two", "three"):
        dask_worker.drop_fit(fit)
    assert list(dask_worker._over) == ["two", "three"]
