"""Rows on disk: what is written comes back, whole or not at all, and damage is named."""

import fcntl
import io
import json
import os
import subprocess
import sys
import textwrap
import zlib
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from damage import memory_bounded
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin import report, train
from maxmargin.cli.program import main
from maxmargin.errors import (
    FileFormatError,
    InvalidInput,
    InvalidParameter,
    MaxMarginError,
    MissingFile,
    UnreadableFile,
)
from maxmargin.io.batches import stored_batches
from maxmargin.io.store import GrowingArray, StoreWriter, store_batches
from maxmargin.rows.disk import atomic
from maxmargin.rows.disk.atomic import remove_abandoned_drafts
from maxmargin.rows.disk.store import is_row_store, open_store

RANDOM = np.random.default_rng(1)
X = RANDOM.normal(size=(10, 3))
Y = np.array(["red", "blue", "red", "green", "red", "blue", "blue", "red", "green", "red"])


def batches(X, y, size, weight=None):
    for first in range(0, X.shape[0], size):
        piece = slice(first, first + size)
        yield (X[piece], y[piece]) if weight is None else (X[piece], y[piece], weight[piece])


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


# ---------------------------------------------------------------- what is written comes back


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1, 3, 10])
def test_dense_rows_come_back(tmp_path, dtype, size):
    store = store_batches(batches(X.astype(dtype), Y, size), tmp_path / "rows")
    assert (store.n_rows, store.n_columns, store.n_values, store.is_sparse) == (10, 3, 30, False)
    assert store.arrays["X"].dtype == dtype
    np.testing.assert_array_equal(store.arrays["X"], X.astype(dtype))
    np.testing.assert_array_equal(store.classes[store.arrays["labels"]], Y)
    assert store.classes.tolist() == ["blue", "green", "red"]
    assert "weights" not in store.arrays
    store.check()
    assert str(store) == "10 rows, 3 columns on disk; classes blue, green, red"
    assert names_in(tmp_path) == ["rows"]


@pytest.mark.parametrize("size", [1, 3, 10])
def test_sparse_rows_with_weights_come_back(tmp_path, size):
    rows = sp.random_array((10, 7), density=0.3, format="csr", rng=RANDOM)
    weight = np.arange(10.0)
    store = store_batches(batches(rows, np.arange(10) % 2, size, weight), tmp_path / "rows")
    arrays = store.arrays
    found = sp.csr_array((arrays["values"], arrays["columns"], arrays["starts"]), shape=(10, 7))
    np.testing.assert_array_equal(found.toarray(), rows.toarray())
    np.testing.assert_array_equal(arrays["weights"], weight)
    assert store.n_values == rows.nnz
    assert "values on disk" in str(store)
    store.check()


def test_files_are_numpys_own(tmp_path):
    store_batches(batches(X, Y, 4), tmp_path / "rows")
    np.testing.assert_array_equal(np.load(tmp_path / "rows" / "X.npy"), X)


@settings(max_examples=50)
@given(labels=st.lists(st.integers(-3, 3), min_size=1, max_size=40), size=st.integers(1, 7))
def test_labels_are_numbered_in_their_own_order(tmp_path_factory, labels, size):
    y = np.array(labels)
    folder = tmp_path_factory.mktemp("store")
    store = store_batches(batches(np.zeros((len(y), 1)), y, size), folder / "rows")
    np.testing.assert_array_equal(store.classes, np.unique(y))
    np.testing.assert_array_equal(store.classes[store.arrays["labels"]], y)


def test_sparse_batches_may_be_narrower_than_the_rows(tmp_path):
    with StoreWriter(tmp_path / "rows", n_columns=5) as writer:
        writer.add(sp.csr_array([[1.0, 0.0]]), [0])
        writer.add(sp.csr_array([[0.0, 0.0, 0.0, 2.0]]), [1])
    store = open_store(tmp_path / "rows")
    assert store.n_columns == 5
    assert store.arrays["columns"].tolist() == [0, 3]


@pytest.mark.parametrize("can_exchange", [True, False])
def test_stored_rows_are_replaced_at_the_end(tmp_path, can_exchange, monkeypatch):
    if not can_exchange:
        monkeypatch.setattr(atomic, "_exchanged", lambda one, other: False)
    store_batches(batches(X, Y, 4), tmp_path / "rows")
    store_batches(batches(X[:4], Y[:4], 4), tmp_path / "rows")
    assert open_store(tmp_path / "rows").n_rows == 4
    assert names_in(tmp_path) == ["rows"]


