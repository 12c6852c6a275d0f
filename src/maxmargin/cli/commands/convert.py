"""``maxmargin convert``: the same data, or the same model, in another format."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from maxmargin.cli.codes import DONE
from maxmargin.cli.options import (
    FORMATS,
    STANDARD,
    add_command,
    add_common,
    add_reading,
    check_target,
    file_name,
    read_data,
)
from maxmargin.cli.reading import label_guess, source_text
from maxmargin.errors import InvalidInput, InvalidParameter

if TYPE_CHECKING:
    from maxmargin.cli.console import Console
    from maxmargin.data import Data
    from maxmargin.model.model import LinearModel


# What a model can become, and the suffixes that stand for it.
MODEL_FORMATS = {"model": ".model", "onnx": ".onnx", "liblinear": ".liblinear", "json": ".json"}
DTYPES = ("float32", "float64")

EXAMPLES = """\
  maxmargin convert cells.csv cells.svm --number-labels  CSV to LIBSVM text
  maxmargin convert a9a.svm a9a.csv.gz          … and back, packed
  maxmargin convert a9a.svm - --to csv          … for the next program
  maxmargin convert a9a.model a9a.onnx          a model for ONNX runtimes
  maxmargin convert a9a.model a9a.liblinear     … for LIBLINEAR
  maxmargin convert cells.model cells.json      … to read
  maxmargin convert liblinear.model ours.model  LIBLINEAR's as one of ours
"""


def add_convert(commands: Any) -> None:
    """Describe the command to the parser."""
    parser = add_command(
        commands,
        "convert",
        help="write data or a model in another format",
        description="Write data, or a model, in another format, by the name of the new file or --to.",
        examples=EXAMPLES,
    )
    parser.add_argument("data", metavar="IN", type=file_name, help="data or a model; - for stdin (data)")
    parser.add_argument("out", metavar="OUT", type=file_name, help="the file to write; - for stdout")
    parser.add_argument(
        "--to",
        metavar="FORMAT",
        choices=(*FORMATS, *MODEL_FORMATS),
        help=f"of data {', '.join(FORMATS)}; of models {', '.join(MODEL_FORMATS)} (by the name of OUT)",
    )
    parser.add_argument(
        "--number-labels",
        action="store_true",
        help="write classes as numbers: −1 and 1, or 1, 2, … for more than two",
    )
    parser.add_argument(
        "--dtype", choices=DTYPES, default="float32", help="type of the numbers in an ONNX file (float32)"
    )
    add_reading(parser)
    add_common(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Look at the source, read it, write it."""
    from maxmargin.cli.streams import is_model

    if arguments.out == STANDARD:
        if console.json:
            raise InvalidParameter("--json and OUT cannot both go to the standard output; name a file")
        console.reserve_stdout()
    check_target(arguments.out, arguments.data)
    if arguments.data != STANDARD and is_model(arguments.data):
        convert_model(arguments, console)
    else:
        convert_data(arguments, console)
    if arguments.out != STANDARD:
        console.wrote(arguments.out)
    console.add_fields({"out": arguments.out})
    return DONE


# ---------------------------------------------------------------- data


def convert_data(arguments: argparse.Namespace, console: Console) -> None:
    """Write a data set in another format."""
    from maxmargin.cli.json_fields import data_fields
    from maxmargin.io.load import format_by_suffix
    from maxmargin.io.open import check_readable
    from maxmargin.io.save import save_data
    from maxmargin.io.settings import FORMATS as SUFFIXES

    by_name = format_by_suffix(arguments.out)
    wanted = arguments.to or by_name
    if wanted in MODEL_FORMATS or (wanted is None and arguments.out.suffix in MODEL_FORMATS.values()):
        if arguments.data != STANDARD:
            check_readable(arguments.data)
        raise InvalidParameter(
            f"{source_text(arguments.data)} holds data, not a model; maxmargin train fits one"
        )
    if wanted is None:
        raise InvalidParameter(
            f"the name {arguments.out} does not determine the format; give --to {', '.join(FORMATS)}"
        )
    data = read_data(arguments, arguments.data)
    console.print(f"read {source_text(arguments.data)}: {data}")
    guess = label_guess(data.label, arguments.label)
    if guess:
        console.print(guess)
    if arguments.number_labels:
        data = with_numbers(data, console)
    elif wanted == "libsvm" and data.y.dtype.kind not in "iuf":
        raise InvalidInput(
            f'labels such as "{data.y[0]}" are text, which LIBSVM text cannot hold: --number-labels writes '
            "numbers instead"
        )
    suffix = "" if wanted == by_name else SUFFIXES[wanted][0]
    write_as(arguments.out, suffix, lambda path: save_data(data, path))
    console.add_fields({"kind": "data", "to": wanted, "data": data_fields(data, arguments.data)})


