"""The picture of the losses: its curves are the library's losses, and examples lie on them."""

from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest
from covering import each_row
from drawn import legend_of
from scipy.special import expit, log_expit
from sklearn.metrics import hinge_loss, log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from maxmargin import LinearSVM, LogisticRegression, LossDisplay, train
from maxmargin.displays.loss import CURVES
from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.losses.hinge import Hinge
from maxmargin.losses.table import LOSSES

mpl.use("Agg")
pytestmark = pytest.mark.usefixtures("close_figures")

# θ = (1, 1), θ₀ = −1: agreements 2, 1, 0.5, 0, 1.5, −0.5.
THETA, OFFSET = [1.0, 1.0], -1.0
ROWS = np.array([[1.5, 1.5], [1.0, 1.0], [1.0, 0.5], [0.5, 0.5], [-1.0, 0.5], [1.0, 0.5]])
LABELS = np.array([1, 1, 1, -1, -1, -1])
AGREEMENTS = np.array([2.0, 1.0, 0.5, 0.0, 1.5, -0.5])
ENDLESS = SimpleNamespace(decision_function=lambda X: np.array([1.0, np.inf, 0.0, 0.0, 0.0, 0.0]))
GRID = np.array([-1e3, -40.0, -2.5, -1.0, -1e-9, 0.0, 0.3, 1.0, 1.7, 60.0, 1e3])


# ---------------------------------------------------------------- the curves


def test_every_loss_has_a_curve():
    assert set(CURVES) == {*LOSSES, "logistic_base_2"}


@each_row("name", LOSSES)
def test_a_curve_is_the_loss(name):
    with np.errstate(over="ignore"):
        drawn = CURVES[name].value(GRID)
    np.testing.assert_allclose(drawn, LOSSES[name].value(GRID), rtol=1e-15)
    assert CURVES[name].kinks == LOSSES[name].kinks


def test_the_logistic_curves_are_those_of_scipy():
    np.testing.assert_allclose(CURVES["logistic"].value(GRID), -log_expit(GRID), rtol=1e-14)
    np.testing.assert_allclose(CURVES["logistic_base_2"].value(GRID), -log_expit(GRID) / np.log(2))
    assert CURVES["logistic_base_2"].value(np.array(0.0)) == 1.0


def test_lines_follow_the_losses_and_bend_at_the_kinks():
    display = LossDisplay.from_losses()
    assert list(display.lines_) == list(CURVES)
    for name, loss in LOSSES.items():
        m, value = display.lines_[name].get_xydata().T
        seen = np.isfinite(value)
        np.testing.assert_allclose(value[seen], loss.value(m[seen]), rtol=1e-14)
        assert set(loss.kinks) <= set(m)
    m, value = display.lines_["zero_one"].get_xydata().T
    assert m[np.isnan(value)].size == 1  # a gap where it jumps: no line joins 1 and 0
    assert 0 < m[np.isnan(value)][0] < 0.02


def test_kinks_are_ringed():
    rings = LossDisplay.from_losses().kinks_.get_offsets()
    np.testing.assert_array_equal(
        np.asarray(rings), [[0, 0], [1, 0]]
    )  # the step's lower end; hinge, absolute
    assert LossDisplay.from_losses(["logistic", "exponential"]).kinks_ is None


def test_losses_of_other_kinds_are_drawn():
    class Ramp:
        name = "ramp"
        kinks = (0.0, 1.0)

        def value(self, m):
            return np.clip(1.0 - m, 0.0, 1.0)

    display = LossDisplay.from_losses([Ramp(), Hinge()])
    assert list(display.lines_) == ["ramp", "hinge"]
    np.testing.assert_array_equal(np.asarray(display.kinks_.get_offsets()), [[0, 1], [1, 0]])


@pytest.mark.parametrize(
    ("losses", "message"),
    [
        (["hinge", "cubic"], "loss must be one of zero_one, hinge, .*; got loss='cubic'"),
        ([3], "a loss is one of zero_one, .*; got 3"),
        ([], "losses must name at least one loss"),
    ],
)
def test_what_is_no_loss(losses, message):
    with pytest.raises(InvalidParameter, match=message):
        LossDisplay.from_losses(losses)


def test_the_table_of_the_curves():
    table = LossDisplay(losses=["zero_one", "squared"]).frame()
    m = np.asarray(table["agreement"])
    np.testing.assert_array_equal(table["zero_one"], (m <= 0).astype(float))
    np.testing.assert_allclose(table["squared"], (1 - m) ** 2)


# ---------------------------------------------------------------- examples on them


def test_examples_lie_on_the_curve_at_their_agreements():
    display = LossDisplay.from_estimator((THETA, OFFSET), ROWS, LABELS)
    np.testing.assert_array_equal(display.examples.agreements, AGREEMENTS)
    for sign, own in ((1, AGREEMENTS[:3]), (-1, AGREEMENTS[3:])):
        places = np.asarray(display.points_[sign].get_offsets())
        np.testing.assert_array_equal(places, np.c_[own, np.maximum(0, 1 - own)])
    assert legend_of(display)[-2:] == ["−1 (3)", "+1 (3)"]


def test_the_table_adds_up_to_the_risk_of_scikit_learn():
    model = LogisticRegression(C=0.5).fit(ROWS, LABELS)
    table = LossDisplay.from_estimator(model, ROWS, LABELS).frame()
    assert np.mean(table["loss"]) == pytest.approx(log_loss(LABELS, model.predict_proba(ROWS)))
    np.testing.assert_allclose(table["probability"], expit(table["agreement"]))
    svm = LinearSVM().fit(ROWS, LABELS)
    table = LossDisplay.from_estimator(svm, ROWS, LABELS).frame()
    assert np.mean(table["loss"]) == pytest.approx(hinge_loss(LABELS, svm.decision_function(ROWS)))
    assert sum(table["examples"]) == 6


