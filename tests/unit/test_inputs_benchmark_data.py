"""The readers on the benchmark data, against scikit-learn's; needs a folder named by MAXMARGIN_DATA."""

import lzma
import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

from maxmargin.errors import FileFormatError
from maxmargin.io.load import load_data

FOLDER = os.environ.get("MAXMARGIN_DATA")

pytestmark = pytest.mark.skipif(not FOLDER, reason="set MAXMARGIN_DATA to a folder with the benchmark data")


def file(name):
    return Path(FOLDER) / f"{name}.svm.xz"


@pytest.mark.parametrize(
    ("name", "shape", "n_values", "zero_based"),
    [
        ("a9a", (32561, 123), 451592, False),
        ("a9a_test", (16281, 122), None, False),
        ("w8a", (49749, 300), 579586, False),
        ("diabetes", (768, 8), 768 * 8, False),
        ("fourclass_scale", (862, 2), None, False),
        ("heart_scale", (270, 13), None, False),
        ("letter.scale_test", (5000, 16), None, False),
        pytest.param("imdb_train", (25000, 89527), 3457522, True, marks=pytest.mark.slow),
        pytest.param("imdb_test", (25000, 89523), 3340986, True, marks=pytest.mark.slow),
        pytest.param("sector.scale", (6412, 55197), 1045412, False, marks=pytest.mark.slow),
    ],
)
def test_agrees_with_scikit_learn(name, shape, n_values, zero_based):
    data = load_data(file(name))
    with lzma.open(file(name)) as text:
        X, y = load_svmlight_file(text)
    assert data.X.shape == X.shape == shape
    assert n_values is None or data.X.nnz == n_values
    assert data.scheme == ("libsvm-zero-based" if zero_based else "libsvm")
    np.testing.assert_array_equal(data.X.indptr, X.indptr)
    np.testing.assert_array_equal(data.X.indices, X.indices)
    np.testing.assert_array_equal(data.X.data.view(np.uint64), X.data.view(np.uint64))
    np.testing.assert_array_equal(data.y, y)


def test_the_width_can_be_that_of_the_training_part():
    assert load_data(file("a9a_test"), n_columns=123).X.shape == (16281, 123)
    with pytest.raises(FileFormatError, match="is beyond the 100 columns expected"):
        load_data(file("a9a_test"), n_columns=100)


def test_rows_without_features_are_rows():
    assert int(np.sum(np.diff(load_data(file("w8a")).X.indptr) == 0)) == 4203


def test_the_sentence_of_a9a():
    assert str(load_data(file("a9a"))) == (
        "32,561 rows, 123 columns, 451,592 values; classes −1 (76 %), +1 (24 %)"
    )
