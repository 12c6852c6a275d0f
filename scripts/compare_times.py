"""Time the same work with two installations of the package, turn by turn, and print the ratios.

``python scripts/compare_times.py BEFORE AFTER`` takes the Python programs of two environments in which the
package is installed, such as that of an older commit and ``.venv/bin/python``. Each runs in a process of its
own; one works while the other waits. ``--rounds`` repeats everything; the ratio is that of the medians.
Problems of real data need the folder that ``MAXMARGIN_DATA`` names and are left out without it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Work = Callable[[], Any]
REPEATED = 0.3  # seconds that quick work is repeated for, and the shortest time taken


def generated(n: int, d: int) -> tuple[Any, Any]:
    """Return rows of two overlapping classes."""
    random = np.random.default_rng(0)
    X = random.normal(size=(n, d))
    return X, np.where(X[:, : d // 2].sum(axis=1) + 3.0 * random.normal(size=n) > 0, 1, -1)


def works() -> dict[str, Callable[[], Work]]:
    """Return for each name what prepares the work and returns it."""
    import maxmargin as mm

    def fit(X: Any, y: Any, **settings: Any) -> Work:
        return lambda: mm.train(X, y, **settings)

    def shipped(name: str) -> tuple[Any, Any]:
        import sklearn.datasets

        return getattr(sklearn.datasets, f"load_{name}")(return_X_y=True)

    wide = generated(100_000, 50)
    few = generated(2_000, 20)
    found = {
        "breast cancer, hinge": lambda: fit(*shipped("breast_cancer")),
        "iris, one against the rest": lambda: fit(*shipped("iris"), loss="hinge"),
        "100,000 × 50, hinge": lambda: fit(*wide, C=0.1),
        "100,000 × 50, logistic": lambda: fit(*wide, loss="logistic"),
        "100,000 × 50, squared hinge": lambda: fit(*wide, loss="squared_hinge"),
        "2,000 × 20, path": lambda: lambda: mm.regularization_path(*few),
        "2,000 × 20, leave-one-out": lambda: lambda: mm.leave_one_out(mm.train(*few), *few),
        "2,000 × 20, five folds": lambda: lambda: mm.LinearSVMCV(cv=5).fit(*few),
        "2,000 × 20, calibrated": lambda: fit(*few, calibrate="sigmoid"),
        "2,000 × 20, least absolute": lambda: lambda: mm.LeastAbsoluteClassifier().fit(*few),
        "2,000 × 20, perceptron": lambda: lambda: mm.Perceptron(max_passes=20).fit(*few),
        "digits, predict": lambda: predicting(*shipped("digits")),
    }

    def predicting(X: Any, y: Any) -> Work:
        model = mm.train(X, y)
        rows = np.tile(X, (20, 1))
        return lambda: model.predict(rows)

    folder = os.environ.get("MAXMARGIN_DATA")
    if folder:
        sys.path.insert(0, folder)
        from load import task

        found |= {
            "a9a, hinge": lambda: fit(*task("a9a")),
            "covtype, logistic": lambda: fit(*task("covtype"), loss="logistic"),
            "imdb, hinge": lambda: fit(*task("imdb")),
            "imdb, logistic": lambda: fit(*task("imdb"), loss="logistic"),
        }
    return found


def serve() -> None:
    """Answer each name on the input with the seconds that its work takes."""
    warnings.simplefilter("ignore")
    table = works()
    print("\n".join(table), end="\n\n", flush=True)
    ready: dict[str, Work] = {}
    for line in sys.stdin:
        name = line.strip()
        if name not in ready:
            ready[name] = table[name]()
            ready[name]()
        taken: list[float] = []
        while sum(taken) < REPEATED:
            began = time.perf_counter()
            ready[name]()
            taken.append(time.perf_counter() - began)
        print(min(taken), flush=True)


class Installation:
    """A process with one of the two packages."""

    def __init__(self, python: str) -> None:
        command = [python, str(Path(__file__).resolve()), "--serve"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self.names = list(iter(self._line, ""))

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def seconds(self, name: str) -> float:
        """Return how long the work of that name takes."""
        assert self.process.stdin is not None
        self.process.stdin.write(name + "\n")
        return float(self._line())


def main() -> None:
    """Compare two installations, or be one of them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("pythons", nargs="*", metavar="PYTHON", help="of the two environments")
    parser.add_argument("--rounds", type=int, default=7, help="default: %(default)s")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return
    if len(options.pythons) != 2:
        parser.error("give the Python programs of two environments")
    before, after = (Installation(python) for python in options.pythons)
    print(f"{'work':32} {'before':>11} {'after':>11}   after ÷ before")
    ratios = []
    for name in after.names:
        times: tuple[list[float], list[float]] = ([], [])
        for turn in range(options.rounds):
            for k in (0, 1) if turn % 2 == 0 else (1, 0):
                times[k].append((before, after)[k].seconds(name))
        first, second = (statistics.median(taken) for taken in times)
        ratios.append(second / first)
        print(f"{name:32} {1e3 * first:8.2f} ms {1e3 * second:8.2f} ms   {ratios[-1]:.2f}", flush=True)
    print(f"geometric mean {statistics.geometric_mean(ratios):.3f}, largest {max(ratios):.2f}")


if __name__ == "__main__":
    main()