@pytest.mark.skipif(sys.platform != "linux", reason="renameat2 is a call of Linux")
def test_there_are_rows_at_every_moment_while_they_are_replaced(tmp_path, monkeypatch):
    store_batches(batches(X, Y, 4), tmp_path / "rows")
    monkeypatch.setattr(Path, "rename", None)  # what a killed process might do only in part
    store_batches(batches(X[:4], Y[:4], 4), tmp_path / "rows")
    assert open_store(tmp_path / "rows").n_rows == 4


def test_an_array_that_is_not_finished_has_no_rows(tmp_path):
    growing = GrowingArray(tmp_path / "a.npy", np.float64, 3)
    growing.append(X)
    growing.abandon()
    assert np.load(tmp_path / "a.npy").shape == (0, 3)


# ---------------------------------------------------------------- whole or not at all


class Broken(Exception):
    pass


def broken_batches():
    yield X, Y
    raise Broken


def test_an_error_in_the_middle_leaves_nothing(tmp_path):
    store_batches(batches(X[:4], Y[:4], 4), tmp_path / "old")
    for name in ("new", "old"):
        with pytest.raises(Broken):
            store_batches(broken_batches(), tmp_path / name)
    assert names_in(tmp_path) == ["old"]
    assert open_store(tmp_path / "old").n_rows == 4


def test_a_full_disk_leaves_nothing(tmp_path):
    """A limit on the size of files stands for it."""
    import resource
    import signal

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
        with pytest.raises(UnreadableFile, match="rows cannot be written"):
            store_batches(batches(np.ones((1000, 3)), np.arange(1000) % 2, 100), tmp_path / "rows")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert names_in(tmp_path) == []


STORE_SLOWLY = """
    import sys, time
    import numpy as np
    from maxmargin import store_data

    def batches():
        yield np.eye(2), [0, 1]
        print("begun", flush=True)
        sys.stdin.readline()
        yield np.eye(2), [0, 1]

    store_data(batches(), sys.argv[1])
"""


def storing_slowly(folder):
    """Return a process that has stored one of two batches."""
    command = [sys.executable, "-c", textwrap.dedent(STORE_SLOWLY), str(folder)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "begun\n"
    return process


def test_what_a_killed_process_left_goes_with_the_next_one(tmp_path):
    dead, alive = storing_slowly(tmp_path / "rows"), storing_slowly(tmp_path / "rows")
    dead.kill()
    dead.communicate()
    mine = [".rows.mine.part", ".rows.0123456789ab.party", ".rows2.0123456789ab.part"]
    for name in mine:
        (tmp_path / name).mkdir()
    (tmp_path / ".rows.0123456789ab.part.old").mkdir()
    assert len(list(tmp_path.glob(".rows.*.part"))) == 3
    assert store_batches(batches(X, Y, 4), tmp_path / "rows").n_rows == 10
    (left,) = set(tmp_path.glob(".rows.*.part")) - {tmp_path / mine[0]}  # of a process that is at work
    assert names_in(tmp_path) == sorted([*mine, left.name, "rows"])
    alive.communicate("go on\n")
    assert alive.returncode == 0
    assert open_store(tmp_path / "rows").n_rows == 4
    assert names_in(tmp_path) == sorted([*mine, "rows"])


def test_a_folder_that_was_taken_for_a_dead_one_is_made_again(tmp_path, monkeypatch):
    """Between making it and locking it, it looks as if nobody were at work."""
    flock, swept = fcntl.flock, []

    def late(descriptor, how):
        if not swept:
            swept.append(True)
            remove_abandoned_drafts(tmp_path / "rows")
        flock(descriptor, how)

    monkeypatch.setattr("maxmargin.rows.disk.atomic.fcntl.flock", late)
    assert store_batches(batches(X, Y, 4), tmp_path / "rows").n_rows == 10
    assert names_in(tmp_path) == ["rows"]


def test_other_folders_and_files_are_not_touched(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("keep me")
    (tmp_path / "file").write_text("keep me")
    for name in ("mine", "file"):
        with pytest.raises(InvalidParameter, match="exists and holds no stored rows"):
            store_batches(batches(X, Y, 4), tmp_path / name)
    assert (tmp_path / "mine" / "letter.txt").read_text() == "keep me"
    with pytest.raises(MissingFile, match="there is no folder"):
        store_batches(batches(X, Y, 4), tmp_path / "nowhere" / "rows")


# ---------------------------------------------------------------- batches that do not fit


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ((sp.csr_array(X), Y), r"begins at row 10 \(counted from 0\) is sparse"),
        ((X[:, :2], Y), "has 2 columns; expected 3"),
        ((X, Y, np.ones(10)), "has weights, other than"),
        ((X, Y[:3]), "inconsistent numbers"),
        ((X,), r"batch 1 \(counted from 0\) must be \(X, y\) or \(X, y, weight\)"),
        ((X, np.arange(10)), "mixes labels"),
    ],
)
def test_batches_that_differ_are_refused(tmp_path, second, message):
    with pytest.raises(InvalidInput, match=message):
        store_batches([(X, Y), second], tmp_path / "rows")
    assert names_in(tmp_path) == []


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (
            [True, False],
            [1, 0],
            "begins at row 2 .* labelled by numbers, and those before it by booleans",
        ),
        ([1.0, 0.0], [True, False], "labelled by booleans, and those before it by numbers"),
        ([1, 0], ["1", "0"], "labelled by text, and those before it by numbers: this mixes labels"),
        (np.array(["a", "b"], dtype=object), [True, False], "booleans, and those before it by text"),
    ],
)
def test_labels_of_another_kind_are_refused(tmp_path, first, second, message):
    with pytest.raises(InvalidInput, match=message):
        store_batches([(np.eye(2), first), (np.eye(2), second)], tmp_path / "rows")


