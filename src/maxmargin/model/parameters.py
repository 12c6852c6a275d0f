"""θ, θ₀ and the classes of any two-class linear classifier, read by duck typing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import InvalidInput
from maxmargin.validation import refuse_masked

__all__ = ["Parameters", "attribute_of", "signs_of"]


@dataclass(frozen=True, eq=False)
class Parameters:
    """A linear classifier of two classes, as far as its geometry goes.

    Attributes
    ----------
    coef : array of shape (d,)
        θ.
    intercept : float
        θ₀.
    classes : array or None
        The negative and the positive class; None where the classifier does not say.
    """

    coef: NDArray[np.float64]
    intercept: float
    classes: NDArray[Any] | None = None

    @classmethod
    def of(cls, model: Any) -> Parameters:
        """Read a model with ``coef_`` and ``intercept_`` or ``coef`` and ``intercept``, or a pair (θ, θ₀)."""
        if isinstance(model, tuple) and len(model) == 2:
            coef, intercept, classes = *model, None
        else:
            coef, intercept = (attribute_of(model, name) for name in ("coef", "intercept"))
            classes = attribute_of(model, "classes", needed=False)
        theta = _numbers("θ", coef)
        if theta.ndim == 2 and theta.shape[0] > 1:
            raise InvalidInput(
                f"two classes are needed: {_name(model)} has {theta.shape[0]} classes, each with its own θ"
            )
        offset = np.ravel(_numbers("θ₀", intercept))
        if theta.ndim not in (1, 2) or offset.size != 1:
            raise InvalidInput(
                f"{_name(model)} must have one θ and one θ₀; got the shapes {theta.shape} and {offset.shape}"
            )
        labels = None if classes is None else np.asarray(classes)
        if labels is not None and labels.shape != (2,):
            raise InvalidInput(f"two classes are needed: {_name(model)} has {labels.size}")
        return cls(np.ravel(theta), float(offset[0]), labels)

    @property
    def norm(self) -> float:
        """‖θ‖."""
        return float(np.linalg.norm(self.coef))

    def signs(self, y: Any) -> NDArray[np.float64]:
        """Return +1 for the positive class and −1 for the negative one."""
        return signs_of(y, self.classes)[0]


def signs_of(y: Any, classes: Any = None) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return ±1 for every label, and the negative and the positive class.

    Without given classes they are those of y, the larger one positive; labels that are ±1 already stay what
    they are.
    """
    refuse_masked("y", y)
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise InvalidInput(f"y should be a 1d array of labels; got an array of shape {labels.shape}.")
    if classes is None:
        classes = np.unique(labels)
        if labels.dtype.kind in "iuf" and np.isin(classes, (-1, 1)).all():
            classes = np.array([-1, 1])
    known = np.asarray(classes)
    if len(known) != 2:
        raise InvalidInput(f"two classes are needed; there are {len(known)}")
    unknown = ~np.isin(labels, known)
    if unknown.any():
        where = int(np.flatnonzero(unknown)[0])
        raise InvalidInput(
            f"y[{where}] is {labels[where]}, which is none of the classes {known[0]}, {known[1]}"
        )
    return np.where(labels == known[1], 1.0, -1.0), known


def attribute_of(model: Any, name: str, needed: bool = True) -> Any:
    """Return ``name_`` as fitted estimators have it, or ``name`` as records do."""
    for spelling in (f"{name}_", name):
        if hasattr(model, spelling):
            return getattr(model, spelling)
    if needed:
        raise InvalidInput(
            f"{_name(model)} has no {name}_ and no {name}; give a fitted linear classifier or a pair (θ, θ₀)"
        )
    return None


def _name(model: Any) -> str:
    return type(model).__name__


def _numbers(name: str, value: Any) -> NDArray[np.float64]:
    dense = value.toarray() if hasattr(value, "toarray") else value  # a sparsified scikit-learn model
    refuse_masked(name, dense)
    try:
        numbers = np.asarray(dense, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(f"{name} must hold numbers; got {value!r}") from None
    if not np.isfinite(numbers).all():
        raise InvalidInput(f"{name} must be finite; it contains NaN or infinity")
    return numbers
