"""What is known about the error on new examples, and what it rests on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from maxmargin.presentation.frames import frame_of
from maxmargin.presentation.wording import Readable, chosen_percent, percent, plural

__all__ = ["Guarantee", "Guarantees"]


# kind: how the line of a table ends
_KINDS = {
    "interval": "{interval}, with {confidence} confidence",
    "estimate": "an estimate, without an interval",
    "expectation": "at most, on average over samples",
    "probability": "at most, with {confidence} confidence",
}


@dataclass(frozen=True)
class Guarantee(Readable):
    """One statement about the error on new examples.

    Attributes
    ----------
    name : str
    value : float
        The error rate that it is about: what was observed, or what the error is at most.
    kind : str
        ``"interval"`` (confidence interval around what was observed on held-out examples), ``"estimate"``
        (no more than that), ``"expectation"`` (a bound on average over samples of this size, not for this
        one) or ``"probability"`` (a bound for this sample, except with the probability that was granted).
    statement : str
        The whole sentence, with its quantifiers.
    assumptions : tuple of str
        What has to be true for it.
    is_vacuous : bool
        Whether it says no more than what guessing the larger class achieves. An estimate never is.
    source : str
        Where the theorem is from.
    confidence : float or None
        For an interval and a bound with a probability.
    interval : (float, float) or None
        Around what was observed; of an estimate, what is decided and what is not.
    """

    name: str
    value: float
    kind: str
    statement: str
    assumptions: tuple[str, ...]
    is_vacuous: bool
    source: str
    confidence: float | None = None
    interval: tuple[float, float] | None = None

    @property
    def in_short(self) -> str:
        """What kind of statement it is, in a few words."""
        interval = "" if self.interval is None else " to ".join(percent(end) for end in self.interval)
        if self.kind == "estimate" and interval:
            return f"an estimate, between {interval.replace(' to ', ' and ')} as far as it is decided"
        confidence = "" if self.confidence is None else chosen_percent(self.confidence)
        said = _KINDS[self.kind].format(interval=interval, confidence=confidence)
        return f"{said}; vacuous" if self.is_vacuous else said

    def __str__(self) -> str:
        vacuous = " This is vacuous: guessing the larger class is as good." if self.is_vacuous else ""
        rests = "".join(f"\n  - {assumption}" for assumption in self.assumptions)
        return f"{self.name}: {self.statement}{vacuous}\n  It rests on:{rests}\n  Source: {self.source}"


@dataclass(frozen=True)
class Guarantees(Readable):
    """All statements about one model; printed as a table, each with its whole text by `explain`.

    Attributes
    ----------
    lines : tuple of Guarantee
        In the order of how much they are worth: what was measured before what is proved for every
        distribution. ``guarantees["VC dimension"]`` finds one by its name.
    n_rows : int
        Training examples.
    guessing : float
        The share of errors that guessing the largest class makes on them.
    selected_from : int
        How many candidates the model was chosen from; 1 if it was not chosen.
    price : str
        What having chosen it costs; empty if it was not chosen.
    not_claimed : tuple of (name, reason)
        Statements that are not made.
    """

    lines: tuple[Guarantee, ...]
    n_rows: int
    guessing: float
    selected_from: int = 1
    price: str = ""
    not_claimed: tuple[tuple[str, str], ...] = ()

    def __len__(self) -> int:
        return len(self.lines)

    def __iter__(self) -> Iterator[Guarantee]:
        return iter(self.lines)

    def __contains__(self, name: object) -> bool:
        return any(name in (line, line.name) for line in self.lines)

    def __getitem__(self, key: int | str) -> Guarantee:
        if not isinstance(key, str):
            return self.lines[key]
        for line in self.lines:
            if line.name == key:
                return line
        why = dict(self.not_claimed).get(key)
        raise KeyError(key if why is None else f"{key} is not claimed: {why}")

    def columns(self) -> dict[str, list[Any]]:
        """Return the table as a dictionary of columns."""
        names = ("name", "value", "kind", "is_vacuous", "statement", "assumptions", "source")
        table: dict[str, list[Any]] = {name: [getattr(line, name) for line in self.lines] for name in names}
        ends = [line.interval or (float("nan"), float("nan")) for line in self.lines]
        table["low"], table["high"] = [low for low, _ in ends], [high for _, high in ends]
        table["assumptions"] = ["; ".join(line.assumptions) for line in self.lines]
        return table

    def frame(self) -> Any:
        """Return a pandas data frame with a row for each statement; without pandas, the columns."""
        return frame_of(self.columns(), "name")

    def explain(self) -> str:
        """Return every statement in full: quantifiers, assumptions, source."""
        return "\n".join(str(line) for line in self.lines)

    def __str__(self) -> str:
        guessing = f"guessing would be wrong for {percent(self.guessing)}"
        head = f"the error on new examples, from {plural(self.n_rows, 'example')}; {guessing}"
        wide = max((len(line.name) for line in self.lines), default=0)
        rows = [f"{line.name:<{wide}}  {percent(line.value):>7}  {line.in_short}" for line in self.lines]
        rest = [f"not claimed: {name} ({why})" for name, why in self.not_claimed]
        return "\n".join([head, *rows, *([self.price] if self.price else []), *rest])
