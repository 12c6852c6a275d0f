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
        The price of a slack: large C allows few rows inside the margin, small C widens it.
    loss : {"hinge", "squared_hinge"}, default "hinge"
        The slack ξ itself, or ξ².
    {settings}

    Attributes
    ----------
    {attributes}
    {support}

    Examples
    --------
    >>> from maxmargin import LinearSVM
    >>> model = LinearSVM(C=10).fit([[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1])
    >>> model.coef_, model.intercept_, model.margin_
    (array([[1.]]), array([-2.]), array([1.]))
    >>> model.support_, model.dual_coef_
    (array([1, 2]), array([[-0.5,  0.5]]))
    """

    _losses: ClassVar[tuple[str, ...]] = ("hinge", "squared_hinge")
