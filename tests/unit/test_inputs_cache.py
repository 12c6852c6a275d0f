"""Binary copies of data files: what they keep, when they are used, and that others can read them."""

import dataclasses
import mmap
import os
import stat
import warnings
import zipfile
import zlib
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import maxmargin.io.cache as cache_module
from maxmargin import CacheWarning, _core, load_data
from maxmargin.data import Data
from maxmargin.encoding import Encoding, SourceColumn
from maxmargin.errors import InvalidParameter, MissingFile
from maxmargin.io.cache import data_from, data_to
from maxmargin.io.settings import ReadSettings
from maxmargin.rows.disk.archive import MappedArchive, crc32_of, write_archive

LIBSVM = b"1 1:0.5 3:4e-300\n-1 2:5\n1\n"
TABLE = b"height,width,kind\n2,0.1,tall\n-1,0.5,small\n1.5,0.2,tall\n"


@pytest.fixture(autouse=True)
def no_warnings():
    """A warning fails the test that does not expect it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "a.svm"
    path.write_bytes(LIBSVM)
    return path


@pytest.fixture
def reads(monkeypatch):
    """The sources that were really read, not taken from a copy."""
    import maxmargin.io.load as load_module

    read, seen = load_module.read_data, []
    monkeypatch.setattr(load_module, "read_data", lambda *given: seen.append(given[0]) or read(*given))
    return seen


def assert_same(found, expected):
    for field in dataclasses.fields(Data):
        one, other = getattr(found, field.name), getattr(expected, field.name)
        if hasattr(other, "indptr"):
            assert type(one) is type(other)
            assert one.has_canonical_format == other.has_canonical_format
            pairs = [(one.data, other.data), (one.indices, other.indices), (one.indptr, other.indptr)]
        else:
            pairs = [(one, other)]
        for mine, theirs in pairs:
            if isinstance(theirs, np.ndarray):
                assert mine.dtype == theirs.dtype, field.name
                assert mine.shape == theirs.shape, field.name
                assert mine.tolist() == theirs.tolist(), field.name
            else:
                assert mine == theirs, field.name


def maps_of(array):
    """The memory map that an array looks into, if it does."""
    while isinstance(array, np.ndarray):
        array = array.base
    return array.obj if isinstance(array, memoryview) else array


# ---------------------------------------------------------------- what is kept


@pytest.mark.parametrize(("name", "content"), [("a.svm", LIBSVM), ("t.csv", TABLE)])
def test_second_load_gives_the_same_without_reading_the_source(tmp_path, reads, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    first, second = load_data(path, cache=True), load_data(path, cache=True)
    assert reads == [path]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [name, f"{name}.maxmargin-cache"]
    assert_same(first, load_data(path))
    assert_same(second, first)


def test_arrays_of_a_copy_are_read_only_maps_that_begin_at_multiples_of_64(source):
    load_data(source, cache=True)
    data = load_data(source, cache=True)
    for array in (data.X.data, data.X.indices, data.X.indptr, data.y, data.classes):
        assert isinstance(maps_of(array), mmap.mmap)
        assert not array.flags.writeable
        assert array.ctypes.data % 64 == 0


ENCODING = Encoding((SourceColumn("a", fill=0.25), SourceColumn("k", "categories", ("x", "ü"))))
FULL = {
    "y": np.array(["ja", "nein", "vielleicht"]),
    "sample_weight": np.array([1.0, 0.0, 2.5]),
    "feature_names": ("a", "k=x", "k=ü"),
    "classes": np.array(["ja", "nein", "vielleicht", "nie"]),
    "scheme": "parquet",
    "label": "antwort",
    "weight": "gewicht",
    "encoding": ENCODING,
    "skipped": ("line 7: expected a number",),
    "n_skipped": 12,
}
ROWS = {
    "rows": np.arange(9.0).reshape(3, 3),
    "columns": np.asfortranarray(np.arange(9.0).reshape(3, 3)),
    "single precision": np.arange(9, dtype=np.float32).reshape(3, 3),
    "no rows' order": np.arange(36.0).reshape(6, 6)[::2, ::2],
    "sparse": csr_array(np.diag([1.0, 0.0, -0.0])),
    "empty": csr_array((3, 3)),
    "wide": csr_array(np.eye(3), dtype=np.float64),
}
ROWS["wide"].indices = ROWS["wide"].indices.astype(np.int64)
ROWS["wide"].indptr = ROWS["wide"].indptr.astype(np.int64)


@pytest.mark.parametrize("X", ROWS.values(), ids=ROWS)
def test_every_field_of_the_record_is_kept(tmp_path, X):
    data = Data(X, **FULL)
    plain = Data(np.eye(3), np.zeros(3))
    for field in dataclasses.fields(Data):  # a new field has to be set above, and so has to be kept
        assert field.name == "X" or np.any(getattr(data, field.name) != getattr(plain, field.name))
    header, arrays = data_to(data)
    with open(tmp_path / "copy", "wb") as file:
        write_archive(file, {"data": header}, arrays)
    archive = MappedArchive(tmp_path / "copy")
    found = data_from(archive.description["data"], archive.arrays())
    found = dataclasses.replace(found, X=getattr(found.X, "scipy", found.X))
    assert_same(found, data)


def test_labels_kept_as_python_objects_come_back_as_such(tmp_path):
    data = Data(np.eye(2), np.array(["a", "bc"], dtype=object))
    header, arrays = data_to(data)
    assert_same(data_from(header, arrays), data)


def test_others_read_the_copy_too(source):
    """It is an archive of NumPy's own files: zipfile tests it, numpy.load opens it."""
    data = load_data(source, cache=True)
    copy = source.with_name("a.svm.maxmargin-cache")
    with zipfile.ZipFile(copy) as archive:
        assert archive.testzip() is None
    with copy.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        assert np.array_equal(arrays["y"], data.y)
        assert np.array_equal(arrays["values"], data.X.data)
        assert np.array_equal(arrays["columns"], data.X.indices)


