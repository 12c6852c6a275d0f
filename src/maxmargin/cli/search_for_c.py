"""``--C auto``: which values of C are tried, how they are evaluated, and what is printed about it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from maxmargin.cli.fitting import RULES, folds, form_words, grid, settings_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maxmargin.cli.console import Console
    from maxmargin.data import Data
    from maxmargin.model.model import LinearModel
    from maxmargin.selection.search.automatic import Way
    from maxmargin.selection.search.selected import Selected

__all__ = ["add_search", "check_search", "error_lines", "search", "search_fields", "warn_of_search"]

# The default. Larger ones take long where there are many columns, and are hardly ever
# chosen; where one end is the best of them, a line says so.
DECADES = (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)


def add_search(group: Any) -> None:
    """Add the options of the search for C."""
    group.add_argument(
        "--cv",
        type=folds,
        metavar="loo|N",
        help="judge C by exact leave-one-out or in N folds (chosen by the size of the data)",
    )
    group.add_argument(
        "--Cs",
        type=grid,
        metavar="VALUES",
        help="values to try (0.001,0.01,0.1,1,10,100); or how many from 0.0001 to 10,000",
    )
    group.add_argument(
        "--rule", choices=RULES, help="the fewest errors (best), or the smallest C within a standard error"
    )


def check_search(arguments: argparse.Namespace) -> None:
    """Refuse settings of a search that is not made."""
    from maxmargin.errors import InvalidParameter

    if arguments.C == "auto":
        return
    for name in ("cv", "Cs", "rule"):
        if getattr(arguments, name) is not None:
            raise InvalidParameter(f"--{name} says how C is chosen; give --C auto with it")


def search(arguments: argparse.Namespace, data: Data, console: Console) -> tuple[LinearModel, bool]:
    """Choose C by rows left out; return the model at it, and whether something was missed on the way."""
    from maxmargin.fit.alternatives import selected_with_degeneracy
    from maxmargin.fit.sources import with_provenance
    from maxmargin.model.progress import Ticker
    from maxmargin.selection.search.automatic import choose_way, select_C
    from maxmargin.selection.search.task import check_Cs, validation_task

    Cs, _ = check_Cs(DECADES if arguments.Cs is None else arguments.Cs)
    way = choose_way(data.y, arguments.cv)
    console.print(plan_line(way, Cs, arguments, len(data.classes)))
    ticker = Ticker(arguments.tol) if console.shows_progress else None
    task = validation_task(
        data.X,
        data.y,
        data.sample_weight,
        watch=ticker,
        max_iter=arguments.max_iter,
        **settings_of(arguments, data.classes),
    )
    try:
        selected = select_C(task, Cs, way, rule=arguments.rule or "best", calibrate=arguments.calibrate)
    finally:
        if ticker is not None:
            ticker.close()
    if selected.model is None:
        raise AssertionError("a search for C ends with a model")
    console.print(f"searched {selected.table}")
    console.add_fields({"search": search_fields(selected, way)})
    print_if_at_the_end(selected, Cs, console)
    model = selected_with_degeneracy(selected.model, task)
    return with_provenance(model, data), warn_of_search(selected, console)


def plan_line(way: Way, Cs: NDArray[Any], arguments: argparse.Namespace, n_classes: int) -> str:
    """Return the line printed before the search."""
    from maxmargin.presentation.wording import chosen_percent, plural, short

    reason = f" ({way.reason})" if way.reason else ""
    values = f"{plural(len(Cs), 'value')} of C"
    span = f" from {short(Cs.min())} to {short(Cs.max())}" if len(Cs) > 1 else ""
    goal = chosen_percent(arguments.tol)
    what = form_words(arguments, n_classes)
    return f"plan: {values}{span}, judged by {way}{reason}; {what}, to {goal} of the optimum"


def print_if_at_the_end(selected: Selected, Cs: NDArray[Any], console: Console) -> None:
    """Print that a C outside of those that were tried may be better still."""
    from maxmargin.core.solution import Status
    from maxmargin.presentation.wording import short

    if len(Cs) > 1 and selected.status is Status.SOLVED and selected.C in (Cs.min(), Cs.max()):
        which = "smallest" if Cs.min() == selected.C else "largest"
        console.print(f"C = {short(selected.C)} is the {which} that was tried; --Cs can go further")


def warn_of_search(selected: Selected, console: Console) -> bool:
    """Warn of fits within the search that were not finished; the final fit has its own warning."""
    warning = selected.warning(float("inf"))
    if warning is None or (selected.model is not None and selected.model.interrupted):
        return False
    console.warn(warning)
    return True


def error_lines(selected: Selected) -> list[str]:
    """Return a line for each C that was judged, with a mark at the best."""
    from maxmargin.cli.console import aligned
    from maxmargin.presentation.wording import percent
    from maxmargin.selection.leave_one_out.search_record import LeaveOneOutSearch

    table, rows = selected.table, []
    for k, C in enumerate(table.Cs):
        if isinstance(table, LeaveOneOutSearch):
            count = table.counts[k]
            if count is None:
                cells = ["–", "–"]
            else:
                number = f"{count.lower:,}" if count.is_exact else f"{count.lower:,} to {count.upper:,}"
                cells = [number, f"{count.training_errors:,}"]
        else:
            mean, spread = table.mean[k], table.standard_error[k]
            cells = ["–", "–"] if mean != mean else [percent(1 - mean), f"± {percent(spread)}"]
        rows.append([f"{C:.4g}", *cells, "best" if k == selected.index else ""])
    if isinstance(table, LeaveOneOutSearch):
        return aligned(["C", "wrong left out", "wrong in the fit", ""], rows)
    return aligned(["C", "error held out", "standard error", ""], rows)


def search_fields(selected: Selected, way: Way) -> dict[str, Any]:
    """Return what a search found, for machines: one entry per C."""
    table = selected.table.results()
    kept = ("mean_test_score", "least_errors", "most_errors", "training_errors", "max_relative_gap")
    columns = {name: table[name].tolist() for name in kept if name in table}
    return {
        "by": "folds" if way.n_splits else "leave-one-out",
        "folds": way.n_splits or None,
        "reason": way.reason,
        "C": selected.C,
        "candidates": [
            {"C": float(C), **{name: values[k] for name, values in columns.items()}}
            for k, C in enumerate(selected.table.Cs)
        ],
    }
