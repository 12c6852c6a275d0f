"""The public function: labels, classes, agreements, limits, interrupts, and what it refuses."""

import signal

import numpy as np
import pytest
from covering import every_pair
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import (
    HardMarginSVM,
    LeaveOneOut,
    LeaveOneOutWarning,
    LinearClassifier,
    LinearSVM,
    leave_one_out,
    train,
)
from maxmargin.core.solution import Status
from maxmargin.errors import Interrupted, InvalidInput, InvalidParameter
from maxmargin.selection.leave_one_out.cases import Cases
from maxmargin.selection.leave_one_out.record import REASONS, Reason

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((200, 6))
Y = np.where(X[:, 0] + 0.7 * RANDOM.standard_normal(200) > 0, "yes", "no")
# So many support vectors that leaving all of them out takes a while.
HARD_X = np.random.default_rng(1).standard_normal((1500, 60))
HARD_Y = np.random.default_rng(2).integers(0, 2, 1500)


def test_errors_are_those_of_fits_without_each_example():
    left_out = leave_one_out(LinearSVM(C=0.5), X, Y)
    for i in range(0, 200, 10):
        others = np.arange(200) != i
        model = train(X[others], Y[others], C=0.5, tol=1e-10)
        assert left_out.errors[i] == (model.predict(X[[i]])[0] != Y[i])


@every_pair(n=[20, 2], far=[1e8, 1e6, 1e3], loss=["logistic", "squared_hinge", "hinge"])
def test_one_far_example_says_nothing_about_the_others(n, far, loss):
    random = np.random.default_rng(n)
    rows = np.concatenate([-1 - 0.3 * random.random(n), 1 + 0.3 * random.random(n), [0.05, far]])[:, None]
    labels = np.repeat([-1, 1], [n, n + 2])
    left_out = leave_one_out(LinearClassifier(loss=loss, C=10), rows, labels)
    solver = "dual_descent" if loss == "hinge" else "newton"
    for i in range(len(labels)):
        others = np.arange(len(labels)) != i
        model = train(rows[others], labels[others], loss=loss, C=10, solver=solver)
        assert left_out.errors[i] == (model.agreements(rows[[i]], labels[[i]])[0] <= 0)
    assert left_out.status is Status.SOLVED
    assert REASONS.index(Reason.TIE) not in left_out.codes


def test_nothing_is_decided_within_the_rounding_error_of_an_agreement():
    rounding = np.array([0.0, 1e-3, 1e-3, 1e-3, 0.0])
    agreement = np.array([1e-4, 1e-4, 2e-3, 0.0, 1e-8])
    every = np.arange(5)
    right, wrong, settled = (Cases(rounding) for _ in range(3))
    right.decide_right(every, agreement, Reason.BOUND)
    wrong.decide_wrong(every, -agreement, Reason.WRONG_ALREADY)
    settled.settle(every, agreement, np.zeros(5), Reason.REFITTED)
    assert right.outcome.tolist() == [1, 0, 1, 0, 0]
    assert wrong.outcome.tolist() == [-1, 0, -1, 0, 0]
    assert settled.outcome.tolist() == [1, 0, 1, 0, -1]  # the last is a tie


def test_rows_on_the_hyperplane_are_training_errors():
    with pytest.warns(LeaveOneOutWarning, match="leave-one-out says little here"):
        left_out = leave_one_out(LinearSVM(), np.zeros((4, 1)), [0, 0, 1, 1])
    assert left_out.training_errors == 4


@pytest.mark.slow
def test_products_that_a_far_row_swallows_decide_nothing():
    """About the mean of these rows, the products of all but the first are the same number to rounding."""
    rows = np.array([[1e9], [1.2], [-0.51], [-0.3], [-0.53], [0.57]])
    labels = np.array([1, 1, -1, 1, -1, 1])
    with pytest.warns(LeaveOneOutWarning, match="no support vector lies strictly between its bounds"):
        left_out = leave_one_out(LinearSVM(C=0.1), rows, labels, agreements="exact")
    for i in range(1, len(labels)):
        others = np.arange(len(labels)) != i
        model = train(rows[others], labels[others], C=0.1, solver="dual_descent", tol=1e-10)
        agreement = model.agreements(rows[[i]], labels[[i]])[0]
        assert left_out.errors[i] == (agreement <= 0)
        assert left_out.agreements[i] == pytest.approx(agreement, abs=1e-6)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_the_unit_of_the_rows_does_not_matter(unit):
    """w is in units of 1/x, so the regulariser weighs the same if C falls with the square of the unit."""
    plain = leave_one_out(LinearSVM(C=1.0), X, Y)
    other = leave_one_out(LinearSVM(C=unit**-2), X * unit, Y)
    assert (plain.errors == other.errors).all()


