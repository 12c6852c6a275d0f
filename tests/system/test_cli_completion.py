"""``maxmargin completion``: what bash answers, and that every command and option is there for all shells."""

import argparse
import shutil
import subprocess

import pytest
from programs import path_of

from maxmargin.cli.commands.completion import SHELLS, described
from maxmargin.cli.program import COMMANDS, build_parser

needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


@pytest.fixture
def script(said):
    """The script for a shell."""

    def of(shell):
        code, out, err = said("completion", shell)
        assert (code, err) == (0, "")
        return out

    return of


@pytest.fixture
def completed(script, folder):
    """What bash would offer after these words, of which the last is being typed."""
    (folder / "c.bash").write_text(script("bash"))
    (folder / "my data.csv").write_text("")

    def words(*typed):
        program = (
            'source ./c.bash; COMP_WORDS=(maxmargin "$@"); COMP_CWORD=$#; _maxmargin; '
            "printf '%s\\n' \"${COMPREPLY[@]}\""
        )
        done = subprocess.run(
            ["bash", "--norc", "-c", program, "bash", *typed],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.stderr == ""
        return done.stdout.split("\n")[:-1]

    return words


@needs_bash
def test_bash_is_told_to_ask(script, folder):
    (folder / "c.bash").write_text(script("bash"))
    done = subprocess.run(
        ["bash", "--norc", "-c", "source ./c.bash && complete -p maxmargin"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "complete -F _maxmargin maxmargin\n")


@needs_bash
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["tr"], ["train"]),
        ([""], [*COMMANDS, "--help", "--version"]),
        (["train", "--lo"], ["--loss"]),
        (["train", "--loss", "s"], ["squared_hinge"]),
        (["train", "--loss", "=", "l"], ["logistic"]),
        (["train", "--loss", "="], ["hinge", "squared_hinge", "logistic"]),
        (["train", "--C", ""], ["auto"]),
        (["train", "--cv", "l"], ["loo"]),
        (["train", "--class-weight", "b"], ["balanced"]),
        (["certify", "--C", ""], [""]),
        (["train", "--tol", ""], [""]),
        (["train", "a"], ["a.svm"]),
        (["train", "my"], ["my data.csv"]),
        (["train", "a.svm", "-o", "t"], ["t.csv"]),
        (["train", "--cache-folder", "a"], ["a.svm"]),
        (["predict", "a.svm", "t"], ["t.csv"]),
        (["convert", "a.svm", "x", "--to", "li"], ["libsvm", "liblinear"]),
        (["completion", ""], list(SHELLS)),
        (["version", ""], [""]),
        (["version", "--j"], ["--json"]),
        (["liblinear-train", "-B"], ["-B"]),
        (["nonsense", "a"], [""]),
    ],
)
def test_bash_completes(completed, typed, offered):
    assert completed(*typed) == offered


@needs_bash
@pytest.mark.parametrize("command", COMMANDS)
def test_bash_knows_every_option(completed, command):
    offered = set(completed(command, "-"))
    choices = build_parser()._subparsers._group_actions[0].choices
    for action in choices[command]._actions:
        if action.option_strings and action.help != argparse.SUPPRESS:
            assert offered & set(action.option_strings)


@pytest.mark.parametrize("shell", SHELLS)
def test_every_command_and_choice_is_there(script, shell):
    text = script(shell)
    for command in described(build_parser()):
        assert command.name in text
        for option in command.options:
            assert all(word in text for word in option.words)


@pytest.mark.parametrize(("shell", "flag"), [("zsh", "-n"), ("fish", "--no-execute"), ("bash", "-n")])
def test_shells_accept_their_script(script, folder, shell, flag):
    program = path_of((shell,), shell, "MAXMARGIN_NEEDS_SHELLS")
    (folder / "script").write_text(script(shell))
    done = subprocess.run([program, flag, "script"], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_quotes_are_whole(script):
    for shell in ("zsh", "fish"):
        for line in script(shell).splitlines():
            bare = line.replace("'\\''", "").replace("\\'", "")
            assert bare.startswith("#") or bare.count("'") % 2 == 0


def test_the_script_for_machines(told):
    code, found = told("completion", "bash")
    assert (code, found["shell"]) == (0, "bash")
    assert found["script"].startswith("# Completion of maxmargin for bash")


def test_other_shells_are_refused(said):
    code, _, err = said("completion", "csh")
    assert code == 2
    assert "invalid choice: 'csh'" in err
