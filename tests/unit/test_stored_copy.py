"""Rows of a file, stored once: known again as long as the file is the same, and made anew otherwise."""

import os
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import maxmargin.io.memory as estimate
import maxmargin.io.stored_copy as module
from maxmargin import LinearSVM, load_data, train
from maxmargin.errors import InvalidParameter, MissingFile, UnreadableFile
from maxmargin.io.settings import ReadSettings
from maxmargin.io.stored_copy import stored_copy, stored_path


@pytest.fixture
def path(tmp_path):
    random = np.random.default_rng(2)
    X = random.normal(size=(200, 3)).round(3)
    lines = [f"{a},{b},{c},{int(a + b > 0)}" for a, b, c in X]
    (tmp_path / "t.csv").write_text("a,b,c,y\n" + "\n".join(lines) + "\n")
    return tmp_path / "t.csv"


def names_in(folder):
    return sorted(entry.name for entry in folder.iterdir())


def test_rows_are_used_again(path):
    first = stored_copy(path, ReadSettings())
    written = (first.store.folder / "X.npy").stat()
    second = stored_copy(path, ReadSettings())
    assert (first.is_old, second.is_old) == (False, True)
    assert (second.store.folder / "X.npy").stat() == written
    np.testing.assert_array_equal(second.store.arrays["X"], load_data(path).X)
    assert names_in(path.parent) == ["t.csv", "t.csv.maxmargin-rows"]


def test_another_content_is_stored_anew(path):
    stored_copy(path, ReadSettings())
    state = path.stat()
    text = path.read_text()
    path.write_text(text.replace("\n", "\n9", 1))
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    found = stored_copy(path, ReadSettings())
    assert not found.is_old
    assert found.store.arrays["X"][0, 0] == load_data(path).X[0, 0]


def test_other_settings_have_a_folder_of_their_own(path):
    usual = stored_copy(path, ReadSettings()).store
    other = stored_copy(path, ReadSettings(drop=["b"])).store
    assert (usual.n_columns, other.n_columns) == (3, 2)
    assert stored_copy(path, ReadSettings()).is_old
    assert stored_copy(path, ReadSettings(drop=["b"])).is_old
    assert stored_path(path, True, ReadSettings(n_jobs=1)) == usual.folder
    assert len(names_in(path.parent)) == 3


def test_rows_may_be_in_a_folder(path, tmp_path):
    (tmp_path / "copies").mkdir()
    found = stored_copy(path, ReadSettings(), tmp_path / "copies").store
    assert found.folder.parent == tmp_path / "copies"
    assert found.folder.name.startswith("t.csv-")
    with pytest.raises(InvalidParameter, match="there is no such folder"):
        stored_copy(path, ReadSettings(), tmp_path / "nowhere")


@pytest.mark.parametrize("damage", ["shorter", "touched", "no index", "older release"])
def test_damaged_rows_are_stored_anew(path, damage, monkeypatch):
    folder = stored_copy(path, ReadSettings()).store.folder
    if damage == "shorter":
        os.truncate(folder / "X.npy", 500)
    elif damage == "touched":
        content = bytearray((folder / "X.npy").read_bytes())
        content[-5] ^= 1
        (folder / "X.npy").write_bytes(bytes(content))
    elif damage == "no index":
        (folder / "rows.json").write_text("{")
    else:
        monkeypatch.setattr(module, "__version__", "0.0.0")
    found = stored_copy(path, ReadSettings())
    assert not found.is_old
    found.store.check()
    np.testing.assert_array_equal(found.store.arrays["X"], load_data(path).X)


def test_after_a_new_start_of_the_system_checksums_tell(path, monkeypatch):
    folder = stored_copy(path, ReadSettings()).store.folder
    monkeypatch.setattr(module, "running_system", lambda: "another start")
    assert stored_copy(path, ReadSettings()).is_old
    times = (folder / "X.npy").stat()
    content = bytearray((folder / "X.npy").read_bytes())
    content[-5] ^= 1
    (folder / "X.npy").write_bytes(bytes(content))
    os.utime(folder / "X.npy", ns=(times.st_atime_ns, times.st_mtime_ns))
    assert not stored_copy(path, ReadSettings()).is_old


