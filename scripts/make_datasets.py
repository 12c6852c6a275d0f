"""Write the data sets that ship inside the package: python scripts/make_datasets.py [FOLDER].

The result is committed; this script says where it came from and makes it again, byte for byte.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris

FOLDER = Path(__file__).parents[1] / "src" / "maxmargin" / "datasets"


def breast_cancer() -> dict[str, Any]:
    """Return scikit-learn's copy of the data with the classes by name."""
    return with_names(load_breast_cancer())


def iris() -> dict[str, Any]:
    """Return scikit-learn's copy of the data with the classes by name."""
    return with_names(load_iris())


def with_names(source: Any) -> dict[str, Any]:
    """Return what a loader of scikit-learn gives as arrays, the labels by the names of the classes."""
    return {
        "X": np.ascontiguousarray(source.data, dtype=np.float64),
        "y": np.asarray(source.target_names)[source.target],
        "feature_names": np.array([str(name) for name in source.feature_names]),
    }


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    np.savez(folder / "breast_cancer.npz", **breast_cancer())
    np.savez(folder / "iris.npz", **iris())