def test_the_curve_is_that_of_the_models_own_loss():
    def own(model):
        return LossDisplay.from_estimator(model, ROWS, LABELS).own.name

    assert own(LogisticRegression().fit(ROWS, LABELS)) == "logistic"
    assert own(LinearSVM(loss="squared_hinge").fit(ROWS, LABELS)) == "squared_hinge"
    assert own(train(ROWS, LABELS, loss="logistic")) == "logistic"
    assert own(make_pipeline(StandardScaler(), LinearSVC()).fit(ROWS, LABELS)) == "squared_hinge"
    assert own((THETA, OFFSET)) == "hinge"
    display = LossDisplay.from_estimator((THETA, OFFSET), ROWS, LABELS, loss="exponential", losses=["hinge"])
    assert list(display.lines_) == ["hinge", "exponential"]
    assert display.lines_["exponential"].get_linewidth() > display.lines_["hinge"].get_linewidth()


def test_one_of_several_classes_is_held_against_the_rest():
    labels = np.array(["a", "b", "c", "a", "b", "c"])
    model = train(ROWS, labels, multi_class="one_vs_rest")
    display = LossDisplay.from_estimator(model, ROWS, labels, positive="b")
    own = np.where(labels == "b", 1.0, -1.0) * model.scores(ROWS)[:, 1]
    np.testing.assert_allclose(display.examples.agreements, own)
    assert legend_of(display)[-2:] == ["not b (4)", "b (2)"]


def test_many_examples_share_marks_and_none_is_lost():
    agreements = np.random.default_rng(0).normal(1.0, 1.2, 100_000)
    labels = np.where(np.arange(100_000) % 3 == 0, 1, -1)
    display = LossDisplay.from_estimator(([1.0], 0.0), (labels * agreements)[:, None], labels)
    table = display.frame()
    assert len(table) <= 2 * 33
    assert sum(table["examples"]) + display.n_outside == 100_000
    drawn = sum(len(points.get_offsets()) for points in display.points_.values())
    assert drawn == len(table)
    of_one = np.asarray(table["class"]) == 1
    mean = np.average(np.asarray(table["agreement"])[of_one], weights=np.asarray(table["examples"])[of_one])
    assert mean == pytest.approx(agreements[labels == 1].mean(), abs=1e-9)
    assert any(text.startswith("a mark: up to ") for text in legend_of(display))


@pytest.mark.parametrize("loss", ["hinge", "zero_one", "absolute"])
def test_joint_marks_keep_to_their_side_of_a_kink(loss):
    agreements = np.random.default_rng(1).normal(0.6, 1.0, 5_000)
    agreements[:200] = 0.0  # an error, and so is nothing to the right of it
    labels = np.where(np.arange(5_000) % 2 == 0, 1, -1)
    display = LossDisplay.from_estimator(([1.0], 0.0), (labels * agreements)[:, None], labels, loss=loss)
    assert display.n_outside == 0
    table = display.frame()
    total = np.sum(np.asarray(table["loss"]) * np.asarray(table["examples"]))
    assert total == pytest.approx(LOSSES[loss].value(agreements).sum(), rel=1e-12)


def test_what_is_beyond_the_picture_is_counted():
    rows = np.array([[0.5], [30.0], [-25.0], [2.0]])
    display = LossDisplay.from_estimator(([1.0], 0.0), rows, [1, 1, 1, -1])
    assert display.n_outside == 2
    assert "2 beyond the picture" in legend_of(display)
    assert sum(display.frame()["examples"]) == 2


def test_the_logistic_curve():
    display = LossDisplay.from_estimator((THETA, OFFSET), ROWS, LABELS, kind="probability")
    m, probability = display.lines_["probability"].get_xydata().T
    np.testing.assert_allclose(probability, expit(m), rtol=1e-14)
    assert m[0] <= -5
    assert m[-1] >= 5
    places = np.concatenate([np.asarray(display.points_[sign].get_offsets()) for sign in (1, -1)])
    np.testing.assert_allclose(places, np.c_[AGREEMENTS, expit(AGREEMENTS)])
    far = LossDisplay.from_estimator(
        ([1.0], 0.0), [[-5.5], [40.0]], [1, 1], loss="squared", kind="probability"
    )
    assert far.n_outside == 1  # the probability of an example is drawn whatever its loss
    assert list(far.frame()["agreement"]) == [-5.5]
    with pytest.raises(InvalidParameter, match="kind must be one of 'loss', 'probability'; got kind='odds'"):
        LossDisplay.from_losses(kind="odds")


@each_row(
    ("model", "rows", "labels", "message"),
    [
        ((THETA, OFFSET), ROWS, LABELS[:2], "X has 6 rows, y has 2 labels"),
        ((THETA, OFFSET), ROWS[:0], LABELS[:0], "there are no rows to draw"),
        ((THETA, OFFSET), ROWS[:, :1], LABELS, r"the model has 2 columns; X has shape \(6, 1\)"),
        ((THETA, OFFSET), np.full((1, 2), np.inf), [1], "X must be finite; row 0 holds NaN or infinity"),
        (ENDLESS, ROWS, LABELS, "the score of row 1 is inf; only finite ones can be drawn"),
        (
            train(ROWS, [0, 1, 2, 0, 1, 2], multi_class="one_vs_rest"),
            ROWS,
            LABELS,
            "has the classes 0, 1, 2: say which one to draw",
        ),
    ],
)
def test_what_cannot_be_placed(model, rows, labels, message):
    with pytest.raises(InvalidInput, match=message):
        LossDisplay.from_estimator(model, rows, labels)
