"""Two-class data for leave-one-out: from scikit-learn, from a folder, and made with ties and copies."""

from __future__ import annotations

import importlib.util
import os
from functools import cache
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn import datasets
from sklearn.preprocessing import StandardScaler

__all__ = ["BUNDLED", "FOLDER", "FROM_FOLDER", "MADE", "load"]

FOLDER = os.environ.get("MAXMARGIN_DATA")
FROM_FOLDER = [
    "heart_scale",
    "sonar_scale",
    "ionosphere_scale",
    "german.numer_scale",
    "colon-cancer",
    "australian",
    "breast-cancer",
    "diabetes",
    "fourclass_scale",
]


def _two(bunch, first, second):
    chosen = np.isin(bunch.target, (first, second))
    return bunch.data[chosen], np.where(bunch.target[chosen] == second, 1, -1)


def _standard(X, y):
    return StandardScaler().fit_transform(X), y


def _diabetes_above_the_median():
    bunch = datasets.load_diabetes()
    return bunch.data * 20, np.where(bunch.target > np.median(bunch.target), 1, -1)


BUNDLED = {
    "breast cancer": lambda: _standard(*_two(datasets.load_breast_cancer(), 0, 1)),
    "breast cancer as it is": lambda: _two(datasets.load_breast_cancer(), 0, 1),
    "iris, versicolor and virginica": lambda: _two(datasets.load_iris(), 1, 2),
    "iris, setosa and versicolor": lambda: _two(datasets.load_iris(), 0, 1),
    "wine, 0 and 1": lambda: _standard(*_two(datasets.load_wine(), 0, 1)),
    "wine, 1 and 2, as they are": lambda: _two(datasets.load_wine(), 1, 2),
    "digits, 3 and 8": lambda: _two(datasets.load_digits(), 3, 8),
    "diabetes above the median": _diabetes_above_the_median,
}


def _gaussian(n, d, shift, noise, seed):
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, d))
    y = np.where(X[:, 0] + 0.5 * X[:, -1] + noise * random.standard_normal(n) > shift, 1, -1)
    return X, y


def _separable():
    X, y = _gaussian(80, 4, 0.0, 0.0, 1)
    return X + 0.3 * y[:, None] * np.array([1.0, 0, 0, 0.5]), y


def _copies():
    X, y = _gaussian(60, 3, 0.0, 0.8, 2)
    chosen = np.random.default_rng(3).integers(0, 60, 120)
    return X[chosen], y[chosen]


def _contradictions():
    """Rows that occur with both labels."""
    X, y = _gaussian(50, 2, 0.0, 1.0, 4)
    return np.vstack([X, X[:25]]), np.concatenate([y, -y[:25]])


def _integer_grid():
    random = np.random.default_rng(5)
    X = random.integers(-3, 4, (120, 2)).astype(float)
    return X, np.where(X @ [1.0, 1.0] + random.integers(-2, 3, 120) > 0, 1, -1)


def _one_hot():
    random = np.random.default_rng(6)
    X = np.hstack([np.eye(k)[random.integers(0, k, 150)] for k in (3, 4, 5)])
    return X, np.where(X @ random.standard_normal(12) + 0.8 * random.standard_normal(150) > 0, 1, -1)


def _sparse():
    random = np.random.default_rng(7)
    X = sp.random_array((100, 40), density=0.15, format="csr", rng=random)
    return X, np.where(X @ random.standard_normal(40) + 0.3 * random.standard_normal(100) > 0, 1, -1)


def _rare_class():
    X, y = _gaussian(90, 3, 1.9, 0.3, 8)
    return X, y


MADE = {
    "separable": _separable,
    "overlapping": lambda: _gaussian(120, 5, 0.3, 0.7, 0),
    "in the plane": lambda: _gaussian(150, 2, 0.0, 1.0, 9),
    "copies": _copies,
    "contradictions": _contradictions,
    "integer grid": _integer_grid,
    "one-hot": _one_hot,
    "sparse": _sparse,
    "more columns than rows": lambda: _gaussian(40, 100, 0.0, 1.0, 10),
    "a rare class": _rare_class,
}


@cache
def load(name):
    """Return rows and signs."""
    if name in FROM_FOLDER:
        spec = importlib.util.spec_from_file_location("load", Path(FOLDER) / "load.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        X, y = module.task(name)
        X = X.toarray() if sp.issparse(X) else np.asarray(X)
    else:
        X, y = {**BUNDLED, **MADE}[name]()
    return X, np.asarray(y).astype(np.int8)
