"""Binary copies that are damaged, forged, fought over or in the way: the right data, perhaps a warning."""

import os
import shutil
import stat
import subprocess
import sys
import warnings
import zipfile

import numpy as np
import pytest
from little_room import little_room
from unprivileged import folder_of_nobody, nobody

import maxmargin.io.open as open_file
import maxmargin.rows.disk.archive as mapped_archive
import maxmargin.rows.disk.archive as untouched
from maxmargin import CacheWarning, load_data
from maxmargin.errors import UnreadableFile
from maxmargin.rows.disk.archive import MappedArchive, write_archive

LIBSVM = b"1 1:0.5 3:4e-300\n-1 2:5\n1\n"
NOT_KEPT = "{} was read, but its binary copy could not be kept: "
ROWS = [[0.5, 0.0, 4e-300], [0.0, 5.0, 0.0], [0.0, 0.0, 0.0]]


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "a.svm"
    path.write_bytes(LIBSVM)
    return path


@pytest.fixture
def copy(source):
    load_data(source, cache=True)
    return source.with_name("a.svm.maxmargin-cache")


def warnings_of_loading(source, place=True):
    """Load with a cache, check what was loaded, and return what was warned about."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", ResourceWarning)  # of what other tests left to be collected
        data = load_data(source, cache=place)
    assert data.X.toarray().tolist() == ROWS
    assert data.y.tolist() == [1, -1, 1]
    assert all(warning.category is CacheWarning for warning in caught)
    assert all(warning.filename == __file__ for warning in caught)
    return [str(warning.message) for warning in caught]


def names_in(folder):
    return sorted(entry.name for entry in folder.iterdir())


# ---------------------------------------------------------------- damaged


def test_a_copy_cut_short_anywhere_is_made_anew(source, copy):
    content = copy.read_bytes()
    for length in range(0, len(content), 41):
        copy.write_bytes(content[:length])
        (message,) = warnings_of_loading(source)
        assert message.startswith(f"{copy} is damaged and is made again: ")
        assert warnings_of_loading(source) == []


def test_a_flipped_byte_anywhere_never_changes_the_data(source, copy):
    content = copy.read_bytes()
    found = []
    for place in range(0, len(content), 23):
        changed = bytearray(content)
        changed[place] ^= 0x41
        copy.write_bytes(changed)
        found += warnings_of_loading(source)
    assert len(found) > len(content) / 23 / 2  # padding and dates of the archive may be anything
    assert all(message.startswith(f"{copy} is damaged and is made again: ") for message in found)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\0" * 5000, b"PK\x05\x06" + b"\0" * 18])
def test_something_else_is_made_anew(source, copy, content):
    copy.write_bytes(content)
    (message,) = warnings_of_loading(source)
    assert "is damaged and is made again" in message
    assert warnings_of_loading(source) == []


# ---------------------------------------------------------------- forged: the checksums are right


def forged(copy, change):
    """Write the copy again, after a change of its description and arrays."""
    archive = MappedArchive(copy)
    arrays = {name: array.copy() for name, array in archive.arrays().items()}
    description = {name: value for name, value in archive.description.items() if name != "note"}
    change(description, arrays)
    with copy.open("wb") as file:
        write_archive(file, description, arrays)


def with_header(**fields):
    return lambda description, arrays: description["data"].update(fields)


def with_arrays(**given):
    return lambda description, arrays: arrays.update({name: np.array(given[name]) for name in given})


def without(name):
    return lambda description, arrays: arrays.pop(name)


INT32, INT64 = np.int32, np.int64
FORGERIES = {
    "another format": lambda description, arrays: description.update(format="other"),
    "a column beyond the last": with_arrays(columns=np.array([0, 3, 1], INT32)),
    "a column before the first": with_arrays(columns=np.array([0, -1, 1], INT32)),
    "starts that go back": with_arrays(starts=np.array([0, 4, 3, 3], INT32)),
    "starts beyond the end": with_arrays(starts=np.array([0, 2, 3, 9], INT32)),
    "a negative start": with_arrays(starts=np.array([-1, 2, 3, 3], INT32)),
    "too few starts": with_arrays(starts=np.array([0, 3], INT32)),
    "fewer values than columns": with_arrays(values=[1.0]),
    "starts of another type": with_arrays(starts=np.array([0, 2, 3, 3], INT64)),
    "columns that are not whole": with_arrays(columns=[0.0, 2.0, 1.0]),
    "unsigned columns": with_arrays(columns=np.array([0, 2, 1], np.uint32)),
    "values that are text": with_arrays(values=["a", "b", "c"]),
    "columns in two dimensions": with_arrays(columns=np.zeros((3, 1), INT32)),
    "no values": without("values"),
    "too many labels": with_arrays(y=np.zeros(4)),
    "weights that are text": with_arrays(sample_weight=["a", "b", "c"]),
    "dense rows in one dimension": with_arrays(X=np.zeros(3)),
    "dense rows of truth": with_arrays(X=np.zeros((3, 3), dtype="U1")),
    "no shape": with_header(shape=None),
    "one dimension": with_header(shape=[3]),
    "half a column": with_header(shape=[3, 2.5]),
    "minus three rows": with_header(shape=[-3, 3]),
    "no columns": with_header(shape=[3, 0]),
    "names of other columns": with_header(feature_names=["a"]),
    "names that are numbers": with_header(feature_names=[1, 2, 3]),
    "a text of names": with_header(feature_names="abc"),
    "an encoding that is none": with_header(encoding={"columns": [1]}),
    "a label that is a list": with_header(label=[1]),
    "a scheme that is a number": with_header(scheme=3),
    "a count that is text": with_header(n_skipped="many"),
    "skipped lines that are numbers": with_header(skipped=[1]),
    "objects": with_header(objects=3),
}


@pytest.mark.parametrize("change", FORGERIES.values(), ids=FORGERIES)
def test_a_forged_copy_is_made_anew(source, copy, change):
    forged(copy, change)
    assert MappedArchive(copy).is_untouched  # even so: nothing that could crash is believed
    (message,) = warnings_of_loading(source)
    assert message.startswith(f"{copy} is damaged and is made again: ")
    assert warnings_of_loading(source) == []


class Trap:
    """What makes a folder when it is unpickled."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


