"""Learning from one example at a time: how many a second, beside scikit-learn and Vowpal Wabbit?

    python benchmarks/online.py            # imdb and covtype; writes results/
    python benchmarks/online.py --short    # small generated rows; prints only

Everyone makes the same passes over the same rows in single precision, in a new random order in every pass
(maxmargin: groups of 16 neighbours at random, mixed 64 groups at a time; Vowpal Wabbit: one random order,
from its cache), with the same losses and step sizes; nobody stops early.
Times are medians of CPU seconds of the whole fit, checks of the data included, over rounds in turn;
building and caching the rows is not counted. The accuracy is that on the training rows after the last
step: it differs between libraries as it differs between two seeds, and says that they do the same work.
`HingeSGD` measures the empirical risk once, at the end; `Perceptron` counts the errors of its answer.
"""

from __future__ import annotations

import importlib.util
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import Perceptron as TheirPerceptron
from sklearn.linear_model import SGDClassifier
from support import has_folder, task
from support.contest_script import folder_for, options_of, say_what_data
from support.generated import covtype_like, sparse_binary
from support.pictures import plain_axis, pyplot
from support.problems import covtype
from support.report import Page, markdown, seconds_text

from maxmargin import HingeSGD, LogisticSGD, Pegasos, Perceptron

STEM, TITLE = "online", "One example at a time"
LAM, STEP = 1e-5, 0.1

VW_LOSSES = {"hinge SGD": "hinge --noconstant", "logistic SGD": "logistic"}
METHODS = ("perceptron", "Pegasos", "hinge SGD", "logistic SGD")


