"""``maxmargin evaluate`` and ``certify``: numbers that others confirm, models of ours and LIBLINEAR's."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from covering import each_row
from liblinear.liblinearutil import parameter, problem
from liblinear.liblinearutil import save_model as save_theirs
from liblinear.liblinearutil import train as train_theirs
from scipy.sparse import csr_matrix
from sklearn.metrics import log_loss

from maxmargin import certify, load_data, load_model, save_data
from maxmargin.data import Data
from maxmargin.datasets import breast_cancer

CELLS = Path(__file__).parents[1] / "data" / "breast_cancer.csv"


@pytest.fixture
def tumours(folder):
    """t.svm, standardised, and a model of LIBLINEAR's that ended early."""
    data = breast_cancer()
    X = csr_matrix((data.X - data.X.mean(axis=0)) / data.X.std(axis=0))
    y = np.where(data.y == "malignant", 1, -1)
    save_data(Data(X, y), folder / "t.svm")
    fitted = train_theirs(problem(y, X, bias=1.0), parameter("-s 3 -c 1 -B 1 -e 1 -q"))
    save_theirs(str(folder / "theirs.model"), fitted)
    return X, y


# ---------------------------------------------------------------- evaluate


def test_evaluate_tells_the_error_and_what_is_taken_for_what(said, folder):
    said("train", CELLS, "c.model")
    code, out, err = said("evaluate", "c.model", CELLS)
    assert (code, err) == (0, "")
    model, data = load_model("c.model"), breast_cancer()
    wrong = int((model.predict(data.X) != data.y).sum())
    lines = out.splitlines()
    assert lines[0] == (
        f"training error 3.7 %: {wrong} of 569 rows wrong; these are the rows that the model was fitted to, "
        "which say little about new ones"
    )
    assert lines[1].split() == ["predicted", "benign", "predicted", "malignant", "recall"]
    assert sum(int(line.split()[k]) for line, k in ((lines[2], 3), (lines[3], 2))) == wrong
    assert lines[-1].startswith("no probabilities: ")


def test_probabilities_are_judged_where_there_are_any(said):
    said("train", CELLS, "c.model", "--loss", "logistic")
    code, out, _ = said("evaluate", "c.model", CELLS)
    assert code == 0
    assert "the probability of class malignant on 569 rows" in out
    data = breast_cancer()
    loss = log_loss(data.y, load_model("c.model").predict_proba(data.X))
    assert f"  log-loss                   {loss:.4f} (" in out


def test_evaluate_for_machines(told):
    told("train", CELLS, "c.model", "--calibrate", "sigmoid")
    _, found = told("evaluate", "c.model", CELLS, "--certify")
    assert found["is_training"] is True
    assert found["certificate"]["relative_gap"] <= 1e-4
    assert (found["error"]["low"], found["error"]["high"]) == (None, None)
    data = breast_cancer()
    kept = np.arange(569) != np.flatnonzero(load_model("c.model").predict(data.X) != data.y)[0]
    save_data(replace(data, X=data.X[kept], y=data.y[kept]), "most.csv")
    _, found = told("evaluate", "c.model", "most.csv", "--confidence", 0.9)
    assert found["is_training"] is False
    assert (found["rows"], found["confidence"], found["classes"]) == (568, 0.9, ["benign", "malignant"])
    assert found["errors"] == found["confusion"][0][1] + found["confusion"][1][0]
    assert found["error"]["low"] < found["error"]["value"] < found["error"]["high"]
    assert found["probabilities"]["log_loss"]["value"] > 0


def test_the_certificate_is_of_these_rows(said, folder):
    said("train", "a.svm")
    (folder / "other.svm").write_text("+1 1:-2\n-1 1:1 2:0.5\n+1 1:1.5\n-1 1:-2 3:-0.5\n")
    _, out, _ = said("evaluate", "a.model", "other.svm", "--certify")
    model, data = load_model("a.model"), load_data("other.svm", n_columns=3)
    assert f"certificate on these rows: {certify(model, data.X, data.y)}\n" in out


