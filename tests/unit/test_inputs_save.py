"""What save_data writes: load_data and everybody else's readers get the same from it, bit for bit."""

import io
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.feather
import pytest
from covering import each_row
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse

from maxmargin import load_data, save_data
from maxmargin.data import Data
from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.io.tables.csv_writing import table_lines

X = np.array([[0.1, 0, -3], [1e-300, 5, 0], [0, 0, 7]])
Y = np.array([1, -1, 1])
EXACT = ["parquet", "pq", "arrow", "feather", "ipc", "arrows", "npz", "parquet.gz", "npz.xz"]


def assert_same(found, data):
    """The same numbers of the same type, labels, weights and names."""
    assert sparse.issparse(found.X) == sparse.issparse(data.X)
    for one, other in zip(parts(found.X), parts(data.X), strict=True):
        assert one.dtype == other.dtype
        assert one.tobytes() == np.ascontiguousarray(other).tobytes()
    assert found.y.dtype.kind == data.y.dtype.kind
    np.testing.assert_array_equal(found.y, data.y)
    assert (found.sample_weight is None) == (data.sample_weight is None)
    if data.sample_weight is not None:
        assert found.sample_weight.tobytes() == data.sample_weight.tobytes()
    assert found.feature_names == data.feature_names
    assert found.encoding == data.encoding


def parts(rows):
    return (rows.data, rows.indices, rows.indptr) if sparse.issparse(rows) else (np.ascontiguousarray(rows),)


numbers = st.floats(allow_nan=False, allow_infinity=False)
words = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=5)


@st.composite
def data_sets(draw, dtypes=(np.float32, np.float64), has_text=True):
    n_rows, n_columns = draw(st.integers(1, 8)), draw(st.integers(1, 4))
    dtype = draw(st.sampled_from(dtypes))
    bits = {np.float32: 32, np.float64: 64}[dtype]
    values = st.floats(allow_nan=False, allow_infinity=False, width=bits)
    rows = draw(arrays.arrays(dtype, (n_rows, n_columns), elements=values))
    kinds = [st.integers(-9, 9), st.booleans(), numbers, words] if has_text else [st.integers(-9, 9), numbers]
    y = np.array(draw(st.lists(draw(st.sampled_from(kinds)), min_size=n_rows, max_size=n_rows)))
    names = draw(st.none() | st.lists(words, min_size=n_columns, max_size=n_columns, unique=True).map(tuple))
    label = draw(st.none() | words)
    return Data(rows, y, feature_names=names, label=label)


@settings(deadline=None, max_examples=120)
@given(data=data_sets(), suffix=st.sampled_from(EXACT), is_weighted=st.booleans())
def test_what_is_saved_is_read_back_bit_for_bit(data, suffix, is_weighted):
    if is_weighted:
        weights = np.linspace(0.1, 1, data.n_rows)
        data = Data(data.X, data.y, weights, data.feature_names, label=data.label)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"t.{suffix}"
        save_data(data, path)
        assert_same(load_data(path), data)


@settings(deadline=None, max_examples=60)
@given(data=data_sets(has_text=False))
def test_a_table_of_numbers_alone(data):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.npy"
        save_data(data, path)
        found = load_data(path)
        np.testing.assert_array_equal(found.X, data.X)
        np.testing.assert_array_equal(found.y, data.y)
        if data.y.dtype.kind == "i":
            assert found.X.dtype == data.X.dtype
        np.testing.assert_array_equal(np.load(path)[:, :-1], data.X)


@settings(deadline=None, max_examples=60)
@given(
    rows=arrays.arrays(np.float64, (3, 4), elements=st.sampled_from([0.0, 0.0, 0.1, -2.5])),
    suffix=st.sampled_from(["npz", "parquet", "arrow", "npy", "csv"]),
)
def test_sparse_rows(rows, suffix):
    made = sparse.csr_array(rows)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"t.{suffix}"
        save_data(Data(made, Y), path)
        found = load_data(path)
        if suffix == "npz":
            assert_same(found, Data(made, Y))
            other = sparse.load_npz(path)
            assert isinstance(other, sparse.csr_array)
            np.testing.assert_array_equal(other.toarray(), rows)
        else:
            np.testing.assert_array_equal(found.X, rows)
        np.testing.assert_array_equal(found.y, Y)


