"""Models of weighted rows: ``certify``, ``evaluate --certify`` and ``report`` take the same weights."""

import numpy as np
import pytest

from maxmargin import certify, guarantees, load_data, load_model, save_model, train

WEIGHTED = "b,a,y\n1,1,0\n2,7,1\n4,4,0\n3,1,1\n"
AT_OPTIMUM = "of the optimum of its own objective (hinge, C = 1, unpenalised offset, sample weights)"


@pytest.fixture
def weighted(folder, said):
    """w.csv, whose column b has the weights, w.model, and bare.csv without that column."""
    (folder / "w.csv").write_text(WEIGHTED)
    (folder / "bare.csv").write_text("a,y\n1,0\n7,1\n4,0\n1,1\n")
    assert said("train", "w.csv", "--weight", "b", "-q")[0] == 0
    return folder


@pytest.mark.parametrize("command", [("certify",), ("evaluate", "--certify")], ids=" ".join)
def test_the_weights_of_training_are_taken_and_that_is_said(said, weighted, command):
    code, out, _ = said(command[0], "w.model", "w.csv", *command[1:])
    assert code == 0
    assert out.startswith('weights of the rows: column "b", as in training; --weight names another column\n')
    assert AT_OPTIMUM in out
    code, out, _ = said(command[0], "w.model", "w.csv", *command[1:], "--weight", "b")
    assert code == 0
    assert AT_OPTIMUM in out
    assert "weights of the rows" not in out


@pytest.mark.parametrize(
    "words",
    ["certify w.model bare.csv", "evaluate w.model bare.csv --certify", "report w.model bare.csv"],
)
def test_rows_without_the_weights_are_refused(said, weighted, words):
    code, _, err = said(*words.split())
    assert code == 2
    assert err == (
        'maxmargin: error: w.model was trained with weights of the rows (column "b" of its table), which '
        "bare.csv does not have: give the data that it was trained on, or name the column by --weight\n"
    )
    assert not (weighted / "report.html").exists()


def test_predictions_and_errors_need_no_weights(said, weighted):
    assert said("predict", "bare.csv", "w.model", "-q")[0] == 0
    assert said("evaluate", "w.model", "bare.csv", "-q")[0] == 0


def test_a_report_is_about_the_weighted_rows(said, weighted):
    assert said("report", "w.model", "w.csv", "--test", "bare.csv", "-q")[0] == 0
    page = (weighted / "report.html").read_text(encoding="utf-8")
    assert "hinge, C = 1, unpenalised offset, sample weights" in page


@pytest.mark.parametrize("options", [(), ("--memory", "2GB"), ("--C", "auto", "--Cs", "1", "--cv", "2")])
def test_every_way_of_training_tells_of_its_weights(said, weighted, options):
    rows = WEIGHTED.splitlines()
    (weighted / "w.csv").write_text("\n".join([rows[0], *rows[1:] * 3]) + "\n")
    said("train", "w.csv", "other.model", "--weight", "b", "-q", *options)
    model = load_model("other.model")
    assert (model.is_weighted, model.weight) == (True, "b")


def test_columns_without_names_are_found_by_their_number(said, weighted):
    (weighted / "w.csv").write_text(WEIGHTED.split("\n", 1)[1])
    said("train", "w.csv", "--weight", 0, "--header", "no", "-q")
    code, out, _ = said("certify", "w.model", "w.csv")
    assert code == 0
    assert "weights of the rows: column 0, counted from 0, as in training" in out
    assert AT_OPTIMUM in out


@pytest.mark.parametrize("suffix", ["npz", "parquet"])
def test_files_that_keep_weights_have_them(said, weighted, suffix):
    said("convert", "w.csv", f"w.{suffix}", "--weight", "b", "-q")
    said("train", f"w.{suffix}", "-q")
    code, out, _ = said("certify", "w.model", f"w.{suffix}")
    assert code == 0
    assert AT_OPTIMUM in out


def test_the_library_takes_them_from_the_file_too(weighted):
    assert AT_OPTIMUM in str(certify("w.model", "w.csv"))
    data = load_data("w.csv", weight="b")
    model = train(data)
    assert (model.is_weighted, model.weight) == (True, "b")
    for judge in (certify, guarantees):
        with pytest.raises(ValueError, match=r"fitted with sample weights \(column 'b' of its table\)"):
            judge(model, data.X, data.y)
    assert AT_OPTIMUM in str(certify(model, data))


def test_the_file_says_it_only_where_there_were_weights(weighted, tmp_path):
    X, y = np.array([[0.0], [1.0], [3.0], [4.0]]), [-1, -1, 1, 1]
    for weights, expected in ((None, False), (np.ones(4), False), (np.array([1.0, 2.0, 1.0, 1.0]), True)):
        save_model(train(X, y, sample_weight=weights), tmp_path / "a.model")
        found = load_model(tmp_path / "a.model")
        assert (found.is_weighted, found.weight) == (expected, None)
