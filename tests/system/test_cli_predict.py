"""``maxmargin predict``: labels, scores, probabilities, and files that differ from the training file."""

import numpy as np
import pytest
from covering import each_row

from maxmargin import load_data, load_model, save_data
from maxmargin.data import Data


def test_labels_one_a_line_and_the_accuracy_beside_them(said):
    said("train", "a.svm")
    code, out, err = said("predict", "a.svm", "a.model")
    assert (code, out) == (0, "1\n-1\n1\n-1\n")
    assert err == "accuracy 100.00 %: 4 of 4 rows right\n"
    assert said("predict", "a.svm", "a.model", "-q") == (0, "1\n-1\n1\n-1\n", "")


def test_predictions_in_a_file(said, folder):
    said("train", "t.csv")
    code, out, err = said("predict", "t.csv", "t.model", "out.txt")
    assert (code, err) == (0, "")
    assert out == "accuracy 100.00 %: 4 of 4 rows right\nwrote out.txt\n"
    assert (folder / "out.txt").read_text() == "tall\nsmall\ntall\nsmall\n"
    code, _, err = said("predict", "t.csv", "t.model", "t.csv")
    assert code == 2
    assert "t.csv is read by this command" in err


def test_scores_are_exact(said):
    said("train", "a.svm")
    _, out, _ = said("predict", "a.svm", "a.model", "--scores")
    heading, *rows = [line.split("\t") for line in out.splitlines()]
    assert heading == ["label", "score"]
    expected = load_model("a.model").scores(load_data("a.svm").X)[:, 0]
    assert [float(score) for _, score in rows] == expected.tolist()


def test_probabilities(said):
    said("train", "t.csv", "--loss", "logistic")
    _, out, _ = said("predict", "t.csv", "t.model", "--probabilities")
    heading, *rows = [line.split("\t") for line in out.splitlines()]
    assert heading == ["label", "probability small", "probability tall"]
    assert all(float(small) + float(tall) == pytest.approx(1) for _, small, tall in rows)
    said("train", "t.csv")
    code, _, err = said("predict", "t.csv", "t.model", "--probabilities")
    assert code == 2
    assert err == (
        "maxmargin: error: probabilities need --loss logistic, or a fit with --calibrate sigmoid "
        "(or temperature, isotonic); this model has --loss hinge and no calibration.\n"
    )


def test_probabilities_of_a_calibrated_model(said, folder):
    rows = [f"{x / 10},{'high' if x + 7 * (x % 3 - 1) > 0 else 'low'}" for x in range(-30, 30)]
    (folder / "noisy.csv").write_text("\n".join(["a,label", *rows]) + "\n")
    _, out, _ = said("train", "noisy.csv", "--calibrate", "temperature")
    assert "calibrated: temperature T = " in out
    code, out, _ = said("predict", "noisy.csv", "noisy.model", "--probabilities")
    table = [line.split("\t") for line in out.splitlines()[1:]]
    assert code == 0
    assert all((label == "high") == (float(high) >= 0.5) for label, high, _ in table)
    code, _, err = said("train", "noisy.csv", "--calibrate", "sigmoid", "--max-time", "1e-9")
    assert code == 1
    assert "the scores were not calibrated: the time limit was reached" in err


def test_scores_of_several_classes(said, folder):
    (folder / "three.csv").write_text("a,b,label\n1,0,x\n0,1,y\n-1,-1,z\n")
    said("train", "three.csv")
    _, out, _ = said("predict", "three.csv", "three.model", "--scores")
    assert out.splitlines()[0] == "label\tscore x\tscore y\tscore z"
    assert [line.split("\t")[0] for line in out.splitlines()[1:]] == ["x", "y", "z"]


