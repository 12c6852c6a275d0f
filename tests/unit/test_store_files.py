"""Files put on disk as rows: the same rows as load_data reads, in little memory."""

import bz2

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp

import maxmargin.io.libsvm as module
from maxmargin import Data, load_data, open_store, save_data, store_data, train
from maxmargin.errors import FileFormatError, InvalidParameter, MissingFile, SkippedLines

LINES = [
    f"{'+1' if row % 3 else '-1'} {row % 7 + 1}:{row / 8} {row % 7 + 20}:1e-{row % 9}" for row in range(500)
]


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(module, "BATCH_BYTES", 700)


def rows_of(store):
    arrays = store.arrays
    parts = (arrays["values"], arrays["columns"], arrays["starts"])
    return sp.csr_array(parts, shape=(store.n_rows, store.n_columns))


def check_same(path, folder, **settings):
    store = store_data(path, folder, **settings)
    data = load_data(path, **settings)
    assert (store.n_rows, store.n_columns) == (data.n_rows, data.n_columns)
    np.testing.assert_array_equal(rows_of(store).toarray(), data.X.toarray())
    np.testing.assert_array_equal(store.classes[store.arrays["labels"]], data.y)
    return store


@pytest.mark.parametrize("late_zero", [False, True])
@pytest.mark.parametrize("packed", [False, True])
def test_libsvm_text_is_what_load_data_reads(tmp_path, packed, late_zero):
    """Whether columns count from 0 may be seen in the last line only."""
    text = "\n".join([*LINES, "1 0:5" if late_zero else "1 3:5"]).encode()
    path = tmp_path / ("rows.svm.bz2" if packed else "rows.svm")
    path.write_bytes(bz2.compress(text) if packed else text)
    store = check_same(path, tmp_path / "stored")
    assert store.n_columns == (27 if late_zero else 26)
    check_same(path, tmp_path / "stored", n_columns=100)
    check_same(path, tmp_path / "stored", zero_based=True)
    assert open_store(tmp_path / "stored").n_columns == 27


def test_errors_name_the_line_of_the_file(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("\n".join([*LINES[:400], "1 2:x", *LINES[400:]]))
    with pytest.raises(FileFormatError) as ours:
        store_data(path, tmp_path / "stored")
    with pytest.raises(FileFormatError) as theirs:
        load_data(path)
    assert str(ours.value) == str(theirs.value)
    assert ours.value.line == 401
    assert not (tmp_path / "stored").exists()


def test_bad_lines_are_counted_over_all_batches(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("\n".join([*LINES[:100], "bad", *LINES[100:300], "1 2:x", *LINES[300:]]))
    with pytest.warns(SkippedLines, match="2 lines"):
        store = store_data(path, tmp_path / "stored", skip_bad_lines=True)
    assert store.n_rows == 500


@pytest.mark.parametrize("content", ["", "\n\n", "# nothing\n"])
def test_no_rows_are_refused(tmp_path, content):
    path = tmp_path / "rows.svm"
    path.write_text(content)
    with pytest.raises(FileFormatError, match="the file has no rows"):
        store_data(path, tmp_path / "stored")


def test_tables_keep_names_and_encoding(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("age,town,rich\n30,Rome,no\n50,Oslo,yes\n20,Oslo,no\n")
    store = store_data(path, tmp_path / "stored")
    assert store.feature_names == ("age", "town=Oslo", "town=Rome")
    assert store.encoding == load_data(path).encoding
    assert train(store).encoding == store.encoding


def test_what_cannot_be_stored_is_named(tmp_path):
    with pytest.raises(MissingFile):
        store_data(tmp_path / "nowhere.svm", tmp_path / "stored")
    with pytest.raises(InvalidParameter, match="got int"):
        store_data(7, tmp_path / "stored")
    with pytest.raises(InvalidParameter, match="label: for files only"):
        store_data([(np.eye(2), [0, 1])], tmp_path / "stored", label="y")
    (tmp_path / "rows.svm").write_text("1 1:1\n")
    with pytest.raises(InvalidParameter, match="label is for tables"):
        store_data(tmp_path / "rows.svm", tmp_path / "stored", label="y")
    for source in (tmp_path / "rows.svm", [(np.eye(2), [0, 1])]):
        with pytest.raises(TypeError, match=r"store_data\(\) got an unexpected .* 'block_rows'"):
            store_data(source, tmp_path / "stored", block_rows=5)


def test_names_that_are_no_text_are_named(tmp_path):
    table = pa.table({"damaged": [1.0, 2], "y": [0, 1]})
    with pa.OSFile(str(tmp_path / "a.arrow"), "w") as file, pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)
    content = (tmp_path / "a.arrow").read_bytes()
    (tmp_path / "a.arrow").write_bytes(content.replace(b"damaged", b"\xffamaged"))
    with pytest.raises(FileFormatError, match=r"a\.arrow: not Arrow data, or damaged"):
        store_data(tmp_path / "a.arrow", tmp_path / "stored")


def test_a_model_of_stored_text_is_that_of_the_text(tmp_path):
    random = np.random.default_rng(4)
    X = sp.random_array((400, 30), density=0.2, format="csr", rng=random)
    data = Data(X, np.where(X @ random.normal(size=30) > 0, 1, -1))
    save_data(data, tmp_path / "rows.svm")
    settings = {"solver": "newton", "loss": "logistic", "tol": 1e-8}
    expected = train(tmp_path / "rows.svm", **settings)
    found = train(store_data(tmp_path / "rows.svm", tmp_path / "stored"), **settings)
    np.testing.assert_array_equal(found.coef, expected.coef)
