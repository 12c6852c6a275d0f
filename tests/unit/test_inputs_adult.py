"""A real table of mixed columns: the census behind a9a, against pandas and scikit-learn."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from maxmargin import load_data
from maxmargin.encoding import Encoding
from maxmargin.errors import FileFormatError

FOLDER = os.environ.get("MAXMARGIN_DATA")
pytestmark = pytest.mark.skipif(not FOLDER, reason="set MAXMARGIN_DATA to a folder with the benchmark data")


@pytest.fixture(scope="module")
def path():
    return Path(FOLDER) / "adult.tsv.xz"


@pytest.fixture(scope="module")
def frame(path):
    return pd.read_csv(path, sep="\t", na_values="?", skipinitialspace=True)


def test_missing_values_are_found_where_they_are(path, frame):
    features = frame.drop(columns=["label", "split"])
    row = int(np.argmax(features.isna().any(axis=1)))
    name = features.columns[int(np.argmax(features.iloc[row].isna()))]
    with pytest.raises(FileFormatError) as caught:
        load_data(path, drop=["split"])
    assert (caught.value.line, caught.value.path) == (row + 2, path)
    field = list(frame.columns).index(name) + 1
    assert f'"{name}" (field {field}): the value is missing' in str(caught.value)


def test_categories_and_replaced_values_as_scikit_learn_has_them(path, frame, tmp_path):
    data = load_data(path, drop=["split"], missing="most_frequent")
    features = frame.drop(columns=["label", "split"])
    fill = SimpleImputer(strategy="most_frequent")
    blocks = [
        (make_pipeline(fill, OneHotEncoder()) if features[name].dtype.kind != "i" else "passthrough", [name])
        for name in features
    ]
    wanted = make_column_transformer(*blocks, sparse_threshold=1).fit_transform(features)
    assert (wanted != data.X).nnz == 0
    np.testing.assert_array_equal(data.y, frame["label"])
    assert data.n_rows == 48842
    # The training part alone decides how the test part is read.
    is_test = frame["split"] == "test"
    frame[~is_test].to_parquet(tmp_path / "train.parquet")
    frame[is_test].drop(columns="label").to_csv(tmp_path / "test.csv", index=False)
    first = load_data(tmp_path / "train.parquet", label="label", drop=["split"], missing="most_frequent")
    encoding = Encoding.from_fields(first.encoding.to_fields())
    second = load_data(tmp_path / "test.csv", encoding=encoding, unknown="zeros")
    fitted = make_column_transformer(
        *(
            (make_pipeline(fill, OneHotEncoder(handle_unknown="ignore")), [name])
            if features[name].dtype.kind != "i"
            else ("passthrough", [name])
            for name in features
        ),
        sparse_threshold=1,
    ).fit(features[~is_test])
    assert (fitted.transform(features[~is_test]) != first.X).nnz == 0
    assert (fitted.transform(features[is_test]) != second.X).nnz == 0
    assert second.y is None
