"""Everything scikit-learn checks of an estimator holds, for every estimator, with one exception and no skip.

The exception: one of the checks asks that the most probable class be the predicted one. With a temperature it
always is; Platt's sigmoid is free to have its ½ elsewhere, which is documented and counted.

Two of the checks compare decision values of weighted and of repeated rows to seven digits or to 1e-9.
Problems as small as theirs are solved to all digits whatever `tol` is, so default settings pass. Most of the
checks' data can be separated, where the exponential loss has no minimum: it is asked for the direction.

Tried with scikit-learn 1.9.1 and with the oldest that the package accepts, 1.6.1 (which sees no column names
in frames of polars 2).
"""

import os
import subprocess
import sys
from collections import Counter
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from unittest import SkipTest

import pytest
import sklearn
from sklearn.base import is_classifier
from sklearn.utils.estimator_checks import estimator_checks_generator
from sklearn.utils.validation import has_fit_parameter

from maxmargin import (
    ExponentialLossClassifier,
    HardMarginSVM,
    HingeSGD,
    LeastAbsoluteClassifier,
    LeastSquaresClassifier,
    LinearClassifier,
    LinearProgramSeparator,
    LinearSVM,
    LinearSVMCV,
    LogisticRegression,
    LogisticRegressionCV,
    LogisticSGD,
    Pegasos,
    Perceptron,
    ZeroOneClassifier,
)

ESTIMATORS = [
    ExponentialLossClassifier(on_separable="direction"),
    ExponentialLossClassifier(method="coordinate", max_iter=100, tol=0.01, on_separable="direction"),
    HardMarginSVM(on_inseparable="closest"),
    HingeSGD(),
    LeastAbsoluteClassifier(),
    LeastSquaresClassifier(),
    LinearClassifier(),
    LinearClassifier(loss="logistic"),
    LinearProgramSeparator(on_inseparable="closest"),
    LinearSVM(),
    LinearSVM(C=float("inf")),
    LinearSVM(loss="squared_hinge"),
    LinearSVM(calibrate="temperature"),
    LinearSVM(calibrate="sigmoid"),
    LinearSVMCV(Cs=[0.1, 1.0], calibrate="temperature", cv=2),
    LogisticRegression(),
    LogisticRegressionCV(Cs=[0.1, 1.0], cv="loo"),
    LogisticSGD(),
    Pegasos(),
    Pegasos(step="1/(lam t)", fit_intercept=True, averaged=True),
    Perceptron(),
    Perceptron(normalize=True, shuffle=True, averaged=True, trace=True, max_passes=20),
    ZeroOneClassifier(node_limit=1),
]

# How many checks scikit-learn has for a classifier with weights that takes sparse rows.
CHECKS_PER_ESTIMATOR = {"1.6": 63, "1.9": 64}

CHECKS = [pair for estimator in ESTIMATORS for pair in estimator_checks_generator(estimator)]


def name_of(check) -> str:
    return check.func.__name__


def needs_array_api(check) -> bool:
    return name_of(check).startswith("check_array_api")


described = cache(str)  # of an estimator: scikit-learn takes a while


def title(value) -> str:
    return name_of(value) if callable(value) else described(value)


CHECK_NAMES = sorted({name_of(check) for _, check in CHECKS})

# Checks with many fits, or fits of 300 rows, which take the exact search for the fewest errors seconds.
MANY_FITS = (
    "check_classifiers_train",
    "check_dtype_object",
    "check_estimator_sparse_array",
    "check_estimator_sparse_matrix",
    "check_positive_only_tag_during_fit",
    "check_supervised_y_2d",
)

# Estimators that take and hand on their data by the same code; the rest are settings of one of these.
FAMILIES = [
    ["LinearSVM()", "LogisticRegression()", "LinearClassifier(loss='logistic'"],
    ["LinearSVMCV(", "LogisticRegressionCV("],
    ["HingeSGD()", "LogisticSGD()", "Pegasos()", "Perceptron()"],
    [
        "LeastSquaresClassifier()",
        "LeastAbsoluteClassifier()",
        "ExponentialLossClassifier(on_separable",
        "HardMarginSVM(",
        "LinearProgramSeparator(",
        "ZeroOneClassifier(",
    ],
]


def is_due(estimator, check) -> bool:
    """Return whether it is this estimator's turn: in each family every check is run by one, in rotation."""
    for family in FAMILIES:
        turn = CHECK_NAMES.index(name_of(check)) % len(family)
        if family[turn] == "ZeroOneClassifier(" and name_of(check) in MANY_FITS:
            turn = 0
        if described(estimator).startswith(family[turn]):
            return True
    return False


def marked(estimator, check):
    return pytest.param(estimator, check, marks=() if is_due(estimator, check) else pytest.mark.slow)


def test_every_name_of_a_family_is_one_estimator():
    for name in [name for family in FAMILIES for name in family]:
        assert sum(str(estimator).startswith(name) for estimator in ESTIMATORS) == 1, name


def is_sigmoid(estimator) -> bool:
    return estimator.get_params().get("calibrate") == "sigmoid"


@pytest.mark.parametrize(
    ("estimator", "check"), [marked(*pair) for pair in CHECKS if not needs_array_api(pair[1])], ids=title
)
def test_scikit_learn_check(estimator, check):
    is_exception = name_of(check) == "check_classifiers_train" and is_sigmoid(estimator)
    allowed = pytest.raises(AssertionError, match="Arrays are not equal") if is_exception else nullcontext()
    try:
        with allowed:
            check(estimator)
    except SkipTest as reason:
        pytest.fail(f"scikit-learn skipped it: {reason}")


def test_they_are_called_classifiers():
    """By scikit-learn, and by packages that know old versions of it, such as yellowbrick."""
    for estimator in ESTIMATORS:
        assert is_classifier(estimator)
        assert estimator._estimator_type == "classifier"


def test_array_api_checks():
    """These run only where SciPy was imported with array API support switched on: in their own process."""
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    command = [sys.executable, str(Path(__file__).resolve())]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    expected = sum(needs_array_api(check) for _, check in CHECKS)
    assert result.stdout.split() == [str(expected)]


def test_number_of_checks():
    counts = Counter(str(estimator) for estimator, _ in CHECKS)
    assert len(counts) == len(ESTIMATORS)
    version = ".".join(sklearn.__version__.split(".")[:2])
    expected = CHECKS_PER_ESTIMATOR.get(version)
    for estimator in ESTIMATORS:
        count = counts[str(estimator)]
        # One check is about class weights, and eight are about the weights of rows.
        lacking = "class_weight" not in estimator.get_params()
        lacking += 0 if has_fit_parameter(estimator, "sample_weight") else 8
        assert count == expected - lacking if expected else count >= 50, estimator


if __name__ == "__main__":
    pairs = [(estimator, check) for estimator, check in CHECKS if needs_array_api(check)]
    for estimator, check in pairs:
        check(estimator)
    print(len(pairs))