def test_estimated_and_exact_agreements_are_never_confused():
    estimated = leave_one_out(LinearSVM(), X, Y)
    exact = leave_one_out(LinearSVM(), X, Y, agreements="exact")
    neither = leave_one_out(LinearSVM(), X, Y, agreements=None)
    assert (estimated.agreements_are, exact.agreements_are) == ("estimated", "exact")
    assert (neither.agreements, neither.agreements_are) == (None, None)
    assert (estimated.errors == exact.errors).all()
    assert (exact.errors == (exact.agreements <= 0)).all()
    assert 0.95 < np.corrcoef(estimated.agreements, exact.agreements)[0, 1] < 1 - 1e-6
    assert estimated.agreement_bounds is None
    assert exact.agreement_bounds.max() < 1e-5
    assert list(estimated.frame()) == ["wrong", "reason", "estimated_agreement"]
    assert list(exact.frame()) == ["wrong", "reason", "exact_agreement"]
    assert list(neither.frame()) == ["wrong", "reason"]


def test_a_model_an_estimator_and_a_pipeline_name_the_same_problem():
    first = leave_one_out(LinearSVM(C=0.3), X, Y)
    for same in (LinearSVM(C=0.3).fit(X, Y), train(X, Y, C=0.3), LinearSVM(lam=1 / (0.3 * 200))):
        assert (leave_one_out(same, X, Y).errors == first.errors).all()
    pipe = make_pipeline(StandardScaler(), LinearSVM(C=0.3)).fit(X, Y)
    scaled = leave_one_out(LinearSVM(C=0.3), pipe[0].transform(X), Y)
    assert (leave_one_out(pipe, X, Y).errors == scaled.errors).all()


def passes_of_fits(estimator, rows, labels):
    """Return the record, and how many passes over the rows fits were seen to take."""
    seen = []
    found = leave_one_out(estimator, rows, labels, watch=lambda progress: seen.append(progress.passes))
    return found, max(seen, default=0)


QUADRANT = 2 * (X[:, 1] > 0) + (X[:, 2] > 0)


@pytest.mark.parametrize(
    ("loss", "labels"),
    [
        pytest.param("hinge", Y, id="hinge of two"),
        pytest.param("squared_hinge", QUADRANT, id="squared hinge of four"),
        pytest.param("logistic", Y, id="logistic of two"),
        pytest.param("logistic", QUADRANT, id="softmax of four"),
        pytest.param("hinge", QUADRANT, id="Crammer-Singer of four", marks=pytest.mark.slow),
        pytest.param("squared_hinge", Y, id="squared hinge of two", marks=pytest.mark.slow),
    ],
)
def test_a_fitted_model_is_where_it_begins(loss, labels):
    settings = {"loss": loss, "C": 0.5, "tol": 1e-12}
    cold, passes = passes_of_fits(LinearClassifier(**settings), X, labels)
    fitted = LinearClassifier(**settings).fit(X, labels)
    for model in (fitted, fitted.to_model()):
        warm, passes_of_warm = passes_of_fits(model, X, labels)
        assert (passes_of_warm, warm.n_undecided) == (0, 0)
        assert (warm.errors == cold.errors).all()
        np.testing.assert_allclose(warm.full_agreements, cold.full_agreements, atol=1e-6)
    assert passes > 0


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_a_model_of_another_problem_changes_no_answer(loss):
    wanted = leave_one_out(LinearClassifier(loss=loss), X, Y)
    order = RANDOM.permutation(200)
    for model in (
        LinearClassifier(loss=loss).fit(X[order], Y[order]),  # support vectors are other rows here
        LinearClassifier(loss=loss, C=100.0).fit(X, Y).set_params(C=1.0),
        LinearClassifier(loss=loss).fit(np.vstack([X, X]), np.append(Y, Y)),
        LinearClassifier(loss=loss).fit(X[:, :4], Y),
        LinearClassifier(loss=loss, max_iter=1)
        .set_params(tol=1e9)
        .fit(-X, Y)
        .set_params(max_iter=None, tol=1e-4),
    ):
        found = leave_one_out(model, X, Y)
        assert (found.errors == wanted.errors).all()
        assert found.n_undecided == 0


def test_copies_share_the_duals_of_a_fitted_model():
    rows, labels = np.vstack([X, X[:50]]), np.append(Y, Y[:50])
    fitted = LinearSVM(C=0.5, tol=1e-12).fit(rows, labels)
    found, passes = passes_of_fits(fitted, rows, labels)
    assert passes == 0
    assert (found.errors == leave_one_out(LinearSVM(C=0.5), rows, labels).errors).all()


