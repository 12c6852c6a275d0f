"""Any bytes as a binary copy: the data of the source, or (forged, with right checksums) data that work."""

import json
import shutil
import warnings

import numpy as np
import pytest
from damage import changed, changes, damaged, edits, memory_bounded
from hypothesis import given
from hypothesis import strategies as st

from maxmargin import CacheWarning, load_data
from maxmargin.data import Data
from maxmargin.rows.disk.archive import MappedArchive, write_archive

pytestmark = pytest.mark.fuzz

SOURCES = {
    "a.svm": b"1 1:0.5 3:4e-300\n-1 2:5\n1\n",
    "t.csv": b"height,width,kind\n2,0.1,tall\n-1,0.5,small\n1.5,0.2,tall\n",
}

names = st.sampled_from(sorted(SOURCES))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Sources, their copies, and these once more as they were."""
    folder = tmp_path_factory.mktemp("fuzzed")
    for name, content in SOURCES.items():
        (folder / name).write_bytes(content)
        load_data(folder / name, cache=True)
        load_data(folder / name, cache=True)
        shutil.copy(copy_of(folder, name), folder / f"{name}.kept")
    return folder


def copy_of(folder, name):
    return folder / f"{name}.maxmargin-cache"


def loaded(folder, name):
    """Load with whatever is there as a copy; at most a warning of ours, at a bounded cost."""
    n_bytes = copy_of(folder, name).stat().st_size
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with memory_bounded(4_000_000 + 100 * n_bytes):
            data = load_data(folder / name, cache=True, n_jobs=1)
    ours = [warning for warning in caught if warning.category is CacheWarning]
    assert len(ours) <= 1
    assert all(len(str(warning.message)) < 1000 for warning in ours)
    return data


def everything_in(data):
    X = data.X.toarray() if hasattr(data.X, "toarray") else data.X
    return X.tolist(), data.y.tolist(), data.classes.tolist(), data.feature_names, str(data)


def use(data):
    """Whatever was loaded can be shown, multiplied and taken apart without leaving its memory."""
    assert isinstance(data, Data)
    str(data)
    assert data.n_columns <= 10**6 or hasattr(data.X, "indptr")
    if hasattr(data.X, "indptr") and data.n_columns < 10**6:
        assert (data.X @ np.zeros(data.n_columns)).shape == (data.n_rows,)
        data.X[::-1].toarray()
        data.X.T.tocsr()


@given(names, edits)
def test_damaged_bytes_never_change_the_data(folder, name, chosen):
    expected = everything_in(load_data(folder / name))
    copy_of(folder, name).write_bytes(damaged((folder / f"{name}.kept").read_bytes(), chosen))
    assert everything_in(loaded(folder, name)) == expected


@given(names, changes)
def test_a_description_with_other_values(folder, name, chosen):
    archive = MappedArchive(folder / f"{name}.kept")
    description = {key: value for key, value in archive.description.items() if key not in ("arrays", "note")}
    with copy_of(folder, name).open("wb") as file:
        write_archive(file, json.loads(json.dumps(changed(description, chosen))), archive.arrays())
    use(loaded(folder, name))


ARRAYS = [
    np.array([0, 2**31 - 1, -1], np.int32),
    np.array([0, 2**62, -1], np.int64),
    np.array([0, 1, 2, 3], np.int32),
    np.array([3, 2, 1, 0], np.int32),
    np.array([0, 0, 3, 3], np.int64),
    np.array([np.nan, np.inf, 1.0]),
    np.zeros((3, 0)),
    np.zeros((0, 3)),
    np.zeros(()),
    np.array(["a", "b", ""]),
    np.array([True, False, True]),
    np.zeros((3, 3), np.float32, order="F"),
    np.zeros(100_000, np.uint8),
    np.zeros((1, 1, 1)),
]
entries = st.sampled_from(["X", "y", "classes", "sample_weight", "values", "columns", "starts", "more"])


@given(names, st.dictionaries(entries, st.none() | st.sampled_from(ARRAYS), min_size=1, max_size=3))
def test_other_arrays(folder, name, given_arrays):
    archive = MappedArchive(folder / f"{name}.kept")
    arrays = {**archive.arrays(), **given_arrays}
    description = {key: value for key, value in archive.description.items() if key not in ("arrays", "note")}
    with copy_of(folder, name).open("wb") as file:
        write_archive(file, description, {key: array for key, array in arrays.items() if array is not None})
    use(loaded(folder, name))