@given(st.binary(max_size=700), st.integers(0, 700))
def test_checksums_are_those_of_zlib(content, cut):
    array = np.frombuffer(content, dtype=np.uint8)
    first, second = array[:cut], array[cut:]
    assert _core.crc32(array) == zlib.crc32(content)
    joined = _core.joined_crc32(_core.crc32(first), _core.crc32(second), len(second))
    assert joined == zlib.crc32(content)


@pytest.mark.parametrize("threads", [1, 3])
def test_checksums_of_many_pieces(monkeypatch, threads):
    monkeypatch.setattr("maxmargin.rows.disk.archive.PIECE", 1000)
    content = np.random.default_rng(0).integers(0, 256, 20_123, dtype=np.uint8)
    assert crc32_of(content, threads) == zlib.crc32(content)


# ---------------------------------------------------------------- when it is used


def rewritten(path, content):
    path.write_bytes(content)


def rewritten_with_the_old_times(path, content):
    old = path.stat()
    path.write_bytes(content)
    os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns))


def replaced_with_the_old_times(path, content):
    old = path.stat()
    other = path.with_name("other")
    other.write_bytes(content)
    os.utime(other, ns=(old.st_atime_ns, old.st_mtime_ns))
    other.replace(path)


@pytest.mark.parametrize("change", [rewritten, rewritten_with_the_old_times, replaced_with_the_old_times])
def test_a_changed_source_of_the_same_size_is_read_again(source, change):
    for digit in b"23456":  # at once after each other: times of files have a grain
        load_data(source, cache=True)
        change(source, LIBSVM.replace(b"2:5", b"2:%c" % digit))
        assert load_data(source, cache=True).X[1, 1] == digit - ord("0")
    assert load_data(source, cache=True).X[1, 1] == 6


@pytest.mark.parametrize(
    ("name", "content", "settings"),
    [
        ("a.svm", LIBSVM, {"n_columns": 7}),
        ("a.svm", LIBSVM, {"zero_based": True}),
        ("t.csv", TABLE.replace(b"tall", b"1").replace(b"small", b"0"), {"label": "width"}),
    ],
)
def test_other_settings_read_again(tmp_path, reads, name, content, settings):
    path = tmp_path / name
    path.write_bytes(content)
    load_data(path, cache=True)
    found = load_data(path, cache=True, **settings)
    assert_same(found, load_data(path, **settings))
    load_data(path, cache=True, **settings, n_jobs=1)  # threads change nothing
    assert len(reads) == 3


