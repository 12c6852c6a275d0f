"""What LIBLINEAR's ``train`` does, done here: fits, folds and the search for C, as its options ask."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.core.solution import Plan, Status
from maxmargin.data import Data
from maxmargin.errors import Interrupted, InvalidInput, InvalidParameter
from maxmargin.fit.train import fit_linear
from maxmargin.io.liblinear import LiblinearModel
from maxmargin.labels import classes_of
from maxmargin.model.liblinear import JOINT, labels_in_order, to_liblinear
from maxmargin.model.model import LinearModel
from maxmargin.selection.folds.cross_validation import JUDGES
from maxmargin.selection.folds.record import CrossValidation
from maxmargin.selection.leave_one_out.search_record import LeaveOneOutSearch
from maxmargin.selection.search.cross_validation import select_by_folds
from maxmargin.selection.search.task import validation_task

__all__ = ["LiblinearProblem", "cross_validated", "fit_as_liblinear", "search_for_C"]


LARGEST_C = 1024.0  # where LIBLINEAR's search ends
SEED = 0


@dataclass(frozen=True)
class LiblinearProblem:
    """What LIBLINEAR's options name.

    Attributes
    ----------
    solver_type : str
    loss : str
    C : float
    bias : float
        The value of the feature that stands for the offset; below 0 there is none.
    free_bias : bool
        Whether the bias is not penalised.
    class_weight : mapping from label to weight
    tol : float
        The certified relative gap to reach.
    n_jobs : int or None
    """

    solver_type: str
    loss: str
    C: float = 1.0
    bias: float = -1.0
    free_bias: bool = False
    class_weight: Mapping[int, float] | None = None
    tol: float = 1e-4
    n_jobs: int | None = None

    @property
    def is_joint(self) -> bool:
        """Whether all classes have one problem (-s 4)."""
        return self.solver_type == JOINT

    def settings(self) -> dict[str, Any]:
        """Return everything but C and the classes' weights, as `fit_linear` takes it."""
        has_offset = self.bias > 0  # the value 0 adds nothing
        return {
            "loss": self.loss,
            "multi_class": "crammer_singer" if self.is_joint else "one_vs_rest",
            "fit_intercept": has_offset,
            "penalize_intercept": has_offset and not self.free_bias,
            "intercept_scaling": self.bias if has_offset else 1.0,
            "tol": self.tol,
            "n_jobs": self.n_jobs,
        }


def fit_as_liblinear(
    problem: LiblinearProblem,
    data: Data,
    *,
    verbose: int = 0,
    announce: Callable[[Plan], Any] | None = None,
    sample_weight: Any = None,
) -> LinearModel:
    """Fit the rows as LIBLINEAR's options say.

    With several classes a class's weight counts where it is the positive one, and all others count once:
    LIBLINEAR's way, which differs from ours.
    """
    settings: dict[str, Any] = {"C": problem.C, "tries": False, **problem.settings()}
    settings |= {"verbose": verbose, "announce": announce}
    weights = problem.class_weight
    present = data.y if sample_weight is None else data.y[sample_weight > 0]
    n_classes = len(classes_of(present))
    if problem.is_joint and n_classes <= 2:
        settings["C"] *= 2  # of two classes its problem is that of the hinge at twice the C
    if not weights or problem.is_joint or n_classes <= 2:
        return fit_linear(data.X, data.y, class_weight=weights, sample_weight=sample_weight, **settings)
    found = []
    for label in np.unique(present):
        sign = np.where(data.y == label, 1.0, -1.0)
        weight = {1.0: weights.get(int(label), 1.0)}
        found.append(fit_linear(data.X, sign, class_weight=weight, sample_weight=sample_weight, **settings))
        settings["announce"] = None
        if found[-1].interrupted:
            settings["max_iter"] = 1  # the classes that are left get something to predict with, and no time
    return _joined(found, np.unique(present))


def _joined(found: list[LinearModel], classes: NDArray[Any]) -> LinearModel:
    """Return the classes' own models as one of all classes."""

    def all_of(name: str) -> list[Any]:
        return [entry for model in found for entry in getattr(model, name)]

    return replace(
        found[0],
        coef=np.array(all_of("coef")),
        intercept=np.array(all_of("intercept")),
        classes=classes,
        intercept_intervals=all_of("intercept_intervals"),
        certificates=all_of("certificates"),
        statuses=all_of("statuses"),
        plans=all_of("plans"),
        histories=all_of("histories"),
        n_iter=all_of("n_iter"),
        support=None,
        minima=[],
        warm_starts=[],
        agreement_counts=None,
        degenerate=None,
    )


