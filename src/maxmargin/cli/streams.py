"""Models, rows and texts through files or, where a name is ``-``, the standard input and output."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeVar

from maxmargin.cli.options import STANDARD, text_table_settings
from maxmargin.presentation.wording import printable

if TYPE_CHECKING:
    from maxmargin.io.liblinear import LiblinearModel
    from maxmargin.model.model import LinearModel
    from maxmargin.model.reading import RowsForModel

__all__ = [
    "is_model",
    "read_either_model",
    "read_labelled_rows",
    "read_model",
    "read_rows",
    "read_through",
    "write_model",
    "write_out",
    "write_text",
    "write_through",
]

Read = TypeVar("Read")
PIECE = 1 << 20  # bytes


# ---------------------------------------------------------------- models


def read_model(source: Path, data: Path | None = None) -> LinearModel:
    """Read a model, ours or LIBLINEAR's; from the latter comes a classifier that was given, not fitted.

    Parameters
    ----------
    source : Path
    data : Path, optional
        The other file of the command, which may have been meant.
    """
    from maxmargin.model.liblinear import from_liblinear
    from maxmargin.model.model import LinearModel

    found = read_either_model(source, data)
    return found if isinstance(found, LinearModel) else from_liblinear(found)


def read_either_model(source: Path, data: Path | None = None) -> LinearModel | LiblinearModel:
    """Read a model of ours or LIBLINEAR's from a file or the standard input, each as what it is."""
    from maxmargin.errors import ModelFileError
    from maxmargin.model.files import model_from

    try:
        found: LinearModel | LiblinearModel = read_through(source, model_from)
        return found
    except ModelFileError as error:
        if data is not None and data != STANDARD and is_model(data):
            raise ModelFileError(f"{error}, but {data} is one: change their order") from None
        raise


def read_through(source: Path, read: Callable[[Path], Read]) -> Read:
    """Read a model by a function that needs a file name, also from the standard input."""
    from maxmargin.errors import ModelFileError

    if source != STANDARD:
        return read(source)
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "standard input"
        copy.write_bytes(sys.stdin.buffer.read())
        try:
            return read(copy)
        except ModelFileError as error:
            raise error.moved_to("standard input", error.line) from None


def is_model(path: Path) -> bool:
    """Return whether a file begins as models do, ours or LIBLINEAR's."""
    from maxmargin.io.liblinear import is_liblinear_model
    from maxmargin.io.models import is_model_file

    content = beginning(path)
    return is_model_file(content) or is_liblinear_model(content)


def beginning(path: Path) -> bytes:
    """Return the first bytes of a file; nothing where it cannot be read, which its reader will report.

    A pipe has no beginning that could be looked at twice: it is taken for data.
    """
    try:
        if not path.is_file():
            return b""
        with path.open("rb") as file:
            return file.read(1024)
    except OSError:
        return b""


def write_model(model: LinearModel, target: Path) -> None:
    """Write a model to a file or the standard output."""
    from maxmargin.model.files import save_model

    write_through(target, lambda path: save_model(model, path))


def write_through(target: Path, write: Callable[[Path], None]) -> None:
    """Write by a function that needs a file name, also to the standard output."""
    if target != STANDARD:
        write(target)
        return
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "standard output"
        write(copy)
        write_out(copy)


def write_out(copy: Path) -> None:
    """Write a file's bytes to the standard output, all of them.

    Where Python does not buffer it (PYTHONUNBUFFERED), a write may take only a part of what it is given.
    """
    sys.stdout.flush()
    with copy.open("rb") as file:
        while piece := file.read(PIECE):
            left = memoryview(piece)
            while left:
                left = left[sys.stdout.buffer.write(left) :]
    sys.stdout.buffer.flush()


# ---------------------------------------------------------------- rows


def read_rows(
    model: LinearModel,
    arguments: argparse.Namespace,
    source: Path | None = None,
    *,
    own_weights: bool = False,
) -> RowsForModel:
    """Read rows for a model from a file or the standard input, as the options of `add_rows` say.

    Parameters
    ----------
    model : LinearModel
    arguments : argparse.Namespace
    source : Path, optional
        Another file than the command's own.
    own_weights : bool
        Whether to take weights from the column that had them in training, if it is there.
    """
    from maxmargin.model.reading import read_rows_for

    file = source or arguments.data
    opened: Any = sys.stdin.buffer if file == STANDARD else file
    weight = getattr(arguments, "weight", None) if source is None else None
    how = (arguments.label, arguments.unknown, weight)
    return read_rows_for(model, opened, *how, own_weights=own_weights, **text_table_settings(arguments))


def read_labelled_rows(
    model: LinearModel,
    arguments: argparse.Namespace,
    source: Path | None = None,
    *,
    own_weights: bool = False,
) -> RowsForModel:
    """Read rows with their labels; rows without labels are refused."""
    from maxmargin.errors import InvalidInput

    file = source or arguments.data
    rows = read_rows(model, arguments, source, own_weights=own_weights)
    if rows.y is None:
        name = "standard input" if file == STANDARD else file
        raise InvalidInput(f"{name} has no labels: it has as many columns as the model, and no more")
    return rows


# ---------------------------------------------------------------- texts


def write_text(pieces: Iterable[str], target: Path) -> None:
    """Write text to a file, which is written completely or not at all, or to the standard output.

    A terminal is shown control characters in the text; the next program gets the text as it is.
    """
    from maxmargin.rows.disk.atomic import replacing

    if target == STANDARD:
        is_seen = sys.stdout.isatty()
        sys.stdout.writelines(printable(piece, but="\t\n") if is_seen else piece for piece in pieces)
        sys.stdout.flush()
        return
    with replacing(target) as file:
        file.writelines(piece.encode() for piece in pieces)
