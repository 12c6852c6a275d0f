"""What passes return: records of the compiled core and of Python, their sums, and how they are kept."""

from __future__ import annotations

import importlib
import inspect
import pickle
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from types import NoneType
from typing import Annotated, get_origin

import numpy as np
import pytest
from covering import each_row

import maxmargin
from maxmargin import _core
from maxmargin.rows.base import Array, Record, Tree, record_type
from maxmargin.rows.disk.journal import from_tree, to_tree

CORE = {
    name: kind for name, kind in vars(_core).items() if isinstance(kind, type) and "__add__" in vars(kind)
}

# All other fields are sums; the joins of an inspection have a test of their own.
JOINS = {
    "DualSweepRecord": {"lowest": min, "highest": max, "complete": min},
    "StepSums": {"largest_ratio": max},
    "PreciseTerms": {
        "least_agreement": min,
        "least_score": min,
        "most_score": max,
        "least_positive": min,
        "most_negative": max,
        "furthest2": max,
    },
}


def record_of(kind, start):
    """A record whose fields are small whole numbers, all different."""
    values = {
        "float": float,
        "int": int,
        "bool": lambda k: k % 2 == 0,
        "tuple[float, float]": lambda k: (float(k), 0.0),
    }
    return kind(*(values[name](start + k) for k, name in enumerate(kind.__annotations__.values())))


def parts(record):
    return {name: getattr(record, name) for name in type(record).__annotations__}


# ---------------------------------------------------------------- the compiled core's


def test_the_core_has_records():
    assert JOINS.keys() | {"ClassCosts", "Inspection", "ProximalSums"} <= CORE.keys()


@pytest.mark.parametrize("name", sorted(CORE.keys() - {"Inspection"}))
@pytest.mark.parametrize(("first", "second"), [(1, 40), (40, 1)])
def test_records_of_the_core_are_joined_field_by_field(name, first, second):
    one, other = record_of(CORE[name], first), record_of(CORE[name], second)
    for field, joined in parts(one + other).items():
        a, b = getattr(one, field), getattr(other, field)
        if isinstance(a, tuple):
            assert joined == (a[0] + b[0], 0.0)
        else:
            assert joined == JOINS.get(name, {}).get(field, lambda x, y: x + y)(a, b)


@each_row("name", sorted(CORE.keys() - {"Inspection"}))
def test_the_record_of_no_rows_changes_no_sum(name):
    nothing, some = CORE[name](), record_of(CORE[name], 3)
    sums = [field for field in parts(some) if field not in JOINS.get(name, {})]
    assert [getattr(nothing + some, field) for field in sums] == [getattr(some, field) for field in sums]


def test_inspections_count_rows_from_the_first_block():
    clean = _core.Inspection(n_rows=5, largest_norm2=2.0)
    first = _core.Inspection(n_rows=7, bad_row=3, bad_column=1, bad_value=np.inf, largest_norm2=1.0)
    second = _core.Inspection(n_rows=4, bad_row=2, bad_column=0, bad_value=-np.inf, overflow_row=1)
    found = parts(clean + first + second)
    assert found == {
        "n_rows": 16,
        "bad_row": 8,
        "bad_column": 1,
        "bad_value": np.inf,
        "overflow_row": 13,
        "largest_norm2": 2.0,
    }
    assert parts(clean + clean)["bad_row"] == parts(clean + clean)["overflow_row"] == -1


def test_records_of_different_kinds_are_not_joined():
    with pytest.raises(TypeError):
        _core.ClassCosts() + _core.DualBalance()


@pytest.mark.parametrize("name", CORE)
def test_records_of_the_core_survive_pickle_and_journal(name):
    record = record_of(CORE[name], 1)
    assert parts(pickle.loads(pickle.dumps(record))) == parts(record)
    assert parts(from_tree(CORE[name], to_tree(CORE[name], record))) == parts(record)


