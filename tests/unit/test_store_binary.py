"""Arrow's and NumPy's files put on disk as rows: the bits that load_data reads, in small batches."""

import gzip
import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from covering import each_row, every_pair, every_value
from reference.stored import check_same, check_same_error, dense_rows

import maxmargin.io.numpy_batches as numpy_batches
import maxmargin.io.tables.arrow_files as arrow
from maxmargin import Data, load_data, save_data, store_data
from maxmargin.errors import FileFormatError, InvalidInput

RANDOM = np.random.default_rng(4)
X = RANDOM.normal(size=(301, 5))
Y = np.array(["no", "yes"])[(X[:, 0] > 0).astype(int)]
WEIGHT = RANDOM.integers(1, 4, 301).astype(float)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(arrow, "VALUES_AT_ONCE", 100)
    monkeypatch.setattr(numpy_batches, "VALUES_AT_ONCE", 100)
    monkeypatch.setattr("maxmargin.io.numpy_batches.VALUES_AT_ONCE", 100)


# ---------------------------------------------------------------- Arrow


def people(n=300):
    town = RANDOM.choice(["Rome", "Oslo", "Bern"], n)
    town[-1] = "Wien"
    columns = {"age": RANDOM.integers(20, 80, n), "town": town, "height": RANDOM.normal(170, 10, n)}
    columns |= {"married": RANDOM.random(n) > 0.5, "rich": RANDOM.choice(["yes", "no"], n)}
    return pd.DataFrame(columns)


def written(folder, frame, kind, rows=70, **options):
    table = pa.Table.from_pandas(frame)
    path = folder / f"people.{'arrows' if kind == 'stream' else 'arrow'}"
    make = pa.ipc.new_stream if kind == "stream" else pa.ipc.new_file
    with make(str(path), table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table, max_chunksize=rows)
    return path


@every_pair(kind=["file", "stream"], options=[{}, {"compression": "lz4"}], rows=[70, 10_000])
def test_arrow_is_what_load_data_reads(tmp_path, kind, options, rows):
    frame = people()
    path = written(tmp_path, frame, kind, rows, **options)
    store, _ = check_same(path, tmp_path / "stored", drop=["town"])
    np.testing.assert_array_equal(dense_rows(store), frame[["age", "height", "married"]].to_numpy(float))
    store, _ = check_same(path, tmp_path / "stored")
    assert "town=Wien" in store.feature_names
    check_same(path, tmp_path / "stored", categories=["age"])
    frame["town"] = frame["town"].astype("category")
    check_same(written(tmp_path, frame, kind, rows, **options), tmp_path / "stored", label="married")


@every_value(dtype=[np.float32, np.float64], missing=["mean", "median", "most_frequent"])
def test_missing_values_of_arrow(tmp_path, missing, dtype):
    frame = pd.DataFrame(X.astype(dtype), columns=list("abcde")).assign(y=Y)
    frame.loc[3:200:7, "c"] = np.nan
    path = written(tmp_path, frame, "file")
    store, _ = check_same(path, tmp_path / "stored", missing=missing)
    assert store.arrays["X"].dtype == dtype
    assert 'row 3 (counted from 0), column "c"' in check_same_error(path, tmp_path / "other")


def test_feather_and_what_save_data_wrote(tmp_path):
    frame = people()
    frame.to_feather(tmp_path / "people.feather")
    check_same(tmp_path / "people.feather", tmp_path / "stored")
    save_data(load_data(frame), tmp_path / "saved.arrow")
    store, _ = check_same(tmp_path / "saved.arrow", tmp_path / "stored")
    assert store.encoding == load_data(frame).encoding
    data = Data(X, Y, sample_weight=WEIGHT)
    for name in ("weighted.arrow", "weighted.parquet"):
        save_data(data, tmp_path / name)
        check_same(tmp_path / name, tmp_path / "stored")


