"""Which form for three or more classes: held-out accuracy and log loss of all forms at equal C.

    python benchmarks/class_forms.py            # all shared sets with several classes; writes results/
    python benchmarks/class_forms.py --short    # two small generated tables; prints only

Every form is fitted to the same rows at C = 0.1, 1 and 10 (mnist, 20news and sector at 1), hinges certified
to 1e-3 and logistic losses to 1e-5, and judged on rows that it has not seen: the published test parts, three
tenths of digits, every tenth row of covtype, and ten random halves of iris and wine. covtype and mnist are
fitted to samples of 20,000 and 10,000 rows. "hinge" and "logistic" without another word are one class
against the rest. scikit-learn's `LogisticRegression` is given 500 iterations. Accuracy is in percent, in
brackets that of the worst class, and with a × the number of classes that no held-out row is predicted to be,
where there are any. A fit that has not got there within the seconds of --cap is not judged.

"Behind" counts how often a form is significantly less accurate than the other form of its loss at the same
C: by more than two standard errors of the difference, row by row. By the same rule, and by more than 0.1 %, a
log loss is worse than scikit-learn's.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from support import has_folder
from support.contest_script import folder_for, options_of, say_what_data
from support.generated import embeddings
from support.pictures import plain_axis, pyplot
from support.problems import many_classes
from support.report import Page, markdown

import maxmargin as mm

STEM, TITLE = "class_forms", "Forms for three or more classes"
COSTS = (0.1, 1.0, 10.0)
LARGE = ("mnist", "20news", "sector")  # at C = 1 only
HALVES = 10
SLIGHT = 1e-3  # differences of log losses below are those of what the peer was solved to

# title: loss and form
FORMS = {
    "hinge": ("hinge", "one_vs_rest"),
    "Crammer–Singer": ("hinge", "crammer_singer"),
    "squared hinge": ("squared_hinge", "one_vs_rest"),
    "logistic": ("logistic", "one_vs_rest"),
    "softmax": ("logistic", "softmax"),
}
PEER = "scikit-learn softmax"
TITLES = (*FORMS, PEER)
RIVALS = (("hinge", "Crammer–Singer"), ("logistic", "softmax"))


@dataclass(frozen=True)
class Split:
    """Rows to fit and rows to judge by."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any


def problems(short: bool) -> Iterator[tuple[str, list[Split]]]:
    """Yield the sets, each with its splits."""
    if short:
        for columns, classes in ((8, 5), (32, 20)):
            X, y = embeddings(3_000, columns, classes)
            yield f"generated, {columns} columns", [Split(X[:2_000], y[:2_000], X[2_000:], y[2_000:])]
        return
    for name in ("iris", "wine"):
        yield name, list(_halves(name))
    for name, most in (
        ("digits", None),
        ("letter", None),
        ("covtype", 20_000),
        ("mnist", 10_000),
        ("trec", None),
        ("20news", None),
        ("sector", None),
    ):
        X, y, test = many_classes(name)
        assert test is not None
        if most is not None:
            some = np.sort(np.random.default_rng(0).permutation(len(y))[:most])
            X, y = X[some], y[some]
        yield name, [Split(X, y, *test)]


def _halves(name: str) -> Iterator[Split]:
    from sklearn import datasets
    from sklearn.model_selection import StratifiedShuffleSplit

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    for first, second in StratifiedShuffleSplit(HALVES, test_size=0.5, random_state=0).split(X, y):
        mean, deviation = X[first].mean(axis=0), X[first].std(axis=0)
        Z = (X - mean) / deviation
        yield Split(Z[first], y[first], Z[second], y[second])


# ---------------------------------------------------------------- fits


@dataclass
class Judged:
    """What a form gave on the rows of all splits that it had not seen."""

    right: list[np.ndarray]
    losses: list[np.ndarray]
    worst: list[float]
    missing: list[int]
    seconds: float = 0.0
    gap: float = 0.0


def tolerance(title: str) -> float:
    return 1e-5 if FORMS[title][0] == "logistic" else 1e-3


def ours(title: str, split: Split, C: float, cap: float) -> tuple[Any, float]:
    loss, form = FORMS[title]
    settings = {"loss": loss, "multi_class": form, "C": C}
    model = mm.train(split.X, split.y, tol=tolerance(title), max_time=cap, **settings)
    return model, max(proof.relative_gap for proof in model.certificates)


