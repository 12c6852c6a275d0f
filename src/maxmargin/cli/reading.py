"""What is said of data that were read, and what is refused of them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maxmargin.cli.options import STANDARD, read_data

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maxmargin.cli.voice import Voice
    from maxmargin.results.data import Data

__all__ = ["check_classes", "label_guess", "read_classes", "say_what_was_read", "source_text"]

# Names by which `load_data` takes a column for the label.
USUAL_NAMES = ("label", "y", "target", "class")


def source_text(source: Path) -> str:
    """Return what a person calls the source."""
    return "standard input" if source == STANDARD else str(source)


def read_classes(arguments: argparse.Namespace, voice: Voice, *, for_a_fit: bool = False) -> Data:
    """Read what a command learns from, say what it is, and refuse what holds nothing to tell apart."""
    from maxmargin.cli.described import data_fields

    data = read_data(arguments, arguments.data, for_a_fit=for_a_fit)
    say_what_was_read(data, arguments, voice)
    voice.result({"data": data_fields(data, arguments.data)})
    check_classes(data.classes, arguments.data, has_label=data.label is not None)
    return data


def say_what_was_read(data: Data, arguments: argparse.Namespace, voice: Voice) -> None:
    """Say how many rows and columns there are, and what was guessed or made of them."""
    voice.say(f"read {source_text(arguments.data)}: {data}")
    guess = label_guess(data.label, arguments.label)
    if guess:
        voice.say(guess)
    if data.encoding is not None:
        voice.say(f"columns: {data.encoding}")


def label_guess(label: str | int | None, asked: str | int | None) -> str:
    """Say which column was taken for the label where nobody said so; nothing where somebody did."""
    if label is None or asked is not None:
        return ""
    if isinstance(label, str):
        why = "by its name" if label.lower() in USUAL_NAMES else "the last one"
        return f'label guessed: column "{label}", {why}; --label names another'
    return f"label guessed: column {label}, the last one, counted from 0; --label names another"


def check_classes(classes: NDArray[Any], source: Path, *, has_label: bool) -> None:
    """Refuse what holds nothing to tell apart."""
    from maxmargin.errors import InvalidInput
    from maxmargin.results.data import label_text

    if len(classes) < 2:
        only = label_text(classes[0], is_signed=False)
        raise InvalidInput(
            f"{source_text(source)} has one class only ({only}): there is nothing to tell apart"
            + ("; --label names another column" if has_label else "")
        )
