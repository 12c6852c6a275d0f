"""docs/scale.md: its tables are those of the measured figures, and the model counts as the code does."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from maxmargin.rows.base import Tree

ROOT = Path(__file__).parents[2]


@pytest.fixture
def model(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    for name in [name for name in sys.modules if name.split(".")[0] == "support"]:
        monkeypatch.delitem(sys.modules, name)
    from support import scale_model

    return scale_model


def test_tables_are_those_of_the_measured_figures(model):
    measured = json.loads((ROOT / "benchmarks/results/per_core.json").read_text())["lines"]
    page = (ROOT / "docs/scale.md").read_text(encoding="utf-8")
    assert model.with_tables(page, measured) == page
    other = {**measured, "seconds_per_call": 2 * measured["seconds_per_call"]}
    assert model.with_tables(page, other) != page


@pytest.mark.parametrize(("blocks", "workers"), [(1, 1), (32, 2), (13, 3), (1000, 7), (1024, 64)])
def test_records_are_counted_as_the_tree_joins_them(model, blocks, workers):
    sent = 0
    for worker in range(workers):
        tree = Tree(blocks)
        for block in range(worker * blocks // workers, (worker + 1) * blocks // workers):
            tree.put(block, 1.0)
        found = tree.branches()
        sent += len(found)
        assert (
            sum(record for *_, record in found)
            == (worker + 1) * blocks // workers - worker * blocks // workers
        )
    counted = model.branches(blocks, workers)
    # The tree goes on where a range ends with the rows: then a branch need not be whole.
    assert sent <= counted <= sent + np.ceil(np.log2(blocks + 1))


def test_the_model_adds_up_what_it_says(model):
    line = {"columns": 9, "ns_per_row": 100.0, "round_trips": 20, "gram_passes": 5, "bytes_per_row": 50}
    cluster = model.Cluster(32, threads=16, bytes_per_second=1e6)
    found = model.estimate(line, 0.002, 2 * 65_536 * 4, cluster)
    assert found["compute"] == pytest.approx(524_288 * 1e-7 / 32)
    assert found["calls"] == pytest.approx(20 * 2 * 0.002)
    assert found["gram_bytes"] == 8 * 100 * 2  # each has four blocks: one branch
    assert found["network"] == pytest.approx(2 * 5 * 1600 / 1e6)
    assert found["seconds"] == found["compute"] + found["calls"] + found["network"]
    assert found["bytes"] == 524_288 * 50
