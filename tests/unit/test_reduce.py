"""How a pass is shared between threads: every block once, one tree, and nobody left behind."""

import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp
from covering import every_value

from maxmargin._core import Stopped, StopToken
from maxmargin.rows.base import Tree
from maxmargin.rows.memory import LARGEST_BLOCK, SMALLEST_BLOCK, MemoryRows, block_size


class Kernel:
    """A kernel made of a function of the piece; its records are texts that show the tree."""

    def __init__(self, function=lambda piece: None):
        self.function = function

    def __call__(self, block, token, *pieces):
        self.function(pieces[0])
        return Joined(pieces[0][0])


class Joined(str):
    """A text that shows how it was joined."""

    def __add__(self, other):
        return Joined(f"({self} {other})")


def rows_of(n_blocks, threads):
    return MemoryRows(np.zeros((n_blocks, 1)), block_rows=1, threads=threads)


def level_by_level(count):
    """The definition of the tree: neighbours are joined, an odd one out moves up as it is."""
    records = [Joined(k) for k in range(count)]
    while len(records) > 1:
        pairs = [records[k] + records[k + 1] for k in range(0, len(records) - 1, 2)]
        records = pairs + records[2 * len(pairs) :]
    return records[0]


@every_value(n_blocks=[*range(1, 18), 100], threads=[1, 2, 5])
def test_one_tree_whatever_the_threads(n_blocks, threads):
    expected = level_by_level(n_blocks)
    assert rows_of(n_blocks, threads).reduce(Kernel(), np.arange(n_blocks)) == expected


@pytest.mark.parametrize("n_blocks", [1, 2, 3, 7, 16, 33])
def test_one_tree_in_whatever_order_records_come(n_blocks):
    random = np.random.default_rng(0)
    for _ in range(20):
        tree = Tree(n_blocks)
        for k in random.permutation(n_blocks):
            tree.put(int(k), Joined(k))
        assert tree.root() == level_by_level(n_blocks)


def test_few_records_are_alive_at_a_time():
    tree = Tree(1024)
    most = 0
    for k in range(1024):
        tree.put(k, Joined(k))
        most = max(most, len(tree._waiting))
    assert most <= 11


def test_records_may_be_none():
    tree = Tree(5)
    for k in range(5):
        tree.put(k, None)
    assert tree.root() is None


def test_the_calling_thread_works_too():
    here, seen, both = threading.get_ident(), set(), threading.Event()

    def meet(piece):
        seen.add(threading.get_ident())
        if here in seen and len(seen) > 1:
            both.set()
        both.wait(30)  # each with a block of its own until the other has come

    rows_of(50, 3).reduce(Kernel(meet), np.arange(50))
    assert here in seen
    assert 1 < len(seen) <= 3


@every_value(place=[0, 1, 30, 59], threads=[1, 2, 8])
def test_an_error_in_any_block_is_raised_and_ends_the_pass(place, threads):
    done = []

    def fail(piece):
        if piece[0] == place:
            raise RuntimeError(f"block {place}")
        time.sleep(1e-4)
        done.append(piece[0])

    rows = rows_of(60, threads)
    with pytest.raises(RuntimeError, match=f"block {place}"):
        rows.reduce(Kernel(fail), np.arange(60))
    finished = len(done)
    time.sleep(0.01)
    assert len(done) == finished  # nobody is still at it
    assert rows.reduce(Kernel(), np.arange(60)).count("(") == 59  # and the rows can be read again


def test_ctrl_c_stops_the_others_and_waits_for_them():
    token = StopToken()
    busy = threading.Event()

    def interrupt(piece):
        if threading.current_thread() is threading.main_thread():
            busy.wait(10)
            raise KeyboardInterrupt
        busy.set()
        while not token.stopped:
            time.sleep(1e-3)
        raise Stopped

    with pytest.raises(KeyboardInterrupt):
        rows_of(40, 2).reduce(Kernel(interrupt), np.arange(40), token=token)
    assert token.stopped


def test_passes_at_once_over_the_same_rows():
    """More passes than helpers: whoever finds them busy does its own work."""
    rows = rows_of(20, 2)
    expected = level_by_level(20)
    found = []

    def read():
        found.append(rows.reduce(Kernel(lambda piece: time.sleep(1e-4)), np.arange(20)))

    readers = [threading.Thread(target=read) for _ in range(8)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert found == [expected] * 8


# ---------------------------------------------------------------- the size of blocks


@every_value(n_rows=[1, 100, 8_192, 100_000, 200_000, 581_012, 10_000_000], n_columns=[1, 50, 5_000])
def test_blocks_are_many_but_not_small(n_rows, n_columns):
    size = block_size(n_rows, n_columns, n_rows * n_columns)
    assert SMALLEST_BLOCK <= size <= LARGEST_BLOCK
    assert size % 64 == 0
    assert size >= min(8 * n_columns, LARGEST_BLOCK)
    if n_columns < 1_000 and n_rows >= 16 * SMALLEST_BLOCK:
        assert n_rows / size > 15


def test_blocks_of_sparse_rows_hold_far_more_values_than_columns():
    values_per_row = 140
    size = block_size(25_000, 89_527, 25_000 * values_per_row)
    assert size * values_per_row >= 8 * 89_527
    assert 25_000 / size > 2


def test_the_data_alone_decide():
    X = np.ones((40_000, 3))
    assert len({len(MemoryRows(X, threads=threads)._blocks) for threads in (1, 2, 3, 16)}) == 1
    assert len(MemoryRows(X)._blocks) == 5
    assert len(MemoryRows(X, block_rows=10_000)._blocks) == 4
    assert len(MemoryRows(sp.csr_array(X))._blocks) == 5
