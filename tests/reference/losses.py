"""The losses in decimal arithmetic of any precision: slow, and each line is the definition.

Used to judge both the NumPy and the C++ versions, which have to be clever about overflow and cancellation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Context, Decimal, localcontext

__all__ = ["CONJUGATE", "CURVATURE", "SLOPE", "VALUE", "digits", "dual_value", "fenchel_gap"]

Function = Callable[[Decimal], Decimal]


@contextmanager
def digits(precision: int) -> Iterator[None]:
    """Compute with that many significant digits; overflow gives infinity and underflow 0."""
    with localcontext(Context(prec=precision, Emin=-(10**12), Emax=10**12, traps=[])):
        yield


def _positive_part(x: Decimal) -> Decimal:
    return max(Decimal(0), x)


def _x_log_x(x: Decimal) -> Decimal:
    return x * x.ln() if x > 0 else Decimal(0)


VALUE: dict[str, Function] = {
    "zero_one": lambda m: Decimal(m <= 0),
    "hinge": lambda m: _positive_part(1 - m),
    "squared_hinge": lambda m: _positive_part(1 - m) ** 2,
    "logistic": lambda m: (1 + (-m).exp()).ln(),
    "squared": lambda m: (1 - m) ** 2,
    "absolute": lambda m: abs(1 - m),
    "exponential": lambda m: (-m).exp(),
}

SLOPE: dict[str, Function] = {
    "zero_one": lambda m: Decimal(0),
    "hinge": lambda m: -Decimal(m <= 1),
    "squared_hinge": lambda m: -2 * _positive_part(1 - m),
    "logistic": lambda m: -1 / (1 + m.exp()),
    "squared": lambda m: -2 * (1 - m),
    "absolute": lambda m: Decimal(-1 if m <= 1 else 1),
    "exponential": lambda m: -(-m).exp(),
}

CURVATURE: dict[str, Function] = {
    "zero_one": lambda m: Decimal(0),
    "hinge": lambda m: Decimal(0),
    "squared_hinge": lambda m: Decimal(2 if m < 1 else 0),
    "logistic": lambda m: 1 / (1 + m.exp()) / (1 + (-m).exp()),
    "squared": lambda m: Decimal(2),
    "absolute": lambda m: Decimal(0),
    "exponential": lambda m: (-m).exp(),
}

_INFINITY = Decimal("Infinity")

CONJUGATE: dict[str, Function] = {
    "hinge": lambda u: u if -1 <= u <= 0 else _INFINITY,
    "squared_hinge": lambda u: u + u**2 / 4 if u <= 0 else _INFINITY,
    "logistic": lambda u: _x_log_x(-u) + _x_log_x(1 + u) if -1 <= u <= 0 else _INFINITY,
    "squared": lambda u: u + u**2 / 4,
    "absolute": lambda u: u if -1 <= u <= 1 else _INFINITY,
    "exponential": lambda u: _x_log_x(-u) + u if u <= 0 else _INFINITY,
}


def fenchel_gap(name: str, m: Decimal, alpha: Decimal, cost: Decimal) -> Decimal:
    """c loss(m) + c conjugate(-alpha/c) + alpha m, which cancels: ask for digits enough."""
    return cost * VALUE[name](m) - dual_value(name, alpha, cost) + alpha * m


def dual_value(name: str, alpha: Decimal, cost: Decimal) -> Decimal:
    """-c conjugate(-alpha/c)."""
    return -cost * CONJUGATE[name](-alpha / cost)
