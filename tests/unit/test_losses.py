"""Every loss by its definition: values, slopes, curvature, conjugate, convexity, dominance (S6, S7)."""

import math
import warnings
from decimal import Decimal

import numpy as np
import pytest
from covering import each_row, every_value
from hypothesis import example, given
from hypothesis import strategies as st
from reference.losses import CONJUGATE, CURVATURE, SLOPE, VALUE, digits

from maxmargin.errors import InvalidParameter
from maxmargin.losses.hinge import Hinge
from maxmargin.losses.table import LOSSES, find_loss

CONVEX = [name for name, loss in LOSSES.items() if loss.is_convex]
TINY = 5e-324
EXTREMES = np.array(
    [-np.inf, -1.7e308, -1e308, -1e155, -750, -1, -TINY, -0.0, 0.0, TINY, 1, 2, 40, 750, 1e155, 1e308, np.inf]
)
moderate = st.floats(-600, 600)


def test_table_is_keyed_by_name():
    assert {name: loss.name for name, loss in LOSSES.items()} == {name: name for name in LOSSES}
    assert list(LOSSES) == list(VALUE)


# ---------------------------------------------------------------- values


@pytest.mark.parametrize(
    ("y", "score", "expected"), [(-1, 0.4, 1.4), (1, -0.9, 1.9), (1, 0.7, 0.3)], ids=["1.4", "1.9", "0.3"]
)
def test_hinge_examples_of_the_notes(y, score, expected):
    assert LOSSES["hinge"].value(y * score) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("name", LOSSES)
@given(m=moderate)
@example(m=1.0)
@example(m=0.0)
@example(m=-0.0)
@example(m=math.nextafter(1.0, 2.0))
@example(m=math.nextafter(1.0, 0.0))
@example(m=TINY)
@example(m=-TINY)
@example(m=37.5)
@example(m=-37.5)
def test_value_slope_and_curvature_are_their_definitions(name, m):
    loss = LOSSES[name]
    with digits(330):  # 1 + exp(-600) needs 261
        expected = [float(table[name](Decimal(m))) for table in (VALUE, SLOPE, CURVATURE)]
    found = [loss.value(m), loss.slope(m), loss.curvature(m)]
    # (1 - m) is rounded before it is squared, exp(-m) after m is: a few units in the last place
    assert found == pytest.approx(expected, rel=4e-15, abs=0)


@pytest.mark.parametrize("name", CONVEX)
@given(u=st.floats(-5, 5) | st.floats(-1, 0))
@example(u=0.0)
@example(u=-1.0)
@example(u=1.0)
@example(u=-TINY)
@example(u=-1e-20)
@example(u=math.nextafter(-1.0, 0.0))
@example(u=math.nextafter(-1.0, -2.0))
@example(u=-4.0)
def test_conjugate_is_its_definition(name, u):
    with digits(400):  # 1 - 5e-324 needs 324
        expected = float(CONJUGATE[name](Decimal(u)))
    # p (log p - 1) changes sign at p = e, u + u²/4 at u = -4: there the error is relative to u
    assert LOSSES[name].conjugate(u) == pytest.approx(expected, rel=4e-15, abs=4e-16 * abs(u) + 4 * TINY)


@every_value(u=[-3.0, -1.0, -0.75, -0.5, -0.01, 0.0, 0.5, 1.0, 2.0], name=CONVEX)
def test_conjugate_is_the_supremum(name, u):
    loss = LOSSES[name]
    m = np.concatenate([np.linspace(-50, 50, 20_001), [-1e4, 1e4]])
    heights = u * m - loss.value(m)
    if np.isfinite(loss.conjugate(u)):
        assert heights.max() == pytest.approx(loss.conjugate(u), abs=1e-4)
        assert heights.max() <= loss.conjugate(u) + 1e-12
    else:
        assert heights.argmax() >= len(m) - 2  # still rising far out


@each_row("name", LOSSES)
def test_extremes_give_no_nan_and_no_warning(name):
    loss = LOSSES[name]
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        results = [loss.value(EXTREMES), loss.slope(EXTREMES), *loss.slope_interval(EXTREMES)]
        results.append(loss.curvature(EXTREMES))
        if loss.is_convex:
            results.append(loss.conjugate(EXTREMES))
        scalars = [loss.value(m) for m in EXTREMES]
    assert not np.isnan(results).any()
    np.testing.assert_array_equal(results[0], scalars)


def test_values_at_extremes():
    expected = {
        "zero_one": (1, 1, 0),
        "hinge": (1e308, 1, 0),
        "squared_hinge": (np.inf, 1, 0),
        "logistic": (1e308, math.log(2), 0),
        "squared": (np.inf, 1, np.inf),
        "absolute": (1e308, 1, 1e308),
        "exponential": (np.inf, 1, 0),
    }
    found = {name: tuple(loss.value([-1e308, 0, 1e308])) for name, loss in LOSSES.items()}
    assert {name: found[name] for name in expected} == expected


@each_row("name", LOSSES)
def test_shapes_and_types_are_kept(name):
    loss = LOSSES[name]
    assert isinstance(loss.value(1), np.float64)
    assert loss.value(np.zeros((2, 3), dtype=np.float32)).shape == (2, 3)
    assert loss.value(np.zeros((2, 3), dtype=np.float32)).dtype == np.float64
    assert loss.slope([]).shape == (0,)
    assert np.isnan(loss.value(np.nan)) or name == "zero_one"  # there, no agreement is an error