def test_packed_streams_are_read_and_packed_files_refused(tmp_path):
    stream = written(tmp_path, people(), "stream")
    path = tmp_path / "people.arrows.gz"
    path.write_bytes(gzip.compress(stream.read_bytes()))
    check_same(path, tmp_path / "stored")
    file = written(tmp_path, people(), "file")
    path = tmp_path / "people.arrow.gz"
    path.write_bytes(gzip.compress(file.read_bytes()))
    with pytest.raises(FileFormatError, match="a packed Arrow file is read whole: unpack it first"):
        store_data(path, tmp_path / "other")


@pytest.mark.parametrize("kind", ["file", "stream"])
def test_damaged_arrow(tmp_path, kind):
    path = written(tmp_path, people(), kind)
    content = path.read_bytes()
    for length in (len(content) - 8, len(content) // 2, 40):
        path.write_bytes(content[:length])
        with pytest.raises(FileFormatError, match="Arrow"):
            store_data(path, tmp_path / "stored")
        assert not (tmp_path / "stored").exists()


def test_arrow_without_rows_or_labels(tmp_path):
    path = written(tmp_path, people().iloc[:0], "file")
    check_same_error(path, tmp_path / "stored")
    encoding = load_data(people()).encoding
    path = written(tmp_path, people().drop(columns="rich"), "file")
    with pytest.raises(FileFormatError, match="there are no labels"):
        store_data(path, tmp_path / "stored", encoding=encoding)


# ---------------------------------------------------------------- .npy


@every_value(dtype=["<f8", ">f8", "<f4", "<f2", "<i4", "|u1", "|b1"], order=["C", "F"])
def test_npy_is_what_load_data_reads(tmp_path, dtype, order):
    table = np.array(np.column_stack([10 * X, X[:, 0] > 0]).clip(0), dtype=dtype, order=order)
    path = tmp_path / "table.npy"
    np.save(path, table)
    store, _ = check_same(path, tmp_path / "stored")
    np.testing.assert_array_equal(dense_rows(store), table[:, :5].astype(float))
    if dtype != "|b1":
        check_same(path, tmp_path / "stored", label=0, weight=5, categories=[2])


def test_packed_npy(tmp_path):
    path = tmp_path / "table.npy.gz"
    np.save(tmp_path / "table.npy", np.column_stack([X, X[:, 0] > 0]))
    content = (tmp_path / "table.npy").read_bytes()
    path.write_bytes(gzip.compress(content))
    check_same(path, tmp_path / "stored")
    for cut in (-8, 100):
        path.write_bytes(gzip.compress(content[:cut]))
        with pytest.raises(FileFormatError, match="ends in the middle|damaged or cut short"):
            store_data(path, tmp_path / "other")
    path.write_bytes(gzip.compress(content + b"more"))
    with pytest.raises(FileFormatError, match="goes on behind its end"):
        store_data(path, tmp_path / "other")
    np.save(tmp_path / "table.npy", np.asfortranarray(X))
    path.write_bytes(gzip.compress((tmp_path / "table.npy").read_bytes()))
    with pytest.raises(FileFormatError, match=r"Fortran order\), of which only a plain \.npy"):
        store_data(path, tmp_path / "other")


@pytest.mark.parametrize("missing", ["refuse", "mean", "median", "most_frequent"])
def test_missing_values_of_npy(tmp_path, missing):
    table = np.column_stack([X.round(1), X[:, 0] > 0])
    table[123, 2] = np.nan
    path = tmp_path / "table.npy"
    np.save(path, table)
    if missing == "refuse":
        assert 'row 123 (counted from 0), column "column 3"' in check_same_error(path, tmp_path / "stored")
    else:
        check_same(path, tmp_path / "stored", missing=missing)
    table[124, 1] = np.inf
    np.save(path, table)
    check_same_error(path, tmp_path / "other", missing="mean")


@each_row("array", [np.zeros(3), np.zeros((2, 0)), np.array([["a", "b"]]), np.zeros((0, 3)), np.float64(3)])
def test_arrays_that_are_no_table(tmp_path, array):
    path = tmp_path / "table.npy"
    np.save(path, array)
    with pytest.raises(InvalidInput):
        load_data(path)
    with pytest.raises(InvalidInput):
        store_data(path, tmp_path / "stored")
    os.truncate(path, 90)
    with pytest.raises(FileFormatError):
        store_data(path, tmp_path / "stored")


# ---------------------------------------------------------------- .npz


@every_value(
    y=[Y, Y.astype("S"), (X[:, 0] > 0), np.arange(301)[:, None] % 3], save=[np.savez, np.savez_compressed]
)
def test_npz_is_what_load_data_reads(tmp_path, y, save):
    path = tmp_path / "table.npz"
    save(path, X=X, y=y)
    check_same(path, tmp_path / "stored")
    names = np.array([f"c{k}" for k in range(5)])
    save(path, features=X.astype(np.float32), target=y, sample_weight=WEIGHT, feature_names=names)
    store, _ = check_same(path, tmp_path / "stored")
    assert store.feature_names == tuple(names)
    check_same(path, tmp_path / "stored", drop=["c1"], categories=["c2"])


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_sparse_npz(tmp_path, save):
    rows = sp.random_array((301, 40), density=0.1, format="csr", rng=RANDOM)
    parts = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr, "shape": rows.shape}
    path = tmp_path / "rows.npz"
    save(path, **parts, format=np.array("csr"), y=Y, sample_weight=WEIGHT)
    store, _ = check_same(path, tmp_path / "stored")
    np.testing.assert_array_equal(dense_rows(store), rows.toarray())
    values = rows.data.copy()
    values[200] = np.nan
    save(path, **parts | {"data": values}, y=Y)
    check_same_error(path, tmp_path / "other")
    for change in ({"indices": rows.indices + 1}, {"indptr": rows.indptr[::-1]}, {"data": rows.data[1:]}):
        save(path, **parts | change, y=Y)
        check_same_error(path, tmp_path / "other")
    columns = rows.tocsc()
    save(path, data=columns.data, indices=columns.indices, indptr=columns.indptr, shape=rows.shape, y=Y)
    sp.save_npz(tmp_path / "csc.npz", columns)
    with pytest.raises(FileFormatError, match=r"tocsr"):
        store_data(tmp_path / "csc.npz", tmp_path / "other")


