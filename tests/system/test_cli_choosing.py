"""``maxmargin path`` and ``loo``: the library's numbers, said and written; errors on one line."""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from covering import each_row
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.svm import SVC

import maxmargin
from maxmargin import LinearSVM, LinearSVMCV, leave_one_out, regularization_path
from maxmargin.core.solution import Status
from maxmargin.data import Data
from maxmargin.datasets import breast_cancer, iris
from maxmargin.selection.leave_one_out.record import REASONS, Reason

CELLS = Path(__file__).parents[1] / "data" / "breast_cancer.csv"


def rows_of(path, delimiter):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter=delimiter))


@pytest.fixture
def small(folder):
    """small.csv: a hundred tumours and two of their columns, in units of their deviations."""
    data = breast_cancer()
    X = ((data.X - data.X.mean(axis=0)) / data.X.std(axis=0))[:100, [0, 1]]
    part = Data(X, data.y[:100], feature_names=data.feature_names[:2], label="diagnosis")
    maxmargin.save_data(part, folder / "small.csv")
    return part


# ---------------------------------------------------------------- path


def test_path_is_that_of_the_library(said, small):
    code, out, err = said("path", "small.csv", "--tol", "0.05", "-o", "path.csv", "--weights")
    assert (code, err) == (0, "")
    expected = regularization_path(small.X, small.y, tol=0.05)
    assert f"{expected}\n" in out
    found = rows_of("path.csv", ",")
    np.testing.assert_array_equal([float(row["C"]) for row in found], expected.C)
    np.testing.assert_array_equal([float(row["margin"]) for row in found], expected.margin)
    np.testing.assert_array_equal([float(row["intercept"]) for row in found], expected.intercept[:, 0])
    for j, name in enumerate(small.feature_names):
        np.testing.assert_array_equal([float(row[name]) for row in found], expected.coef[:, 0, j])
    assert len(out.splitlines()) == 3 + 1 + len(expected) + 1  # what was read, the heading, what was written


def test_given_values_and_several_classes(said, folder):
    maxmargin.save_data(iris(), folder / "iris.csv")
    code, out, _ = said("path", "iris.csv", "--Cs", "0.1,1,10", "--loss", "logistic", "-o", "-", "--weights")
    assert code == 0
    names = out.splitlines()[0].split("\t")
    assert "support vectors" not in out
    assert names[:6] == ["C", "relative_gap", "objective", "training_error", "margin", "setosa: intercept"]
    assert len(names) == 5 + 3 * 5
    assert [line.split("\t")[0] for line in out.splitlines()[1:]] == ["0.1", "1.0", "10.0"]


@pytest.mark.parametrize("cv", ["loo", 3])
def test_the_best_c_is_told(told, small, cv):
    words = ("path", "small.csv", "--C-min", 0.01, "--C-max", 1, "--cv", cv)
    code, found = told(*words)
    assert code == 0
    search = found["search"]
    assert len(search["candidates"]) == 21
    best = max(entry["mean_test_score"] or 0 for entry in search["candidates"])
    chosen = next(entry for entry in search["candidates"] if entry["C"] == search["C"])
    assert chosen["mean_test_score"] == best
    if cv == "loo":
        peer = LinearSVMCV(Cs=np.geomspace(0.01, 1, 21), cv="loo").fit(small.X, small.y)
        assert search["C"] == peer.C_


def test_a_picture_is_drawn(said, small, folder):
    code, out, _ = said("path", "small.csv", "--cv", 3, "--plot", "p.png", "--tol", 0.1)
    assert code == 0
    assert "best\n" in out
    assert (folder / "p.png").read_bytes().startswith(b"\x89PNG")


def test_a_path_that_ends_early_says_so(said, small):
    code, _, err = said("path", "small.csv", "--max-time", "1e-9", "--tol", "1e-6")
    assert code == 1
    assert "maxmargin: warning: the path is certified within" in err


def test_ctrl_c_keeps_the_path_so_far(said, small, monkeypatch):
    from maxmargin.errors import Interrupted

    done = regularization_path(small.X, small.y, tol=0.1)

    def interrupted(*_, **__):
        raise Interrupted("interrupted", replace(done, reason="interrupted"))

    monkeypatch.setattr("maxmargin.selection.path.path.regularization_path", interrupted)
    code, out, err = said("path", "small.csv", "-o", "p.tsv", "--cv", 3)
    assert code == 130
    assert err == "interrupted: these are the results so far\n"
    assert out.endswith("wrote p.tsv\n")
    assert len(rows_of("p.tsv", "\t")) == len(done)


# ---------------------------------------------------------------- loo


def test_loo_is_that_of_brute_force(said, small):
    code, out, err = said("loo", "small.csv", "--C", 0.5, "-o", "left.tsv", "--tol", "1e-6")
    assert (code, err) == (0, "")
    peer = SVC(kernel="linear", C=0.5, tol=1e-10)
    wrong = cross_val_predict(peer, small.X, small.y, cv=LeaveOneOut()) != small.y
    found = rows_of("left.tsv", "\t")
    assert [row["wrong"] == "1" for row in found] == wrong.tolist()
    assert [row["label"] for row in found] == small.y.tolist()
    assert [int(row["row"]) for row in found] == list(range(100))
    assert f"{wrong.sum()} of 100 wrong when left out" in out
    table = [line.rsplit(maxsplit=2)[1:] for line in out.splitlines() if line.startswith("  ")][1:]
    assert sum(int(number) for number, _ in table) == 100
    assert sum(int(number) for _, number in table) == wrong.sum()


