"""Tables with categories, gaps and weights, from training to prediction; messages that name options."""

import inspect
import os
import time

import numpy as np
import pytest
from covering import each_row
from sklearn.svm import SVC

from maxmargin import LinearSVM, load_model
from maxmargin.cli.options import UNKNOWN_RULES
from maxmargin.cli.program import OTHER_NAMES, build_parser
from maxmargin.io.settings import ReadSettings

SHOP = """\
age,colour,copies,bought
20,red,1,yes
30,blue,2,no
41,red,1,yes
52,blue,1,no
23,green,4,yes
36,green,3,no
29,blue,5,yes
"""


@pytest.fixture
def shop(folder, said):
    """shop.csv, and shop.model with its weights."""
    (folder / "shop.csv").write_text(SHOP)
    assert said("train", "shop.csv", "--weight", "copies", "--tol", "1e-8")[0] == 0
    return folder


def test_what_became_of_the_columns_is_said(said, shop):
    _, out, _ = said("train", "shop.csv", "--weight", "copies")
    assert "columns: 1 column of numbers, 1 of categories (3 features)\n" in out
    model = load_model("shop.model")
    assert model.encoding.feature_names == ("age", "colour=blue", "colour=green", "colour=red")


def test_weights_are_repetitions(shop):
    rows = [line.split(",") for line in SHOP.splitlines()[1:]]
    copies = [row for row in rows for _ in range(int(row[2]))]
    colours = ("blue", "green", "red")
    X = [[float(age), *(float(colour == one) for one in colours)] for age, colour, *_ in copies]
    peer = SVC(kernel="linear", C=1.0, tol=1e-10).fit(X, [row[3] for row in copies])
    np.testing.assert_allclose(load_model("shop.model").coef, peer.coef_, atol=1e-6)


def test_another_order_and_further_columns(said, shop):
    lines = [line.split(",") for line in SHOP.splitlines()]
    text = "\n".join(",".join([row[1], "7", row[0], row[3]]) for row in lines) + "\n"
    (shop / "other.csv").write_text(text.replace(",7,", ",extra,", 1))
    expected = said("predict", "shop.csv", "shop.model", "-q")
    assert said("predict", "other.csv", "shop.model", "-q") == expected


def test_categories_that_training_did_not_see(said, shop):
    (shop / "pink.csv").write_text("age,colour,bought\n33,pink,no\n")
    code, _, err = said("evaluate", "shop.model", "pink.csv")
    assert code == 2
    assert 'the category "pink" was not in the training table; --unknown zeros gives it no feature' in err
    for command in (("evaluate", "shop.model", "pink.csv"), ("predict", "pink.csv", "shop.model")):
        assert said(*command, "--unknown", "zeros")[0] == 0


def test_certify_takes_the_weights_of_training(told, shop):
    named = told("certify", "shop.model", "shop.csv", "--weight", "copies")[1]["certificate"]
    by_itself = told("certify", "shop.model", "shop.csv")[1]["certificate"]
    assert by_itself == named
    assert named["relative_gap"] <= 1e-4
    assert "sample weights" in named["problem"]


@pytest.mark.parametrize("rule", ["mean", "median", "most_frequent"])
def test_gaps_are_filled_in_training_and_prediction(said, shop, rule):
    (shop / "gap.csv").write_text(SHOP.replace("30,", ",").replace("41,", "20,"))
    code, _, err = said("train", "gap.csv")
    assert code == 2
    assert "the value is missing; --missing " in err
    assert said("train", "gap.csv", "--missing", rule)[0] == 0
    ages = [20, 20, 52, 23, 36, 29]
    fill = {"mean": np.mean(ages), "median": np.median(ages), "most_frequent": 20}[rule]
    assert load_model("gap.model").encoding.columns[0].fill == pytest.approx(fill)
    assert said("predict", "gap.csv", "gap.model")[0] == 0


def test_columns_may_be_dropped_or_taken_as_categories(said, shop):
    words = ("--drop", "colour", "--drop", "copies", "--category", "age")
    assert said("train", "shop.csv", "c.model", *words)[0] == 0
    assert [name.split("=")[0] for name in load_model("c.model").encoding.feature_names] == ["age"] * 7


def test_names_of_columns_may_be_numbers(said, folder):
    (folder / "years.csv").write_text("2001,2002,0\n1,2,0\n3,4,1\n5,1,0\n2,2,1\n")
    for words, rows in (((), 5), (("--header", "yes"), 4), (("--header", "no"), 5)):
        _, out, _ = said("inspect", "years.csv", *words)
        assert out.startswith(f"years.csv: {rows} rows, 2 columns")


def test_bad_lines_are_skipped_and_counted(said, folder):
    (folder / "bad.svm").write_text("1 1:1\n-1 3:x\n-1 1:-1\n")
    code, out, err = said("train", "bad.svm", "--skip-bad-lines")
    assert code == 0
    assert out.startswith("read bad.svm: 2 rows")
    assert err.startswith("maxmargin: warning: ")
    assert "line 2" in err


def test_a_copy_is_kept_and_read(said, folder):
    past = time.time() - 60  # what has just been changed is not kept
    os.utime("a.svm", (past, past))
    assert said("train", "a.svm", "one.model", "--cache") == said("train", "a.svm", "one.model", "--cache")
    assert (folder / "a.svm.maxmargin-cache").is_file()
    (folder / "copies").mkdir()
    assert said("train", "a.svm", "two.model", "--cache-folder", "copies")[0] == 0
    assert len(os.listdir("copies")) == 1


