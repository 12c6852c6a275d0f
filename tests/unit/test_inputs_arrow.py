"""Parquet, Arrow files, Arrow streams and tables in memory: types, damage, what pyarrow's absence says."""

import io
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from covering import each_row
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin import load_data
from maxmargin.errors import FileFormatError, InvalidParameter, MaxMarginError

TABLE = pa.table({"a": [1.5, 2.5, 3.5], "b": [1, 2, 3], "c": ["u", "v", "u"], "label": [0, 1, 0]})


def parquet(table=TABLE, **settings):
    buffer = io.BytesIO()
    pq.write_table(table, buffer, **settings)
    return buffer.getvalue()


def arrow_file(table=TABLE, **options):
    buffer = io.BytesIO()
    with pa.ipc.new_file(buffer, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table, max_chunksize=2)
    return buffer.getvalue()


def arrow_stream(table=TABLE):
    buffer = io.BytesIO()
    with pa.ipc.new_stream(buffer, table.schema) as writer:
        writer.write_table(table, max_chunksize=2)
    return buffer.getvalue()


def load(content, **settings):
    return load_data(io.BytesIO(content), **settings)


@each_row(
    ("content", "scheme"),
    [
        (parquet(), "parquet"),
        (parquet(compression="zstd", row_group_size=2), "parquet"),
        (arrow_file(), "arrow"),
        (arrow_file(compression="zstd"), "arrow"),
        (arrow_stream(), "arrow"),
    ],
)
def test_files_are_known_by_their_first_bytes(content, scheme):
    data = load(content)
    assert data.scheme == scheme
    assert data.feature_names == ("a", "b", "c=u", "c=v")
    np.testing.assert_array_equal(data.X, [[1.5, 1, 1, 0], [2.5, 2, 0, 1], [3.5, 3, 1, 0]])
    assert data.y.tolist() == [0, 1, 0]


@each_row("suffix", ["parquet", "pq", "arrow", "feather", "ipc", "arrows", "parquet.gz"])
def test_files_are_known_by_their_names(tmp_path, suffix):
    import gzip

    path = tmp_path / f"rows.{suffix}"
    made = {"p": parquet, "a": arrow_file, "f": arrow_file, "i": arrow_file}[suffix[0]]()
    content = arrow_stream() if suffix == "arrows" else made
    path.write_bytes(gzip.compress(content) if suffix.endswith("gz") else content)
    assert load_data(path).n_rows == 3


def test_single_precision_stays_where_all_columns_have_it():
    frame = pl.DataFrame({"a": [0.1, 0.2], "b": [0.3, 0.4], "y": [0, 1]})
    frame = frame.with_columns(pl.col("a", "b").cast(pl.Float32))
    single = load_data(frame)
    assert single.X.dtype == np.float32
    np.testing.assert_array_equal(single.X, np.float32([[0.1, 0.3], [0.2, 0.4]]))
    assert load_data(frame.with_columns(pl.col("b").cast(pl.Float64))).X.dtype == np.float64
    assert load(parquet(frame.to_arrow())).X.dtype == np.float32


@each_row(
    "kind",
    [pa.int8(), pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.decimal128(14, 2), pa.bool_()],
)
def test_types_of_numbers(kind):
    values = [True, None, False] if kind == pa.bool_() else [1, None, 3]
    if kind == pa.float16():
        column = pa.array(np.array([1, 0, 3], dtype=np.float16), mask=np.array([False, True, False]))
    elif kind == pa.decimal128(14, 2):
        column = pa.array([1, None, 3], pa.int32()).cast(kind)
    else:
        column = pa.array(values, kind)
    data = load_data(pa.table({"x": column, "y": [0, 1, 0]}), missing="median")
    assert data.X[:, 0].tolist() == ([1, 0.5, 0] if kind == pa.bool_() else [1, 2, 3])
    pieces = pa.chunked_array([column.slice(0, 1), column.slice(1)])
    again = load_data(pa.table({"x": pieces, "y": [0, 1, 0]}), missing="median")
    np.testing.assert_array_equal(again.X, data.X)


@each_row(
    "column",
    [
        pa.array(["u", "v", None]),
        pa.array(["u", "v", None], pa.large_string()),
        pa.array(["u", "v", None]).dictionary_encode(),
        pa.chunked_array([pa.array(["u"]).dictionary_encode(), pa.array(["v", None]).dictionary_encode()]),
        pa.array(["u", "v", None], pa.string_view()),
    ],
)
def test_types_of_text(column):
    table = pa.table({"x": column, "y": [0, 1, 0]})
    data = load_data(table, missing="mean")
    assert data.feature_names == ("x=u", "x=v")
    np.testing.assert_array_equal(data.X, [[1, 0], [0, 1], [1, 0]])
    labels = load_data(table.rename_columns(["label", "x"]).slice(0, 2)).y
    assert labels.tolist() == ["u", "v"]


def test_categories_that_do_not_occur_are_no_features():
    column = pd.Categorical(["b", "a"], categories=["c", "b", "a"])
    assert load_data(pd.DataFrame({"x": column, "y": [0, 1]})).feature_names == ("x=a", "x=b")


@pytest.mark.parametrize("label", [[1, 2, 3], [0.5, 1, 2], [True, False, True], ["a", "b", "c"]])
def test_labels_keep_their_type(label):
    data = load_data(pl.DataFrame({"x": [1.0, 2, 3], "label": label}))
    assert data.y.tolist() == label
    assert data.y.dtype.kind == {int: "i", float: "f", bool: "b", str: "U"}[type(label[0])]
    stated = load_data(pa.table({"x": [1.0, 2, 3], "label": pa.array(label).dictionary_encode()}))
    assert stated.y.tolist() == label


