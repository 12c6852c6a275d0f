"""The command line, as a user meets it: training, errors, the demo."""

import gzip
import os
import re
import sys
import warnings
from pathlib import Path

import pytest
from covering import each_row

import maxmargin
import maxmargin.fit.train as training
from maxmargin import load_data, load_model
from maxmargin.cli.fitting import CALIBRATIONS, LOSSES, RULES
from maxmargin.cli.options import check_target
from maxmargin.errors import UnreadableFile
from maxmargin.losses.table import DUAL_LOSSES
from maxmargin.model import calibration
from maxmargin.selection.folds import record as cross_validation

CELLS = Path(__file__).parents[1] / "data" / "breast_cancer.csv"


# ---------------------------------------------------------------- train


def test_train_says_what_it_read_planned_proved_and_wrote(said):
    code, out, err = said("train", "a.svm")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "read a.svm: 4 rows, 3 columns, 7 values; classes −1 (50 %), +1 (50 %)",
        "plan: dual descent (steps row by row should get there in few sweeps), hinge loss, C = 1, "
        "to 0.01 % of the optimum",
        *out.splitlines()[2:4],
        "wrote a.model",
    ]
    proof, quality = out.splitlines()[2:4]
    assert re.fullmatch(
        r"certified within (\S+ %|rounding \(\S+ %\)) of the optimum after \d+ iterations?", proof
    )
    assert re.fullmatch(
        r"training accuracy 100.0 %, margin width [\d.]+, \d support vectors? \(\d on the margin\)", quality
    )


def test_the_model_file_holds_the_fit(said):
    said("train", "t.csv", "m.model", "--C", 10, "--tol", "1e-9")
    model = load_model("m.model")
    assert (model.C, model.tol, model.loss, model.offset) == (10.0, 1e-9, "hinge", "free")
    assert model.classes.tolist() == ["small", "tall"]
    assert model.feature_names == ["height", "width"]
    assert (model.scheme, model.label) == ("csv", "kind")
    assert model.certificate.relative_gap <= 1e-9


def test_every_option_reaches_the_fit(said):
    code, out, _ = said("train", "a.svm", "--loss", "logistic", "--lam", 0.5, "--penalize-intercept")
    assert code == 0
    assert "logistic loss, λ = 0.5 (C = 0.5), to 0.01 %" in out
    assert "support vectors" not in out
    model = load_model("a.model")
    assert (model.loss, model.C, model.offset) == ("logistic", 0.5, "penalized")
    said(
        "train",
        "a.svm",
        "--no-intercept",
        "--loss",
        "squared_hinge",
        "-c",
        2,
        "--seed",
        3,
        "--solver",
        "auto",
    )
    model = load_model("a.model")
    assert (model.loss, model.C, model.offset, model.intercept[0]) == ("squared_hinge", 2.0, "none", 0.0)


def test_balanced_classes_count_alike(said, folder):
    (folder / "uneven.svm").write_text("1 1:1\n" + "-1 1:0.9\n" * 9 + "-1 1:-1\n")
    said("train", "uneven.svm", "even.model", "--class-weight", "balanced")
    said("train", "uneven.svm", "plain.model")
    X = load_data("uneven.svm").X
    assert load_model("even.model").scores(X)[0, 0] > load_model("plain.model").scores(X)[0, 0]


def test_the_label_may_be_another_column(said):
    code, out, _ = said("train", "t.csv", "--label", 2)
    assert code == 0
    assert 'label "kind"' in out
    code, _, err = said("train", "t.csv", "--label", "sort")
    assert code == 2
    assert '--label sort: t.csv has no such column; its columns are "height", "width", "kind"' in err


def test_several_classes(said, folder):
    (folder / "three.svm").write_text("1 1:1\n2 2:1\n3 1:-1 2:-1\n1 1:2\n2 2:2\n3 1:-2 2:-2\n")
    code, out, _ = said("train", "three.svm", "--multi-class", "one-vs-rest")
    assert code == 0
    assert "one class against the rest, 3 times" in out
    assert re.search(r"\(the worst of 3 classes\) after \d+ iterations", out)
    assert re.search(r"margin widths [\d.]+ to [\d.]+, \d support vectors\n", out)