def as_file(problem: LiblinearProblem, model: LinearModel, data: Data) -> LiblinearModel:
    """Return the file that LIBLINEAR would have written: its name of the solver, its order of labels."""
    return to_liblinear(
        model, solver_type=problem.solver_type, labels=labels_in_order(data.y), bias=problem.bias
    )


# ---------------------------------------------------------------- folds


def folds(n_rows: int, n_folds: int) -> list[NDArray[np.intp]]:
    """Return the rows in as many parts as there are folds, in an order that is drawn once and for all."""
    order = np.random.RandomState(SEED).permutation(n_rows)  # the same in every version of NumPy
    return [np.sort(part) for part in np.array_split(order, min(n_folds, n_rows))]


def cross_validated(problem: LiblinearProblem, data: Data, n_folds: int) -> int:
    """Return how many rows are right when predicted by the fit of the other folds."""
    right = 0
    for held_out in folds(data.n_rows, n_folds):
        weight = np.ones(data.n_rows)
        weight[held_out] = 0.0
        model = fit_as_liblinear(problem, data, sample_weight=weight)
        if model.interrupted:
            raise Interrupted("interrupted between the folds")
        right += int(np.count_nonzero(model.predict(data.X[held_out]) == data.y[held_out]))
    return right


@dataclass(frozen=True, eq=False)
class SearchForC:
    """What a search for C found.

    Attributes
    ----------
    Cs : array
        The values that were tried.
    n_right : array
        How many rows were right at each.
    n_rows : int
    table : CrossValidation
    """

    Cs: NDArray[np.float64]
    n_right: NDArray[np.intp]
    n_rows: int
    table: CrossValidation | LeaveOneOutSearch

    @property
    def best(self) -> int:
        """The place of the smallest C with the most rows right."""
        return int(np.argmax(self.n_right))


def search_for_C(  # noqa: N802 - C is the letter's name
    problem: LiblinearProblem, data: Data, n_folds: int, first: float | None
) -> SearchForC:
    """Try C from a small one, doubling, up to 1024, on folds that share the rows.

    Parameters
    ----------
    first : float or None
        The C to begin with; None takes LIBLINEAR's, so small that no row can matter yet.
    """
    if problem.is_joint:
        raise InvalidParameter("-C with -s 4 is not done here, nor by LIBLINEAR: try C's with -c and -v")
    if problem.class_weight and len(data.classes) > 2:
        raise InvalidParameter(
            "-C with -wi and more than two classes is not done here: try one C after the other with -c and -v"
        )
    Cs = np.array(list(doubling(smallest_C(problem, data) if first is None else first)))
    parts = folds(data.n_rows, n_folds)
    splits = [(np.setdiff1d(np.arange(data.n_rows), part), part) for part in parts]
    task = validation_task(data.X, data.y, class_weight=problem.class_weight, **problem.settings())
    found = select_by_folds(task, splits, Cs, judge=JUDGES["error"], rule="best", refit=False)
    if found.status is Status.INTERRUPTED:
        raise Interrupted("interrupted during the search for C")
    sizes = np.array([len(part) for part in parts])
    n_right = np.rint(found.table.scores * sizes).sum(axis=1).astype(np.intp)
    return SearchForC(Cs, n_right, data.n_rows, found.table)


def doubling(first: float) -> Iterator[float]:
    """Yield C, 2C, 4C, … as far as LIBLINEAR's search goes, at least the first."""
    C = min(first, LARGEST_C)
    while C <= LARGEST_C:
        yield C
        C *= 2.0


def smallest_C(problem: LiblinearProblem, data: Data) -> float:  # noqa: N802 - C is the letter's name
    """Return the power of two below which C is so small that all rows are on the slope of their loss."""
    squares = data.X.multiply(data.X).sum(axis=1) if hasattr(data.X, "multiply") else (data.X**2).sum(axis=1)
    largest = float(np.max(squares)) + (problem.bias**2 if problem.bias > 0 else 0.0)
    if not math.isfinite(largest) or largest == 0:
        raise InvalidInput("-C needs rows whose squares are neither all 0 nor beyond double precision")
    slope = 2.0 if problem.loss == "squared_hinge" else 1.0
    return float(2.0 ** math.floor(math.log2(1.0 / (slope * data.n_rows * largest))))
