"""How results are put into words."""

import math

import numpy as np
import pytest
from covering import each_row

from maxmargin import LinearModel, certify, compare, train
from maxmargin.core.certificate.record import Certificate
from maxmargin.core.solution import History, Plan, Progress, Status
from maxmargin.presentation.wording import percent, plural, short


@each_row(
    ("share", "text"),
    [
        (0.0, "0 %"),
        (3e-12, "3e-10 %"),
        (9.4e-7, "9e-5 %"),
        (1.1e-6, "0.00011 %"),
        (3.12e-5, "0.0031 %"),
        (0.0123, "1.2 %"),
        (0.0999, "10.0 %"),
        (0.182, "18.2 %"),
        (1.0, "100 %"),
        (2.05, "205 %"),
        (123.456, "12,346 %"),
        (1e6, "1e8 %"),
        (4.5e15, "4e17 %"),
        (math.inf, "∞ %"),
        (math.nan, "∞ %"),
    ],
)
def test_percent(share, text):
    assert percent(share) == text


@each_row(
    ("share", "down", "up"),
    [
        (1.168e-11, "1e-9 %", "2e-9 %"),
        (0.002501, "0.25 %", "0.26 %"),
        (0.01, "1.0 %", "1.0 %"),
        (0.0999, "9.9 %", "10.0 %"),
        (0.9999, "99.9 %", "100.0 %"),
        (123.456, "12,345 %", "12,346 %"),
        (1.66e85, "1e87 %", "2e87 %"),
    ],
)
def test_percent_of_a_promise(share, down, up):
    assert (percent(share, "down"), percent(share, "up")) == (down, up)


def test_short_of_a_promise():
    assert (short(3.94589511e-5, "down"), short(3.94589511e-5, "up")) == ("3.945895e-05", "3.945896e-05")
    assert (short(0.5, "up"), short(math.inf, "up")) == ("0.5", "inf")


def test_short_and_plural():
    assert [short(x) for x in (11433.742, 0.5, 1e-9, 123456789.0)] == [
        "11433.74",
        "0.5",
        "1e-09",
        "1.234568e+08",
    ]
    assert [plural(n, "row") for n in (0, 1, 2, 32561)] == ["0 rows", "1 row", "2 rows", "32,561 rows"]


@each_row(
    ("numbers", "sentence"),
    [
        (
            (11433.74, 11433.39),
            "within 0.0031 % of the optimum (objective 11433.74, bound 11433.39), by duality",
        ),
        (
            (2.0, 2.0 - 3e-15, 1e-15),
            "within rounding (1e-12 %) of the optimum (objective 2, bound 2), by duality",
        ),
        ((2.0, 2.0 - 3e-15), "within 2e-13 % of the optimum (objective 2, bound 2), by duality"),
        ((2.0, 2.0), "at the optimum (objective 2, bound 2), by duality"),
        (
            (10.0, 0.0),
            "no bound above 0 was found: anywhere up to 10 above the optimum "
            "(objective 10, bound 0), by duality",
        ),
        ((0.0, 0.0), "at the optimum (objective 0, bound 0), by duality"),
    ],
)
def test_a_certificate_is_a_sentence(numbers, sentence):
    assert str(Certificate("duality", *numbers)) == sentence


def test_a_certificate_knows_whether_it_is_finite():
    assert Certificate("duality", 1.0, 0.5).is_finite
    assert not Certificate("duality", math.nan, 0.5).is_finite
    assert not Certificate("duality", 1.0, math.nan).is_finite


def test_the_gap_is_what_its_own_numbers_say():
    certificate = Certificate("duality", 1.0, 0.8, 0.1)
    assert certificate.gap == 1.0 - 0.8
    assert certificate.relative_gap == certificate.gap / 0.8
    assert Certificate("duality", 1.0, 0.0).relative_gap == math.inf
    assert Certificate("duality", 0.0, 0.0).relative_gap == 0.0


def test_a_certificate_cannot_be_changed():
    certificate = Certificate("duality", 1.0, 0.5)
    with pytest.raises(AttributeError):
        certificate.bound = 1.0
    with pytest.raises(TypeError):
        certificate.residuals["labels"] = 0.0


def test_a_history_is_made_of_progress():
    course = [
        Progress(seconds=0.5, passes=8, iteration=7, objective=12.0, bound=9.0, relative_gap=1 / 3),
        Progress(seconds=1.5, passes=13, iteration=11, objective=11.0, bound=10.0, relative_gap=0.1),
    ]
    history = History.of(course)
    assert len(history) == 2
    assert history.seconds.tolist() == [0.5, 1.5]
    assert history.passes.tolist() == [8, 13]
    assert history.objective.tolist() == [12, 11]
    assert history.bound.tolist() == [9, 10]
    assert history.gap.tolist() == [3, 1]
    assert len(History.of([])) == 0


def test_a_plan_and_a_status_speak():
    assert str(Plan("dual descent", "few columns are set")) == "dual descent: few columns are set"
    assert all(status.value[0].islower() for status in Status)


@pytest.mark.parametrize(
    "record",
    [
        Plan("dual descent", "few columns are set"),
        Certificate("duality", 2.0, 1.0),
        compare({"line": ([1.0], 0.0)}, [[1.0], [-1.0]], [1, -1]),
        certify([1.0], [[1.0], [-1.0]], [1, -1], loss="hinge", C=1),
    ],
    ids=lambda record: type(record).__name__,
)
def test_notebooks_show_what_print_does(record):
    class Printer:
        text = staticmethod(lambda text: shown.append(text))

    shown = []
    record._repr_pretty_(Printer(), cycle=False)
    assert shown == [str(record)]


def test_a_model_is_shown_in_one_line():
    model = train([[0.0], [1.0], [3.0], [4.0]], ["left", "left", "right", "right"], C=10)
    shown = repr(model)
    assert shown.startswith("<LinearModel: hinge, C = 10, 1 column, classes left, right; ")
    assert shown.endswith(f"{model.certificate}>")
    given = LinearModel(model.coef, model.intercept, np.arange(7))
    assert repr(given) == "<LinearModel: hinge, given, 1 column, classes 0, 1, 2, 3, 4, …>"