@pytest.mark.parametrize(
    ("name", "target"),
    [("b.svm", "b.model"), ("b.c.csv", "b.c.model"), ("b.svm.gz", "b.model"), ("plain", "plain.model")],
)
def test_the_model_is_named_after_the_data_and_lies_here(said, folder, name, target):
    place = folder / "elsewhere"
    place.mkdir()
    content = (folder / ("t.csv" if ".csv" in name else "a.svm")).read_bytes()
    if name.endswith(".gz"):
        content = gzip.compress(content)
    (place / name).write_bytes(content)
    code, out, _ = said("train", place / name)
    assert code == 0
    assert out.splitlines()[-1] == f"wrote {target}"
    assert (folder / target).is_file()


def test_quiet_is_quiet(said):
    assert said("train", "a.svm", "-q") == (0, "", "")
    assert load_model("a.model").loss == "hinge"


def test_a_missed_goal_is_a_sentence_and_the_model_is_kept(said):
    code, out, err = said("train", CELLS, "cells.model", "--max-iter", 1)
    assert code == 1
    assert "after 1 iteration\n" in out
    assert err.startswith("maxmargin: warning: the model is within ")
    assert err.endswith(
        " % of the optimum, not within the 0.01 % asked for by --tol: the iteration limit was reached. "
        "Scale the columns to similar ranges, lower --C, or raise --max-iter.\n"
    )
    assert err.count("\n") == 1
    assert load_model("cells.model").n_iter == [1]


def test_the_same_command_writes_the_same_bytes(said, folder):
    said("train", CELLS, "one.model", "--max-iter", 5)
    said("train", CELLS, "two.model", "--max-iter", 5)
    assert (folder / "one.model").read_bytes() == (folder / "two.model").read_bytes()


def test_losses_are_those_of_the_library():
    assert LOSSES == DUAL_LOSSES
    assert CALIBRATIONS == calibration.CALIBRATIONS
    assert RULES == cross_validation.RULES


# ---------------------------------------------------------------- errors


