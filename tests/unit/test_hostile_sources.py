"""What is not the file one hoped for: folders, devices, circles of links, files that change meanwhile."""

import gzip
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from covering import every_value
from unprivileged import folder_of_nobody, nobody

import maxmargin.io.open as open_file
from maxmargin import load_data, load_model, save_model, train
from maxmargin.errors import InvalidParameter, MissingFile, UnreadableFile
from maxmargin.io.liblinear import read_liblinear_model
from maxmargin.io.settings import FORMATS


def model_bytes(path):
    save_model(train([[0.0], [1.0]], [-1, 1]), path)


def liblinear_bytes(path):
    path.write_text("solver_type L2R_LR\nnr_class 2\nlabel 1 -1\nnr_feature 1\nbias -1\nw\n2 \n")


def text(content):
    return lambda path: path.write_bytes(content)


def parquet_bytes(path):
    pq.write_table(TABLE, path)


def arrow_bytes(path):
    feather.write_feather(TABLE, path, compression="uncompressed")


def npz_bytes(path):
    with path.open("wb") as file:
        np.savez(file, X=np.eye(2), y=[1, -1])


def npy_bytes(path):
    with path.open("wb") as file:
        np.save(file, np.array([[2.0, 1.0], [-1.0, 0.0]]))


LIBSVM = b"1 1:0.5\n-1 2:5\n"
TABLE = pa.table({"height": [2.0, -1.0], "kind": [1, 0]})

# Everything that reads a file: the file's name, what makes one, what reads it.
SOURCES = {
    "libsvm": ("a.svm", text(LIBSVM), load_data),
    "packed libsvm": ("a.svm.gz", text(gzip.compress(LIBSVM)), load_data),
    "csv": ("a.csv", text(b"height,kind\n2,1\n-1,0\n"), load_data),
    "parquet": ("a.parquet", parquet_bytes, load_data),
    "arrow": ("a.arrow", arrow_bytes, load_data),
    "npz": ("a.npz", npz_bytes, load_data),
    "npy": ("a.npy", npy_bytes, load_data),
    "model": ("a.model", model_bytes, load_model),
    "LIBLINEAR's model": ("a.liblinear", liblinear_bytes, read_liblinear_model),
}


def test_every_format_is_here():
    assert FORMATS.keys() <= SOURCES.keys()


@pytest.fixture(params=SOURCES.values(), ids=SOURCES)
def source(request):
    return request.param


def numbers_of(found):
    """Something to compare two results by."""
    rows = next(getattr(found, name) for name in ("X", "coef", "weights") if hasattr(found, name))
    return rows.toarray().tolist() if hasattr(rows, "toarray") else np.asarray(rows).tolist()


def refusal(read, path, kind=UnreadableFile):
    with pytest.raises(kind) as caught:
        read(path)
    assert type(caught.value) is kind
    return str(caught.value)


def test_no_file(tmp_path, source):
    name, _, read = source
    path = tmp_path / name
    assert refusal(read, path, MissingFile) == f"{path}: no such file"
    assert refusal(read, tmp_path / "none" / name, MissingFile) == f"{tmp_path / 'none' / name}: no such file"
    (tmp_path / "dangling").symlink_to("nowhere")
    assert "no such file" in refusal(read, tmp_path / "dangling", MissingFile)


def test_a_folder(tmp_path, source):
    path = tmp_path / source[0]
    path.mkdir()
    assert refusal(source[2], path) == f"{path} is a folder; a file is expected"


@every_value(source=SOURCES.values(), device=["/dev/zero", "/dev/null", "/dev/full", "/dev/urandom"])
def test_a_device_that_may_have_no_end(tmp_path, source, device):
    path = tmp_path / source[0]
    path.symlink_to(device)
    assert refusal(source[2], path) == f"{path} is a device; a file or a pipe is expected"


def test_links_in_a_circle(tmp_path, source):
    path = tmp_path / source[0]
    path.symlink_to(tmp_path / "other")
    (tmp_path / "other").symlink_to(path)
    assert "cannot be read: Too many levels of symbolic links" in refusal(source[2], path)


