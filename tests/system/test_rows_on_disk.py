"""Processes that fit to rows on disk: killed at any moment, and with little memory."""

import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

from maxmargin.io.store import store_batches
from maxmargin.losses.table import DUAL_LOSSES as LOSSES
from maxmargin.rows.disk.store import open_store

FIT = """
    import hashlib, sys
    from maxmargin import train
    model = train(sys.argv[1], C=1e-3, tol=1e-9, solver="interior_point", n_jobs=1)
    print(hashlib.sha256(model.coef.tobytes() + model.intercept.tobytes()).hexdigest())
"""


def fit_in_a_process(folder: Path) -> subprocess.Popen:
    command = [sys.executable, "-c", textwrap.dedent(FIT), str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def written(folder):
    """How much the journals of fits to these rows hold."""
    return sum(path.stat().st_size for path in (folder / "fits").glob("*/passes"))


def test_kill_9_at_any_moment(tmp_path):
    """Killed when its journal has grown by so much, again and again, it ends with the bits of a calm fit."""
    random = np.random.default_rng(3)
    X = random.normal(size=(30_000, 20))
    y = X[:, 0] + random.normal(size=30_000) > 0
    folder = tmp_path / "rows"
    store_batches([(X, y)], folder)
    calm = fit_in_a_process(folder).communicate()[0].strip()
    assert len(calm) == 64
    kills = 0
    for growth in (1, 20_000, 40_000):  # of some 200,000: on a busy machine it goes on for a while
        reached = written(folder) + growth
        process = fit_in_a_process(folder)
        while process.poll() is None and written(folder) < reached:
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        kills += process.returncode == -signal.SIGKILL
    assert kills == 3
    assert written(folder) > 0
    resumed = fit_in_a_process(folder).communicate()[0].strip()
    assert resumed == calm
    assert not list((folder / "fits").iterdir())


# ---------------------------------------------------------------- in little memory


LIMITED = """
    import resource, sys
    import numpy as np, scipy.sparse
    from maxmargin import LinearClassifier
    from maxmargin.io.store import StoreWriter

    def held():
        lines = dict(line.split(":") for line in open("/proc/self/status"))
        return 1024 * int(lines["VmData"].split()[0])

    for loss, solver in (("hinge", "semismooth_newton"), ("logistic", "newton")):  # so that all is imported
        LinearClassifier(loss=loss, solver=solver).fit(np.eye(2), [0, 1])
    limit = held() + (64 << 20)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    try:
        np.ones(70 << 20, dtype=np.uint8)
    except MemoryError:
        pass
    else:
        sys.exit("the limit does not hold")
"""

WRITE = """
    n, d = 750_000, 200
    random = np.random.default_rng(0)
    w = random.normal(size=d).astype(np.float32)
    with StoreWriter(sys.argv[1]) as writer:
        for _ in range(n // 10_000):
            X = random.standard_normal((10_000, d), dtype=np.float32)
            noise = 4 * random.standard_normal(10_000, dtype=np.float32)
            writer.add(X, X @ w + noise > 0)
"""

WRITE_SPARSE = """
    n, d, per_row = 380_000, 250, 25
    random = np.random.default_rng(0)
    w = random.normal(size=d).astype(np.float32)
    starts = np.arange(0, 10_000 * per_row + 1, per_row, dtype=np.int32)
    ten_apart = 10 * np.arange(per_row, dtype=np.int32)
    with StoreWriter(sys.argv[1]) as writer:
        for _ in range(n // 10_000):
            columns = (ten_apart + random.integers(0, 10, (10_000, per_row), dtype=np.int32)).ravel()
            values = random.standard_normal(len(columns), dtype=np.float32)
            X = scipy.sparse.csr_array((values, columns, starts), shape=(10_000, d))
            writer.add(X, X @ w + 4 * random.standard_normal(10_000, dtype=np.float32) > 0)
"""

FIT_EACH = """
    for loss in ("hinge", "squared_hinge", "logistic"):
        model = LinearClassifier(C=1e-3, loss=loss, tol=1e-3).fit(sys.argv[1])
        assert model.certificate_.relative_gap <= 1e-3
        print(loss, model.history_.passes[-1])
"""


def in_little_memory(work: str, folder: Path) -> list[str]:
    """Run a program that may hold 64 MB beyond what is imported, and return the lines it prints."""
    program = textwrap.dedent(LIMITED) + textwrap.dedent(work)
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="RLIMIT_DATA is Linux's")
@pytest.mark.parametrize(("write", "n_bytes"), [(WRITE, 600e6), (WRITE_SPARSE, 80e6)])
def test_rows_are_stored_and_fitted_in_64_mb(tmp_path, write, n_bytes):
    """The limit is the operating system's, beyond what the process holds when all is imported.

    Of the sparse rows 8 bytes for each value, which SciPy would take to choose some of them, break it alone.
    """
    assert in_little_memory(write, tmp_path / "rows") == []
    assert len(in_little_memory(FIT_EACH, tmp_path / "rows")) == len(LOSSES)
    assert open_store(tmp_path / "rows").n_bytes > n_bytes
