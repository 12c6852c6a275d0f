"""What the benchmarks share measures what it says: objectives, contests, entrants that fail."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from covering import every_value

import maxmargin

BENCHMARKS = str(Path(__file__).parents[2] / "benchmarks")


@pytest.fixture(autouse=True)
def on_path(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    yield
    for name in [name for name in sys.modules if name.split(".")[0] == "support"]:
        del sys.modules[name]


@pytest.fixture
def rows():
    from support.generated import overlapping

    return overlapping(300, 4)


@every_value(offset=["free", "penalized", "none"], loss=["hinge", "squared_hinge", "logistic"])
def test_objective_is_the_one_that_is_certified(rows, loss, offset):
    from support.judge import objective

    X, y = rows
    settings = {"fit_intercept": offset != "none", "penalize_intercept": offset == "penalized"}
    model = maxmargin.train(X, y, loss=loss, C=0.7, tol=1e-6, **settings)
    value = objective(X.astype(float), y, loss, 0.7, (model.coef[0], float(model.intercept[0]), offset))
    assert value == pytest.approx(model.certificate.objective, rel=1e-9)


def test_generated_rows_are_the_same_every_time_and_blocks_differ():
    from support.generated import overlapping

    X, y = overlapping(100_300, 4)
    again, labels = overlapping(100_300, 4)
    assert np.array_equal(X, again)
    assert np.array_equal(y, labels)
    assert not np.array_equal(X[:300], X[100_000:])


@pytest.mark.slow
def test_contest_measures_who_gets_there_and_reports_who_does_not(rows):
    from support.contest import Contest, Task
    from support.entrants import Entrant, ours
    from support.judge import Judge

    X, y = rows
    task = Task("small", X, y, "hinge", 1.0, 1e-4)
    rough = ({"tol": 1e3, "max_iter": 1, "dual": True},)
    entrants = [
        ours(1e-4, "dense64"),
        Entrant("rough", "LinearSVC", "scikit-learn", "penalized", rough, (("dense64", 1),)),
        Entrant("absent", "no such peer", "none", "free", ({},), (("dense64", 1),)),
        Entrant("broken", "LinearSVC", "scikit-learn", "free", ({"no_such_setting": 1},), (("csr64", 1),)),
    ]
    line = Contest(task, Judge(X, y, "hinge", 1.0), cap=60.0, rounds=1).hold(entrants)
    own, rough_entry, absent, broken = line["entries"]
    assert own["reached"]
    assert own["excess"] <= 1e-4
    assert own["seconds"] > 0
    assert not rough_entry["reached"]
    assert rough_entry["excess"] > 1e-4
    assert absent["note"].startswith("not available")
    assert "unexpected keyword" in broken["note"]


def test_tables_tell_what_happened():
    from support.report import contest_tables

    entry = {
        "offset": "free",
        "form": "dense64",
        "threads": 2,
        "setting": {"tol": 0.1},
        "note": "",
        "tries": 2,
    }
    there = {**entry, "reached": True, "excess": 1e-5, "search_seconds": 1.0}
    own = {**there, "title": "maxmargin", "package": "maxmargin", "seconds": 0.5}
    peer = {**there, "title": "peer", "package": "peer", "seconds": 2.0}
    late = {**peer, "title": "late", "reached": False, "excess": 0.031}
    line = {"task": "t", "loss": "hinge", "C": 1.0, "target": 1e-4, "rows": 10, "columns": 2, "values": 20}
    text = contest_tables([{**line, "bounds_within": {"free": 1e-9}, "entries": [own, peer, late]}])
    assert "| 0.500 s | peer | 2.000 s | **4.0** |" in text
    assert "not reached: 3.1 % off after 2.000 s (best of 2 settings in 1.000 s)" in text
