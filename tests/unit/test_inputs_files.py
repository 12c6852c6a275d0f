"""Files: formats by name and by content, packing, what is missing or damaged, whole writes."""

import bz2
import copyreg
import gzip
import lzma
import os
import pickle
import re
import stat
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
from covering import each_row, every_value

from maxmargin.data import Data
from maxmargin.errors import (
    FileFormatError,
    InvalidInput,
    InvalidParameter,
    MaxMarginError,
    MissingFile,
    NoFiniteOptimum,
    UnreadableFile,
)
from maxmargin.io.load import load_data
from maxmargin.io.save import save_data
from maxmargin.rows.disk.atomic import replacing

LIBSVM = b"1 1:2 3:4\n-1 2:5\n"
CSV = b"a,b,c\n1,2,0\n3,4,1\n"


@each_row(
    ("name", "content", "scheme"),
    [
        ("d.svm", LIBSVM, "libsvm"),
        ("d.libsvm", LIBSVM, "libsvm"),
        ("d.svmlight", LIBSVM, "libsvm"),
        ("d.TXT", LIBSVM, "libsvm"),
        ("d.csv", CSV, "csv"),
        ("d.tsv", CSV.replace(b",", b"\t"), "csv"),
        ("a9a", LIBSVM, "libsvm"),
        ("a9a.t", b"# note\n\n1\n" + LIBSVM, "libsvm"),
        ("wdbc.data", CSV, "csv"),
        ("table.dat", b"1;2;3\n", "csv"),
        ("tabs", b"1\t2\t3\n", "csv"),
    ],
)
def test_format_by_name_or_first_lines(tmp_path, name, content, scheme):
    (tmp_path / name).write_bytes(content)
    assert load_data(tmp_path / name).scheme == scheme
    assert load_data(str(tmp_path / name)).scheme == scheme


