"""The two programs of `benchmarks/file_to_model.py`, as processes whose file is not in the cache."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from maxmargin import load_model
from support.read_once import BINARY, read_by_binary

__all__ = ["Programs"]

# Run by a process of its own, with the arguments of maxmargin: how long reading and fitting take.
STAGES = """
import json, sys, time
from maxmargin.cli import main
import maxmargin.io.load as load
import maxmargin.fit.train as training
spent = {}

def timed(function, name):
    def run(*given, **settings):
        began = time.perf_counter()
        try:
            return function(*given, **settings)
        finally:
            spent[name] = time.perf_counter() - began
    return run

load.load_rows = timed(load.load_rows, "reading")
training.fit_linear = timed(training.fit_linear, "fitting")
began = time.perf_counter()
main(sys.argv[1:])
print(json.dumps({**spent, "main": time.perf_counter() - began}))
"""


class Programs:
    """Commands for one file, loss and accuracy; models and bytecode lie beside the file."""

    def __init__(self, path: Path, loss: str, target: float, cap: float) -> None:
        self.path, self.loss, self.target, self.cap = path, loss, target, cap
        self._model, self._bytecode = str(path.with_name("out.model")), path.with_name("bytecode")
        if not self._bytecode.exists():
            self.seconds(self.ours())  # leaves bytecode and the libraries in the cache
        self.first_seconds = self.seconds(self.ours())
        self.gap = self._certified_gap()

    # ------------------------------------------------------------ commands

    def ours(self, *, offset: bool = False, cores: int | None = None) -> list[str]:
        pinned = [] if cores is None else ["taskset", "-c", ",".join(map(str, range(cores)))]
        return [*pinned, sys.executable, "-m", "maxmargin", *self._arguments(offset)]

    def _arguments(self, offset: bool = False) -> list[str]:
        problem = ["--loss", self.loss, "--C", "1", "--tol", f"{self.target:g}"]
        problem += [] if offset else ["--no-intercept"]
        return ["train", str(self.path), *problem, "--quiet", "-o", self._model]

    def liblinear(self, s: int, e: float) -> list[str]:
        return [BINARY, "-s", str(s), "-c", "1", "-e", f"{e:g}", "-q", str(self.path), self._model]

    # ------------------------------------------------------------ runs

    def seconds(self, command: list[str], limit: float | None = None) -> float:
        """Return the time of a whole process that finds the file on the disk only."""
        return self._run(command, limit)[0]

    def _run(self, command: list[str], limit: float | None = None) -> tuple[float, str]:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(self._bytecode)}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        forget(self.path)
        began = time.perf_counter()
        done = subprocess.run(
            command, env=environment, check=True, capture_output=True, text=True, timeout=limit or self.cap
        )
        return time.perf_counter() - began, done.stdout

    def try_liblinear(self, s: int, e: float, limit: float) -> tuple[float, np.ndarray] | None:
        """Return the time and the weights, None where the program is not there or not in time."""
        if shutil.which(BINARY) is None:
            return None
        try:
            spent = self.seconds(self.liblinear(s, e), limit)
        except subprocess.TimeoutExpired:
            return None
        return spent, load_model(self._model).coef[0]

    def _certified_gap(self) -> float:
        """Return what maxmargin's own model file says of itself, which must be what was asked for."""
        proof = load_model(self._model).certificate
        if proof is None or proof.relative_gap > self.target:
            raise SystemExit(f"maxmargin train missed its goal: {proof}")
        return float(proof.relative_gap)

    def stages(self, rounds: int) -> dict[str, float]:
        """Return where maxmargin's time goes: medians of start-up, reading, fitting and the rest."""
        found = []
        for _ in range(rounds):
            total, said = self._run([sys.executable, "-c", STAGES, *self._arguments()])
            spent = json.loads(said)
            rest = spent["main"] - spent["reading"] - spent["fitting"]
            found.append((total - spent["main"], spent["reading"], spent["fitting"], rest))
        names = ("start-up", "reading", "fitting", "the rest")
        return dict(zip(names, np.median(found, axis=0).tolist(), strict=True))

    def reading_of_liblinear(self, rounds: int) -> float | None:
        """Return the time until LIBLINEAR's first word, None where it is not there."""
        spent = []
        for _ in range(rounds):
            forget(self.path)
            spent.append(read_by_binary(self.path, self.cap).get("seconds"))
        return None if None in spent else float(np.median(spent))


def forget(path: Path) -> None:
    """Have the system write a file to the disk and drop it from its cache."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
