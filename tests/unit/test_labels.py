"""From labels to classes and costs: many labels take another route than few, and give the same."""

import numpy as np
import pytest
from covering import each_row

import maxmargin.model.prepare as module
from maxmargin.core.objective import Objective
from maxmargin.data import label_text
from maxmargin.errors import InvalidInput
from maxmargin.model.prepare import make_targets

N = 30_000  # more than are simply sorted


def targets_of(labels, weights=None, **settings):
    return make_targets(np.asarray(labels), weights, Objective("hinge", **({"C": 2.0} | settings)))


def draws(n_classes):
    return np.random.default_rng(0).integers(0, n_classes, size=N)


LABELS = {
    "0 and 1": draws(2),
    "−1 and 1": 2 * draws(2) - 1,
    "floats": 2.0 * draws(2) - 1.0,
    "float32": (2 * draws(2) - 1).astype(np.float32),
    "int8": (2 * draws(2) - 1).astype(np.int8),
    "booleans": draws(2).astype(bool),
    "text": np.array(["no", "yes"])[draws(2)],
    "objects": np.array(["no", "yes"], dtype=object)[draws(2)],
    "five classes": 10 * draws(5) - 7,
    "many classes": draws(300),
    "one class": np.full(N, 3),
    "every other column": np.repeat(draws(2), 2)[::2],
    "a rare class": np.where(np.arange(N) == 12_345, 7, draws(2)),
    "sorted": np.sort(draws(3)),
}


@each_row("name", LABELS)
def test_classes_and_codes(name):
    labels = LABELS[name]
    classes, codes = np.unique(labels, return_inverse=True)
    found = targets_of(labels)
    assert found.classes.dtype == classes.dtype
    np.testing.assert_array_equal(found.classes, classes)
    np.testing.assert_array_equal(found.codes, codes)
    np.testing.assert_array_equal(found.cost, 2.0)
    for positive in found.positives:
        sign = found.sign(positive)
        assert sign.dtype == np.int8
        np.testing.assert_array_equal(sign, np.where(codes == positive, 1, -1))


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 3.0, 1: 0.5}])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_costs(n_classes, class_weight):
    labels = draws(n_classes)
    weights = np.random.default_rng(1).integers(0, 3, size=N).astype(float)
    for given in (None, weights):
        found = targets_of(labels, given, class_weight=class_weight)
        w = np.ones(N) if given is None else given
        counts = np.bincount(labels, weights=w)
        factor = {
            None: np.ones(n_classes),
            "balanced": w.sum() / (n_classes * counts),
        }.get(class_weight if not isinstance(class_weight, dict) else "")
        if factor is None:
            factor = np.array([class_weight.get(label, 1.0) for label in range(n_classes)])
        np.testing.assert_allclose(found.cost, 2.0 * factor[labels] * w, rtol=1e-15)


def test_a_class_of_absent_rows_is_none():
    labels = np.where(np.arange(N) % 3 == 0, 9, draws(2))
    weights = (labels != 9).astype(float)
    found = targets_of(labels, weights)
    np.testing.assert_array_equal(found.classes, [0, 1])
    assert (found.cost[labels == 9] == 0).all()
    np.testing.assert_array_equal(found.codes[labels != 9], labels[labels != 9])


def test_many_labels_of_few_classes_are_not_sorted(monkeypatch):
    sorted_lengths = []
    unique = np.unique

    def watched(labels, **settings):
        sorted_lengths.append(len(labels))
        return unique(labels, **settings)

    monkeypatch.setattr(module.np, "unique", watched)
    targets_of(LABELS["−1 and 1"])
    assert max(sorted_lengths) < N / 5


def test_an_overflow_is_named():
    with pytest.raises(InvalidInput, match="C times the weights must be between"):
        targets_of(draws(2), np.full(N, 1e300), C=1e50)


def test_long_whole_numbers_are_shown_whole():
    assert label_text(12345678901, is_signed=False) == "12345678901"
    assert label_text(np.int64(90071992547409931), is_signed=True) == "+90071992547409931"
    assert label_text(-12345678901.0, is_signed=True) == "−12345678901"
    assert label_text(0.1 + 0.2, is_signed=False) == "0.3"
    assert (label_text(1e300, is_signed=False), label_text(-0.0, is_signed=True)) == ("1e+300", "0")
