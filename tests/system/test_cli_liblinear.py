"""LIBLINEAR's two commands as its users type them, beside the real LIBLINEAR."""

import os

import numpy as np
import pytest
from covering import each_row, every_value
from liblinear.commonutil import svm_read_problem
from liblinear.liblinearutil import load_model as load_theirs
from liblinear.liblinearutil import predict as predict_theirs
from liblinear.liblinearutil import save_model as save_theirs
from liblinear.liblinearutil import train as train_theirs

from maxmargin import save_data
from maxmargin.cli.commands.liblinear_train import ABSENT_OPTIONS, ABSENT_SOLVERS, SOLVERS
from maxmargin.data import Data
from maxmargin.datasets import breast_cancer, iris
from maxmargin.io.liblinear import CLASSIFIERS, read_liblinear_model
from maxmargin.model.liblinear import LOSSES

TRAIN, PREDICT = "liblinear-train", "liblinear-predict"


def write(X, y, path):
    """Write LIBSVM text without an ending, as LIBLINEAR's users have it."""
    save_data(Data(X, y), path.with_suffix(".svm"))
    path.with_suffix(".svm").rename(path)


@pytest.fixture
def files(folder):
    """Two classes to train and test with, three classes, as LIBSVM text in the current folder."""
    data = breast_cancer()
    X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    y = np.where(data.y == "malignant", 1, -1)
    write(X[:400], y[:400], folder / "two")
    write(X[400:], y[400:], folder / "two.t")
    flowers = iris()
    order = np.random.RandomState(3).permutation(150)  # so that the labels do not come in order
    labels = np.searchsorted(flowers.classes, flowers.y) + 3
    write(flowers.X[order], labels[order], folder / "three")
    return folder


def theirs(test, model, *options):
    """What LIBLINEAR's predict would write, from LIBLINEAR's own functions, and its line of accuracy."""
    y, x = svm_read_problem(str(test))
    loaded = load_theirs(str(model))
    labels, (accuracy, _, _), values = predict_theirs(y, x, loaded, " ".join(["-q", *options]))
    lines = []
    if "-b" in options:
        lines.append("labels " + " ".join(map(str, loaded.get_labels())))
        rows = zip(labels, values, strict=True)
        lines += [f"{label:g} {' '.join(f'{p:g}' for p in row)}" for label, row in rows]
    else:
        lines += [f"{label:g}" for label in labels]
    right = round(accuracy / 100 * len(y))
    return "".join(f"{line}\n" for line in lines), f"Accuracy = {accuracy:g}% ({right}/{len(y)})\n"


# ---------------------------------------------------------------- train and predict


@every_value(name=["two", "three"], rest=["", "-B 1", "-c 0.5 -B 2 -w1 3 -w4 2"], s=sorted(SOLVERS))
def test_liblinear_predicts_with_our_files_what_we_do(said, files, s, rest, name):
    code, out, _ = said(TRAIN, "-s", s, *rest.split(), name, "my.model")
    assert code == 0
    assert out.startswith("-e 0.0001: to be certified within 0.01 % of the optimum")
    assert out.count("optimization finished, #iter = ") == (1 if name == "two" or s == 4 else 3)
    test = "two.t" if name == "two" else "three"
    code, out, _ = said(PREDICT, test, "my.model", "out.txt")
    text, verdict = theirs(test, "my.model")
    assert (code, out) == (0, verdict)
    assert (files / "out.txt").read_text() == text


@every_value(name=["two", "three"], s=[0, 1, 2, 3, 4, 5, 6, 7])
def test_we_predict_with_liblinears_files_what_it_does(said, files, s, name):
    y, x = svm_read_problem(name)
    save_theirs("theirs.model", train_theirs(y, x, f"-s {s} -B 1 -q"))
    code, out, _ = said(PREDICT, name, "theirs.model", "out.txt")
    text, verdict = theirs(name, "theirs.model")
    assert (code, out) == (0, verdict)
    assert (files / "out.txt").read_text() == text


@every_value(name=["two", "three"], bias=[-1, 2])
def test_crammer_and_singer_is_liblinears_problem(said, files, name, bias):
    """The weights are LIBLINEAR's own, also of two classes, where they come in pairs."""
    y, x = svm_read_problem(name)
    expected = np.array(train_theirs(y, x, f"-s 4 -c 0.1 -B {bias} -w1 2 -e 1e-9 -q").get_decfun(0)[0])
    assert said(TRAIN, "-s", 4, "-c", 0.1, "-B", bias, "-w1", 2, "-e", 1e-9, name, "my.model")[0] == 0
    found = read_liblinear_model("my.model")
    assert found.solver_type == "MCSVM_CS"
    assert found.weights.shape == (found.n_columns + (bias > 0), 2 if name == "two" else 3)
    np.testing.assert_allclose(found.coef[0], expected, rtol=1e-3, atol=1e-4)
    for strength in (["--C", 0.1], ["--lam", 1 / (0.1 * len(y))]):
        weights = ["--class-weight", "1=2"] if name == "two" else []
        code, out, _ = said("certify", "my.model", name, *strength, *weights, "--within", 1e-4)
        assert (code, "hinge" in out) == (0, True)


