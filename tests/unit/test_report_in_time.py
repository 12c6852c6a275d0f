"""A report that has no time, or is interrupted: it says less, says so, and is whole."""

from __future__ import annotations

import re

import pytest
from browser.report_pages import chart_data, plain_text, report_of, two_classes

import maxmargin as mm
from maxmargin.errors import Interrupted


def test_no_time_means_less_and_says_so(tmp_path):
    X, y = two_classes()
    model = mm.LinearSVM().fit(X, y)
    said = plain_text(report_of(model, X, y, tmp_path, max_time=1e-9))
    assert "the time limit was reached before" in said
    assert "This is the training accuracy" in said
    model = mm.LinearSVM().fit(X[:150], y[:150])
    said = plain_text(report_of(model, X[:150], y[:150], tmp_path, test=(X[150:], y[150:]), max_time=1e-9))
    assert "right on 50 held-out rows that had no part in training" in said


def test_guarantees_keep_to_the_time_and_say_what_costs_none(tmp_path, monkeypatch):
    X, y = two_classes()
    model = mm.LinearSVM().fit(X, y)
    assert "Not claimed: held-out error (no test examples were given), mistake" in plain_text(
        report_of(model, X, y, tmp_path)
    )
    monkeypatch.setattr("maxmargin.reporting.evidence.AT_LEAST", 1e-9)
    said = plain_text(report_of(model, X, y, tmp_path, max_time=1e-9))
    assert "compression (the time limit was reached before it was found)" in said
    assert "VC dimension" in said


def test_what_is_not_decided_is_estimated_and_said_to_be(tmp_path):
    X, y = two_classes()
    y[:30] = "no"
    said = plain_text(report_of(mm.LinearSVM().fit(X, y), X, y, tmp_path, watch=lambda progress: True))
    assert re.search(r"≈ \d\d\.\d % right on 200 rows when each is left out of the fit, by estimates", said)
    assert re.search(r"in the time there was: proved is [\d.]+ % to [\d.]+ %", said)


def test_an_interrupt_writes_what_is_known(tmp_path):
    X, y = two_classes()

    def watch(progress):
        raise KeyboardInterrupt

    target = tmp_path / "r.html"
    with pytest.raises(Interrupted, match="holds the results so far") as raised:
        mm.report(mm.LinearSVM().fit(X, y), X, y, path=target, watch=watch)
    assert raised.value.model == target
    said = plain_text(target.read_text(encoding="utf-8"))
    assert "interrupted by Ctrl-C" in said[: said.index("How often it is right")]  # before anything else
    assert "the optimum" in said


def test_an_interrupt_along_the_path_keeps_its_beginning(tmp_path):
    X, y = two_classes()
    counted = []

    def watch(progress):
        counted.append(progress)

    mm.report(mm.LinearSVM().fit(X, y), X, y, path=tmp_path / "r.html", watch=watch)
    everything = len(counted)
    counted.clear()

    def interrupt(progress):
        counted.append(progress)
        if len(counted) == everything - 2:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted):
        mm.report(mm.LinearSVM().fit(X, y), X, y, path=tmp_path / "r.html", watch=interrupt)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert re.search(r"Rows were left out at [2-8] of 9 values of C", plain_text(page))
    series = chart_data(page, "path-chart")["series"]
    assert sum(value is not None for value in series[1]["values"]) >= 2