@each_row(
    "tree",
    [
        None,
        [],
        [1.0, 2.0],
        [1.0, 2.0, 3, 4.0],
        [1, 2.0, 3],
        [1.0, 2.0, 3.0],
        [1.0, "2.0", 3],
        [1.0, 2.0, True],
        [1.0, 2.0, 2**70],
        {"positive": 1.0},
    ],
)
def test_other_trees_are_no_record_of_the_core(tree):
    with pytest.raises((TypeError, ValueError)):
        from_tree(_core.ClassCosts, tree)


@pytest.mark.parametrize("kind", [_core.Block, _core.StopToken, _core.SweepState, object])
def test_what_is_no_record_cannot_be_written_down(kind):
    with pytest.raises(TypeError):
        to_tree(kind, kind.__new__(kind) if kind is object else None)
    with pytest.raises(TypeError):
        from_tree(kind, [])


# ---------------------------------------------------------------- Python's


@dataclass(frozen=True, eq=False)
class Several(Record):
    total: float
    most: Annotated[float, max]
    v: Array
    least: Annotated[Array, np.minimum]
    gram: Array | None
    costs: _core.ClassCosts
    blocks: list[int]


def several(k, gram=None):
    v, least = np.full(2, float(k)), np.array([k, -k], dtype=float)
    return Several(float(k), float(-k), v, least, gram, _core.ClassCosts(k, 0.0, 1), [k])


@pytest.mark.parametrize("gram", [False, True])
def test_each_part_is_joined_on_its_own(gram):
    tree = Tree[Several](3)
    records = [several(k, np.eye(2) if gram else None) for k in (1, 2, 3)]
    for k in (2, 0, 1):
        tree.put(k, records[k])
    found = tree.root()
    assert (found.total, found.most, found.blocks) == (6.0, -1.0, [1, 2, 3])
    assert (found.costs.positive, found.costs.n_live) == (6.0, 3)
    assert found.v is records[0].v  # added in place
    np.testing.assert_array_equal(found.v, [6.0, 6.0])
    np.testing.assert_array_equal(found.least, [1.0, -3.0])
    if gram:
        np.testing.assert_array_equal(found.gram, 3 * np.eye(2))
    else:
        assert found.gram is None


@pytest.mark.parametrize("gram", [None, np.eye(2)])
def test_a_record_with_one_of_the_core_inside_survives_pickle_and_journal(gram):
    record = several(4, gram)
    for found in (pickle.loads(pickle.dumps(record)), from_tree(Several, to_tree(Several, record))):
        assert (found.total, found.most, found.blocks) == (4.0, -4.0, [4])
        assert parts(found.costs) == parts(record.costs)
        np.testing.assert_array_equal(found.v, record.v)
        assert (found.gram is None) == (gram is None)


# ---------------------------------------------------------------- every kernel's


def kernels():
    """All classes of the package whose instances are called with a block and a token."""
    root = Path(maxmargin.__file__).parent
    for path in root.rglob("*.py"):
        if "token: StopToken, *pieces" in path.read_text(encoding="utf-8"):
            place = ".".join(path.relative_to(root.parent).with_suffix("").parts)
            for kind in vars(importlib.import_module(place)).values():
                if inspect.isclass(kind) and kind.__module__ == place and "__call__" in vars(kind):
                    yield kind


def test_the_records_of_every_kernel_can_be_added():
    """`+` would join tuples end to end, and make numbers of booleans."""
    found = {kernel: record_type(kernel) for kernel in kernels() if not kernel.__name__.endswith("Kernel")}
    assert {record for record in found.values() if record in CORE.values()}
    others = {
        kernel: record
        for kernel, record in found.items()
        if record not in (NoneType, int, float, *CORE.values())
        and get_origin(record) not in (np.ndarray, list)
        and not (is_dataclass(record) and (hasattr(record, "__add__") or hasattr(record, "__iadd__")))
    }
    assert not others
