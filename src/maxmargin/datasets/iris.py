"""Fisher's irises."""

from __future__ import annotations

from importlib.resources import as_file, files

from maxmargin.inputs.load import load_data
from maxmargin.results.data import Data

__all__ = ["iris"]


def iris() -> Data:
    """Return 150 flowers of three kinds of iris, measured in 4 ways.

    Length and width of sepals and petals in cm (Fisher 1936; CC BY 4.0).

    Returns
    -------
    Data
        ``X`` of shape (150, 4); ``y`` with the texts "setosa", "versicolor" and "virginica".

    Examples
    --------
    >>> from maxmargin.datasets import iris
    >>> print(iris())
    150 rows, 4 columns; label "species"; classes setosa (33 %), versicolor (33 %), virginica (33 %)
    """
    with as_file(files("maxmargin.datasets") / "iris.csv") as path:
        return load_data(path, label="species")
