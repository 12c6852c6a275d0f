"""Pictures of boundaries and margins."""

import numpy as np
from images.picture import Picture

from maxmargin import MarginBoundaryDisplay, MarginHistogramDisplay

__all__ = ["SHAPES"]

# Two clouds that overlap a little, and a separator with θ = (2, 1).
GENERATOR = np.random.RandomState(3)  # its numbers are the same in every version of NumPy
SIGNS = np.repeat([-1, 1], 20)
ROWS = GENERATOR.normal(size=(40, 2)) + 0.9 * SIGNS[:, None] * np.array([1.0, 0.5])
SEPARATOR = (np.array([2.0, 1.0]), 0.2)

SHAPES: dict[str, Picture] = {
    "margin_boundary": Picture(
        lambda ax: MarginBoundaryDisplay.from_estimator(SEPARATOR, ROWS, SIGNS, ax=ax, arrow=True)
    ),
    "margin_histogram": Picture(
        lambda ax: MarginHistogramDisplay.from_estimator(SEPARATOR, ROWS, SIGNS, ax=ax)
    ),
}
