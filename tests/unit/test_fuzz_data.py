"""Any bytes as a data file of any format: data that work or an error of ours, in bounded memory."""

import io
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from damage import archive_of, damaged, edits, entries_of, memory_bounded
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, save_npz

from maxmargin import SkippedLines, load_data
from maxmargin.errors import FileFormatError, InvalidInput
from maxmargin.io.settings import FORMATS

pytestmark = pytest.mark.fuzz

TABLE = pa.table(
    {
        "height": [2.0, -1.0, 0.5, 1.0],
        "kind": ["tall", "small", "tall", "wide"],
        "count": [1, 2, 3, 4],
        "label": ["a", "b", "a", "b"],
    }
)
SPARSE = csr_array(np.array([[0.0, 1.5], [2.0, 0.0], [0.0, 0.0]]))


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A good file of each format, which has been read once."""
    folder = tmp_path_factory.mktemp("good")
    (folder / "a.svm").write_bytes(b"1 1:0.5 3:4e-300 # x\n-1 2:5\r\n1\n")
    (folder / "a.csv").write_bytes(b'height;kind;"a b"\n2;tall;0.5\n-1;small;1e3\n0.1;tall;7\n')
    pq.write_table(TABLE, folder / "a.parquet")
    pq.write_table(TABLE, folder / "plain.parquet", compression="none", use_dictionary=False)
    feather.write_feather(TABLE, folder / "a.arrow", compression="uncompressed")
    np.savez(folder / "a.npz", X=np.arange(6.0).reshape(3, 2), y=np.array(["a", "b", "a"]))
    save_npz(folder / "sparse.npz", SPARSE, compressed=True)
    with_labels = entries_of((folder / "sparse.npz").read_bytes()) | {
        "y.npy": entries_of((folder / "a.npz").read_bytes())["y.npy"]
    }
    (folder / "sparse.npz").write_bytes(archive_of(with_labels))
    np.save(folder / "a.npy", np.arange(12.0).reshape(4, 3))
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert {load_data(folder / name).scheme for name in files} == set(FORMATS)
    return files


def try_to_load(folder, name, content, **settings):
    """Load the content: an error of ours, or data that are whole."""
    path = folder / f"fuzzed-{name}"
    path.write_bytes(content)
    refusal = data = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkippedLines)
        warnings.filterwarnings("ignore", "Reading `.npy`")  # of Python 2, NumPy says
        with memory_bounded(4_000_000 + 5000 * len(content)):
            try:
                data = load_data(path, n_jobs=1, **settings)
            except (FileFormatError, InvalidInput) as error:
                refusal = error
    if data is None:
        assert len(str(refusal)) < 1500
        return
    values = data.X.data if hasattr(data.X, "indptr") else data.X
    assert np.isfinite(values).all()
    assert data.X.shape[0] == len(data.y) > 0
    str(data)


NAMES = st.sampled_from(
    ["a.svm", "a.csv", "a.parquet", "plain.parquet", "a.arrow", "a.npz", "sparse.npz", "a.npy"]
)


@given(NAMES, edits)
def test_damaged_bytes(good, tmp_path_factory, name, chosen):
    try_to_load(tmp_path_factory.getbasetemp(), name, damaged(good[name], chosen))


@given(st.sampled_from(["a.npz", "sparse.npz"]), st.integers(0, 9), edits)
def test_damaged_entries_with_right_checksums(good, tmp_path_factory, name, number, chosen):
    entries = entries_of(good[name])
    entry = sorted(entries)[number % len(entries)]
    entries[entry] = damaged(entries[entry], chosen)
    try_to_load(tmp_path_factory.getbasetemp(), name, archive_of(entries))


@given(st.sampled_from(["a.svm", "a.csv"]), edits)
def test_damaged_text_with_bad_lines_left_out(good, tmp_path_factory, name, chosen):
    try_to_load(tmp_path_factory.getbasetemp(), name, damaged(good[name], chosen), skip_bad_lines=True)


@given(NAMES, st.binary(max_size=200))
def test_any_bytes(good, tmp_path_factory, name, content):
    try_to_load(tmp_path_factory.getbasetemp(), name, content)
    try_to_load(tmp_path_factory.getbasetemp(), name, good[name][:8] + content)


@pytest.mark.parametrize("code", [b"\0\0\x11\0", b"\0\xd8\0\0", b"\xff\xff\xff\xff"])
def test_text_that_is_no_text(good, tmp_path, code):
    entries = entries_of(good["a.npz"])
    entries["y.npy"] = entries["y.npy"].replace("b".encode("utf-32-le"), code)
    (tmp_path / "a.npz").write_bytes(archive_of(entries))
    with pytest.raises(FileFormatError, match="invalid characters"):
        load_data(tmp_path / "a.npz")


@pytest.mark.parametrize("dtype", ["<U0", "|S0"])
def test_text_without_letters_takes_no_memory(good, tmp_path, dtype):
    entries = entries_of(good["a.npz"])
    header = io.BytesIO()
    fields = {"descr": dtype, "fortran_order": False, "shape": (2**40,)}
    np.lib.format.write_array_header_1_0(header, fields)
    entries["y.npy"] = header.getvalue()
    (tmp_path / "a.npz").write_bytes(archive_of(entries))
    with memory_bounded(10_000_000), pytest.raises(FileFormatError, match="expected numbers or text"):
        load_data(tmp_path / "a.npz")
