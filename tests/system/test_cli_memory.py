"""``maxmargin train --memory``: rows stored once, a fit within a limit, and the same model after a kill."""

import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from covering import each_row

from maxmargin import load_data, load_model, save_data
from maxmargin.datasets import iris
from maxmargin.io.settings import ReadSettings
from maxmargin.io.stored_copy import stored_copy

CELLS = Path(__file__).parents[1] / "data" / "breast_cancer.csv"


@pytest.fixture
def cells(folder):
    shutil.copy(CELLS, folder / "cells.csv")
    return folder / "cells.csv"


def test_rows_are_stored_once_and_the_model_is_that_of_the_file(said, cells):
    code, out, err = said("train", "cells.csv", "--memory", "20GB")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "storing the rows of cells.csv in cells.csv.maxmargin-rows",
        "rows of cells.csv stored in cells.csv.maxmargin-rows: 569 rows, 30 columns on disk; "
        "classes benign, malignant",
        'label guessed: column "diagnosis", the last one; --label names another',
        "memory: at most 20 GB, with the per-row arrays on disk",
        "plan: semismooth Newton (far more rows than columns, so one 31 × 31 system per step; rows read from "
        "disk), hinge loss, C = 1, to 0.01 % of the optimum",
        *said("train", "cells.csv", "whole.model")[1].splitlines()[3:4],
        "training accuracy 96.3 %, margin width 0.323",
        "wrote cells.model",
    ]
    ours, theirs = load_model("cells.model"), load_model("whole.model")
    np.testing.assert_array_equal(ours.coef, theirs.coef)
    for name in ("feature_names", "label", "scheme", "encoding", "loss", "C"):
        assert getattr(ours, name) == getattr(theirs, name)
    _, out, _ = said("train", "cells.csv", "--memory", "20GB", "-o", "again.model")
    assert out.startswith("rows of cells.csv are already stored in cells.csv.maxmargin-rows: 569 rows")
    assert Path("again.model").read_bytes() == Path("cells.model").read_bytes()
    assert said("evaluate", "cells.model", "cells.csv")[0] == 0


def test_machines_are_told_the_same(told, cells):
    code, stored = told("train", "cells.csv", "--memory", "20GB", "--class-weight", "balanced")
    _, whole = told("train", "cells.csv", "--class-weight", "balanced")
    assert code == 0
    del whole["data"]["skipped"]
    for name in ("data", "loss", "C", "certificate", "iterations", "margin", "training", "status"):
        assert stored[name] == whole[name], name
    assert stored["stored"]["reused"] is False
    assert stored["memory"]["limit"] == 20 * 10**9
    assert stored["memory"]["needed"] < 20 * 10**9


def test_tables_with_text_and_a_folder_for_the_rows(said, folder):
    frame = pd.DataFrame({"age": np.arange(60), "town": ["Rome", "Oslo", "Bern"] * 20})
    frame["rich"] = np.where(frame["age"] + 20 * (frame["town"] == "Oslo") > 40, "yes", "no")
    frame.to_csv("people.csv", index=False)
    Path("copies").mkdir()
    settings = ("--memory", "20GB", "--cache-folder", "copies", "--category", "age")
    code, out, _ = said("train", "people.csv", *settings)
    assert code == 0
    assert "columns: 0 columns of numbers, 2 of categories (63 features)\n" in out
    assert load_model("people.model").encoding == load_data("people.csv", categories=["age"]).encoding
    assert "already stored" in said("train", "people.csv", *settings)[1]
    assert not list(Path().glob("people.csv*.maxmargin-rows"))
    (rows,) = Path("copies").iterdir()
    for limit in (("--memory", "20GB"), ()):  # stored rows need no limit
        assert said("train", rows, *limit, "-o", "again.model")[0] == 0
        assert Path("again.model").read_bytes() == Path("people.model").read_bytes()
    code, _, err = said("train", rows, "--C", "auto", "-o", "again.model")
    assert (code, "stored rows do not work with --C auto" in err) == (2, True)


