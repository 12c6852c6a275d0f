"""Work that is done when an object is gone: to its end, and Ctrl-C is not lost."""

import os
import signal
import time

import numpy as np
import pytest

from maxmargin.rows.disk.folders import OwnFolder, ScratchFolder, when_gone
from maxmargin.rows.disk.vectors import VectorFile


class Owner:
    pass


def let_go(owners):
    """Let the last name of something go, and do nothing for far longer than a Ctrl-C takes."""
    owners.clear()
    for _ in range(6000):
        time.sleep(0.01)


def test_it_is_done_when_the_object_is_gone():
    done = []
    owner = Owner()
    when_gone(owner, done.append, 3)
    assert done == []
    del owner
    assert done == [3]


def test_ctrl_c_in_the_middle_of_it_is_heard_after_its_end():
    begun, done = [], []

    def work():
        begun.append(None)
        if len(begun) == 1:
            signal.raise_signal(signal.SIGINT)
        done.append(None)

    owners = [Owner()]
    when_gone(owners[0], work)
    with pytest.raises(KeyboardInterrupt):
        let_go(owners)
    assert (len(begun), len(done)) == (2, 1)


def test_ctrl_c_while_vectors_are_removed_leaves_none_of_them(tmp_path, monkeypatch):
    folder = OwnFolder(tmp_path / "fit")
    vectors = [VectorFile(folder, 1, np.float64, 10, 10)]
    remove, pressed = OwnFolder.remove, []

    def press(self, name):
        if not pressed:
            pressed.append(name)
            signal.raise_signal(signal.SIGINT)
        remove(self, name)

    monkeypatch.setattr(OwnFolder, "remove", press)
    with pytest.raises(KeyboardInterrupt):
        let_go(vectors)
    assert os.listdir(tmp_path / "fit") == []


def test_ctrl_c_while_a_scratch_folder_is_removed_leaves_nothing(tmp_path, monkeypatch):
    folders = [ScratchFolder(tmp_path / "fits")]
    clear, pressed = OwnFolder.clear, []

    def press(self):
        if not pressed:
            pressed.append(None)
            signal.raise_signal(signal.SIGINT)
        clear(self)

    monkeypatch.setattr(OwnFolder, "clear", press)
    with pytest.raises(KeyboardInterrupt):
        let_go(folders)
    assert os.listdir(tmp_path / "fits") == []


def test_a_folder_may_vanish_while_files_of_it_are_removed(tmp_path, monkeypatch):
    """Garbage is collected at any line; a folder that is opened then is not taken for the one before."""
    folder, others = OwnFolder(tmp_path / "fit"), []
    vectors = [VectorFile(folder, 1, np.float64, 10, 10)]
    remove, wrong = OwnFolder.remove, []

    def vanish_first(self, name):
        monkeypatch.setattr(OwnFolder, "remove", remove)
        folder.vanish()
        others.append(OwnFolder(tmp_path / "another fit"))
        os.close(others[0].open(name))
        remove(self, name)

    monkeypatch.setattr(OwnFolder, "remove", vanish_first)
    monkeypatch.setattr("sys.unraisablehook", wrong.append)
    vectors.clear()
    assert wrong == []
    assert others[0].names() == ["1-a"]
    assert not (tmp_path / "fit").exists()
