"""Breast cancer Wisconsin (diagnostic)."""

from __future__ import annotations

from importlib.resources import as_file, files

from maxmargin.inputs.load import load_data
from maxmargin.results.data import Data

__all__ = ["breast_cancer"]


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
    with as_file(files("maxmargin.datasets") / "breast_cancer.csv") as path:
        return load_data(path, label="diagnosis")
