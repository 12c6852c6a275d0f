"""The command line as a program of its own: what it loads, Ctrl-C, pipes and terminals."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from covering import every_value

from maxmargin import load_model, save_data
from maxmargin.data import Data
from maxmargin.errors import InvalidInput
from maxmargin.solvers.choose import SOLVERS

pytestmark = pytest.mark.usefixtures("folder")

CELLS = Path(__file__).parents[1] / "data" / "breast_cancer.csv"
ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


@pytest.fixture
def usual_signals():
    """Signals that end a program do so, also where the tests were started to outlive them."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in ENDING}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def python(*arguments, **settings):
    """Run another Python; return what it said."""
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=300, check=False, **settings
    )


def test_python_m_maxmargin():
    done = python("-m", "maxmargin", "train", "a.svm")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("wrote a.model\n")
    done = python("-m", "maxmargin", "train", "none.svm")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "maxmargin: error: none.svm: no such file\n"


def loaded_by(*arguments):
    """The packages that a command loads."""
    return {name.split(".")[0] for name in modules_loaded_by(*arguments)}


def modules_loaded_by(*arguments):
    """The modules that a command loads."""
    program = (
        "import sys, json, contextlib\n"
        "from maxmargin.cli import main\n"
        "with contextlib.redirect_stdout(sys.stderr), contextlib.suppress(SystemExit):\n"
        "    main(sys.argv[1:])\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    done = python("-c", program, *arguments)
    return set(json.loads(done.stdout))


def test_help_loads_next_to_nothing():
    loaded = loaded_by("--help") | loaded_by("train", "--help") | loaded_by("liblinear-train", "--help")
    assert "maxmargin" in loaded
    assert loaded.isdisjoint({"numpy", "scipy", "sklearn", "matplotlib", "pandas"})


@pytest.mark.parametrize(
    "words", ["train a.svm", "train a.svm --loss logistic", "train t.csv", "liblinear-train a.svm"]
)
def test_one_fit_waits_for_neither_scipy_nor_other_solvers(words):
    loaded = modules_loaded_by(*words.split())
    assert "maxmargin.fit.train" in loaded
    assert {"scipy", "sklearn", "pandas", "joblib"}.isdisjoint(name.split(".")[0] for name in loaded)
    assert "numpy.ma" not in loaded
    assert len(loaded & {f"maxmargin.solvers.{name}" for name in SOLVERS}) == 1


def test_training_and_predicting_load_no_scikit_learn():
    loaded = loaded_by("train", "a.svm") | loaded_by("train", "t.csv", "--C", "auto", "--Cs", "0.1,1")
    assert "numpy" in loaded
    loaded |= loaded_by("predict", "a.svm", "a.model")
    assert loaded.isdisjoint({"sklearn", "matplotlib", "pandas", "joblib"})


def test_no_other_command_loads_scikit_learn():
    program = (
        "import sys\n"
        "from maxmargin.cli import main\n"
        "for line in sys.argv[1:]:\n"
        "    assert main(line.split()) == 0, line\n"
        "    assert 'sklearn' not in sys.modules, line\n"
    )
    commands = (
        "train t.csv",
        "evaluate t.model t.csv --certify",
        "certify t.model t.csv",
        "path t.csv --C-min 0.1 --C-max 1 --tol 0.1 --cv 2",
        "loo t.csv",
        "inspect t.csv",
        "inspect t.model",
        "convert t.csv out.svm --number-labels",
        "convert t.model out.json",
        "completion zsh",
    )
    done = python("-c", program, *commands)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_terminal_without_umlauts_still_gets_its_model():
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = python("-m", "maxmargin", "train", "a.svm", env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert "classes \\u22121 (50 %), +1 (50 %)" in done.stdout


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pipes that close like this")
def test_a_reader_that_has_seen_enough_is_no_error(folder):
    X = np.zeros((60000, 1))
    save_data(
        Data(np.append(X, [[1.0]], axis=0), np.append(np.zeros(60000, dtype=int), 1)), folder / "long.csv"
    )
    python("-m", "maxmargin", "train", "long.csv", "--max-iter", "1")
    with subprocess.Popen(
        [sys.executable, "-m", "maxmargin", "predict", "long.csv", "long.model"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(timeout=300) == 141
        assert process.stderr.read() == ""


def shell(line):
    """Run a line in a shell that finds this Python as $PYTHON; return what it did."""
    return subprocess.run(
        ["sh", "-c", line],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "PYTHON": sys.executable},
    )


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a disk that is always full")
@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("train none.svm", 2),
        ("train a.svm --los hinge", 2),
        ("train a.svm --tol 1e-300 --max-iter 1 --solver gradient_descent", 1),
        ("train a.svm --json", 0),
        ("nothing", 2),
        ("", 2),
    ],
)
def test_the_code_stays_where_the_standard_error_cannot_be_written(words, code):
    assert shell(f'"$PYTHON" -m maxmargin {words} 2> /dev/full').returncode == code


COMMANDS_OF_THREADS = {
    "train": "train three.svm three.model --jobs 3",
    "search": "train three.svm three.model --C auto --Cs 0.1,1 --cv 2 --jobs 3",
    "calibrate": "train three.svm three.model --calibrate sigmoid --jobs 3",
}


@pytest.mark.parametrize("words", COMMANDS_OF_THREADS.values(), ids=COMMANDS_OF_THREADS)
def test_a_system_that_starts_no_thread_is_no_obstacle(said, folder, monkeypatch, words):
    lines = [f"{k % 3} 1:{k % 7} 2:{(k * k) % 5} 3:0.{k % 3}{'0' * 300}1\n" for k in range(900)]
    (folder / "three.svm").write_text("".join(lines))  # long enough for pieces to be handed out

    def result():
        code, out, err = said(*words.split())
        model = folder / "three.model"
        coef = load_model(model).coef.tobytes() if model.exists() else b""
        return code, re.sub(r"[\d.]+ s\b", "", out), re.sub(r"[\d.]+ s\b", "", err), coef

    calm, refused = result(), []

    def refuse(thread):
        refused.append(thread)
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("threading.Thread.start", refuse)
    assert result() == calm
    assert calm[0] == 0
    assert refused


class PressedWhileLoading:
    """Finds no module; Ctrl-C is pressed when it is asked for one of them."""

    def __init__(self, name):
        self.name = name

    def find_spec(self, name, path=None, target=None):
        if name != self.name:
            return
        signal.raise_signal(signal.SIGINT)  # which raises KeyboardInterrupt here
        raise AssertionError("nobody heard it")


def test_ctrl_c_while_the_program_is_loaded(said, monkeypatch):
    monkeypatch.setattr(sys, "meta_path", [PressedWhileLoading("maxmargin.cli.program"), *sys.meta_path])
    monkeypatch.delitem(sys.modules, "maxmargin.cli.program", raising=False)
    monkeypatch.delattr("maxmargin.cli.program", raising=False)
    assert said("train", "a.svm") == (130, "", "\nmaxmargin: interrupted\n")


def cannot_import(pressed):
    """Make of Ctrl-C what NumPy does while it is loaded."""
    raise ImportError("the C-extensions failed") from None


def cannot_make_a_class(pressed):
    """Make of Ctrl-C what Python does while it makes a class."""
    raise RuntimeError("Error calling __set_name__") from pressed


@pytest.mark.parametrize("make_of_it", [cannot_import, cannot_make_a_class])
def test_ctrl_c_of_which_somebody_makes_another_error(said, monkeypatch, make_of_it):
    def load(*_, **__):
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt as pressed:
            make_of_it(pressed)

    monkeypatch.setattr("maxmargin.io.load.load_rows", load)
    assert said("train", "a.svm") == (130, "", "\nmaxmargin: interrupted; nothing was written\n")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_after_the_end_of_a_command_is_no_traceback():
    program = (
        "import atexit, signal, sys\n"
        "from maxmargin.cli import run\n"
        "atexit.register(signal.raise_signal, signal.SIGINT)\n"
        "sys.exit(run())"
    )
    done = python("-c", program, "version")
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")
    assert done.stdout.startswith("maxmargin ")


def test_a_file_that_ctrl_c_left_open_is_no_news(said, monkeypatch):
    def load(*_, **__):
        warnings.warn("unclosed file", ResourceWarning, stacklevel=1)
        raise KeyboardInterrupt

    monkeypatch.setattr("maxmargin.io.load.load_rows", load)
    assert said("train", "a.svm") == (130, "", "\nmaxmargin: interrupted; nothing was written\n")


def test_an_import_error_without_ctrl_c_is_ours(said, monkeypatch):
    monkeypatch.setattr("maxmargin.io.load.load_rows", lambda *_, **__: cannot_import(None))
    assert said("train", "a.svm")[0] == 70


def test_ctrl_c_while_the_words_are_read(said, told, monkeypatch):
    def press(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("maxmargin.cli.program.parse_arguments", press)
    assert said("train", "a.svm") == (130, "", "\nmaxmargin: interrupted\n")
    assert told("train", "a.svm")[1]["error"]["kind"] == "KeyboardInterrupt"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a disk that is always full")
@pytest.mark.parametrize(
    "words",
    [
        "--help",
        "train --help",
        "--version",
        "train a.svm",
        "train a.svm --json",
        "train a.svm -",
        "inspect a.svm",
        "convert a.svm - --to csv",
    ],
)
def test_a_full_disk_is_a_sentence(folder, words):
    done = shell(f'"$PYTHON" -m maxmargin {words} > /dev/full')
    told = "maxmargin: error: the output cannot be written: No space left on device"
    is_there = words == "train a.svm --json"  # all other sentences come before the model is written
    assert (folder / "a.model").exists() == is_there
    assert done.stderr.splitlines()[-1] == told + ("; a.model was written before" if is_there else "")
    assert done.returncode == (74 if is_there else 2)
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs a shell that can close streams")
def test_closed_streams_are_no_mistake(folder):
    for stream in (">&-", "2>&-", "<&-"):
        done = shell(f'"$PYTHON" -m maxmargin train a.svm {stream}')
        assert (done.returncode, done.stderr) == (0, "")
        (folder / "a.model").unlink()
    done = shell('"$PYTHON" -m maxmargin train - a.model --format libsvm <&-')
    assert done.returncode == 2
    assert done.stderr.endswith("the file has no rows\n")


def start_endless_training():
    """Start a fit that nobody would wait for; return the process when it has begun."""
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "maxmargin",
            "train",
            str(CELLS),
            "--solver=dual_descent",  # the one that would be chosen is done in a moment
            "--C=1e6",
            "--tol=1e-13",
            f"--max-iter={10**12}",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    for line in process.stdout:
        if line.startswith("plan:"):
            return process
    raise AssertionError(process.stderr.read())


@pytest.mark.skipif(os.name == "nt", reason="Windows sends no SIGINT to another process")
def test_ctrl_c_keeps_the_best_model(folder):
    process = start_endless_training()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert err == "interrupted: this is the best model so far\n"
    assert re.search(r"(certified (within|at)|no bound above 0) .*after [\d,]+ iterations?\n", out)
    assert out.endswith("wrote breast_cancer.model\n")
    assert load_model(folder / "breast_cancer.model").interrupted
    assert sorted(os.listdir(folder)) == ["a.svm", "breast_cancer.model", "t.csv"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
@pytest.mark.usefixtures("usual_signals")
@pytest.mark.parametrize("number", ENDING)
def test_other_signals_keep_the_best_model_too(folder, number):
    process = start_endless_training()
    process.send_signal(number)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 128 + number
    assert err == "interrupted: this is the best model so far\n"
    assert load_model(folder / "breast_cancer.model").interrupted


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
@pytest.mark.usefixtures("usual_signals")
@every_value(number=ENDING, is_repeated=[False, True])
def test_a_signal_leaves_nothing_half_written(folder, number, is_repeated):
    save_data(Data(np.ones((200_000, 10)), np.arange(200_000) % 2), folder / "long.npz")
    before = sorted(os.listdir(folder))
    command = [sys.executable, "-m", "maxmargin", "convert", "long.npz", "long.csv.xz", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while not list(folder.glob(".*.part")):
            assert process.poll() is None
        process.send_signal(number)
        while is_repeated and process.poll() is None:  # until its very end
            process.send_signal(number)
        out, err = process.communicate(timeout=300)
    assert process.returncode == 128 + number
    assert err.endswith("\nmaxmargin: interrupted; nothing was written\n")
    assert json.loads(out)["exit_code"] == 128 + number
    assert sorted(os.listdir(folder)) == before


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
@pytest.mark.usefixtures("usual_signals")
def test_signals_are_taken_while_a_command_runs_unless_somebody_else_does(said, monkeypatch):
    seen = []

    def look(*_, **__):
        seen.append([signal.getsignal(number) for number in ENDING])
        raise InvalidInput("seen enough")

    monkeypatch.setattr("maxmargin.io.load.load_data", look)
    assert said("inspect", "a.svm")[0] == 2
    assert all(callable(handler) for handler in seen[0])
    assert [signal.getsignal(number) for number in ENDING] == [signal.SIG_DFL] * 2
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    assert said("inspect", "a.svm")[0] == 2
    assert callable(seen[1][0])
    assert seen[1][1] == signal.SIG_IGN == signal.getsignal(signal.SIGHUP)


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")
@pytest.mark.parametrize(
    "words",
    [
        ["train", "--C", "auto", "--cv", "loo", "--Cs", "2000"],
        ["train", "--C", "auto", "--cv", "5", "--Cs", "2000"],
        ["path", "--tol", "1e-8", "--C-max", "1e6"],
    ],
)
def test_ctrl_c_in_longer_work_keeps_what_there_is(folder, words):
    command, *options = words
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "maxmargin", command, str(CELLS), "-o", "kept", *options],
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
    )
    os.close(theirs)
    shown = b""
    while b" passes: within " not in shown:  # the live gap: it is at work
        shown += os.read(ours, 4096)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=300)
    os.close(ours)
    assert process.returncode == 130
    assert out.endswith("wrote kept\n")
    assert (folder / "kept").is_file()


def test_ctrl_c_before_the_fit_writes_nothing(said, folder, monkeypatch):
    def pressed(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("maxmargin.io.load.load_rows", pressed)
    code, out, err = said("train", "a.svm")
    assert (code, out) == (130, "")
    assert err == "\nmaxmargin: interrupted; nothing was written\n"
    assert not (folder / "a.model").exists()


def read_to_the_end(terminal):
    """Read while the other end is open: a terminal holds few letters, and whoever writes more has to wait."""
    parts = []
    with (
        os.fdopen(terminal, "rb", buffering=0) as stream,
        contextlib.suppress(OSError),
    ):  # Linux ends with one
        while part := stream.read(4096):
            parts.append(part)
    return b"".join(parts)


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")
def test_a_terminal_shows_the_live_gap():
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "maxmargin", "train", str(CELLS), "--max-iter=50"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        shown = read_to_the_end(ours).decode()
    assert process.returncode == 0
    assert re.search(r"\r[█░]+ +[\d.]+ s, \d+ passes: within .* of the optimum \(goal 0.01", shown)


@every_value(unbuffered=["", "1"], out=["-", "/dev/stdout"])
@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="there is no /dev/stdout")
def test_whoever_reads_a_little_of_what_is_converted_is_noticed(folder, unbuffered, out):
    save_data(Data(np.ones((20_000, 10)), np.arange(20_000) % 2), folder / "long.npz")
    command = [sys.executable, "-m", "maxmargin", "convert", "long.npz", out, "--to", "csv", "-q"]
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=environment, **pipes) as process:
        process.stdout.read(3)
        process.stdout.close()
        assert process.wait(timeout=300) == 141
        assert process.stderr.read() == b""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="there is no /dev/stdout")
def test_dev_stdout_is_the_output_also_where_it_is_a_pipe(folder):
    assert python("-m", "maxmargin", "train", "a.svm", "/dev/null").returncode == 0
    assert python("-m", "maxmargin", "liblinear-train", "-q", "a.svm").returncode == 0
    done = python("-m", "maxmargin", "liblinear-predict", "-q", "a.svm", "a.svm.model", "/dev/stdout")
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n-1\n1\n-1\n", "")
    with open("said", "w") as file:
        words = ["-m", "maxmargin", "liblinear-predict", "-q", "a.svm", "a.svm.model", "/dev/stdout"]
        subprocess.run([sys.executable, *words], stdout=file, timeout=300, check=True)
    assert Path("said").read_text() == "1\n-1\n1\n-1\n"
    assert not list(Path().glob(".*.part"))
