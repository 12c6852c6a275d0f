"""What the commands share: how options are read and how files are named."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from maxmargin.errors import InvalidParameter, MissingFile, UnreadableFile

__all__ = ["check_target", "column", "number", "whole_number"]


def number(text: str) -> float:
    """Read a number."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f'expected a number, found "{text}"') from None


def whole_number(text: str) -> int:
    """Read a whole number."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f'expected a whole number, found "{text}"') from None


def column(text: str) -> str | int:
    """Read a column: its number, counted from 0 and from the end if negative, or else its name."""
    try:
        return int(text)
    except ValueError:
        return text


def check_target(path: Path, *sources: Path) -> None:
    """Refuse a file that cannot be written, or that is one of the sources, before any work is done."""
    if path.is_dir():
        raise UnreadableFile(f"{path} is a folder; a file is expected")
    if not path.parent.is_dir():
        raise MissingFile(f"{path} cannot be written: there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise UnreadableFile(f"{path} cannot be written: no permission to write in {path.parent}")
    for source in sources:
        if path.exists() and source.exists() and path.samefile(source):
            raise InvalidParameter(f"{path} is read by this command and cannot be written by it as well")
