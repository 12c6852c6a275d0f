"""LIBLINEAR's model files: text that LIBLINEAR itself reads and writes.

::

    solver_type L2R_L1LOSS_SVC_DUAL
    nr_class 2
    label 1 -1          the first of two labels is the positive one
    nr_feature 13
    bias 1              below 0: no bias; else its weights come last, to be multiplied by this value
    w
    0.57575401821489669 one line per column of the data; one number per class, or one alone for two classes
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import InvalidInput, ModelFileError
from maxmargin.io.open import read_file
from maxmargin.rows.disk.atomic import replacing

__all__ = [
    "CLASSIFIERS",
    "LiblinearModel",
    "begins_as_liblinear_model",
    "is_liblinear_model",
    "read_liblinear_model",
    "write_liblinear_model",
]


# What LIBLINEAR calls its solvers; those that predict classes, with the number that -s gives them.
CLASSIFIERS = {
    "L2R_LR": 0,
    "L2R_L2LOSS_SVC_DUAL": 1,
    "L2R_L2LOSS_SVC": 2,
    "L2R_L1LOSS_SVC_DUAL": 3,
    "MCSVM_CS": 4,
    "L1R_L2LOSS_SVC": 5,
    "L1R_LR": 6,
    "L2R_LR_DUAL": 7,
}
OTHERS = {
    "L2R_L2LOSS_SVR": "regression",
    "L2R_L2LOSS_SVR_DUAL": "regression",
    "L2R_L1LOSS_SVR_DUAL": "regression",
    "ONECLASS_SVM": "one-class detection",
}
HEADINGS = ("solver_type", "nr_class", "label", "nr_feature", "bias")

SMALLEST_LABEL, LARGEST_LABEL = -(2**31), 2**31 - 1  # LIBLINEAR keeps labels in 32 bits
ROWS_AT_ONCE = 4096


@dataclass(frozen=True, eq=False)
class LiblinearModel:
    """What a LIBLINEAR model file holds.

    Attributes
    ----------
    solver_type : str
        A key of `CLASSIFIERS`.
    labels : tuple of int
        In the file's order; of two, the first is the positive one.
    bias : float
        The value of the feature that stands for the offset; below 0 there is none.
    weights : array of shape (n_columns, n_scores), one row more with a bias
        One score a class; one alone for two classes, unless they come from Crammer and Singer's machine.

    Examples
    --------
    >>> model = LiblinearModel("L2R_LR", (1, -1), 2.0, np.array([[0.5], [-1.0]]))
    >>> model.n_columns, model.coef, model.intercept
    (1, array([[0.5]]), array([-2.]))
    """

    solver_type: str
    labels: tuple[int, ...]
    bias: float
    weights: NDArray[np.float64]

    @property
    def has_bias(self) -> bool:
        """Whether the last row of weights belongs to the bias."""
        return self.bias >= 0

    @property
    def n_columns(self) -> int:
        """The number of features, without the bias."""
        return int(self.weights.shape[0]) - self.has_bias

    @property
    def coef(self) -> NDArray[np.float64]:
        """The weights of the features, one row per score."""
        return np.ascontiguousarray(self.weights[: self.n_columns].T)

    @property
    def intercept(self) -> NDArray[np.float64]:
        """What is added to each score."""
        return self.weights[-1] * self.bias if self.has_bias else np.zeros(self.weights.shape[1])


def is_liblinear_model(content: bytes) -> bool:
    r"""Return whether a file begins as LIBLINEAR's model files do.

    Examples
    --------
    >>> is_liblinear_model(b"solver_type L2R_LR\nnr_class 2\n"), is_liblinear_model(b"PK\x03\x04")
    (True, False)
    """
    return content[:1024].split(maxsplit=1)[:1] == [b"solver_type"]


def begins_as_liblinear_model(path: str | os.PathLike[str]) -> bool:
    """Return whether there is such a file; False for what can be read only once, or not at all."""
    file = Path(path)
    try:
        if not file.is_file():
            return False
        with file.open("rb") as opened:
            return is_liblinear_model(opened.read(1024))
    except OSError:
        return False


def n_scores_of(solver_type: str, n_classes: int) -> int:
    """Return how many numbers a line of weights has."""
    return 1 if n_classes == 2 and solver_type != "MCSVM_CS" else n_classes


# ---------------------------------------------------------------- writing


def write_liblinear_model(path: str | os.PathLike[str], model: LiblinearModel) -> None:
    r"""Write a model file for LIBLINEAR; it is written completely or not at all.

    Numbers have all their digits, so that the same ones are read back.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "a.model"
    ...     write_liblinear_model(file, LiblinearModel("L2R_LR", (1, -1), -1.0, np.array([[0.1], [2.0]])))
    ...     print(file.read_text().replace(" \n", "\n"), end="")
    solver_type L2R_LR
    nr_class 2
    label 1 -1
    nr_feature 2
    bias -1
    w
    0.10000000000000001
    2
    """
    check(model)
    heading = [
        f"solver_type {model.solver_type}",
        f"nr_class {len(model.labels)}",
        " ".join(["label", *map(str, model.labels)]),
        f"nr_feature {model.n_columns}",
        f"bias {model.bias:.17g}",
        "w",
    ]
    with replacing(Path(path)) as file:
        file.write("".join(f"{line}\n" for line in heading).encode("ascii"))
        for first in range(0, model.weights.shape[0], ROWS_AT_ONCE):
            part = model.weights[first : first + ROWS_AT_ONCE].tolist()
            # With the space before the end of the line that LIBLINEAR's own files have.
            lines = ("".join(f"{value:.17g} " for value in row) + "\n" for row in part)
            file.write("".join(lines).encode("ascii"))


def check(model: LiblinearModel) -> None:
    """Refuse what LIBLINEAR would not read back."""
    if model.solver_type not in CLASSIFIERS:
        raise InvalidInput(f"LIBLINEAR has no classifier {model.solver_type!r}")
    outside = [label for label in model.labels if not SMALLEST_LABEL <= label <= LARGEST_LABEL]
    if outside:
        raise InvalidInput(f"LIBLINEAR's labels are whole numbers of 32 bits; got {outside[0]}")
    if len(set(model.labels)) != len(model.labels) or not model.labels:
        raise InvalidInput(f"a model has different labels, at least one; got {model.labels}")
    wanted = n_scores_of(model.solver_type, len(model.labels))
    if model.weights.ndim != 2 or model.weights.shape[1] != wanted or model.n_columns < 0:
        raise InvalidInput(
            f"{len(model.labels)} labels need weights with {wanted} number(s) a line; "
            f"got shape {model.weights.shape}"
        )
    if not np.isfinite(model.weights).all() or not np.isfinite(model.bias):
        raise InvalidInput("weights and bias must be finite")


# ---------------------------------------------------------------- reading


def read_liblinear_model(path: str | os.PathLike[str]) -> LiblinearModel:
    """Read a model file that LIBLINEAR wrote.

    Returns
    -------
    LiblinearModel

    Raises
    ------
    ModelFileError
        For a file that is no such model, with the line that is wrong; models of regression and of one class
        are refused by name.
    """
    file = Path(path)
    content = read_file(file)
    if not is_liblinear_model(content):
        raise ModelFileError("not a LIBLINEAR model file: it does not begin with solver_type", file)
    heading = Heading(file)
    for number, start, end in lines_of(content):
        words = content[start:end].split()
        if words == [b"w"]:
            weights = read_weights(content, end, number + 1, heading.complete(number), file)
            return LiblinearModel(heading.solver_type, heading.labels, heading.bias, weights)
        if words:
            heading.take(words, number)
    raise ModelFileError("the file is cut short: there is no line w with weights below it", file)


def lines_of(content: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield each line's number, start and end."""
    start, number = 0, 1
    while start < len(content):
        end = content.find(b"\n", start)
        end = len(content) if end < 0 else end
        yield number, start, end
        start, number = end + 1, number + 1


