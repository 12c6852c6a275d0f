"""``maxmargin train``: from a file with rows to a file with a certified model."""

from __future__ import annotations

import argparse
import logging
import math
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from maxmargin.cli.codes import DONE, INTERRUPTED, MISSED
from maxmargin.cli.fitting import (
    CALIBRATIONS,
    add_effort,
    add_problem,
    check_effort,
    check_strength,
    form_words,
    multi_class,
    settings_of,
    strength,
)
from maxmargin.cli.options import (
    STANDARD,
    add_command,
    add_common,
    add_data,
    add_reading,
    check_target,
    file_name,
    number,
    reading_settings,
    whole_number,
)
from maxmargin.cli.reading import read_classes
from maxmargin.cli.search_for_c import add_search, check_search, search

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maxmargin.cli.console import Console
    from maxmargin.core.solution import Plan
    from maxmargin.data import Data
    from maxmargin.io.tables.parquet import ParquetData
    from maxmargin.model.model import LinearModel
    from maxmargin.rows.disk.store import RowStore


EXAMPLES = """\
  maxmargin train a9a.svm                      writes a9a.model
  maxmargin train cells.csv --label diagnosis  labels in the column of that name
  maxmargin train a9a.svm --C auto             C chosen by leave-one-out
  maxmargin train a9a.svm --loss logistic --C 0.1 --tol 1e-6 -o small.model
  maxmargin train a9a.svm --calibrate sigmoid  with probabilities for predict
  maxmargin train a9a.svm --max-time 60        the best model after a minute
  maxmargin train cells.csv --memory 4GB       rows larger than memory
  zcat big.gz | maxmargin train - big.model    rows from another program
"""


def add_train(commands: Any) -> None:
    """Describe the command to the parser."""
    parser = add_command(
        commands,
        "train",
        help="fit a model to a data file and certify it",
        description="Fit a linear classifier to a data file and certify it. Options that are not given are "
        "chosen from the data, and the choices are printed. Ctrl-C ends the fit and keeps the best model "
        "so far, once there is one; before that nothing is written.",
        examples=EXAMPLES,
    )
    add_data(parser)
    parser.add_argument(
        "model",
        metavar="MODEL",
        type=file_name,
        nargs="?",
        help="the file to write (DATA's name with .model); - for stdout",
    )
    parser.add_argument("-o", "--out", metavar="MODEL", type=file_name, help="the same")
    problem = parser.add_argument_group("the problem")
    cost = problem.add_mutually_exclusive_group()
    cost.add_argument(
        "-c",
        "--C",
        type=strength,
        help="C of ½‖θ‖² + C Σ loss (1); inf: no regulariser; auto: chosen by leave-one-out or folds",
    )
    cost.add_argument("--lam", type=number, help="λ of λ/2 ‖θ‖² + mean loss instead, C = 1/(λ n)")
    add_problem(problem)
    problem.add_argument(
        "--calibrate", choices=CALIBRATIONS, help="fit probabilities as well, to leave-one-out scores"
    )
    add_search(parser.add_argument_group("choosing C (--C auto)"))
    effort = parser.add_argument_group("the solver")
    add_effort(effort)
    effort.add_argument(
        "--memory",
        metavar="SIZE",
        type=memory_size,
        help="use at most this much memory, such as 500MB: rows are stored next to DATA and read from disk",
    )
    effort.add_argument("--max-iter", type=whole_number, help="stop after this many iterations of the solver")
    add_dask(effort)
    add_reading(parser)
    add_common(parser)
    parser.set_defaults(run=run)


