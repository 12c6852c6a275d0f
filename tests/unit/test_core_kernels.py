"""The compiled kernels refuse arrays that do not fit, with a sentence that says which."""

import numpy as np
import pytest
from covering import each_row

from maxmargin import _core
from maxmargin._core import Block, StopToken, SweepState

X = np.arange(6.0).reshape(3, 2)
SIGN = np.ones(3, dtype=np.int8)


def test_a_block_knows_its_shape():
    block = Block(X)
    assert (block.n_rows, block.n_columns) == (3, 2)
    sparse = Block(np.ones(2), np.array([0, 1], np.int32), np.array([0, 1, 1, 2], np.int32), 5)
    assert (sparse.n_rows, sparse.n_columns) == (3, 5)


def test_a_block_keeps_its_array_alive():
    block = Block(np.full((1000, 50), 2.0))
    z = np.zeros(1000)
    _core.multiply(block, np.ones(50), z, None, None, StopToken())
    np.testing.assert_array_equal(z, 100.0)


@each_row("array", [np.zeros((2, 2), complex), np.zeros(3), np.zeros((2, 2, 2)), np.array([["a"]]), [[1.0]]])
def test_what_is_no_matrix_of_numbers_is_refused(array):
    with pytest.raises(TypeError):
        Block(array)


def test_index_types_must_agree():
    with pytest.raises(TypeError, match="same integer type"):
        Block(np.ones(1), np.zeros(1, np.int32), np.array([0, 1], np.int64), 3)
    with pytest.raises(TypeError, match="int32 or int64"):
        Block(np.ones(1), np.zeros(1, np.int16), np.array([0, 1], np.int16), 3)
    with pytest.raises(ValueError, match="one entry more"):
        Block(np.ones(1), np.zeros(1, np.int32), np.zeros(0, np.int32), 3)


@each_row(
    ("w", "z", "a", "v", "message"),
    [
        (np.zeros(3), np.zeros(3), None, None, "w has length 3, expected 2"),
        (np.zeros(2), np.zeros(2), None, None, "z has length 2, expected 3"),
        (None, None, np.zeros(2), np.zeros(2), "a has length 2, expected 3"),
        (None, None, np.zeros(3), np.zeros(3), "v has length 3, expected 2"),
        (np.zeros(2), None, None, None, "w goes with z"),
        (None, None, None, np.zeros(2), "a with v"),
    ],
)
def test_products_check_lengths(w, z, a, v, message):
    with pytest.raises(ValueError, match=message):
        _core.multiply(Block(X), w, z, a, v, StopToken())


def test_nothing_is_converted_behind_the_caller():
    """An output in the wrong type would be filled as a copy and lost."""
    with pytest.raises(TypeError):
        _core.multiply(Block(X), np.zeros(2, np.float32), np.zeros(3), None, None, StopToken())
    with pytest.raises(TypeError):
        _core.multiply(Block(X), np.zeros(2), np.zeros(6)[::2], None, None, StopToken())
    with pytest.raises(TypeError):
        _core.inspect(Block(X), np.zeros(3, np.float32), StopToken())


def test_outputs_must_be_writable():
    z = np.zeros(3)
    z.flags.writeable = False
    with pytest.raises(TypeError):
        _core.multiply(Block(X), np.zeros(2), z, None, None, StopToken())


def test_scored_rows_check_lengths_and_losses():
    z, cost = np.zeros(3), np.ones(3)
    with pytest.raises(ValueError, match="sign has length 2, expected 3"):
        _core.certificate_terms("hinge", z, SIGN[:2], cost, 0.0, z)
    with pytest.raises(ValueError, match="alpha has length 2, expected 3"):
        _core.certificate_terms("hinge", z, SIGN, cost, 0.0, z[:2])
    with pytest.raises(ValueError, match="cost has length 1, expected 3"):
        _core.hinge_offset(z, SIGN, cost[:1])
    for loss in ("abacus", "zero_one"):
        with pytest.raises(ValueError, match=f'no such loss here: "{loss}"'):
            _core.certificate_terms(loss, z, SIGN, cost, 0.0, z)
    with pytest.raises(ValueError, match='no such loss here: "abacus"'):
        _core.offset_derivatives("abacus", z, SIGN, cost, 0.0)


def sweep(**changed):
    arrays = {
        "sign": SIGN,
        "cost": np.ones(3),
        "norm2": (X * X).sum(axis=1),
        "mean_score": None,
        "alpha": np.zeros(3),
        "bound_visits": np.zeros(3, np.uint8),
        "skips": np.zeros(3, np.uint8),
    }
    arrays.update({name: value for name, value in changed.items() if name in arrays})
    loss = changed.get("loss", "hinge")
    state = SweepState(changed.get("u", np.zeros(2)))
    return _core.dual_sweep(Block(X), loss, state, *arrays.values(), (0, 0, 0), StopToken())


@each_row("name", ["sign", "cost", "norm2", "mean_score", "alpha", "bound_visits", "skips", "u"])
def test_sweeps_check_lengths(name):
    kinds = {"sign": np.int8, "bound_visits": np.uint8, "skips": np.uint8}
    with pytest.raises(ValueError, match=f"{name} has length 7, expected {2 if name == 'u' else 3}"):
        sweep(**{name: np.zeros(7, kinds.get(name, np.float64))})


def test_sweeps_know_the_losses_with_a_dual():
    assert sweep().visited == 3
    with pytest.raises(ValueError, match='no such loss here: "squared"'):
        sweep(loss="squared")


def test_the_state_of_sweeps_can_be_read_and_set():
    u = np.zeros(2)
    state = SweepState(u, center=0.5, gamma=2.0, mean_norm2=4.0)
    assert (state.center, state.gamma, state.balance, state.mean_dot) == (0.5, 2.0, 0.0, 0.0)
    state.center, state.balance, state.mean_dot = 1.0, 2.0, 3.0
    assert (state.center, state.balance, state.mean_dot) == (1.0, 2.0, 3.0)
