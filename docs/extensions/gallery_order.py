"""The order of the gallery: what one looks at first comes first."""

from __future__ import annotations

ORDER = (
    "plot_margin_boundary.py",
    "plot_margin_projection.py",
    "plot_margin_histogram.py",
    "plot_lambda_grid.py",
    "plot_separators.py",
    "plot_loss.py",
    "plot_convergence.py",
    "plot_regularization_path.py",
    "plot_leave_one_out.py",
    "plot_reliability.py",
    "plot_coefficients.py",
    "plot_trace.py",
    "plot_descent.py",
)


class WhatIsSeenFirst:
    """Sorts the scripts of a folder; those that are not listed come last, by name."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, name: str) -> tuple[int, str]:
        """Return what to sort by."""
        return (ORDER.index(name) if name in ORDER else len(ORDER), name)