class Trained(NamedTuple):
    """A model, its training errors, and further fields for the JSON object."""

    model: LinearModel
    n_rows: int | None = None
    n_errors: int | None = None  # None where counting them would take another pass over a cluster
    fields: Mapping[str, Any] = MappingProxyType({})
    is_missed: bool = False  # whether the search for C missed something


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Read, train, report, write."""
    target = target_of(arguments, console)
    check_target(target, arguments.data)
    check_settings(arguments)
    if arguments.dask is not None:
        trained = train_on_dask(arguments, console)
    elif is_on_disk(arguments):
        trained = train_stored(arguments, console)
    else:
        trained = train_in_memory(arguments, console)
    if trained.model.is_joint and multi_class(arguments) == "auto":
        from maxmargin.errors import fitted_together

        console.warn(fitted_together(trained.model.multi_class))
    return finish(trained, target, console)


def train_in_memory(arguments: argparse.Namespace, console: Console) -> Trained:
    """Read the rows and train, at the C that was given or at one that is looked for."""
    data = read_classes(arguments, console, for_a_fit=is_one_fit(arguments))
    is_missed = False
    if arguments.C == "auto":
        model, is_missed = search(arguments, data, console)
    else:
        model = fit(arguments, data, data.classes, console, n_rows=data.n_rows)
    n_errors = int((model.predict(data.X) != data.y).sum())
    return Trained(model, data.n_rows, n_errors, is_missed=is_missed)


def finish(trained: Trained, target: Path, console: Console) -> int:
    """Print the results, write the model, and return the exit code."""
    from maxmargin.cli.json_fields import model_fields
    from maxmargin.cli.streams import write_model

    model = trained.model
    if model.interrupted:
        console.print_stderr("interrupted: this is the best model so far")
    console.print(certificate_line(model))
    quality = quality_line(trained)
    if quality:
        console.print(quality)
    if model.calibration is not None:
        console.print(f"calibrated: {model.calibration}")
    console.add_fields({**model_fields(model), **training_fields(trained), **trained.fields, "out": target})
    write_model(model, target)
    if target != STANDARD:
        console.wrote(target)
    if model.interrupted:
        return INTERRUPTED
    return max(warn(model, console), MISSED if trained.is_missed else DONE)


def is_one_fit(arguments: argparse.Namespace) -> bool:
    """Return whether there is one regularised fit to do, and nothing else to do with its rows."""
    if arguments.C == "auto" or arguments.calibrate is not None:
        return False
    return arguments.lam != 0 and (arguments.C is None or math.isfinite(arguments.C))


def fit(
    arguments: argparse.Namespace,
    source: Data | RowStore | ParquetData,
    classes: NDArray[Any],
    console: Console,
    *,
    n_rows: int | None,
    **where: Any,
) -> LinearModel:
    """Fit at the C that was given, to rows wherever they are."""
    from maxmargin.fit.train import fit_linear

    return fit_linear(
        source,
        C=arguments.C,
        lam=arguments.lam,
        max_iter=arguments.max_iter,
        calibrate=arguments.calibrate,
        verbose=int(console.shows_progress),
        announce=lambda plan: console.print(plan_line(plan, arguments, len(classes), n_rows)),
        **where,
        **settings_of(arguments, classes),
    )


def target_of(arguments: argparse.Namespace, console: Console) -> Path:
    """Return where the model goes: one place, and not where the JSON object goes."""
    from maxmargin.errors import InvalidParameter

    if arguments.model is not None and arguments.out is not None:
        raise InvalidParameter(f"the model can go to one place: {arguments.model} or --out {arguments.out}")
    target = arguments.out or arguments.model
    if target is None:
        if arguments.data == STANDARD:
            raise InvalidParameter(
                "rows from the standard input have no name: name the model file with -o MODEL"
            )
        return default_target(arguments.data)
    if target == STANDARD:
        if console.json:
            raise InvalidParameter(
                "--json and a model (-) cannot both go to the standard output; name a file"
            )
        console.reserve_stdout()
    if Path(target).suffix.lower() == ".onnx":
        raise InvalidParameter(f"{target}: train writes models; then maxmargin convert MODEL {target}")
    return Path(target)


def default_target(data: Path) -> Path:
    """Return the model's file in the current folder: a9a.model for somewhere/a9a.svm.xz."""
    from maxmargin.io.open import compression_of

    unpacked = Path(data.stem) if compression_of(data) else Path(data.name)
    return Path(unpacked.stem + ".model")


