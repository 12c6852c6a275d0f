"""Pictures of boundaries and margins."""

import numpy as np
from images.picture import Picture

from maxmargin import (
    LambdaGridDisplay,
    LinearSVM,
    MarginBoundaryDisplay,
    MarginHistogramDisplay,
    MarginProjectionDisplay,
    SeparatorsDisplay,
)

__all__ = ["SHAPES"]

# Two clouds that overlap a little, and a separator with θ = (2, 1).
GENERATOR = np.random.RandomState(3)  # its numbers are the same in every version of NumPy
SIGNS = np.repeat([-1, 1], 20)
ROWS = GENERATOR.normal(size=(40, 2)) + 0.9 * SIGNS[:, None] * np.array([1.0, 0.5])
SEPARATOR = (np.array([2.0, 1.0]), 0.2)

# The same in six columns, and more of them than marks could show.
WIDE_SIGNS = np.repeat([-1, 1], 60)
WIDE = GENERATOR.normal(size=(120, 6)) * [1, 2, 1, 1, 1, 1] + WIDE_SIGNS[:, None] * [1, 0, 0.8, 0, 0, 0]
MANY_SIGNS = np.repeat([-1, 1], 3000)
MANY = GENERATOR.normal(size=(6000, 6)) * [1, 2, 1, 1, 1, 1] + MANY_SIGNS[:, None] * [1, 0, 0.8, 0, 0, 0]
WIDE_SEPARATOR = (np.array([1.0, 0.1, 0.8, 0.0, 0.0, 0.0]), 0.0)

# Two clouds that can be told apart, for three separators.
APART_SIGNS = np.repeat([-1, 1], 12)
APART = GENERATOR.normal(size=(24, 2)) * 0.5 + 1.3 * APART_SIGNS[:, None] * np.array([1.0, 0.8])
THREE = {
    "A": (np.array([1.0, 0.05]), 0.1),
    "B": (np.array([1.0, 0.85]), 0.05),
    "C": (np.array([0.35, 1.0]), 0.0),
}
WIDER = {"widest": (np.array([1.25, 1.06]), 0.06), "too wide": (np.array([0.2, 0.6]), 0.0)}

SHAPES: dict[str, Picture] = {
    "margin_boundary": Picture(
        lambda ax: MarginBoundaryDisplay.from_estimator(SEPARATOR, ROWS, SIGNS, ax=ax, arrow=True)
    ),
    "margin_boundary_slacks": Picture(
        lambda ax: MarginBoundaryDisplay.from_estimator(SEPARATOR, ROWS, SIGNS, ax=ax, slacks=True)
    ),
    "margin_boundary_support": Picture(
        lambda ax: MarginBoundaryDisplay.from_estimator(
            LinearSVM(C=1.0, tol=1e-8).fit(ROWS, SIGNS), ROWS, SIGNS, ax=ax, circled="support"
        )
    ),
    "margin_histogram": Picture(
        lambda ax: MarginHistogramDisplay.from_estimator(SEPARATOR, ROWS, SIGNS, ax=ax)
    ),
    "margin_histogram_distances": Picture(
        lambda ax: MarginHistogramDisplay.from_estimator(
            WIDE_SEPARATOR, MANY, MANY_SIGNS, measure="distance", ax=ax
        )
    ),
    "margin_projection": Picture(
        lambda ax: MarginProjectionDisplay.from_estimator(WIDE_SEPARATOR, WIDE, WIDE_SIGNS, ax=ax)
    ),
    "margin_projection_density": Picture(
        lambda ax: MarginProjectionDisplay.from_estimator(WIDE_SEPARATOR, MANY, MANY_SIGNS, ax=ax)
    ),
    "lambda_grid": Picture(
        lambda ax: LambdaGridDisplay.from_estimator(
            LinearSVM(tol=1e-8), ROWS, SIGNS, lams=(0.01, 0.5), ax=ax
        ),
        (5.0, 3.4),
    ),
    "separators": Picture(lambda ax: SeparatorsDisplay.from_separators(THREE, APART, APART_SIGNS, ax=ax)),
    "separators_too_wide": Picture(
        lambda ax: SeparatorsDisplay.from_separators(WIDER, APART, APART_SIGNS, bands="own", ax=ax)
    ),
}