@pytest.mark.parametrize("place", ["y", "classes", "values"])
def test_nothing_in_a_copy_is_executed(source, copy, place):
    trap = source.with_name("sprung")
    with zipfile.ZipFile(copy) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(copy, "w") as archive:
        for name, content in entries.items():
            if name == f"{place}.npy":
                with archive.open(name, "w") as file:
                    np.lib.format.write_array(file, np.array([Trap(trap)] * 3, dtype=object))
            else:
                archive.writestr(name, content)
    (message,) = warnings_of_loading(source)
    assert message.startswith(f"{copy} is damaged and is made again: ")
    assert not trap.exists()


# ---------------------------------------------------------------- untouched or checked


@pytest.fixture
def sums(monkeypatch):
    """Names of the arrays whose checksums were compared."""
    seen, plain = [], mapped_archive.checked

    def checked(whole, member, threads):
        seen.append(member.filename)
        return plain(whole, member, threads)

    monkeypatch.setattr(mapped_archive, "checked", checked)
    return seen


ARRAYS = {"values.npy", "columns.npy", "starts.npy", "y.npy", "classes.npy"}


@pytest.fixture
def known_start(monkeypatch, tmp_path_factory):
    """A system that says when it was started, as not every one does."""
    name = tmp_path_factory.mktemp("system") / "name"
    name.write_text("this start\n")
    monkeypatch.setattr(untouched, "RUNNING_SYSTEM", name)


@pytest.mark.usefixtures("known_start")
def test_checksums_of_arrays_are_compared_unless_nobody_can_have_touched_them(source, copy, sums):
    assert warnings_of_loading(source) == []
    assert set(sums) == {"description.json"}
    shutil.copy(copy, copy.with_name("moved"))
    copy.with_name("moved").replace(copy)
    assert warnings_of_loading(source) == []
    assert set(sums) == {"description.json"} | ARRAYS


def test_checksums_are_compared_after_a_start_of_the_system(source, copy, sums, monkeypatch, tmp_path):
    for name in ("another", "there-is-none"):
        if name == "another":
            (tmp_path / name).write_text("another start\n")
        monkeypatch.setattr(untouched, "RUNNING_SYSTEM", tmp_path / name)
        sums.clear()
        assert warnings_of_loading(source) == []
        assert set(sums) == {"description.json"} | ARRAYS


# ---------------------------------------------------------------- in the way


def a_folder(path):
    path.mkdir()


def a_pipe(path):
    os.mkfifo(path)


@pytest.mark.parametrize("make", [a_folder, a_pipe])
def test_what_is_in_the_way_stays(source, make):
    copy = source.with_name("a.svm.maxmargin-cache")
    make(copy)
    before = copy.stat()
    first, second = warnings_of_loading(source)
    assert first.startswith(f"{copy} ")
    assert second.startswith(f"{NOT_KEPT.format(source)}{copy} is ")
    assert stat.S_IFMT(copy.stat().st_mode) == stat.S_IFMT(before.st_mode)
    assert names_in(source.parent) == ["a.svm", "a.svm.maxmargin-cache"]


