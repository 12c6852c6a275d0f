"""NumPy's files: layouts that are read, files that are not what they say."""

import io
import os
import struct
import zipfile

import numpy as np
import pytest
from covering import each_row, every_value
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib import format as npy
from scipy import sparse

from maxmargin import Data, load_data, save_data
from maxmargin.errors import FileFormatError, InvalidParameter, MaxMarginError

X = np.arange(12.0).reshape(4, 3)
Y = np.array([1, -1, 1, -1])


def as_npy(array, **settings):
    buffer = io.BytesIO()
    np.save(buffer, array, **settings)
    return buffer.getvalue()


def as_npz(**arrays):
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def load(content, **settings):
    return load_data(io.BytesIO(content), **settings)


@every_value(order=["C", "F"], dtype=[np.float32, np.float64, np.int16, np.uint8, ">f8", np.float16])
def test_a_table_whose_last_column_is_the_label(dtype, order):
    array = np.asarray(np.column_stack([X, np.abs(Y)]), dtype=dtype, order=order)
    data = load(as_npy(array))
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, np.abs(Y))
    assert (data.scheme, data.label, data.feature_names) == ("npy", 3, None)
    assert data.X.dtype == {np.float16: np.float32, ">f8": np.float64}.get(dtype, dtype)


def test_label_weight_and_columns_by_number():
    array = np.column_stack([Y, X, np.ones(4)])
    data = load(as_npy(array), label=0, weight=-1, drop=[2], categories=[1])
    np.testing.assert_array_equal(data.y, Y)
    np.testing.assert_array_equal(data.sample_weight, np.ones(4))
    assert data.feature_names == ("column 2=0", "column 2=3", "column 2=6", "column 2=9", "column 4")
    again = load(as_npy(np.column_stack([X[:, 0], X[:, 1], X[:, 2]])), encoding=data.encoding)
    assert again.y is None
    np.testing.assert_array_equal(again.X.toarray(), data.X.toarray())


def test_missing_values_are_refused_or_replaced():
    array = np.column_stack([X, Y])
    array[2, 1] = np.nan
    with pytest.raises(FileFormatError, match=r'row 2 \(counted from 0\), column "column 2": the value'):
        load(as_npy(array))
    assert load(as_npy(array), missing="median").X[2, 1] == 4
    array[2, 3] = np.nan
    with pytest.raises(FileFormatError, match="the label is missing"):
        load(as_npy(array), missing="median")


def test_named_arrays():
    names = np.array(["a", "b", "c"])
    data = load(as_npz(X=X.astype(np.float32), y=Y, feature_names=names, sample_weight=np.arange(4), other=Y))
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, Y)
    np.testing.assert_array_equal(data.sample_weight, np.arange(4))
    assert (data.X.dtype, data.scheme, data.feature_names) == (np.float32, "npz", ("a", "b", "c"))
    assert data.X.flags.writeable
    assert load(as_npz(x=X, target=Y[:, None])).y.tolist() == Y.tolist()
    assert load(as_npz(X=X, y=np.array(["u", "v", "u", "v"]))).classes.tolist() == ["u", "v"]
    assert load(as_npz(X=X, y=np.array([b"u", b"v", b"u", b"v"]))).classes.tolist() == ["u", "v"]
    content = as_npz(X=X, good=Y, heavy=np.ones(4), feature_names=names)
    chosen = load(content, label="good", weight="heavy", drop="b")
    assert chosen.feature_names == ("a", "c")
    assert chosen.sample_weight.tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array, sparse.csr_matrix])
