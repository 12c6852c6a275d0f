"""Tables as text: separators, headers, labels, how errors read."""

import csv
from contextlib import suppress

import numpy as np
import pytest
from covering import each_row
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from maxmargin import store_data
from maxmargin.data import Data
from maxmargin.errors import FileFormatError, InvalidInput, InvalidParameter, SkippedLines
from maxmargin.io.load import load_data
from maxmargin.io.save import save_data


@pytest.fixture
def written(tmp_path):
    def write(text, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_header_names_and_default_label(written):
    data = load_data(written("a,b,c\n1,2,0\n3,4.5,1\n"))
    np.testing.assert_array_equal(data.X, [[1, 2], [3, 4.5]])
    np.testing.assert_array_equal(data.y, [0, 1])
    assert data.X.flags.c_contiguous
    assert data.X.dtype == np.float64
    assert (data.feature_names, data.label, data.scheme) == (("a", "b"), "c", "csv")
    assert str(data) == '2 rows, 2 columns; label "c"; classes 0 (50 %), 1 (50 %)'


@pytest.mark.parametrize("name", ["label", "y", "Target", "CLASS"])
def test_usual_label_names_win_over_the_last_column(written, name):
    data = load_data(written(f"a,{name},b\n1,7,2\n"))
    assert data.y.tolist() == [7]
    assert data.label == name
    assert data.feature_names == ("a", "b")


def test_without_header_the_last_column_is_the_label(written):
    data = load_data(written("1,2,5\n3,4,6\n"))
    assert data.y.tolist() == [5, 6]
    assert data.feature_names is None
    assert data.label == 2
    assert str(data) == "2 rows, 2 columns; label in column 3 of 3; classes 5 (50 %), 6 (50 %)"


@each_row(
    ("text", "label", "names", "labels"),
    [
        ("1,2,setosa\n3,4,other\n", None, None, ["setosa", "other"]),  # text labels are no header
        ("M,1,2\nB,3,4\n", 0, None, ["M", "B"]),
        ("kind,1,2\n5,3,4\n", 0, ("1", "2"), [5]),  # text above a number is a header
        ("label,0,1\n5,3,4\n", None, ("0", "1"), [5]),
        (",NA,a\n1,2,3\n", None, ("", "NA"), [3]),  # as spreadsheets with a nameless first column
        ("1,2,3\n4,5,6\n", -1, None, [3, 6]),
        ("\ufeff1,2,3\n4,5,6\n", None, None, [3, 6]),
        ("a,b,c\n1,2,3\n", "b", ("a", "c"), [2]),
        ("a;b,c\n1,2\n", None, ("a;b",), [2]),  # the semicolon is part of a name
        ("1,2,3\n4,5,6\n", "2", ("1", "3"), [5]),  # a name asks for a header
    ],
)
def test_headers_are_told_from_rows(written, text, label, names, labels):
    data = load_data(written(text), label=label)
    assert data.feature_names == names
    assert data.y.tolist() == labels


@pytest.mark.parametrize(
    ("text", "name"),
    [("1;2;3\n4;5;6", "t.csv"), ("1\t2\t3\n4\t5\t6", "t.tsv"), ("1, 2 ,3\r\n4,5 , 6\r\n", "t.csv")],
)
def test_separators_are_found(written, text, name):
    data = load_data(written(text, name))
    np.testing.assert_array_equal(data.X, [[1, 2], [4, 5]])
    np.testing.assert_array_equal(data.y, [3, 6])


def test_quotes_in_header_labels_and_numbers(written):
    data = load_data(written('\ufeff"length, cm","b ""x""",kind\n"1",2,"one, two"\n3,4,"say ""no"""\n'))
    assert data.feature_names == ("length, cm", 'b "x"')
    assert data.y.tolist() == ["one, two", 'say "no"']
    np.testing.assert_array_equal(data.X, [[1, 2], [3, 4]])


def test_text_labels_are_sorted_into_classes(written):
    data = load_data(written("x,kind\n1,b\n2,a\n3,é\n4,a\n"))
    assert data.classes.tolist() == ["a", "b", "é"]
    assert data.y.tolist() == ["b", "a", "é", "a"]


LATIN_1 = 'text_encoding="latin-1" reads it if that is its encoding'
MISSING = 'the value is missing; missing="median" replaces it (or "mean", "most_frequent")'


@each_row(
    ("text", "message"),
    [
        ("a,b,c\n1,2,0\n1,x,0\n", ', line 3, column 3: expected a number in "b" (field 2), found "x"'),
        ("1,2,0\n1,x,0\n", ', line 2, column 3: expected a number in field 2, found "x"'),
        ("1,2,0\n1,,0\n", f", line 2, column 3: field 2: {MISSING}"),
        ("a,b,c\n1,NA,0\n", f', line 2, column 3: "b" (field 2): {MISSING}'),
        ("1,2,0\n1, nan,0\n", f", line 2, column 4: field 2: {MISSING}"),
        ('1,2,0\n1,"",0\n', f", line 2, column 3: field 2: {MISSING}"),
        ('1,2,0\n1,"NA",0\n', ', line 2, column 4: expected a number in field 2, found "NA"'),
        ("1,2,0\n1,inf,0\n", ', line 2, column 3: expected a finite number in field 2, found "inf"'),
        ("1,u,0\n1,,0\n1,?,0\n1,v,0\n", f", line 2, column 3: field 2: {MISSING}"),
        (
            "1,2,0\n1,1e999,0\n",
            ', line 2, column 3: a number too large for a double in field 2, found "1e999"',
        ),
        ("1,2,0\n1,2,\n", ", line 2, column 5: field 3: the label is missing; every row needs one"),
        ("1,2,0\n1,2,inf\n", ', line 2, column 5: expected a finite number, found "inf"'),
        ("1,2,0\n\n1,2\n", ", line 3, column 4: expected 3 fields, found 2"),
        ("1,2,0\n1,2,0,4\n", ", line 2, column 6: expected 3 fields, found 4"),
        ('1,2,0\n1,2,"0\n', ", line 2, column 5: the quote that opens here is never closed"),
        ('1,2,0\n1,2,"0"0\n', ", line 2, column 8: expected the separator after a closing quote"),
        ('"a,1\n1,2\n', ", line 1, column 1: the quote that opens here is never closed"),
        (
            "1\n2\n",
            ", line 1: expected fields separated by commas, semicolons or tabs; "
            "separator=… names another character",
        ),
        ("", ": the file has no rows"),
        ("a,b\n", ": the file has a header but no rows"),
        ("\ufefflabel,b\n1,2\n".encode("utf-16"), ': the text is in UTF-16; text_encoding="utf-16" reads it'),
        (b"\xe9t\xe9,b\n1,2\n", f', line 1, column 1: expected UTF-8 text, found "\\xe9t\\xe9"; {LATIN_1}'),
        (b"1,\xe9\n", f', line 1, column 3: expected UTF-8 text in field 2, found "\\xe9"; {LATIN_1}'),
        (
            b"a,y\nb,1\ncaf\xe9,0\n",
            f', line 3, column 1: expected UTF-8 text in "a" (field 1), found "caf\\xe9"; {LATIN_1}',
        ),
    ],
)
def test_errors_name_file_line_column_and_field(written, text, message):
    path = written(text)
    with pytest.raises(FileFormatError) as caught:
        load_data(path)
    assert str(caught.value) == f"{path}{message}"


def test_n_columns_must_be_what_the_table_has(written):
    path = written("1,2,3\n")
    assert load_data(path, n_columns=2).n_columns == 2
    with pytest.raises(FileFormatError, match="expected 5 columns beside the label, found 2"):
        load_data(path, n_columns=5)


@each_row(
    ("text", "label", "message"),
    [
        ("a,b\n1,2\n", "c", 'label="c": {path} has no such column; its columns are "a", "b"'),
        ("a,a,b\n1,2,3\n", "a", 'label="a": {path} has 2 columns of this name'),
        ("a,b\n1,2\n", 2, "label=2: {path} has the columns 0 to 1"),
        ("a,b\n1,2\n", -3, "label=-3: {path} has the columns 0 to 1"),
        ("y,class,b\n1,2,3\n", None, '{path}: the label may be any of "y", "class"; say which by label=…'),
    ],
)
def test_label_must_be_one_column(written, text, label, message):
    path = written(text)
    with pytest.raises(InvalidParameter) as caught:
        load_data(path, label=label)
    assert str(caught.value) == message.format(path=path)


def test_long_lists_of_columns_are_cut(written):
    path = written(",".join(f"c{j}" for j in range(20)) + "\n" + ",".join("1" * 20) + "\n")
    with pytest.raises(InvalidParameter, match='"c6", "c7", …$'):
        load_data(path, label="x")


finite = st.floats(allow_nan=False, allow_infinity=False)
# Text that is a number would come back as one.
words = st.text(st.characters(codec="utf-8"), min_size=1).filter(lambda word: not is_number(word))


def is_number(word):
    try:
        float(word)
    except ValueError:
        return False
    return True


@settings(deadline=None, max_examples=60)
@given(
    rows=st.lists(st.tuples(finite, finite, st.sampled_from("abc")), min_size=1),
    names=st.tuples(words, words),
    kinds=st.lists(words, min_size=3, max_size=3, unique=True),
    suffix=st.sampled_from([".csv", ".tsv"]),
)
def test_what_is_saved_is_read_back(tmp_path_factory, rows, names, kinds, suffix):
    path = tmp_path_factory.mktemp("saved") / f"table{suffix}"
    X = np.array([row[:2] for row in rows])
    y = np.array([kinds["abc".index(row[2])] for row in rows])
    save_data(Data(X, y, feature_names=names, label="the label"), path)
    data = load_data(path, label="the label")
    np.testing.assert_array_equal(data.X.view(np.uint64), X.view(np.uint64))
    np.testing.assert_array_equal(data.y, y)
    assert data.feature_names == names


def test_sparse_rows_and_default_names_are_saved(tmp_path):
    save_data(Data(csr_array(np.array([[0, 0.1], [3, 0]])), np.array([1, 2])), tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == "x1,x2,label\n0.0,0.1,1\n3.0,0.0,2\n"


def test_python_reads_the_same_from_what_is_saved(tmp_path):
    X = np.random.default_rng(0).normal(size=(2500, 3))
    save_data(Data(X, np.arange(2500)), tmp_path / "t.tsv")
    with (tmp_path / "t.tsv").open(newline="") as file:
        rows = list(csv.reader(file, delimiter="\t"))
    np.testing.assert_array_equal(np.array(rows[1:], dtype=float)[:, :3], X)


@pytest.mark.parametrize("name", ["t.csv", "t.svm"])
def test_what_cannot_be_read_back_is_not_saved(tmp_path, name):
    path = tmp_path / name
    with pytest.raises(InvalidInput, match="X has NaN or infinite numbers, which cannot be written"):
        save_data(Data(np.array([[np.nan]]), np.array([1])), path)
    with pytest.raises(InvalidInput, match="y has NaN or infinite numbers"):
        save_data(Data(np.array([[1.0]]), np.array([np.inf])), path)
    assert list(tmp_path.iterdir()) == []


@settings(deadline=None, max_examples=200)
@given(content=st.binary(max_size=200) | st.text('01,;"\n\t ab.').map(str.encode))
def test_any_bytes_are_read_or_refused(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(content)
    with suppress(FileFormatError, InvalidParameter):
        data = load_data(path)
        assert np.all(np.isfinite(data.X))


@pytest.mark.parametrize("read", [load_data, lambda path, **how: store_data(path, f"{path}.rows", **how)])
def test_lines_that_are_no_utf8_are_skipped_like_others(written, read):
    path = written(b"a,y\ncaf\xe9,0\nb,1\nc,0\n\xe9,2\n1,2,3\nb,\xe9\n")
    with pytest.warns(SkippedLines) as told:
        data = read(path, skip_bad_lines=True)
    assert str(told[0].message) == (
        f"{path}: 4 lines were skipped; the first is line 2, column 1: expected UTF-8 text in "
        '"a" (field 1), found "caf\\xe9"'
    )
    assert data.n_rows == 2
    assert data.feature_names == ("a=b", "a=c")
    assert data.classes.tolist() == [0, 1]


def test_text_of_a_line_left_out_for_something_else_need_not_be_utf8(tmp_path):
    path = tmp_path / "short.csv"
    path.write_bytes(b"height,kind,y\n2,tall,0\n-1,small,1\n0.1,t\xe9\n")
    with pytest.warns(SkippedLines, match="1 line"):
        data = load_data(path, skip_bad_lines=True)
    assert data.feature_names == ("height", "kind=small", "kind=tall")
