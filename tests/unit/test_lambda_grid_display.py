"""The same rows at several λ: every panel is the fit at its λ, and all have the same axes."""

import matplotlib as mpl
import numpy as np
import pytest
from covering import each_row
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from maxmargin import HardMarginSVM, LambdaGridDisplay, LinearSVM, Pegasos
from maxmargin.errors import InvalidInput, InvalidParameter

mpl.use("Agg")
pytestmark = pytest.mark.usefixtures("close_figures")

GENERATOR = np.random.RandomState(1)
SIGNS = np.repeat([-1, 1], 25)
ROWS = GENERATOR.normal(size=(50, 2)) + 0.8 * SIGNS[:, None]
LAMS = (0.01, 0.1, 1.0)


def test_every_panel_is_the_fit_at_its_lambda():
    given = LinearSVM(C=5.0, tol=1e-8)
    display = LambdaGridDisplay.from_estimator(given, ROWS, SIGNS, lams=LAMS)
    assert not hasattr(given, "coef_")  # the estimator stays as it was
    assert given.C == 5.0
    for k, panel in enumerate(display.panels):
        fitted = LinearSVM(C=1 / (LAMS[k] * 50), tol=1e-8).fit(ROWS, SIGNS)
        np.testing.assert_allclose(panel.parameters.coef, fitted.coef_[0], rtol=1e-4)
        assert display.margins[k] == pytest.approx(1 / np.linalg.norm(panel.parameters.coef))
        assert display.n_errors[k] == np.sum(fitted.predict(ROWS) != SIGNS)
    assert (np.diff(display.margins) > 0).all()  # large λ: a wide margin
    np.testing.assert_allclose(display.C, [2.0, 0.2, 0.02])


@pytest.mark.parametrize("last", [LinearSVM(C=5.0, tol=1e-8), LinearSVC(random_state=0)])
def test_a_pipeline_is_fitted_whole_and_drawn_as_its_last_step_sees_the_rows(last):
    wide = ROWS * [1.0, 100.0]
    given = make_pipeline(StandardScaler(), last).fit(wide, SIGNS)
    before = given[-1].coef_.copy()
    display = LambdaGridDisplay.from_estimator(given, wide, SIGNS, lams=(0.02, 0.2))
    np.testing.assert_array_equal(given[-1].coef_, before)  # it stays as it was
    for lam, panel in zip((0.02, 0.2), display.panels, strict=True):
        fitted = clone(given).set_params(**{f"{given.steps[-1][0]}__C": 1 / (lam * 50)}).fit(wide, SIGNS)
        np.testing.assert_allclose(panel.parameters.coef, fitted[-1].coef_[0], rtol=1e-6)
        np.testing.assert_allclose(panel.agreements, SIGNS * fitted.decision_function(wide), rtol=1e-6)
        np.testing.assert_allclose(panel.X, fitted[0].transform(wide))


def test_a_pipeline_that_has_no_lambda():
    with pytest.raises(InvalidInput, match="HardMarginSVM has none of the parameters lam, C and alpha"):
        LambdaGridDisplay.from_estimator(make_pipeline(StandardScaler(), HardMarginSVM()), ROWS, SIGNS)


def test_titles_say_lambda_margin_and_errors():
    display = LambdaGridDisplay.from_estimator(LinearSVM(), ROWS, SIGNS, lams=(0.01,))
    first, second = display.ax_[0].get_title().split("\n")
    assert first == "λ = 0.01  (C = 2)"
    assert second.startswith(f"margin {display.margins[0]:.3g}, {display.n_errors[0]} error")


def test_panels_share_their_axes():
    display = LambdaGridDisplay.from_estimator(LinearSVM(), ROWS, SIGNS, lams=LAMS)
    assert len({ax.get_xlim() for ax in display.ax_}) == 1
    assert len({ax.get_ylim() for ax in display.ax_}) == 1
    assert [ax.get_ylabel() for ax in display.ax_] == ["x₂", "", ""]


def test_rows_on_the_margin_are_circled_unless_told_otherwise():
    display = LambdaGridDisplay.from_estimator(LinearSVM(tol=1e-9), ROWS, SIGNS, lams=LAMS)
    for panel in display.panels:
        np.testing.assert_array_equal(panel.circled_, panel.support)
    display.plot(circled="violators")
    for panel in display.panels:
        np.testing.assert_array_equal(panel.circled_, panel.violators)


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (LinearSVC(dual=True, max_iter=20_000), {"C": 0.2}),
        (Pegasos(max_updates=50, random_state=0), {"lam": 0.1}),
        (SGDClassifier(random_state=0), {"alpha": 0.1}),
    ],
)
def test_anybodys_estimator_with_a_lambda_of_some_name(monkeypatch, estimator, expected):
    seen = []
    fit = type(estimator).fit
    monkeypatch.setattr(
        type(estimator), "fit", lambda self, *data: seen.append(self.get_params()) or fit(self, *data)
    )
    LambdaGridDisplay.from_estimator(estimator, ROWS, SIGNS, lams=(0.1,))
    (settings,) = seen
    assert {name: settings[name] for name in expected} == pytest.approx(expected)


def test_the_frame_has_a_line_for_every_panel():
    table = LambdaGridDisplay.from_estimator(LinearSVM(), ROWS, SIGNS, lams=LAMS).frame()
    assert list(table.index) == list(LAMS)
    assert list(table.columns) == ["C", "margin", "errors", "circled"]


@each_row(
    ("kind", "estimator", "lams", "message"),
    [
        (InvalidParameter, LinearSVM(), (0.1, -1.0), "lams must hold positive finite numbers; got -1.0"),
        (InvalidParameter, LinearSVM(), ("much",), "lams must hold positive finite numbers; got 'much'"),
        (InvalidParameter, LinearSVM(), (), "lams must hold at least one λ"),
        (InvalidInput, HardMarginSVM(), (0.1,), "has none of the parameters lam, C and alpha"),
        (
            InvalidInput,
            ([1.0, 1.0], 0.0),
            (0.1,),
            "an estimator is needed that can be fitted again",
        ),
    ],
)
def test_what_has_no_grid(kind, estimator, lams, message):
    with pytest.raises(kind) as caught:
        LambdaGridDisplay.from_estimator(estimator, ROWS, SIGNS, lams=lams)
    assert message in str(caught.value)
