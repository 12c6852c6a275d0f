"""``maxmargin train --dask``: a running scheduler, a Parquet data set, and what happens without them."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np
import pytest
from covering import each_row
from reference.clusters import holding_passes, mortal_scheduler

from maxmargin import load_model

pytest.importorskip("distributed")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

from maxmargin.rows.dask import worker as dask_worker  # noqa: E402

pytestmark = pytest.mark.xdist_group("dask")


@pytest.fixture
def client(two_workers):
    return two_workers


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    random = np.random.default_rng(3)
    X = random.normal(size=(2000, 3))
    kind = np.where(X[:, 0] + random.normal(size=2000) > 0, "in", "out")
    folder = tmp_path_factory.mktemp("rows")
    columns = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "kind": kind}
    pq.write_table(pa.table(columns), folder / "part-0.parquet", row_group_size=500)
    return folder


def command(*words):
    return [sys.executable, "-m", "maxmargin", "train", *map(str, words)]


def run(*words, **settings):
    told = {"capture_output": True, "text": True, "timeout": 120, "check": False, **settings}
    return subprocess.run(command(*words), **told)


@contextmanager
def begun(*words, cwd, **settings):
    """Yield the program while it runs; it ends with the block."""
    told = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "cwd": cwd, **settings}
    with subprocess.Popen(command(*words), **told) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_until(is_so, process):
    while not is_so():
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)


def test_a_model_is_trained_on_the_cluster_and_written(client, rows, tmp_path):
    address = client.scheduler.address
    done = run(rows, "--dask", address, "--label", "kind", "--loss", "logistic", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert said[0] == f"connected to {address}: workers 2, threads 2"
    assert said[1].startswith("plan: ")
    assert "to 0.01 % of the optimum" in said[1]
    assert re.match(r"certified within (\S+ %|rounding \(\S+ %\)) of the optimum", said[2])
    model = load_model(tmp_path / f"{rows.name}.model")
    assert list(model.feature_names) == ["a", "b", "c"]
    assert model.certificate.relative_gap <= 1e-4
    assert set(client.run(lambda: len(dask_worker.state.blocks)).values()) == {0}


def test_machines_are_told_and_a_missed_goal_has_its_code(client, rows, tmp_path):
    words = ("--dask", client.scheduler.address, "--label", "kind", "--json", "-o", tmp_path / "one.model")
    done = run(rows, *words, "--max-iter", "1", "--tol", "1e-13")
    assert done.returncode == 1
    told = json.loads(done.stdout)
    assert told["dask"]["workers"] == 2
    assert told["out"] == str(tmp_path / "one.model")
    assert "--max-iter" in done.stderr


def test_time_that_is_over_before_the_rows_are_there_is_an_error(client, rows, tmp_path):
    words = ("--dask", client.scheduler.address, "--label", "kind", "-o", tmp_path / "one.model")
    done = run(rows, *words, "--max-time", "1e-9")
    assert done.returncode == 2
    assert "not loaded within --max-time" in done.stderr
    assert not (tmp_path / "one.model").exists()


def test_ctrl_c_keeps_the_best_model_and_leaves_nothing_running(client, rows, tmp_path):
    words = ("--dask", client.scheduler.address, "--label", "kind", "--tol", "1e-13", "-o", "best.model")
    with holding_passes(client) as is_held, begun(rows, *words, cwd=tmp_path) as process:
        wait_until(is_held, process)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "plan: " in said
    best = load_model(tmp_path / "best.model")
    assert best.certificate.bound > 0
    assert best.certificate.gap >= 0
    held = client.run(lambda: (len(dask_worker.state.blocks), len(dask_worker.state.running)))
    assert set(held.values()) == {(0, 0)}


@pytest.mark.slow
def test_a_scheduler_that_dies_is_told_and_the_best_model_written(rows, tmp_path):
    environment = {**os.environ, "DASK_MAXMARGIN__WORKER_TIMEOUT": "5 s"}
    with mortal_scheduler(tmp_path) as (client, kill_scheduler), holding_passes(client) as is_held:
        address = client.scheduler.address
        words = ("--dask", address, "--label", "kind", "--tol", "1e-13", "-o", "best.model")
        with begun(rows, *words, cwd=tmp_path, env=environment) as process:
            wait_until(is_held, process)
            kill_scheduler()
            said, told = process.communicate(timeout=120)
    assert process.returncode == 1, told
    assert f"Dask scheduler at {address}" in told
    assert "The best model so far is within " in told
    assert "exception" not in told
    assert all(line.startswith("maxmargin: warning: ") for line in told.splitlines())
    assert said.splitlines()[-1] == "wrote best.model"
    assert load_model(tmp_path / "best.model").certificate.bound > 0


@pytest.mark.slow
def test_a_worker_that_is_frozen_before_there_is_a_model_is_one_line(client, rows, tmp_path):
    environment = {**os.environ, "DASK_MAXMARGIN__WORKER_TIMEOUT": "1 s"}
    victim = next(iter(client.run(os.getpid).values()))
    os.kill(victim, signal.SIGSTOP)
    try:
        done = run(rows, "--dask", client.scheduler.address, "--label", "kind", cwd=tmp_path, env=environment)
    finally:
        os.kill(victim, signal.SIGCONT)
    assert done.returncode == 2
    *warned, refused = done.stderr.splitlines()
    assert all(re.match(r"maxmargin: warning: worker .* not responded", line) for line in warned)
    assert re.match(r"maxmargin: error: worker .*tcp://.* not responded for 1 s, .* stopped", refused)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_without_a_scheduler_it_says_so(rows, tmp_path):
    done = run(rows, "--dask", "tcp://127.0.0.1:9", cwd=tmp_path)
    assert done.returncode == 2
    assert "no Dask scheduler answered at tcp://127.0.0.1:9 within 5 s" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "address",
    [
        "here",
        pytest.param("tcp://here", marks=pytest.mark.slow),
        pytest.param("tcp://here:there", marks=pytest.mark.slow),
        "carrier://pigeon:1",
    ],
)
def test_what_is_no_address_is_one_line(rows, tmp_path, address):
    done = run(rows, "--dask", address, cwd=tmp_path)
    assert done.returncode == 2
    assert f"maxmargin: error: {address} is not an address such as tcp://host:8786: " in done.stderr
    assert done.stderr.count("\n") == 1


@each_row(
    ("words", "message"),
    [
        (("-", "-o", "a.model"), "not the standard input (-)"),
        (("rows", "--format", "csv"), "reads Parquet only"),
        (("rows", "--missing", "mean"), "--missing is for files that are read on this machine"),
        (("rows", "--C", "auto"), "--C auto leaves rows out"),
        (("rows", "--calibrate", "sigmoid"), "--calibrate leaves rows out"),
        (("rows", "--class-weight", "1=2"), "--class-weight must be balanced"),
    ],
)
def test_what_a_cluster_cannot_do_is_refused_before_it_is_asked(words, message, capsys):
    from maxmargin.cli import main

    assert main(["train", *words, "--dask", "tcp://127.0.0.1:9"]) == 2
    assert message in capsys.readouterr().err


def test_urls_stay_urls():
    from pathlib import Path

    from maxmargin.cli.commands.train import url_of

    assert url_of(Path("s3://bucket/rows")) == "s3://bucket/rows"
    assert url_of(Path("file:///tmp/rows")) == "file:///tmp/rows"
    assert url_of(Path("/tmp/rows")) == "/tmp/rows"
