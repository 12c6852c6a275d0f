"""Where a file cannot or must not be written: an error, and nothing changed. Elsewhere all stays in order."""

import os
import shutil
import stat

import numpy as np
import pytest
from unprivileged import folder_of_nobody, nobody

from maxmargin import export_onnx, save_data, save_model, train
from maxmargin.data import Data
from maxmargin.errors import InvalidParameter, MissingFile, UnreadableFile

MODEL = train([[0.0], [1.0], [3.0], [4.0]], ["low", "low", "high", "high"])

WRITERS = {
    "save_model": lambda path: save_model(MODEL, path),
    "save_data": lambda path: save_data(Data(np.eye(2), np.array([1, 2])), path),
    "export_onnx": lambda path: export_onnx(MODEL, path),
}
NAME = "a.svm"  # whatever is written, and for data what it says


@pytest.fixture(params=WRITERS.values(), ids=WRITERS)
def write(request):
    return request.param


def refusal(write, path, kind=UnreadableFile):
    with pytest.raises(kind) as caught:
        write(path)
    assert type(caught.value) is kind
    return str(caught.value)


def names_in(folder):
    return sorted(entry.name for entry in folder.iterdir())


def test_a_folder(tmp_path, write):
    (tmp_path / NAME).mkdir()
    assert refusal(write, tmp_path / NAME) == f"{tmp_path / NAME} is a folder; a file is expected"
    assert names_in(tmp_path) == [NAME]


def test_no_folder(tmp_path, write):
    path = tmp_path / "none" / NAME
    assert refusal(write, path, MissingFile) == f"{path} cannot be written: there is no folder {path.parent}"
    assert names_in(tmp_path) == []


def test_a_path_through_a_file(tmp_path, write):
    (tmp_path / "file").write_text("kept")
    assert "cannot be written: Not a directory" in refusal(write, tmp_path / "file" / NAME)
    assert (tmp_path / "file").read_text() == "kept"


def test_links_in_a_circle(tmp_path, write):
    (tmp_path / NAME).symlink_to("other")
    (tmp_path / "other").symlink_to(NAME)
    assert "cannot be written: Too many levels of symbolic links" in refusal(write, tmp_path / NAME)
    assert (tmp_path / NAME).is_symlink()
    assert names_in(tmp_path) == [NAME, "other"]


@pytest.mark.parametrize("is_there", [True, False])
def test_a_link_is_followed_and_stays(tmp_path, write, is_there):
    (tmp_path / "folder").mkdir()
    target = tmp_path / "folder" / "real"
    if is_there:
        target.write_bytes(b"old")
        target.chmod(0o604)
    (tmp_path / NAME).symlink_to("folder/real")
    write(tmp_path / NAME)
    assert (tmp_path / NAME).is_symlink()
    assert target.read_bytes() not in (b"", b"old")
    assert not is_there or stat.S_IMODE(target.stat().st_mode) == 0o604
    assert names_in(tmp_path) == [NAME, "folder"]
    assert names_in(tmp_path / "folder") == ["real"]


def test_names_that_no_file_can_have(tmp_path, write):
    assert "cannot have a zero byte in it" in refusal(write, tmp_path / f"a\0{NAME}", InvalidParameter)
    assert "File name too long" in refusal(write, tmp_path / ("a" * 300 + NAME))
    assert names_in(tmp_path) == []


def test_the_longest_name_that_a_file_can_have(tmp_path, write):
    """The draft beside it has a name of its own."""
    path = tmp_path / ("ü€" * 50 + "a" + NAME)
    assert len(os.fsencode(path.name)) == 256
    path = tmp_path / path.name[1:]
    write(path)
    assert names_in(tmp_path) == [path.name]


@pytest.fixture
def folder():
    folder = folder_of_nobody()
    yield folder
    folder.chmod(0o700)
    shutil.rmtree(folder)


def test_a_folder_that_may_not_be_written_to(folder, write):
    (folder / NAME).write_bytes(b"old")
    (folder / NAME).chmod(0o666)
    folder.chmod(0o555)
    with nobody():
        told = refusal(write, folder / NAME)
    assert told == f"{folder / NAME} cannot be written: no permission for {folder}"
    assert (folder / NAME).read_bytes() == b"old"


def test_a_protected_file_in_a_folder_that_may_be_written_to(folder, write):
    (folder / NAME).write_bytes(b"old")
    (folder / NAME).chmod(0o444)
    with nobody():
        told = refusal(write, folder / NAME)
    assert told == f"{folder / NAME} cannot be written: the file there is write-protected"
    assert (folder / NAME).read_bytes() == b"old"
    assert names_in(folder) == [NAME]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o777])
def test_permissions_are_kept_and_nobody_else_sees_a_draft(tmp_path, write, mode, monkeypatch):
    path = tmp_path / NAME
    path.write_bytes(b"old")
    path.chmod(mode)
    seen = []
    replace = os.replace

    def drafts(one, other):
        seen.append(stat.S_IMODE(os.stat(one).st_mode))
        replace(one, other)

    opened = os.open

    def opening(name, flags, given=0o777):
        if str(name).endswith(".part"):
            seen.append(given)
        return opened(name, flags, given)

    monkeypatch.setattr(os, "replace", drafts)
    monkeypatch.setattr(os, "open", opening)
    write(path)
    assert seen == [0o600, mode]
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_the_mask_of_the_user_counts_for_new_files(tmp_path, write):
    before = os.umask(0o027)
    try:
        write(tmp_path / NAME)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / NAME).stat().st_mode) == 0o640