@each_row(
    ("command", "message"),
    [
        ("-q", "the following arguments are required: COMMAND (see maxmargin --help)"),
        ("train", "the following arguments are required: DATA (see maxmargin train --help)"),
        ("train none.svm", "none.svm: no such file"),
        ("train empt.svm", "empt.svm: no such file; did you mean empty.svm?"),
        ("train .", ". is a folder and holds no stored rows: name a file in it, or fit a folder of Parquet"),
        ("train a.svm --C -1", "--C must be a positive number; got --C -1"),
        ("train a.svm --C x", 'argument -c/--C: expected a number or auto, found "x" (see maxmargin train'),
        (
            "train a.svm --C 1 --lam 1",
            "argument --lam: not allowed with argument -c/--C (see maxmargin train --help)",
        ),
        ("train a.svm --loss squared_hinge --lam 0", "--lam 0 asks for the smallest mean squared hinge loss"),
        ("train a.svm --loss squared_hinge --C inf", "--C inf asks for the smallest mean squared hinge loss"),
        ("train a.svm --tol 0", "--tol must be a positive number; got --tol 0"),
        ("train a.svm --max-iter 0", "--max-iter must be a positive whole number; got --max-iter 0"),
        ("train a.svm --max-iter 1.5", 'argument --max-iter: expected a whole number, found "1.5"'),
        ("train a.svm --max-time -2", "--max-time must be a positive number; got --max-time -2"),
        ("train a.svm --solver magic", "--solver must be one of 'auto', 'dual_descent'"),
        ("train a.svm --loss zero_one", "argument --loss: invalid choice: 'zero_one'"),
        ("train a.svm --los hinge", "unrecognized arguments: --los hinge; did you mean --loss?"),
        ("train a.svm --jobs 0", "--jobs must be a whole number other than 0 (-1: all cores); got --jobs 0"),
        ("train a.svm --header yes", "--header is for tables; a.svm is read as LIBSVM text"),
        (
            "train a.svm --zero-based no --n-columns 0",
            "--n-columns must be a positive whole number; got --n-columns 0",
        ),
        (
            "train zero.svm --zero-based no",
            "zero.svm, line 1, column 3: index 0, although columns are said to count from 1",
        ),
        ("train a.svm --cache-folder none", "--cache-folder none: there is no such folder; make it first"),
        ("train - --cache -o b.model", "--cache is for files that have a name, not for the standard input\n"),
        ("train - --cache-folder . -o b.model", "--cache-folder is for files that have a name, not for the"),
        (
            "train zeros.svm",
            "zeros.svm: no row has an index:value pair; give --n-columns if that",
        ),
        ("train a.svm --class-weight 1=-2", "--class-weight must be positive and finite; class 1"),
        ("train a.svm --intercept-scaling 2", "--intercept-scaling goes with --penalize-intercept"),
        ("train a.svm --label 1", "--label is for tables; a.svm is read as LIBSVM text, where it"),
        ("train a.svm nowhere/a.model", "nowhere/a.model cannot be written: there is no folder nowhere"),
        ("train a.svm a.svm", "a.svm is read by this command and cannot be written by it as well"),
        ("train bad.svm", 'bad.svm, line 2, column 4: expected index:value, found "3:x"'),
        ("train one.svm", "one.svm has one class only (1): there is nothing to tell apart"),
        ("train empty.svm", "empty.svm: the file has no rows"),
        ("predict a.svm none.model", "none.model: no such file"),
        ("predict a.svm t.csv", "t.csv: not a maxmargin model file"),
        ("predict t.csv", "the following arguments are required: MODEL (see maxmargin predict --help)"),
        ("demo --folder a.svm", "a.svm cannot be made: File exists"),
        ("paint", 'there is no command "paint" (see maxmargin --help)'),
        ("predikt a.svm", 'there is no command "predikt"; did you mean predict? (see maxmargin --help)'),
    ],
)
def test_an_error_is_one_line_and_exit_code_2(said, folder, command, message):
    (folder / "bad.svm").write_text("+1 1:1\n-1 3:x\n")
    (folder / "one.svm").write_text("1 1:1\n1 1:2\n")
    (folder / "empty.svm").write_text("\n")
    (folder / "zeros.svm").write_text("1\n-1\n")
    (folder / "zero.svm").write_text("1 0:1\n-1 1:1\n")
    before = sorted(os.listdir(folder))
    code, out, err = said(*command.split())
    assert code == 2
    assert err.startswith(f"maxmargin: error: {message}")
    assert err.count("\n") == 1
    assert out == "" or out.startswith("read ")
    assert sorted(os.listdir(folder)) == before  # nothing was written


def test_no_option_is_advised_that_a_command_does_not_have(said, folder):
    (folder / "zeros.svm").write_text("1\n-1\n")
    code, _, err = said("liblinear-train", "zeros.svm")
    assert (code, err) == (2, "maxmargin: error: zeros.svm: no row has an index:value pair\n")


@pytest.mark.parametrize(
    "words", [["train", ""], ["inspect", ""], ["convert", "a.svm", ""], ["predict", "a.svm", ""]]
)
def test_a_file_without_a_name_is_no_folder(said, words):
    code, out, err = said(*words)
    assert (code, out) == (2, "")
    assert "the name of a file is expected, found an empty one (see maxmargin " in err


def test_no_traceback_even_for_our_own_mistakes(said, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("two\nlines")

    monkeypatch.setattr("maxmargin.fit.train.fit_linear", broken)
    code, _, err = said("train", "a.svm")
    assert code == 70
    assert err == (
        "maxmargin: error: this is a mistake in maxmargin, please report it: ZeroDivisionError: two lines\n"
    )


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoryError(), "not enough memory for these data; --memory SIZE reads them from disk"),
        (OSError(28, "No space left on device", "x.model"), "x.model: No space left on device"),
        (OSError("something else"), "something else"),
    ],
)
def test_failures_of_the_machine(said, monkeypatch, error, message):
    def fails(*_, **__):
        raise error

    monkeypatch.setattr("maxmargin.fit.train.fit_linear", fails)
    code, _, err = said("train", "a.svm")
    assert (code, err) == (2, f"maxmargin: error: {message}\n")