def check_settings(arguments: argparse.Namespace) -> None:
    """Refuse wrong settings before a large file is read."""
    from maxmargin.errors import InvalidParameter

    check_effort(arguments)
    if arguments.memory is not None and arguments.dask is not None:
        raise InvalidParameter("--memory is for one machine and --dask for a cluster: leave one of them out")
    if arguments.dask is None and is_on_disk(arguments):
        check_stored(arguments)
    check_search(arguments)
    if arguments.C != "auto":
        check_strength(arguments.C, arguments.lam, arguments.loss)


# ---------------------------------------------------------------- output


def plan_line(plan: Plan, arguments: argparse.Namespace, n_classes: int, n_rows: int | None) -> str:
    """Return the line printed before the fit; without `n_rows`, of a cluster, the plan has the counts."""
    from maxmargin.presentation.wording import chosen_percent, short

    C = 1.0 if arguments.C is None else arguments.C
    strength = f"C = {short(C)}"
    if arguments.lam == 0 or math.isinf(C):
        strength = "unregularised"
    elif arguments.lam is not None:
        as_C = "" if n_rows is None else f" (C = {short(1.0 / (arguments.lam * n_rows))})"
        strength = f"λ = {short(arguments.lam)}{as_C}"
    why = plan.reason if n_rows is not None else f"{plan.about}; {plan.reason}"
    goal = chosen_percent(arguments.tol)
    what = form_words(arguments, n_classes)
    return f"plan: {plan.solver} ({why}), {what}, {strength}, to {goal} of the optimum"


def certificate_line(model: LinearModel) -> str:
    """Return the line on the certificate."""
    from maxmargin.presentation.wording import plural

    several = f" (the worst of {len(model.classes)} classes)" if len(model.certificates) > 1 else ""
    if model.is_joint:
        several = f" (all {len(model.classes):,} classes together)"
    iterations = plural(sum(model.n_iter), "iteration")
    assert model.certificate is not None
    proved = model.certificate.verdict
    verdict = proved if proved.startswith("no bound") else f"certified {proved}"
    return f"{verdict}{several} after {iterations}"


def quality_line(trained: Trained) -> str:
    """Return the line on training accuracy, where it was counted, margin and support vectors."""
    from maxmargin.presentation.wording import plural

    model = trained.model
    parts = [] if model.is_joint else [width_text(model)]  # there a class has no margin of its own
    if trained.n_errors is not None and trained.n_rows:
        parts.insert(0, f"training accuracy {100 * (1 - trained.n_errors / trained.n_rows):.1f} %")
    if model.support is not None:
        on_margin = f" ({int(model.support.n_free[0]):,} on the margin)" if len(model.classes) == 2 else ""
        parts.append(plural(len(model.support.indices), "support vector") + on_margin)
    return ", ".join(parts)


def width_text(model: LinearModel) -> str:
    """Return the margin width, or the range of them for several classes."""
    widths = model.margin
    if len(widths) == 1:
        return f"margin width {widths[0]:.3g}"
    return f"margin widths {widths.min():.3g} to {widths.max():.3g}"


def training_fields(trained: Trained) -> dict[str, Any]:
    """Return the training accuracy as a field of the JSON object."""
    n_rows, n_errors = trained.n_rows, trained.n_errors
    if n_rows is None or n_errors is None:
        return {}
    return {"training": {"rows": n_rows, "errors": n_errors, "accuracy": 1 - n_errors / n_rows}}


def warn(model: LinearModel, console: Console) -> int:
    """Warn of a goal that was missed; return the exit code."""
    from maxmargin.core.solution import Status

    if Status.LOST in model.statuses:  # of which was warned when it happened
        return MISSED
    if model.uncalibrated:
        console.warn(model.calibration_warning())
    if model.degenerate is not None:
        console.warn(model.degenerate.warning(model))
    warning = model.warning()
    if warning is not None:
        console.warn(warning)
    return DONE if warning is None and not model.uncalibrated else MISSED


# ------------------------------------------------------------------------------------------------
# ``maxmargin train --memory``, or a folder of stored rows: a fit to rows that are read from disk.


