"""What only the whole of a table tells about its columns, found by a first reading batch by batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maxmargin.errors import FileFormatError, MaxMarginError
from maxmargin.inputs.assemble_rows import Part
from maxmargin.inputs.categories import TRUTHS, are_truths, refuse_no_categories
from maxmargin.inputs.column_roles import Feature, Roles
from maxmargin.inputs.encode_table import check_infinite, labels_of, refuse_no_weight, weights_of
from maxmargin.inputs.missing_values import refuse_missing
from maxmargin.inputs.settings import ReadSettings
from maxmargin.inputs.table_columns import FoundColumns, Refusal, TextColumn

__all__ = ["TableLook"]

# Of a column that nobody called categories. One with so many texts is refused; there is no need to keep more.
MOST_TEXTS = 1 << 16


@dataclass
class TextCounts:
    """How often each text of a column occurs."""

    counts: dict[str, int] = field(default_factory=dict)
    n_present: int = 0
    is_stated: bool = False
    first: str = ""
    refuse_first: Callable[[str], FileFormatError] | None = None

    def add(self, column: TextColumn, place: int, refuse: Refusal, most: int | None) -> None:
        """Count the texts of a batch."""
        self.is_stated = self.is_stated or column.is_stated
        present = column.codes[column.codes >= 0]
        if self.refuse_first is None and len(present):
            row = int(np.argmax(column.codes >= 0))
            self.first = column.texts[column.codes[row]]
            self.refuse_first = lambda message: refuse(message, row, place)
        self.n_present += len(present)
        for text, count in zip(column.texts, np.bincount(present, minlength=len(column.texts)), strict=True):
            if count and (text in self.counts or most is None or len(self.counts) <= most):
                self.counts[text] = self.counts.get(text, 0) + int(count)

    @property
    def is_truth(self) -> bool:
        """Whether the column holds truth values."""
        return are_truths(self.counts) and not self.is_stated

    def usual_truth(self, rule: str) -> float:
        """Return the mean, the median or the most frequent truth value, as a number."""
        n_true = sum(count for text, count in self.counts.items() if TRUTHS[text.lower()] == 1)
        n_false = self.n_present - n_true
        if rule == "mean":
            return n_true / self.n_present
        if rule == "median":
            middle = [float(place >= n_false) for place in ((self.n_present - 1) // 2, self.n_present // 2)]
            return sum(middle) / 2
        return float(n_true > n_false)


class TableLook:
    """What is found out about the columns of a table, batch by batch.

    Mistakes are told as the whole table would tell them: about columns first, then the first missing value,
    then labels and weights.

    Parameters
    ----------
    roles : Roles
        What each column is for.
    settings : ReadSettings
        What the user said; there is no encoding, which would say all of it.
    """

    def __init__(self, roles: Roles, settings: ReadSettings) -> None:
        self.n_rows = 0
        self.number_counts: dict[int, int] = {}  # by place: how many are not missing
        self.dtype: Any = np.float64
        self._roles = roles
        self._settings = settings
        self._texts: dict[int, TextCounts] = {}
        self._has_weight = roles.weight is None
        self._later: dict[str, MaxMarginError] = {}  # what is told if nothing worse is found

    def add(self, found: FoundColumns, refuse: Refusal) -> None:
        """Look at a batch."""
        strange = check_infinite(found, refuse)
        self.n_rows += found.n_rows
        self.dtype = found.numbers.dtype
        parts = []
        column_of = {place: column for column, place in enumerate(found.number_places)}
        for feature in self._roles.read:
            place = feature.place
            if place in column_of:
                column = column_of[place]
                values, is_complete = found.numbers[:, column], not strange.has_gaps[column]
                n_missing = 0 if is_complete else int(np.count_nonzero(np.isnan(values)))
                self.number_counts[place] = self.number_counts.get(place, 0) + found.n_rows - n_missing
                parts.append(Part(feature, values, column, is_complete))
            else:
                texts = found.texts[place]
                most = None if feature.kind == "categories" or texts.is_stated else MOST_TEXTS
                self._texts.setdefault(place, TextCounts()).add(texts, place, refuse, most)
                parts.append(Part(feature, texts.codes, categories=()))
        if self._settings.missing == "refuse":
            self._try("missing", lambda: refuse_missing(parts, refuse))
        self._try("labels", lambda: labels_of(self._roles, found, self._settings, refuse))
        self._try("weights", lambda: self._look_at_weights(found, refuse))

    def _look_at_weights(self, found: FoundColumns, refuse: Refusal) -> None:
        weights = weights_of(self._roles, found, refuse)
        self._has_weight = self._has_weight or (weights is not None and bool(weights.any()))

    def _try(self, what: str, check: Callable[[], Any]) -> None:
        if what not in self._later:
            try:
                check()
            except MaxMarginError as error:
                self._later[what] = error

    # ------------------------------------------------------------ the end

    def parts(self, number_fill: Callable[[int], float | None]) -> list[Part]:
        """Return the columns with their categories and with what stands for missing values, without rows.

        Parameters
        ----------
        number_fill : callable
            Returns what stands for a missing number in the column at a place.
        """
        for feature in self._roles.read:
            if feature.place in self._texts:
                self._check_texts(feature)
        if "missing" in self._later:
            raise self._later["missing"]
        return [self._part(feature, number_fill) for feature in self._roles.read]

    def check_rest(self) -> None:
        """Tell of mistakes in labels and weights."""
        for what in ("labels", "weights"):
            if what in self._later:
                raise self._later[what]
        if not self._has_weight:
            refuse_no_weight(self._roles)

    def _check_texts(self, feature: Feature) -> None:
        texts = self._texts[feature.place]
        is_free = feature.kind != "categories" and not texts.is_stated and not texts.is_truth
        if is_free and texts.refuse_first is not None:
            source = self._roles.header.source
            refuse_no_categories(
                feature, texts.counts, texts.n_present, texts.first, texts.refuse_first, source
            )

    def _part(self, feature: Feature, number_fill: Callable[[int], float | None]) -> Part:
        place, rule = feature.place, self._settings.missing
        texts = self._texts.get(place)
        n_present = self.number_counts[place] if texts is None else texts.n_present
        if rule != "refuse" and n_present == 0:
            raise FileFormatError(
                f'the column "{feature.name}" has no value at all; leave it out by drop=',
                self._roles.header.source,
            )
        part = Part(feature, np.empty(0))
        if texts is None:
            part.fill = number_fill(place)
        elif feature.kind != "categories" and texts.is_truth:
            part.fill = None if rule == "refuse" else texts.usual_truth(rule)
        else:
            part.categories = tuple(sorted(texts.counts))
            if rule != "refuse":
                part.fill = max(part.categories, key=texts.counts.__getitem__)  # the first of several
        return part