def test_a_path_through_a_file(tmp_path, source):
    (tmp_path / "file").touch()
    assert "cannot be read: Not a directory" in refusal(source[2], tmp_path / "file" / source[0])


def test_a_socket(source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # names of sockets are short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(source[0])
        assert f"{source[0]} cannot be read: " in refusal(source[2], Path(source[0]))


def test_names_that_no_file_can_have(tmp_path, source):
    assert "cannot have a zero byte in it" in refusal(source[2], tmp_path / "a\0.svm", InvalidParameter)
    assert "File name too long" in refusal(source[2], tmp_path / ("a" * 300 + source[0]))


def test_a_file_that_may_not_be_read(source):
    name, make, read = source
    folder = folder_of_nobody()
    try:
        make(folder / name)
        (folder / name).chmod(0)
        with nobody():
            assert refusal(read, folder / name) == f"{folder / name} cannot be read: Permission denied"
        folder.chmod(0)
        with nobody():
            assert refusal(read, folder / name) == f"{folder / name} cannot be read: Permission denied"
    finally:
        folder.chmod(0o700)
        shutil.rmtree(folder)


def test_a_pipe_is_read_as_a_file_is(tmp_path, source):
    name, make, read = source
    make(tmp_path / name)
    (tmp_path / "pipe").mkdir()
    pipe = tmp_path / "pipe" / name
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes((tmp_path / name).read_bytes()))
    writer.start()
    found = read(pipe)
    writer.join()
    assert numbers_of(found) == numbers_of(read(tmp_path / name))


def test_a_pipe_into_which_nobody_writes_is_left_by_ctrl_c(tmp_path):
    os.mkfifo(tmp_path / "a.svm")
    program = "import sys; from maxmargin import load_data; load_data(sys.argv[1])"
    command = [sys.executable, "-c", program, str(tmp_path / "a.svm")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    silent_end = once_somebody_listens(tmp_path / "a.svm")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    os.close(silent_end)
    assert errors.rstrip().endswith("KeyboardInterrupt")


def once_somebody_listens(pipe):
    """Wait until the other end of a pipe is open; return this one."""
    while True:
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            time.sleep(0.01)


# ---------------------------------------------------------------- changed meanwhile


def appended(path):
    with path.open("ab") as file:
        file.write(b"\n")


def cut_short(path):
    os.truncate(path, path.stat().st_size - 2)


def rewritten(path):
    """The same length; time passes between two changes."""
    content = path.read_bytes()
    os.utime(path, ns=(0, path.stat().st_mtime_ns - 10**9))
    path.write_bytes(content[::-1])


def spoiled_at_once(path):
    rewritten(path)
    path.write_bytes(b"?" * 100)


@every_value(source=SOURCES.values(), change=[appended, cut_short, rewritten, spoiled_at_once])
def test_a_file_that_is_changed_while_it_is_read(tmp_path, source, change, monkeypatch):
    name, make, read = source
    path = tmp_path / name
    make(path)
    read(path)
    changed = []

    def state_then_change(file):
        found = state_of(file)
        if not changed:
            changed.append(path)
            change(path)
        return found

    state_of = open_file.state_of
    monkeypatch.setattr(open_file, "state_of", state_then_change)
    expected = f"{path} was changed while it was being read; read it again when it is complete"
    assert refusal(read, path) == expected


def test_a_file_that_is_replaced_while_it_is_read_is_read_as_it_was(tmp_path, source, monkeypatch):
    name, make, read = source
    path = tmp_path / name
    make(path)
    expected = numbers_of(read(path))

    def state_then_replace(file):
        found = state_of(file)
        (tmp_path / "new").write_bytes(b"something else")
        (tmp_path / "new").replace(path)
        return found

    state_of = open_file.state_of
    monkeypatch.setattr(open_file, "state_of", state_then_replace)
    assert numbers_of(read(path)) == expected