def memory_size(text: str) -> int:
    """Read an amount of memory."""
    from maxmargin.errors import InvalidParameter
    from maxmargin.io.memory import parse_memory

    try:
        return parse_memory(text)
    except InvalidParameter:
        raise argparse.ArgumentTypeError(
            f'expected an amount with its unit, such as 500MB, 1.5GiB or 64M; found "{text}"'
        ) from None


def is_on_disk(arguments: argparse.Namespace) -> bool:
    """Return whether rows are read from disk in every pass; refuse a folder that holds no stored rows."""
    from maxmargin.errors import UnreadableFile

    if not arguments.data.is_dir():
        return arguments.memory is not None
    from maxmargin.rows.disk.store import is_row_store

    if not is_row_store(arguments.data):
        raise UnreadableFile(
            f"{arguments.data} is a folder and holds no stored rows: name a file in it, or fit a folder of "
            "Parquet files on a cluster with --dask ADDRESS"
        )
    return True


def check_stored(arguments: argparse.Namespace) -> None:
    """Refuse what does not go with rows on disk, before a large file is read."""
    from maxmargin.errors import InvalidParameter

    name = "stored rows do" if arguments.memory is None else "--memory does"
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
            raise InvalidParameter(f"{name} not work with {what}, which needs the rows in memory: {instead}")


def train_stored(arguments: argparse.Namespace, console: Console) -> Trained:
    """Store the rows, unless they are stored already, and train within the limit of --memory, if any."""
    from maxmargin.cli.reading import check_classes

    store = stored_rows(arguments, console)
    has_label = store.source.get("label") is not None
    check_classes(store.classes, arguments.data, class_counts(store), has_label=has_label)
    if arguments.memory is not None:
        print_memory(arguments, store, console)
    model = fit(arguments, store, store.classes, console, n_rows=store.n_rows, memory=arguments.memory)
    return Trained(model, store.n_rows, count_errors(model, store))


# ---------------------------------------------------------------- rows


def stored_rows(arguments: argparse.Namespace, console: Console) -> RowStore:
    """Return the rows: those of a folder that was stored, else of a file; print where they are."""
    from maxmargin.rows.disk.store import is_row_store, open_store

    source = arguments.data
    if is_row_store(source):
        store, is_old = open_store(source), True
        console.print(f"read {source}: {store}")
    else:
        store, is_old = stored_file(arguments, console)
        done = "are already stored in {}" if is_old else "stored in {}"
        console.print(f"rows of {source} {done.format(store.folder)}: {store}")
    print_columns(store, arguments, console)
    where = {"folder": store.folder, "bytes": store.n_bytes, "reused": is_old}
    console.add_fields({"data": store_fields(store, source), "stored": where})
    return store


def stored_file(arguments: argparse.Namespace, console: Console) -> tuple[RowStore, bool]:
    """Return the rows of a file, and whether they were stored before."""
    from maxmargin.fit.memory_plan import check_storing
    from maxmargin.io.settings import ReadSettings
    from maxmargin.io.stored_copy import stored_copy

    settings = ReadSettings(**reading_settings(arguments, but=("cache",)), n_jobs=arguments.jobs)
    place: Any = True if arguments.cache_folder is None else arguments.cache_folder
    check_storing(arguments.data, place, settings, arguments.memory)
    elsewhere = "--cache-folder names another place"
    return stored_copy(arguments.data, settings, place, console.print, elsewhere)


def print_columns(store: RowStore, arguments: argparse.Namespace, console: Console) -> None:
    """Print what was inferred about the columns."""
    from maxmargin.cli.reading import label_guess

    guess = label_guess(store.source.get("label"), arguments.label)
    if guess and not arguments.data.is_dir():  # which column it is was decided when the rows were stored
        console.print(guess)
    if store.encoding is not None:
        console.print(f"columns: {store.encoding}")


def store_fields(store: RowStore, source: Path) -> dict[str, Any]:
    """Return the size of stored rows, their classes and where they were found, as of a file that is read."""
    from maxmargin.cli.json_fields import plain_labels

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


