"""The settings of `load_data`, checked once for all readers."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from maxmargin.encoding import Encoding
from maxmargin.errors import InvalidParameter

__all__ = ["FORMATS", "TEXT_TABLE_SETTINGS", "ReadSettings"]


# Names of formats, and their suffixes.
FORMATS = {
    "libsvm": (".svm", ".libsvm", ".svmlight", ".txt"),
    "csv": (".csv", ".tsv"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".feather", ".ipc", ".arrows"),
    "npz": (".npz",),
    "npy": (".npy",),
}
MISSING_RULES = ("refuse", "mean", "median", "most_frequent")
# The dialect of a text table; other formats do not have these.
TEXT_TABLE_SETTINGS = ("header", "separator", "decimal", "text_encoding", "na", "comment")


@dataclass(frozen=True)
class ReadSettings:
    """The settings of `load_data`, whose docstring explains them; two equal ones read the same."""

    format: str | None = None
    label: str | int | None = None
    weight: str | int | None = None
    n_columns: int | None = None
    zero_based: bool | str = "auto"
    missing: str = "refuse"
    drop: Sequence[str | int] = ()
    categories: Sequence[str | int] = ()
    encoding: Encoding | None = None
    unknown: str = "refuse"
    header: bool | str = "auto"
    separator: str | None = None
    decimal: str = "."
    text_encoding: str | None = None
    na: Sequence[str] | None = None
    comment: str | None = None
    skip_bad_lines: bool = False
    n_jobs: int | None = None
    # With an encoding: where the earlier table had its label. A table without it is read as well.
    earlier_label: str | int | None = None
    # … and its weights, for those who want them where they are there
    earlier_weight: str | int | None = None
    # … and its names where several columns share one, so that only their order tells them apart.
    earlier_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.format is not None:
            check_choice("format", self.format, tuple(FORMATS))
        check_choice("missing", self.missing, MISSING_RULES)
        check_choice("unknown", self.unknown, ("refuse", "zeros"))
        check_column("label", self.label)
        check_column("weight", self.weight)
        for name in ("drop", "categories"):
            object.__setattr__(self, name, checked_columns(name, getattr(self, name)))
        check_n_columns(self.n_columns)
        for name in ("zero_based", "header"):
            value = getattr(self, name)
            if value != "auto" and not isinstance(value, bool):
                raise InvalidParameter.must_be(name, 'True, False or "auto"', value)
        if not isinstance(self.skip_bad_lines, bool):
            raise InvalidParameter.must_be("skip_bad_lines", "True or False", self.skip_bad_lines)
        check_choice("decimal", self.decimal, (".", ","))
        check_mark("separator", self.separator)
        check_mark("comment", self.comment)
        if self.comment is not None and self.comment in (self.separator, self.decimal, " ", "\t", ",", ";"):
            raise InvalidParameter.must_be("comment", "a character that means nothing else", self.comment)
        object.__setattr__(self, "text_encoding", checked_text_encoding(self.text_encoding))
        object.__setattr__(self, "na", checked_texts("na", self.na))
        if self.encoding is not None:
            self._check_encoding()

    @property
    def for_text_tables(self) -> tuple[str, ...]:
        """The settings that were given and that only text tables have."""
        usual = {setting.name: setting.default for setting in fields(self)}
        return tuple(name for name in TEXT_TABLE_SETTINGS if getattr(self, name) != usual[name])

    def _check_encoding(self) -> None:
        if not isinstance(self.encoding, Encoding):
            raise InvalidParameter(f"encoding must be an Encoding; got {type(self.encoding).__name__}")
        for name, given in (("drop", self.drop), ("categories", self.categories)):
            if given:
                raise InvalidParameter(f"give encoding or {name}, not both: the encoding says what to read")
        if self.missing != "refuse":
            raise InvalidParameter(
                "give encoding or missing, not both: missing values are replaced by those of the encoding"
            )


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuse what is none of the choices."""
    if not isinstance(value, str) or value not in choices:
        raise InvalidParameter.must_be(name, f"one of {', '.join(choices)}", value)


def not_for(parameter: str, files: str, why: str) -> InvalidParameter:
    """Return the error of a setting that a file of another kind would have."""
    return InvalidParameter(f"{{parameter}} is for {files}; {why}", parameter=parameter)


def check_column(name: str, column: object) -> None:
    """Refuse what is neither a column's name nor its number."""
    if column is not None and (not isinstance(column, str | int) or isinstance(column, bool)):
        raise InvalidParameter.must_be(name, "a column's name or number", column)


def checked_columns(name: str, columns: Any) -> tuple[str | int, ...]:
    """Return a list of columns; one alone need not be in a list."""
    if isinstance(columns, str | int):
        columns = (columns,)
    if not isinstance(columns, Sequence):
        raise InvalidParameter.must_be(name, "a list of columns", columns)
    for column in columns:
        if column is None:
            raise InvalidParameter.must_be(name, "a list of columns", columns)
        check_column(name, column)
    return tuple(columns)


def check_mark(name: str, mark: object) -> None:
    """Refuse what is not one character, or one that numbers and quoted texts have."""
    is_mark = isinstance(mark, str) and len(mark) == 1 and mark.isascii() and not mark.isalnum()
    if mark is not None and not (is_mark and mark not in '"+-.\r\n\0'):  # type: ignore[operator]
        rule = "one ASCII character that is no letter, digit, quote, sign, point or line break"
        raise InvalidParameter.must_be(name, rule, mark)


def checked_text_encoding(name: object) -> str | None:
    """Return the usual name of an encoding of text; None for UTF-8, which needs no conversion."""
    if name is None:
        return None
    try:
        "".encode(name)  # type: ignore[arg-type]  # refuses what does not encode text, such as base64
        found = codecs.lookup(name).name  # type: ignore[arg-type]
    except (LookupError, TypeError, ValueError):
        rule = "the name of an encoding, such as latin-1 or utf-16"
        raise InvalidParameter.must_be("text_encoding", rule, name) from None
    return None if found == "utf-8" else found


def checked_texts(name: str, texts: Any) -> tuple[str, ...] | None:
    """Return a list of texts without blanks around them; one alone need not be in a list."""
    if texts is None:
        return None
    if isinstance(texts, str):
        texts = (texts,)
    if not isinstance(texts, Sequence) or not all(isinstance(text, str) for text in texts):
        raise InvalidParameter.must_be(name, "a list of texts", texts)
    return tuple(text.strip() for text in texts)


def check_n_columns(n_columns: object) -> None:
    """Refuse what is not a number of columns."""
    is_whole = isinstance(n_columns, int) and not isinstance(n_columns, bool)
    if n_columns is not None and not (is_whole and 0 < n_columns < 2**62):  # type: ignore[operator]
        raise InvalidParameter.must_be("n_columns", "a positive whole number", n_columns)