def test_many_classes_are_told_by_their_confusions(said, folder):
    rows = [f"{k % 12} {k % 12 + 1}:1\n" for k in range(60)]
    (folder / "many.svm").write_text("".join(rows))
    said("train", "many.svm")
    (folder / "mixed.svm").write_text("3 5:1\n3 5:1\n" + "".join(rows))
    _, out, _ = said("evaluate", "many.model", "mixed.svm")
    assert "1 kind of error among 12 labels; most often:\n  3 predicted as 4: 2 rows\n" in out


def test_unknown_labels_count_as_wrong(said, folder):
    said("train", "a.svm")
    (folder / "b.svm").write_text("1 1:2\n7 1:2\n-1 1:-1\n")
    _, out, _ = said("evaluate", "a.model", "b.svm")
    assert "1 of 3 rows wrong" in out
    assert "labels that the model does not know, counted as wrong: +7\n" in out


def test_rows_and_model_through_a_pipe(said, folder, standard_input):
    said("train", "t.csv")
    expected = said("evaluate", "t.model", "t.csv")
    standard_input((folder / "t.csv").read_bytes())
    assert said("evaluate", "t.model", "-") == expected
    standard_input((folder / "t.model").read_bytes())
    assert said("evaluate", "-", "t.csv") == expected
    standard_input((folder / "t.csv").read_bytes())
    code, out, _ = said("predict", "-", "t.model", "-q")
    assert (code, out) == (0, "tall\nsmall\ntall\nsmall\n")


def test_a_model_of_liblinear_is_judged_too(said, tumours):
    code, out, err = said("evaluate", "theirs.model", "t.svm")
    assert (code, err) == (0, "")
    assert " of 569 rows wrong\n" in out
    assert said("predict", "t.svm", "theirs.model", "-q")[1].split()[0] in ("1", "-1")


# ---------------------------------------------------------------- certify


def test_certify_says_what_the_library_says(said):
    said("train", CELLS, "c.model", "--max-iter", 2)
    code, out, _ = said("certify", "c.model", CELLS)
    assert code == 0
    data = breast_cancer()
    assert out.splitlines()[0] == str(certify(load_model("c.model"), data.X, data.y))


def test_class_weights_travel_with_the_model(told):
    told("train", CELLS, "c.model", "--class-weight", "malignant=3")
    _, found = told("certify", "c.model", CELLS)
    assert found["certificate"]["relative_gap"] <= 1e-4


def test_a_model_of_liblinear_is_certified(told, tumours):
    X, y = tumours
    code, found = told("certify", "theirs.model", "t.svm", "--C", 1)
    assert code == 0
    assert 0 < found["certificate"]["relative_excess"] <= found["certificate"]["relative_gap"]
    lines = Path("theirs.model").read_text().split("w\n")[1].split()
    w = np.array([float(line) for line in lines])
    first = float(Path("theirs.model").read_text().split("label ")[1].split()[0])
    agreement = np.where(y == first, 1, -1) * (X @ w[:-1] + w[-1])
    objective = 0.5 * w @ w + np.maximum(0, 1 - agreement).sum()
    assert found["certificate"]["objective"] == pytest.approx(objective, rel=1e-9)


def test_liblinear_does_not_say_its_c(said, tumours):
    code, _, err = said("certify", "theirs.model", "t.svm")
    assert code == 2
    assert "theirs.model is LIBLINEAR's and does not contain its C: give --C, its -c" in err


def test_liblinears_as_one_of_ours_is_certified_the_same(said, tumours):
    expected = said("certify", "theirs.model", "t.svm", "--C", 1)
    assert said("convert", "theirs.model", "ours.model", "-q")[0] == 0
    assert said("certify", "ours.model", "t.svm", "--C", 1) == expected
    _, out, _ = said("certify", "ours.model", "t.svm", "--lam", 1 / 569)
    assert out.splitlines()[1] == expected[1].splitlines()[1]
    assert said("certify", "theirs.model", "t.svm", "--lam", 1 / 569)[1] == out
    _, out, _ = said("certify", "ours.model", "t.svm", "--C", 1, "--loss", "logistic")
    assert "(logistic, C = 1, penalised offset)" in out
    _, out, _ = said("certify", "ours.model", "t.svm", "--C", 1, "--free-bias")
    assert "(hinge, C = 1, unpenalised offset)" in out
    code, _, err = said("certify", "ours.model", "t.svm")
    assert code == 2
    assert (
        "does not say what it minimises: give --C or --lam (hinge loss, unless --loss names another)" in err
    )


