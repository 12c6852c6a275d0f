"""From counts to statements: each bound with its quantifiers, its assumptions and its source."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from maxmargin._core import Stopped, StopToken
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Status
from maxmargin.learners.theory.sample_complexity import sample_complexity
from maxmargin.model.error_rates import clopper_pearson, largest_rate
from maxmargin.presentation.wording import chosen_percent, percent, plural
from maxmargin.rows.base import Array
from maxmargin.rows.kernels import ManyScores
from maxmargin.rows.memory import MemoryRows
from maxmargin.selection.guarantees.record import Guarantee
from maxmargin.selection.leave_one_out.record import LeaveOneOut
from maxmargin.solvers.choose import choose
from maxmargin.solvers.run import Limits, run

__all__ = [
    "Circumstances",
    "compression_bound",
    "held_out_line",
    "margin_bound",
    "mistake_rate",
    "scores_of_refit",
    "uniform_bound",
]


ANY_FLOAT = 2**64  # a C that was taken from a range is one of so many floats at most

_ONE_DRAW = "the training examples are drawn independently from the distribution that new examples come from"
_COLUMNS = (
    "the columns were fixed before these examples were seen: a scaling or a choice of columns that was "
    "fitted to them is not covered"
)
_SEVERAL = (
    "with {} classes, an error is at most as likely as an error of one class against the rest: the bounds of "
    "all of them, each at an equal share of the probability of failing, are added"
)


@dataclass(frozen=True)
class Circumstances:
    """What every statement about a model has to know.

    Attributes
    ----------
    n : int
        Training examples.
    confidence : float
    guessing : float
        The error rate of guessing the largest class.
    n_classes : int
    selected_from : int
        How many candidates the model was chosen from; `ANY_FLOAT` for a range.
    selected_on_test : bool
        Whether it was chosen by its errors on the test examples.
    is_weighted : bool
        Whether the examples have weights.
    is_balanced : bool
        Whether the classes' weights were found from their counts.
    """

    n: int
    confidence: float
    guessing: float
    n_classes: int = 2
    selected_from: int = 1
    selected_on_test: bool = False
    is_weighted: bool = False
    is_balanced: bool = False

    @property
    def delta(self) -> float:
        """The probability with which a bound may fail."""
        return 1.0 - self.confidence

    @property
    def was_chosen_here(self) -> bool:
        """Whether the training examples had a part in choosing the model from its candidates."""
        return self.selected_from > 1 and not self.selected_on_test

    @property
    def candidates(self) -> str:
        """What the model was chosen from, in words."""
        return (
            "all numbers of a range"
            if self.selected_from >= ANY_FLOAT
            else f"{self.selected_from:,} candidates"
        )

    @property
    def sure(self) -> str:
        """How a statement with a probability begins."""
        return f"with probability {chosen_percent(self.confidence)} over the draw of the {self.n:,} examples"

    def assumptions(self, *further: str, columns: bool = True) -> tuple[str, ...]:
        """Return what all bounds from training examples rest on, and more."""
        shared = [_ONE_DRAW]
        if columns:
            shared.append(_COLUMNS)
        if self.is_weighted:
            shared.append("every example counts once, whatever its weight, and carries its weight with it")
        return (*shared, *further)

    @property
    def summed(self) -> tuple[str, ...]:
        """What a bound rests on that is a sum over the classes; nothing for two of them."""
        return (_SEVERAL.format(self.n_classes),) if self.n_classes > 2 else ()

    def bound(
        self, name: str, value: float, statement: str, further: tuple[str, ...], source: str
    ) -> Guarantee:
        """Return a bound that holds except with probability δ."""
        return Guarantee(
            name=name,
            value=min(value, 1.0),
            kind="probability",
            statement=f"{self.sure}, {statement}.",
            assumptions=self.assumptions(*further),
            is_vacuous=value >= self.guessing,
            source=source,
            confidence=self.confidence,
        )


def held_out_line(errors: int, n_test: int, repeated: tuple[int, int], about: Circumstances) -> Guarantee:
    """Return the error on test examples with its interval.

    Parameters
    ----------
    errors, n_test : int
    repeated : (int, int)
        How many test rows are training rows, and how many of these are errors.
    """
    confidence, further = about.confidence, []
    if about.selected_on_test and about.selected_from > 1:
        confidence = 1.0 - about.delta / about.selected_from
        further.append(
            f"it was the best of {about.candidates} on these very examples: the interval is "
            f"that of confidence {chosen_percent(confidence)} for each, so that all of them hold together "
            f"with {chosen_percent(about.confidence)} (Bonferroni); the rate itself is optimistic"
        )
    else:
        further.append("no test example had a part in training, nor in the choice of C or of anything else")
    low, high = clopper_pearson(errors, n_test, confidence)
    copies, wrong_copies = repeated
    if copies:
        rest = f"{errors - wrong_copies:,} of the other {n_test - copies:,} are wrong"
        ends = " to ".join(
            percent(end) for end in clopper_pearson(errors - wrong_copies, n_test - copies, confidence)
        )
        further.append(
            f"{plural(copies, 'test row')} {'is' if copies == 1 else 'are'} also among the training rows: if "
            f"copied rather than drawn again, the interval does not hold. Without them {rest}, {ends}"
        )
    return Guarantee(
        name="held-out error",
        value=errors / n_test,
        kind="interval",
        statement=(
            f"{errors:,} of {n_test:,} test examples are wrong ({percent(errors / n_test)}); whatever the "
            f"distribution, an interval made in this way holds this model's error on new examples with "
            f"probability {chosen_percent(about.confidence)} or more over the draw of the test examples. "
            f"Here it is {percent(low)} to {percent(high)}."
        ),
        assumptions=("the test examples are drawn independently, from where new ones come", *further),
        is_vacuous=high >= about.guessing,
        source="C. J. Clopper and E. S. Pearson, Biometrika 26 (1934)",
        confidence=about.confidence,
        interval=(low, high),
    )


_LUNTZ = "A. Luntz and V. Brailovsky, Technicheskaya Kibernetica 3 (1969)"
_CHOSEN = (
    "C was fixed beforehand, which it was not: it is one of {}, chosen with these examples. The "
    "smallest of several estimates is too small on average, and no theorem says by how much at most; test "
    "examples tell"
)


_FIXED = "C and all other settings were fixed before these examples were seen"


def _fixed_beforehand(about: Circumstances) -> tuple[str, ...]:
    chosen = _CHOSEN.format(about.candidates) if about.was_chosen_here else _FIXED
    if not about.is_balanced:
        return (chosen,)
    return (
        chosen,
        "the class weights were too, which balanced ones were not: they are held as they are here",
    )


def left_out_line(result: LeaveOneOut, about: Circumstances) -> Guarantee:
    """Return the leave-one-out error, which is an estimate."""
    n = result.n_examples
    most = result.n_errors + result.n_undecided
    count = f"{result.n_errors:,}" if not result.n_undecided else f"{result.n_errors:,} to {most:,}"
    further = [*_fixed_beforehand(about)]
    warning = result.warning()
    if warning is not None:
        further.append(f"that it is meaningful, which is doubtful: {warning}")
    return Guarantee(
        name="leave-one-out error",
        value=most / n if n else 0.0,
        kind="estimate",
        statement=(
            f"{count} of {n:,} examples are wrong when they are left out, an exact count. Over samples of "
            f"{n:,} examples its mean is the mean error of training on {n - 1:,} at the same C; for this "
            "sample it is an estimate and no interval is claimed, because the left-out classifiers share all "
            "but two of their examples: their errors are not independent, and no binomial interval holds."
        ),
        assumptions=about.assumptions(*further, columns=False),
        is_vacuous=False,
        source=_LUNTZ,
        interval=(result.n_errors / n, most / n) if result.n_undecided else None,
    )


def support_line(n_support: int, about: Circumstances) -> Guarantee:
    """Return the share of support vectors, which the leave-one-out error cannot exceed."""
    share = n_support / about.n
    return Guarantee(
        name="support vectors",
        value=share,
        kind="expectation",
        statement=(
            f"{n_support:,} of {about.n:,} examples are support vectors. Leaving out any other changes "
            f"nothing, so at most {n_support:,} can be wrong when left out: that is certain. The mean error "
            f"of training on {about.n - 1:,} examples at the same C is at most the mean of this share over "
            f"samples of {about.n:,}; nothing is said about this sample alone."
        ),
        assumptions=about.assumptions(*_fixed_beforehand(about), columns=False),
        is_vacuous=share >= about.guessing,
        source=f"V. N. Vapnik, Statistical Learning Theory (1998), chapter 10; {_LUNTZ}",
    )


def compression_line(value: float, kept: int, errors: int, differing: int, about: Circumstances) -> Guarantee:
    """Return the bound by sample compression.

    Parameters
    ----------
    value : float
    kept : int
        Support vectors.
    errors : int
        Errors among all others, of the classifier fitted to the support vectors alone.
    differing : int
        Training examples for which it does not predict what the model does.
    """
    further = [_FIXED]
    if about.was_chosen_here:
        further = [
            f"C is one of {about.candidates} that were fixed beforehand, chosen in any way: the bound is "
            "paid for all of them (the union bound)"
        ]
    if about.is_balanced:
        further.append(
            "balanced class weights depend on the counts of the classes, and all possible counts are paid for"
        )
    which = "which is this one but for rounding and tol"
    if differing:
        which = f"which differs from this one for {plural(differing, 'training example')}"
    statement = (
        f"the classifier that training on the {kept:,} support vectors alone gives, {which}, errs on at most "
        f"{percent(min(value, 1.0))} of new examples: it is wrong for {errors:,} of the {about.n - kept:,} "
        f"that it never saw, and all ways to choose {kept:,} of {about.n:,} are paid for"
    )
    source = (
        "S. Floyd and M. Warmuth, Machine Learning 21 (1995); J. Langford, Journal of Machine Learning "
        "Research 6 (2005)"
    )
    return about.bound("compression", value, statement, tuple(further), source)


def mistakes_line(value: float, bounds: list[tuple[float, float, float]], about: Circumstances) -> Guarantee:
    """Return what the perceptron's mistake bound says about new examples.

    Parameters
    ----------
    value : float
    bounds : list of (most mistakes, R, γ)
        One for each class.
    """
    most = int(sum(bound[0] for bound in bounds))
    words = f"at most {plural(most, 'mistake')}, (R/γ)²"
    if len(bounds) == 1:
        words += f" with R = {bounds[0][1]:.4g} and γ = {bounds[0][2]:.4g}"
    statement = (
        f"the classifiers that a perceptron goes through in one pass over these examples err on at most "
        f"{percent(min(value, 1.0))} of new examples on average over the pass, since it makes {words}, in "
        "any order: that number is certain"
    )
    return about.bound(
        "mistake bound",
        value,
        statement,
        (
            "it is about the perceptron on these columns; another model of the same examples may be better "
            "or worse",
            "the pass takes the examples in the order in which they were drawn",
            *about.summed,
        ),
        "A. Novikoff (1962); N. Cesa-Bianchi, A. Conconi and C. Gentile, IEEE Transactions on Information "
        "Theory 50 (2004)",
    )


def margin_line(value: float, rho: float, has_offset: bool, about: Circumstances) -> Guarantee:
    """Return the bound by margins, which holds for all linear classifiers at once."""
    where = " in the space of the rows (x, 1)" if has_offset else ""
    statement = (
        f"every linear classifier that has margins such as this one errs on at most "
        f"{percent(min(value, 1.0))} of new examples, whatever C it was trained with (a margin of {rho:.3g}"
        f"{where}, falling short of it counted in part)"
    )
    return about.bound(
        "margin",
        value,
        statement,
        about.summed,
        "P. Bartlett and S. Mendelson, Journal of Machine Learning Research 3 (2002), in the form of M. "
        "Mohri, A. Rostamizadeh and A. Talwalkar, Foundations of Machine Learning (2018), theorem 3.3",
    )


def uniform_line(value: float, training_errors: int, dimension: int, about: Circumstances) -> Guarantee:
    """Return the bound by the VC dimension, which holds for all linear classifiers at once."""
    in_all = " over the classes" if about.n_classes > 2 else ""
    statement = (
        f"every linear classifier with {plural(training_errors, 'training error')}{in_all} errs on at most "
        f"{percent(min(value, 1.0))} of new examples, whatever C it was trained with (VC dimension "
        f"{dimension:,})"
    )
    return about.bound(
        "VC dimension",
        value,
        statement,
        about.summed,
        "V. Vapnik and A. Chervonenkis (1971), with the constants of sample_complexity",
    )


# ------------------------------------------------------------------------------------------------
# Bounds on the error of a linear classifier, from its training examples alone, with their proofs.
#
# n examples (x, y) are drawn independently from one distribution; L is the probability that a new one is
# an error (agreement ≤ 0), L̂ the share of errors among the n; δ is the probability with which a bound may
# fail.
#
# compression  Let A turn examples into a classifier. Fix k places I among the n: the classifier A(S_I) does
#              not depend on the other n − k examples, so its errors among them are binomial, and L(A(S_I))
#              exceeds `largest_rate(errors, n − k, ln(1/δ'))` with probability at most δ'. There are C(n, k)
#              such I for each of n sizes k < n; with δ' = δ/(n C(n, k)) for each of them the probabilities
#              add up to δ.
#              Hence with probability 1 − δ, for all I at once, the support vectors among them,
#
#                  (n − k) kl(errors/(n − k) ‖ L) ≤ ln C(n, k) + ln n + ln(1/δ).
#
#              A that is one of T algorithms (T values of C; T possible class weights) costs ln T more.
#              Littlestone and Warmuth (1986), Floyd and Warmuth (Machine Learning 21, 1995); with errors:
#              Langford (Journal of Machine Learning Research 6, 2005).
# margin       For unit vectors u and rows z let Φ(m) = min(1, max(0, 1 − m/ρ)), which is ≥ 1 for an error and
#              changes by at most 1/ρ per unit. Theorem 3.3 of Mohri, Rostamizadeh and Talwalkar (Foundations
#              of Machine Learning, 2018), with Talagrand's lemma and E‖Σ σᵢzᵢ‖ ≤ √Σ‖zᵢ‖² for the complexity,
#              says that with probability 1 − δ', for all u at once,
#
#                  L ≤ (1/n) Σ Φ(yᵢ⟨u, zᵢ⟩) + (2/(ρn)) √Σ‖zᵢ‖² + 3 √(ln(2/δ')/2n).
#
#              For all ρ = 2^j at once take δ' = δ/(s (1 + |j|)²), with s = Σ_j (1 + |j|)^−2 = π²/3 − 1.
# mistakes     A perceptron goes through the examples once, with the classifiers h₀, …, h_{n−1} before each.
#              The mistake at hᵢ has mean L(hᵢ) given what came before, so by Azuma's inequality their mean
#              error is at most M/n + √(ln(1/δ)/2n) with probability 1 − δ, M its mistakes; and M ≤ (R/γ)² on
#              these examples. Cesa-Bianchi, Conconi and Gentile (IEEE Trans. on Information Theory 50, 2004).
# VC dimension `learners.theory.sample_complexity`: |L − L̂| ≤ ε for all linear classifiers at once.

_SCALES = math.pi**2 / 3.0 - 1.0


def compression_bound(n: int, kept: int, errors: int, delta: float, log_choices: float = 0.0) -> float:
    """Return the bound on the error of a classifier that `kept` of the n examples determine.

    Parameters
    ----------
    n, kept : int
    errors : int
        Its errors among the n − kept others.
    delta : float
    log_choices : float
        The logarithm of the number of algorithms that it was chosen from.

    Examples
    --------
    >>> round(compression_bound(1000, 10, 0, 0.05), 4)
    0.0624
    """
    if kept >= n:
        return 1.0
    subsets = float(gammaln(n + 1) - gammaln(kept + 1) - gammaln(n - kept + 1))
    return largest_rate(errors, n - kept, subsets + math.log(n) + math.log(1.0 / delta) + log_choices)


def margin_bound(margins: Array, sum_of_squares: float, delta: float) -> tuple[float, float]:
    """Return the bound on the error of a linear classifier with these margins, and the ρ that gives it.

    Parameters
    ----------
    margins : array of shape (n,)
        yᵢ⟨u, zᵢ⟩ for a unit vector u: with an offset, u and z have one entry more, and that of z is 1.
    sum_of_squares : float
        Σ‖zᵢ‖².
    delta : float

    Examples
    --------
    >>> bound, rho = margin_bound(np.ones(10_000), 10_000.0, 0.05)
    >>> round(bound, 4), rho
    (0.0651, 1.0)
    """
    n = len(margins)
    best = (1.0, math.inf)
    largest = float(margins.max(initial=0.0))
    if largest <= 0:
        return best
    first = 2.0 * math.sqrt(sum_of_squares) / n  # below it the second term alone is 1
    lowest = math.floor(math.log2(first)) if first > 0 else math.floor(math.log2(largest))
    for j in range(lowest, math.floor(math.log2(largest)) + 2):
        rho = math.ldexp(1.0, j)
        failure = delta / (_SCALES * (1 + abs(j)) ** 2)
        violated = float(np.clip(1.0 - margins / rho, 0.0, 1.0).mean())
        value = violated + first / rho + 3.0 * math.sqrt(math.log(2.0 / failure) / (2.0 * n))
        best = min(best, (value, rho))
    return best


def mistake_rate(most: float, n: int, delta: float) -> float:
    """Return the bound on the mean error of the classifiers that a perceptron goes through in one pass.

    Examples
    --------
    >>> round(mistake_rate(22, 10_000, 0.05), 4)
    0.0144
    """
    return min(1.0, most / n + math.sqrt(math.log(1.0 / delta) / (2.0 * n)))


def uniform_bound(training_error: float, n: int, d: int, delta: float, *, has_offset: bool) -> float:
    """Return the bound on the error of any linear classifier with this training error.

    Examples
    --------
    >>> round(uniform_bound(0.01, 1_000_000, 10, 0.05, has_offset=True), 4)
    0.0265
    """
    found = sample_complexity(d, n=n, delta=delta, fit_intercept=has_offset, goal="uniform")
    return min(1.0, training_error + found.epsilon)


# ------------------------------------------------------------------------------------------------
# The classifier that some of the examples determine, and its errors among all others.


def scores_of_refit(
    problem: Problem, kept: NDArray[np.intp], tol: float, solver: str, token: StopToken
) -> Array:
    """Solve the problem on some of its rows alone, and return x·w + b for all of them, a column an output.

    The kept rows keep their costs. If they hold every support vector, the optimum is that of all rows.
    `Stopped` is raised when the token ends before: what the clock had a part in, the rows do not determine.
    """
    rows = problem.rows
    assert isinstance(rows, MemoryRows)
    few = problem.part(kept)
    method, plan = choose(solver, few, tol)
    found = run(few, method, plan, Limits(tol=tol), token=token)
    if found.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    if found.status is Status.MAX_TIME:
        raise Stopped
    scores: Array = np.empty((rows.n_rows, problem.n_outputs))
    rows.reduce(ManyScores(np.atleast_2d(found.coef), np.atleast_1d(found.intercept)), scores, token=token)
    return scores