def print_memory(arguments: argparse.Namespace, store: RowStore, console: Console) -> None:
    """Print how the limit is kept, or what the least would be."""
    from maxmargin.core.objective import Objective, multi_class_of
    from maxmargin.fit.stored import memory_plan
    from maxmargin.rows.cores import resolve_jobs

    threads = resolve_jobs(arguments.jobs)
    form = multi_class_of(multi_class(arguments), arguments.loss)
    objective = Objective(arguments.loss, multi_class=form)
    plan = memory_plan(store, arguments.memory, solver=arguments.solver, threads=threads, objective=objective)
    fewer = "" if plan.threads == threads else f"; {plan.threads} of {threads} threads, to keep the limit"
    console.print(f"memory: {plan}{fewer}")
    console.add_fields({"memory": {"limit": plan.limit, "needed": plan.needed, "threads": plan.threads}})


def count_errors(model: LinearModel, store: RowStore) -> int:
    """Return how many rows the model gets wrong, by one pass over them."""
    from maxmargin.io.batches import stored_batches

    return sum(int((model.predict(X) != y).sum()) for X, y, *_ in stored_batches(store))


# ------------------------------------------------------------------------------------------------
# ``maxmargin train --dask``: a fit to a Parquet data set on the workers of a running Dask cluster.

# Settings of files that are read here; the workers read Parquet and nothing else.
_NOT_HERE = (
    *("missing", "header", "separator", "decimal", "encoding", "na", "comment", "zero_based", "n_columns"),
    *("skip_bad_lines", "cache", "cache_folder"),
)

# What Dask sets levels for when it is imported.
_LOGGERS = ("distributed", "distributed.client", "distributed.gc", "tornado.application")


def add_dask(group: Any) -> None:
    """Describe the option that names a cluster."""
    group.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="fit on the workers of this Dask scheduler (tcp://host:8786); DATA is a Parquet file, folder or "
        "URL that the workers can read",
    )


def train_on_dask(arguments: argparse.Namespace, console: Console) -> Trained:
    """Connect and train; nothing is left running on the cluster."""
    import numpy as np

    from maxmargin.errors import RowsLost
    from maxmargin.rows.dask.cluster import connected

    source = source_of(arguments)
    with connected(arguments.dask) as client:
        for name in _LOGGERS:
            logging.getLogger(name).setLevel(logging.CRITICAL)  # this command prints what matters
        workers = client.ncores()
        console.print(
            f"connected to {arguments.dask}: workers {len(workers):,}, threads {sum(workers.values()):,}"
        )
        try:
            model = fit(arguments, source, np.zeros(0), console, n_rows=None, client=client)
        except RowsLost as error:
            if error.model is None:
                raise
            model = error.model
            console.warn(error)
        on = {"address": arguments.dask, "workers": len(workers), "threads": sum(workers.values())}
    return Trained(model, fields={"dask": on})


def source_of(arguments: argparse.Namespace) -> ParquetData:
    """Return the data set that is named; refuse what a cluster cannot do, before anything is asked of it."""
    from maxmargin.errors import InvalidParameter
    from maxmargin.io.tables.parquet import ParquetData

    if arguments.data == STANDARD:
        raise InvalidParameter("--dask reads files that all workers can see, not the standard input (-)")
    if arguments.format not in (None, "parquet"):
        raise InvalidParameter(f"--dask reads Parquet only; got --format {arguments.format}")
    for name in _NOT_HERE:
        if getattr(arguments, name, None):
            option = name.replace("_", "-")
            raise InvalidParameter(f"--{option} is for files that are read on this machine, not by --dask")
    if arguments.C == "auto" or arguments.calibrate is not None:
        asked = "--C auto" if arguments.C == "auto" else "--calibrate"
        raise InvalidParameter(
            f"{asked} leaves rows out one by one and needs them in memory, so it does not work with --dask"
        )
    if arguments.class_weight not in (None, "balanced"):
        raise InvalidParameter(
            "with --dask, --class-weight must be balanced; --weight names a column of sample weights"
        )
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
