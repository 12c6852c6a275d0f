"""Models and texts through the standard input and output, where a file's name is ``-``."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from maxmargin.cli.options import STANDARD

if TYPE_CHECKING:
    from maxmargin.training.model import LinearModel

__all__ = ["read_model", "write_model", "write_text"]


def read_model(source: Path) -> LinearModel:
    """Read a model from a file or the standard input."""
    from maxmargin.errors import ModelFileError
    from maxmargin.training.files import load_model

    if source != STANDARD:
        return load_model(source)
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "standard input"
        copy.write_bytes(sys.stdin.buffer.read())
        try:
            return load_model(copy)
        except ModelFileError as error:
            raise ModelFileError(str(error).replace(str(copy), "standard input")) from None


def write_model(model: LinearModel, target: Path) -> None:
    """Write a model to a file or the standard output."""
    from maxmargin.training.files import save_model

    if target != STANDARD:
        save_model(model, target)
        return
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "standard output"
        save_model(model, copy)
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
