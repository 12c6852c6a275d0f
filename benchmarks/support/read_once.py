"""One reader on one file of LIBSVM text, in a process of its own: seconds, memory, and what was read.

    python -m support.read_once '{"reader": "maxmargin", "path": ..., "threads": 2}'

Memory is how far the process grows while it reads: the peak of its resident memory, which is forgotten just
before, less what it has then. None of these readers maps the file, so that all of it is anonymous memory.
"""

from __future__ import annotations

import hashlib
import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["BINARY", "read_by_binary", "read_once"]

BINARY = "liblinear-train"


def read_once(cap: float, **settings: Any) -> dict[str, Any]:
    """Run this module and return what it measured; ended after the cap."""
    command = [sys.executable, "-m", "support.read_once", json.dumps(settings)]
    here = Path(__file__).parents[1]
    try:
        done = subprocess.run(command, cwd=here, check=True, capture_output=True, text=True, timeout=cap)
    except subprocess.TimeoutExpired:
        return {"failed": f"no result in {cap:g} s"}
    except subprocess.CalledProcessError as problem:
        return {"failed": problem.stderr.strip().splitlines()[-1]}
    return dict(json.loads(done.stdout.splitlines()[-1]))


def read_by_binary(path: Path, cap: float) -> dict[str, Any]:
    """Time LIBLINEAR's program until it speaks: after reading, and one look at the objective.

    Of its solvers this is the one that speaks first; it is ended there, so that no training is counted.
    """
    if shutil.which(BINARY) is None:
        return {"failed": f"not available: no {BINARY} (Debian: apt-get install liblinear-tools)"}
    began = time.perf_counter()
    with subprocess.Popen([BINARY, "-s", "2", str(path), os.devnull], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], cap)
        seconds = time.perf_counter() - began
        spoke = bool(ready) and bool(os.read(process.stdout.fileno(), 1))
        peak = resident("VmHWM", process.pid) if spoke else None
        process.kill()
    return {"seconds": seconds, "peak": peak} if spoke else {"failed": f"no word in {cap:g} s"}


def resident(name: str, pid: int | str = "self") -> int | None:
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        return None
    return 1024 * int(
        next(line for line in status.read_text().splitlines() if line.startswith(name)).split()[1]
    )


def by_maxmargin(path: str, threads: int) -> tuple[Any, Any]:
    from maxmargin import load_data

    data = load_data(path, format="libsvm", n_jobs=threads)
    return data.X, data.y


def by_scikit_learn(path: str, threads: int) -> tuple[Any, Any]:
    from sklearn.datasets import load_svmlight_file

    return load_svmlight_file(path)


def by_liblinear_package(path: str, threads: int) -> tuple[Any, Any]:
    from liblinear.liblinearutil import svm_read_problem

    y, X = svm_read_problem(path, return_scipy=True)
    return X, y


READERS = {
    "maxmargin": by_maxmargin,
    "scikit-learn": by_scikit_learn,
    "liblinear-official": by_liblinear_package,
}


def digest(X: Any, y: Any) -> str:
    """Return a number that two readers share exactly if they read the same bits."""
    found = hashlib.sha256()
    for array, kind in ((X.indptr, np.int64), (X.indices, np.int64), (X.data, np.float64), (y, np.float64)):
        found.update(np.ascontiguousarray(array, dtype=kind).data)
    return found.hexdigest()


def main() -> None:
    task = json.loads(sys.argv[1])
    read = READERS[task["reader"]]
    small = Path(task["path"]).with_suffix(".few")
    small.write_text("1 1:1\n-1 2:1\n" * 9)
    read(str(small), task["threads"])  # everything is imported and loaded
    can_measure = Path("/proc/self/clear_refs").exists()
    if can_measure:
        Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = resident("VmRSS")
    began, began_cpu = time.perf_counter(), time.process_time()
    X, y = read(task["path"], task["threads"])
    answer = {"seconds": time.perf_counter() - began, "cpu": time.process_time() - began_cpu}
    peak = resident("VmHWM")
    answer["peak"] = peak - before if can_measure and peak and before else None
    answer["result"] = sum(array.nbytes for array in (X.data, X.indices, X.indptr, np.asarray(y)))
    print(json.dumps({**answer, "shape": X.shape, "values": int(X.nnz), "digest": digest(X, y)}))


if __name__ == "__main__":
    main()
