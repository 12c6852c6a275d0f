"""``maxmargin train --memory``: a fit to rows that are stored on disk once and read from there."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maxmargin.cli.codes import INTERRUPTED
from maxmargin.cli.fitting import settings_of
from maxmargin.cli.options import STANDARD, reading_settings

if TYPE_CHECKING:
    from maxmargin.cli.voice import Voice
    from maxmargin.inputs.row_store import RowStore
    from maxmargin.training.model import LinearModel

__all__ = ["check_memory", "memory_size", "train_stored"]


def memory_size(text: str) -> int:
    """Read an amount of memory."""
    from maxmargin.errors import InvalidParameter
    from maxmargin.inputs.memory_sizes import parse_memory

    try:
        return parse_memory(text)
    except InvalidParameter:
        raise argparse.ArgumentTypeError(
            f'expected an amount with its unit, such as 500MB, 1.5GiB or 64M; found "{text}"'
        ) from None


def check_memory(arguments: argparse.Namespace) -> None:
    """Refuse what does not go with --memory, before a large file is read."""
    from maxmargin.errors import InvalidParameter

    if arguments.dask is not None:
        raise InvalidParameter("--memory is for one machine and --dask for a cluster: leave one of them out")
    without_regulariser = arguments.lam == 0 or (isinstance(arguments.C, float) and math.isinf(arguments.C))
    for is_asked, what, instead in (
        (arguments.data == STANDARD, "the standard input", "name a file"),
        (arguments.C == "auto", "--C auto", "choose C on a part of the rows that fits into memory"),
        (
            arguments.calibrate is not None,
            "--calibrate",
            "--loss logistic has probabilities of its own, or calibrate on a part of the rows",
        ),
        (without_regulariser, "a fit without a regulariser", "give a finite C"),
    ):
        if is_asked:
            raise InvalidParameter(f"--memory does not go with {what}, which takes rows in memory: {instead}")


def train_stored(arguments: argparse.Namespace, voice: Voice, target: Path) -> int:
    """Store the rows, train, report, write."""
    from maxmargin.cli.described import model_fields
    from maxmargin.cli.reading import check_classes
    from maxmargin.cli.streams import write_model
    from maxmargin.cli.train import certificate_line, warn, width_text

    store = stored_rows(arguments, voice)
    check_classes(store.classes, arguments.data, has_label=store.source.get("label") is not None)
    model = fit_stored(arguments, store, voice)
    if model.interrupted:
        voice.note("interrupted: this is the best model so far")
    voice.say(certificate_line(model))
    n_errors = count_errors(model, store)
    accuracy = 1 - n_errors / store.n_rows
    voice.say(f"training accuracy {100 * accuracy:.1f} %, {width_text(model)}")
    training = {"rows": store.n_rows, "errors": n_errors, "accuracy": accuracy}
    voice.result({**model_fields(model), "training": training, "out": target})
    write_model(model, target)
    if target != STANDARD:
        voice.wrote(target)
    return INTERRUPTED if model.interrupted else warn(model, voice)


# ---------------------------------------------------------------- rows


def stored_rows(arguments: argparse.Namespace, voice: Voice) -> RowStore:
    """Return the rows: those of a folder that was stored, else of a file; say where they are."""
    from maxmargin.inputs.row_store import is_row_store, open_store

    source = arguments.data
    if is_row_store(source):
        store, is_old = open_store(source), True
        voice.say(f"read {source}: {store}")
    else:
        store, is_old = stored_file(arguments, voice)
        done = "are in {}, stored before" if is_old else "stored in {}"
        voice.say(f"rows of {source} {done.format(store.folder)}: {store}")
    say_columns(store, arguments, voice)
    where = {"folder": store.folder, "bytes": store.n_bytes, "reused": is_old}
    voice.result({"data": store_fields(store, source), "stored": where})
    return store


def stored_file(arguments: argparse.Namespace, voice: Voice) -> tuple[RowStore, bool]:
    """Return the rows of a file, and whether they were stored before."""
    from maxmargin.inputs.settings import ReadSettings
    from maxmargin.inputs.stored_copy import stored_copy
    from maxmargin.training.memory_plan import check_storing

    settings = ReadSettings(**reading_settings(arguments, but=("cache",)), n_jobs=arguments.jobs)
    place: Any = True if arguments.cache_folder is None else arguments.cache_folder
    check_storing(arguments.data, place, settings, arguments.memory)
    elsewhere = "--cache-folder says where else"
    return stored_copy(arguments.data, settings, place, voice.say, elsewhere)


def say_columns(store: RowStore, arguments: argparse.Namespace, voice: Voice) -> None:
    """Say what was guessed or made of the columns."""
    from maxmargin.cli.reading import label_guess

    guess = label_guess(store.source.get("label"), arguments.label)
    if guess:
        voice.say(guess)
    if store.encoding is not None:
        voice.say(f"columns: {store.encoding}")


def store_fields(store: RowStore, source: Path) -> dict[str, Any]:
    """Return the size of stored rows, their classes and where they were found, as of a file that is read."""
    from maxmargin.cli.described import plain_labels

    counts = class_counts(store)
    return {
        "source": source,
        "rows": store.n_rows,
        "columns": store.n_columns,
        "values": store.n_values if store.is_sparse else None,
        "scheme": store.source.get("scheme"),
        "label": store.source.get("label"),
        "classes": [
            {"label": label, "rows": rows}
            for label, rows in zip(plain_labels(store.classes), counts, strict=True)
        ],
    }


def class_counts(store: RowStore) -> list[int]:
    """Return how many rows each class has."""
    import numpy as np

    at_once = 1 << 20
    counts = np.zeros(len(store.classes), dtype=np.int64)
    for first in range(0, store.n_rows, at_once):
        piece = store.places(slice(first, first + at_once))
        counts += np.bincount(piece, minlength=len(counts))
    return [int(count) for count in counts]


# ---------------------------------------------------------------- the fit


def fit_stored(arguments: argparse.Namespace, store: RowStore, voice: Voice) -> LinearModel:
    """Fit at the C that was given, within the memory that was given."""
    from maxmargin.cli.train import plan_line
    from maxmargin.training.train import fit_linear

    say_memory(arguments, store, voice)
    return fit_linear(
        store,
        C=arguments.C,
        lam=arguments.lam,
        max_iter=arguments.max_iter,
        verbose=int(voice.shows_progress),
        announce=lambda plan: voice.say(plan_line(plan, arguments, store)),
        memory=arguments.memory,
        **settings_of(arguments, store.classes),
    )


def say_memory(arguments: argparse.Namespace, store: RowStore, voice: Voice) -> None:
    """Say how the limit is held, or what the least would be."""
    from maxmargin.rows.cores import resolve_jobs
    from maxmargin.training.stored_fit import memory_plan

    threads = resolve_jobs(arguments.jobs)
    plan = memory_plan(store, arguments.memory, solver=arguments.solver, threads=threads)
    fewer = "" if plan.threads == threads else f"; {plan.threads} of {threads} threads, to hold it"
    voice.say(f"memory: {plan}{fewer}")
    voice.result({"memory": {"limit": plan.limit, "needed": plan.needed, "threads": plan.threads}})


def count_errors(model: LinearModel, store: RowStore) -> int:
    """Return how many rows the model gets wrong, by one pass over them."""
    from maxmargin.inputs.stored_batches import stored_batches

    return sum(int((model.predict(X) != y).sum()) for X, y, *_ in stored_batches(store))
