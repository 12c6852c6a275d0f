"""The soft-margin support vector machine."""

from __future__ import annotations

from typing import ClassVar

from maxmargin.estimators.linear_classifier import LinearClassifier
from maxmargin.estimators.shared_text import with_shared_text

__all__ = ["LinearSVM"]


@with_shared_text
class LinearSVM(LinearClassifier):
    """The linear support vector machine with an exact, unpenalised offset and a certificate.

    Minimises ½‖θ‖² + C Σ max(0, 1 − y(θ·x + θ₀)), the quadratic program with slacks.

    Parameters
    ----------
    C : float, default 1.0
        The price of a slack: large C allows few rows inside the margin, small C widens it. inf, for the
        hinge, is the smallest total slack, and of all θ that reach it the shortest: on separable rows the
        hard margin.
    loss : {"hinge", "squared_hinge"}, default "hinge"
        The slack ξ itself, or ξ².
    {settings}

    Attributes
    ----------
    {attributes}
    {support}
    minimum_ : HingeMinimum
        With C = inf: the smallest hinge loss, whether it is reached at one point only, and from which finite
        C on the soft margin has the same weights; `minima_` has one entry per class. There `dual_coef_`
        holds the hard margin's duals, or on rows that cannot be separated the linear program's, all ≤ weight.

    Examples
    --------
    >>> from maxmargin import LinearSVM
    >>> model = LinearSVM(C=10).fit([[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1])
    >>> model.coef_, model.intercept_, model.margin_
    (array([[1.]]), array([-2.]), array([1.]))
    >>> model.support_, model.dual_coef_
    (array([1, 2]), array([[-0.5,  0.5]]))

    The same without a regulariser, and one row that no threshold gets right:

    >>> from math import inf
    >>> print(LinearSVM(C=inf).fit([[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1]).minimum_)
    no hinge loss at all: the hard margin; every soft margin with C ≥ 0.5 has the same weights
    >>> model = LinearSVM(C=inf).fit([[0.0], [1.0], [2.0], [3.0], [4.0]], [-1, -1, 1, -1, 1])
    >>> model.certificate_.kind, round(model.minimum_.total, 12), model.minimum_.is_unique
    ('lp-dual', 2.666666666667, True)

    With probabilities:

    >>> import numpy as np
    >>> X = np.arange(40.0)[:, None]
    >>> y = np.where(np.arange(40) % 8 == 5, 1, np.arange(40) > 19)
    >>> model = LinearSVM(calibrate="temperature").fit(X, y)
    >>> model.predict_proba([[10.0], [30.0]]).round(2)
    array([[0.81, 0.19],
           [0.12, 0.88]])
    """

    _losses: ClassVar[tuple[str, ...]] = ("hinge", "squared_hinge")
