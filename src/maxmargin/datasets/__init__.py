"""Small real data sets that ship with the package; README.md beside them says where they come from."""

from maxmargin.datasets.iris import iris
from maxmargin.datasets.wisconsin import breast_cancer

__all__ = ["breast_cancer", "iris"]