@each_row(
    ("words", "message"),
    [
        ("train shop.csv --label bougt", "--label bougt: shop.csv has no such column; did you mean"),
        ("train shop.csv --label 9", "--label 9: shop.csv has the columns 0 to 3"),
        ("train shop.csv --drop colur", '--drop colur: shop.csv has no such column; did you mean "colour"?'),
        ("train shop.csv --weight colour", "shop.csv, line 2"),
        ("predict few.csv shop.model", 'few.csv: a column "age" is needed, which is not there'),
        ("train ids.csv --label y", 'ids.csv: the column "id" has'),
    ],
)
def test_messages_name_options(said, shop, words, message):
    (shop / "few.csv").write_text("colour,bought\nred,yes\n")
    (shop / "ids.csv").write_text("id,y\n" + "".join(f"name{k},{k % 2}\n" for k in range(100)))
    code, _, err = said(*words.split())
    assert code == 2
    assert err.startswith(f"maxmargin: error: {message}")
    assert "=[" not in err
    if "ids.csv" in words:
        assert "--drop id leaves it out, --category id takes it as categories" in err


def test_options_are_named_as_parameters():
    options = {
        action.dest for action in build_parser()._subparsers._group_actions[0].choices["train"]._actions
    }
    renamed = {OTHER_NAMES.get(name, name) for name in inspect.signature(LinearSVM).parameters}
    assert {
        "C",
        "lam",
        "tol",
        "loss",
        "solver",
        "max_iter",
        "max_time",
        "jobs",
        "class_weight",
    } <= renamed & options
    reading = {OTHER_NAMES.get(name, name) for name in ReadSettings.__dataclass_fields__}
    assert reading - {"encoding", "unknown", "earlier_label", "earlier_weight", "earlier_names"} <= options
    assert set(OTHER_NAMES.values()) <= options
    for rule in UNKNOWN_RULES:
        ReadSettings(unknown=rule)


# ---------------------------------------------------------------- text tables as others write them


@pytest.fixture
def abroad(folder):
    """abroad.txt, written in a way of its own; plain.csv says the same."""
    random = np.random.default_rng(2)
    rows = [
        (round(float(random.normal() + 2 * (k % 2)), 3), ("Köln", "Bonn")[k % 3 == 0], ("nein", "ja")[k % 2])
        for k in range(60)
    ]
    plain = [f"{size},{town},{good}" for size, town, good in rows]
    (folder / "plain.csv").write_text("\n".join(["größe,ort,gut", *plain, "NA,Köln,ja"]) + "\n")
    lines = [f"{size}|{town}|{good}".replace(".", ",") for size, town, good in rows]
    text = "\n".join(["% von Hand", "größe|ort|gut", *lines, "k. A.|Köln|ja % nachts"]) + "\n"
    (folder / "abroad.txt").write_bytes(text.encode("latin-1"))
    return folder


WRITTEN = ("--separator", "|", "--decimal", ",", "--encoding", "latin-1", "--na", "k. A.", "--comment", "%")


def test_a_table_from_abroad_makes_the_same_model(said, abroad):
    assert said("train", "plain.csv", "plain.model", "--missing", "mean", "-q")[0] == 0
    assert said("train", "abroad.txt", "abroad.model", "--missing", "mean", "-q", *WRITTEN)[0] == 0
    plain, other = load_model("plain.model"), load_model("abroad.model")
    np.testing.assert_array_equal(plain.coef, other.coef)
    assert plain.encoding == other.encoding
    expected = said("predict", "plain.csv", "plain.model", "-q")
    assert expected[0] == 0
    assert said("predict", "abroad.txt", "abroad.model", "-q", *WRITTEN) == expected
    assert said("evaluate", "abroad.model", "abroad.txt", "-q", *WRITTEN)[0] == 0
    assert said("certify", "abroad.model", "abroad.txt", "-q", *WRITTEN)[0] == 0


def test_a_table_from_abroad_is_fitted_from_disk(said, abroad):
    options = ("--missing", "mean", "-q", "--memory", "1GB")
    assert said("train", "plain.csv", "plain.model", *options)[0] == 0
    assert said("train", "abroad.txt", "abroad.model", *options, *WRITTEN)[0] == 0
    np.testing.assert_array_equal(load_model("plain.model").coef, load_model("abroad.model").coef)


def test_a_tab_may_be_called_by_its_name(said, folder):
    (folder / "tabs.txt").write_text("a\ty\n1\t0\n2\t1\n")
    for name in ("tab", "\\t", "\t"):
        assert said("inspect", "tabs.txt", "--separator", name)[0] == 0


@each_row(
    ("options", "message"),
    [
        ((), "line 1: expected fields separated by commas, semicolons or tabs; --separator names another"),
        (("--separator", "||"), "--separator must be one ASCII character"),
        (("--encoding", "latin-99"), "--encoding must be the name of an encoding"),
        (("--format", "npy", "--comment", "#"), "--comment is for text tables"),
        (("--format", "libsvm", "--na", "x"), "--na is for tables; abroad.csv is read as LIBSVM text"),
        (("--separator", "|"), 'found "gr\\xf6\\xdfe"; --encoding latin-1 reads it if that is its encoding'),
    ],
)
def test_errors_about_text_tables_name_options(said, abroad, options, message):
    (abroad / "abroad.csv").write_bytes(b"\n".join((abroad / "abroad.txt").read_bytes().split(b"\n")[1:]))
    code, _, err = said("inspect", "abroad.csv", *options)
    assert code == 2
    assert message in err


def test_a_decimal_comma_is_explained(said, folder):
    (folder / "comma.csv").write_text("a;y\n1,5;0\n2,5;1\n")
    _, _, err = said("inspect", "comma.csv")
    assert "or say --decimal , of a text table" in err