def problems(short: bool, has_data: bool) -> Iterator[tuple[str, Any, Any]]:
    """Yield name, rows in single precision, labels."""
    if has_data and not short:
        made = {"imdb": lambda: task("imdb"), "covtype": covtype}
    else:
        share = 50 if short else 1
        made = {
            "generated, like a9a": lambda: sparse_binary(32_561 // min(share, 5)),
            "generated, like covtype": lambda: covtype_like(581_012 // share),
        }
    for name, make in made.items():
        X, y = make()
        yield name, X.astype(np.float32), y


# ---------------------------------------------------------------- entrants


def ours(method: str, passes: int, n_rows: int) -> Any:
    shared = {"max_passes": passes, "shuffle": True}
    return {
        "perceptron": lambda: Perceptron(**shared),
        "Pegasos": lambda: Pegasos(LAM, step="1/(lam t)", **shared),
        "hinge SGD": lambda: HingeSGD(step=STEP, evaluate_every=passes * n_rows, **shared),
        "logistic SGD": lambda: LogisticSGD(step=STEP, **shared),
    }[method]()


def theirs(method: str, passes: int) -> Any:
    shared = {"max_iter": passes, "tol": None, "shuffle": True, "random_state": 0}
    constant = {"penalty": None, "learning_rate": "constant", "eta0": STEP, **shared}
    return {
        "perceptron": lambda: TheirPerceptron(**shared),
        "Pegasos": lambda: SGDClassifier(loss="hinge", alpha=LAM, fit_intercept=False, **shared),
        "hinge SGD": lambda: SGDClassifier(loss="hinge", fit_intercept=False, **constant),
        "logistic SGD": lambda: SGDClassifier(loss="log_loss", **constant),
    }[method]()


class VowpalWabbit:
    """Plain SGD of Vowpal Wabbit, from a cache that is made beforehand."""

    def __init__(self, method: str, passes: int, text: Path) -> None:
        self.text, self.passes = text, passes
        self.settings = (
            f"--quiet --sgd -l {STEP} --power_t 0 --holdout_off --loss_function {VW_LOSSES[method]}"
        )

    def fit(self, X: Any, y: np.ndarray) -> None:
        model = self._run(
            f"{self.settings} --passes {self.passes} -d {self.text} --cache_file {self.text}.cache"
        )
        self.weights = f"{self.text}.model"
        model.save(self.weights)
        model.finish()

    def score(self, X: Any, y: np.ndarray) -> float:
        predictions = f"{self.text}.predictions"
        self._run(f"--quiet -t -i {self.weights} -d {self.text} -p {predictions}").finish()
        return float(np.mean((np.loadtxt(predictions) >= 0) == (y[order_of_text(len(y))] > 0)))

    def _run(self, settings: str) -> Any:
        from vowpalwabbit import Workspace

        return Workspace(settings)


def order_of_text(n_rows: int) -> np.ndarray:
    """Return the order in which Vowpal Wabbit gets the rows: it does not shuffle, labels may be sorted."""
    return np.random.default_rng(0).permutation(n_rows)


def write_text(X: Any, y: np.ndarray, path: Path) -> None:
    """Write the rows as Vowpal Wabbit reads them."""
    with path.open("w") as file:
        for i in order_of_text(X.shape[0]):
            if hasattr(X, "indptr"):
                at = slice(X.indptr[i], X.indptr[i + 1])
                columns, values = X.indices[at], X.data[at]
            else:
                columns = np.flatnonzero(X[i])
                values = X[i, columns]
            pairs = " ".join(f"{j}:{value:.9g}" for j, value in zip(columns, values, strict=True))
            file.write(f"{int(y[i])} | {pairs}\n")


# ---------------------------------------------------------------- measuring


def measure(fit: Callable[[], Any]) -> float:
    start = time.process_time()
    fit()
    return time.process_time() - start


def compare(
    X: Any, y: np.ndarray, method: str, entrants: dict[str, Any], rounds: int
) -> list[dict[str, Any]]:
    """Return a line for each entrant: medians over rounds in which everyone runs in turn."""
    spent: dict[str, list[float]] = {title: [] for title in entrants}
    for _ in range(rounds):
        for title, entrant in entrants.items():
            spent[title].append(measure(lambda entrant=entrant: entrant.fit(X, y)))
    return [
        {
            "method": method,
            "title": title,
            "seconds": statistics.median(spent[title]),
            "accuracy": float(entrant.score(X, y)),
        }
        for title, entrant in entrants.items()
    ]


def contest(name: str, X: Any, y: np.ndarray, passes: int, rounds: int, folder: Path) -> list[dict[str, Any]]:
    has_vw = importlib.util.find_spec("vowpalwabbit") is not None
    text = folder / "rows.txt"
    if has_vw:
        write_text(X, y, text)
        VowpalWabbit("hinge SGD", 2, text).fit(X, y)  # makes the cache
    lines = []
    for method in METHODS:
        entrants = {"maxmargin": ours(method, passes, X.shape[0]), "scikit-learn": theirs(method, passes)}
        if has_vw and method in VW_LOSSES:
            entrants["Vowpal Wabbit"] = VowpalWabbit(method, passes, text)
        found = compare(X, y, method, entrants, rounds)
        own = found[0]["seconds"]
        for line in found:
            speed = passes * X.shape[0] / line["seconds"]
            lines.append(
                {"task": name, "passes": passes, "per_second": speed, "ratio": line["seconds"] / own, **line}
            )
            print(markdown((), [row_of(lines[-1])]).splitlines()[-1], flush=True)
        if not has_vw and method in VW_LOSSES:
            lines.append({"task": name, "method": method, "title": "Vowpal Wabbit", "seconds": None})
            print(markdown((), [row_of(lines[-1])]).splitlines()[-1], flush=True)
    return lines


TITLES = ("task", "method", "library", "passes", "CPU time", "examples a second", "÷ ours", "accuracy")


def row_of(line: dict[str, Any]) -> list[str]:
    start = [line["task"], line["method"], line["title"]]
    if line["seconds"] is None:
        return [*start, "–", "not installed", "–", "–", "–"]
    own = line["title"] == "maxmargin"
    speed = f"{line['per_second'] / 1e6:.2f} million"
    ratio = "" if own else f"**{line['ratio']:.1f}**"
    return [
        *start,
        str(line["passes"]),
        seconds_text(line["seconds"]),
        speed,
        ratio,
        f"{line['accuracy']:.4f}",
    ]


def draw(lines: list[dict[str, Any]], path: Path) -> None:
    plt = pyplot()
    shown = [line for line in lines if line["seconds"] is not None]
    figure, axis = plt.subplots(figsize=(9, 0.34 * len(shown) + 1.2), layout="constrained")
    speeds = [line["per_second"] / 1e6 for line in shown]
    colours = ["#0072B2" if line["title"] == "maxmargin" else "#D55E00" for line in shown]
    axis.barh(range(len(shown)), speeds, height=0.7, color=colours)
    for at, speed in enumerate(speeds):
        axis.text(speed, at, f" {speed:.2f}", va="center", fontsize=8)
    names = [f"{line['task']}, {line['method']}: {line['title']}" for line in shown]
    axis.set_yticks(range(len(shown)), names)
    axis.invert_yaxis()
    axis.set_xlabel("million examples a second of CPU time")
    plain_axis(axis)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main() -> None:
    options = options_of(__doc__)
    say_what_data(options.short)
    warnings.simplefilter("ignore")
    print(markdown(TITLES, []))
    passes, rounds = (5, 2) if options.short else (20, options.rounds or 7)
    lines: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, X, y in problems(options.short, has_folder()):
            if options.only in name:
                inside = Path(folder) / str(len(lines))
                inside.mkdir()
                lines += contest(name, X, y, passes, rounds, inside)
    target = folder_for(options)
    if target is None:
        return
    page = Page(STEM, TITLE, __doc__ or "", target)
    vw = {line["title"] for line in lines if line["seconds"] is not None} & {"Vowpal Wabbit"}
    packages = ("scikit-learn", *(["vowpalwabbit"] if vw else []))
    page.publish(
        lines, markdown(TITLES, [row_of(line) for line in lines]), lambda path: draw(lines, path), *packages
    )


if __name__ == "__main__":
    main()