def test_every_setting_but_the_threads_counts():
    given = {
        "format": "csv",
        "label": 1,
        "weight": "w",
        "n_columns": 3,
        "zero_based": False,
        "missing": "mean",
        "drop": ["a"],
        "categories": [2],
        "encoding": Encoding((SourceColumn("a", fill=1.0),)),
        "unknown": "zeros",
        "header": False,
        "separator": "|",
        "decimal": ",",
        "text_encoding": "latin-1",
        "na": [],
        "comment": "#",
        "skip_bad_lines": True,
        "n_jobs": 2,
        "earlier_label": "kind",
        "earlier_weight": "hours",
        "earlier_names": ("a", "a"),
    }
    assert given.keys() == {field.name for field in dataclasses.fields(ReadSettings)}
    usual = cache_module.settings_to(ReadSettings())
    for name, value in given.items():
        is_same = cache_module.settings_to(ReadSettings(**{name: value})) == usual
        assert is_same == (name == "n_jobs")
    other = Encoding((SourceColumn("a"),))
    assert cache_module.settings_to(ReadSettings(encoding=other)) != cache_module.settings_to(
        ReadSettings(encoding=given["encoding"])
    )


def test_another_version_reads_again(source, reads, monkeypatch):
    load_data(source, cache=True)
    monkeypatch.setattr(cache_module, "__version__", "another")
    load_data(source, cache=True)
    monkeypatch.setattr(cache_module, "VERSION", 99)
    load_data(source, cache=True)
    assert len(reads) == 3


def test_a_folder_keeps_copies_of_files_of_the_same_name_apart(tmp_path, reads):
    folder = tmp_path / "copies"
    folder.mkdir()
    for name, content in (("one", LIBSVM), ("two", b"1 1:7\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.svm").write_bytes(content)
    for _ in range(2):
        assert load_data(tmp_path / "one" / "a.svm", cache=folder).n_rows == 3
        assert load_data(tmp_path / "two" / "a.svm", cache=str(folder)).n_rows == 1
    assert len(reads) == 2
    assert len(list(folder.iterdir())) == 2
    assert [entry.name for entry in (tmp_path / "one").iterdir()] == ["a.svm"]


def test_what_a_copy_cannot_be_made_of_is_refused(source):
    with source.open("rb") as file, pytest.raises(InvalidParameter, match="files that have a name"):
        load_data(file, format="libsvm", cache=True)
    with pytest.raises(InvalidParameter, match="there is no such folder"):
        load_data(source, cache=source.with_name("nowhere"))
    with pytest.raises(InvalidParameter, match="True, False or a folder; got cache=3"):
        load_data(source, cache=3)
    with pytest.raises(MissingFile, match="no such file"):
        load_data(source.with_name("b.svm"), cache=True)
    assert [entry.name for entry in source.parent.iterdir()] == ["a.svm"]


def test_a_copy_is_no_more_readable_than_its_source(source):
    source.chmod(0o600)
    load_data(source, cache=True)
    assert stat.S_IMODE(source.with_name("a.svm.maxmargin-cache").stat().st_mode) == 0o600


def test_a_source_on_a_file_system_with_whole_seconds_is_kept_once_it_is_old(source, monkeypatch):
    state = cache_module.state_of(source) | {"ctime_ns": 7 * 10**9}
    monkeypatch.setattr(cache_module, "state_of", lambda _: dict(state))
    clock = SimpleNamespace(time_ns=lambda: 8 * 10**9)
    monkeypatch.setattr(cache_module, "time", clock)
    with pytest.warns(CacheWarning, match="changed, or was a moment ago"):
        load_data(source, cache=True)
    clock.time_ns = lambda: 12 * 10**9
    load_data(source, cache=True)
    assert source.with_name("a.svm.maxmargin-cache").exists()