@pytest.mark.parametrize("suffix", ["parquet", "feather", "npz", "csv", "tsv"])
@pytest.mark.filterwarnings("ignore:.*a feature is named:UserWarning")
def test_weights_and_the_label_have_columns(tmp_path, suffix):
    path = tmp_path / f"t.{suffix}"
    y = np.array(["NA", "b, c", "b, c"])
    data = Data(X, y, np.array([1, 0.5, 2]), ("sample_weight", "label", "z"))
    save_data(data, path)
    settings = {"label": "label_", "weight": "sample_weight_"} if suffix in ("csv", "tsv") else {}
    assert_same(load_data(path, **settings), data)
    frame = {
        "parquet": pd.read_parquet,
        "feather": pd.read_feather,
        "csv": lambda path: pd.read_csv(path, keep_default_na=False),
        "tsv": lambda path: pd.read_csv(path, sep="\t", keep_default_na=False),
    }.get(suffix)
    if frame is not None:
        assert list(frame(path)) == ["sample_weight", "label", "z", "sample_weight_", "label_"]
        np.testing.assert_array_equal(frame(path).to_numpy()[:, :3].astype(float), X)
        assert frame(path)["label_"].tolist() == y.tolist()


def test_other_readers_read_the_same(tmp_path):
    data = Data(X, Y, feature_names=("a", "b", "c"), label="kind")
    for suffix, read in (
        ("parquet", pl.read_parquet),
        ("arrow", pl.read_ipc),
        ("arrows", pl.read_ipc_stream),
        ("csv", pl.read_csv),
        ("feather", lambda path: pl.from_arrow(pyarrow.feather.read_table(path))),
    ):
        save_data(data, tmp_path / f"t.{suffix}")
        frame = read(tmp_path / f"t.{suffix}")
        assert frame.columns == ["a", "b", "c", "kind"]
        np.testing.assert_array_equal(frame.to_numpy(), np.column_stack([X, Y]))
    save_data(data, tmp_path / "t.npz")
    with np.load(tmp_path / "t.npz", allow_pickle=False) as found:
        np.testing.assert_array_equal(found["X"], X)
        np.testing.assert_array_equal(found["y"], Y)


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "npz", "csv"])
def test_the_encoding_is_kept_or_the_features_are_known_again(tmp_path, suffix):
    source = io.BytesIO(b"age,town,rich\n30,Rome,no\n,Oslo,yes\n40,Oslo,yes\n")
    data = load_data(source, format="csv", missing="mean")
    path = tmp_path / f"t.{suffix}"
    save_data(data, path)
    found = load_data(path)
    np.testing.assert_array_equal(found.X, data.X)
    assert found.feature_names == data.feature_names
    assert found.label == "rich"
    if suffix != "csv":
        assert found.encoding == data.encoding
    again = load_data(path, encoding=data.encoding)
    np.testing.assert_array_equal(again.X, data.X)
    assert again.y.tolist() == data.y.tolist()


def test_arrays_and_their_labels(tmp_path):
    save_data(X.tolist(), tmp_path / "t.parquet", y=["a", "b", "a"])
    data = load_data(tmp_path / "t.parquet")
    np.testing.assert_array_equal(data.X, X)
    assert data.y.tolist() == ["a", "b", "a"]
    save_data(sparse.csr_matrix(X), tmp_path / "t.npz", y=np.array(["a", "b", "a"], dtype=object))
    np.testing.assert_array_equal(load_data(tmp_path / "t.npz").X.toarray(), X)


@each_row("suffix", ["parquet", "arrow", "arrows", "npz", "npy", "csv", "svm", "npz.gz"])
def test_the_same_data_give_the_same_bytes(tmp_path, suffix):
    for name in ("one", "two"):
        save_data(Data(X, Y), tmp_path / f"{name}.{suffix}")
    assert (tmp_path / f"one.{suffix}").read_bytes() == (tmp_path / f"two.{suffix}").read_bytes()


WIDE = sparse.csr_array((3, 20_000))
HUGE = sparse.csr_array((3, 2**40))


