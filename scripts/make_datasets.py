"""Write the data sets that ship inside the package: python scripts/make_datasets.py [FOLDER].

The result is committed; this script says where it came from and makes it again, byte for byte.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer

from maxmargin.inputs import save_data
from maxmargin.results.data import Data

FOLDER = Path(__file__).parents[1] / "src" / "maxmargin" / "datasets"


def breast_cancer() -> Data:
    """Return scikit-learn's copy of the data with the classes by name."""
    source = load_breast_cancer()
    return Data(
        source.data,
        np.asarray(source.target_names)[source.target],
        feature_names=tuple(str(name) for name in source.feature_names),
        label="diagnosis",
    )


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    save_data(breast_cancer(), folder / "breast_cancer.csv")