def theirs(split: Split, C: float) -> tuple[Any, float]:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=C, max_iter=500).fit(split.X, split.y), 0.0


def judged(title: str, splits: list[Split], C: float, cap: float) -> Judged:
    found = Judged([], [], [], [])
    began = time.process_time()
    for split in splits:
        model, gap = theirs(split, C) if title == PEER else ours(title, split, C, cap)
        found.gap = max(found.gap, gap)
        classes, codes = np.unique(split.y_test, return_inverse=True)
        predicted = model.predict(split.X_test)
        right = predicted == split.y_test
        found.right.append(right)
        found.worst.append(min(right[codes == k].mean() for k in range(len(classes))))
        found.missing.append(len(np.setdiff1d(split.y, predicted)))
        if title == PEER or FORMS[title][0] == "logistic":
            of_class = np.searchsorted(np.unique(split.y), split.y_test)
            own = model.predict_proba(split.X_test)[np.arange(len(of_class)), of_class]
            found.losses.append(-np.log(np.maximum(own, 1e-300)))
    found.seconds = time.process_time() - began
    return found


def numbers_of(found: Judged) -> dict[str, Any]:
    return {
        "accuracy": float(np.concatenate(found.right).mean()),
        "worst": float(np.mean(found.worst)),
        "never": float(np.mean(found.missing)),
        "log_loss": float(np.concatenate(found.losses).mean()) if found.losses else None,
        "gap": found.gap,
        "seconds": found.seconds,
    }


def is_below(one: list[np.ndarray], other: list[np.ndarray]) -> bool:
    """Whether the mean of one is below the other's by more than two standard errors of the difference."""
    difference = np.concatenate([b.astype(float) - a for a, b in zip(one, other, strict=True)])
    if len(one) > 1:  # rows recur in the splits: compare split by split, no smaller an error than of the rows
        by_split = [b.astype(float).mean() - a.mean() for a, b in zip(one, other, strict=True)]
        error = max(np.std(by_split), difference.std() / np.sqrt(len(one[0])))
    else:
        error = difference.std() / np.sqrt(len(difference))
    return bool(difference.mean() > 2.0 * error)


def measured(name: str, splits: list[Split], cap: float) -> Iterator[dict[str, Any]]:
    shape, classes = splits[0].X.shape, len(np.unique(splits[0].y))
    for C in (1.0,) if name in LARGE else COSTS:
        found = {title: judged(title, splits, C, cap) for title in TITLES}
        line = {"task": name, "rows": shape[0], "columns": shape[1], "classes": classes, "C": C}
        line["forms"] = {title: numbers_of(one) for title, one in found.items()}
        line["behind"] = [
            title
            for pair in RIVALS
            for title, rival in (pair, pair[::-1])
            if is_done(line, title) and is_done(line, rival)
            if is_below(found[title].right, found[rival].right)
        ]
        line["worse_log_loss"] = [
            title
            for title in ("logistic", "softmax")
            if is_done(line, title)
            and is_below(found[PEER].losses, found[title].losses)
            and line["forms"][title]["log_loss"] > (1.0 + SLIGHT) * line["forms"][PEER]["log_loss"]
        ]
        line["less_accurate"] = is_done(line, "softmax") and is_below(
            found["softmax"].right, found[PEER].right
        )
        yield line


# ---------------------------------------------------------------- what is shown


def is_done(line: dict[str, Any], title: str) -> bool:
    """Whether a form got to its tolerance; the peer is taken at its word."""
    return title == PEER or bool(line["forms"][title]["gap"] <= tolerance(title))


def cell(line: dict[str, Any], title: str) -> str:
    form = line["forms"][title]
    if not is_done(line, title):
        return "not reached"
    best = max(line["forms"][other]["accuracy"] for other in TITLES if is_done(line, other))
    text = f"{100 * form['accuracy']:.1f}"
    text = f"**{text}**" if form["accuracy"] == best else text
    text += f" ({100 * form['worst']:.0f})"
    if form["never"]:
        text += f" {form['never']:.3g}×"
    return text


def row_of(line: dict[str, Any]) -> list[str]:
    return [line["task"], f"{line['C']:g}", *(cell(line, title) for title in TITLES)]


def log_loss_row(line: dict[str, Any]) -> list[str]:
    row = [line["task"], f"{line['C']:g}"]
    for title in ("logistic", "softmax", PEER):
        row.append(f"{line['forms'][title]['log_loss']:.4f}" if is_done(line, title) else "not reached")
    return [*row, ", ".join(line["worse_log_loss"]) or "–"]