def test_what_is_in_the_way_is_not_touched(path):
    mine = stored_path(path, True, ReadSettings())
    mine.mkdir()
    (mine / "letter.txt").write_text("keep me")
    with pytest.raises(InvalidParameter, match="is in the way"):
        stored_copy(path, ReadSettings())
    assert (mine / "letter.txt").read_text() == "keep me"


def test_a_folder_that_cannot_be_written_is_named(path, monkeypatch):
    monkeypatch.setattr(module.os, "access", lambda *_: False)
    with pytest.raises(UnreadableFile, match=r"store_data\(file, folder\) stores them elsewhere"):
        stored_copy(path, ReadSettings())
    monkeypatch.undo()
    with pytest.raises(MissingFile):
        stored_copy(path.with_name("missing.csv"), ReadSettings())


def test_permissions_are_those_of_the_file(path):
    path.chmod(0o600)
    assert stored_copy(path, ReadSettings()).store.folder.stat().st_mode & 0o777 == 0o700


STORE = """
    import sys
    from pathlib import Path
    import maxmargin.io.tables.csv as module
    from maxmargin.io.settings import ReadSettings
    from maxmargin.io.stored_copy import stored_copy
    module.BATCH_BYTES = 100
    store, is_old = stored_copy(Path(sys.argv[1]), ReadSettings())
    store.check()
    print(is_old)
"""


def started(path):
    command = [sys.executable, "-c", textwrap.dedent(STORE), str(path)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_several_processes_store_once(path):
    found = [process.communicate()[0].strip() for process in [started(path) for _ in range(3)]]
    assert sorted(found) == ["False", "True", "True"]


def test_a_killed_process_leaves_nothing_for_long(path):
    path.write_text(path.read_text() + "1,2,3,1\n" * 200_000)
    process = started(path)
    while process.poll() is None and not list(path.parent.glob(".*.part")):
        time.sleep(0.001)
    process.kill()
    process.communicate()
    assert list(path.parent.glob(".*.part"))
    assert stored_copy(path, ReadSettings()).store.n_rows == 200_200
    assert names_in(path.parent) == ["t.csv", "t.csv.maxmargin-rows"]


# ---------------------------------------------------------------- fits


def test_a_file_larger_than_memory_is_fitted_from_disk(path, monkeypatch, capsys):
    expected = train(path, C=0.3, tol=1e-8)
    monkeypatch.setattr(estimate, "SMALL", 0)
    monkeypatch.setattr("maxmargin.io.memory.available_memory", lambda: 3000)
    first = LinearSVM(C=0.3, tol=1e-8, verbose=1).fit(path)
    told = capsys.readouterr().err
    assert f"{path} would take about" in told
    assert "and 3.0 kB are there" in told
    assert f"storing the rows of {path} in {path}.maxmargin-rows" in told
    second = LinearSVM(C=0.3, tol=1e-8, verbose=1).fit(path)
    assert f"the rows of {path} are already stored in {path}.maxmargin-rows" in capsys.readouterr().err
    for model in (first, second):
        np.testing.assert_array_equal(model.coef_, expected.coef)
        assert model.plan_.reason.endswith("; rows read from disk")
    assert list(first.feature_names_in_) == ["a", "b", "c"]
    monkeypatch.setattr("maxmargin.io.memory.available_memory", lambda: 10**9)
    assert "disk" not in train(path).plans[0].reason


def test_memory_is_a_parameter_of_train(path):
    model = train(path, memory="20GB", loss="logistic")
    np.testing.assert_array_equal(model.coef, train(path, loss="logistic").coef)
    assert model.label == "y"
    store = stored_copy(path, ReadSettings())
    assert store.is_old
    for source in (store.store, store.store.folder):
        np.testing.assert_array_equal(train(source, memory=20 * 10**9, loss="logistic").coef, model.coef)
    with pytest.raises(InvalidParameter, match=r"memory=1.0 MB is too little for 200 rows of 3 columns"):
        train(path, memory="1MB")
    with pytest.raises(InvalidParameter, match="memory is for rows on disk"):
        train(np.eye(2), [0, 1], memory="20GB")
    with pytest.raises(InvalidParameter, match="such as 500MB"):
        train(path, memory="lots")
    (path.with_name("other.csv")).write_text(path.read_text())
    with pytest.raises(InvalidParameter, match="storing rows takes"):
        train(path.with_name("other.csv"), memory="1MB")
