"""Points to begin with: made with a fixed seed, or taken from data that ship with the package."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin.datasets import breast_cancer, iris
from maxmargin.errors import InvalidInput

__all__ = ["EXAMPLES", "Example", "example_points"]

Points = NDArray[np.float64]  # of shape (n, 3): two coordinates and the sign


class Example(NamedTuple):
    """A data set on the page's list.

    Attributes
    ----------
    title : str
    names : (str, str)
        What the axes are called.
    classes : (str, str)
        What the negative and the positive class are called.
    points : callable
        Makes them.
    """

    title: str
    names: tuple[str, str]
    classes: tuple[str, str]
    points: Callable[[], Points]


def example_points(name: str) -> dict[str, Any]:
    """Return the points of an example, and what their axes and classes are called.

    Examples
    --------
    >>> example_points("separable")["points"][0]
    [-2.0, 0.4, -1]
    """
    if name not in EXAMPLES:
        raise InvalidInput(f"there is no example {name[:60]!r}; there are {', '.join(EXAMPLES)}")
    example = EXAMPLES[name]
    made = example.points()
    return {
        "name": name,
        "points": [[x, y, int(s)] for x, y, s in made.tolist()],
        "names": example.names,
        "classes": example.classes,
    }


def _separable() -> Points:
    return np.array(_SEPARABLE)


def _with_outlier() -> Points:
    """One positive point close to the others: it takes the whole margin, unless it is given up."""
    return np.vstack([_separable(), [-0.35, -0.55, 1.0]])


def _overlapping() -> Points:
    return _clouds(30, (0.9, 0.7), 1.0, seed=3)


def _many() -> Points:
    return _clouds(250, (1.0, 0.8), 1.1, seed=5)


def _crossed() -> Points:
    """Each class in two opposite corners: no line has fewer than a quarter of them wrong."""
    generator = np.random.RandomState(11)
    corners = np.array([[1.5, 1.5, 1.0], [-1.5, -1.5, 1.0], [1.5, -1.5, -1.0], [-1.5, 1.5, -1.0]])
    points = np.repeat(corners, 8, axis=0)
    points[:, :2] += 0.45 * generator.standard_normal((len(points), 2))
    return points.round(2)


def _clouds(of_each: int, centre: tuple[float, float], spread: float, seed: int) -> Points:
    generator = np.random.RandomState(seed)  # its numbers are the same in every version of NumPy
    sign = np.repeat([-1.0, 1.0], of_each)
    X = sign[:, None] * np.array(centre) + spread * generator.standard_normal((2 * of_each, 2))
    return np.column_stack([X.round(2), sign])


def _irises(negative: str, positive: str) -> Points:
    data = iris()
    chosen = np.isin(data.y, (negative, positive))
    petals = data.X[chosen][:, 2:]
    return np.column_stack([petals, np.where(data.y[chosen] == positive, 1.0, -1.0)])


def _tumours() -> Points:
    """Two columns in units of their deviation: as they are, one of them would be a line."""
    data = breast_cancer()
    names = list(data.feature_names or ())
    chosen = data.X[:, [names.index("worst radius"), names.index("worst concave points")]]
    standardised = (chosen - chosen.mean(axis=0)) / chosen.std(axis=0)
    return np.column_stack([standardised.round(3), np.where(data.y == "malignant", 1.0, -1.0)])


_SEPARABLE = [
    [-2.0, 0.4, -1.0],
    [-2.6, -0.7, -1.0],
    [-1.2, -0.8, -1.0],
    [-1.7, -2.0, -1.0],
    [-0.5, -2.2, -1.0],
    [-3.1, 1.2, -1.0],
    [-1.0, 0.3, -1.0],
    [0.2, -1.7, -1.0],
    [-2.3, -1.4, -1.0],
    [0.6, 1.1, 1.0],
    [1.4, 0.2, 1.0],
    [2.1, 1.6, 1.0],
    [0.9, 2.3, 1.0],
    [2.7, 0.5, 1.0],
    [1.7, -0.6, 1.0],
    [-0.3, 2.4, 1.0],
    [3.0, 2.0, 1.0],
    [1.8, 2.5, 1.0],
]

_PLANE = (("x₁", "x₂"), ("−1", "+1"))
_PETALS = ("petal length (cm)", "petal width (cm)")

EXAMPLES = {
    "separable": Example("Separable", *_PLANE, _separable),
    "overlapping": Example("Overlapping", *_PLANE, _overlapping),
    "outlier": Example("An outlier", *_PLANE, _with_outlier),
    "crossed": Example("Crossed: no line will do", *_PLANE, _crossed),
    "setosa": Example(
        "Iris: setosa or versicolor",
        _PETALS,
        ("setosa", "versicolor"),
        lambda: _irises("setosa", "versicolor"),
    ),
    "virginica": Example(
        "Iris: versicolor or virginica",
        _PETALS,
        ("versicolor", "virginica"),
        lambda: _irises("versicolor", "virginica"),
    ),
    "tumours": Example(
        "Breast cancer, 569 tumours",
        ("worst radius (standardised)", "worst concave points (standardised)"),
        ("benign", "malignant"),
        _tumours,
    ),
    "many": Example("500 points", *_PLANE, _many),
}
