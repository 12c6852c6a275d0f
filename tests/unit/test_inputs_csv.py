"""Text tables: headers, quotes, booleans, bad lines; against pandas, pyarrow and Python's own reader."""

import csv
import io
import random
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pytest
from covering import each_row, every_value
from damage import memory_bounded
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import issparse

from maxmargin import SkippedLines, load_data, store_data
from maxmargin.errors import FileFormatError, InvalidParameter
from maxmargin.io.settings import ReadSettings
from maxmargin.io.tables.csv_text import find_layout


def load(text, **settings):
    content = text if isinstance(text, bytes) else text.encode()
    return load_data(io.BytesIO(content), format="csv", **settings)


def dense(X):
    return X.toarray() if issparse(X) else np.asarray(X)


# ---------------------------------------------------------------- names or rows


@each_row(
    ("text", "has_names"),
    [
        ("39,Rome,7,no\n50,Oslo,8,yes\n", False),  # text in the first row, and below it
        ("age,town,n,rich\n39,Rome,7,no\n", True),  # text above numbers
        ("age,town,n,rich\n39,Rome,7,no\n?,Rome,x,no\n", True),
        ("town,sky,rich\nRome,blue,no\nOslo,grey,yes\nRome,blue,yes\n", True),  # unlike all rows
        ("Rome,blue,no\nOslo,grey,yes\nRome,blue,yes\n", False),  # the first row comes again
        ("town,town,rich\nRome,blue,no\nOslo,grey,yes\n", False),  # no two names are the same
        ("town,,rich\nRome,blue,no\nOslo,grey,yes\n", False),  # nor is one of them nothing
        ("town,sky,class\nclass,town,sky\n", True),  # a usual name
        ("1,2,3\n4,5,6\n", False),
    ],
)
def test_the_first_line_is_names_or_a_row(text, has_names):
    layout = find_layout(text.encode(), Path("t.csv"), ReadSettings())
    assert bool(layout.header.names) == has_names
    assert layout.header.n_fields == len(text.splitlines()[0].split(","))


def test_the_user_may_say_whether_there_are_names():
    text = "red,big,yes\nblue,small,no\ngreen,tall,maybe\n"
    guessed = load(text)
    assert (guessed.n_rows, guessed.label) == (2, "yes")
    assert str(guessed).startswith('2 rows, 4 columns; label "yes"; ')
    told = load(text, header=False)
    assert (told.n_rows, told.label) == (3, 2)
    assert str(told).startswith("3 rows, 6 columns, 6 values; label in column 3 of 3; ")
    assert load("1,2,3\n4,5,6\n", header=True).feature_names == ("1", "2")
    with pytest.raises(InvalidParameter, match='header must be True, False or "auto"; got header=1'):
        load(text, header=1)
    with pytest.raises(InvalidParameter, match="header is for text tables; .* is read as npy"):
        load_data(io.BytesIO(b"\x93NUMPY"), header=True)


def test_columns_without_names_go_by_their_order():
    data = load("39,Rome,7,no\n50,Oslo,8,yes\n")
    assert data.feature_names == ("column 1", "column 2=Oslo", "column 2=Rome", "column 3")
    assert not data.encoding.has_names
    for text in ("1,Oslo,2,no\n", "1,Oslo,2\n"):
        np.testing.assert_array_equal(load(text, encoding=data.encoding).X, [[1, 1, 0, 2]])
    assert load("1,Oslo,2\n", encoding=data.encoding).y is None
    with pytest.raises(FileFormatError, match="expected 3 columns, and one with the label if .*; found 5"):
        load("1,Oslo,2,3,no\n", encoding=data.encoding)
    with pytest.raises(InvalidParameter, match='drop="b": .* has no names of columns|has no such column'):
        load("1,2,3\n4,5,6\n", drop=["b"])


# ---------------------------------------------------------------- fields


def test_quotes_separators_line_ends_and_line_breaks():
    text = '\ufeffname;size;"the\nkind"\r\n"a;b";1;"x\r\ny"\r\n"say ""no""";2;z\r\n\r\n a;b ;3;z'
    with pytest.raises(FileFormatError, match="line 7, column 8: expected 3 fields, found 4"):
        load(text, label="the\nkind")
    data = load(text.replace(" a;b ", " ab "), label="the\nkind")
    assert data.feature_names == ("name=a;b", "name=ab", 'name=say "no"', "size")
    assert data.y.tolist() == ["x\r\ny", "z", "z"]


def test_truth_values_are_numbers_and_labels_stay_text():
    data = load("a,b,label\nTRUE,1,true\nfalse,2,false\n,3,true\n", missing="mean")
    np.testing.assert_array_equal(data.X, [[1, 1], [0, 2], [0.5, 3]])
    assert data.y.tolist() == ["true", "false", "true"]
    again = load("b,a\n5,True\n", encoding=data.encoding)
    np.testing.assert_array_equal(again.X, [[1, 5]])
    with pytest.raises(
        FileFormatError, match='line 2, column 3: "a" .*expected a number, as in the training'
    ):
        load("b,a\n5,maybe\n", encoding=data.encoding)


