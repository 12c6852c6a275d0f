"""Fitting to rows on disk, in memory that does not grow with their number."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.core.objective import Objective
from maxmargin.core.solution import Plan, Solution, Status, WarmStart
from maxmargin.errors import (
    InvalidInput,
    InvalidParameter,
    MaxMarginError,
    Setting,
    UnreadableFile,
    warn_caller,
)
from maxmargin.fit.memory_plan import MemoryPlan, plan_memory
from maxmargin.io.batches import stored_batches
from maxmargin.io.memory import held_memory
from maxmargin.labels import codes_of
from maxmargin.losses.base import MulticlassLoss
from maxmargin.model.degenerate import Degeneracy, degeneracy_of
from maxmargin.model.model import LinearModel
from maxmargin.model.prepare import StoredTargets, stored_targets
from maxmargin.model.settings import Settings
from maxmargin.model.solve_all import settle, solve_all
from maxmargin.model.solved import model_of
from maxmargin.rows.disk.folders import OwnFolder
from maxmargin.rows.disk.journal import OtherFit, PassJournal, open_journal
from maxmargin.rows.disk.records import DamagedFile, pack, unpack
from maxmargin.rows.disk.rows import DiskRows, MappedRows
from maxmargin.rows.disk.store import RowStore
from maxmargin.solvers.choose import JOINT, SOLVERS
from maxmargin.solvers.run import certified_again

__all__ = ["Checkpoints", "fit_stored", "memory_plan", "refuse_calibration"]


# From this many columns on, if rows are sparse or few, dual descent is a candidate: it needs per-row arrays
# in memory, but no system of as many equations as columns.
_MANY_COLUMNS = 2_000
_FEW_ROWS_A_COLUMN = 4

# A disk that is full or failing; other errors of a fit are not about its files.
_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

# Errors that a damaged journal may cause. An error with another cause occurs again without the journal.
_SIGNS_OF_DAMAGE = (DamagedFile, ArithmeticError, ValueError, TypeError, LookupError, AssertionError)

_ROUNDING = 1e-9  # a generous bound of the relative difference of two passes over the same point


def fit_stored(
    store: RowStore,
    settings: Settings,
    *,
    starts: list[WarmStart | None] | None = None,
    memory: MemoryPlan | None = None,
) -> LinearModel:
    """Fit to rows on disk; a fit of the same rows and settings that was killed is resumed.

    Parameters
    ----------
    store : RowStore
    settings : Settings
    starts : list, optional
        Of an earlier fit in this process.
    memory : MemoryPlan, optional
        What may be held in memory; by `memory_plan`.
    """
    if len(store.classes) < 2:
        raise InvalidInput(f"{store.folder} holds one class, {store.classes[0]!s}; a classifier needs two")
    joint = settings.objective.joint_loss(len(store.classes))
    by_descent = _may_descend(store, settings.solver, joint)
    condensed, why = None, ""
    if memory is not None:
        by_descent, condensed = memory.by_descent, memory.condensed_bytes
        settings = replace(settings, threads=memory.threads)
        if not memory.has_room_for_system and settings.solver == "auto" and joint is None:
            settings = replace(settings, solver="dual_descent")
            why = "in this memory there is no room for a system of as many equations as columns"
    # One class after the other: each pass has all threads, and their order is the journal's.
    fit = _fit_by_descent if by_descent else _fit_by_passes
    announce = settings.announce
    from_disk = replace(settings, announce=announce and (lambda plan: announce(_from_disk(plan, why))))
    model = fit(store, from_disk, starts, condensed)
    settle(model.warm_starts)
    model = replace(model, degenerate=_degeneracy(model, store))
    names = store.feature_names
    return replace(
        model,
        plans=[_from_disk(plan, why) for plan in model.plans],
        feature_names=None if names is None else list(names),
        scheme=str(store.source.get("scheme", model.scheme)),
        label=store.source.get("label"),
        weight=store.source.get("weight"),
        encoding=store.encoding,
    )


def _degeneracy(model: LinearModel, store: RowStore) -> Degeneracy | None:
    """Return what makes the model useless; a useful one shows that by a few of the rows."""
    if any(status is not Status.SOLVED for status in model.statuses):
        return None

    def batches() -> Iterator[tuple[Any, NDArray[np.integer[Any]]]]:
        for X, y, *_ in stored_batches(store):
            known = np.isin(y, model.classes)  # a class whose rows all weigh 0 is none of the model's
            if not known.all():
                X, y = X[known], y[known]
            yield X, codes_of(y, model.classes)

    try:
        return degeneracy_of(model, batches(), store.n_rows)
    except InvalidInput:  # scores that overflow, and predicting will raise the error
        return None


def memory_plan(
    store: RowStore, limit: int, *, solver: str, threads: int, objective: Objective
) -> MemoryPlan:
    """Return how to fit to these rows within a limit in bytes."""
    joint = objective.joint_loss(len(store.classes))
    by_descent = _may_descend(store, solver, joint)
    # Of all classes at once, passes need no system that may be too large.
    may_change = solver == "auto" and (joint is None or by_descent)
    ways = (by_descent, not by_descent) if may_change else (by_descent,)
    return plan_memory(store, limit, held_memory(), threads=threads, ways=ways, joint=joint)


def _from_disk(plan: Plan, why: str) -> Plan:
    """Add to a plan that rows are on disk, and the reason for the method if it is not speed."""
    return replace(plan, reason=f"{why or plan.reason}; rows read from disk")


def _may_descend(store: RowStore, solver: str, joint: MulticlassLoss | None) -> bool:
    """Whether a solver that needs per-row arrays in memory may be chosen, or is the only one."""
    known = SOLVERS if joint is None else JOINT
    if solver != "auto":
        return solver in known and known[solver].needs.vectors_at_hand
    is_wide = store.is_sparse or store.n_rows < _FEW_ROWS_A_COLUMN * store.n_columns
    is_wide = is_wide and store.n_columns > _MANY_COLUMNS
    if joint is None:
        return is_wide
    needs = (each.needs for each in JOINT.values() if joint.name in each.needs.losses)
    return is_wide and any(each.vectors_at_hand for each in needs)


def _fit_by_passes(
    store: RowStore,
    settings: Settings,
    starts: list[WarmStart | None] | None,
    condensed: int | None,
) -> LinearModel:
    """Fit with rows and per-row arrays on disk, and a journal of the passes."""
    journal = None if starts else open_journal(_folder_of(store, settings), _shape(store, settings))

    def fit(settings: Settings) -> LinearModel:
        rows = DiskRows(store, threads=settings.threads, condensed_bytes=condensed, journal=journal)
        targets, solutions = _solved(rows, store, settings, starts)
        if journal is not None and journal.is_resumed:
            rows = DiskRows(store, threads=settings.threads, condensed_bytes=condensed)
            targets, solutions = _confirmed(rows, store, settings, solutions)
        return model_of(solutions, targets, settings, rows)

    try:
        model = (
            fit(settings)
            if journal is None
            else _repeated(fit, settings, journal, _n_problems(store, settings))
        )
    except BaseException as error:
        if journal is not None and isinstance(error, MaxMarginError):
            journal.remove()
        elif journal is not None:  # such as a full disk, or Ctrl-C: keep what was done
            journal.close()
        if isinstance(error, DamagedFile) or (isinstance(error, OSError) and error.errno in _DISK_ERRORS):
            raise UnreadableFile(
                f"the per-row arrays of a fit to {store.folder} cannot be kept on disk: "
                f"{error.strerror or error}. Make room, or use another disk, and start the same fit again"
            ) from error
        raise
    if journal is not None:
        journal.remove()
    return model


def _repeated(
    fit: Callable[[Settings], LinearModel], settings: Settings, journal: PassJournal, n_problems: int
) -> LinearModel:
    """Fit, taking from the journal the passes that it holds; the time for that does not count.

    If a pass is not the one in the journal, either the time limit ended the fit before the whole journal was
    replayed, and more time helps, or the journal belongs to another fit.
    """
    furthest = -1
    if journal.damage:
        _say_afresh(journal.folder.path, journal.damage)
    while True:
        began = time.perf_counter()
        try:
            return fit(settings)
        except OtherFit:
            took, limits = time.perf_counter() - began, settings.limits
            # The first problem has its share of the time, and may keep half of it for the last certificate.
            needed = 4 * n_problems * took
            if limits.max_time is None or (needed <= limits.max_time and journal.n_repeated <= furthest):
                _say_afresh(journal.folder.path, "its journal is of another release, or of other rows")
                journal.clear()  # only time is lost
                continue
            furthest = max(furthest, journal.n_repeated)
            settings = replace(settings, limits=replace(limits, max_time=limits.max_time + needed))
            journal.rewind()
        except _SIGNS_OF_DAMAGE as error:
            if not journal.is_resumed:
                raise
            _say_afresh(journal.folder.path, error)
            journal.clear()


def _say_afresh(folder: Path, why: str | Exception) -> None:
    warn_caller(UserWarning(f"{folder}: the fit that was ended cannot go on and starts afresh; {why}"))


def _confirmed(
    rows: DiskRows, store: RowStore, settings: Settings, solutions: list[Solution]
) -> tuple[StoredTargets, list[Solution]]:
    """Return the solutions of a resumed fit with certificates that do not depend on its journal.

    Only the points are taken from the journal: labels, weights and rows are read again. If the points are not
    as good as the journal says, it does not belong to these rows.
    """
    rows.norms()
    targets = stored_targets(rows, store.classes, settings.objective)
    if targets.n_problems != len(solutions):
        raise DamagedFile("its journal is of other rows")
    found = []
    for k, solution in enumerate(solutions):
        problem = targets.problem(rows, k, settings.objective)
        again = certified_again(problem, solution, settings.limits.tol)
        claimed, proved = solution.certificate, again.certificate
        is_as_good = abs(proved.objective - claimed.objective) <= _ROUNDING * claimed.objective
        if solution.status is Status.SOLVED:
            is_as_good = is_as_good and proved.relative_gap <= settings.limits.tol
        # A fit that was cut short is not repeated, however good it is.
        if not is_as_good and solution.status not in (Status.MAX_TIME, Status.INTERRUPTED, Status.STOPPED):
            raise DamagedFile("its journal is of other rows")
        found.append(again)
    return targets, found


def _fit_by_descent(
    store: RowStore,
    settings: Settings,
    starts: list[WarmStart | None] | None,
    condensed: int | None,
) -> LinearModel:
    """Fit with the rows on disk and per-row arrays in memory, with a checkpoint now and then.

    Checkpoints of a fit that reached its time limit are kept, so that the same fit can be resumed.
    """
    saved = Checkpoints(_folder_of(store, settings), _shape(store, settings))
    rows = MappedRows(store, threads=settings.threads, condensed_bytes=condensed)
    settings = replace(settings, checkpoint=saved.save)
    targets, solutions = _solved(
        rows, store, settings, starts or saved.warm_starts(_n_problems(store, settings))
    )
    model = model_of(solutions, targets, settings, rows)
    if not {Status.MAX_TIME, Status.INTERRUPTED} & set(model.statuses):
        saved.remove()
    return model


def _solved(
    rows: MappedRows, store: RowStore, settings: Settings, starts: list[WarmStart | None] | None
) -> tuple[StoredTargets, list[Solution]]:
    rows.norms()  # finds values that are not finite before anything else is done
    targets = stored_targets(rows, store.classes, settings.objective)
    return targets, solve_all(rows, targets, replace(settings, threads=1), starts)


def _n_problems(store: RowStore, settings: Settings) -> int:
    n_classes = len(store.classes)
    return 1 if n_classes == 2 or settings.objective.joint_loss(n_classes) is not None else n_classes


def _shape(store: RowStore, settings: Settings) -> tuple[int, int, int]:
    """Return the numbers of rows and columns, and of the outputs of a problem."""
    joint = settings.objective.joint_loss(len(store.classes))
    return store.n_rows, store.n_columns, 1 if joint is None else joint.n_outputs


def refuse_calibration(calibrate: str | None) -> None:
    """Refuse to calibrate rows on disk."""
    if calibrate is not None:
        raise InvalidParameter(
            "{setting} takes rows in memory: it asks for every row left out.",
            parameter="calibrate",
            value=calibrate,
            remedy="Calibrate on a part of the rows as an array, or use {logistic}, which has probabilities "
            "of its own",
            logistic=Setting("loss", "logistic"),
        )


def _folder_of(store: RowStore, settings: Settings) -> Path:
    """Return the folder of a fit's journal and checkpoints, which no other fit shares."""
    objective = settings.objective
    said = (
        objective.loss,
        objective.multi_class,
        objective.offset,
        settings.limits.tol,
        settings.limits.max_iter,
        settings.solver,
        settings.seed,
        [("C", objective.C), ("class_weight", objective.class_weight), ("lam", objective.lam)],
        sorted((name, file["crc32"]) for name, file in store.files.items()),
    )
    return store.folder / "fits" / hashlib.sha256(repr(said).encode()).hexdigest()[:16]