def test_labels_may_be_whole_numbers_and_others(tmp_path):
    store = store_batches([(np.eye(2), [1, 0]), (np.eye(2), [0.5, 1.0])], tmp_path / "rows")
    assert store.classes.tolist() == [0.0, 0.5, 1.0]
    assert store.arrays["labels"].tolist() == [2, 0, 1, 2]
    text = store_batches([(np.eye(2), ["a", "b"]), (np.eye(2), np.array(["c", "a"], object))], tmp_path / "t")
    assert text.classes.tolist() == ["a", "b", "c"]


def test_numbers_are_never_rounded_in_silence(tmp_path):
    with pytest.raises(InvalidInput, match="would round them"):
        store_batches([(X.astype(np.float32), Y), (X, Y)], tmp_path / "rows")
    wide = store_batches([(X, Y), (X.astype(np.float32), Y)], tmp_path / "rows")
    np.testing.assert_array_equal(wide.arrays["X"][10:], X.astype(np.float32))


def test_no_rows_are_refused(tmp_path):
    with pytest.raises(InvalidInput, match="there is no row to store"):
        store_batches([(X[:0], Y[:0])], tmp_path / "rows")


# ---------------------------------------------------------------- damage


@pytest.fixture
def folder(tmp_path):
    store_batches(batches(X, Y, 4), tmp_path / "rows")
    return tmp_path / "rows"


@pytest.mark.parametrize(
    "name",
    [
        "zero\0byte",
        *(pytest.param(x, marks=pytest.mark.slow) for x in ("n" * 300, "half\ud800")),
        "deep/" * 2_000,
    ],
)
def test_names_that_no_file_system_takes_are_refused(tmp_path, name):
    model = train(X, Y)
    for refused in (
        lambda: store_batches([(X, Y)], f"{tmp_path}/{name}"),
        lambda: open_store(f"{tmp_path}/{name}"),
        lambda: train(f"{tmp_path}/{name}"),
        lambda: report(model, X, Y, path=f"{tmp_path}/{name}"),
    ):
        with pytest.raises(MaxMarginError):
            refused()
    assert names_in(tmp_path) == []


def test_a_folder_without_rows_is_named(tmp_path):
    assert not is_row_store(tmp_path)
    with pytest.raises(MissingFile, match=r"holds no stored rows: there is no rows\.json in it"):
        open_store(tmp_path)


def test_a_shortened_file_is_named(folder):
    os.truncate(folder / "X.npy", 200)
    with pytest.raises(FileFormatError, match=r"X\.npy: the size of the file has changed"):
        open_store(folder)


