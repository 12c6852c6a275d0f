"""From counts to statements: each bound with its quantifiers, its assumptions and its source."""

from __future__ import annotations

from dataclasses import dataclass

from maxmargin.results.guarantees import Guarantee
from maxmargin.results.leave_one_out import LeaveOneOut
from maxmargin.results.wording import chosen_percent, percent, plural
from maxmargin.selection.error_rates import clopper_pearson

__all__ = [
    "ANY_FLOAT",
    "Circumstances",
    "compression_line",
    "held_out_line",
    "left_out_line",
    "margin_line",
    "mistakes_line",
    "support_line",
    "uniform_line",
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