def test_sparse_rows_as_scipy_saves_them(tmp_path, kind):
    path = tmp_path / "rows.npz"
    matrix = kind(np.where(X % 2 == 1, X, 0))
    sparse.save_npz(path, matrix)
    with pytest.raises(FileFormatError, match='no array "y" with the labels; its arrays are "indices"'):
        load_data(path)
    with np.load(path) as arrays:
        content = as_npz(y=Y, **arrays)
    data = load(content)
    assert data.X.format == "csr"
    np.testing.assert_array_equal(data.X.toarray(), matrix.toarray())
    np.testing.assert_array_equal(data.y, Y)
    assert str(data) == "4 rows, 3 columns, 6 values; classes −1 (50 %), +1 (50 %)"
    with pytest.raises(InvalidParameter, match="drop is for tables; .* holds sparse rows"):
        load(content, drop=[1])
    with pytest.raises(FileFormatError, match="expected 7 columns beside the label, found 3"):
        load(content, n_columns=7)


def parts(**changed):
    rows = sparse.csr_array(np.where(X % 2 == 1, X, 0))
    found = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr}
    return found | {"shape": np.array([4, 3]), "y": Y} | changed


@each_row(
    ("changed", "message"),
    [
        ({"indices": np.array([1, 0, 2, 1, 0, 3])}, "do not fit each other"),
        ({"indices": np.array([1, 0, 2, 1, 0, -1])}, "do not fit each other"),
        ({"indptr": np.array([0, 1, 3, 4, 9])}, "do not fit each other"),
        ({"indptr": np.array([0, 3, 1, 4, 6])}, "do not fit each other"),
        ({"indptr": np.array([0, 6])}, "do not fit each other"),
        ({"shape": np.array([2**62, 2**62])}, "do not fit each other"),
        ({"shape": np.array([4.0, 3.0])}, "are no matrix"),
        ({"format": np.array(b"bsr")}, 'a sparse matrix of kind "bsr"; save it as CSR'),
        ({"data": np.array([1, 2, np.nan, 4, 5, 6])}, r"row 1 \(counted from 0\): expected finite numbers"),
        ({"y": Y[:3]}, r"X has 4 rows and the labels have shape \(3,\)"),
    ],
)
def test_sparse_rows_that_do_not_fit(changed, message):
    with pytest.raises(FileFormatError, match=message):
        load(as_npz(**parts(**changed)))


@each_row(
    ("arrays", "message"),
    [
        ({"y": Y}, 'no array "X"; its arrays are "y"'),
        ({"X": X}, 'no array "y" with the labels; its arrays are "X"'),
        ({"X": X, "y": Y[:3]}, r"X has 4 rows and the labels have shape \(3,\)"),
        ({"X": X, "y": np.column_stack([Y, Y])}, r"the labels have shape \(4, 2\)"),
        ({"X": X, "y": Y, "sample_weight": np.ones(3)}, r"the weights have shape \(3,\)"),
        ({"X": X[0], "y": Y}, "a table of numbers"),
        ({"X": X.astype(str), "y": Y}, "a table of numbers"),
        ({"X": X.astype(complex), "y": Y}, "expected numbers or text, found complex128"),
        ({"X": X[:, :0], "y": Y}, "a table of numbers"),
        ({"X": X[:0], "y": Y[:0]}, "no rows"),
        ({"X": np.full((4, 1), np.inf), "y": Y}, r"row 0 .* expected a finite number, found inf"),
        ({"X": X, "y": Y, "maxmargin": np.array("{")}, "what it says about itself"),
    ],
)
def test_arrays_that_are_no_data_set(arrays, message):
    with pytest.raises(FileFormatError, match=message):
        load(as_npz(**arrays))


class Trap:
    """What pickle would run."""

    def __reduce__(self):
        return os.mkdir, ("trapped",)


@pytest.mark.parametrize("make", [as_npy, lambda array: as_npz(X=array, y=Y)])
def test_nothing_in_a_file_is_executed(make, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileFormatError, match="holds Python objects, and to read those is to run a program"):
        load(make(np.array([[Trap()]], dtype=object)))
    assert list(tmp_path.iterdir()) == []


