"""What the tests of the command line share: a folder with small files, and a way to run a command in it."""

import io
import json

import pytest

from maxmargin.cli import main

LIBSVM = "+1 1:2 3:1\n-1 1:-1 2:0.5\n+1 1:1.5\n-1 1:-2 3:-0.5\n"
TABLE = "height,width,kind\n2,0,tall\n-1,0.5,small\n1.5,0.2,tall\n-2,-0.5,small\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with a.svm and t.csv in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.svm").write_text(LIBSVM)
    (tmp_path / "t.csv").write_text(TABLE)
    return tmp_path


@pytest.fixture
def said(capsys, folder):
    """Run a command in this process; return exit code, standard output and standard error."""

    def run(*arguments):
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as end:  # argparse ends by itself
            code = end.code
        output = capsys.readouterr()
        return code, output.out, output.err

    return run


@pytest.fixture
def told(said):
    """Run a command with --json; return exit code and the one object on the standard output."""

    def run(*arguments):
        code, out, _ = said(*arguments, "--json")
        assert out.count("\n") == 1
        found = json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
        assert found["exit_code"] == code
        assert found["command"] == arguments[0]
        return code, found

    return run


@pytest.fixture
def standard_input(monkeypatch):
    """Put bytes into the standard input."""

    def put(content):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))

    return put