@pytest.mark.parametrize("target", ["precious", "/dev/zero", "a.svm.maxmargin-cache", "nowhere"])
def test_a_link_is_replaced_and_its_target_untouched(source, target):
    copy = source.with_name("a.svm.maxmargin-cache")
    source.with_name("precious").write_text("of somebody else")
    copy.symlink_to(target)
    assert len(warnings_of_loading(source)) == (target != "nowhere")
    assert not copy.is_symlink()
    assert warnings_of_loading(source) == []
    assert source.with_name("precious").read_text() == "of somebody else"
    assert not source.with_name("nowhere").exists()


def test_a_folder_that_may_not_be_written_to(source):
    folder = folder_of_nobody()
    try:
        file = folder / "a.svm"
        file.write_bytes(LIBSVM)
        (folder / "copies").mkdir(mode=0o777)
        (folder / "copies").chmod(0o777)
        folder.chmod(0o555)
        with nobody():
            (message,) = warnings_of_loading(file)
            assert message.startswith(NOT_KEPT.format(file))
            assert message.endswith(f"cannot be written: no permission for {folder}")
            assert warnings_of_loading(file, folder / "copies") == []
        assert names_in(folder) == ["a.svm", "copies"]
        assert len(names_in(folder / "copies")) == 1
    finally:
        folder.chmod(0o700)
        shutil.rmtree(folder)


def test_a_full_disk_costs_the_copy_and_not_the_data(source):
    with little_room(300):
        (message,) = warnings_of_loading(source)
    assert message.startswith(NOT_KEPT.format(source))
    assert names_in(source.parent) == ["a.svm"]


def test_a_full_disk_leaves_the_old_copy(source, copy):
    before = copy.read_bytes()
    source.write_bytes(LIBSVM + b"# more\n")
    with little_room(300):
        (message,) = warnings_of_loading(source)
    assert "could not be kept" in message
    assert copy.read_bytes() == before
    assert names_in(source.parent) == ["a.svm", "a.svm.maxmargin-cache"]


def test_a_source_that_changes_while_it_is_read_gives_no_copy(source, monkeypatch):
    plain = open_file.state_of

    def state_then_change(file):
        found = plain(file)
        source.write_bytes(source.read_bytes() + b"1 1:7\n")
        return found

    monkeypatch.setattr(open_file, "state_of", state_then_change)
    with pytest.raises(UnreadableFile, match="was changed while it was being read"):
        load_data(source, cache=True)
    assert names_in(source.parent) == ["a.svm"]


# ---------------------------------------------------------------- several processes

KILLED_WHILE_WRITING = """
import os, signal, sys
import maxmargin.rows.disk.archive as archive
from maxmargin import load_data

archive.numpy_header = lambda array: os.kill(os.getpid(), signal.SIGKILL)
load_data(sys.argv[1], cache=True)
"""


def test_a_process_killed_while_it_writes_leaves_no_copy(source):
    ended = subprocess.run([sys.executable, "-c", KILLED_WHILE_WRITING, source], check=False)
    assert ended.returncode == -9
    assert not source.with_name("a.svm.maxmargin-cache").exists()
    assert warnings_of_loading(source) == []
    assert warnings_of_loading(source) == []


READER = """
import pathlib, sys, warnings
from maxmargin import load_data

warnings.simplefilter("error")
warnings.filterwarnings("ignore", ".* could not be kept: the source is being changed")
source, told, end = map(pathlib.Path, sys.argv[1:])
print("ready", flush=True)
n_loads = 0
while not end.exists():
    before = int(told.read_text())
    data = load_data(source, cache=True, n_jobs=1)
    seen = set(data.X.data.tolist()) | set(data.y.tolist())
    assert len(seen) == 1 and data.n_rows == 50, seen
    assert int(seen.pop()) >= before
    n_loads += 1
print(n_loads)
"""


@pytest.mark.slow
def test_processes_that_read_write_and_change_at_the_same_time(tmp_path):
    """Nobody ever sees old data, mixed data or a damaged copy."""
    source, told, end = tmp_path / "a.svm", tmp_path / "told", tmp_path / "end"

    def change(number):
        for path, text in ((source, f"{number} 1:{number}\n" * 50), (told, str(number))):
            path.with_name("new").write_text(text)
            path.with_name("new").replace(path)

    change(0)
    command = [sys.executable, "-c", READER, source, told, end]
    readers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [reader.stdout.readline() for reader in readers] == ["ready\n"] * 3
    for number in range(1, 60):
        change(number)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".* could not be kept: the source is being changed")
            assert set(load_data(source, cache=True).y.tolist()) == {number}
    end.touch()
    outputs = [reader.communicate(timeout=60)[0] for reader in readers]
    assert [reader.returncode for reader in readers] == [0, 0, 0]
    assert all(int(output) > 0 for output in outputs)
    assert not [name for name in names_in(tmp_path) if name.endswith(".part")]