def test_all_classes_at_once(said, folder):
    save_data(iris(), "iris.csv")
    settings = ("--multi-class", "crammer-singer", "--C", "0.1")
    code, out, _ = said("train", "iris.csv", "--memory", "20GB", *settings)
    assert code == 0
    assert "memory: at most 20 GB, with the per-row arrays on disk\n" in out
    assert "semismooth Newton (one 15 × 15 system per step is cheap; rows read from disk)" in out
    said("train", "iris.csv", "whole.model", *settings)
    np.testing.assert_array_equal(load_model("iris.model").coef, load_model("whole.model").coef)


@each_row(
    ("options", "message"),
    [
        (["--memory", "much"], 'an amount with its unit, such as 500MB, 1.5GiB or 64M; found "much"'),
        (["--memory", "500"], 'such as 500MB, 1.5GiB or 64M; found "500"'),
        (["--memory", "20GB", "--C", "auto"], "--memory does not work with --C auto"),
        (["--memory", "20GB", "--calibrate", "sigmoid"], "--loss logistic has probabilities of its own"),
        (["--memory", "20GB", "--C", "inf"], "a fit without a regulariser"),
        (["--memory", "20GB", "--lam", "0"], "a fit without a regulariser"),
        (["--memory", "20GB", "--dask", "tcp://127.0.0.1:1"], "leave one of them out"),
        (["--memory", "1MB"], "--memory 1.0 MB is too little: storing rows takes"),
        (["--memory", "20GB", "--cache-folder", "nowhere"], "there is no such folder"),
        (["--memory", "20GB", "--label", "diagnosys"], 'did you mean "diagnosis"?'),
    ],
)
def test_what_does_not_go_with_it_is_refused(said, cells, options, message):
    code, _, err = said("train", "cells.csv", *options)
    assert code == 2
    assert message in " ".join(err.split())
    assert sorted(path.name for path in cells.parent.iterdir()) == ["a.svm", "cells.csv", "t.csv"]


def test_too_little_for_the_fit_says_the_figure(said, cells):
    said("train", "cells.csv", "--memory", "20GB", "-q")
    code, _, err = said("train", "cells.csv", "--memory", "1MB")
    assert code == 2
    told = " ".join(err.split())
    assert "--memory 1.0 MB is too little for 569 rows of 30 columns on disk: a fit holds" in told


def test_the_standard_input_is_refused(said, folder):
    code, _, err = said("train", "-", "x.model", "--memory", "20GB")
    assert code == 2
    assert "does not work with the standard input" in " ".join(err.split())


def test_a_missed_goal_and_one_class(said, cells, folder):
    effort = ("--max-iter", "1", "--solver", "interior_point")
    code, _, err = said("train", "cells.csv", "--memory", "20GB", *effort)
    assert code == 1
    assert "or raise --max-iter" in " ".join(err.split())
    Path("one.csv").write_text("a,y\n1,0\n2,0\n")
    code, _, err = said("train", "one.csv", "--memory", "20GB")
    assert code == 2
    assert "one.csv has one class only (0)" in " ".join(err.split())


# ---------------------------------------------------------------- processes


def table(path, n_rows, n_columns, times=1):
    """Write a table, its rows repeated so many times: making other ones takes longer than all the rest."""
    random = np.random.default_rng(3)
    X = random.normal(size=(n_rows, n_columns)).round(4)
    frame = pd.DataFrame(X, columns=[f"c{k}" for k in range(n_columns)])
    frame["town"] = random.choice(["Rome", "Oslo"], n_rows)
    frame["y"] = np.where(X[:, 0] + random.normal(size=n_rows) > 0, "yes", "no")
    header, rows = frame.to_csv(index=False).split("\n", 1)
    path.write_text(f"{header}\n{times * rows}")


def training(path, model):
    command = [sys.executable, "-m", "maxmargin", "train", path, model, "--memory", "500MB", "-q"]
    options = ["--C", "1e-3", "--tol", "1e-9", "--solver", "interior_point"]
    return subprocess.Popen([str(word) for word in command + options])


