"""Leave-one-out of the logistic loss and the squared hinge: what certain signs for all examples cost.

    python benchmarks/leave_one_out_smooth.py            # a9a, from MAXMARGIN_DATA; writes results/
    python benchmarks/leave_one_out_smooth.py --short    # small generated rows; prints only

`leave_one_out` decides for every example whether the classifier that is fitted without it gets it right, and
says why that is certain. The unit is one fit of the same problem, certified to 1e-6, on one core; brute force
would take as many of them as there are examples. The whole call contains a fit to nine digits of its own;
what it does beyond is shown apart. Times are medians of CPU seconds, fits and calls in turn. In the end the
examples whose left-out agreements are nearest to 0 are fitted without, one by one, and compared.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from support import has_folder, task
from support.contest_script import folder_for, options_of, say_what_data
from support.generated import sparse_binary
from support.pictures import plain_axis, pyplot
from support.report import Page, markdown

from maxmargin import LinearClassifier, leave_one_out, train
from maxmargin.selection.leave_one_out.record import Reason

STEM, TITLE = "leave_one_out_smooth", "Leave-one-out of smooth losses: its cost in fits"
TITLES = (
    "task", "loss", "C", "at rest", "wrong already", "by L1", "by L2", "refitted",
    "errors left out / in the fit", "estimated", "one fit", "whole call, fits", "beyond its fit, fits",
    "refits that differ",
)  # fmt: skip
RULES = (Reason.NO_SUPPORT_VECTOR, Reason.WRONG_ALREADY, Reason.BOUND, Reason.CERTIFICATE, Reason.REFITTED)


def cpu_seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time()
    result = work()
    return time.process_time() - began, result


def refits_that_differ(X: Any, y: Any, settings: dict[str, Any], found: Any, count: int) -> tuple[int, int]:
    """Return how many of the hardest examples a fit without them contradicts, and how many were fitted."""
    hardest = np.argsort(np.abs(found.agreements))[:count]
    differ = 0
    for i in hardest:
        rest = np.arange(len(y)) != i
        model = train(X[rest], y[rest], tol=1e-9, n_jobs=1, **settings)
        differ += bool(found.errors[i]) != bool(model.agreements(X[[i]], y[[i]])[0] <= 0)
    return differ, len(hardest)


def measure(name: str, X: Any, y: Any, loss: str, C: float, rounds: int, refits: int) -> dict[str, Any]:
    settings = {"loss": loss, "C": C}
    named = LinearClassifier(**settings)
    spent: dict[str, list[float]] = {"fit": [], "tight": [], "whole": []}
    for _ in range(rounds):
        spent["fit"].append(cpu_seconds(lambda: train(X, y, tol=1e-6, n_jobs=1, **settings))[0])
        spent["tight"].append(
            cpu_seconds(lambda: train(X, y, tol=1e-9, solver="newton", n_jobs=1, **settings))[0]
        )
        seconds, found = cpu_seconds(lambda: leave_one_out(named, X, y, n_jobs=1))
        spent["whole"].append(seconds)
    fit, tight, whole = (float(np.median(spent[part])) for part in ("fit", "tight", "whole"))
    differ, fitted = refits_that_differ(X, y, settings, found, refits)
    return {
        "task": name,
        "loss": loss,
        "C": C,
        "rules": [found.counts.get(reason, 0) for reason in RULES],
        "errors": found.n_errors,
        "training_errors": found.training_errors,
        "undecided": found.n_undecided,
        "estimated_errors": int(np.sum(found.agreements <= 0)),
        "fit": fit,
        "whole": whole / fit,
        "beyond": (whole - tight) / fit,
        "differ": differ,
        "refits": fitted,
    }


def row_of(line: dict[str, Any]) -> list[str]:
    return [
        line["task"],
        line["loss"].replace("_", " "),
        f"{line['C']:g}",
        *(f"{count:,}" for count in line["rules"]),
        f"{line['errors']:,} / {line['training_errors']:,}",
        f"{line['estimated_errors']:,}",
        f"{1e3 * line['fit']:.0f} ms",
        f"{line['whole']:.1f}",
        f"**{line['beyond']:.1f}**",
        f"{line['differ']} of {line['refits']}",
    ]


def problems(short: bool, has_data: bool) -> Iterator[tuple[str, Any, Any]]:
    if short or not has_data:
        yield "generated, like a9a", *sparse_binary(3_000 if short else 32_561)
    else:
        yield "a9a", *task("a9a")


def draw(lines: list[dict[str, Any]], path: Path) -> None:
    plt = pyplot()
    figure, axis = plt.subplots(figsize=(7, 3.5), layout="constrained")
    for loss, colour, shape in (("logistic", "#0072B2", "o"), ("squared_hinge", "#D55E00", "s")):
        own = [line for line in lines if line["loss"] == loss]
        axis.plot(
            [line["C"] for line in own],
            [line["beyond"] for line in own],
            color=colour,
            marker=shape,
            label=loss.replace("_", " "),
        )
    axis.set_xscale("log")
    axis.set_ylim(bottom=0)
    axis.set_xlabel("C")
    axis.set_ylabel("cost beyond the fit, in fits")
    axis.legend(frameon=False)
    plain_axis(axis)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main() -> None:
    options = options_of(__doc__)
    say_what_data(options.short)
    rounds = options.rounds or (2 if options.short else 7)
    print(markdown(TITLES, []))
    lines = []
    for name, X, y in problems(options.short, has_folder()):
        for loss in ("logistic", "squared_hinge"):
            for C in (0.01, 1.0, 100.0):
                if options.only not in f"{name}, {loss}":
                    continue
                lines.append(measure(name, X, y, loss, C, rounds, 5 if options.short else 40))
                print(markdown((), [row_of(lines[-1])]).splitlines()[-1], flush=True)
    folder = folder_for(options)
    if folder is None:
        return
    body = markdown(TITLES, [row_of(line) for line in lines])
    Page(STEM, TITLE, __doc__ or "", folder).publish(lines, body, lambda path: draw(lines, path))


if __name__ == "__main__":
    main()