def test_a_text_among_numbers_is_a_mistake_and_a_number_among_texts_a_category():
    with pytest.raises(FileFormatError, match=r'line 4, column 1: expected a number in "a" .*, found "x"'):
        load("a,b,y\n1,1,0\n2,2,1\nx,3,0\n")
    assert load("a,b,y\nu,1,0\n2,2,1\nx,3,0\n").feature_names == ("a=2", "a=u", "a=x", "b")
    data = load("a,b,y\n1,1,0\n2,2,1\nx,3,0\n", categories=["a"])
    assert data.feature_names == ("a=1", "a=2", "a=x", "b")


def test_what_the_first_rows_look_like_does_not_decide():
    texts, numbers = [f"t{n % 9}" for n in range(150)], [str(n % 7) for n in range(200)]
    for column, other in ((texts, numbers), (numbers, texts)):
        rows = [*column, *other]
        with pytest.raises(FileFormatError, match=r'expected a number in "a" .field 1., found "t0"'):
            load("a,b,y\n" + "".join(f"{field},1,0\n" for field in rows))
        rows += [f"t{n % 9}" for n in range(100)]
        assert load("a,b,y\n" + "".join(f"{field},1,0\n" for field in rows)).n_columns == 17


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (["2024-01-05", "2024-01-06"], 'line 2, column 1: "c" .*"2024-01-05" looks like a date'),
        (['"1,5"', '"2,5"'], 'line 2, column 1: "c" .*"1,5" looks like a number with a decimal comma'),
        ([f"word{n}" for n in range(50)], 'the column "c" has 50 different texts in 50 rows'),
    ],
)
def test_columns_that_are_no_categories(column, message):
    text = "c,x,y\n" + "".join(f"{field},1,0\n" for field in column)
    with pytest.raises(FileFormatError, match=message):
        load(text)
    assert load(text, categories="c").n_columns == len(column) + 1
    assert load(text, drop="c").n_columns == 1


def test_unknown_categories_are_named_with_their_line():
    data = load("a,b,y\nu,1,0\nv,2,1\n")
    with pytest.raises(FileFormatError) as caught:
        load("a,b\nu,1\n\n  w,2\n", encoding=data.encoding)
    assert str(caught.value).startswith(
        'the open file, line 4, column 3: "a" (field 1): the category "w" was not in the training table'
    )


def test_one_feature_without_label():
    data = load("a,y\nu,0\nv,1\n")
    np.testing.assert_array_equal(load("a\nv\nu\n", encoding=data.encoding).X, [[0, 1], [1, 0]])


# ---------------------------------------------------------------- bad lines


def test_bad_lines_are_left_out_and_counted(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,town,y\n1,u,0\n2,v\n3,"w,1\n4,v,1\nx,u,0\n5,u,0,9\n6,u,1\n')
    with pytest.raises(FileFormatError, match="line 3, column 4: expected 3 fields, found 2"):
        load_data(path)
    with pytest.warns(SkippedLines) as caught:
        data = load_data(path, skip_bad_lines=True)
    np.testing.assert_array_equal(dense(data.X), [[1, 1, 0], [4, 0, 1], [6, 1, 0]])
    assert data.y.tolist() == [0, 1, 1]
    assert (data.n_skipped, caught[0].message.n_lines) == (4, 4)
    assert data.skipped == (
        "line 3, column 4: expected 3 fields, found 2",
        "line 4, column 3: the quote that opens here is never closed",
        'line 6, column 1: expected a number in "a" (field 1), found "x"',
        "line 7, column 6: expected 3 fields, found 4",
    )
    assert str(caught[0].message) == (
        f"{path}: 4 lines were skipped; the first is line 3, column 4: expected 3 fields, found 2"
    )
    assert Path(caught[0].filename) == Path(__file__)


def test_without_bad_lines_nobody_warns():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load("1,2,0\n3,4,1\n", skip_bad_lines=True).n_skipped == 0


def test_a_file_of_bad_lines_only():
    with pytest.raises(FileFormatError, match="no rows; 2 lines were skipped; the first is line 2"):
        load("a,b,y\n1\n2\n", skip_bad_lines=True)


def test_a_last_line_cut_short_is_an_error():
    text = "a,town,y\n1,u,0\n2,v,1\n"
    for length in range(text.index("2,v") + 1, len(text) - 3):
        with pytest.raises(FileFormatError, match="line 3"):
            load(text[:length])


# ---------------------------------------------------------------- against other readers

fields = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=6)