def test_several_classes_need_the_largest_score():
    rows, labels = load_iris(return_X_y=True)
    model = LinearSVM(C=1.0, multi_class="one_vs_rest")
    left_out = leave_one_out(model, rows, labels, agreements="exact")
    assert len(left_out.per_class) == 3
    for i in range(0, 150, 3):
        others = np.arange(150) != i
        scores = train(rows[others], labels[others], C=1.0, tol=1e-10, multi_class="one_vs_rest").scores(
            rows[[i]]
        )[0]
        lead = scores[labels[i]] - np.delete(scores, labels[i]).max()
        assert left_out.agreements[i] == pytest.approx(lead, abs=1e-5)
        assert left_out.errors[i] == (lead <= 0)
    assert left_out.training_errors <= left_out.n_errors
    assert leave_one_out(model, rows, labels).n_errors == left_out.n_errors


def test_the_only_example_of_a_class_is_wrong():
    rows = np.array([[0.0], [0.5], [1.0], [3.0]])
    left_out = leave_one_out(LinearSVM(C=10), rows, [0, 0, 0, 1])
    assert left_out.errors.tolist() == [False, False, False, True]
    assert left_out.reasons[3] is Reason.ALONE
    three = leave_one_out(LinearSVM(C=10), np.array([[0.0], [0.4], [2.0], [2.5], [9.0]]), [0, 0, 1, 1, 2])
    assert three.reasons[4] is Reason.ALONE
    assert three.errors[4]


def test_no_free_support_vector_warns():
    rows = np.array([[0.0], [1.0], [2.0], [3.0]])
    with pytest.warns(LeaveOneOutWarning, match="no support vector lies strictly between its bounds"):
        left_out = leave_one_out(LinearSVM(C=1e-3), rows, [0, 0, 1, 1])
    assert not left_out.is_meaningful
    assert left_out.n_errors == 4  # the other class is the majority each time
    assert "says little" in str(left_out)


def test_its_sentence_counts_the_reasons():
    codes = np.array([REASONS.index(reason) for reason in REASONS], dtype=np.uint8)
    errors = np.array([reason in (Reason.WRONG_ALREADY, Reason.TIE, Reason.ALONE) for reason in REASONS])
    record = LeaveOneOut(errors, codes, 1, status=Status.MAX_TIME)
    assert str(record) == (
        "at least 3 and at most 4 of 9 wrong when left out (the time limit was reached); 1 are no support "
        "vectors, 1 are wrong already, 1 decided by bounds, 1 decided by certificates, 1 followed until they "
        "were out, 1 refitted without them, 1 tied, which counts as wrong, 1 alone in their class, which "
        "counts as wrong, 1 weigh nothing, 1 undecided"
    )


def test_max_time_leaves_the_rest_undecided():
    left_out = leave_one_out(LinearSVM(C=1), HARD_X, HARD_Y, agreements=None, max_time=0.05)
    assert left_out.n_undecided > 0
    assert left_out.status is Status.MAX_TIME
    assert str(left_out).startswith("at least ")


def test_watch_sees_it_and_may_stop_it():
    labels = []

    def watch(progress):
        labels.append(progress.label)
        return progress.label.startswith("leaving out")

    left_out = leave_one_out(LinearSVM(C=1), X, Y, n_jobs=1, watch=watch)
    assert labels[0] == ""
    assert labels[-1].endswith("to go")
    assert left_out.status is Status.STOPPED
    assert 0 < left_out.n_undecided < 200


def test_ctrl_c_keeps_what_is_decided():
    def watch(progress):
        if progress.label.startswith("leaving out"):
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(Interrupted) as caught:
        leave_one_out(LinearSVM(C=1), HARD_X, HARD_Y, agreements=None, n_jobs=1, watch=watch)
    record = caught.value.model
    assert record.status is Status.INTERRUPTED
    assert 0 < record.n_undecided < 1500


def test_progress_is_shown(capsys):
    leave_one_out(LinearSVM(C=1), X, Y, verbose=1)
    assert "of the optimum" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"agreements": "exactly"}, InvalidParameter, "agreements must be 'estimated', 'exact' or None"),
        ({"max_time": -1}, InvalidParameter, "max_time must be a positive number or None; got max_time=-1"),
        ({"watch": 3}, InvalidParameter, "watch must be a function of the progress or None; got watch=3"),
        ({"sample_weight": np.zeros(200)}, InvalidInput, "all sample weights are zero"),
    ],
)
def test_bad_settings_are_refused(settings, error, message):
    with pytest.raises(error, match=message):
        leave_one_out(LinearSVM(), X, Y, **settings)


def test_what_names_no_problem_is_refused():
    with pytest.raises(InvalidInput, match="leave_one_out cannot read HardMarginSVM. It takes LinearSVM"):
        leave_one_out(HardMarginSVM(), X, Y)


def test_rows_beyond_all_reason_end_undecided():
    left_out = leave_one_out(LinearSVM(), 1e90 * X, Y)
    assert left_out.n_undecided + left_out.n_errors <= 200
    assert left_out.status is Status.STALLED


def test_without_a_regulariser_it_is_refused():
    with pytest.raises(InvalidParameter, match="leave-one-out needs a regulariser"):
        leave_one_out(LinearSVM(C=np.inf), X, Y)
