"""The record of a data set, and the one that ships with the package."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from covering import each_row
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer, load_iris

from maxmargin import load_data
from maxmargin.data import Data
from maxmargin.datasets import breast_cancer, iris
from maxmargin.errors import InvalidInput

ROOT = Path(__file__).parents[2]


@each_row(
    ("y", "text"),
    [
        ([-1, 1, 1, 1], "classes −1 (25 %), +1 (75 %)"),
        ([0, 1, 1, 0], "classes 0 (50 %), 1 (50 %)"),
        ([-1.0, 0.5, 0.5, 0.0], "classes −1 (25 %), 0 (25 %), +0.5 (50 %)"),
        (["ham", "spam", "ham", "ham"], "classes ham (75 %), spam (25 %)"),
        ([True, False, True, True], "classes False (25 %), True (75 %)"),
        ([3, 3, 3, 3], "class 3 (100 %)"),
        ([1, 2] + 998 * [1], "classes 1 (99.9 %), 2 (0.1 %)"),
        (range(7), "7 classes"),
        ([], "no classes"),
    ],
)
def test_sentence(y, text):
    y = np.array(y)
    rows = "1 row" if len(y) == 1 else f"{len(y):,} rows"
    assert str(Data(np.zeros((len(y), 1)), y)) == f"{rows}, 1 column; {text}"


def test_sentence_of_sparse_rows():
    X = csr_array((np.ones(1500), np.zeros(1500, int), np.arange(1501)), shape=(1500, 2000))
    data = Data(X, np.arange(1500) % 2)
    assert str(data) == "1,500 rows, 2,000 columns, 1,500 values; classes 0 (50 %), 1 (50 %)"
    assert repr(data) == f"<Data: {data}>"


def test_classes_are_found_or_given():
    X = np.zeros((3, 1))
    assert Data(X, np.array([2, 1, 2])).classes.tolist() == [1, 2]
    assert Data(X, np.array([2, 1, 2]), classes=np.array([1, 2, 3])).classes.tolist() == [1, 2, 3]


def test_record_is_frozen():
    with pytest.raises(AttributeError):
        Data(np.zeros((1, 1)), np.zeros(1)).X = None


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"y": np.zeros(2)}, "y must have one entry for each of the 3 rows of X; got shape (2,)"),
        ({"y": np.zeros((3, 1))}, "y must have one entry for each of the 3 rows of X; got shape (3, 1)"),
        (
            {"sample_weight": np.zeros(4)},
            "sample_weight must have one entry for each of the 3 rows of X; got shape (4,)",
        ),
        ({"feature_names": ("a",)}, "feature_names must name each of the 2 columns of X; got 1"),
    ],
)
def test_lengths_must_agree(parts, message):
    with pytest.raises(InvalidInput) as caught:
        Data(**{"X": np.zeros((3, 2)), "y": np.zeros(3), **parts})
    assert str(caught.value) == message


def test_breast_cancer_is_scikit_learns_copy():
    data = breast_cancer()
    theirs = load_breast_cancer()
    np.testing.assert_array_equal(data.X, theirs.data)
    np.testing.assert_array_equal(data.y, theirs.target_names[theirs.target])
    assert data.feature_names == tuple(theirs.feature_names)
    assert str(data) == '569 rows, 30 columns; label "diagnosis"; classes benign (63 %), malignant (37 %)'


def test_breast_cancer_is_as_its_table():
    data, table = breast_cancer(), load_data(ROOT / "tests" / "data" / "breast_cancer.csv")
    for name in ("X", "y", "classes"):
        found, expected = getattr(data, name), getattr(table, name)
        assert (found.dtype, found.tobytes()) == (expected.dtype, expected.tobytes())
    assert (data.feature_names, data.label, data.scheme) == (table.feature_names, table.label, table.scheme)


def test_shipped_data_load_no_reader_of_files():
    script = (
        "import sys; from maxmargin.datasets import iris; iris(); "
        "print(*[name for name in sys.modules if name.startswith('maxmargin.io')])"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout.split() == []


def test_iris_is_scikit_learns_copy():
    data, theirs = iris(), load_iris()
    np.testing.assert_array_equal(data.X, theirs.data)
    np.testing.assert_array_equal(data.y, theirs.target_names[theirs.target])
    assert data.feature_names == tuple(theirs.feature_names)


@pytest.mark.slow
def test_the_script_makes_the_same_files_again(tmp_path):
    shipped = ROOT / "src" / "maxmargin" / "datasets"
    script = ROOT / "scripts" / "make_datasets.py"
    subprocess.run([sys.executable, script, tmp_path], check=True)
    made = sorted(path.name for path in tmp_path.iterdir())
    assert made == sorted(path.name for path in shipped.glob("*.npz"))
    assert all((tmp_path / name).read_bytes() == (shipped / name).read_bytes() for name in made)
