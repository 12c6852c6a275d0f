"""What the commands share: how they are described, how options are read and how files are named."""

from __future__ import annotations

import argparse
import math
import os
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maxmargin.cli.codes import IN_SHORT
from maxmargin.errors import InvalidParameter, MissingFile, UnreadableFile

if TYPE_CHECKING:
    from maxmargin.data import Data

__all__ = [
    "FORMATS",
    "MISSING_RULES",
    "STANDARD",
    "UNKNOWN_RULES",
    "add_command",
    "add_common",
    "add_data",
    "add_reading",
    "add_row_options",
    "add_rows",
    "check_sources",
    "check_target",
    "column",
    "file_name",
    "number",
    "read_data",
    "text_table_settings",
    "whole_number",
]

# As in io.settings, which cannot be imported before a command runs; tests compare them.
FORMATS = ("libsvm", "csv", "parquet", "arrow", "npz", "npy")
MISSING_RULES = ("refuse", "mean", "median", "most_frequent")
UNKNOWN_RULES = ("refuse", "zeros")

WIDTH = 78  # of descriptions in a help text; the options are wrapped by argparse to what the terminal has
STANDARD = Path("-")  # the standard input or output, in place of a file


# ---------------------------------------------------------------- a command and its options


def add_command(
    commands: Any, name: str, *, help: str, description: str, examples: str = ""
) -> argparse.ArgumentParser:
    """Describe a command to the parser, with examples and exit codes at the end of its help."""
    shown = f"examples:\n{examples}\n" if examples else ""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=help,
        description=textwrap.fill(description, WIDTH),
        epilog=shown + IN_SHORT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    return parser


def add_common(parser: Any) -> None:
    """Describe the options that every command has."""
    group = parser.add_argument_group("output")
    group.add_argument("-q", "--quiet", action="store_true", help="print nothing but warnings and errors")
    group.add_argument(
        "--json", action="store_true", help="print one JSON object on the standard output at the end"
    )


def add_reading(parser: Any) -> None:
    """Add the options that control how data files are read."""
    group = parser.add_argument_group("reading the data")
    group.add_argument(
        "--format", choices=FORMATS, help="file format (default: by the file's name, else its content)"
    )
    group.add_argument(
        "--label",
        metavar="COLUMN",
        type=column,
        help="the column with the labels, by name or by number from 0",
    )
    group.add_argument("--weight", metavar="COLUMN", type=column, help="the column with the sample weights")
    group.add_argument(
        "--missing",
        choices=MISSING_RULES,
        help="how missing values are replaced, column by column (default: they are an error)",
    )
    group.add_argument(
        "--drop",
        metavar="COLUMN",
        type=column,
        action="append",
        help="a column to leave out; may be repeated",
    )
    group.add_argument(
        "--category",
        metavar="COLUMN",
        type=column,
        action="append",
        dest="categories",
        help="a column whose numbers stand for categories; may be repeated",
    )
    group.add_argument(
        "--header",
        choices=("auto", "yes", "no"),
        help="whether the first line of a text table holds names (auto)",
    )
    add_text_table(group)
    group.add_argument(
        "--zero-based", choices=("auto", "yes", "no"), help="whether LIBSVM text counts columns from 0 (auto)"
    )
    group.add_argument(
        "--n-columns",
        metavar="N",
        type=whole_number,
        help="the number of columns of LIBSVM text, where the last ones may be unused",
    )
    group.add_argument(
        "--skip-bad-lines",
        action="store_true",
        help="skip lines that cannot be read, and count them (for missing values see --missing)",
    )
    group.add_argument(
        "--cache",
        action="store_true",
        help="keep a binary copy beside the file, and read it as long as it is up to date",
    )
    group.add_argument("--cache-folder", metavar="FOLDER", type=Path, help="keep it in this folder instead")


def add_text_table(group: Any) -> None:
    """Describe the options that say how a text table (CSV) is written."""
    group.add_argument(
        "--separator",
        metavar="CHARACTER",
        type=separator,
        help="between the fields of a text table (tab, semicolon or comma, whichever it has)",
    )
    group.add_argument(
        "--decimal", metavar="MARK", choices=(".", ","), help="in numbers of a text table: . or , (.)"
    )
    group.add_argument("--encoding", metavar="NAME", help="of a text table, such as latin-1 (utf-8)")
    group.add_argument(
        "--na",
        metavar="TEXT",
        action="append",
        help="stands for a missing value in a text table, in place of NA, NaN, ? and the like; "
        "may be given again",
    )
    group.add_argument(
        "--comment", metavar="CHARACTER", help="begins a comment in a text table, up to the end of the line"
    )


def add_data(parser: Any) -> None:
    """Describe the file that a command reads."""
    parser.add_argument(
        "data", metavar="DATA", type=file_name, help="LIBSVM text or a table, compressed or not; - for stdin"
    )