def test_a_missing_file_is_named(folder):
    (folder / "labels.npy").unlink()
    with pytest.raises(MissingFile, match=r"labels\.npy: no such file"):
        open_store(folder)


def test_a_changed_byte_is_found_by_check(folder):
    content = bytearray((folder / "X.npy").read_bytes())
    content[-3] ^= 1
    (folder / "X.npy").write_bytes(bytes(content))
    store = open_store(folder)
    with pytest.raises(FileFormatError, match="checksum of the file is wrong"):
        store.check()


@pytest.mark.parametrize(
    "change",
    [
        {"format": "other"},
        {"version": 2},
        {"n_rows": 9},
        {"n_rows": 2**62},
        {"n_columns": -3},
        {"n_rows": "many"},
        {"classes": [[1], 2]},
        {"files": {}},
        {"files": {"../../secret": {"bytes": 1, "crc32": 1}}},
        {"files": []},
        {"source": 3},
        {"label_type": "O"},
        {"label_type": "<U400000000"},
        {"label_type": "<U9, <U9"},
        {"label_type": None},
        {"label_type": "<f8"},
        {"encoding": 7},
        {"encoding": {"has_names": True, "columns": [{"name": "a"}]}},
        {"n_rows": float("inf")},
        {"classes": [1.5, 2.5, float("inf")], "label_type": "<f8"},
        {"n_rows": 10.0},
        {"n_rows": True},
        {"n_rows": 0},
        {"n_values": 29},
        {"classes": []},
        {"classes": None},
        {"classes": [[["blue"]], "green", "red"]},
        {"classes": ["red", "green", "blue"]},
        {"classes": ["blue", "blue", "red"]},
        {"classes": ["blue", "\ud800", "\udfff"]},
        {"classes": [1, 2, 3]},
        {"classes": {"blue": 1}},
        {"feature_names": ["a"]},
        {"feature_names": "abc"},
        {"feature_names": ["a", "b", 3]},
        {"feature_names": ["a", "b", "\ud800"]},
        {"source": {"label": ["a"]}},
        {"source": {"scheme": 1.5}},
        {"files": {"X": 3, "labels": None}},
    ],
    ids=str,
)
def test_a_description_that_does_not_fit_is_refused(folder, change):
    fields = json.loads((folder / "rows.json").read_text())
    (folder / "rows.json").write_text(json.dumps(fields | change).replace("Infinity", "1e400"))
    with memory_bounded(4_000_000), pytest.raises(FileFormatError, match="store the rows again") as refused:
        open_store(folder)
    assert len(str(refused.value)) < 400 + len(str(folder))


def test_a_description_without_something_says_what(folder):
    fields = json.loads((folder / "rows.json").read_text())
    for name in fields.keys() - {"written_by"}:
        (folder / "rows.json").write_text(json.dumps({key: fields[key] for key in fields.keys() - {name}}))
        told = "" if name in ("format", "version") else f"it lacks '{name}'; "
        with pytest.raises(FileFormatError, match=f"{told}store the rows again"):
            open_store(folder)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[1]", b"\xff\xfe", b"[" * 100_000, b"3", b'{"format": Infinity}', b"9" * 9999, b"1e400"],
    ids=lambda content: str(content[:20]),
)
def test_a_description_that_is_none_is_refused(folder, content):
    (folder / "rows.json").write_bytes(content)
    with pytest.raises(FileFormatError):
        open_store(folder)


def test_a_description_of_nothing_but_parts_takes_no_memory_for_them(folder):
    (folder / "rows.json").write_bytes(b"[" + b"[]," * 3_000_000 + b"0]")
    with memory_bounded(40_000_000), pytest.raises(FileFormatError, match="it has too many parts"):
        open_store(folder)


def test_pipes_are_not_waited_for(folder):
    for name in ("X.npy", "rows.json"):
        (folder / name).unlink()
        os.mkfifo(folder / name)
        with pytest.raises(FileFormatError, match="not an ordinary file"):
            open_store(folder)