def lying_header(shape):
    buffer = io.BytesIO()
    npy.write_array_header_1_0(buffer, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return buffer.getvalue()


@each_row("shape", [(2**40, 3), (2**62, 2**62), (1, 2), (-1, -2), (3,)])
def test_a_declared_size_must_be_the_real_one(shape):
    content = lying_header(shape) + np.ones(3).tobytes()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", content)
        archive.writestr("y.npy", as_npy(Y))
    for attempt in (content, packed.getvalue()):
        with pytest.raises(FileFormatError):
            load(attempt)


def test_a_packed_array_cannot_claim_more_than_packing_gains():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", lying_header((2**31, 1)))
        archive.writestr("y.npy", as_npy(Y))
    content = bytearray(packed.getvalue())
    entry = content.index(b"PK\x01\x02")
    content[entry + 24 : entry + 28] = struct.pack("<I", 2**32 - 2)
    with pytest.raises(FileFormatError, match='"X" claims a size that it cannot have'):
        load(bytes(content))


def test_unusual_packing_and_repeated_names():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("X.npy", as_npy(X))
        archive.writestr("y.npy", as_npy(Y))
    with pytest.raises(FileFormatError, match="packed in a way that NumPy does not use"):
        load(packed.getvalue())
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("X.npy", as_npy(X))
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("X.npy", as_npy(X))
    with pytest.raises(FileFormatError, match="two arrays in it have the same name"):
        load(packed.getvalue())


def test_structured_arrays_are_refused():
    with pytest.raises(FileFormatError, match="expected numbers or text"):
        load(as_npy(np.zeros(3, dtype=[("a", float), ("b", int)])))


@pytest.mark.parametrize("format", ["npy", "npz"])
def test_a_shortened_file_is_never_read(format):
    table = np.column_stack([X, Y])
    content = as_npy(table) if format == "npy" else as_npz(X=X, y=Y)
    for length in range(0, len(content), 7):
        with pytest.raises(FileFormatError):
            load(content[:length], format=format)
    if format == "npy":
        with pytest.raises(FileFormatError, match="96 bytes is promised and 97 are there|promised"):
            load(content + b"\0")


@settings(deadline=None, max_examples=300)
@given(
    is_npz=st.booleans(),
    changes=st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 255)), max_size=6),
)
def test_changed_bytes_are_read_or_refused(is_npz, changes):
    content = bytearray(as_npz(**parts()) if is_npz else as_npy(np.column_stack([X, Y])))
    for place, byte in changes:
        content[place % len(content)] = byte
    try:
        data = load(bytes(content), format="npz" if is_npz else "npy")
    except MaxMarginError:
        return
    values = data.X.data if sparse.issparse(data.X) else data.X
    assert np.isfinite(values).all()
    if is_npz:  # which has checksums: what is read is what was written
        np.testing.assert_array_equal(data.y, Y)
        np.testing.assert_array_equal(data.X.toarray(), np.where(X % 2 == 1, X, 0))


@each_row(
    ("settings", "reason"),
    [
        ({"label": 3}, "label"),
        ({"weight": "w"}, "weight"),
        ({"label": "z"}, "label"),
    ],
)
def test_an_array_that_is_asked_for_and_absent(settings, reason):
    with pytest.raises(MaxMarginError, match=reason):
        load(as_npz(X=X, y=Y), **settings)


def test_missing_values_of_sparse_rows_are_not_replaced(tmp_path):
    save_data(Data(sparse.csr_array(X), Y), tmp_path / "a.npz")
    with pytest.raises(MaxMarginError, match="sparse rows"):
        load_data(tmp_path / "a.npz", missing="mean")


def test_a_name_that_numpy_would_shorten_is_not_written(tmp_path):
    with pytest.raises(MaxMarginError, match="ends in a zero byte"):
        save_data(Data(X, Y, feature_names=("a", "b", "c\0")), tmp_path / "a.npz")
    assert not (tmp_path / "a.npz").exists()