@every_value(name=["two", "three"], s=[0, 6, 7])
def test_probabilities_as_liblinear_writes_them(said, files, s, name):
    y, x = svm_read_problem(name)
    save_theirs("theirs.model", train_theirs(y, x, f"-s {s} -q"))
    code, _, _ = said(PREDICT, "-b", 1, "-q", name, "theirs.model", "out.txt")
    assert code == 0
    assert (files / "out.txt").read_text() == theirs(name, "theirs.model", "-b", "1")[0]


def test_probabilities_of_others_are_refused(said, files):
    said(TRAIN, "two", "-q")
    code, _, err = said(PREDICT, "-b", 1, "two", "two.model", "out.txt")
    assert code == 2
    assert "-b 1 is for logistic regression (-s 0, 6, 7), and this is a model of L2R_L2LOSS_SVC_DUAL" in err
    assert not (files / "out.txt").exists()
    assert said(PREDICT, "-b", 2, "two", "two.model", "out.txt")[0] == 2


def test_the_model_is_called_as_liblinear_calls_it(said, files):
    (files / "sub").mkdir()
    os.rename("two", "sub/two.svm")
    assert said(TRAIN, "sub/two.svm", "-q") == (0, "", "")
    assert read_liblinear_model("two.svm.model").solver_type == "L2R_L2LOSS_SVC_DUAL"
    assert read_liblinear_model("two.svm.model").bias == -1


def test_columns_that_only_one_file_has(said, files):
    said(TRAIN, "two", "-q")
    (files / "odd").write_text("+1 2:1 40:5\n-1 3:-2\n")
    (files / "narrow").write_text("1 1:1\n-1 1:-1\n")
    for name in ("odd", "narrow"):
        said(PREDICT, name, "two.model", "out.txt")
        assert (files / "out.txt").read_text() == theirs(name, "two.model")[0]


def test_a_score_of_zero_and_unknown_labels(said, files):
    heading = "solver_type L2R_LR\nnr_class 2\nlabel -1 1\nnr_feature 1\nbias -1\n"
    (files / "m.model").write_text(f"{heading}w\n1\n")
    (files / "zero").write_text("7 1:0\n")
    assert said(PREDICT, "zero", "m.model", "out.txt")[:2] == (0, "Accuracy = 0% (0/1)\n")
    assert (files / "out.txt").read_text() == "1\n" == theirs("zero", "m.model")[0]


def test_a_looser_e_is_reached_and_said(told, files):
    code, found = told(TRAIN, "-s", 3, "-e", 0.1, "two")
    assert code == 0
    assert found["certificate"]["tol"] == 0.1
    assert found["certificate"]["is_reached"]
    assert (found["solver_type"], found["out"]) == ("L2R_L1LOSS_SVC_DUAL", "two.model")


def test_an_e_that_cannot_be_reached(said, files):
    code, _, err = said(TRAIN, "-s", 7, "-e", 1e-300, "two", "-q")
    assert code == 1
    assert "not within the 1e-298 % asked for by -e" in err
    assert load_theirs("two.model").get_nr_feature() == 30


def test_weights_of_classes_that_are_not_there(said, files):
    code, _, err = said(TRAIN, "-w9", 2, "-w-1", 2, "two", "-q")
    assert (code, err) == (0, "maxmargin: warning: class label 9 of -w9 is not in the data\n")


def theirs_with(content, test):
    with open("piped.model", "wb") as file:
        file.write(content)
    return theirs(test, "piped.model")[0]


def test_streams(capfdbinary, files, standard_input):
    from maxmargin.cli import main

    standard_input((files / "two").read_bytes())
    assert main([TRAIN, "-", "-"]) == 0
    content, told = capfdbinary.readouterr()
    assert content.startswith(b"solver_type L2R_L2LOSS_SVC_DUAL\n")
    assert b"optimization finished" in told
    standard_input(content)
    assert main([PREDICT, "two.t", "-", "-", "-q"]) == 0
    assert capfdbinary.readouterr().out == theirs_with(content, "two.t").encode()


# ---------------------------------------------------------------- folds and the search for C