@each_row(
    ("data", "name", "error", "message"),
    [
        ((X, None), "t.npz", InvalidParameter, "give labels as y, or a Data, which has them"),
        ((Data(X, Y), Y), "t.npz", InvalidParameter, "y is for rows that are an array"),
        ((X[0], Y), "t.npz", InvalidInput, r"X must be a table of numbers; got shape \(3,\)"),
        ((X.astype(str), Y), "t.npz", InvalidInput, "X must be a table of numbers"),
        ((X, Y[:2]), "t.npz", InvalidInput, "y must have one entry for each of the 3 rows"),
        ((np.full((3, 2), np.inf), Y), "t.parquet", InvalidInput, "X has NaN or infinite numbers"),
        ((Data(X, Y, np.ones(3)), None), "t.npy", InvalidInput, "no place for sample weights; write an .npz"),
        ((Data(X, Y, np.ones(3)), None), "t.svm", InvalidInput, "no place for sample weights; write an .npz"),
        ((X, ["a", "b", "a"]), "t.npy", InvalidInput, 'holds numbers, and "a" is none; write an .npz file'),
        (
            (X, np.array([1, "b", 2.5], dtype=object)),
            "t.npz",
            InvalidInput,
            "labels must be numbers, booleans",
        ),
        ((X, np.array(["a", "b\0", "c"], dtype=object)), "t.npz", InvalidInput, "ends in a zero byte"),
        ((X, ["a", "", "c"]), "t.csv", InvalidInput, "an empty label, in a text table, would be"),
        ((X, Y.astype(complex)), "t.npz", InvalidInput, "labels must be numbers, booleans or text"),
        ((Data(X, None), None), "t.npz", InvalidInput, "there are no labels to write"),
        ((WIDE, Y), "t.parquet", InvalidInput, "a table of 20,000 columns, most of them zero; write sparse"),
        *(
            (
                (HUGE, Y),
                f"t.{suffix}",
                InvalidInput,
                "a table of 1,099,511,627,776 columns, most of them zero",
            )
            for suffix in ("csv", "tsv.gz", "parquet", "arrow", "arrows")
        ),
        ((HUGE, Y), "t.npy", InvalidInput, "too large as a table; write an .npz file"),
        ((X, Y), "t.xlsx", InvalidParameter, r"must end in one of \.svm.*\.npy; got "),
    ],
)
def test_what_cannot_be_written_is_refused_and_leaves_nothing(tmp_path, data, name, error, message):
    rows, y = data
    with pytest.raises(error, match=message):
        save_data(rows, tmp_path / name, y=y)
    assert list(tmp_path.iterdir()) == []


def test_wide_sparse_rows_become_text_a_few_at_a_time():
    X = sparse.csr_array((np.ones(20), np.arange(20) * 2000, np.arange(21)), shape=(20, 60_000))
    n_lines = [piece.count(b"\n") for piece in table_lines(Data(X, np.arange(20) % 2), ",")]
    assert n_lines == [1, 17, 3]  # the header, a million values, the rest


def test_a_file_that_says_nonsense_about_itself(tmp_path):
    table = pyarrow.table({"x": [1.0], "label": [1]})
    for about in (b"{", b"[]", b'{"label": 1}', b'{"label": true}'):
        with pytest.raises(InvalidInput, match='what it says about itself ."maxmargin". is damaged'):
            load_data(table.replace_schema_metadata({"maxmargin": about}))


@pytest.mark.parametrize(("label", "column"), [(None, "label"), ("kind", "kind")])
def test_a_feature_that_would_be_taken_for_the_label_is_told(tmp_path, label, column):
    data = Data(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0, 1]), feature_names=("a", "Y"), label=label)
    path = tmp_path / "t.csv"
    with pytest.warns(UserWarning, match=f'a feature is named "Y".*read it with label="{column}"'):
        save_data(data, path)
    assert load_data(path, label=column).feature_names == ("a", "Y")
    save_data(data, tmp_path / "t.parquet")  # which says itself what is what
    assert load_data(tmp_path / "t.parquet").feature_names == ("a", "Y")


def test_what_a_text_table_makes_of_labels_and_libsvm_of_a_negative_zero(tmp_path):
    X = np.array([[-0.0, 1.0], [2.0, 0.5]])
    for y, found in ((["1", "2"], [1, 2]), ([True, False], ["True", "False"])):
        save_data(X, tmp_path / "t.csv", y=y)
        assert load_data(tmp_path / "t.csv").y.tolist() == found
        save_data(X, tmp_path / "t.npz", y=y)
        assert load_data(tmp_path / "t.npz").y.tolist() == y
    for suffix, is_kept in (("csv", True), ("npz", True), ("svm", False)):
        save_data(X, tmp_path / f"t.{suffix}", y=[0, 1])
        rows = load_data(tmp_path / f"t.{suffix}").X
        assert np.signbit(rows[0, 0]) == is_kept