class Heading:
    """What the lines above the weights say, checked one by one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.found: dict[str, Any] = {}

    def take(self, words: list[bytes], line: int) -> None:
        """Read one line."""
        name, values = text_of(words[0]), [text_of(word) for word in words[1:]]
        if name == "rho":
            raise self._wrong("rho belongs to one-class detection, which is not done here", line)
        if name not in HEADINGS:
            raise self._wrong(f'expected one of {", ".join(HEADINGS)} or w, found "{name[:40]}"', line)
        if name in self.found:
            raise self._wrong(f"{name} is there for the second time", line)
        if name == "label":
            labels = tuple(self._whole(value, name, line) for value in values)
            if len(set(labels)) != len(labels):
                raise self._wrong("a label is there for the second time", line)
            self.found[name] = labels
            return
        if len(values) != 1:
            raise self._wrong(f"expected one value after {name}, found {len(values)}", line)
        read = {"solver_type": self._solver_type, "bias": self._number}.get(name, self._count)
        self.found[name] = read(values[0], name, line)

    def complete(self, line: int) -> tuple[int, int]:
        """Check that nothing is missing; return how many lines of weights follow, and numbers in each."""
        missing = [name for name in HEADINGS if name not in self.found]
        if missing:
            raise self._wrong(f"{missing[0]} is missing above this line", line)
        if len(self.labels) != self.found["nr_class"]:
            raise self._wrong(f"nr_class is {self.found['nr_class']}, with {len(self.labels)} labels", line)
        n_lines = self.found["nr_feature"] + (self.bias >= 0)
        return n_lines, n_scores_of(self.solver_type, len(self.labels))

    @property
    def solver_type(self) -> str:
        """The solver's name."""
        return str(self.found["solver_type"])

    @property
    def labels(self) -> tuple[int, ...]:
        """The labels in the file's order."""
        labels: tuple[int, ...] = self.found["label"]
        return labels

    @property
    def bias(self) -> float:
        """The value of the feature that stands for the offset."""
        return float(self.found["bias"])

    def _solver_type(self, value: str, name: str, line: int) -> str:
        if value in OTHERS:
            raise self._wrong(f"{value} is a model of {OTHERS[value]}, and this is for classes only", line)
        if value not in CLASSIFIERS:
            raise self._wrong(f'unknown solver_type "{value[:40]}"', line)
        return value

    def _number(self, value: str, name: str, line: int) -> float:
        number = float_or_none(value)
        if number is None:
            raise self._wrong(f'expected a finite number after {name}, found "{value[:40]}"', line)
        return number

    def _whole(self, value: str, name: str, line: int) -> int:
        digits = value.removeprefix("-").removeprefix("+")
        # So few digits before int() sees them: it takes its time with a million.
        is_whole = digits.isascii() and digits.isdigit() and len(digits) <= 20
        if not is_whole or not SMALLEST_LABEL <= int(value) <= LARGEST_LABEL:
            raise self._wrong(f'expected a whole number of 32 bits after {name}, found "{value[:40]}"', line)
        return int(value)

    def _count(self, value: str, name: str, line: int) -> int:
        count = self._whole(value, name, line)
        if count < 1:
            raise self._wrong(f"expected a positive number after {name}, found {count}", line)
        return count

    def _wrong(self, message: str, line: int) -> ModelFileError:
        return ModelFileError(message, self.path, line)


