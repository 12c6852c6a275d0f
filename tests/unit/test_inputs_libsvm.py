"""LIBSVM text: what is read, how errors read, agreement with scikit-learn's reader."""

import io
from contextlib import suppress

import numpy as np
import pytest
from covering import each_row
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, random_array
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from maxmargin.data import Data
from maxmargin.errors import FileFormatError, InvalidInput
from maxmargin.io.load import load_data
from maxmargin.io.save import save_data


@pytest.fixture
def written(tmp_path):
    def write(text, name="rows.svm"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_rows_labels_and_types(written):
    data = load_data(written("+1 1:0.5 4:2 # note\n\n-1  2:1e-3\r\n"))
    np.testing.assert_array_equal(data.X.toarray(), [[0.5, 0, 0, 2], [0, 1e-3, 0, 0]])
    np.testing.assert_array_equal(data.y, [1, -1])
    np.testing.assert_array_equal(data.classes, [-1, 1])
    assert isinstance(data.X, csr_array)
    assert (data.X.dtype, data.y.dtype) == (np.float64, np.float64)
    assert (data.X.indices.dtype, data.X.indptr.dtype) == (np.int32, np.int32)
    assert data.X.has_canonical_format
    assert (data.scheme, data.label, data.feature_names, data.sample_weight) == ("libsvm", None, None, None)


def test_result_may_be_changed(written):
    data = load_data(written("1 1:1\n2 1:1"))
    data.X.data[:] = 7
    data.y[:] = 3
    assert data.X.sum() == 14


def test_stored_zeros_stay(written):
    assert load_data(written("1 1:0 2:1")).X.nnz == 2


@pytest.mark.parametrize(
    ("text", "zero_based", "columns", "scheme"),
    [
        ("1 1:1 3:1", "auto", [0, 2], "libsvm"),
        ("1 0:1 3:1", "auto", [0, 3], "libsvm-zero-based"),
        ("1 1:1 3:1", False, [0, 2], "libsvm"),
        ("1 1:1 3:1", True, [1, 3], "libsvm-zero-based"),
    ],
)
def test_columns_count_from_zero_or_one(written, text, zero_based, columns, scheme):
    data = load_data(written(text), zero_based=zero_based)
    assert data.X.indices.tolist() == columns
    assert data.scheme == scheme


def test_width_can_be_given(written):
    path = written("1 2:1\n1")
    assert load_data(path).X.shape == (2, 2)
    assert load_data(path, n_columns=9).X.shape == (2, 9)
    assert load_data(written("1\n2"), n_columns=3).X.shape == (2, 3)


def test_wide_indices_only_where_needed(written):
    data = load_data(written("1 3000000000:1"))
    assert data.X.shape == (1, 3_000_000_000)
    assert (data.X.indices.dtype, data.X.indptr.dtype) == (np.int64, np.int64)
    assert load_data(written("1 1:1"), n_columns=2**31 - 1).X.indices.dtype == np.int32
    assert load_data(written("1 1:1"), n_columns=2**31).X.indices.dtype == np.int64


@each_row(
    ("text", "message"),
    [
        ("1 1:1\n1 2:2 3:x", 'line 2, column 7: expected index:value, found "3:x"'),
        ("1 1:nan", 'line 1, column 3: expected a finite value, found "1:nan"'),
        ("1 1:-inf", 'line 1, column 3: expected a finite value, found "1:-inf"'),
        ("1 1:1e400", 'line 1, column 3: the value is too large for a double, found "1:1e400"'),
        ("1 3:1 2:1", "line 1, column 7: the indices of a row must increase; found 2 after 3"),
        ("1 3:1 3:1", "line 1, column 7: the indices of a row must increase; found 3 after 3"),
        ("1 qid:1 1:1", 'line 1, column 3: ranking data (qid) are not supported, found "qid:1"'),
        ("1,2 1:1", 'line 1, column 1: expected one label, several are not supported, found "1,2"'),
        ("spam 1:1", 'line 1, column 1: expected a number as label, found "spam"'),
        ("1:1 2:1", 'line 1, column 1: expected a number as label, found "1:1"'),
        ("inf 1:1", 'line 1, column 1: expected a finite label, found "inf"'),
        ("1e400 1:1", 'line 1, column 1: the label is too large for a double, found "1e400"'),
        ("1 -1:1", 'line 1, column 3: expected index:value, found "-1:1"'),
        (f"1 {2**63}:1", f'line 1, column 3: the index is too large, found "{2**63}:1"'),
        (b"1 \xff\x00:1", 'line 1, column 3: expected index:value, found "\\xff\\x00:1"'),
        ("", "the file has no rows"),
        ("# nothing\n\n", "the file has no rows"),
        ("1\n2\n", "no row has an index:value pair; give n_columns=… if that is intended"),
    ],
)
def test_errors_name_file_line_and_column(written, text, message):
    path = written(text)
    with pytest.raises(FileFormatError) as caught:
        load_data(path)
    separator = ", " if message.startswith("line") else ": "
    assert str(caught.value) == f"{path}{separator}{message}"


def test_errors_of_the_options(written):
    path = written("1 1:1\n1 0:1 4:1")
    with pytest.raises(
        FileFormatError, match=r"line 2, column 3: index 0, although columns are said to count from 1"
    ):
        load_data(path, zero_based=False)
    with pytest.raises(FileFormatError, match=r"line 2, column 7: index 4 is beyond the 4 columns expected"):
        load_data(path, n_columns=4)


def test_error_has_its_parts(written):
    path = written("1 1:1\n1 x")
    with pytest.raises(FileFormatError) as caught:
        load_data(path)
    assert (caught.value.path, caught.value.line, caught.value.column) == (path, 2, 3)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("zero_based", [True, False])
def test_agrees_with_scikit_learn_on_generated_rows(written, zero_based):
    rng = np.random.default_rng(0)
    X = random_array((200, 50), density=0.2, format="csr", rng=rng) * 10.0 ** rng.integers(-300, 300, 50)
    y = rng.integers(-3, 4, 200)
    buffer = io.BytesIO()
    dump_svmlight_file(X, y, buffer, zero_based=zero_based, comment="made for a test")
    text = buffer.getvalue()
    theirs, their_y = load_svmlight_file(io.BytesIO(text), n_features=50, zero_based=zero_based)
    ours = load_data(written(text), n_columns=50, zero_based=zero_based)
    assert_same_bits(ours, theirs, their_y)


def assert_same_bits(data, X, y):
    assert data.X.shape == X.shape
    np.testing.assert_array_equal(data.X.indptr, X.indptr)
    np.testing.assert_array_equal(data.X.indices, X.indices)
    np.testing.assert_array_equal(data.X.data.view(np.uint64), X.data.view(np.uint64))
    np.testing.assert_array_equal(data.y, y)


finite = st.floats(allow_nan=False, allow_infinity=False)


@settings(deadline=None, max_examples=60)
@given(
    rows=st.lists(st.tuples(finite, st.dictionaries(st.integers(0, 60), finite, max_size=6)), min_size=1),
    zero_at_the_end=finite,
)
def test_what_is_saved_is_read_back(tmp_path_factory, rows, zero_at_the_end):
    rows = [*rows, (0.0, {60: zero_at_the_end})]
    path = tmp_path_factory.mktemp("saved") / "rows.svm"
    columns = [sorted(row) for _, row in rows]
    starts = np.cumsum([0, *map(len, columns)])
    values = np.array([row[j] for (_, row), js in zip(rows, columns, strict=True) for j in js])
    X = csr_array((values, np.array([j for js in columns for j in js]), starts), shape=(len(rows), 61))
    save_data(Data(X, np.array([label for label, _ in rows])), path)
    assert_same_bits(load_data(path), X, [label for label, _ in rows])


def test_unsorted_and_repeated_columns_are_put_in_order_when_saved(tmp_path):
    X = csr_array((np.array([1.0, 2.0, 3.0]), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 3))
    save_data(Data(X, np.array([1])), tmp_path / "rows.svm")
    assert (tmp_path / "rows.svm").read_text() == "1 1:2 3:4\n"
    assert X.indices.tolist() == [2, 0, 2]


def test_dense_rows_are_saved_without_their_zeros(tmp_path):
    X = np.array([[0, 1.5], [2, 0]], dtype=np.float32)
    save_data(Data(X, np.array([True, False])), tmp_path / "rows.txt")
    assert (tmp_path / "rows.txt").read_text() == "1 2:1.5\n0 1:2\n"


def test_many_rows_are_saved_in_pieces(tmp_path):
    X = random_array((3000, 7), density=0.5, format="csr", rng=np.random.default_rng(1))
    y = np.arange(3000) % 3
    save_data(Data(X, y), tmp_path / "rows.svm.gz")
    assert_same_bits(load_data(tmp_path / "rows.svm.gz", n_columns=7), X, y)


def test_text_labels_cannot_be_saved(tmp_path):
    with pytest.raises(InvalidInput, match='LIBSVM text has numbers as labels; got "ham". Write a .csv file'):
        save_data(Data(np.eye(2), np.array(["spam", "ham"])), tmp_path / "rows.svm")
    assert list(tmp_path.iterdir()) == []


@settings(deadline=None, max_examples=200)
@given(content=st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "any.svm"
    path.write_bytes(content)
    with suppress(FileFormatError):
        assert load_data(path, n_columns=100).n_columns == 100
