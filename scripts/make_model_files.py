"""Write the model files that every later version must read: python scripts/make_model_files.py [FOLDER].

Run it once per version of the format, never for an old version: the files are the promise. Each comes with
the predictions that it made on the day, in a JSON file beside it.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from maxmargin import LinearModel, save_model, train
from maxmargin.datasets import breast_cancer
from maxmargin.io.models import VERSION

FOLDER = Path(__file__).parents[1] / "tests" / "data"


def tumours() -> tuple[LinearModel, np.ndarray]:
    """Return a hinge model with text labels, names and support vectors, and rows to try it on."""
    data = breast_cancer()
    X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    model = train(X[:120], data.y[:120], C=0.1)
    described = replace(
        model, feature_names=list(data.feature_names), scheme=data.scheme, label=data.label, histories=[]
    )
    return described, X[120:126]


def three_classes() -> tuple[LinearModel, np.ndarray]:
    """Return a logistic model with three numbers as labels, a penalised offset and unequal weights."""
    angle = np.arange(30.0)
    X = np.stack([np.cos(angle), np.sin(angle), np.cos(2 * angle)], axis=1)
    y = np.array([1, 2, 5])[(2 * X[:, 0] + X[:, 1] > 0).astype(int) + (X[:, 2] > 0.3)]
    model = train(
        X,
        y,
        loss="logistic",
        lam=0.02,
        penalize_intercept=True,
        intercept_scaling=2.0,
        class_weight="balanced",
    )
    return replace(model, histories=[]), X[:6] + 0.05


def one_softmax() -> tuple[LinearModel, np.ndarray]:
    """Return a softmax model of the same three classes, with a free offset."""
    angle = np.arange(30.0)
    X = np.stack([np.cos(angle), np.sin(angle), np.cos(2 * angle)], axis=1)
    y = np.array([1, 2, 5])[(2 * X[:, 0] + X[:, 1] > 0).astype(int) + (X[:, 2] > 0.3)]
    model = train(X, y, loss="logistic", multi_class="softmax", C=2, class_weight="balanced")
    return replace(model, histories=[], warm_starts=[]), X[:6] + 0.05


def sparse() -> tuple[LinearModel, np.ndarray]:
    """Return a logistic model with an L1 term, which leaves most weights 0."""
    data = breast_cancer()
    X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    model = train(X[:120], data.y[:120], loss="logistic", C=0.5, l1_ratio=0.75)
    return replace(model, histories=[], warm_starts=[]), X[120:126]


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    for make in (sparse,):  # what the newest version added
        model, rows = make()
        name = f"{make.__name__}-{VERSION}"
        save_model(model, folder / f"{name}.model")
        expected = {
            "rows": rows.tolist(),
            "labels": model.predict(rows).tolist(),
            "scores": model.scores(rows).tolist(),
            "columns": np.flatnonzero(model.coef[0]).tolist(),
            "l1": model.predict_proba(rows).tolist(),
        }
        (folder / f"{name}.json").write_text(json.dumps(expected, indent=1) + "\n")