def test_class_weights_of_several_given_classes_are_ambiguous(said, folder):
    (folder / "three.svm").write_text("1 1:1\n2 2:1\n3 1:-1 2:-1\n1 1:2\n2 2:2\n3 1:-2 2:-2\n")
    said("liblinear-train", "-q", "three.svm", "theirs.model")
    said("convert", "theirs.model", "ours.model", "-q")
    assert said("certify", "ours.model", "three.svm", "--C", 1)[0] == 0
    code, _, err = said("certify", "ours.model", "three.svm", "--C", 1, "--class-weight", "balanced")
    assert code == 2
    assert "certify the LIBLINEAR file itself, or leave --class-weight away" in err


def test_a_goal_may_be_set(said, told):
    said("train", CELLS, "c.model", "--max-iter", 2)
    code, found = told("certify", "c.model", CELLS, "--within", "1e-3")
    assert code == 1
    assert "more than the 0.1 % of --within" in found["warnings"][0]
    said("train", CELLS, "c.model")
    assert said("certify", "c.model", CELLS, "--within", "1e-3")[0] == 0


def test_a_proof_that_is_not_tight_is_said(said):
    said("train", CELLS, "c.model", "--C", "1000", "--max-iter", 2)
    code, _, err = said("certify", "c.model", CELLS, "--max-time", "1e-3", "--tol", "1e-14")
    assert code == 1
    assert "maxmargin: warning: the proof is not as tight as --tol asks" in err


def test_several_classes_have_a_table(said, folder):
    (folder / "three.svm").write_text("1 1:1\n2 2:1\n3 1:-1 2:-1\n1 1:2\n2 2:2\n3 1:-2 2:-2\n")
    said("train", "three.svm", "--multi-class", "one_vs_rest")
    _, out, _ = said("certify", "three.model", "three.svm")
    assert [line.split()[:2] for line in out.splitlines()[-3:]] == [["class", f"{k}.0"] for k in (1, 2, 3)]


@each_row(
    ("words", "message"),
    [
        ("evaluate a.svm a.model", "a.svm: not a maxmargin model file, but a.model is one: change their"),
        ("certify t.csv a.model", "t.csv: not a maxmargin model file, but a.model is one: change their"),
        ("evaluate a.model none.svm", "none.svm: no such file"),
        ("evaluate none.model a.svm", "none.model: no such file"),
        ("evaluate a.model bare.csv", "bare.csv has no labels: it has as many columns as the model"),
        (
            "evaluate a.model strange.svm",
            "no label of these rows is a class of the model: they have 5, the model −1, 1",
        ),
        (
            "evaluate a.model a.svm --confidence 95",
            "--confidence must be between 0 and 1; got --confidence 95",
        ),
        ("evaluate - -", "the standard input (-) can be read once only"),
        ("certify a.model a.svm --C 1", "a.model contains what it minimises; leave --C out"),
        ("certify a.model a.svm --within 0", "--within must be a positive number; got --within 0"),
        ("certify a.model one.svm", "y holds only one class, 1.0; certify needs two"),
    ],
)
def test_what_cannot_be_is_refused_on_one_line(said, folder, words, message):
    said("train", "a.svm")
    (folder / "bare.csv").write_text("1,2,3\n3,4,5\n")
    (folder / "strange.svm").write_text("5 1:1\n")
    (folder / "one.svm").write_text("1 1:1\n")
    code, out, err = said(*words.split())
    assert (code, out) == (2, "")
    assert err.startswith(f"maxmargin: error: {message}")
    assert err.count("\n") == 1
