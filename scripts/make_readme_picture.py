"""Draw the picture of README: a classifier, and the proof that it is the best one.

make readme-picture
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot
from matplotlib.figure import Figure

from maxmargin import ConvergenceDisplay, LinearSVM, MarginBoundaryDisplay
from maxmargin.datasets import breast_cancer

MEASURES = ("worst smoothness", "worst perimeter")
EVERY = 4  # so many that each can be seen
PICTURE = Path(__file__).parents[1] / "docs" / "images" / "classifier-and-proof.png"


def picture() -> Figure:
    """Return the figure: tumours by two of their measures on the left, how the fit closed in on the right."""
    tumours = breast_cancer()
    columns = [list(tumours.feature_names or ()).index(name) for name in MEASURES]
    X = tumours.X[:, columns]
    X, y = ((X - X.mean(axis=0)) / X.std(axis=0))[::EVERY], tumours.y[::EVERY]
    model = LinearSVM(C=1, solver="interior_point", tol=1e-10).fit(X, y)
    with mpl.rc_context():
        mpl.rcdefaults()
        figure = pyplot.figure(figsize=(11.0, 4.5), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=[0.85, 1.0])
        MarginBoundaryDisplay.from_estimator(model, X, y, ax=left)
        left.set(xlabel=f"{MEASURES[0]}, standardised", ylabel=f"{MEASURES[1]}, standardised")
        left.set_title("the classifier", loc="left", fontsize=11)
        proof = ConvergenceDisplay.from_history(model.history_, against="passes", ax=right)
        proof.ax_[0].set_title(
            "the proof: no classifier has an objective below the bound", loc="left", fontsize=11
        )
    return figure


def save(path: Path) -> None:
    """Draw it into a file, without any date or version in it."""
    figure = picture()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=160, metadata={"Software": None}, pil_kwargs={"optimize": True})
    pyplot.close(figure)


if __name__ == "__main__":
    save(PICTURE)
    print(f"wrote {PICTURE.relative_to(Path.cwd())}")