def read_weights(
    content: bytes, start: int, line: int, shape: tuple[int, int], path: Path
) -> NDArray[np.float64]:
    """Read the numbers below w; as many as the heading promises, so that memory is bounded by the file."""
    n_lines, n_scores = shape
    words = content[start:].split()
    try:
        numbers = np.array(list(map(float, words)))
    except ValueError:
        numbers = np.array([np.nan])
    if not np.isfinite(numbers).all() or b"_" in content[start:]:
        raise wrong_weight(content, start, line, path)
    if len(words) != n_lines * n_scores:
        promised = f"{n_lines:,} lines of weights with {n_scores:,} number(s) each"
        found = f"the file has {len(words):,} numbers below w"
        cut = "is cut short" if len(words) < n_lines * n_scores else "has too much in it"
        raise ModelFileError(f"the file {cut}: its heading promises {promised}, and {found}", path)
    return numbers.reshape(n_lines, n_scores)


def wrong_weight(content: bytes, start: int, line: int, path: Path) -> ModelFileError:
    """Return the error for the first word below w that is no finite number, with its line."""
    below = content[start + 1 :]
    for number, first, last in lines_of(below):
        for word in below[first:last].split():
            if float_or_none(word) is None:
                found = text_of(word)[:40]
                return ModelFileError(f'expected a finite number, found "{found}"', path, line + number - 1)
    raise AssertionError("a word that was refused has a place")


def text_of(word: bytes) -> str:
    """Return a word for a message, whatever bytes it has."""
    return word.decode("ascii", errors="backslashreplace")


def float_or_none(word: str | bytes) -> float | None:
    """Return a finite number, None for anything else."""
    text = word if isinstance(word, str) else text_of(word)
    try:
        number = float(text)
    except ValueError:
        return None
    # Python takes 1_000 for a number, and nobody else does.
    return number if math.isfinite(number) and "_" not in text else None
