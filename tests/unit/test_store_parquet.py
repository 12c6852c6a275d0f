"""Parquet put on disk as rows: the same rows as load_data reads, in little memory."""

import numpy as np
import pandas as pd
import pytest

import maxmargin.io.tables.arrow_files as module
from maxmargin import load_data, open_store, store_data, train
from maxmargin.errors import FileFormatError


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(module, "VALUES_AT_ONCE", 100)


def people(n=300):
    random = np.random.default_rng(2)
    age = random.integers(20, 80, n)
    town = random.choice(["Rome", "Oslo", "Bern"], n)
    town[-1] = "Wien"  # seen in the last batch only
    is_married = random.choice(["true", "false"], n)
    rich = np.where(age + 20 * (town == "Oslo") + 20 * random.normal(size=n) > 55, "yes", "no")
    columns = {"age": age, "town": town, "is_married": is_married, "height": random.normal(170, 10, n)}
    return pd.DataFrame(columns | {"rich": rich, "weight": random.integers(1, 4, n).astype(float)})


def check_same(frame, folder, **settings):
    path = folder / "people.parquet"
    frame.to_parquet(path, row_group_size=70)
    store = store_data(path, folder / "stored", **settings)
    data = load_data(path, **settings)
    X = data.X.toarray() if hasattr(data.X, "toarray") else data.X
    assert store.feature_names == data.feature_names
    assert store.encoding == data.encoding
    assert store.is_sparse == hasattr(data.X, "nnz")
    if not store.is_sparse:
        np.testing.assert_array_equal(store.arrays["X"], X)
        assert store.arrays["X"].dtype == X.dtype
    np.testing.assert_array_equal(store.classes[store.arrays["labels"]], data.y)
    if data.sample_weight is not None:
        np.testing.assert_array_equal(store.arrays["weights"], data.sample_weight)
    return store, data


def test_numbers_alone(tmp_path):
    frame = people()[["age", "height", "rich"]]
    check_same(frame, tmp_path)
    check_same(frame.astype({"age": np.float32, "height": np.float32}), tmp_path)


def test_categories_truth_values_weights_and_columns_left_out(tmp_path):
    frame = people()
    store, data = check_same(frame, tmp_path, label="rich", weight="weight", drop=["height"])
    assert "town=Wien" in store.feature_names
    solver = {"loss": "logistic", "solver": "newton"}
    np.testing.assert_array_equal(train(store, **solver).coef, train(data, **solver).coef)
    check_same(frame.astype({"town": "category"}), tmp_path, label="rich")
    check_same(frame, tmp_path, label="rich", categories=["age"])
    check_same(frame, tmp_path, label=-2, encoding=data.encoding, weight="weight")


def test_errors_name_the_row_of_the_file(tmp_path):
    frame = people()
    frame.loc[222, "height"] = np.nan
    frame.to_parquet(tmp_path / "people.parquet")
    with pytest.raises(FileFormatError, match=r'row 222 \(counted from 0\), column "height"'):
        store_data(tmp_path / "people.parquet", tmp_path / "stored", label="rich")
    assert not (tmp_path / "stored").exists()


@pytest.mark.parametrize("missing", ["mean", "median", "most_frequent"])
def test_missing_values_are_replaced_as_in_memory(tmp_path, missing):
    frame = people()
    frame.loc[5:70:3, "height"] = np.nan
    frame.loc[7, "town"] = None
    store, _ = check_same(frame, tmp_path, label="rich", missing=missing)
    assert store.encoding.columns[3].fill is not None


def test_names_are_no_categories(tmp_path):
    frame = people(3000).assign(name=[f"person {k}" for k in range(3000)])
    frame.to_parquet(tmp_path / "people.parquet")
    with pytest.raises(FileFormatError, match='the column "name" has 3,000 different texts'):
        store_data(tmp_path / "people.parquet", tmp_path / "stored", label="rich")


def test_damage_is_named(tmp_path):
    path = tmp_path / "people.parquet"
    people().to_parquet(path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(FileFormatError, match="not Parquet data, or damaged or cut short"):
        store_data(path, tmp_path / "stored")
    assert not (tmp_path / "stored").exists()
    people().to_parquet(path)
    store_data(path, tmp_path / "stored", label="rich")
    assert open_store(tmp_path / "stored").n_rows == 300
