"""What all commands share: help, JSON, exit codes, streams, and words in any order."""

import json
import re
from pathlib import Path

import pytest
from covering import each_row

from maxmargin import load_model
from maxmargin.cli import main
from maxmargin.cli.codes import EXIT_CODES
from maxmargin.cli.console import Console, plain
from maxmargin.cli.options import FORMATS, MISSING_RULES
from maxmargin.cli.program import COMMANDS, build_parser
from maxmargin.io import settings


def test_the_bare_name_shows_the_help_and_is_refused(said):
    code, out, err = said()
    assert (code, out) == (2, "")
    assert err.startswith("usage: maxmargin ")
    assert "exit codes:\n  0    done" in err


@each_row("command", COMMANDS)
def test_every_command_has_help_with_examples_and_exit_codes(said, command):
    code, out, err = said(command, "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"usage: maxmargin {command} ")
    assert f"examples:\n  maxmargin {command}" in out
    assert "exit codes: 0 done" in out


def test_help_fits_a_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    parser = build_parser()
    choices = parser._subparsers._group_actions[0].choices
    for text in (parser.format_help(), *(one.format_help() for one in choices.values())):
        assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(
    "words", ["train a.svm --C 2 b.model", "train --C 2 a.svm b.model", "train a.svm -o b.model"]
)
def test_files_and_options_in_any_order(said, words):
    assert said(*words.split())[0] == 0
    assert load_model("b.model").classes.tolist() == [-1, 1]


def test_too_many_files_are_refused(said):
    code, _, err = said("train", "a.svm", "--C", "2", "b.model", "c.model")
    assert code == 2
    assert err == "maxmargin: error: unrecognized arguments: c.model (see maxmargin train --help)\n"
    code, _, err = said("train", "a.svm", "b.model", "-o", "c.model")
    assert code == 2
    assert "the model can go to one place: b.model or --out c.model" in err


def test_json_of_a_training(told):
    code, found = told("train", "a.svm")
    assert code == 0
    assert found["data"]["classes"] == [{"label": -1, "rows": 2}, {"label": 1, "rows": 2}]
    assert found["certificate"]["is_reached"] is True
    assert (found["C"], found["out"], found["warnings"]) == (1.0, "a.model", [])
    assert found["training"] == {"rows": 4, "errors": 0, "accuracy": 1.0}


def test_json_of_a_missed_goal_has_the_warning(told, folder):
    code, found = told("train", "a.svm", "--tol", "1e-300", "--max-iter", 1, "--solver", "gradient_descent")
    assert code == 1
    assert found["certificate"]["is_reached"] is False
    assert "not within the 1e-298 % asked for by --tol" in found["warnings"][0]


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("train none.svm", "MissingFile"),
        ("train bad.svm", "FileFormatError"),
        ("train a.svm --C -1", "InvalidParameter"),
        ("train a.svm --los hinge", "Usage"),
    ],
)
def test_json_of_an_error(told, said, folder, words, kind):
    (folder / "bad.svm").write_text("+1 1:1\n-1 3:x\n")
    code, found = told(*words.split())
    assert code == 2
    assert found["error"]["kind"] == kind
    _, out, err = said(*words.split())
    assert out == ""
    assert err == f"maxmargin: error: {found['error']['message']}\n"


def test_a_bad_line_is_a_place_for_machines(told, folder):
    (folder / "bad.svm").write_text("+1 1:1\n-1 3:x\n")
    _, found = told("train", "bad.svm")
    assert (found["error"]["path"], found["error"]["line"], found["error"]["column"]) == ("bad.svm", 2, 4)


def test_a_refused_parameter_is_fields_for_machines(told, folder):
    _, found = told("train", "a.svm", "--max-time", "-1")
    error = found["error"]
    assert (error["parameter"], error["value"], error["remedy"]) == ("max_time", -1, None)
    (folder / "gap.csv").write_text("a,label\n1,x\n,y\n")
    error = told("train", "gap.csv")[1]["error"]
    assert (error["parameter"], error["value"], error["line"]) == ("missing", None, 3)
    assert error["remedy"].startswith("--missing median replaces it")
    assert error["message"].endswith(error["remedy"])
    error = told("train", "a.svm", "--los", "hinge")[1]["error"]
    assert (error["parameter"], error["value"], error["remedy"]) == (None, None, None)


def test_labels_within_json_or_in_a_file(told, said):
    said("train", "t.csv")
    _, found = told("predict", "t.csv", "t.model", "--scores")
    assert found["labels"] == ["tall", "small", "tall", "small"]
    assert [score > 0 for (score,) in found["scores"]] == [True, False, True, False]
    assert (found["rows"], found["right"], found["accuracy"], found["out"]) == (4, 4, 1.0, None)
    _, found = told("predict", "t.csv", "t.model", "out.txt")
    assert (found["labels"], found["out"]) == (None, "out.txt")
    code, found = told("predict", "t.csv", "t.model", "-")
    assert code == 2
    assert "leave OUT out, or name a file" in found["error"]["message"]


