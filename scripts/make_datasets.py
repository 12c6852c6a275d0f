"""Write the data sets that ship inside the package: python scripts/make_datasets.py [FOLDER].

The result is committed; this script says where it came from and makes it again, byte for byte.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris

from maxmargin.data import Data
from maxmargin.io.save import save_data

FOLDER = Path(__file__).parents[1] / "src" / "maxmargin" / "datasets"


def breast_cancer() -> Data:
    """Return scikit-learn's copy of the data with the classes by name."""
    return with_names(load_breast_cancer(), "diagnosis")


def iris() -> Data:
    """Return scikit-learn's copy of the data with the classes by name."""
    return with_names(load_iris(), "species")


def with_names(source: Any, label: str) -> Data:
    """Return what a loader of scikit-learn gives, with names for the classes and their column."""
    return Data(
        source.data,
        np.asarray(source.target_names)[source.target],
        feature_names=tuple(str(name) for name in source.feature_names),
        label=label,
    )


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    save_data(breast_cancer(), folder / "breast_cancer.csv")
    save_data(iris(), folder / "iris.csv")
