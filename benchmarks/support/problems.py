"""The benchmark problems that come from the folder MAXMARGIN_DATA, in the numbers that benchmarks use."""

from __future__ import annotations

from typing import Any

import numpy as np

from support import load, task

__all__ = ["covtype", "many_classes", "random_features", "rounded"]


def rounded(X: Any) -> Any:
    """Round to float32, so that float32 and float64 copies are the same problem; kept in float64."""
    return X.astype(np.float32).astype(np.float64)


def covtype() -> tuple[np.ndarray, np.ndarray]:
    """Return covtype, class 2 against the rest, columns scaled to [0, 1]."""
    X, y = task("covtype")
    return rounded(X), y


Rows = tuple[Any, np.ndarray]


def many_classes(name: str) -> tuple[Any, np.ndarray, Rows | None]:
    """Return rows and classes of a set of several classes, and held-out ones where there are any."""
    if name == "letter":
        return *_dense(load("letter.scale")), _dense(load("letter.scale_test"))
    if name == "mnist":
        (X, y), (X_test, y_test) = load("mnist"), load("mnist_test")
        return _pixels(X), y, (_pixels(X_test), y_test)
    if name == "covtype":
        X, y = load("covtype")
        X = X.astype(np.float32)
        X = (X - X.min(axis=0)) / np.maximum(np.ptp(X, axis=0), 1e-12)
        held_out = np.arange(len(y)) % 10 == 0
        return X[~held_out], y[~held_out], (X[held_out], y[held_out])
    if name == "sector":
        (X, y), (X_test, y_test) = load("sector.scale"), load("sector.scale_test")
        width = max(X.shape[1], X_test.shape[1])
        for part in (X, X_test):
            part.resize((part.shape[0], width))
        return X.tocsr(), y, (X_test.tocsr(), y_test)
    if name in ("20news", "trec"):
        return _text({"20news": "20newsgroups", "trec": "trec_questions"}[name])
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    X, X_test, y, y_test = train_test_split(*load_digits(return_X_y=True), test_size=0.3, random_state=0)
    return X, y, (X_test, y_test)


def random_features(columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Return random Fourier features of mnist: of a Gaussian kernel as wide as the median distance."""
    X, y, _ = many_classes("mnist")
    some = X[:1_000].astype(np.float64)
    squares = (some**2).sum(axis=1)
    distances = np.sqrt(np.maximum(squares[:, None] + squares - 2.0 * some @ some.T, 0.0))
    width = np.median(distances[np.triu_indices(len(some), 1)])
    random = np.random.default_rng(0)
    frequencies = (random.normal(size=(X.shape[1], columns)) / width).astype(np.float32)
    phases = random.uniform(0.0, 2.0 * np.pi, columns).astype(np.float32)
    Z = np.empty((len(X), columns), dtype=np.float32)
    for first in range(0, len(X), 5_000):
        piece = slice(first, first + 5_000)
        Z[piece] = np.cos(X[piece] @ frequencies + phases) * np.float32(np.sqrt(2.0 / columns))
    return Z, y


def _dense(rows: Rows) -> Rows:
    X, y = rows
    return (X.toarray() if hasattr(X, "toarray") else X), y


def _pixels(X: Any) -> np.ndarray:
    return np.ascontiguousarray(X.reshape(len(X), -1) / np.float32(255), dtype=np.float32)


def _text(name: str) -> tuple[Any, np.ndarray, Rows]:
    from sklearn.feature_extraction.text import TfidfVectorizer

    rows, _ = load(name)
    parts = [[row for row in rows if row["split"] == split] for split in ("train", "test")]
    vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2)
    X = vectorizer.fit_transform(row["text"] for row in parts[0])
    X_test = vectorizer.transform(row["text"] for row in parts[1])
    y, y_test = (np.array([row["label"] for row in part]) for part in parts)
    return X, y, (X_test, y_test)