def numpy_file(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


ARRAYS = {
    "nothing": b"",
    "no header": b"\x93NUMPY\x01\x00",
    "another type": numpy_file(X.astype(str)),
    "whole numbers": numpy_file(X.astype(int)),
    "complex numbers": numpy_file(X.astype(complex)),
    "half precision": numpy_file(X.astype(np.float16)),
    "largest byte first": numpy_file(X.astype(">f8")),
    "columns first": numpy_file(np.asfortranarray(X)),
    "another shape": numpy_file(X.T.copy()),
    "one dimension": numpy_file(X.ravel()),
    "none": numpy_file(X[:0]),
    "too short": numpy_file(X)[:-8],
    "objects": numpy_file(np.array([[1, "a"]], dtype=object)),
    "code in the header": numpy_file(X).replace(b"'shape': (10, 3)", b"'shape': (exit(),)"),
}


@pytest.mark.parametrize("content", ARRAYS.values(), ids=ARRAYS)
def test_an_array_that_does_not_fit_is_refused(folder, content):
    (folder / "X.npy").write_bytes(content)
    fields = json.loads((folder / "rows.json").read_text())
    fields["files"]["X"]["bytes"] = len(content)
    (folder / "rows.json").write_text(json.dumps(fields))
    with pytest.raises(FileFormatError, match="store the rows again"):
        open_store(folder)


@pytest.mark.parametrize("place", [-1, 3, 2**31 - 1])
def test_labels_outside_the_classes_are_refused_by_the_program(folder, place, capsys):
    overwrite(folder / "labels.npy", 4, np.int32(place).tobytes())
    assert main(["train", str(folder), "--memory", "1GB", "-o", str(folder.parent / "a.model")]) == 2
    assert "store the rows again" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf])
def test_weights_that_are_none_are_refused(tmp_path, weight):
    store = store_batches([(X, Y, np.ones(10))], tmp_path / "rows")
    overwrite(tmp_path / "rows" / "weights.npy", 3, np.float64(weight).tobytes())
    os.utime(tmp_path / "rows" / "weights.npy", ns=(0, store.files["weights"]["mtime_ns"]))
    with pytest.raises(InvalidInput, match=r"a row's weight is not .* store the rows again"):
        train(tmp_path / "rows")


def overwrite(path, place, content):
    """Overwrite one number of an array."""
    with path.open("r+b") as file:
        file.seek(128 + place * len(content))
        file.write(content)
    if path.name == "labels.npy":  # as if it had been written so
        fields = json.loads(path.with_name("rows.json").read_text())
        whole = np.load(path).view(np.uint8)
        fields["files"]["labels"] |= {"crc32": zlib.crc32(whole), "mtime_ns": path.stat().st_mtime_ns}
        path.with_name("rows.json").write_text(json.dumps(fields))


@pytest.mark.parametrize("solver", ["newton", "dual_descent"])
def test_rows_cut_short_while_they_are_in_use_are_an_error(tmp_path, solver):
    """To read what is gone would end the process."""
    random = np.random.default_rng(2)
    rows = random.normal(size=(9000, 3))
    store = store_batches([(rows, rows[:, 0] + random.normal(size=9000) > 0)], tmp_path / "rows")

    def cut(progress):
        os.truncate(tmp_path / "rows" / "X.npy", 4096)

    with pytest.raises(FileFormatError, match=r"X\.npy: the file was truncated while it was in use; store"):
        train(store, loss="logistic", solver=solver, tol=1e-12, watch=cut)
    with pytest.raises(FileFormatError, match="truncated"):
        next(stored_batches(store))


def test_a_store_that_is_replaced_while_it_is_in_use_goes_on(folder):
    store = open_store(folder)
    store_batches(batches(X[:4], Y[:4], 4), folder)
    store.check_sizes()
    np.testing.assert_array_equal(store.arrays["X"], X)


def test_names_that_are_not_as_many_as_columns_are_refused(tmp_path):
    with pytest.raises(InvalidInput, match="2 feature_names for 3 columns"):
        store_batches([(X, Y)], tmp_path / "rows", feature_names=("a", "b"))


def test_a_link_is_replaced_and_what_it_leads_to_stays(folder, tmp_path):
    (tmp_path / "link").symlink_to(folder)
    store_batches(batches(X[:4], Y[:4], 4), tmp_path / "link")
    assert open_store(tmp_path / "link").n_rows == 4
    assert open_store(folder).n_rows == 10
    assert names_in(tmp_path) == ["link", "rows"]
