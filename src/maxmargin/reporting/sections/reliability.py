"""Can its probabilities be trusted? Predicted against observed."""

from __future__ import annotations

from maxmargin.presentation.wording import chosen_percent
from maxmargin.reporting.evidence import Evidence
from maxmargin.reporting.section import Chart, Column, Section, Table, capital, numbers

__all__ = ["reliability_section"]

TITLE, SHORT = "Can its probabilities be trusted?", "Probabilities"


def reliability_section(evidence: Evidence) -> Section:
    """Return the section; without probabilities it says why."""
    answer = evidence.reliability
    if answer.value is None:
        return Section("reliability", TITLE, SHORT, notes=[capital(answer.why_not)])
    found, which = answer.value
    sure = chosen_percent(found.confidence)
    lead = [
        f"When the model says 80 %, is it right in 80 of 100 cases? The probability of {found.about}, in "
        f"groups of similar predictions, against how often it came true; bars are {sure} intervals. On the "
        f"diagonal, predictions mean what they say. These are {which}."
    ]
    caption = (
        f"The interval holds the prediction in {found.n_covered} of {len(found)} groups. "
        f"Brier score {found.brier}, log-loss {found.log_loss}, expected calibration error "
        f"{found.expected_calibration_error}."
    )
    spec = {
        "kind": "reliability",
        "xLabel": "predicted probability",
        "yLabel": "observed share",
        **{name: numbers(getattr(found, name)) for name in ("predicted", "observed", "low", "high")},
        "counts": [int(count) for count in found.counts],
    }
    names = ("predicted", "observed", f"{sure} interval", "rows")
    rows = [
        [f"{p:.3f}", f"{share:.3f}", f"{low:.3f} to {high:.3f}", f"{int(count):,}"]
        for p, share, low, high, count in zip(
            found.predicted, found.observed, found.low, found.high, found.counts, strict=True
        )
    ]
    table = Table("Predicted and observed", [Column(name, is_number=True) for name in names], rows)
    chart = Chart("reliability-chart", "Observed against predicted", spec, [table], caption)
    notes = [] if evidence.held_out is not None else _in_sample(evidence)
    return Section("reliability", TITLE, SHORT, lead, [chart], notes=notes)


def _in_sample(evidence: Evidence) -> list[str]:
    calibration = evidence.subject.model.calibration
    if calibration is None:
        return []
    return [
        "The map from scores to probabilities was fitted to these same left-out scores: the curve is a "
        "little better than it would be on new rows."
    ]
