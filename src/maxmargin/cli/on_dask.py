"""``maxmargin train --dask``: a fit to a Parquet data set on the workers of a running Dask cluster."""

from __future__ import annotations

import argparse
import logging
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maxmargin.cli.codes import INTERRUPTED, MISSED
from maxmargin.cli.options import STANDARD

if TYPE_CHECKING:
    from maxmargin.cli.voice import Voice
    from maxmargin.inputs.parquet_data import ParquetData
    from maxmargin.results.solution import Plan
    from maxmargin.training.model import LinearModel

__all__ = ["add_dask", "train_on_dask"]

# Settings of files that are read here; the workers read Parquet and nothing else.
_NOT_HERE = ("missing", "header", "zero_based", "n_columns", "skip_bad_lines", "cache", "cache_folder")

# What Dask sets levels for when it is imported.
_LOGGERS = ("distributed", "distributed.client", "distributed.gc", "tornado.application")


def add_dask(group: Any) -> None:
    """Describe the option that names a cluster."""
    group.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="fit on the workers of this Dask scheduler (tcp://host:8786); DATA is a Parquet file, folder or "
        "URL as they see it",
    )


def train_on_dask(arguments: argparse.Namespace, voice: Voice, target: Path) -> int:
    """Connect, train, report, write; nothing is left running on the cluster."""
    from maxmargin.errors import RowsLost
    from maxmargin.inputs.dask_cluster import connected

    source = source_of(arguments)
    with connected(arguments.dask) as client:
        for name in _LOGGERS:
            logging.getLogger(name).setLevel(logging.CRITICAL)  # what matters is said by this command
        workers = client.ncores()
        voice.say(
            f"connected to {arguments.dask}: workers {len(workers):,}, threads {sum(workers.values()):,}"
        )
        try:
            model = fit_on_dask(arguments, source, client, voice)
        except RowsLost as error:
            if error.model is None:
                raise
            model = error.model
            voice.warn(f"{error}".replace("The exception's `model`", "What is written"))
        on = {"address": arguments.dask, "workers": len(workers), "threads": sum(workers.values())}
    return tell(model, target, voice, on)


def source_of(arguments: argparse.Namespace) -> ParquetData:
    """Return the data set that is named; refuse what a cluster cannot do, before anything is asked of it."""
    from maxmargin.errors import InvalidParameter
    from maxmargin.inputs.parquet_data import ParquetData

    if arguments.data == STANDARD:
        raise InvalidParameter("--dask reads files that all workers see; the standard input (-) is none")
    if arguments.format not in (None, "parquet"):
        raise InvalidParameter(f"--dask reads Parquet only; got --format {arguments.format}")
    for name in _NOT_HERE:
        if getattr(arguments, name, None):
            option = name.replace("_", "-")
            raise InvalidParameter(f"--{option} is for files that are read here, not by --dask")
    if arguments.C == "auto" or arguments.calibrate is not None:
        asked = "--C auto" if arguments.C == "auto" else "--calibrate"
        raise InvalidParameter(f"{asked} leaves rows out one by one and takes rows in memory, not --dask")
    if arguments.class_weight not in (None, "balanced"):
        raise InvalidParameter("with --dask, --class-weight takes balanced; --weight names weights of rows")
    return ParquetData(
        url_of(arguments.data),
        label=arguments.label,
        weight=arguments.weight,
        drop=arguments.drop or (),
        categories=arguments.categories or (),
    )


def url_of(path: Path) -> str:
    """Return a path as it was written: paths of this system have no ``//`` inside."""
    return re.sub(r"^([a-z][a-z0-9+.-]+):/(?!/)", r"\1://", str(path)).replace("file://", "file:///")


def fit_on_dask(arguments: argparse.Namespace, source: ParquetData, client: Any, voice: Voice) -> LinearModel:
    """Fit at the C that was given."""
    import numpy as np

    from maxmargin.cli.fitting import settings_of
    from maxmargin.training.train import fit_linear

    return fit_linear(
        source,
        C=arguments.C,
        lam=arguments.lam,
        max_iter=arguments.max_iter,
        verbose=int(voice.shows_progress),
        announce=lambda plan: voice.say(plan_on_dask(plan, arguments)),
        client=client,
        **settings_of(arguments, np.zeros(0)),
    )


def plan_on_dask(plan: Plan, arguments: argparse.Namespace) -> str:
    """Say before the fit what will be done."""
    from maxmargin.results.wording import chosen_percent, short

    strength = f"C = {short(1.0 if arguments.C is None else arguments.C)}"
    if arguments.lam == 0 or (arguments.C is not None and math.isinf(arguments.C)):
        strength = "unregularised"
    elif arguments.lam is not None:
        strength = f"λ = {short(arguments.lam)}"
    goal = chosen_percent(arguments.tol)
    return f"plan: {plan}, {strength}, to {goal} of the optimum"


def tell(model: LinearModel, target: Path, voice: Voice, on: dict[str, Any]) -> int:
    """Say what came out, and write it."""
    from maxmargin.cli.described import model_fields
    from maxmargin.cli.streams import write_model
    from maxmargin.cli.train import certificate_line, warn, width_text
    from maxmargin.results.solution import Status

    if model.interrupted:
        voice.note("interrupted: this is the best model so far")
    voice.say(certificate_line(model))
    voice.say(width_text(model))
    voice.result({**model_fields(model), "dask": on, "out": target})
    write_model(model, target)
    if target != STANDARD:
        voice.wrote(target)
    if model.interrupted:
        return INTERRUPTED
    return MISSED if Status.LOST in model.statuses else warn(model, voice)
