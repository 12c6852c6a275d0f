"""Everything scikit-learn checks of an estimator holds for the online learners too, with no skip."""

from collections import Counter
from unittest import SkipTest

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from maxmargin import HingeSGD, LogisticSGD, Pegasos, Perceptron

ESTIMATORS = [
    Perceptron(),
    Perceptron(normalize=True, shuffle=True, averaged=True, trace=True),
    Pegasos(),
    Pegasos(step="1/(lam t)", fit_intercept=True, averaged=True),
    HingeSGD(),
    LogisticSGD(),
]

CHECKS = [
    (estimator, check)
    for one in ESTIMATORS
    for estimator, check in estimator_checks_generator(one)
    if not check.func.__name__.startswith("check_array_api")  # test_sklearn_checks.py runs those
]


def title(value) -> str:
    return value.func.__name__ if callable(value) else str(value)


@pytest.mark.parametrize(("estimator", "check"), CHECKS, ids=title)
def test_scikit_learn_check(estimator, check):
    try:
        check(estimator)
    except SkipTest as reason:
        pytest.fail(f"scikit-learn skipped it: {reason}")


def test_number_of_checks():
    counts = Counter(str(estimator) for estimator, _ in CHECKS)
    assert len(counts) == len(ESTIMATORS)
    assert min(counts.values()) >= 50
