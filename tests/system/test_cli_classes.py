"""Three and more classes on the command line: one problem for all of them, and what are no classes."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LogisticRegression as Theirs

from maxmargin import load_model, save_data
from maxmargin.cli.fitting import MULTI_CLASS
from maxmargin.core import objective
from maxmargin.data import Data
from maxmargin.datasets import iris

SOFTMAX = ("--loss", "logistic", "--multi-class", "softmax")


@pytest.fixture
def flowers(folder):
    save_data(iris(), folder / "iris.csv")
    return iris()


def test_the_forms_are_those_of_the_library():
    forms = {form for per_loss in objective.MULTI_CLASS.values() for form in per_loss}
    assert {name.replace("-", "_") for name in MULTI_CLASS} == {"auto", *forms}


@pytest.mark.parametrize("spelled", ["softmax", "crammer-singer", "crammer_singer", "one-vs-rest"])
def test_the_loss_decides_what_forms_there_are(said, flowers, spelled):
    code, _, err = said("train", "iris.csv", "--loss", "squared_hinge", "--multi-class", spelled)
    if spelled == "one-vs-rest":
        assert (code, err) == (0, "")
        return
    assert code == 2
    assert f"--multi-class {spelled.replace('-', '_')} is not for --loss squared_hinge" in err


def test_the_default_of_the_hinge_is_new(said, flowers):
    code, out, err = said("train", "iris.csv", "a.model")
    assert (code, load_model("a.model").multi_class) == (0, "crammer_singer")
    assert "hinge (Crammer–Singer) loss, C = 1" in out
    assert "with the hinge of Crammer and Singer" in err
    assert "--multi-class crammer_singer or --multi-class one_vs_rest" in err
    code, _, err = said("train", "iris.csv", "a.model", "--multi-class", "crammer-singer")
    assert (code, err) == (0, "")


def test_softmax_has_one_certificate(said, told, flowers):
    code, out, _ = said("train", "iris.csv", "a.model", *SOFTMAX)
    assert code == 0
    plan, certified, quality = out.splitlines()[-4:-1]
    assert "softmax loss, C = 1" in plan
    assert "against the rest" not in out
    assert "(all 3 classes together) after" in certified
    assert quality == "training accuracy 97.3 %"
    model = load_model("a.model")
    theirs = Theirs(tol=1e-10, max_iter=10_000).fit(flowers.X, flowers.y)
    np.testing.assert_allclose(model.predict_proba(flowers.X), theirs.predict_proba(flowers.X), atol=1e-3)
    code, found = told("train", "iris.csv", "a.model", *SOFTMAX)
    assert (code, found["loss"], found["multi_class"]) == (0, "logistic", "softmax")
    assert found["degenerate"] is None
    assert found["certificate"]["is_reached"] is True
    assert told("train", "a.svm")[1]["multi_class"] is None  # of two classes


def test_what_looks_at_a_softmax_model(said, told, flowers):
    said("train", "iris.csv", "a.model", *SOFTMAX)
    code, out, _ = said("certify", "a.model", "iris.csv", "--within", 1e-4)
    assert (code, "(softmax, C = 1, unpenalised offset)" in out) == (0, True)
    code, _, err = said("certify", "a.model", "iris.csv", "--multi-class", "softmax")
    assert (code, "contains what it minimises; leave --multi-class out" in err) == (2, True)
    code, out, _ = said("inspect", "a.model")
    assert "problem        softmax loss, C = 1" in out
    assert "margin width" not in out
    assert "of the softmax model itself" in out
    assert told("evaluate", "a.model", "iris.csv")[1]["errors"] == 4
    assert said("convert", "a.model", "a.json")[0] == 0
    assert '"multi_class": "softmax"' in Path("a.json").read_text()


def test_softmax_in_searches_paths_and_leave_one_out(said, told, flowers):
    code, out, _ = said("train", "iris.csv", "a.model", *SOFTMAX, "--C", "auto", "--cv", 3, "--Cs", "0.1,1")
    assert code == 0
    assert "softmax loss, to 0.01 % of the optimum" in out
    assert load_model("a.model").multi_class == "softmax"
    code, found = told("path", "iris.csv", *SOFTMAX, "--Cs", "0.1,1")
    assert (code, found["multi_class"], len(found["points"])) == (0, "softmax", 2)
    code, found = told("loo", "iris.csv", *SOFTMAX)
    assert (code, found["examples"], found["undecided"]) == (0, 150, 0)


def test_a_model_that_is_of_no_use(said, told, folder):
    random = np.random.default_rng(1)
    labels = np.where(np.arange(300) < 6, "ill", "well")
    save_data(Data(random.normal(size=(300, 3)), labels), folder / "rare.csv")
    code, out, err = said("train", "rare.csv")
    assert code == 0
    assert "certified" in out
    assert "maxmargin: warning: the model is of no use: θ = 0, and all 300 rows are predicted as well" in err
    assert "--class-weight balanced predicts both classes." in err
    code, found = told("train", "rare.csv")
    assert found["degenerate"]["never_predicted"] == ["ill"]
    assert found["degenerate"]["zero_weights"] == ["ill", "well"]
    balanced = {"parameter": "class_weight", "value": "balanced", "n_predicted": 2}
    assert balanced in found["degenerate"]["tried"]
    assert len(found["warnings"]) == 1
    assert said("train", "rare.csv", "--class-weight", "balanced")[2] == ""
    code, _, err = said("train", "rare.csv", "--C", "auto", "--Cs", "0.01,0.1")
    assert err.count("the model is of no use") == 1


def test_numbers_that_are_no_classes(said, told, folder):
    """As many classes as values: scikit-learn refuses those that are not whole."""
    X, y = load_diabetes(return_X_y=True)
    for name, target in (("whole", y), ("broken", y / 3)):
        np.savetxt(folder / f"{name}.csv", np.c_[X, target], delimiter=",")
    for command in ("train", "loo", "path"):
        code, _, err = said(command, "broken.csv")
        assert code == 2
        assert "numbers as labels that are no classes" in err
        assert "is not a whole number), and this is for classes, not for regression" in err
    code, found = told("train", "whole.csv")
    assert code == 2
    assert "of 214 different ones, 84 come once" in found["error"]["message"]
    assert found["error"]["remedy"].startswith("make classes of them, such as above and below a limit")
    code, _, err = said("train", "broken.csv", "--memory", "4GB")
    assert (code, "is not a whole number" in err) == (2, True)


def test_whole_numbers_that_are_classes(said, folder):
    """Many classes of a few rows each, and few rows that are classes of their own."""
    X = np.random.default_rng(0).normal(size=(90, 2))
    save_data(Data(X, np.arange(90) // 3), folder / "many.svm")
    assert said("train", "many.svm", "--tol", 0.1, "-q")[0] == 0
    save_data(Data(X[:5], np.arange(5)), folder / "five.svm")
    assert said("train", "five.svm", "-q")[0] == 0


@pytest.mark.slow
def test_no_values_are_ruled_out_where_all_are_counted(said, flowers):
    code, out, _ = said("path", "iris.csv", "--Cs", "0.1,1", "--multi-class", "crammer-singer", "--cv", "loo")
    out = " ".join(out.split())
    assert (code, "exact; all counted to the end" in out, "ruled out" in out) == (0, True, False)
