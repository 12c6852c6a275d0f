"""``maxmargin inspect`` and ``convert``: what files hold, and the same in other formats that others read."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from covering import each_row
from liblinear.liblinearutil import load_model as load_theirs
from liblinear.liblinearutil import predict as predict_theirs
from scipy.sparse import csr_matrix
from sklearn.datasets import load_svmlight_file

import maxmargin
from maxmargin import load_data, load_model
from maxmargin.datasets import breast_cancer, iris

CELLS = Path(__file__).parents[1] / "data" / "breast_cancer.csv"


@pytest.fixture
def trained(said, folder):
    """t.model of t.csv, l.model with probabilities, and n.svm and n.model with numbers as labels."""
    said("train", "t.csv")
    said("train", CELLS, "l.model", "--loss", "logistic", "--C", 0.01)
    said("convert", CELLS, "n.svm", "--number-labels")
    said("train", "n.svm", "--C", 0.01)
    return folder


# ---------------------------------------------------------------- inspect


def test_classes_are_the_same_numbers_wherever_they_are_told(told):
    _, trained = told("train", "a.svm")
    _, model = told("inspect", "a.model")
    _, data = told("inspect", "a.svm")
    assert [trained["classes"], model["classes"]] == [[-1, 1], [-1, 1]]
    found = [*trained["classes"], *model["classes"], model["scores"][0]["class"]]
    found += [entry["label"] for entry in data["classes"]]
    assert {type(label) for label in found} == {int}


def test_inspect_data(said):
    code, out, err = said("inspect", CELLS, "--rows", 3)
    assert (code, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    assert out.startswith(f'{CELLS}: 569 rows, 30 columns; label "diagnosis"; classes benign (63 %)')
    assert ["benign", "357"] in lines
    first = breast_cancer().X[:, 0]
    expected = [first.min(), first.mean(), first.max(), first.std()]
    shown = next(line for line in lines if line[:2] == ["mean", "radius"])
    assert shown[2:] == [*(f"{value:.4g}" for value in expected), "0"]
    assert "(27 further columns; --rows lists more)" in out
    assert "the columns' deviations differ by a factor of " in out


def test_inspect_data_for_machines(told):
    _, found = told("inspect", "a.svm")
    assert (found["kind"], found["rows"], found["values"]) == ("data", 4, 7)
    assert found["features"]["zeros"] == [0, 3, 2]
    assert found["features"]["largest"] == [2.0, 0.5, 1.0]


def test_inspect_lists_the_same_rows_for_machines(told, said, trained):
    _, found = told("inspect", CELLS, "--rows", 2)
    assert (found["columns"], found["features"]["listed"]) == (30, 2)
    assert found["features"]["names"] == list(breast_cancer().feature_names[:2])
    assert all(len(found["features"][name]) == 2 for name in ("least", "mean", "largest", "zeros"))
    _, found = told("inspect", CELLS)
    assert found["features"]["listed"] == len(found["features"]["mean"]) == 30
    _, found = told("inspect", "l.model", "--rows", 2)
    model = load_model("l.model")
    order = np.argsort(-np.abs(model.coef[0]))[:2]
    assert found["scores"][0]["columns"] == [model.feature_names[j] for j in order]
    assert found["scores"][0]["weights"] == model.coef[0][order].tolist()
    assert "features" not in found
    _, found = told("inspect", "l.model")
    assert found["scores"][0]["weights"] == model.coef[0].tolist()
    assert found["features"] == model.feature_names


@pytest.mark.parametrize("words", ["", "--rows 3", "--json"])
def test_columns_that_hold_nothing_take_no_memory(folder, words):
    (folder / "wide.svm").write_text("1 1:1\n-1 2000000000:1\n")
    program = "import resource, sys; from maxmargin.cli import main\nresource.setrlimit("
    program += "resource.RLIMIT_AS, (4 << 30, 4 << 30)); sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", program, "inspect", "wide.svm", *words.split()],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    out = done.stderr if words == "--json" else done.stdout
    assert "1,999,999,998 columns with only one value" in out
    if words == "--json":
        assert json.loads(done.stdout)["features"]["zeros"] == [1, *[2] * 19]


def test_a_line_break_in_a_name_stays_on_its_line(said, folder):
    (folder / "b.csv").write_text('town,x,y\n"New\nYork",1,"a\nb"\nRome,2,c\n"New\nYork",3,c\n')
    said("train", "b.csv")
    for words in (["b.csv"], ["b.model"]):
        code, out, _ = said("inspect", *words)
        assert code == 0
        assert "New\\nYork" in out
        assert "York" not in [line.strip().split(" ")[0] for line in out.splitlines()]
        assert "a\\nb" in out


def test_inspect_says_what_tells_nothing(said, folder):
    (folder / "c.csv").write_text("a,b,y\n1,3,0\n1,4,1\n")
    _, out, _ = said("inspect", "c.csv")
    assert "1 column with only one value, which carry no information" in out


def test_inspect_a_model(said, trained):
    code, out, _ = said("inspect", "l.model", "--rows", 2)
    assert code == 0
    model = load_model("l.model")
    assert out.startswith(f"l.model: a model, written by maxmargin {maxmargin.__version__}\n")
    for text in (
        "  problem        logistic loss, C = 0.01, free offset\n",
        "  classes        benign, malignant\n",
        '  columns        30 features, read from csv, label "diagnosis"\n',
        f"  certificate    {model.certificate}\n",
        "  probabilities  of the logistic model itself\n",
        "(28 smaller ones, 0 zeros)\n",
    ):
        assert text in out
    largest = np.abs(model.coef[0]).argmax()
    heading = out.splitlines().index(next(line for line in out.splitlines() if "for malignant" in line))
    assert out.splitlines()[heading + 1].split()[:-1] == model.feature_names[largest].split()


def test_inspect_models_for_machines(told, trained):
    _, found = told("inspect", "t.model")
    model = load_model("t.model")
    assert found["kind"] == "model"
    assert found["scores"][0]["weights"] == model.coef[0].tolist()
    assert found["certificate"]["relative_gap"] == model.certificate.relative_gap


def test_inspect_a_model_of_liblinear(said, trained):
    said("convert", "n.model", "n.liblinear")
    code, out, _ = said("inspect", "n.liblinear")
    assert code == 0
    assert out.startswith("n.liblinear: a model of LIBLINEAR, L2R_L1LOSS_SVC_DUAL\n")
    assert "  classes        -1, 1\n" in out


def test_a_damaged_model_is_not_taken_for_data(said, trained):
    content = Path("t.model").read_bytes()
    Path("cut.model").write_bytes(content[: len(content) // 2])
    code, _, err = said("inspect", "cut.model")
    assert code == 2
    assert "cut.model: the model file is damaged or cut short" in err


# ---------------------------------------------------------------- convert: data


def test_text_that_scikit_learn_reads(said):
    code, out, _ = said("convert", CELLS, "c.svm", "--number-labels")
    assert code == 0
    assert "labels: benign is -1, malignant is 1\n" in out
    X, y = load_svmlight_file("c.svm")
    data = breast_cancer()
    np.testing.assert_array_equal(X.toarray(), data.X)
    np.testing.assert_array_equal(y == 1, data.y == "malignant")


def test_several_classes_become_numbers(said, folder):
    maxmargin.save_data(iris(), folder / "iris.csv")
    _, out, _ = said("convert", "iris.csv", "iris.svm", "--number-labels")
    assert "labels: setosa is 1, versicolor is 2, virginica is 3\n" in out
    assert sorted(set(load_svmlight_file("iris.svm")[1])) == [1, 2, 3]


@pytest.mark.parametrize("name", ["c.csv", "c.tsv", "c.csv.gz", "c.svm.xz"])
def test_there_and_back(said, name):
    assert said("convert", "a.svm", name)[0] == 0
    assert said("convert", name, "back.svm")[0] == 0
    one, other = load_data("a.svm"), load_data("back.svm", n_columns=3)
    np.testing.assert_array_equal(one.X.toarray(), other.X.toarray())
    np.testing.assert_array_equal(one.y, other.y)


def test_a_name_need_not_tell(said, folder):
    assert said("convert", "t.csv", "plain", "--to", "csv")[0] == 0
    assert (folder / "plain").read_text().startswith("height,width,kind\n")
    assert said("convert", "t.csv", "odd.txt", "--to", "csv")[0] == 0
    assert (folder / "odd.txt").read_text() == (folder / "plain").read_text()


def test_through_pipes(capfdbinary, folder, standard_input):
    from maxmargin.cli import main

    standard_input((folder / "t.csv").read_bytes())
    assert main(["convert", "-", "-", "--format", "csv", "--to", "libsvm", "--number-labels"]) == 0
    out, err = capfdbinary.readouterr()
    assert out == b"1 1:2\n-1 1:-1 2:0.5\n1 1:1.5 2:0.2\n-1 1:-2 2:-0.5\n"
    assert b"labels: small is -1, tall is 1" in err


# ---------------------------------------------------------------- convert: models


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_onnx_predicts_the_same(said, trained, dtype):
    assert said("convert", "l.model", "l.onnx", "--dtype", dtype)[0] == 0
    X = breast_cancer().X.astype(dtype)
    labels, scores = onnxruntime.InferenceSession("l.onnx").run(["label", "scores"], {"X": X})
    model = load_model("l.model")
    np.testing.assert_array_equal(labels, model.predict(X))
    np.testing.assert_allclose(scores.ravel(), model.decision_function(X), rtol=1e-3, atol=1e-4)


def test_liblinear_predicts_the_same(said, trained):
    assert said("convert", "n.model", "n.liblinear")[0] == 0
    data = load_data("n.svm")
    labels, _, _ = predict_theirs([], csr_matrix(data.X), load_theirs("n.liblinear"), "-q")
    np.testing.assert_array_equal(labels, load_model("n.model").predict(data.X))
    said("convert", "n.liblinear", "again.model")
    np.testing.assert_array_equal(load_model("again.model").predict(data.X), labels)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_json_holds_all_that_it_takes_to_predict(said, trained, n_classes):
    maxmargin.save_data(iris(), trained / "iris.csv")
    said("train", "iris.csv")
    name, data = ("l", breast_cancer()) if n_classes == 2 else ("iris", iris())
    assert said("convert", f"{name}.model", f"{name}.json")[0] == 0
    found = json.loads(Path(f"{name}.json").read_text(encoding="utf-8"))
    weights = np.array([score["weights"] for score in found["scores"]])
    scores = data.X @ weights.T + [score["intercept"] for score in found["scores"]]
    if n_classes == 2:
        first, second = found["classes"]
        assert found["scores"][0]["class"] == second
        predicted = np.where(scores[:, 0] >= 0, second, first)
    else:
        predicted = np.array([score["class"] for score in found["scores"]])[scores.argmax(axis=1)]
    np.testing.assert_array_equal(predicted, load_model(f"{name}.model").predict(data.X))
    assert found["features"] == list(data.feature_names)


def test_a_calibration_that_liblinear_has_no_place_for_is_told(said, told, trained):
    said("train", "n.svm", "c.model", "--calibrate", "isotonic")
    code, found = told("convert", "c.model", "c.liblinear")
    expected = "the calibration of probabilities is left out: LIBLINEAR's files have no place for it; c.model"
    assert (code, found["warnings"]) == (0, [f"{expected} keeps it"])
    assert said("convert", "c.model", "c.liblinear")[2] == f"maxmargin: warning: {expected} keeps it\n"
    for words in (["n.model", "n.liblinear"], ["c.model", "c.onnx"], ["c.model", "c.json"]):
        assert said("convert", *words)[2] == ""


def test_a_model_stays_the_same_model(said, trained):
    said("convert", "t.model", "copy.model")
    assert Path("copy.model").read_bytes() == Path("t.model").read_bytes()


@each_row(
    ("words", "message"),
    [
        ("inspect none.csv", "none.csv: no such file"),
        ("inspect .", ". is a folder; a file is expected"),
        ("inspect a.svm --rows 0", "--rows must be a positive whole number; got --rows 0"),
        ("inspect strange", "strange: neither its name nor its first bytes determine the format"),
        ("convert t.csv t.svm", 'labels such as "tall" are text, which LIBSVM text cannot hold: --number-'),
        ("convert t.csv t.csv", "t.csv is read by this command and cannot be written by it as well"),
        (
            "convert t.csv x.foo",
            "the name x.foo does not determine the format; give --to libsvm, csv, parquet",
        ),
        ("convert t.csv x.model", "t.csv holds data, not a model; maxmargin train fits one"),
        ("convert t.csv x --to onnx", "t.csv holds data, not a model"),
        (
            "convert t.model x.csv",
            "t.model holds a model, and the name x.csv does not determine the format; give --to",
        ),
        ("convert t.model x --to csv", "t.model holds a model, and csv is for data; give --to model, onnx"),
        ("convert t.model x.liblinear", 'LIBLINEAR has whole numbers as labels; got "small"'),
        ("convert none.model x.onnx", "none.model: no such file"),
        ("convert . x.onnx", ". is a folder; a file is expected"),
        ("convert t.csv nowhere/x.svm", "nowhere/x.svm cannot be written: there is no folder nowhere"),
        ("convert none.csv x.svm", "none.csv: no such file"),
        ("convert t.csv - --to csv --json", "--json and OUT cannot both go to the standard output"),
    ],
)
def test_what_cannot_be_is_refused_on_one_line(said, folder, words, message):
    said("train", "t.csv")
    (folder / "strange").write_text("what is this")
    before = sorted(os.listdir(folder))
    code, _, err = said(*words.split())
    assert code == 2
    assert err.splitlines()[-1].startswith(f"maxmargin: error: {message}")
    assert sorted(os.listdir(folder)) == before