# ---------------------------------------------------------------- slopes


@pytest.mark.parametrize("name", LOSSES)
@given(m=st.floats(-30, 30))
def test_slope_and_curvature_are_numerical_derivatives(name, m):
    loss, step = LOSSES[name], 1e-5
    if min(abs(m - kink) for kink in (0.0, 1.0)) < 2 * step:
        return  # kinks have tests of their own
    low, high = m - step, m + step
    scale = 1 + abs(loss.value(m)) + abs(loss.slope(m))
    assert (loss.value(high) - loss.value(low)) / (high - low) == pytest.approx(
        loss.slope(m), abs=1e-8 * scale
    )
    assert (loss.slope(high) - loss.slope(low)) / (high - low) == pytest.approx(
        loss.curvature(m), abs=1e-8 * scale
    )


@pytest.mark.parametrize("name", LOSSES)
@given(m=moderate)
@example(m=0.0)
@example(m=1.0)
def test_slope_interval_is_a_point_away_from_kinks(name, m):
    loss = LOSSES[name]
    low, high = loss.slope_interval(m)
    assert low <= loss.slope(m) <= high
    assert (low < high) == (m in loss.kinks)
    assert loss.is_smooth == (loss.kinks == ())


def test_slopes_at_the_kinks():
    def at(name, m):
        return (LOSSES[name].slope(m), *LOSSES[name].slope_interval(m))

    assert at("hinge", 1.0) == (-1, -1, 0)
    assert at("absolute", 1.0) == (-1, -1, 1)
    assert at("zero_one", 0.0) == (0, -np.inf, 0)
    assert at("squared_hinge", 1.0) == (0, 0, 0)


@pytest.mark.parametrize("name", CONVEX)
@given(m=moderate, other=moderate, share=st.floats(0, 1))
@example(m=1.0, other=-3.0, share=0.5)
def test_every_slope_of_the_interval_supports_the_graph(name, m, other, share):
    loss = LOSSES[name]
    low, high = loss.slope_interval(m)
    slope = low + share * (high - low)
    line = loss.value(m) + slope * (other - m)
    assert loss.value(other) >= line - 1e-12 * (1 + abs(loss.value(m)) + abs(slope * (other - m)))


# ---------------------------------------------------------------- Fenchel-Young


@pytest.mark.parametrize("name", CONVEX)
@given(m=st.floats(-100, 100), u=st.floats(-3, 3))
def test_fenchel_young(name, m, u):
    loss = LOSSES[name]
    assert loss.value(m) + loss.conjugate(u) >= u * m - 1e-12 * (1 + abs(u * m))


@pytest.mark.parametrize("name", CONVEX)
@given(m=st.floats(-100, 100), share=st.floats(0, 1))
@example(m=1.0, share=0.5)
def test_fenchel_young_is_equality_exactly_at_the_slopes(name, m, share):
    loss = LOSSES[name]
    low, high = loss.slope_interval(m)
    u = low + share * (high - low)
    size = 1 + abs(loss.value(m)) + abs(u * m)
    assert loss.value(m) + loss.conjugate(u) == pytest.approx(u * m, abs=1e-12 * size)


# ---------------------------------------------------------------- convexity and dominance


@pytest.mark.parametrize("name", CONVEX)
@given(a=moderate, b=moderate, share=st.floats(0, 1))
def test_chords_lie_above_convex_losses(name, a, b, share):
    loss = LOSSES[name]
    chord = (1 - share) * loss.value(a) + share * loss.value(b)
    assert loss.value((1 - share) * a + share * b) <= chord * (1 + 1e-12) + 1e-12


def test_zero_one_is_not_convex():
    loss = LOSSES["zero_one"]
    chord = (loss.value(-1) + loss.value(1)) / 2
    assert loss.value(0) == 1 > chord == 0.5
    assert [name for name in LOSSES if name not in CONVEX] == ["zero_one"]


@each_row("name", LOSSES)
def test_dominance_over_zero_one(name):
    loss, m = LOSSES[name], np.concatenate([np.linspace(-5, 5, 1001), [-1e308, 1e308, TINY, -TINY]])
    assert np.all(loss.value(m) >= LOSSES["zero_one"].value(m)) == loss.dominates_zero_one


def test_natural_log_logistic_fails_to_dominate_and_base_two_does_not():
    assert not LOSSES["logistic"].dominates_zero_one
    m = np.linspace(-5, 5, 1001)
    assert LOSSES["logistic"].value(0.0) == pytest.approx(0.693147180559945)
    assert np.all(LOSSES["logistic"].value(m) / math.log(2) >= LOSSES["zero_one"].value(m))


# ---------------------------------------------------------------- errors


def test_zero_one_has_no_conjugate():
    with pytest.raises(InvalidParameter, match="zero_one loss is not convex, so it has no convex conjugate"):
        LOSSES["zero_one"].conjugate(0.5)


def test_find_loss_accepts_names_and_losses_and_lists_the_names():
    own = Hinge()
    assert find_loss(own) is own
    assert find_loss("squared") is LOSSES["squared"]
    for wrong in ("Hinge", "", None, 3, ["hinge"]):
        with pytest.raises(InvalidParameter, match="loss must be one of zero_one, hinge, .*; got loss="):
            find_loss(wrong)
