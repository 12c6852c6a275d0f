"""Small real data sets that ship with the package; README.md beside them says where they come from."""

from __future__ import annotations

from importlib.resources import files

import numpy as np

from maxmargin.data import Data

__all__ = ["breast_cancer", "iris"]


# ------------------------------------------------------------------------------------------------
# Fisher's irises.


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
    return _shipped("iris", "species")


# ------------------------------------------------------------------------------------------------
# Breast cancer Wisconsin (diagnostic).


def breast_cancer() -> Data:
    """Return 569 tumours, measured in 30 ways, benign or malignant.

    Ten properties of the cell nuclei in a digitised image of each tumour, every one as mean, standard
    error and worst value (Wolberg, Street and Mangasarian 1995; CC BY 4.0).

    Returns
    -------
    Data
        ``X`` of shape (569, 30), unscaled; ``y`` with the texts "benign" and "malignant".

    Examples
    --------
    >>> from maxmargin.datasets import breast_cancer
    >>> print(breast_cancer())
    569 rows, 30 columns; label "diagnosis"; classes benign (63 %), malignant (37 %)
    """
    return _shipped("breast_cancer", "diagnosis")


# ------------------------------------------------------------------------------------------------


def _shipped(name: str, label: str) -> Data:
    """Return the data set of that name, as if it had been read from a table with this label."""
    with files(__name__).joinpath(f"{name}.npz").open("rb") as file, np.load(file) as arrays:
        names = tuple(arrays["feature_names"].tolist())
        return Data(arrays["X"], arrays["y"], feature_names=names, scheme="csv", label=label)
