"""Tables with categories and missing values, against scikit-learn's encoder and imputer."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow
import pytest
from covering import each_row
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import issparse
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from maxmargin import load_data
from maxmargin.encoding import Encoding, SourceColumn
from maxmargin.errors import FileFormatError, InvalidInput, InvalidParameter

TOWNS = ["Åbo", "Basel", "Cluj", "a, b", 'say "x"', "zwölf", "q"]


def table(n_rows=40, seed=0, gaps=0.0):
    """Return a frame of numbers and text, some of them missing."""
    generator = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": generator.integers(0, 9, n_rows).astype(float),
            "town": generator.choice(TOWNS, n_rows).astype(object),
            "height": generator.normal(size=n_rows).round(2),
            "colour": generator.choice(["red", "blue"], n_rows).astype(object),
            "kind": generator.choice(["yes", "no"], n_rows),
        }
    )
    for name in ("age", "town", "height", "colour"):
        frame.loc[generator.random(n_rows) < gaps, name] = None
    return frame


def dense(X):
    return X.toarray() if issparse(X) else np.asarray(X)


def by_sklearn(train, test, rule, unknown="error"):
    """Return what scikit-learn makes of the two frames, columns in their own order."""
    steps = []
    for name in ("age", "town", "height", "colour"):
        if train[name].dtype.kind == "f":
            steps.append((name, SimpleImputer(strategy=rule), [name]))
        else:
            encode = OneHotEncoder(sparse_output=False, handle_unknown=unknown)
            fill = SimpleImputer(strategy="most_frequent")
            steps.append((name, make_pipeline(fill, encode), [name]))
    train, test = (frame.where(frame.notna(), np.nan) for frame in (train, test))
    found = ColumnTransformer(steps).fit(train)
    return found.transform(train), found.transform(test)


# How a frame gets into load_data.
SOURCES = {
    "pandas": lambda frame, folder: frame,
    "polars": lambda frame, folder: pl.from_pandas(frame),
    "pyarrow": lambda frame, folder: pyarrow.Table.from_pandas(frame, preserve_index=False),
    "parquet": lambda frame, folder: saved(frame, folder / "t.parquet", frame.to_parquet),
    "csv": lambda frame, folder: saved(frame, folder / "t.csv", lambda path: frame.to_csv(path, index=False)),
    "arrow": lambda frame, folder: saved(frame, folder / "t.feather", frame.to_feather),
}


def saved(frame, path, save):
    save(path)
    return path


@pytest.fixture(params=SOURCES)
def source(request, tmp_path):
    return lambda frame: SOURCES[request.param](frame, tmp_path)


@pytest.mark.parametrize("rule", ["mean", "median", "most_frequent"])
def test_categories_and_missing_values_as_scikit_learn_has_them(source, rule):
    train, test = table(gaps=0.2), table(seed=1, gaps=0.3)
    wanted_train, wanted_test = by_sklearn(train, test, rule)
    data = load_data(source(train), missing=rule)
    np.testing.assert_allclose(dense(data.X), wanted_train, rtol=1e-15)
    np.testing.assert_array_equal(data.y, train["kind"])
    further = load_data(source(test), encoding=data.encoding)
    np.testing.assert_allclose(dense(further.X), wanted_test, rtol=1e-15)
    assert data.feature_names == further.feature_names == data.encoding.feature_names
    assert data.feature_names[:3] == ("age", "town=Basel", "town=Cluj")


def test_unknown_categories_are_refused_or_zeros(source):
    train, test = table(), table(seed=1)
    test.loc[7, "town"] = "Dover"
    encoding = load_data(source(train)).encoding
    with pytest.raises(FileFormatError) as caught:
        load_data(source(test), encoding=encoding)
    for part in ('"town"', '"Dover" was not in the training table', 'unknown="zeros"'):
        assert part in str(caught.value)
    _, wanted = by_sklearn(train, test, "mean", unknown="ignore")
    found = load_data(source(test), encoding=encoding, unknown="zeros")
    np.testing.assert_array_equal(dense(found.X), wanted)


def test_columns_are_found_by_name_and_others_ignored(source):
    train = table()
    data = load_data(source(train))
    shuffled = train[["kind", "colour", "height", "town", "age"]].assign(id=range(len(train)))
    again = load_data(source(shuffled), encoding=data.encoding, label="kind")
    np.testing.assert_array_equal(dense(again.X), dense(data.X))
    np.testing.assert_array_equal(again.y, data.y)
    assert again.encoding == data.encoding
    unlabelled = load_data(source(train.drop(columns="kind")), encoding=data.encoding)
    assert unlabelled.y is None
    assert str(unlabelled).endswith("; no labels")
    np.testing.assert_array_equal(dense(unlabelled.X), dense(data.X))


def test_labels_that_are_all_missing_are_no_labels(source):
    train = table()
    encoding = load_data(source(train)).encoding
    assert load_data(source(train.assign(kind=None)), encoding=encoding, label="kind").y is None
    with pytest.raises(FileFormatError, match='"kind".*the label is missing'):
        load_data(source(train.assign(kind=[None, *train["kind"][1:]])), encoding=encoding)
    with pytest.raises(FileFormatError, match='"kind".*the label is missing'):
        load_data(source(train.assign(kind=[*train["kind"][1:], None])))


def test_a_column_that_is_not_there(source):
    encoding = load_data(source(table())).encoding
    with pytest.raises(FileFormatError, match='"colour" is needed, which is not there; did you mean "color"'):
        load_data(source(table().rename(columns={"colour": "color"})), encoding=encoding)
    with pytest.raises(FileFormatError, match=r'"age" is needed.*\(nor are 1 others\)'):
        load_data(source(table()[["town", "height", "kind"]]), encoding=encoding)


@pytest.mark.parametrize("name", ["age", "town"])
def test_missing_values_are_refused_with_row_and_column(name, tmp_path):
    frame = table()
    frame.loc[[11, 30], name] = None
    for kind, make in SOURCES.items():
        with pytest.raises(FileFormatError) as caught:
            load_data(make(frame, tmp_path))
        place = (
            f', line 13, column {1 if name == "age" else 5}: "{name}" (field {1 if name == "age" else 2})'
            if kind == "csv"
            else f'row 11 (counted from 0), column "{name}"'
        )
        assert f"{place}: the value is missing" in str(caught.value)
        assert 'missing="median" replaces it (or "mean", "most_frequent")' in str(caught.value)


def test_an_encoding_without_replacements_refuses_missing_values(source):
    encoding = load_data(source(table())).encoding
    frame = table(seed=1)
    frame.loc[3, "colour"] = None
    with pytest.raises(FileFormatError, match='"colour".*nothing stands for it'):
        load_data(source(frame), encoding=encoding)


def test_a_column_without_any_value(source):
    frame = table().assign(age=np.nan)
    with pytest.raises(FileFormatError, match='column "age" has no value at all; leave it out by drop='):
        load_data(source(frame), missing="mean")
    assert "age" not in load_data(source(frame), drop=["age"]).feature_names


def test_a_binary_copy_keeps_everything(tmp_path):
    table(gaps=0.2).assign(w=2.0).to_csv(tmp_path / "t.csv", index=False)
    settings = {"label": "kind", "weight": "w", "missing": "mean", "drop": ["colour"]}
    first = load_data(tmp_path / "t.csv", **settings)
    load_data(tmp_path / "t.csv", cache=True, **settings)
    again = load_data(tmp_path / "t.csv", cache=True, **settings)
    np.testing.assert_array_equal(dense(again.X), dense(first.X))
    np.testing.assert_array_equal(again.y, first.y)
    np.testing.assert_array_equal(again.sample_weight, first.sample_weight)
    assert (again.encoding, again.feature_names, again.label) == (first.encoding, first.feature_names, "kind")


def test_an_encoding_is_no_way_to_read_sparse_text(tmp_path):
    (tmp_path / "t.svm").write_text("1 1:2\n")
    encoding = load_data(table()).encoding
    with pytest.raises(InvalidParameter, match="encoding is for tables; .* is read as LIBSVM text"):
        load_data(tmp_path / "t.svm", encoding=encoding)


def test_drop_weight_and_categories_of_numbers(source):
    frame = table().assign(count=lambda frame: frame.index % 3 + 0.5).astype({"age": int})
    data = load_data(source(frame), label="kind", weight="count", drop=["town", 3], categories=["age"])
    assert [column.kind for column in data.encoding.columns] == ["categories", "dropped", "number", "dropped"]
    assert data.feature_names[:2] == ("age=0", "age=1")
    assert data.feature_names[-1] == "height"
    np.testing.assert_array_equal(data.sample_weight, frame["count"])
    ages = pd.get_dummies(frame["age"]).to_numpy(dtype=float)
    np.testing.assert_array_equal(dense(data.X), np.column_stack([ages, frame["height"]]))
    assert '; label "kind"; ' in str(data)


@each_row(
    ("settings", "message"),
    [
        ({"label": "knid"}, 'label="knid": .* no such column; did you mean "kind"\\? its columns are "age"'),
        ({"label": 5}, "label=5: .* has the columns 0 to 4"),
        ({"weight": "wait"}, 'weight="wait": .* has no such column'),
        ({"weight": "kind", "label": "kind"}, '"kind" of .* cannot be both label and weight'),
        ({"drop": ["kind"]}, "drop: 'kind' of .* is the label, no feature"),
        ({"drop": [0], "categories": ["age"]}, "'age' of .* is in drop and in categories"),
        ({"drop": [0, 1, 2, 3]}, "no column is left as a feature"),
        ({"zero_based": True}, "zero_based is for LIBSVM text"),
    ],
)
def test_settings_that_do_not_fit_the_table(settings, message):
    with pytest.raises(InvalidParameter, match=message):
        load_data(table(), **settings)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, -2.0, 1.0], r'row 1 .*"w": expected a weight \(a finite number, 0 or larger\), found -2'),
        ([1.0, np.inf, 1.0], "row 1 .* found inf"),
        ([1.0, 1.0, np.nan], "row 2 .* found nothing"),
        (["1", "x", "3"], 'row 0 .*"w": expected a weight, found "1"'),
    ],
)
def test_weights_are_checked(values, message):
    with pytest.raises(FileFormatError, match=message):
        load_data(pd.DataFrame({"x": [1.0, 2, 3], "w": values, "y": [0, 1, 0]}), weight="w")


def test_weights_that_are_all_zero():
    with pytest.raises(ValueError, match="all weights are 0"):
        load_data(pd.DataFrame({"x": [1.0, 2], "w": [0, 0], "y": [0, 1]}), weight="w")


@each_row(
    ("column", "message"),
    [
        ([f"id{n}" for n in range(60)], 'column "c" has 60 different texts in 60 rows: an identifier'),
        (["2024-01-05"] * 60, '"2024-01-05" looks like a date; make numbers of it'),
        (["5.1.2024 12:30"] * 60, '"5.1.2024 12:30" looks like a date'),
        (["1,5", "2,25"] * 30, "looks like a number with a decimal comma; write decimal points"),
        (pd.date_range("2024-01-05", periods=60), 'column "c" holds dates or times'),
        ([[1, 2]] * 60, 'column "c" is of type list'),
        ([b"x"] * 60, 'column "c" is of type binary'),
        ([1.0, np.inf] * 30, 'row 1 .counted from 0., column "c": expected a finite number, found inf'),
    ],
)
def test_columns_that_are_neither_numbers_nor_categories(column, message):
    frame = pd.DataFrame({"c": column, "x": 1.0, "y": [0, 1] * 30})
    with pytest.raises(FileFormatError, match=message) as caught:
        load_data(frame)
    if "expected" not in message and "list" not in message and "binary" not in message:
        assert 'drop=["c"]' in str(caught.value)
        assert load_data(frame, categories=["c"]).n_columns == frame["c"].nunique() + 1
    assert load_data(frame, drop="c").n_columns == 1


def test_more_than_a_thousand_categories_are_asked_for():
    frame = pd.DataFrame({"c": [f"t{n % 1001}" for n in range(4000)], "x": 1.0, "y": 0})
    with pytest.raises(FileFormatError, match=r"1,001 different texts"):
        load_data(frame)
    assert load_data(frame, categories="c").X.shape == (4000, 1002)
    stated = frame.assign(c=frame["c"].astype("category"))  # whose type says so
    assert load_data(stated).X.nnz == 8000


def test_truth_values_are_numbers():
    frame = pd.DataFrame({"b": [True, False, True], "t": ["True", "false", None], "y": [True, False, False]})
    data = load_data(frame, missing="mean")
    np.testing.assert_array_equal(data.X, [[1, 1], [0, 0], [1, 0.5]])
    assert data.y.dtype == bool
    assert data.feature_names == ("b", "t")
    again = load_data(frame.assign(b=["true", "FALSE", "true"]), encoding=data.encoding)
    np.testing.assert_array_equal(again.X, data.X)


def test_sparse_where_most_values_are_zero_dense_otherwise():
    frame = pd.DataFrame({"c": ["a", "b"] * 10, "x": 1.0, "y": 0})
    assert not issparse(load_data(frame).X)
    frame["c"] = [str(n % 7) + "x" for n in range(20)]
    X = load_data(frame).X
    assert issparse(X)
    assert X.has_canonical_format
    assert X.nnz == 40
    zeros = load_data(frame.assign(x=[0.0, 1] * 10)).X
    assert zeros.nnz == 30  # no zero is stored
    assert (zeros.indices.dtype, zeros.indptr.dtype) == (np.int32, np.int32)


def test_numbers_alone_have_no_encoding():
    data = load_data(pd.DataFrame({"a": [1.0, 2], "b": [3, 4], "y": [0, 1]}))
    assert data.encoding is None
    assert data.feature_names == ("a", "b")


def test_repeated_names_are_refused_where_names_decide():
    frame = pd.DataFrame([[1.0, 2.0, "u", 0]], columns=["a", "b", "t", "y"])
    table = pyarrow.Table.from_pandas(frame).rename_columns(["a", "a", "t", "y"])
    with pytest.raises(FileFormatError, match='two columns have the name "a"'):
        load_data(table)
    assert load_data(table.drop_columns("t")).feature_names == ("a", "a")


# ---------------------------------------------------------------- any table

words = st.none() | st.sampled_from(["", "a", "b", "ä", "NA", "1", "x y"])
numbers = st.none() | st.floats(allow_nan=False, allow_infinity=False, width=32)


@settings(deadline=None, max_examples=30)
@given(
    rows=st.lists(st.tuples(numbers, words, numbers, words), min_size=1, max_size=30),
    further=st.lists(st.tuples(numbers, words, numbers, words), min_size=1, max_size=10),
    rule=st.sampled_from(["mean", "median", "most_frequent"]),
)
def test_any_table_as_scikit_learn_has_it(rows, further, rule):
    names = ["age", "town", "height", "colour"]
    train, test = (pd.DataFrame(given, columns=names) for given in (rows, further))
    for frame in (train, test):
        for name in names:
            frame[name] = frame[name].astype(float if name in ("age", "height") else object)
    if any(train[name].isna().all() for name in names):
        with pytest.raises(FileFormatError, match="has no value at all"):
            load_data(train.assign(y=0), missing=rule)
        return
    with np.errstate(over="ignore"):
        wanted_train, wanted_test = by_sklearn(train, test, rule, unknown="ignore")
    data = load_data(train.assign(y=0), missing=rule)
    np.testing.assert_allclose(dense(data.X), wanted_train, rtol=1e-12)
    found = load_data(test, encoding=Encoding.from_fields(data.encoding.to_fields()), unknown="zeros")
    np.testing.assert_allclose(dense(found.X), wanted_test, rtol=1e-12)


@each_row(
    ("fields", "reason"),
    [
        ({"kind": "colours"}, "a column's name and one of"),
        ({"name": 3}, "a column's name and one of"),
        ({"kind": "categories"}, "if and only if its kind says so"),
        ({"categories": ("a",)}, "if and only if its kind says so"),
        ({"kind": "categories", "categories": ("b", "a")}, "in ascending order and each once"),
        ({"kind": "categories", "categories": ("a", "a")}, "in ascending order and each once"),
        ({"kind": "categories", "categories": ("a", 3)}, "categories must be text"),
        (
            {"kind": "categories", "categories": ("a", "b"), "fill": "c"},
            "'c' cannot stand for a missing value",
        ),
        ({"kind": "dropped", "fill": 1.0}, "1.0 cannot stand for a missing value"),
        ({"fill": True}, "True cannot stand for a missing value"),
        ({"fill": float("inf")}, "inf cannot stand for a missing value"),
        ({"fill": "a"}, "'a' cannot stand for a missing value"),
    ],
)
def test_columns_that_no_table_has_are_refused(fields, reason):
    with pytest.raises(InvalidInput, match=reason):
        SourceColumn(**{"name": "size", **fields})


def test_two_columns_of_an_encoding_have_two_names():
    with pytest.raises(InvalidInput, match="must have different names"):
        Encoding((SourceColumn("size"), SourceColumn("size")))