def progress_of(folder):
    """How much there is of drafts and journals."""
    found = [*folder.glob(".*.part/*"), *folder.glob("*.maxmargin-rows/fits/*/passes")]
    return sum(path.stat().st_size for path in found if path.exists())


@pytest.mark.slow
def test_kill_9_while_it_stores_and_while_it_fits(tmp_path):
    path = tmp_path / "t.csv"
    table(path, 30_000, 15)
    assert training(path, tmp_path / "calm.model").wait() == 0
    shutil.rmtree(tmp_path / "t.csv.maxmargin-rows")
    kills = 0
    for growth in (1, 1, 20_000):  # the first time it stores, then it fits
        had_rows = (tmp_path / "t.csv.maxmargin-rows").exists()
        reached = progress_of(tmp_path) + growth if had_rows else growth
        process = training(path, tmp_path / "killed.model")
        while process.poll() is None and progress_of(tmp_path) < reached:
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        kills += process.wait() == -signal.SIGKILL
        if not had_rows and not (tmp_path / "t.csv.maxmargin-rows").exists():
            stored_copy(path, ReadSettings())
    assert kills == 3
    assert training(path, tmp_path / "killed.model").wait() == 0
    assert (tmp_path / "killed.model").read_bytes() == (tmp_path / "calm.model").read_bytes()
    assert not list(tmp_path.glob(".*"))


LIMITED = """
    import resource, sys
    import numpy as np, scipy.sparse
    from maxmargin import LinearClassifier
    import maxmargin.io.store, maxmargin.io.stored_copy, maxmargin.io.memory
    from maxmargin.cli import main

    LinearClassifier(loss="logistic").fit(np.eye(2), [0, 1])  # so that all is imported
    LinearClassifier(solver="semismooth_newton").fit(np.eye(2), [0, 1])
    lines = dict(line.split(":") for line in open("/proc/self/status"))
    limit = 1024 * int(lines["VmData"].split()[0]) + (48 << 20)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="RLIMIT_DATA is Linux's")
def test_a_file_that_does_not_fit_is_trained_within_the_limit(tmp_path):
    """48 MB beyond what the process holds, by the operating system; the table in memory takes more."""
    path = tmp_path / "t.csv"
    table(path, 3_500, 60, times=20)

    def run(*options):
        command = [sys.executable, "-c", textwrap.dedent(LIMITED), "train", path, "-o", tmp_path / "t.model"]
        words = [str(word) for word in (*command, *options)]
        return subprocess.run(words, capture_output=True, text=True, check=False)

    whole = run()
    assert whole.returncode == 2
    assert "not enough memory for these data; --memory SIZE reads them" in " ".join(whole.stderr.split())
    for loss in ("logistic", "hinge"):
        done = run("--memory", "250MB", "--loss", loss, "--tol", "1e-3")
        assert done.returncode == 0, done.stderr
        assert "training accuracy" in done.stdout
    assert load_model(tmp_path / "t.model").certificate.relative_gap <= 1e-3


@pytest.mark.slow
def test_ctrl_c_keeps_the_best_model(tmp_path):
    path = tmp_path / "t.csv"
    table(path, 3_000, 60, times=40)
    stored_copy(path, ReadSettings())
    command = [sys.executable, "-m", "maxmargin", "train", path, tmp_path / "t.model", "--memory", "500MB"]
    goal = ["--tol", "1e-15", "--solver", "interior_point"]
    process = subprocess.Popen([str(word) for word in command + goal], stderr=subprocess.PIPE, text=True)
    while process.poll() is None and progress_of(tmp_path) < 200_000:
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)
    told = process.communicate()[1]
    assert process.returncode == 130, told
    assert "interrupted: this is the best model so far" in told
    model = load_model(tmp_path / "t.model")
    assert model.label == "y"
    assert 1e-15 < model.certificate.relative_gap < np.inf
