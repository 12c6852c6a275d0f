"""Pictures of curves: how a fit, a loss or an error goes with something else."""

import numpy as np
from images.picture import Picture

from maxmargin import ConvergenceDisplay
from maxmargin.results.solution import History

__all__ = ["CURVES"]

HISTORY = History(
    seconds=np.array([0.01, 0.02, 0.04]),
    passes=np.array([9.0, 15.0, 30.0]),
    objective=np.array([12.0, 10.5, 10.0]),
    bound=np.array([0.0, 8.0, 9.99]),
    gap=np.array([12.0, 2.5, 0.01]),
)

CURVES: dict[str, Picture] = {
    "convergence": Picture(lambda ax: ConvergenceDisplay.from_history(HISTORY, tol=1e-2, ax=ax), (3.0, 4.0)),
}