def with_numbers(data: Data, console: Console) -> Data:
    """Return the data with numbers for classes, and print which."""
    from dataclasses import replace

    import numpy as np

    numbers = np.array([-1, 1]) if len(data.classes) == 2 else np.arange(1, len(data.classes) + 1)
    pairs = [f"{label} is {number}" for label, number in zip(data.classes, numbers, strict=True)]
    console.print(
        f"labels: {', '.join(pairs[:20])}" + (f", … ({len(pairs)} in all)" if len(pairs) > 20 else "")
    )
    y = numbers[np.searchsorted(data.classes, data.y)]
    return replace(data, y=y, classes=numbers)


# ---------------------------------------------------------------- models


def convert_model(arguments: argparse.Namespace, console: Console) -> None:
    """Write a model in another format."""
    from maxmargin.cli.streams import read_model

    by_name = next(
        (name for name, suffix in MODEL_FORMATS.items() if arguments.out.suffix.lower() == suffix), None
    )
    wanted = arguments.to or by_name
    if wanted not in MODEL_FORMATS:
        what = (
            f"the name {arguments.out} does not determine the format"
            if wanted is None
            else f"{wanted} is for data"
        )
        raise InvalidParameter(
            f"{arguments.data} holds a model, and {what}; give --to {', '.join(MODEL_FORMATS)}"
        )
    model = read_model(arguments.data)
    console.print(f"read {arguments.data}: {repr(model).strip('<>')}")
    writer = writer_of(wanted, model, arguments)
    write_as(arguments.out, "", writer)
    if wanted == "liblinear" and model.calibration is not None:
        console.warn(
            "the calibration of probabilities is left out: LIBLINEAR's files have no place for it; "
            f"{arguments.data} keeps it"
        )
    console.add_fields({"kind": "model", "to": wanted})


def writer_of(wanted: str, model: LinearModel, arguments: argparse.Namespace) -> Callable[[Path], None]:
    """Return what writes a model in this format."""
    if wanted == "onnx":
        from maxmargin.interop.onnx import export_onnx

        return lambda path: export_onnx(model, path, dtype=arguments.dtype)
    if wanted == "liblinear":
        from maxmargin.io.liblinear import write_liblinear_model
        from maxmargin.model.liblinear import to_liblinear

        return lambda path: write_liblinear_model(path, to_liblinear(model))
    if wanted == "json":
        return lambda path: write_json(model, path)
    from maxmargin.model.files import save_model

    return lambda path: save_model(model, path)


def write_json(model: LinearModel, path: Path) -> None:
    """Write a model for people and other programs; `load_model` does not read it."""
    import json

    from maxmargin.cli.console import plain
    from maxmargin.cli.streams import write_text
    from maxmargin.model.files import readable_model

    text = json.dumps(plain(readable_model(model)), ensure_ascii=False, allow_nan=False, indent=1)
    write_text([text + "\n"], path)


# ---------------------------------------------------------------- files


def write_as(target: Path, suffix: str, write: Callable[[Path], None]) -> None:
    """Have a file written by a function that goes by the suffix of a name, whatever the target's name is."""
    from maxmargin.cli.streams import write_out
    from maxmargin.rows.disk.atomic import replacing

    if target != STANDARD and target.name.lower().endswith(suffix):
        write(target)
        return
    with TemporaryDirectory() as folder:
        copy = Path(folder) / f"copy{suffix}"
        write(copy)
        if target == STANDARD:
            write_out(copy)
            return
        with replacing(target) as file:
            file.write(copy.read_bytes())