def add_rows(parser: Any) -> None:
    """Describe the file with rows for a model, which knows how it is read."""
    add_data(parser)
    add_row_options(parser)


def add_row_options(parser: Any) -> None:
    """Describe what a model does not know about a further file with rows."""
    parser.add_argument(
        "--label",
        metavar="COLUMN",
        type=column,
        help="the column with the labels in a table, by name or by number from 0 (as in training)",
    )
    parser.add_argument(
        "--unknown",
        choices=UNKNOWN_RULES,
        default="refuse",
        help="how categories that training did not see are treated (refuse)",
    )
    add_text_table(
        parser.add_argument_group(
            "how a text table is written",
            textwrap.fill(
                "A model does not remember these options: if training needed them, a file that is written "
                "the same way needs them again.",
                WIDTH - 2,
            ),
        )
    )


# ---------------------------------------------------------------- single options


def number(text: str) -> float:
    """Read a number; infinity only by its name."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f'expected a number, found "{text}"') from None
    if math.isinf(value) and any(letter.isdigit() for letter in text):
        raise argparse.ArgumentTypeError(f"{text} is beyond floating point")
    return value


def whole_number(text: str) -> int:
    """Read a whole number."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f'expected a whole number, found "{text}"') from None


def separator(text: str) -> str:
    """Read what is between fields; a tab, which is hard to type, also by its name."""
    return "\t" if text in ("tab", "\\t") else text


def column(text: str) -> str | int:
    """Read a column: its number, counted from 0 and from the end if negative, or else its name."""
    try:
        return int(text)
    except ValueError:
        return text


def file_name(text: str) -> Path:
    """Read the name of a file; ``-`` is the standard input or output, and ``./-`` a file of that name."""
    if not text:
        raise argparse.ArgumentTypeError("the name of a file is expected, found an empty one")
    path = Path(text)
    return Path.cwd() / path if path == STANDARD and text != "-" else path


# ---------------------------------------------------------------- files


def check_target(path: Path, *sources: Path | None) -> None:
    """Refuse a file that cannot be written, or that is one of the sources, before any work is done."""
    if path == STANDARD:
        return
    if path.is_dir():
        raise UnreadableFile(f"{path} is a folder; a file is expected")
    if not path.parent.is_dir():
        raise MissingFile(f"{path} cannot be written: there is no folder {path.parent}")
    is_special = path.exists() and not path.is_file()  # a pipe or a device, which is opened and not replaced
    folder = Path(os.path.realpath(path)).parent if path.is_symlink() else path.parent
    if not os.access(path if is_special else folder, os.W_OK):
        where = "" if is_special else f" to write in {path.parent}"
        raise UnreadableFile(f"{path} cannot be written: no permission{where}")
    for source in sources:
        if source is not None and path.exists() and source.exists() and path.samefile(source):
            raise InvalidParameter(f"{path} is read by this command and cannot be written by it as well")


def check_sources(*sources: Path | None) -> None:
    """Refuse to read two things from the standard input."""
    if sum(source == STANDARD for source in sources) > 1:
        raise InvalidParameter("the standard input (-) can be read once only; name a file for the other")


def read_data(arguments: argparse.Namespace, source: Path, *, for_a_fit: bool = False) -> Data:
    """Read a data file, or the standard input, as the options of `add_reading` say.

    For a fit alone sparse rows stay plain arrays: importing SciPy may take longer than fitting.
    """
    from maxmargin.io.load import load_data, load_rows

    settings = reading_settings(arguments)
    if source == STANDARD and "cache" in settings:
        option = "--cache" if settings["cache"] is True else "--cache-folder"
        raise InvalidParameter(f"{option} is for files that have a name, not for the standard input")
    opened: Any = sys.stdin.buffer if source == STANDARD else source
    return (load_rows if for_a_fit else load_data)(opened, **settings)


def text_table_settings(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what the options of `add_text_table` say, by the names that `load_data` has for it."""
    given = {name: getattr(arguments, name, None) for name in ("separator", "decimal", "na", "comment")}
    given["text_encoding"] = getattr(arguments, "encoding", None)
    return {name: value for name, value in given.items() if value is not None}


def reading_settings(arguments: argparse.Namespace, but: Iterable[str] = ()) -> dict[str, Any]:
    """Return the options that were given as arguments of `load_data`."""
    given = {
        name: getattr(arguments, name, None)
        for name in ("format", "label", "weight", "missing", "drop", "categories", "n_columns")
    }
    for name in ("header", "zero_based"):
        answer = getattr(arguments, name, None)
        given[name] = None if answer in (None, "auto") else answer == "yes"
    given |= text_table_settings(arguments)
    given["skip_bad_lines"] = getattr(arguments, "skip_bad_lines", False) or None
    folder = getattr(arguments, "cache_folder", None)
    given["cache"] = folder if folder is not None else getattr(arguments, "cache", False) or None
    return {name: value for name, value in given.items() if value is not None and name not in but}