@pytest.mark.parametrize("options", ["-v 5", "-v 5 -q"])
def test_accuracy_in_folds(said, files, options):
    code, out, _ = said(TRAIN, "-s", 3, "-c", 0.1, "-B", 1, *options.split(), "two")
    assert code == 0
    name, number = out.splitlines()[-1].split(" = ")
    assert (name, number[-1]) == ("Cross Validation Accuracy", "%")
    y, x = svm_read_problem("two")
    # LIBLINEAR draws its folds by chance; eight rows of 400 is far beyond what that changes here.
    assert float(number[:-1]) == pytest.approx(train_theirs(y, x, "-s 3 -c 0.1 -B 1 -v 5 -q"), abs=2)
    assert out.count("\n") == (1 if "-q" in options else 2)
    assert not (files / "two.model").exists()


def test_more_folds_than_rows(said, folder):
    code, out, err = said(TRAIN, "-v", 9, "a.svm", "-q")
    assert (code, out) == (0, "Cross Validation Accuracy = 100%\n")
    assert "Will use # folds = # data = 4 (leave-one-out)" in err


def test_the_search_for_c(said, told, files):
    code, out, _ = said(TRAIN, "-C", "-c", 0.001, "-e", 0.01, "two")
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "Solver not specified. Using -s 2"
    assert lines[2] == "Doing parameter search with 5-fold cross validation."
    assert lines[3].startswith("log2c=  -9.97\trate=")
    found = told(TRAIN, "-C", "-c", 0.001, "-e", 0.01, "-v", 5, "-s", 2, "two")[1]
    best = max(found["tried"], key=lambda entry: entry["right"])
    assert found["best_C"] == best["C"]
    assert lines[-1] == f"Best C = {best['C']:g}  CV accuracy = {100 * best['right'] / 400:g}%"
    assert not (files / "two.model").exists()


# ---------------------------------------------------------------- what is refused


@each_row(
    ("words", "message"),
    [
        *((f"-s {s} two", f"-s {s} {why}") for s, why in ABSENT_SOLVERS.items()),
        *((f"{option} 1 two", why) for option, why in ABSENT_OPTIONS.items()),
        ("-s 8 two", "there is no -s 8; here are 0, 1, 2, 3, 4 and 7"),
        ("-c 0 two", "-c must be a positive number; got 0"),
        ("-e -1 two", "-e must be a positive number; got -1"),
        ("-B inf two", "-B must be a finite number"),
        ("-R two", "give -B 1 with it"),
        ("-v 1 two", "-v needs at least 2 folds; got 1"),
        ("-w1 0 two", "-w1 must be a positive number; got 0"),
        ("-w1 2 -w1 3 two", "-w1 is given for the second time"),
        ("-wx 5 two", 'expected -w and a label that is a whole number, found "-wx"'),
        ("two -w1", "expected a number after -w1"),
        ("-C -w3 2 three", "-C with -wi and more than two classes is not done here"),
        ("-C -s 4 three", "-C with -s 4 is not done here, nor by LIBLINEAR"),
        ("none", "none: no such file"),
        ("zero", "zero, line 1"),
        ("half", "whole numbers of 32 bits as labels; got 0.5"),
        ("one", "one has one class only (1): there is nothing to tell apart"),
        ("two two", "two is read by this command"),
        ("two none/my.model", "there is no folder none"),
        ("-", "name the model file"),
        ("two - --json", "cannot both go to the standard output"),
    ],
)
def test_refusals_say_what_to_do_and_write_nothing(said, files, words, message):
    (files / "zero").write_text("1 0:1\n-1 1:1\n")  # LIBLINEAR counts from 1
    (files / "half").write_text("0.5 1:1\n-1 1:1\n")
    (files / "one").write_text("1 1:1\n1 1:2\n")
    before = sorted(os.listdir())
    code, _, err = said(TRAIN, *words.split())
    assert code == 2
    assert message in err
    assert sorted(os.listdir()) == before


def test_a_model_of_ours_is_no_liblinear_model(said, files):
    said("train", "two", "ours.model", "-q")
    code, _, err = said(PREDICT, "two", "ours.model", "out.txt")
    assert code == 2
    assert "not a LIBLINEAR model file" in err


def test_names_are_those_of_the_library():
    assert {name: number for number, (name, _) in SOLVERS.items()}.items() <= CLASSIFIERS.items()
    assert dict(SOLVERS.values()) == LOSSES


def test_rows_of_zeros_have_no_smallest_c(said, folder):
    (folder / "zeros").write_text("+1 1:0\n-1 1:0\n+1 2:0\n-1 1:0\n" * 5)
    code, _, told = said(TRAIN, "-C", "-B", -1, "zeros")
    assert code == 2
    assert "-C needs rows whose squares are neither all 0" in told
