"""All surrogates beside the zero-one loss (S28): none makes fewer errors; those that dominate bound them."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from maxmargin import (
    ExponentialLossClassifier,
    LeastAbsoluteClassifier,
    LeastSquaresClassifier,
    LinearSVM,
    LogisticRegression,
    ZeroOneClassifier,
    compare,
)
from maxmargin.losses.table import LOSSES

SETS = {
    "iris": (load_iris, (1, 2), [0, 1, 2, 3]),
    "sepals": (load_iris, (1, 2), [0, 1]),
    "wine": (load_wine, (0, 1), [0, 1, 2]),
    "tumours": (load_breast_cancer, (0, 1), [0, 1]),
}


def small_set(name):
    load, classes, columns = SETS[name]
    X, y = load(return_X_y=True)
    chosen = np.isin(y, classes)
    return X[chosen][:, columns], np.where(y[chosen] == classes[1], 1, -1)


@pytest.mark.parametrize("name", SETS)
def test_no_surrogate_makes_fewer_errors(name):
    X, y = small_set(name)
    models = {
        "hinge": LinearSVM(C=np.inf),
        "logistic": LogisticRegression(C=np.inf),
        "squared": LeastSquaresClassifier(),
        "absolute": LeastAbsoluteClassifier(),
        "exponential": ExponentialLossClassifier(),
    }
    exact = ZeroOneClassifier().fit(X, y)
    table = compare({loss: model.fit(X, y) for loss, model in models.items()}, X, y)
    assert exact.certificate_.gap == 0
    fewest = exact.certificate_.objective
    errors = {row.name: row.errors for row in table.classifiers}
    assert min(errors.values()) >= fewest
    assert max(errors.values()) > fewest
    for loss, model in models.items():
        total = float(LOSSES[loss].value(model.agreements(X, y)).sum())
        assert total == pytest.approx(model.certificate_.objective, rel=1e-9)
        if LOSSES[loss].dominates_zero_one:
            assert total >= errors[loss]
        # Each is at the minimum of its own loss: no other model has less of it.
        for other in (exact, *models.values()):
            theirs = float(LOSSES[loss].value(other.agreements(X, y)).sum())
            assert total <= theirs * (1 + 1e-4)
