"""The picture of leave-one-out: who is where, how it is known, and how exact it is."""

import dataclasses

import matplotlib as mpl
import numpy as np
import pytest
from drawn import legend_of
from sklearn.svm import SVC

from maxmargin import LeaveOneOutDisplay, LinearSVM, leave_one_out
from maxmargin.errors import InvalidInput
from maxmargin.selection.leave_one_out.record import REASONS, LeaveOneOut, Reason

mpl.use("Agg")
pytestmark = pytest.mark.usefixtures("close_figures")

GENERATOR = np.random.default_rng(3)
LABELS = np.repeat([0, 1], 15)
ROWS = GENERATOR.normal(size=(30, 2)) + 1.2 * LABELS[:, None]


@pytest.fixture(scope="module")
def record():
    return leave_one_out(LinearSVM(tol=1e-8), ROWS, LABELS, agreements="exact")


def code(reason):
    return REASONS.index(reason)


def test_marks_are_where_refits_by_somebody_else_put_them(record):
    display = LeaveOneOutDisplay.from_leave_one_out(record)
    sign = 2.0 * LABELS - 1.0
    full = sign * SVC(kernel="linear", tol=1e-9).fit(ROWS, LABELS).decision_function(ROWS)
    left = np.empty(30)
    for row in range(30):
        rest = np.arange(30) != row
        other = SVC(kernel="linear", tol=1e-9).fit(ROWS[rest], LABELS[rest])
        left[row] = sign[row] * other.decision_function(ROWS[[row]])[0]
    expected = np.c_[full, left]
    marks = np.concatenate([np.asarray(each.get_offsets()) for each in display.points_.values()])
    inside = ((expected >= display.limits[0]) & (expected <= display.limits[1])).all(axis=1)
    order = np.concatenate([np.flatnonzero(inside & (left > 0)), np.flatnonzero(inside & (left <= 0))])
    np.testing.assert_allclose(marks, expected[order], atol=2e-3)
    assert len(display.points_["wrong"].get_offsets()) == np.count_nonzero(left <= 0)
    assert display.n_outside == 30 - np.count_nonzero(inside)


def test_it_says_whether_agreements_are_exact_or_estimated(record):
    assert "(exact)" in LeaveOneOutDisplay.from_leave_one_out(record).ax_[0].get_ylabel()
    estimated = leave_one_out(LinearSVM(), ROWS, LABELS)
    assert "(estimated)" in LeaveOneOutDisplay.from_leave_one_out(estimated).ax_[0].get_ylabel()


def test_errors_are_those_that_were_proved_not_those_of_estimates():
    estimates = np.array([0.4, -0.2, 1.5])
    codes = np.full(3, code(Reason.REFITTED), dtype=np.uint8)
    errors = np.array([True, False, False])  # the first two estimates are on the wrong side
    found = LeaveOneOut(errors, codes, 0, estimates, "estimated", full_agreements=estimates + 0.3)
    display = LeaveOneOutDisplay.from_leave_one_out(found)
    np.testing.assert_allclose(np.asarray(display.points_["wrong"].get_offsets()), [[0.7, 0.4]])
    assert "wrong when left out (1, 33.3 %)" in legend_of(display)


def test_reasons_are_counted(record):
    display = LeaveOneOutDisplay.from_leave_one_out(record)
    widths = [bar.get_width() for bar in display.bars_]
    assert widths == sorted(record.counts.values())
    assert sum(widths) == 30
    written = [text.get_text() for text in display.ax_[1].texts]
    for reason, number in record.counts.items():
        assert any(text.startswith(f"{number:,}  {reason.value.split(':')[0]}") for text in written)


def test_without_agreements_the_reasons_remain(record):
    bare = dataclasses.replace(record, agreements=None, agreements_are=None)
    display = LeaveOneOutDisplay.from_leave_one_out(bare)
    assert len(display.ax_) == 1
    assert display.points_ == {}
    assert sum(bar.get_width() for bar in display.bars_) == 30
    assert list(display.frame()) == ["wrong", "reason"]


def test_who_moved_is_in_the_picture_and_far_rows_that_did_not_are_counted():
    full = np.array([0.5, 1.0, 50.0, 80.0, -40.0])
    left = np.array([0.1, -6.0, 50.01, 80.0, -40.01])
    codes = np.full(5, code(Reason.FOLLOWED), dtype=np.uint8)
    display = LeaveOneOutDisplay.from_leave_one_out(
        LeaveOneOut(left <= 0, codes, 1, left, "exact", full_agreements=full)
    )
    assert display.limits[0] < -6.0
    assert display.limits[1] < 4.0
    assert display.n_outside == 3
    assert "3 further out, hardly changed" in legend_of(display)


def test_undecided_absent_and_missing():
    full = np.array([0.5, 1.0, np.nan, 0.2, 0.8])
    left = np.array([0.4, np.nan, np.nan, 0.1, 0.7])
    reasons = [Reason.FOLLOWED, Reason.UNDECIDED, Reason.ABSENT, Reason.UNDECIDED, Reason.REFITTED]
    codes = np.array([code(reason) for reason in reasons], dtype=np.uint8)
    found = LeaveOneOut(np.zeros(5, dtype=bool), codes, 0, left, "exact", full_agreements=full)
    display = LeaveOneOutDisplay.from_leave_one_out(found)
    np.testing.assert_array_equal(np.asarray(display.points_["undecided"].get_offsets()), [[0.2, 0.1]])
    assert len(display.points_["right"].get_offsets()) == 2
    assert legend_of(display) == ["right when left out (2)", "undecided (2)", "1 without an agreement"]


def test_many_examples_share_marks_and_none_is_lost():
    generator = np.random.default_rng(4)
    full = generator.normal(1.0, 1.0, 200_000)
    left = full - generator.exponential(0.2, 200_000)
    codes = np.full(200_000, code(Reason.BOUND), dtype=np.uint8)
    found = LeaveOneOut(left <= 0, codes, int(np.sum(full <= 0)), left, "estimated", full_agreements=full)
    display = LeaveOneOutDisplay.from_leave_one_out(found)
    drawn = sum(len(points.get_offsets()) for points in display.points_.values())
    assert drawn < 5_000
    assert any(text.startswith("a mark: up to ") for text in legend_of(display))
    assert len(display.frame()) == 200_000


def test_it_says_where_the_count_says_little(record):
    display = LeaveOneOutDisplay.from_leave_one_out(
        dataclasses.replace(record, has_free_support_vector=False)
    )
    assert legend_of(display)[-1] == "says little: the offset jumps"
    assert "says little: the offset jumps" not in legend_of(LeaveOneOutDisplay.from_leave_one_out(record))


def test_nothing_to_draw():
    with pytest.raises(InvalidInput, match="there are no examples to draw"):
        LeaveOneOutDisplay.from_leave_one_out(LeaveOneOut(np.zeros(0, bool), np.zeros(0, np.uint8), 0))