def test_a_model_through_a_pipe(capfdbinary, folder, standard_input):
    from maxmargin.cli import main

    assert main(["train", "a.svm", "-"]) == 0
    content, said = capfdbinary.readouterr()
    assert b"certified " in said
    (folder / "p.model").write_bytes(content)
    assert load_model("p.model").classes.tolist() == [-1, 1]
    standard_input(content)
    assert main(["predict", "a.svm", "-", "-q"]) == 0
    assert capfdbinary.readouterr().out == b"1\n-1\n1\n-1\n"
    standard_input(b"nonsense")
    assert main(["predict", "a.svm", "-"]) == 2
    assert capfdbinary.readouterr().err == b"maxmargin: error: standard input: not a maxmargin model file\n"


def test_rows_from_the_standard_input(said, folder, standard_input):
    standard_input((folder / "t.csv").read_bytes())
    code, out, _ = said("train", "-", "t.model", "--format", "csv")
    assert code == 0
    assert out.startswith('read standard input: 4 rows, 2 columns; label "kind"')


def test_streams_that_cannot_be(said):
    for words, message in {
        "train -": "name the model file with -o MODEL",
        "train a.svm - --json": "cannot both go to the standard output",
        "train a.svm a.onnx": "then maxmargin convert MODEL a.onnx",
        "predict - -": "the standard input (-) can be read once only",
    }.items():
        code, _, err = said(*words.split())
        assert code == 2
        assert message in err


def test_numbers_that_json_lacks_are_null():
    import numpy as np

    value = {
        "a": np.float64("nan"),
        "b": np.array([1.0, np.inf]),
        "c": np.int64(3),
        "d": [float("-inf"), None],
    }
    assert (
        json.dumps(plain(value), allow_nan=False)
        == '{"a": null, "b": [1.0, null], "c": 3, "d": [null, null]}'
    )


def test_one_object_however_often_it_is_finished(capsys):
    console = Console(json=True, command="play")
    console.add_fields({"url": "x"})
    console.finish(0)
    console.finish(0)
    assert json.loads(capsys.readouterr().out)["url"] == "x"


def test_names_that_help_lists_are_those_of_the_library():
    assert tuple(settings.FORMATS) == FORMATS
    assert tuple(settings.MISSING_RULES) == MISSING_RULES


def test_the_guide_lists_commands_and_exit_codes():
    page = (Path(__file__).parents[2] / "docs" / "guides" / "command-line.md").read_text(encoding="utf-8")
    listed = [line for line in page.splitlines() if line.startswith("| `")]
    assert [name for name in COMMANDS if not any(f"`{name}" in line for line in listed)] == []
    for code, meaning in re.findall(r"^  (\d+) +(.*)$", EXIT_CODES, re.MULTILINE):
        told = next(line for line in page.splitlines() if line.startswith(f"| {code} | "))
        assert told.replace("`--tol` or `--within`", "--tol") == f"| {code} | {meaning} |"


# ---------------------------------------------------------------- control characters

RED, UP = "\x1b[31m", "\x1b]0;title\x07"
CONTROLS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e]")


@pytest.fixture
def coloured(folder):
    """A table whose name, column and label are obeyed by terminals, and a model of it."""
    name = f"t{RED}.csv"
    lines = [f"height{UP},kind\u202e", f"2,ta{RED}ll", "-1,sm\x9ball", f"1.5,ta{RED}ll", "-2,sm\x9ball"]
    (folder / name).write_text("\n".join(lines) + "\n")
    assert main(["train", name, f"m{RED}.model", "-q"]) == 0
    return name


@each_row(
    "words",
    [
        "train DATA -o x.model",
        "inspect DATA",
        "inspect MODEL",
        "evaluate MODEL DATA",
        "certify DATA MODEL",
        "loo DATA",
        "path DATA --C-min 0.1 --C-max 1 --tol 0.1",
        "convert DATA out\x1b[31m.npz",
        "report MODEL DATA -o out\x1b[31m.html",
        "train none\x1b[31m.csv",
        "train DATA --label \x1b[31m",
        "train DATA --label height",
        "train DATA --C \x1b[31m",
        "\x1b[31m",
    ],
)
def test_no_control_character_reaches_a_terminal(said, coloured, words):
    names = {"DATA": coloured, "MODEL": f"m{RED}.model"}
    _, out, err = said(*(names.get(word, word) for word in words.split(" ")))
    assert "\\x1b[31m" in out + err
    assert CONTROLS.findall(out + err) == []


def test_data_for_the_next_program_stay_as_they_are(said, coloured):
    code, out, err = said("predict", coloured, f"m{RED}.model")
    assert (code, out.splitlines()[0]) == (0, f"ta{RED}ll")
    assert CONTROLS.findall(err) == []


def test_labels_for_a_terminal_are_shown_and_not_obeyed(said, coloured, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    code, out, _ = said("predict", coloured, f"m{RED}.model", "--scores")
    assert code == 0
    assert out.startswith("label\tscore\nta\\x1b[31mll\t")


def test_json_has_the_labels_as_they_are(told, coloured):
    code, found = told("predict", coloured, f"m{RED}.model")
    assert (code, found["labels"][:2]) == (0, [f"ta{RED}ll", "sm\x9ball"])
    code, found = told("train", "none\x1b[31m.csv")
    assert (code, found["error"]["message"]) == (2, "none\x1b[31m.csv: no such file")