def test_warnings_of_the_libraries_are_sentences_too(said, monkeypatch):
    real = training.fit_linear

    def warns(*arguments, **settings):
        warnings.warn("the moon is full", UserWarning, stacklevel=2)
        return real(*arguments, **settings)

    monkeypatch.setattr(training, "fit_linear", warns)
    code, _, err = said("train", "a.svm")
    assert (code, err) == (0, "maxmargin: warning: the moon is full\n")


# ---------------------------------------------------------------- demo and version


def test_the_demo_tells_shows_and_saves(said, folder):
    code, out, err = said("demo")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert len(lines) <= 25
    assert max(len(line) for line in lines) <= 105
    assert "training data    427 tumours, classes benign (63 %), malignant (37 %)" in lines
    assert "columns standardised with the means and deviations of the training data" in out
    assert re.search(r"certificate      (within .* % of|at) the optimum.*, by duality\n", out)
    assert re.search(r"margin width     0\.\d+ = 1/‖θ‖", out)
    assert re.search(
        r"support vectors  \d+ of 427 tumours determine the boundary, \d+ of them on the margin", out
    )
    assert re.search(r"held out         accuracy 9\d\.\d %: 1\d\d of 142 right", out)
    assert re.search(r"\d+ benign right, \d+ called malignant; \d+ malignant right, \d+ called benign", out)
    made = folder / "maxmargin-demo"
    assert sorted(os.listdir(made)) == ["demo.model", "demo.png", "held_out.csv"]
    assert (made / "demo.png").read_bytes().startswith(b"\x89PNG")
    assert lines[-1] == "try    maxmargin predict maxmargin-demo/held_out.csv maxmargin-demo/demo.model"
    _, _, verdict = said(*lines[-1].split()[2:])
    right = re.search(r": (\d+) of 142 right", out).group(1)
    assert verdict.endswith(f": {right} of 142 rows right\n")


def test_the_demo_goes_where_it_is_told(said, folder):
    code, out, _ = said("demo", "--folder", folder / "deep" / "down")
    assert code == 0
    assert f"wrote  {folder / 'deep' / 'down' / 'demo.png'}" in out
    assert load_model(folder / "deep" / "down" / "demo.model").classes.tolist() == ["benign", "malignant"]


def test_the_demo_does_without_matplotlib(said, folder, monkeypatch):
    for name in ("matplotlib", "matplotlib.figure", "matplotlib.layout_engine"):
        monkeypatch.setitem(sys.modules, name, None)
    code, out, _ = said("demo")
    assert code == 0
    assert "no picture: pictures need matplotlib: pip install 'maxmargin[plots]'" in out
    assert sorted(os.listdir(folder / "maxmargin-demo")) == ["demo.model", "held_out.csv"]


def test_version(said):
    code, out, _ = said("version")
    assert code == 0
    assert out.startswith(f"maxmargin {maxmargin.__version__}\ninstruction set ")
    assert re.search(r"Python [\d.]+\S*, NumPy [\d.]+\S*, SciPy [\d.]+", out)
    assert said("--version")[:2] == (0, f"maxmargin {maxmargin.__version__}\n")


@pytest.mark.parametrize("command", ["train", "predict", "demo", "version"])
def test_every_command_has_help(said, command):
    code, out, err = said(command, "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"usage: maxmargin {command} ")


def test_a_device_in_a_protected_folder_is_written(said, folder, monkeypatch):
    os.mkfifo(folder / "pipe")
    allowed = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != Path() and allowed(path, mode))
    check_target(Path("pipe"))
    with pytest.raises(UnreadableFile, match="b.model cannot be written: no permission to write in"):
        check_target(Path("b.model"))
