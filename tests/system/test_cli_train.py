"""``maxmargin train`` chooses what nobody said, and says what it chose: label column, C, weights."""

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from covering import each_row
from sklearn.model_selection import PredefinedSplit

from maxmargin import LinearSVM, LinearSVMCV, load_model
from maxmargin.datasets import breast_cancer
from maxmargin.selection.search.automatic import select_C, stratified_splits

CELLS = Path(__file__).parents[1] / "data" / "breast_cancer.csv"
GUESS = 'label guessed: column "{}", {}; --label names another'


@pytest.mark.parametrize(
    ("header", "column", "why"),
    [
        ("height,width,kind", "kind", "the last one"),
        ("class,width,height", "class", "by its name"),
        ("height,Target,width", "Target", "by its name"),
    ],
)
def test_the_label_is_guessed_and_said(said, folder, header, column, why):
    place = header.split(",").index(column)
    rows = [[str(k), str(-k)] for k in range(6)]
    for k, row in enumerate(rows):
        row.insert(place, "ab"[k // 3])
    (folder / "t.csv").write_text("\n".join([header, *(",".join(row) for row in rows)]) + "\n")
    code, out, _ = said("train", "t.csv")
    assert code == 0
    assert out.splitlines()[1] == GUESS.format(column, why)
    assert load_model("t.model").label == column
    assert "guessed" not in said("train", "t.csv", "--label", column)[1]
    assert "guessed" not in said("train", "a.svm")[1]


def test_a_table_without_names_is_guessed_by_number(said, folder):
    (folder / "n.csv").write_text("1,2,0\n3,4,1\n0,1,0\n5,5,1\n")
    _, out, _ = said("train", "n.csv")
    assert "label guessed: column 2, the last one, counted from 0; --label names another\n" in out


# ---------------------------------------------------------------- C auto


def test_auto_takes_leave_one_out_for_few_rows(said):
    code, out, err = said("train", CELLS, "m.model", "--C", "auto", "--Cs", "0.001,0.1,10")
    assert (code, err) == (0, "")
    assert (
        "plan: 3 values of C from 0.001 to 10, judged by leave-one-out (exact, and quick for 569 rows); "
        "hinge loss, to 0.01 % of the optimum\n"
    ) in out
    data = breast_cancer()
    peer = LinearSVMCV(Cs=[0.001, 0.1, 10], cv="loo").fit(data.X, data.y)
    assert load_model("m.model").C == peer.C_
    assert f"with {peer.leave_one_out_.n_errors} errors" in out
    assert ("C = 10 is the largest that was tried; --Cs can go further\n" in out) is (peer.C_ == 10)


def test_auto_by_folds_is_what_the_estimator_finds(told):
    data = breast_cancer()
    codes = np.searchsorted(data.classes, data.y)
    fold = np.empty(len(codes), dtype=int)
    for number, (_, held_out) in enumerate(stratified_splits(codes, 4)):
        fold[held_out] = number
    peer = LinearSVMCV(Cs=[0.001, 0.1, 10], cv=PredefinedSplit(fold)).fit(data.X, data.y)
    code, found = told("train", CELLS, "m.model", "--C", "auto", "--cv", 4, "--Cs", "0.001,0.1,10")
    assert code == 0
    assert (found["search"]["by"], found["search"]["folds"], found["C"]) == ("folds", 4, peer.C_)
    scores = [entry["mean_test_score"] for entry in found["search"]["candidates"]]
    np.testing.assert_allclose(scores, peer.cv_results_["mean_test_score"], rtol=1e-12)
    np.testing.assert_allclose(load_model("m.model").coef, peer.coef_, rtol=1e-3, atol=1e-6)


def test_many_rows_are_folded(said, folder):
    header, *lines = CELLS.read_text().splitlines(keepends=True)
    (folder / "many.csv").write_text(header + 10 * "".join(lines))
    code, out, _ = said("train", "many.csv", "m.model", "--C", "auto", "--Cs", "0.01,0.1")
    assert code == 0
    assert "judged by 5 folds (quicker than leaving each of 5,690 rows out)" in out
    assert "searched 2 values of C on 5 splits: best C = " in out


def test_the_rule_prefers_small_costs(told):
    words = ("train", CELLS, "m.model", "--C", "auto", "--cv", "loo", "--Cs", "0.1,10,1000")
    best, cautious = told(*words)[1]["C"], told(*words, "--rule", "one_standard_error")[1]["C"]
    assert cautious < best


def test_auto_with_probabilities(said):
    code, out, _ = said("train", CELLS, "m.model", "-c", "auto", "--Cs", "0.01,1", "--calibrate", "sigmoid")
    assert code == 0
    assert load_model("m.model").calibration.kind == "sigmoid"
    assert "calibrated: " in out


def test_a_search_without_time_says_so(said):
    code, out, err = said("train", CELLS, "m.model", "--C", "auto", "--max-time", "1e-3")
    assert code == 1
    assert "maxmargin: warning: the time limit was reached: C = " in err
    assert "can go further" not in out
    assert load_model("m.model").C == 1e-3


def test_ctrl_c_in_a_search_keeps_the_best_model(said, monkeypatch):
    def press(progress):
        raise KeyboardInterrupt

    def pressed(task, *arguments, **settings):
        watched = replace(task, settings=replace(task.settings, watch=press))
        return select_C(watched, *arguments, **settings)

    monkeypatch.setattr("maxmargin.selection.search.automatic.select_C", pressed)
    code, out, err = said("train", CELLS, "m.model", "--C", "auto")
    assert code == 130
    assert err == "interrupted: this is the best model so far\n"
    assert out.endswith("wrote m.model\n")
    assert load_model("m.model").interrupted


@each_row(
    ("words", "message"),
    [
        ("--C many", 'argument -c/--C: expected a number or auto, found "many"'),
        ("--C auto --Cs x", "argument --Cs: expected a number of values, or values of C such as 0.1,1,10"),
        ("--C auto --Cs=-1,2", "argument --Cs: expected a number of values"),
        ("--C auto --Cs 0", "--Cs must be at least one point; got --Cs 0"),
        (f"--C auto --Cs {10**30}", "--Cs must be at most 10,000 points; got --Cs 1000"),
        ("--C auto --Cs 1,1e308", "--Cs must be between 1e-100 and 1e+100; got --Cs 1e+308"),
        ("--C 1e308", "--C must be between 1e-100 and 1e+100; got --C 1e+308"),
        ("--C 1e400", "argument -c/--C: 1e400 is beyond floating point"),
        ("--lam 1e400", "argument --lam: 1e400 is beyond floating point"),
        (
            "--lam 1e-308",
            "--lam must be such that C = 1/(lam · n) is between 1e-100 and 1e+100; got --lam 1e-308",
        ),
        (
            "--class-weight 1=1e308",
            "C times the weights must be between 1e-100 and 1e+100; the largest is 1e+308",
        ),
        ("--C auto --cv few", 'argument --cv: expected loo or a number of folds, found "few"'),
        ("--C auto --cv 1", "C is judged by leave-one-out (loo) or by 2 folds or more; got 1"),
        ("--C auto --cv 99", "99 folds of 4 rows: some would be empty"),
        ("--C 1 --cv 5", "--cv says how C is chosen; give --C auto with it"),
        ("--Cs 3", "--Cs says how C is chosen; give --C auto with it"),
        ("--jobs 0", "--jobs must be a whole number other than 0"),
        ("--class-weight small", '--class-weight: expected balanced or LABEL=WEIGHT,…; found "small"'),
        ("--class-weight 7=2", '--class-weight: there is no class "7"; the classes are -1, 1'),
        ("--class-weight 1=-2", "--class-weight must be positive and finite; class 1.0 has -2.0"),
        ("--penalize-intercept --intercept-scaling 0", "--intercept-scaling must be a positive number"),
    ],
)
def test_wrong_settings_are_refused(said, folder, words, message):
    code, _, err = said("train", "a.svm", *words.split())
    assert code == 2
    assert err.startswith(f"maxmargin: error: {message}")
    assert not (folder / "a.model").exists()


def test_a_class_of_one_row_cannot_be_folded(said, folder):
    (folder / "lone.svm").write_text("1 1:1\n" + "-1 1:-1\n-1 1:-2\n" * 3)
    code, _, err = said("train", "lone.svm", "--C", "auto", "--cv", 3)
    assert code == 2
    assert "one class has one row only, and the fold that holds it out would not know it" in err


# ---------------------------------------------------------------- weights and other settings


@pytest.mark.parametrize("words", ["malignant=3", "benign=0.5,malignant=3"])
def test_classes_weigh_what_is_said(said, words):
    code, _, _ = said("train", CELLS, "m.model", "--class-weight", words, "--tol", "1e-8")
    assert code == 0
    weights = {name: float(weight) for name, weight in (part.split("=") for part in words.split(","))}
    data = breast_cancer()
    peer = LinearSVM(class_weight=weights, tol=1e-8).fit(data.X, data.y)
    np.testing.assert_array_equal(load_model("m.model").coef, peer.coef_)


def test_numbers_as_classes_weigh_what_is_said(said):
    for words in ("1=3,-1=2", "+1=3,-1=2"):
        assert said("train", "a.svm", "--class-weight", words)[0] == 0
        assert load_model("a.model").class_weight == {-1: 2.0, 1: 3.0}


def test_the_scale_of_a_penalised_offset(said):
    said("train", "a.svm", "--penalize-intercept", "--intercept-scaling", 5)
    model = load_model("a.model")
    assert (model.offset, model.intercept_scaling) == ("penalized", 5.0)


@each_row(
    "words",
    [
        f"--max-iter {10**400}",
        f"--jobs {10**30}",
        "--C auto --cv loo --jobs 9999999999",
        "--max-time 1e10",
        "--max-time 1e308",
    ],
)
def test_numbers_beyond_every_machine_word_are_numbers(said, words):
    assert said("train", "a.svm", *words.split())[0] == 0


def test_reading_is_a_part_of_max_time(said, monkeypatch):
    """A fit that begins when the time is over ends with the first certificate."""
    from maxmargin.io import load

    read = load.load_rows

    def slowly(*arguments, **settings):
        time.sleep(0.2)
        return read(*arguments, **settings)

    monkeypatch.setattr(load, "load_rows", slowly)
    code, _, err = said("train", "a.svm", "--max-time", "0.1", "--tol", "1e-300")
    assert code == 1
    assert "the time limit was reached. Raise --max-time." in err
