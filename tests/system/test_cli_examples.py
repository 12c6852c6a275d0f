"""Every example in a command's help is run, in a folder with the files that they speak of."""

import gzip
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from maxmargin import save_data
from maxmargin.cli.program import COMMANDS, build_parser, main
from maxmargin.data import Data
from maxmargin.datasets import breast_cancer

CELLS = Path(__file__).parents[1] / "data" / "breast_cancer.csv"
WAITS = {"play"}  # until somebody comes


def examples():
    """Every line of every help that is a command, without what is said about it."""
    choices = build_parser()._subparsers._group_actions[0].choices
    for name in COMMANDS:
        shown = choices[name].epilog.split("examples:\n")[1].split("\n\n")[0]
        for line in shown.splitlines():
            yield name, re.split(r"\s{2,}", line.strip())[0]


EXAMPLES = [pytest.param(*pair, id=pair[1]) for pair in examples() if pair[0] not in WAITS]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """The files that examples read."""
    folder = tmp_path_factory.mktemp("examples")
    data = breast_cancer()
    X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    rows = np.arange(0, 560, 4)
    numbers = np.where(data.y == "malignant", 1, -1)
    for name, part in (("a9a.svm", rows), ("a9a", rows), ("a9a.t", rows + 1)):
        save_data(Data(csr_array(X[part]), numbers[part]), folder / "new.svm")
        (folder / "new.svm").rename(folder / name)
    for name, part in (("cells.csv", rows), ("more.csv", rows + 2)):
        names = {"feature_names": data.feature_names, "label": "diagnosis"}
        save_data(Data(X[part], data.y[part], **names), folder / name)
    before = Path.cwd()
    os.chdir(folder)
    try:
        for words in (
            "train -q a9a.svm a9a.model --calibrate sigmoid",
            "train -q cells.csv cells.model",
            "liblinear-train -q -B 1 a9a.svm liblinear.model",
            "liblinear-train -q -s 0 a9a.svm logistic.model",
        ):
            assert main(words.split()) == 0
    finally:
        os.chdir(before)
    return folder


@pytest.fixture
def filled(models, tmp_path, monkeypatch):
    """A folder of its own with those files in it, which is also the home."""
    shutil.copytree(models, tmp_path, dirs_exist_ok=True)
    (tmp_path / "big.gz").write_bytes(gzip.compress((tmp_path / "a9a.svm").read_bytes()))
    for folder in (".zfunc", ".config/fish/completions"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


@pytest.mark.parametrize(("command", "line"), EXAMPLES)
def test_example(filled, command, line, capfd):
    if command == "liblinear-predict":
        shutil.copy("liblinear.model", "a9a.model")
    if re.search(r"[|<>]", line):
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=300, check=False)
        assert (done.returncode, done.stderr) == (0, "")
    else:
        assert line.split()[0] == "maxmargin"
        assert main(line.split()[1:]) == 0, capfd.readouterr().err


def test_there_is_an_example_of_every_command():
    assert {name for name, _ in examples()} == set(COMMANDS)