def test_what_save_data_wrote_as_npz(tmp_path):
    rows = sp.random_array((301, 40), density=0.1, format="csr", rng=RANDOM)
    for number, made in enumerate((X, rows)):
        path = tmp_path / f"{number}.npz"
        save_data(Data(made, Y, sample_weight=WEIGHT), path)
        check_same(path, tmp_path / "stored")
    frame = people()
    save_data(load_data(frame), tmp_path / "encoded.npz")
    store, _ = check_same(tmp_path / "encoded.npz", tmp_path / "stored")
    assert store.encoding is not None


@pytest.mark.parametrize(
    "arrays", [{"X": X}, {"y": Y}, {"X": X, "y": Y[:3]}, {"X": X, "y": Y, "sample_weight": WEIGHT[:2]}]
)
def test_npz_files_that_are_no_data(tmp_path, arrays):
    path = tmp_path / "table.npz"
    np.savez(path, **arrays)
    check_same_error(path, tmp_path / "stored")


def test_damaged_npz(tmp_path):
    path = tmp_path / "table.npz"
    np.savez(path, X=X, y=Y)
    content = bytearray(path.read_bytes())
    content[1000] ^= 1  # a checksum of the archive tells
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match="damaged"):
        store_data(path, tmp_path / "stored")
    path.write_bytes(gzip.compress(content))
    with pytest.raises(FileFormatError, match=r"a packed \.npz file is read whole"):
        store_data(path, tmp_path / "stored", format="npz")
    np.savez(path, X=np.asfortranarray(X), y=Y)
    with pytest.raises(FileFormatError, match="np.ascontiguousarray"):
        store_data(path, tmp_path / "stored")
    assert not (tmp_path / "stored").exists()