@settings(deadline=None, max_examples=60)
@given(
    rows=st.lists(st.tuples(st.floats(allow_nan=False, allow_infinity=False), fields, fields), min_size=1),
    separator=st.sampled_from(",;\t"),
    end=st.sampled_from(["\n", "\r\n"]),
    quoting=st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
)
def test_fields_are_those_of_pythons_own_reader(rows, separator, end, quoting):
    target = io.StringIO(newline="")
    writer = csv.writer(target, delimiter=separator, lineterminator=end, quoting=quoting)
    writer.writerow(["number", "some text", "label"])
    writer.writerows((number, text, f"is {label} it") for number, text, label in rows)
    expected = list(csv.reader(io.StringIO(target.getvalue(), newline=""), delimiter=separator))[1:]
    data = load(target.getvalue(), categories=["some text"])
    texts = sorted({row[1] for row in expected})
    assert data.feature_names == ("number", *(f"some text={text}" for text in texts))
    X = np.array([[float(row[0]), *(row[1] == text for text in texts)] for row in expected])
    np.testing.assert_array_equal(dense(data.X), X)
    assert data.y.tolist() == [row[2] for row in expected]


NUMBER = r"[-+]?([0-9]{1,25}\.?[0-9]{0,25}|\.[0-9]{1,20})([eE][-+]?[0-9]{1,2})?"


@settings(deadline=None, max_examples=50)
@given(
    values=st.lists(
        st.tuples(
            st.floats(allow_nan=False, allow_infinity=False).map(repr)
            | st.decimals(allow_nan=False, allow_infinity=False, places=3).map(str)
            | st.from_regex(NUMBER, fullmatch=True),
            st.sampled_from(["u", "v", "w x"]),
        ),
        min_size=1,
        max_size=20,
    )
)
def test_numbers_are_those_of_pandas_pyarrow_and_python_bit_for_bit(values):
    text = "a,town,label\n" + "".join(f"{number},{town},0\n" for number, town in values)
    ours = dense(load(text).X)[:, 0]
    assert ours.tolist() == [float(number) for number, _ in values]
    pandas = pd.read_csv(io.StringIO(text), dtype={"a": float})
    np.testing.assert_array_equal(ours, pandas["a"].to_numpy())
    if not any(number.startswith("+") for number, _ in values):
        convert = pa.csv.ConvertOptions(column_types={"a": pa.float64()})
        arrow = pa.csv.read_csv(io.BytesIO(text.encode()), convert_options=convert)
        np.testing.assert_array_equal(ours, arrow["a"].to_numpy())


def test_a_table_of_some_size_as_pandas_reads_it(tmp_path):
    generator = random.Random(0)
    towns = ["Rome", "Oslo", "San José", "", "NA"]
    rows = [
        [generator.gauss(0, 1), generator.choice(towns), generator.randrange(9), generator.choice("ab")]
        for _ in range(20_000)
    ]
    frame = pd.DataFrame(rows, columns=["x", "town", "n", "kind"])
    frame.to_csv(tmp_path / "t.csv.gz", index=False)
    data = load_data(tmp_path / "t.csv.gz", missing="median")
    read = pd.read_csv(tmp_path / "t.csv.gz")
    filled = read["town"].fillna(read["town"].mode()[0])
    expected = pd.concat([read["x"], pd.get_dummies(filled), read["n"]], axis=1).to_numpy(dtype=float)
    np.testing.assert_array_equal(dense(data.X), expected)
    np.testing.assert_array_equal(data.y, read["kind"])
    assert data.feature_names == ("x", "town=Oslo", "town=Rome", "town=San José", "n")


def test_the_core_alone_reads_text_tables():
    """Tables as text need no pyarrow."""
    import subprocess
    import sys

    program = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "import io; from maxmargin import load_data\n"
        "print(load_data(io.BytesIO(b'a,t,y\\n1,u,0\\n2,v,1\\n')))\n"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert out == '2 rows, 3 columns; label "y"; classes 0 (50 %), 1 (50 %)\n'


def test_labels_that_would_run_together_are_refused(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("x,y\n1,5\n2,90071992547409931\n3,90071992547409932\n")
    with pytest.raises(FileFormatError, match="line 3, column 3: .* the label has so many digits"):
        load_data(file)
    file.write_text("x,y\n1,n5\n2,n90071992547409931\n3,n90071992547409932\n")
    assert len(load_data(file).classes) == 3


@every_value(store=[False, True], before=["", "\n  \n", "a,b\n"])
def test_a_line_of_millions_of_fields_is_refused_at_once(tmp_path, before, store):
    path = tmp_path / "t.csv"
    path.write_text(before + "," * 3_000_000 + "\n")
    line = before.count("\n") + 1
    with (
        memory_bounded(40_000_000),
        pytest.raises(FileFormatError, match="3,000,001 fields in a line") as error,
    ):
        store_data(path, tmp_path / "rows") if store else load_data(path)
    assert error.value.line == line
