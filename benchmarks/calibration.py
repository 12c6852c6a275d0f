"""Probabilities of a linear SVM from one fit: as good as those from five, and for how much?

    python benchmarks/calibration.py            # spambase, sms_spam, german.numer_scale; writes results/
    python benchmarks/calibration.py --short    # small generated tables; prints only

Half of the rows is fitted to, the other half judged by log-loss, Brier score and expected calibration error
(ten bins of equally many rows), in repeated random splits (ten, unless --rounds says otherwise); figures are
means over the splits, and in brackets those of the ends of the 95 % bootstrap intervals.
`LinearSVM(calibrate=…)` fits once and estimates what its scores would be without each row.
CalibratedClassifierCV fits scikit-learn's LinearSVC (hinge loss) five times, and once more with
ensemble=False. "no worse" means not above the upper end of the peer's interval.

Seconds are CPU seconds on all rows, medians of runs in turn. "added" is what `calibrate="sigmoid"` adds to a
fit, as a share of an interior-point fit of the same problem to 1e-6; where a system of equations with one
unknown per column would not be solved by anybody (text), as a share of the fit itself.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.svm import LinearSVC
from support import has_folder, task
from support.contest_script import folder_for, options_of, say_what_data
from support.generated import overlapping
from support.pictures import plain_axis, pyplot
from support.report import Page, markdown

from maxmargin import LinearSVM, reliability

STEM, TITLE = "calibration", "Calibrated probabilities from one fit"
MEASURES = {"log_loss": "log-loss", "expected_calibration_error": "ECE", "brier": "Brier score"}
MOST_COLUMNS = 2_000  # beyond, nobody fits by interior point


def peer(kind: str, ensemble: bool) -> Any:
    svm = LinearSVC(loss="hinge", max_iter=20_000, random_state=0)
    return CalibratedClassifierCV(svm, method=kind, cv=5, ensemble=ensemble)


ENTRANTS: dict[str, Callable[[], Any]] = {
    "LinearSVM, sigmoid": lambda: LinearSVM(calibrate="sigmoid"),
    "LinearSVM, temperature": lambda: LinearSVM(calibrate="temperature"),
    "LinearSVM, isotonic": lambda: LinearSVM(calibrate="isotonic"),
    "CalibratedClassifierCV, sigmoid": lambda: peer("sigmoid", True),
    "CalibratedClassifierCV, temperature": lambda: peer("temperature", True),
    "CalibratedClassifierCV, isotonic": lambda: peer("isotonic", True),
    "CalibratedClassifierCV, sigmoid, one model": lambda: peer("sigmoid", False),
    "CalibratedClassifierCV, isotonic, one model": lambda: peer("isotonic", False),
    "logistic regression": lambda: LogisticRegression(max_iter=1_000),
}
# ours: the peer whose interval it must not exceed
AGAINST = {
    "LinearSVM, sigmoid": "CalibratedClassifierCV, sigmoid",
    "LinearSVM, temperature": "CalibratedClassifierCV, temperature",
    "LinearSVM, isotonic": "CalibratedClassifierCV, isotonic",
}
ONE_MODEL = "CalibratedClassifierCV, sigmoid, one model"


def problems(short: bool) -> Iterator[tuple[str, Any, Any]]:
    if short or not has_folder():
        for n_rows, n_columns in ((1_000, 20), (20_000, 50)):
            X, y = overlapping(n_rows, n_columns)
            yield f"generated, {n_rows:,} × {n_columns}", X, (y > 0).astype(int)
        return
    for name in ("spambase", "sms_spam", "german.numer_scale"):
        X, y = task(name)
        yield name, X, (y > 0).astype(int)  # scikit-learn's temperature takes nothing but numbers from 0


def judged(X: Any, y: Any, rounds: int) -> dict[str, dict[str, list[float]]]:
    """Return the mean value, low and high of every measure for every entrant over the splits."""
    splits = StratifiedShuffleSplit(rounds, test_size=0.5, random_state=0).split(X, y)
    records: dict[str, list[Any]] = {name: [] for name in ENTRANTS}
    for first, second in splits:
        for name, make in ENTRANTS.items():
            records[name].append(reliability(make().fit(X[first], y[first]), X[second], y[second]))
    found: dict[str, dict[str, list[float]]] = {}
    for name, of_splits in records.items():
        found[name] = {}
        for measure in MEASURES:
            ones = [getattr(record, measure) for record in of_splits]
            means = np.mean([[one.value, one.low, one.high] for one in ones], axis=0)
            found[name][measure] = means.tolist()
    return found


def seconds_of(X: Any, y: Any, rounds: int) -> dict[str, float]:
    """Return median CPU seconds, everyone in turn; "added" is the median difference of neighbours."""
    is_dense = X.shape[1] <= MOST_COLUMNS
    reference = {"solver": "interior_point", "tol": 1e-6} if is_dense else {}
    makers = {
        "reference": lambda: LinearSVM(**reference),
        "plain": lambda: LinearSVM(),
        "calibrated": lambda: LinearSVM(calibrate="sigmoid"),
        "peer": lambda: peer("sigmoid", True),
    }
    times: dict[str, list[float]] = {name: [] for name in makers}
    for _ in range(rounds):
        for name, make in makers.items():
            began = time.process_time()
            make().fit(X, y)
            times[name].append(time.process_time() - began)
    pairs = zip(times["calibrated"], times["plain"], strict=True)
    added = statistics.median(one - other for one, other in pairs)
    return {**{name: statistics.median(runs) for name, runs in times.items()}, "added": added}


def measured(name: str, X: Any, y: Any, rounds: int) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LinearSVC warns whether or not it is far off
        scores, seconds = judged(X, y, rounds), seconds_of(X, y, 3 * rounds)
    line = {"task": name, "rows": X.shape[0], "columns": X.shape[1], "scores": scores, "seconds": seconds}
    asked = ("log_loss", "expected_calibration_error")
    line["no_worse"] = {
        ours: {measure: scores[ours][measure][0] <= scores[other][measure][2] for measure in asked}
        for ours, other in AGAINST.items()
    }
    line["brier_ratio"] = scores["LinearSVM, sigmoid"]["brier"][0] / scores[ONE_MODEL]["brier"][0]
    return line


# ---------------------------------------------------------------- what is shown


def table_of(line: dict[str, Any]) -> str:
    rows = []
    for name, found in line["scores"].items():
        cells = [f"{v:.4f} ({low:.4f} to {high:.4f})" for v, low, high in found.values()]
        verdict = ""
        if name in AGAINST:
            worse = [MEASURES[m] for m, good in line["no_worse"][name].items() if not good]
            verdict = f"worse in {' and '.join(worse)}" if worse else "no worse"
        rows.append([f"**{name}**" if name in AGAINST else name, *cells, verdict])
    seconds = line["seconds"]
    of = "interior-point fit" if line["columns"] <= MOST_COLUMNS else "fit itself"
    share, times = seconds["added"] / seconds["reference"], seconds["peer"] / seconds["calibrated"]
    told = (
        f"Brier score with sigmoid ÷ {ONE_MODEL}: {line['brier_ratio']:.4f}. Calibration adds "
        f"{1e3 * seconds['added']:.1f} ms, {share:.2f} of the {of} ({1e3 * seconds['reference']:.1f} ms); "
        f"CalibratedClassifierCV takes {1e3 * seconds['peer']:.0f} ms, {times:.0f} times as long as fit and "
        "calibration together."
    )
    heading = f"## {line['task']}, {line['rows']:,} × {line['columns']:,}"
    return f"{heading}\n\n{markdown(('', *MEASURES.values(), ''), rows)}\n\n{told}"


def draw(lines: list[dict[str, Any]], path: Path) -> None:
    plt = pyplot()
    size = (5 * len(lines), 3.2)
    figure, axes = plt.subplots(1, len(lines), figsize=size, layout="constrained", sharey=True)
    for axis, line in zip(np.atleast_1d(axes), lines, strict=True):
        for at, (name, found) in enumerate(line["scores"].items()):
            value, low, high = found["log_loss"]
            colour = "#0072B2" if name in AGAINST else "0.4"
            axis.plot([low, high], [at, at], color=colour)
            axis.plot(value, at, "o", color=colour)
        axis.set_title(line["task"])
        axis.set_xlabel("held-out log-loss")
        plain_axis(axis)
    first = np.atleast_1d(axes)[0]
    first.set_yticks(range(len(ENTRANTS)), list(ENTRANTS))
    first.invert_yaxis()
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main() -> None:
    options = options_of(__doc__)
    say_what_data(options.short)
    lines = []
    for name, X, y in problems(options.short):
        if options.only in name:
            lines.append(measured(name, X, y, options.rounds or (2 if options.short else 10)))
            print(table_of(lines[-1]) + "\n", flush=True)
    folder = folder_for(options)
    if folder is not None:
        body = "\n\n".join(table_of(line) for line in lines)
        page = Page(STEM, TITLE, __doc__ or "", folder)
        page.publish(lines, body, lambda path: draw(lines, path), "scikit-learn")


if __name__ == "__main__":
    main()