# ------------------------------------------------------------------------------------------------
# Checkpoints of a fit by descent, whose state is more than the records of passes.

LARGEST_SHARE = 0.05  # of the time that saving may take
_DRAFT = ".part"


class Checkpoints:
    """The warm start of each problem's fit, in files that appear whole or not at all.

    A fit that begins with such a one goes on from there; it ends at the same optimum within the
    certificate, though not with the same bits. What is damaged, or not this user's own, is as if it were not
    there.

    Parameters
    ----------
    path : Path
        The folder, in the folder of the stored rows; made with the first file.
    shape : tuple of int
        How many rows, columns and outputs there are.
    """

    def __init__(self, path: Path, shape: tuple[int, int, int]) -> None:
        self._path = path
        n_rows, n_columns, n_outputs = shape
        several = () if n_outputs == 1 else (n_outputs,)
        self._shapes = {"alpha": (n_rows, *several), "w": (*several, n_columns), "offset": several}
        # The numbers, and what describes them.
        self._most_bytes = 8 * n_outputs * (n_rows + n_columns + 1) + 4_096
        self._next = 0.0

    def _folder(self) -> OwnFolder:
        return OwnFolder(self._path, inside=OwnFolder(self._path.parent))

    def warm_starts(self, count: int) -> list[WarmStart | None]:
        """Return what was saved for each problem; None where there is nothing to be used."""
        if not self._path.exists():
            return [None] * count
        try:
            folder = self._folder()
            for name in folder.names():
                if name.endswith(_DRAFT):  # of a process that was killed, or of one that does not need it
                    folder.remove(name)
        except OSError:
            return [None] * count
        return [self._load(folder, f"{k}.state") for k in range(count)]

    def _load(self, folder: OwnFolder, name: str) -> WarmStart | None:
        try:
            with os.fdopen(folder.open(name, os.O_RDONLY), "rb") as file:
                content = file.read(self._most_bytes + 1)
            if len(content) > self._most_bytes:
                return None
            found: Any = unpack(content)
        except OSError:  # DamagedFile too
            return None
        return WarmStart(found["w"], found["offset"], found["alpha"]) if self._is_usable(found) else None

    def _is_usable(self, found: Any) -> bool:
        """Whether it has the right parts, and finite numbers only: otherwise a fit might never end."""
        return (
            isinstance(found, dict)
            and found.keys() == self._shapes.keys()
            and all(isinstance(part, np.ndarray | float) for part in found.values())
            and all(np.shape(found[name]) == shape for name, shape in self._shapes.items())
            and all(np.asarray(part).dtype == np.float64 for part in found.values())
            and all(bool(np.isfinite(part).all()) for part in found.values())
        )

    def save(self, k: int, start: WarmStart) -> None:
        """Save the warm start of problem k, unless saving took much of the time lately; never fail a fit."""
        began = time.perf_counter()
        if began < self._next or start.alpha is None:
            return
        offset = start.b if np.ndim(start.b) else float(start.b)
        with suppress(OSError):
            folder, draft = self._folder(), f".{k}.{secrets.token_hex(6)}{_DRAFT}"
            try:
                with os.fdopen(folder.open(draft), "wb") as file:
                    file.write(pack({"alpha": start.alpha, "w": start.w, "offset": offset}))
                folder.rename(draft, f"{k}.state")
            except BaseException:
                folder.remove(draft)
                raise
        now = time.perf_counter()
        self._next = now + (now - began) / LARGEST_SHARE

    def remove(self) -> None:
        """Remove the checkpoints: the fit has ended."""
        if self._path.exists():
            with suppress(OSError):
                self._folder().vanish()