def body_of(lines: list[dict[str, Any]]) -> str:
    shapes = {line["task"]: line for line in lines}
    about = "; ".join(
        f"{name} {line['rows']:,} × {line['columns']:,}, {line['classes']} classes"
        for name, line in shapes.items()
    )
    counts = []
    complete = [line for line in lines if all(is_done(line, title) for title in TITLES)]
    for title in TITLES:
        forms = [line["forms"][title] for line in complete]
        row = [title, f"{100 * np.mean([form['accuracy'] for form in forms]):.1f}"]
        row += [f"{100 * np.mean([form['worst'] for form in forms]):.0f}"]
        row += [str(sum(form["never"] >= 1 for form in forms))]
        behind = sum(title in line["behind"] for line in lines)
        counts.append([*row, str(behind) if any(title in pair for pair in RIVALS) else "–"])
    never = f"of {len(complete)}, with classes never predicted"
    summary = markdown(("form", "mean accuracy", "mean of the worst class", never, "behind"), counts)
    accuracy = markdown(("set", "C", *TITLES), [row_of(line) for line in lines])
    titles = ("set", "C", "logistic", "softmax", PEER, "worse than scikit-learn beyond noise")
    losses = markdown(titles, [log_loss_row(line) for line in lines])
    judged_lines = sum(is_done(line, "softmax") for line in lines)
    less = sum(line["less_accurate"] for line in lines)
    said = (
        f"Softmax is less accurate than scikit-learn's beyond noise in {less} of {judged_lines} comparisons."
    )
    return (
        f"Rows to fit: {about}.\n\n## Summary\n\nMeans are over the {len(complete)} of {len(lines)} problems "
        f"that every form solved.\n\n{summary}\n\n{said}\n\n"
        f"## Held-out accuracy\n\n{accuracy}\n\n## Held-out log loss\n\n{losses}"
    )


def draw(lines: list[dict[str, Any]], path: Path) -> None:
    plt = pyplot()
    marks = dict(zip(TITLES, ("o", "D", "s", "o", "D", "x"), strict=True))
    colours = dict(zip(TITLES, ("#D55E00", "#D55E00", "#CC79A7", "#0072B2", "#0072B2", "0.3"), strict=True))
    figure, axes = plt.subplots(
        1, 2, figsize=(11, 0.32 * len(lines) + 1.6), layout="constrained", sharey=True
    )
    for title in TITLES:
        is_open = title in ("hinge", "logistic", "squared hinge")
        style = {"color": colours[title], "fillstyle": "none" if is_open else "full", "linestyle": "none"}
        values = [
            100 * line["forms"][title]["accuracy"] if is_done(line, title) else np.nan for line in lines
        ]
        axes[0].plot(values, range(len(lines)), marks[title], label=title, **style)
        if lines[0]["forms"][title]["log_loss"] is not None:
            values = [line["forms"][title]["log_loss"] if is_done(line, title) else np.nan for line in lines]
            axes[1].plot(values, range(len(lines)), marks[title], **style)
    axes[0].set_yticks(range(len(lines)), [f"{line['task']}, C = {line['C']:g}" for line in lines])
    axes[0].invert_yaxis()
    axes[0].set_xlabel("held-out accuracy, %")
    axes[1].set_xlabel("held-out log loss")
    axes[1].set_xscale("log")
    for axis in axes:
        axis.grid(axis="y", color="0.92")
        plain_axis(axis)
    figure.legend(*axes[0].get_legend_handles_labels(), frameon=False, loc="outside upper center", ncols=6)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main() -> None:
    options = options_of(__doc__)
    say_what_data(options.short)
    warnings.simplefilter("ignore")  # of classes that are never predicted, which is counted here
    cap = options.cap or (5.0 if options.short else 60.0)
    lines = []
    print(markdown(("set", "C", *TITLES), []))
    for name, splits in problems(options.short or not has_folder()):
        if options.only in name:
            for line in measured(name, splits, cap):
                lines.append(line)
                print(markdown((), [row_of(line)]).splitlines()[-1], flush=True)
    body = body_of(lines)
    print("\n" + body)
    folder = folder_for(options)
    if folder is not None:
        page = Page(STEM, TITLE, __doc__ or "", folder)
        page.publish(lines, body, lambda path: draw(lines, path), "scikit-learn")


if __name__ == "__main__":
    main()