def test_labels_that_are_no_labels():
    frame = pd.DataFrame({"x": [1.0, 2.0], "y": pd.to_datetime(["2024-01-01", "2024-01-02"])})
    with pytest.raises(FileFormatError, match='label "y" is of type timestamp.*expected numbers, booleans'):
        load_data(frame)
    with pytest.raises(FileFormatError, match="expected a finite number as label, found inf"):
        load_data(frame.assign(y=[1, np.inf]))


def test_the_index_of_a_frame_is_no_column(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2, 3], "y": [0, 1, 0]})
    for indexed in (frame[frame.x > 1], frame.set_index(pd.Index([7, 8, 9], name="id"))):
        indexed.to_parquet(tmp_path / "t.parquet")
        for source in (indexed, tmp_path / "t.parquet"):
            data = load_data(source)
            assert data.feature_names == ("x",)
            assert data.y.tolist() == indexed["y"].tolist()
    by_id = frame.set_index(pd.Index(["u", "v", "u"], name="id"))
    assert load_data(by_id, label="id").y.tolist() == ["u", "v", "u"]


@each_row("told", [b"[" * 100_000, b"{", b"\xff", b'{"index_columns": 3}', b"[" * 3_000_000])
def test_what_pandas_is_said_to_have_kept_may_be_anything(told):
    table = pa.table({"x": [1.0, 2], "y": [0, 1]}).replace_schema_metadata({b"pandas": told})
    assert load_data(table).feature_names == ("x",)
    with pytest.raises(FileFormatError, match="what it says about itself .* is damaged"):
        load_data(table.replace_schema_metadata({b"maxmargin": told}))


def test_tables_without_columns_or_rows():
    with pytest.raises(FileFormatError, match="the Table: the table has no columns"):
        load_data(pa.table({}))
    with pytest.raises(FileFormatError, match="the Table: there are columns but no rows"):
        load_data(TABLE.slice(0, 0))


def test_other_sources_are_refused():
    with pytest.raises(InvalidParameter, match="must be a file, an open binary file or a table.*got list"):
        load_data([[1, 2]])
    with pytest.raises(FileFormatError, match="the ChunkedArray: expected a table"):
        load_data(pa.chunked_array([[1, 2]]))


# ---------------------------------------------------------------- damage


@pytest.mark.parametrize("make", [parquet, arrow_file, arrow_stream])
def test_a_shortened_file_is_never_read(make):
    content = make()
    format = "parquet" if content.startswith(b"PAR1") else "arrow"
    for length in range(0, len(content), 13):
        with pytest.raises(FileFormatError):
            load(content[:length], format=format)


def test_a_stream_that_breaks_off_between_batches_is_refused():
    whole = arrow_stream(pa.table({"x": [1.0, 2, 3, 4], "y": [0, 1, 0, 1]}))
    ends = [n for n in range(8, len(whole), 8) if is_readable_stream(whole[:n])]
    assert len(ends) >= 3  # pyarrow reads it as a shorter table
    for end in ends:
        with pytest.raises(FileFormatError, match="whole Arrow stream: the mark at its end is missing"):
            load(whole[:end], format="arrow")


def is_readable_stream(content):
    try:
        pa.ipc.open_stream(content).read_all()
    except (pa.ArrowInvalid, OSError):
        return False
    return True


def test_pages_with_checksums_are_compared():
    content = bytearray(parquet(write_page_checksum=True, compression="none", use_dictionary=False))
    place = bytes(content).index(np.float64(2.5).tobytes())
    content[place] ^= 1
    with pytest.raises(FileFormatError, match="damaged or cut short"):
        load(bytes(content))


@settings(deadline=None, max_examples=300)
@given(
    which=st.sampled_from([parquet(compression="none"), arrow_file(), arrow_stream()]),
    changes=st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 255)), max_size=4),
)
def test_changed_bytes_are_read_or_refused(which, changes):
    content = bytearray(which)
    for place, byte in changes:
        content[place % len(content)] = byte
    try:
        data = load(bytes(content), format="parquet" if which.startswith(b"PAR1") else "arrow")
    except MaxMarginError:
        return
    assert np.isfinite(data.X).all()


def test_without_pyarrow_the_error_says_what_to_install():
    program = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from maxmargin import load_data\n"
        "try: load_data('t.parquet')\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd="/").stdout
    assert "no such file" in out
    program = program.replace("'t.parquet'", "__import__('io').BytesIO(b'PAR1')")
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert out == (
        "InvalidParameter Parquet, Arrow and tables in memory need pyarrow: pip install 'maxmargin[files]'\n"
    )


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["no", "yes", "maybe"])])
def test_categories_of_polars(kind):
    frame = pl.DataFrame({"x": [1.0, 2.0, 3.0], "said": ["yes", "no", "yes"], "y": ["no", "yes", "no"]})
    typed = frame.with_columns(pl.col("said", "y").cast(kind))
    data, plain = load_data(typed), load_data(frame)
    assert data.feature_names == plain.feature_names == ("x", "said=no", "said=yes")
    np.testing.assert_array_equal(data.X, plain.X)
    np.testing.assert_array_equal(data.y, plain.y)
    missing = typed.with_columns(pl.Series("said", ["yes", None, "no"], dtype=kind))
    with pytest.raises(FileFormatError, match='row 1 .counted from 0., column "said": the value is missing'):
        load_data(missing)
