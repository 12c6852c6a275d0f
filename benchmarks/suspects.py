"""Does `suspects` find labels that were flipped?

    python benchmarks/suspects.py            # real sets; writes results/
    python benchmarks/suspects.py --short    # scikit-learn's bundled ones, one draw; prints only

A share of the labels is flipped at random and a model is fitted to what results, settings untouched. Each
method ranks all examples; the figure is the share of flipped ones among as many of its first as were flipped
(precision at the number planted), the mean over draws, with the smallest and the largest. It can hardly be 1:
some honest examples look more like the other class than some flipped ones do.

- **suspects**: `suspects(LinearSVM(C=…))`, by the mean of agreements and estimated left-out agreements.
- **agreement**: the same model's own agreements, without leaving anything out.
- **self-confidence**: what confident learning ranks by; the probability of the given label from
  scikit-learn's LogisticRegression of the same C, by cross_val_predict in 5 folds.

CPU seconds are for one draw, fit included.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from support import has_folder, task
from support.contest_script import folder_for, options_of
from support.pictures import plain_axis, pyplot
from support.report import Page, markdown

from maxmargin import LinearSVM, suspects

STEM, TITLE = "suspects", "Finding flipped labels"
METHODS = ("suspects", "agreement", "self-confidence")
TITLES = ("task", "rows × columns", "C", "flipped", *METHODS, *(f"{name}, CPU" for name in METHODS))


def problems(short: bool) -> Iterator[tuple[str, Any, Any]]:
    """Yield tables with labels ±1."""
    if short or not has_folder():
        X, y = load_breast_cancer(return_X_y=True)
        yield "breast cancer (bundled)", standardised(X), np.where(y == 1, 1, -1)
    if not short and has_folder():
        for name in ("spambase", "sms_spam", "breast-cancer", "splice", "colon-cancer"):
            X, y = task(name)
            yield name, X if hasattr(X, "indptr") else standardised(X), y
    X, y = load_digits(return_X_y=True)
    chosen = np.isin(y, (3, 8))
    yield "digits, 3 against 8", X[chosen] / 16.0, np.where(y[chosen] == 8, 1, -1)


def standardised(X: Any) -> Any:
    return (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)


def by_suspects(X: Any, y: Any, C: float, n: int) -> Any:
    return suspects(LinearSVM(C=C).fit(X, y), X, y, n=n).indices


def by_agreement(X: Any, y: Any, C: float, n: int) -> Any:
    return np.argsort(LinearSVM(C=C).fit(X, y).agreements(X, y), kind="stable")[:n]


def by_self_confidence(X: Any, y: Any, C: float, n: int) -> Any:
    classifier = LogisticRegression(C=C, max_iter=1000)
    shares = cross_val_predict(classifier, X, y, cv=5, method="predict_proba")
    return np.argsort(shares[np.arange(len(y)), (y > 0).astype(int)], kind="stable")[:n]


RANKINGS: tuple[Callable[..., Any], ...] = (by_suspects, by_agreement, by_self_confidence)


def measured(name: str, X: Any, y: Any, C: float, share: float, draws: int) -> dict[str, Any]:
    """Flip labels, rank, and count what was found."""
    line: dict[str, Any] = {"task": name, "rows": X.shape[0], "columns": X.shape[1], "C": C, "share": share}
    line["precision"] = {method: [] for method in METHODS}
    line["seconds"] = {method: [] for method in METHODS}
    for draw in range(draws):
        chosen = np.random.default_rng(draw).choice(len(y), int(share * len(y)), replace=False)
        labels = y.copy()
        labels[chosen] *= -1
        for method, ranking in zip(METHODS, RANKINGS, strict=True):
            start = time.process_time()
            found = ranking(X, labels, C, len(chosen))
            line["seconds"][method].append(time.process_time() - start)
            line["precision"][method].append(float(np.isin(found, chosen).mean()))
    return line


def row_of(line: dict[str, Any]) -> list[str]:
    best = max(np.mean(found) for found in line["precision"].values())
    cells = []
    for found in line["precision"].values():
        mean = f"{np.mean(found):.2f}"
        mean = f"**{mean}**" if np.mean(found) >= best else mean
        cells.append(f"{mean} ({min(found):.2f}–{max(found):.2f})")
    seconds = [f"{min(spent):.3f} s" for spent in line["seconds"].values()]
    shape = f"{line['rows']:,} × {line['columns']:,}"
    return [line["task"], shape, f"{line['C']:g}", f"{100 * line['share']:g} %", *cells, *seconds]


def draw_lines(lines: list[dict[str, Any]], path: Path) -> None:
    plt = pyplot()
    figure, axis = plt.subplots(figsize=(9, 0.32 * len(lines) + 1.4), layout="constrained")
    for k, (method, colour) in enumerate(zip(METHODS, ("#0072B2", "#E69F00", "#009E73"), strict=True)):
        places = [at + 0.22 * (k - 1) for at in range(len(lines))]
        means = [float(np.mean(line["precision"][method])) for line in lines]
        axis.plot(means, places, "osD"[k], color=colour, markersize=5, label=method)
        for place, line in zip(places, lines, strict=True):
            found = line["precision"][method]
            axis.plot([min(found), max(found)], [place, place], color=colour, linewidth=1)
    names = [f"{line['task']}, C = {line['C']:g}, {100 * line['share']:g} % flipped" for line in lines]
    axis.set_yticks(range(len(lines)), names, fontsize=8)
    axis.set_ylim(len(lines) - 0.5, -0.5)
    axis.set_xlim(0, 1)
    axis.set_xlabel("precision at the number planted")
    axis.legend(frameon=False, fontsize=8, loc="lower left")
    plain_axis(axis)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main() -> None:
    options = options_of(__doc__)
    print(markdown(TITLES, []))
    lines = []
    for name, X, y in problems(options.short):
        if options.only not in name:
            continue
        for C in (1.0,) if options.short else (0.1, 1.0, 100.0):
            for share in (0.05,) if options.short else (0.05, 0.1):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # the peer's, about iterations
                    lines.append(
                        measured(name, X, y, C, share, options.rounds or (1 if options.short else 5))
                    )
                print(markdown((), [row_of(lines[-1])]).splitlines()[-1], flush=True)
    folder = folder_for(options)
    if folder is not None:
        body = markdown(TITLES, [row_of(line) for line in lines])
        draw_to = lambda path: draw_lines(lines, path)  # noqa: E731 - a page asks for a function of the path
        Page(STEM, TITLE, __doc__ or "", folder).publish(lines, body, draw_to, "scikit-learn")


if __name__ == "__main__":
    main()