def test_every_setting_names_the_problem(told, small):
    words = ("loo", "small.csv", "--lam", 0.02, "--loss", "squared_hinge", "--class-weight", "malignant=2")
    _, found = told(*words, "--penalize-intercept")
    estimator = LinearSVM(
        C=None, lam=0.02, loss="squared_hinge", class_weight={"malignant": 2}, penalize_intercept=True
    )
    expected = leave_one_out(estimator, small.X, small.y)
    assert found["wrong_rows"] == np.flatnonzero(expected.errors).tolist()
    assert found["reasons"] == {reason.name.lower(): n for reason, n in expected.counts.items()}


def test_exact_agreements(said, small):
    said("loo", "small.csv", "-o", "left.csv", "--exact-agreements")
    expected = leave_one_out(LinearSVM(), small.X, small.y, agreements="exact")
    found = [float(row["exact_agreement"]) for row in rows_of("left.csv", ",")]
    np.testing.assert_allclose(found, expected.agreements, rtol=1e-6, atol=1e-6)


def test_several_values_are_compared(said, small):
    code, out, _ = said("loo", "small.csv", "--Cs", "0.001,0.1,10")
    assert code == 0
    peer = LinearSVMCV(Cs=[0.001, 0.1, 10], cv="loo").fit(small.X, small.y)
    best = next(line.split() for line in out.splitlines() if line.endswith("best"))
    assert (float(best[0]), int(best[1])) == (peer.C_, peer.leave_one_out_.n_errors)


def test_what_there_was_no_time_for_is_said(said):
    code, out, err = said("loo", CELLS, "--max-time", "1e-3")
    assert code == 1
    assert "wrong when left out" in out
    assert "rows are not decided: the time limit was reached. Raise --max-time.\n" in err


def test_more_time_is_advised_only_where_it_would_help(said, small, monkeypatch):
    done = leave_one_out(LinearSVM(), small.X, small.y)
    codes = done.codes.copy()
    codes[:2] = REASONS.index(Reason.UNDECIDED)
    tied = replace(done, codes=codes, status=Status.STALLED)
    monkeypatch.setattr(
        "maxmargin.selection.leave_one_out.leave_one_out.leave_one_out", lambda *_, **__: tied
    )
    code, _, err = said("loo", "small.csv")
    assert code == 1
    assert err.endswith("warning: 2 rows are not decided: rounding errors leave nothing to gain\n")


def test_ctrl_c_tells_what_is_known(said, small, monkeypatch):
    from maxmargin.errors import Interrupted

    done = leave_one_out(LinearSVM(), small.X, small.y)

    def interrupted(*_, **__):
        raise Interrupted("interrupted", done)

    monkeypatch.setattr("maxmargin.selection.leave_one_out.leave_one_out.leave_one_out", interrupted)
    code, out, err = said("loo", "small.csv")
    assert code == 130
    assert err == "interrupted: these are the results so far\n"
    assert "wrong when left out" in out


@each_row(
    ("words", "message"),
    [
        ("path t.csv --C-min 2 --C-max 1", "--C-min must be less than --C-max; got --C-min 2, --C-max 1"),
        ("path t.csv --Cs 5", "--Cs must be values of C, such as 0.1,1,10; got 5"),
        ("path t.csv --Cs 1,2 --C-min 1", "give --C-min and --C-max for every C between them, or --Cs"),
        ("path t.csv --weights", "--weights are written into a file: give -o OUT"),
        ("path t.csv -o nowhere/p.csv", "nowhere/p.csv cannot be written: there is no folder nowhere"),
        ("path t.csv --plot t.csv", "t.csv is read by this command and cannot be written by it as well"),
        ("path t.csv --tol 1e-12", "--tol of a path must be between 1e-08 and 1e+06"),
        ("path one.svm", "one.svm has one class only (1): there is nothing to tell apart"),
        ("loo t.csv --C 0", "--C must be a positive number; got --C 0"),
        ("loo t.csv --Cs 1,2 -o x.tsv", "-o OUT is for one C: a line for each row; give --C instead of --Cs"),
        ("loo t.csv --exact-agreements", "--exact-agreements are written into a file: give -o OUT"),
        ("loo t.csv --C 1 --Cs 1,2", "argument --Cs: not allowed with argument -c/--C"),
        ("loo t.csv --lable kind", "unrecognized arguments: --lable kind; did you mean --label?"),
        ("loo none.csv", "none.csv: no such file"),
    ],
)
def test_what_cannot_be_is_refused_on_one_line(said, folder, words, message):
    (folder / "one.svm").write_text("1 1:1\n1 1:2\n")
    before = sorted(path.name for path in folder.iterdir())
    code, _, err = said(*words.split())
    assert code == 2
    assert err.startswith(f"maxmargin: error: {message}")
    assert err.count("\n") == 1
    assert sorted(path.name for path in folder.iterdir()) == before


def test_a_table_and_json_do_not_mix(told, small):
    for command in ("path", "loo"):
        code, found = told(command, "small.csv", "-o", "-")
        assert code == 2
        assert "name a file" in found["error"]["message"]
