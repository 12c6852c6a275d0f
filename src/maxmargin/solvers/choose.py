"""Which solver for which problem, with the reason in words.

What a method costs is estimated from the numbers of rows, columns and values, the loss, C and the tolerance;
the cheaper method is taken. `benchmarks/choose.py` measures whether that was right.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from maxmargin.core.problem import Problem
from maxmargin.core.solution import Plan
from maxmargin.errors import UNREGULARISED, InvalidParameter, Setting
from maxmargin.losses.multiclass import JOINT_FORMS
from maxmargin.presentation.wording import plural
from maxmargin.rows.base import inner
from maxmargin.solvers.base import Solver, begin_together, is_small
from maxmargin.solvers.coordinates import mean_of_dense_rows

__all__ = ["BASELINES", "SOLVERS", "choose", "others"]


# ------------------------------------------------------------------------------------------------
# Solvers by their names, each imported when it is asked for: a fit waits for its own method alone.


class SolverTable(Mapping[str, Solver[Any]]):
    """A mapping from names to solvers with their default settings.

    Parameters
    ----------
    **places : str
        For each name the module and the class, ``module.Class``.

    Examples
    --------
    >>> table = SolverTable(newton="newton.Newton")
    >>> list(table), table["newton"].title
    (['newton'], 'Newton')
    """

    def __init__(self, **places: str) -> None:
        self._places = places
        self._made: dict[str, Solver[Any]] = {}

    def __getitem__(self, name: str) -> Solver[Any]:
        if name not in self._made:
            module, kind = self._places[name].rsplit(".", 1)
            self._made[name] = getattr(import_module(f"maxmargin.solvers.{module}"), kind)()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, name: object) -> bool:
        return name in self._places  # without making it


# ------------------------------------------------------------------------------------------------

# Adding a solver is its module and a line here; the contracts then run over it.
SOLVERS = SolverTable(
    dual_descent="dual_descent.DualDescent",
    interior_point="interior_point.InteriorPoint",
    newton="newton.Newton",
    semismooth_newton="semismooth_newton.SemismoothNewton",
    gradient_descent="gradient_descent.GradientDescent",
)

# Slow by nature: there to learn from and to compare with. They are never chosen, and have to be honest only.
BASELINES = frozenset({"gradient_descent"})

# For the losses of all classes at once, under the names of their methods.
JOINT = SolverTable(
    newton="many_classes.softmax_newton.SoftmaxNewton",
    dual_descent="many_classes.class_descent.ClassDescent",
    semismooth_newton="many_classes.class_newton.ClassNewton",
)

# For problems with an L1 term.
WITH_L1 = SolverTable(proximal_newton="proximal_newton.ProximalNewton")

# For problems without ½‖θ‖², under the name of their method.
WITHOUT_REGULARISER = SolverTable(
    newton="maximum_likelihood.MaximumLikelihood", soft_margins="unregularised_hinge.UnregularisedHinge"
)

JOINT_WITHOUT_REGULARISER = SolverTable(
    newton="many_classes.softmax_likelihood.SoftmaxLikelihood",
    soft_margins="many_classes.unregularised_class_hinge.UnregularisedClassHinge",
)


def choose(name: str, problem: Problem, tol: float, n_problems: int = 1) -> tuple[Solver[Any], Plan]:
    """Return the solver of that name, or the one that suits the problem when the name is "auto".

    `n_problems` is how many, with other signs, are to be solved on the same rows.
    """
    known = _known(problem)
    if problem.penalty.l1_ratio > 0:
        known = {key: solver for key, solver in known.items() if problem.loss.name in solver.needs.losses}
        if not known:
            raise InvalidParameter(
                "{setting} is for the logistic loss and the squared hinge of two classes, or of each class "
                "against the rest",
                parameter="l1_ratio",
                value=problem.penalty.l1_ratio,
                remedy="give another loss or multi_class='one_vs_rest'",
            )
    if not known:
        raise InvalidParameter(
            f"{{C}} ({{lam}}) leaves no regulariser, which the {problem.loss.name} loss needs",
            parameter="C",
            value=UNREGULARISED["C"].value,
            remedy="give a finite C",
            **UNREGULARISED,
        )
    if name != "auto" and name not in SOLVERS and name not in known:
        raise InvalidParameter.must_be("solver", f"one of {_listed(SOLVERS)}", name)
    if name != "auto" and name not in known and problem.n_outputs > 1:
        raise InvalidParameter(
            f"solver {name!r} does not solve one problem of all classes",
            parameter="solver",
            value=name,
            remedy=f"solvers that do: {_listed(known)}",
        )
    if name != "auto" and name not in known:
        raise InvalidParameter(
            f"solver {name!r} needs a regulariser, and {{C}} ({{lam}}) leaves none",
            parameter="solver",
            value=name,
            remedy=f"give a finite C or a solver that does without, one of {_listed(known)}",
            **UNREGULARISED,
        )
    is_chosen = name == "auto"
    if is_chosen:
        name, why = _suited_for(problem, tol, n_problems)
    else:
        why = "as asked"
        _refuse_other_losses(known[name], problem)
    _refuse_arrays_elsewhere(known[name], problem)
    return known[name], Plan(known[name].title, why, about=_about(problem), is_chosen=is_chosen)


def others(problem: Problem, solver: Solver[Any]) -> Iterator[Solver[Any]]:
    """Yield the solvers that may go on where the one that suits the problem ended above the tolerance."""
    known = _known(problem)
    for name in known if problem.is_regularised else ():
        if name == solver.name or name in BASELINES or problem.loss.name not in known[name].needs.losses:
            continue
        if problem.rows.vectors_at_hand or not known[name].needs.vectors_at_hand:
            yield known[name]


def _known(problem: Problem) -> Mapping[str, Solver[Any]]:
    if not problem.is_regularised:
        return _without_regulariser(problem)
    if problem.penalty.l1_ratio > 0:
        return WITH_L1 if problem.n_outputs == 1 else {}
    if problem.n_outputs == 1:
        return SOLVERS
    return {name: solver for name, solver in JOINT.items() if problem.loss.name in solver.needs.losses}


def _listed(solvers: Mapping[str, Solver[Any]]) -> str:
    return ", ".join(repr(name) for name in ("auto", *solvers))


def _refuse_other_losses(solver: Solver[Any], problem: Problem) -> None:
    if problem.loss.name in solver.needs.losses:
        return
    able = {name: other for name, other in SOLVERS.items() if problem.loss.name in other.needs.losses}
    raise InvalidParameter(
        f"solver {solver.name!r} does not solve {{loss}}",
        parameter="solver",
        value=solver.name,
        remedy=f"solvers that do: {_listed(able)}",
        loss=Setting("loss", problem.loss.name),
    )


def _refuse_arrays_elsewhere(solver: Solver[Any], problem: Problem) -> None:
    if problem.rows.vectors_at_hand or not solver.needs.vectors_at_hand:
        return
    if not problem.is_regularised:
        raise InvalidParameter(
            "{C} ({lam}) takes rows in memory only",
            parameter="C",
            value=UNREGULARISED["C"].value,
            remedy="give a finite C, or fewer rows as an array",
            **UNREGULARISED,
        )
    able = {name: other for name, other in _known(problem).items() if _runs_on_passes_alone(other, problem)}
    raise InvalidParameter(
        f"solver {solver.name!r} takes rows in memory only",
        parameter="solver",
        value=solver.name,
        remedy=f"solvers for {JOINT_FORMS.get(problem.loss.name, '{loss}')} that take these: {_listed(able)}",
        loss=Setting("loss", problem.loss.name),
    )


def _runs_on_passes_alone(solver: Solver[Any], problem: Problem) -> bool:
    return problem.loss.name in solver.needs.losses and not solver.needs.vectors_at_hand


def _about(problem: Problem) -> str:
    rows = problem.rows
    size = f"{plural(rows.n_rows, 'row')}, {plural(rows.n_columns, 'column')}"
    if problem.n_outputs > 1:
        size += f", {problem.n_outputs:,} classes"
    loss = JOINT_FORMS.get(problem.loss.name, problem.loss.name)
    loss = loss if problem.is_regularised else f"{loss}, unregularised"
    return f"{size}, {loss}, {problem.offset}"


def _without_regulariser(problem: Problem) -> dict[str, Solver[Any]]:
    known = WITHOUT_REGULARISER if problem.n_outputs == 1 else JOINT_WITHOUT_REGULARISER
    return {name: solver for name, solver in known.items() if problem.loss.name in solver.needs.losses}


def _suited_for(problem: Problem, tol: float, n_problems: int) -> tuple[str, str]:
    if not problem.is_regularised:
        return _only_one(problem)
    if problem.penalty.l1_ratio > 0:
        return "proximal_newton", "an L1 term, which leaves most weights 0"
    return _suited(problem, tol, n_problems) if problem.n_outputs == 1 else _suited_jointly(problem)


def _only_one(problem: Problem) -> tuple[str, str]:
    """Return the method for a problem without a regulariser, and the reason."""
    if not problem.loss.is_smooth:
        return "soft_margins", "from some C on they are the shortest minimiser of the hinge itself"
    return "newton", "maximum likelihood has no dual to descend on"


# ---------------------------------------------------------------------- the rule


@dataclass(frozen=True)
class CostModel:
    """What the methods cost, as measured by `benchmarks/choose.py`."""

    # Nanoseconds of one core: reading a value in order, visiting one out of order, what a row costs besides,
    # a multiplication in a Gram matrix or a factor, and a step that does nothing.
    read: float = 0.7
    visit: float = 1.2
    row: float = 20.0
    multiply: float = 0.03
    step: float = 30_000.0
    # Sweeps of dual descent: first · (1 + mean c‖x‖²)^power to two digits, and at most most · rows / columns.
    sweeps: Mapping[str, tuple[float, float, float]] = field(
        default_factory=lambda: {
            "hinge": (7.0, 0.75, 100.0),
            "squared_hinge": (5.0, 0.9, 50.0),
            "logistic": (2.0, 0.6, 20.0),
        }
    )
    few_unknowns: int = 1_500  # of all classes, up to which a system costs less than descent's sweeps
    # Descent on softmax keeps rows × classes numbers. On text of 10,000 rows it needed a tenth of the passes
    # of Newton's method at a mean c‖x‖² of 10, and still fewer at 100.
    most_duals: int = 20_000_000
    rows_per_column: float = 4.0  # at most: where rows are many, the steps of one undo those of others
    largest_weighted_norm2: float = 1_000.0
    # Mean c‖x‖² up to which descent on Crammer–Singer takes less time than systems of few unknowns [0036].
    little_weight: float = 5.0
    # Share of Σ c‖x‖² in the mean of dense rows up to which descent on Crammer–Singer is quick [0039].
    largest_mean: float = 0.8
    few_columns: int = (
        8  # up to which descent on the hinge may take very many sweeps (`_is_slow_for_descent`)
    )


_COSTS = CostModel()


@dataclass(frozen=True)
class _Size:
    """What the estimates are made of: numbers of rows, columns, values; and the mean of c‖x‖²."""

    n: float
    d: float
    values: float
    weighted_norm2: float  # the mean of c‖x‖²: how far one row alone would move its own score
    tol: float

    @property
    def gram(self) -> float:
        """Multiplications in a Gram matrix over all rows."""
        if self.values >= 0.5 * self.n * self.d:
            return self.n * self.d * self.d
        return 4.0 * self.values * self.values / self.n  # scattered, each costs several in order

    @property
    def factor(self) -> float:
        """Multiplications in factorising a system, and what else is done with it."""
        return 0.7 * self.d**3


def _size(problem: Problem, tol: float) -> _Size:
    rows, costs = problem.rows, problem.class_costs
    n = max(costs.n_live, 1)
    values = rows.n_values * n / max(rows.n_rows, 1)
    return _Size(float(n), max(float(rows.n_columns), 1.0), max(values, 1.0), problem.weighted_norm2 / n, tol)


def _suited(problem: Problem, tol: float, n_problems: int) -> tuple[str, str]:
    """Return the method that should be quickest, and the reason."""
    if problem.loss.name != "hinge" and is_small(problem.rows):
        return "newton", "so few values that all digits cost nothing"
    size = _size(problem, tol)
    method = "semismooth_newton" if problem.loss.name == "hinge" else "newton"
    sweeps = _sweeps(problem.loss.name, size)
    of_row = {"hinge": 3.0, "logistic": 10.0}.get(problem.loss.name, 4.0) * _COSTS.row
    descent = sweeps * (_COSTS.visit * size.values + of_row * size.n + _COSTS.step)
    if problem.loss.name == "hinge":
        second_order = _semismooth_cost(size, has_start=begin_together(problem.rows, n_problems))
    else:
        second_order = _newton_cost(size)
    is_quick = descent <= second_order and not _is_slow_for_descent(problem.loss.name, size)
    if is_quick and problem.rows.vectors_at_hand:
        return "dual_descent", _why_descent(size)
    order = f"{size.d + 1:,.0f} × {size.d + 1:,.0f}"
    if size.n > 4.0 * size.d:
        return method, f"far more rows than columns, so one {order} system per step"
    return method, f"one {order} system per step is cheap beside the sweeps of descent"


def _suited_jointly(problem: Problem) -> tuple[str, str]:
    """Return the method for all classes at once, and the reason."""
    rows = problem.rows
    unknowns = problem.n_outputs * (rows.n_columns + 1)
    if problem.loss.name == "softmax":
        if _suits_softmax_descent(problem, unknowns):
            return "dual_descent", "so many columns that steps row by row are cheapest"
        return "newton", "one problem of all classes, whose curvature is smooth"
    is_descent = rows.vectors_at_hand and _is_little_weight(problem)
    if unknowns <= _COSTS.few_unknowns and not is_descent:
        return "semismooth_newton", f"one {unknowns:,} × {unknowns:,} system per step is cheap"
    if not rows.vectors_at_hand:
        return "semismooth_newton", "steps row by row would need the duals of all rows in memory"
    if _is_far_from_origin(problem):
        return "semismooth_newton", "the columns are far from the origin, which slows steps row by row down"
    return "dual_descent", "steps row by row should get there in few sweeps"


def _is_little_weight(problem: Problem) -> bool:
    """Whether losses weigh so little beside the regulariser that few sweeps get there."""
    rows = problem.rows
    return not is_small(rows) and problem.weighted_norm2 <= _COSTS.little_weight * rows.n_rows


def _is_far_from_origin(problem: Problem) -> bool:
    """Whether dense rows have most of Σ c‖x‖² in their mean, and a free offset makes up for that."""
    mean = mean_of_dense_rows(problem, problem.rows)
    if mean is None:
        return False
    return problem.total_cost * inner(mean, mean) > _COSTS.largest_mean * problem.weighted_norm2


def _suits_softmax_descent(problem: Problem, unknowns: int) -> bool:
    rows = problem.rows
    if not rows.vectors_at_hand or rows.n_values == rows.n_rows * rows.n_columns:
        return False
    if unknowns <= _COSTS.few_unknowns or rows.n_rows * problem.n_outputs > _COSTS.most_duals:
        return False
    norm2 = problem.weighted_norm2 / max(rows.n_rows, 1)
    return norm2 <= _COSTS.largest_weighted_norm2 and rows.n_rows <= _COSTS.rows_per_column * rows.n_columns


def _is_slow_for_descent(loss: str, size: _Size) -> bool:
    """Whether rows differ in so few columns that descent may take a thousand sweeps where C is small.

    The mean of c‖x‖² does not tell. On 20 to 2,000 rows of 2 or 5 columns, at C from 0.001 to 100, descent
    took up to 250 ms of one core, the semismooth Newton method never more than 15 ms.
    """
    return loss == "hinge" and size.d <= _COSTS.few_columns and size.n > 4.0 * size.d


def _why_descent(size: _Size) -> str:
    if size.d > 4.0 * size.n or size.factor * _COSTS.multiply > 1e9:
        return "so many columns that steps row by row are cheapest"
    return "steps row by row should get there in few sweeps"


def _sweeps(loss: str, size: _Size) -> float:
    """Return about how many sweeps dual descent takes.

    They grow with c‖x‖² and with the digits; where there are as many columns as rows, the rows are nearly
    independent.
    """
    first, power, most = _COSTS.sweeps[loss]
    digits = (1e-2 / min(size.tol, 1e-2)) ** (0.2 * min(size.weighted_norm2, 1.0))
    return float(min(first * (1.0 + size.weighted_norm2) ** power * digits, most * max(size.n / size.d, 0.2)))


def _semismooth_cost(size: _Size, *, has_start: bool) -> float:
    """Return the nanoseconds of the semismooth Newton method: on large data most steps see a sample only.

    Where the problems of all classes begin together, Gram matrices of nearly all rows are not made.
    """
    if has_start:
        one = _COSTS.read * size.values + _COSTS.row * size.n + _COSTS.multiply * size.factor
        return 25.0 * (one + 6.0 * _COSTS.step) + 12.0 * _COSTS.multiply * size.d**3
    sample = max(4_000.0, 30.0 * size.d, min(size.n / 16.0, 4e6 * size.n / size.values))
    steps = 10.0 + 20.0 * min(1.0, 2.0 * sample / size.n)
    share = min(1.0, 2.0 * sample / size.n)
    one = _COSTS.read * size.values + _COSTS.row * size.n + _COSTS.multiply * size.factor + 6.0 * _COSTS.step
    return steps * one + 9.0 * share * _COSTS.multiply * size.gram


def _newton_cost(size: _Size) -> float:
    """Return the nanoseconds of Newton's method: few steps, each with a Gram matrix or the like."""
    steps = 4.0 if size.n > 4.0 * size.d else 10.0  # where all but everything is separable, more
    one = _COSTS.read * size.values + 2.0 * _COSTS.row * size.n + 6.0 * _COSTS.step
    with_gram = 0.7 * _COSTS.multiply * (size.gram + size.factor)
    with_products = 15.0 * one  # of conjugate gradients
    return steps * (one + min(with_gram, with_products))
