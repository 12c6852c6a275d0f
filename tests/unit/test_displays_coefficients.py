"""The picture of the coefficients: the largest in absolute value, by name, in comparable units."""

from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from covering import each_row
from matplotlib import pyplot as plt
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import CoefficientsDisplay, LinearSVM
from maxmargin.displays.coefficients import LargestCoefficients, column_deviations
from maxmargin.errors import InvalidInput, InvalidParameter

mpl.use("Agg")
pytestmark = pytest.mark.usefixtures("close_figures")

NAMES = ["a", "b", "c", "d", "e"]
MODEL = SimpleNamespace(coef=[[0.5, -2.0, 3.0, 0.0, -0.1]], intercept=[0.0], classes=["no", "yes"])
ROWS = np.random.default_rng(8).normal(size=(40, 5)) * [1.0, 10.0, 0.1, 1.0, 1.0]


def names_on(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def test_the_largest_in_absolute_value_are_drawn_in_order():
    display = CoefficientsDisplay.from_estimator(MODEL, names=NAMES, top=2)
    assert names_on(display.ax_) == ["c", "b"]
    assert [bar.get_width() for bar in display.bars_[0]] == [3.0, -2.0]
    assert display.ax_.yaxis.get_inverted()  # the most positive is on top
    all_of_them = CoefficientsDisplay.from_estimator(MODEL, names=NAMES)
    assert names_on(all_of_them.ax_) == ["c", "a", "e", "b"]  # none that is 0
    assert list(all_of_them.frame()["coefficient"]) == [3.0, 0.5, -0.1, -2.0]
    colours = {bar.get_width() > 0: bar.get_facecolor() for bar in all_of_them.bars_[0]}
    assert colours[True] != colours[False]


def test_classes_are_named_on_their_sides():
    ax = CoefficientsDisplay.from_estimator(MODEL, names=NAMES).ax_
    assert ax.get_title(loc="left") == "← no"
    assert ax.get_title(loc="right") == "yes →"


def test_top_are_the_largest_whatever_their_signs():
    values = np.random.default_rng(3).normal(size=30) + 0.8  # far more of one sign than of the other
    display = CoefficientsDisplay.from_estimator(SimpleNamespace(coef=[values], intercept=[0.0]), top=10)
    drawn = sorted(abs(bar.get_width()) for bar in display.bars_[0])
    np.testing.assert_array_equal(drawn, np.sort(np.abs(values))[-10:])
    assert list(display.frame()["coefficient"]) == sorted(display.frame()["coefficient"], reverse=True)


def test_the_number_left_out_is_told():
    display = CoefficientsDisplay.from_estimator(MODEL, names=NAMES, top=2)
    (said,) = display.figure_.legends[0].get_texts()
    assert said.get_text() == "the 2 largest of 4 coefficients"
    assert CoefficientsDisplay.from_estimator(MODEL, names=NAMES).figure_.legends == []
    coef = np.array([[1.0, -1.0, 0.0], [2.0, 0.5, 1.0], [-3.0, 0.1, 2.0]])
    three = SimpleNamespace(coef_=coef, intercept_=np.zeros(3), classes_=np.arange(3))
    (said,) = CoefficientsDisplay.from_estimator(three, top=1).figure_.legends[0].get_texts()
    assert said.get_text() == "5 smaller coefficients left out"
    assert CoefficientsDisplay.from_estimator(three).figure_.legends == []


@each_row("form", [np.asarray, sp.csr_array, sp.csc_matrix, pd.DataFrame, list])
def test_coefficients_are_scaled_by_the_deviations(form):
    display = CoefficientsDisplay.from_estimator(MODEL, names=NAMES, X=form(ROWS))
    by_name = dict(zip(display.frame()["name"], display.frame()["coefficient"], strict=True))
    deviations = np.sqrt(StandardScaler().fit(ROWS).var_)
    for name, coefficient, deviation in zip(NAMES, MODEL.coef[0], deviations, strict=True):
        assert by_name.get(name, 0.0) == pytest.approx(coefficient * deviation)
    assert names_on(display.ax_)[-1] == "b"
    assert display.ax_.get_xlabel() == "coefficient × deviation"


def test_deviations_far_from_zero_in_pieces_and_of_narrow_types():
    far = np.random.default_rng(9).normal(size=(200_000, 3)) * [1.0, 10.0, 0.1] + 1e8
    np.testing.assert_allclose(column_deviations(far), far.std(axis=0), rtol=1e-6)
    bytes_of = np.random.default_rng(1).integers(0, 256, size=(50, 3), dtype=np.uint8)
    np.testing.assert_allclose(column_deviations(bytes_of), bytes_of.std(axis=0))
    twice = sp.csr_array((np.array([1.0, 2.0, 3.0]), np.array([0, 0, 1]), np.array([0, 3, 3])), shape=(2, 2))
    np.testing.assert_allclose(column_deviations(twice), [1.5, 1.5])


def test_every_class_has_a_panel():
    coef = np.array([[1.0, -1.0], [2.0, 0.5], [-3.0, 0.1]])
    model = SimpleNamespace(coef_=coef, intercept_=np.zeros(3), classes_=np.array(["x", "y", "z"]))
    display = CoefficientsDisplay.from_estimator(model, names=["p", "q"])
    assert [ax.get_title(loc="right") for ax in display.ax_] == ["x →", "y →", "z →"]
    assert [names_on(ax) for ax in display.ax_] == [["p", "q"], ["p", "q"], ["q", "p"]]
    assert list(display.frame()["class"]) == ["x", "x", "y", "y", "z", "z"]
    chosen = CoefficientsDisplay.from_estimator(model, classes=["z"])
    assert chosen.ax_.get_title(loc="right") == "z →"
    with pytest.raises(InvalidParameter, match="classes must be among x, y, z; got 'w'"):
        CoefficientsDisplay.from_estimator(model, classes=["w"])


def test_too_many_classes_are_not_squeezed_in():
    model = SimpleNamespace(coef_=np.ones((30, 2)), intercept_=np.zeros(30), classes_=np.arange(30))
    with pytest.raises(InvalidInput, match="there are 30 classes, too many for one picture"):
        CoefficientsDisplay.from_estimator(model)
    assert len(CoefficientsDisplay.from_estimator(model, classes=[3, 17]).ax_) == 2


def test_names_come_from_the_pipeline_the_frame_or_the_model():
    texts, labels = ["good film", "good plot", "bad film", "bad plot"], [1, 1, 0, 0]
    words = make_pipeline(TfidfVectorizer(), LinearSVM()).fit(texts, labels)
    assert {"good", "bad"} <= set(CoefficientsDisplay.from_estimator(words).frame()["name"])
    frame = pd.DataFrame(ROWS[:, :2], columns=["wide", "high"])
    fitted = LinearSVM().fit(frame, ROWS[:, 0] > 0)
    assert "wide" in set(CoefficientsDisplay.from_estimator(fitted).frame()["name"])
    assert "wide" in set(CoefficientsDisplay.from_estimator(fitted.to_model()).frame()["name"])
    assert list(CoefficientsDisplay.from_estimator(([1.0, -2.0], 0.0)).frame()["name"]) == ["x₁", "x₂"]


def test_a_pipeline_scales_by_what_reaches_its_last_step():
    model = make_pipeline(StandardScaler(), LinearSVM()).fit(ROWS, ROWS[:, 0] > 0)
    plain = dict(zip(*_named(CoefficientsDisplay.from_estimator(model)), strict=True))
    scaled = dict(zip(*_named(CoefficientsDisplay.from_estimator(model, X=ROWS)), strict=True))
    assert scaled == pytest.approx(plain)  # standardised columns deviate by 1


def _named(display):
    return display.frame()["name"], display.frame()["coefficient"]


def test_small_axes_show_fewer_and_say_so():
    model = SimpleNamespace(coef=[np.linspace(1, -1, 40)], intercept=[0.0])
    _, ax = plt.subplots(figsize=(3, 2.4))
    display = CoefficientsDisplay.from_estimator(model, top=40, ax=ax)
    drawn = len(display.shown_[0].names)
    assert 4 <= drawn <= 14
    assert display.shown_[0].names[0] == "x₁"
    assert display.shown_[0].names[-1] == "x₄₀"
    assert ax.get_legend().get_texts()[0].get_text() == f"the {drawn} largest of 40 coefficients"
    assert len(display.frame()) == 40


def test_where_room_is_short_the_largest_stay():
    values = np.array([5.0, 4.0, 3.0, -1.0, -2.0, -3.0, -4.0, -5.0])
    largest = LargestCoefficients(("", ""), tuple("abcdefgh"), values, 8)
    assert "".join(largest.fewer(8).names) == "abcdefgh"
    assert "".join(largest.fewer(6).names) == "abcfgh"
    assert "".join(largest.fewer(5).names) == "abcgh"
    assert "".join(largest.fewer(2).names) == "ah"
    one_sided = LargestCoefficients(("", ""), tuple("abc"), values[:3], 3)
    assert "".join(one_sided.fewer(2).names) == "ab"
    assert "".join(LargestCoefficients(("", ""), tuple("xyz"), values[5:], 3).fewer(2).names) == "yz"


def test_a_hundred_thousand_columns():
    coef = np.random.default_rng(3).normal(size=100_000)
    display = CoefficientsDisplay.from_estimator((coef, 0.0))
    largest = coef[np.argsort(-np.abs(coef))[:10]]
    np.testing.assert_array_equal(display.frame()["coefficient"], np.sort(largest)[::-1])


def test_strange_names_are_shown_as_text():
    model = SimpleNamespace(coef=[[1.0, -1.0]], intercept=[0.0])
    names = ["price in $ or $$", "a name of so many words that it does not fit beside any picture"]
    display = CoefficientsDisplay.from_estimator(model, names=names)
    display.figure_.canvas.draw()
    assert names_on(display.ax_)[0] == r"price in \$ or \$\$"
    assert names_on(display.ax_)[1].endswith("…")
    assert list(display.frame()["name"]) == names


@each_row(
    ("change", "message"),
    [
        ({"names": ["a"]}, "there are 5 columns; got 1 names"),
        ({"X": ROWS[:, :3]}, "the model has 5 columns; X has 3"),
        ({"X": ROWS[:0]}, r"X must be a matrix with rows; got shape \(0, 5\)"),
        ({"X": [["x"] * 5]}, "X must hold numbers"),
        ({"X": np.full((2, 5), np.nan)}, "column 0 of X has no finite deviation"),
        ({"top": 0}, "top must be a whole number, at least 1; got top=0"),
    ],
)
def test_what_cannot_be_drawn(change, message):
    with pytest.raises((InvalidInput, InvalidParameter), match=message):
        CoefficientsDisplay.from_estimator(MODEL, **{"names": NAMES, **change})


def test_coefficients_that_are_all_zero():
    with pytest.raises(InvalidInput, match="all of them are 0"):
        CoefficientsDisplay.from_estimator(([0.0, 0.0], 1.0))
    coef = np.array([[1.0, 2.0], [0.0, 0.0], [1.0, -1.0]])
    partly = SimpleNamespace(coef_=coef, intercept_=np.zeros(3), classes_=np.arange(3))
    assert [len(bars) for bars in CoefficientsDisplay.from_estimator(partly).bars_] == [2, 0, 2]


def test_coefficients_that_are_not_finite():
    with pytest.raises(InvalidInput, match="must be finite"):
        CoefficientsDisplay.from_estimator(([np.nan, 1.0], 0.0))