def test_format_can_be_given(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes(LIBSVM)
    assert load_data(path, format="libsvm").X.shape == (2, 3)


def test_unknown_format_is_an_error(tmp_path):
    path = tmp_path / "notes.md"
    path.write_text("some words\n")
    with pytest.raises(FileFormatError) as caught:
        load_data(path)
    assert str(caught.value) == (
        f"{path}: neither its name nor its first bytes determine the format; "
        "give format=…, one of libsvm, csv, parquet, arrow, npz, npy"
    )


@each_row(
    ("settings", "message"),
    [
        (
            {"format": "arff"},
            "format must be one of libsvm, csv, parquet, arrow, npz, npy; got format='arff'",
        ),
        ({"zero_based": "yes"}, "zero_based must be True, False or \"auto\"; got zero_based='yes'"),
        ({"zero_based": 1}, 'zero_based must be True, False or "auto"; got zero_based=1'),
        ({"n_columns": 0}, "n_columns must be a positive whole number; got n_columns=0"),
        ({"n_columns": 2.0}, "n_columns must be a positive whole number; got n_columns=2.0"),
        ({"n_columns": True}, "n_columns must be a positive whole number; got n_columns=True"),
        ({"n_columns": 2**62}, f"n_columns must be a positive whole number; got n_columns={2**62}"),
        ({"label": 1.5}, "label must be a column's name or number; got label=1.5"),
        ({"label": "y"}, "label is for tables; {path} is read as LIBSVM text, where it comes first"),
        ({"format": "csv", "zero_based": True}, "zero_based is for LIBSVM text; {path} is read as a table"),
    ],
)
def test_settings_are_checked(tmp_path, settings, message):
    path = tmp_path / "d.svm"
    path.write_bytes(LIBSVM)
    with pytest.raises(InvalidParameter) as caught:
        load_data(path, **settings)
    assert str(caught.value) == message.format(path=path)


# ---------------------------------------------------------------- packing

PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("name", ["d.svm", "d"])
def test_packed_files_are_unpacked(tmp_path, suffix, name):
    path = tmp_path / (name + suffix)
    path.write_bytes(PACKERS[suffix](LIBSVM))
    assert load_data(path).X.shape == (2, 3)
    plain = path.rename(tmp_path / "packed.svm")
    assert load_data(plain).X.shape == (2, 3)


@pytest.mark.parametrize("suffix", PACKERS)
def test_joined_packed_files_are_one(tmp_path, suffix):
    path = tmp_path / f"d.svm{suffix}"
    path.write_bytes(PACKERS[suffix](LIBSVM) + PACKERS[suffix](LIBSVM))
    assert load_data(path).n_rows == 4


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_packed_file_cut_short_is_never_less_data(tmp_path, suffix):
    packed = PACKERS[suffix](LIBSVM * 50)
    path = tmp_path / f"d.svm{suffix}"
    for length in range(len(packed)):
        path.write_bytes(packed[:length])
        with pytest.raises(FileFormatError, match="damaged or cut short|although its name says so"):
            load_data(path)


@pytest.mark.parametrize(("suffix", "name"), [(".gz", "gzip"), (".bz2", "bzip2"), (".xz", "xz")])
def test_damage_is_found(tmp_path, suffix, name):
    packed = bytearray(PACKERS[suffix](os.urandom(100).hex().encode() * 30))
    packed[-15] ^= 0x55
    path = tmp_path / f"d.svm{suffix}"
    path.write_bytes(packed)
    with pytest.raises(FileFormatError, match=f"d.svm{suffix}: the {name} file is damaged or cut short"):
        load_data(path)


def test_a_name_that_promises_packing_must_keep_it(tmp_path):
    path = tmp_path / "d.svm.xz"
    path.write_bytes(LIBSVM)
    with pytest.raises(FileFormatError) as caught:
        load_data(path)
    assert str(caught.value) == f"{path}: not packed by xz, although its name says so"


# ---------------------------------------------------------------- missing and unreadable


def test_a_missing_file_is_named_with_what_may_have_been_meant(tmp_path):
    with pytest.raises(MissingFile, match=re.escape(f"{tmp_path / 'a9a.svm'}: no such file") + "$"):
        load_data(tmp_path / "a9a.svm")
    (tmp_path / "a9a.svm.xz").write_bytes(b"")
    with pytest.raises(FileNotFoundError, match=re.escape(f"did you mean {tmp_path / 'a9a.svm.xz'}?")):
        load_data(tmp_path / "a9a.svm")
    with pytest.raises(MaxMarginError, match=re.escape(f"did you mean {tmp_path / 'a9a.svm.xz'}?")):
        load_data(tmp_path / "a9e.svm.xz")
    with pytest.raises(MissingFile, match="no such file$"):
        load_data(tmp_path / "no" / "such" / "folder.svm")


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(UnreadableFile) as caught:
        load_data(tmp_path)
    assert str(caught.value) == f"{tmp_path} is a folder; a file is expected"
    (tmp_path / "d.svm").mkdir()
    with pytest.raises(UnreadableFile, match="is a folder; a file is expected"):
        save_data(Data(np.eye(1), np.ones(1)), tmp_path / "d.svm")


def test_a_path_that_goes_through_a_file_cannot_be_read(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UnreadableFile, match="cannot be read: Not a directory"):
        load_data(tmp_path / "file" / "d.svm")
    with pytest.raises(UnreadableFile, match="cannot be written: Not a directory"):
        save_data(Data(np.eye(1), np.ones(1)), tmp_path / "file" / "d.svm")


# ---------------------------------------------------------------- writing


def test_save_needs_a_name_that_tells_the_format(tmp_path):
    with pytest.raises(InvalidParameter, match="must end in one of .svm, .libsvm, .* .npz, .npy; got"):
        save_data(Data(np.eye(1), np.ones(1)), tmp_path / "data.bin")


def test_save_needs_a_folder(tmp_path):
    with pytest.raises(MissingFile, match="cannot be written: there is no folder"):
        save_data(Data(np.eye(1), np.ones(1)), tmp_path / "none" / "d.svm")


@pytest.mark.parametrize("name", ["d.svm", "d.csv", "d.svm.gz", "d.csv.bz2", "d.tsv.xz"])
def test_the_same_data_give_the_same_bytes(tmp_path, name):
    data = Data(np.arange(6.0).reshape(3, 2), np.array([1, 2, 1]))
    save_data(data, tmp_path / name)
    first = (tmp_path / name).read_bytes()
    save_data(data, tmp_path / name)
    assert (tmp_path / name).read_bytes() == first
    np.testing.assert_array_equal(np.asarray(load_dense(tmp_path / name)), data.X)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def load_dense(path):
    X = load_data(path).X
    return X.toarray() if hasattr(X, "toarray") else X


def fail_while_writing(path):
    with replacing(path) as file:
        file.write(b"half")
        raise RuntimeError("in the middle")


def test_an_error_while_writing_leaves_the_old_file(tmp_path):
    path = tmp_path / "d.svm"
    path.write_bytes(LIBSVM)
    with pytest.raises(RuntimeError, match="in the middle"):
        fail_while_writing(path)
    assert path.read_bytes() == LIBSVM
    assert [entry.name for entry in tmp_path.iterdir()] == ["d.svm"]


def test_permissions_are_usual_and_kept(tmp_path):
    usual = tmp_path / "usual"
    usual.touch()
    data = Data(np.eye(2), np.array([1, 2]))
    path = tmp_path / "d.svm"
    save_data(data, path)
    assert path.stat().st_mode == usual.stat().st_mode
    path.chmod(0o640)
    save_data(data, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_link_is_followed_and_stays(tmp_path):
    (tmp_path / "link.svm").symlink_to("real.svm")
    save_data(Data(np.eye(2), np.array([1, 2])), tmp_path / "link.svm")
    assert (tmp_path / "link.svm").is_symlink()
    assert (tmp_path / "real.svm").read_text() == "1 1:1\n2 2:1\n"


def test_a_pipe_is_written_to_and_stays(tmp_path):
    pipe = tmp_path / "pipe.svm"
    os.mkfifo(pipe)
    received = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_text()))
    reader.start()
    save_data(Data(np.eye(1), np.ones(1)), pipe)
    reader.join()
    assert received == ["1 1:1\n"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


# ---------------------------------------------------------------- the errors themselves


def with_tblib(error):
    """Pickle an error as Dask's workers do."""
    pickler = pytest.importorskip("tblib.pickling_support")
    from io import BytesIO

    file = BytesIO()
    writer = pickle.Pickler(file, 5)
    writer.dispatch_table = copyreg.dispatch_table | {type(error): pickler.pickle_exception}
    writer.dump(error)
    return file.getvalue()


@every_value(
    made_by=[pickle.dumps, with_tblib],
    error=[
        FileFormatError("wrong", "a.svm", 3, 4),
        FileFormatError("wrong"),
        MissingFile("a.svm: no such file"),
        NoFiniteOptimum("falls for ever", [1.0, 2.0]),
    ],
)
def test_errors_survive_pickling(error, made_by):
    copy = pickle.loads(made_by(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)


def test_errors_are_caught_as_what_they_are():
    assert issubclass(MissingFile, FileNotFoundError)
    assert issubclass(UnreadableFile, OSError)
    for error in (InvalidInput, InvalidParameter, NoFiniteOptimum, FileFormatError, MissingFile):
        assert issubclass(error, MaxMarginError)
        assert issubclass(error, ValueError)


WRITE_SLOWLY = """
    import sys
    from pathlib import Path
    from maxmargin.rows.disk.atomic import replacing

    with replacing(Path(sys.argv[1])) as file:
        file.write(b"half")
        file.flush()
        print("begun", flush=True)
        sys.stdin.readline()
"""


def writing_slowly(path):
    """Return a process that has begun to write a file."""
    command = [sys.executable, "-c", textwrap.dedent(WRITE_SLOWLY), str(path)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "begun\n"
    return process


def test_what_a_killed_writer_left_goes_with_the_next_one(tmp_path):
    """That of one that is at work stays, and so does what only looks like a draft."""
    path = tmp_path / "a.model"
    dead, alive = writing_slowly(path), writing_slowly(path)
    dead.kill()
    dead.communicate()
    (tmp_path / "letter.txt").write_text("keep me")
    mine = [".a.model.mine.part", ".b.model.0123456789ab.part", ".a.model.0123456789ab.part"]
    (tmp_path / mine[0]).write_text("mine")
    (tmp_path / mine[1]).write_text("mine")
    (tmp_path / mine[2]).symlink_to(tmp_path / "letter.txt")
    assert len(list(tmp_path.glob(".a.model.*.part"))) == 4
    with replacing(path) as file:
        file.write(b"whole")
    (left,) = set(tmp_path.glob(".a.model.*.part")) - {tmp_path / name for name in mine}
    assert left.read_bytes() == b"half"
    assert path.read_bytes() == b"whole"
    alive.communicate("go on\n")
    assert alive.returncode == 0
    assert path.read_bytes() == b"half"
    assert sorted(found.name for found in tmp_path.iterdir()) == sorted([*mine, "a.model", "letter.txt"])