@each_row(
    ("content", "labels", "verdict"),
    [
        (
            "width,height,kind\n0,2,tall\n0.5,-1,small\n",
            "tall\nsmall\n",
            "accuracy 100.00 %: 2 of 2 rows right",
        ),
        (
            "kind,width,height\nsmall,0,2\nsmall,0.5,-1\n",
            "tall\nsmall\n",
            "accuracy 50.00 %: 1 of 2 rows right",
        ),
        (
            "width,height\n0,2\n0.5,-1\n",
            "tall\nsmall\n",
            "predicted 2 rows; the file has no labels to compare with",
        ),
        ("2,0\n-1,0.5\n", "tall\nsmall\n", "predicted 2 rows; the file has no labels to compare with"),
        ("height,width,label\n2,0,tall\n", "tall\n", "accuracy 100.00 %: 1 of 1 row right"),
        (
            "height,width,kind\n2,0,-\n-1,1,-\n",
            "tall\nsmall\n",
            "predicted 2 rows; no label in the file is one of the model's classes, so nothing to compare",
        ),
        (
            "height,width,kind\n2,0,?\n-1,1,?\n",
            "tall\nsmall\n",
            "predicted 2 rows; the file has no labels to compare with",
        ),
        (
            "id,height,width,kind\nx7,2,0,tall\nx8,-1,1,small\n",
            "tall\nsmall\n",
            "accuracy 100.00 %: 2 of 2 rows right",
        ),
    ],
)
def test_tables_that_differ_from_the_training_table(said, folder, content, labels, verdict):
    said("train", "t.csv")
    (folder / "new.csv").write_text(content)
    code, out, err = said("predict", "new.csv", "t.model")
    assert (code, out, err) == (0, labels, verdict + "\n")


@each_row(
    ("content", "message"),
    [
        ("height,depth,kind\n1,2,tall\n", 'new.csv: a column "width" is needed, which is not there'),
        ("tall,deep,kind\n1,2,tall\n", '"height" is needed, which is not there (nor are 1 others)'),
        ("heights,width,kind\n1,2,tall\n", '"height" is needed, which is not there; did you mean "heights"?'),
        ("1,2,3,tall\n", "new.csv: expected 2 columns, and one with the label if there are labels; found 4"),
        ("height,width\nx,2\ny,3\n", "new.csv"),
    ],
)
def test_tables_that_do_not_fit_the_model(said, folder, content, message):
    said("train", "t.csv")
    (folder / "new.csv").write_text(content)
    code, out, err = said("predict", "new.csv", "t.model")
    assert (code, out) == (2, "")
    assert message in err


def test_libsvm_text_is_read_as_wide_and_from_where_the_training_file_was(said, folder):
    (folder / "zero.svm").write_text("1 0:2 2:1\n-1 0:-1\n")
    said("train", "zero.svm")
    (folder / "narrow.svm").write_text("1 1:1\n")
    _, out, _ = said("predict", "narrow.svm", "zero.model", "--scores")
    expected = load_model("zero.model").scores(np.array([[0.0, 1.0, 0.0]]))[0, 0]
    assert float(out.splitlines()[1].split("\t")[1]) == expected
    said("train", "a.svm")
    (folder / "wide.svm").write_text("1 9:1\n")
    code, _, err = said("predict", "wide.svm", "a.model")
    assert code == 2
    assert "index 9 is beyond the 3 columns expected" in err
    code, _, err = said("predict", "a.svm", "a.model", "--label", 0)
    assert code == 2
    assert "label is for tables" in err


def test_whole_numbers_stay_whole_and_fractions_exact(said, folder):
    (folder / "half.svm").write_text("0.5 1:1\n2 1:-1\n")
    said("train", "half.svm")
    assert said("predict", "half.svm", "half.model", "-q")[1] == "0.5\n2\n"


def test_many_rows_come_out_in_order(said, folder):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9000, 2))
    save_data(Data(X, np.where(X[:, 0] > 0.1, 1, -1)), folder / "many.csv")
    said("train", "many.csv")
    _, out, _ = said("predict", "many.csv", "many.model")
    assert np.array_equal([int(line) for line in out.split()], load_model("many.model").predict(X))


def test_columns_of_one_name_must_keep_their_order(said, folder):
    (folder / "same.csv").write_text("a,a,label\n1,2,0\n2,1,1\n")
    said("train", "same.csv")
    assert said("predict", "same.csv", "same.model")[:2] == (0, "0\n1\n")
    (folder / "other.csv").write_text("label,a,a\n0,1,2\n1,2,1\n")
    code, out, err = said("predict", "other.csv", "same.model")
    assert (code, out) == (2, "")
    assert 'column 1 is "label" and should be "a"' in err
