"""Models and texts through the standard input and output, where a file's name is ``-``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeVar

from maxmargin.cli.options import STANDARD

if TYPE_CHECKING:
    from maxmargin.training.model import LinearModel

__all__ = ["read_model", "read_through", "write_model", "write_text", "write_through"]


Read = TypeVar("Read")


def read_model(source: Path) -> LinearModel:
    """Read a model from a file or the standard input."""
    from maxmargin.training.files import load_model

    return read_through(source, load_model)


def read_through(source: Path, read: Callable[[Path], Read]) -> Read:
    """Read a model in a way that wants a file's name, also from the standard input."""
    from maxmargin.errors import ModelFileError

    if source != STANDARD:
        return read(source)
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "standard input"
        copy.write_bytes(sys.stdin.buffer.read())
        try:
            return read(copy)
        except ModelFileError as error:
            raise ModelFileError(str(error).replace(str(copy), "standard input")) from None


def write_model(model: LinearModel, target: Path) -> None:
    """Write a model to a file or the standard output."""
    from maxmargin.training.files import save_model

    write_through(target, lambda path: save_model(model, path))


def write_through(target: Path, write: Callable[[Path], None]) -> None:
    """Write in a way that wants a file's name, also to the standard output."""
    if target != STANDARD:
        write(target)
        return
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "standard output"
        write(copy)
        sys.stdout.buffer.write(copy.read_bytes())
        sys.stdout.buffer.flush()


def write_text(pieces: Iterable[str], target: Path) -> None:
    """Write text to a file, which appears whole or not at all, or to the standard output."""
    from maxmargin.inputs.atomic_file import replacing

    if target == STANDARD:
        sys.stdout.writelines(pieces)
        sys.stdout.flush()
        return
    with replacing(target) as file:
        file.writelines(piece.encode() for piece in pieces)
