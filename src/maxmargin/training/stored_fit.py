"""Fitting to rows on disk, in memory that does not grow with their number."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.inputs.disk_rows import DiskRows
from maxmargin.inputs.pass_journal import OtherFit, PassJournal, open_journal
from maxmargin.inputs.row_store import RowStore
from maxmargin.training.model import LinearModel
from maxmargin.training.one_vs_rest import solve_all
from maxmargin.training.settings import Settings
from maxmargin.training.solved_model import model_of
from maxmargin.training.stored_targets import stored_targets

__all__ = ["fit_stored", "refuse_calibration"]


def fit_stored(
    store: RowStore, settings: Settings, *, costs: dict[str, Any], memories: list[Any] | None = None
) -> LinearModel:
    """Fit to rows on disk; a fit of the same rows and settings that was killed goes on where it was.

    Parameters
    ----------
    store : RowStore
    settings : Settings
    costs : dict
        C, lam and class_weight, as the user gave them.
    memories : list, optional
        Of an earlier fit in this process.
    """
    if len(store.classes) < 2:
        raise InvalidInput(f"{store.folder} holds one class, {store.classes[0]!s}; a classifier needs two")
    journal = None if memories else open_journal(store.folder, _name_of_fit(store, settings, costs))
    try:
        model = _fit(store, settings, costs, memories, journal)
    except OtherFit:  # say, the journal of another release: nothing is lost but time
        assert journal is not None
        journal.clear()
        model = _fit(store, settings, costs, None, journal)
    finally:
        if journal is not None:
            journal.remove()
    names = store.feature_names
    return replace(model, feature_names=None if names is None else list(names), encoding=store.encoding)


def refuse_calibration(calibrate: str | None) -> None:
    """Say why there are no probabilities."""
    if calibrate is not None:
        raise InvalidParameter(
            f"calibrate={calibrate!r} takes rows in memory: it asks for every row left out. Calibrate on a "
            'part of the rows as an array, or use loss="logistic", which has probabilities of its own'
        )


def _fit(
    store: RowStore,
    settings: Settings,
    costs: dict[str, Any],
    memories: list[Any] | None,
    journal: PassJournal | None,
) -> LinearModel:
    rows = DiskRows(store, threads=settings.threads, journal=journal)
    rows.norms()  # finds values that are not finite before anything else is done
    targets = stored_targets(rows, store.classes, loss=settings.loss, **costs)
    # One class after the other: each pass has all threads, and their order is the journal's.
    solutions = solve_all(rows, targets, replace(settings, threads=1), memories)
    return model_of(solutions, targets, settings, rows)


def _name_of_fit(store: RowStore, settings: Settings, costs: dict[str, Any]) -> str:
    """Return a name that another fit would not have."""
    said = (
        settings.loss,
        settings.offset,
        settings.limits.tol,
        settings.limits.max_iter,
        settings.solver,
        settings.seed,
        sorted(costs.items()),
        sorted((name, file["crc32"]) for name, file in store.files.items()),
    )
    return hashlib.sha256(repr(said).encode()).hexdigest()[:16]
