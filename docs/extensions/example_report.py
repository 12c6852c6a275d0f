"""A real report, made by the library while the site is built and shown on the page about reports."""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

BEFORE_SPHINX_LOOKS = 100
NAME = "example-report.html"


def setup(app: Sphinx) -> dict[str, bool]:
    """Have the folder ready when Sphinx checks its settings."""
    app.connect("config-inited", write_report, priority=BEFORE_SPHINX_LOOKS)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_report(app: Sphinx, config: Config) -> None:
    """Write the report that the page about reports describes."""
    from sklearn.model_selection import train_test_split

    import maxmargin as mm
    from maxmargin.datasets import breast_cancer

    folder = Path(app.srcdir) / "generated" / "whole-files"
    folder.mkdir(parents=True, exist_ok=True)
    data = breast_cancer()
    X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    X, X_test, y, y_test = train_test_split(X, data.y, test_size=1 / 3, stratify=data.y, random_state=0)
    svm = mm.LinearSVM(C=0.1, calibrate="sigmoid").fit(X, y)
    mm.report(
        svm,
        X,
        y,
        test=(X_test, y_test),
        path=folder / NAME,
        title="Tumours",
        feature_names=data.feature_names,
        command="maxmargin.report(svm, X, y, test=(X_test, y_test))",
    )
    config.html_extra_path.append(str(folder))
