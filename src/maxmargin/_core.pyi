"""
Compiled kernels of maxmargin: rows, losses, passes over rows, and text readers.
"""

from typing import Annotated, overload

import numpy
from numpy.typing import NDArray


class Block:
    """Rows in place: a dense array of any strides, or a CSR matrix."""

    @overload
    def __init__(self, x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)]) -> None: ...

    @overload
    def __init__(self, values: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], n_columns: int) -> None: ...

    @property
    def n_rows(self) -> int: ...

    @property
    def n_columns(self) -> int: ...

class CsrStructure:
    """What check_csr found."""

    @property
    def bad_row(self) -> int: ...

    @property
    def bad_column(self) -> int: ...

    @property
    def bad_starts(self) -> bool: ...

    @property
    def sorted_and_unique(self) -> bool: ...

def check_csr(indices: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], n_columns: int) -> CsrStructure:
    """
    Look for entries outside the matrix, and for repeated or unsorted columns.
    """

class StopToken:
    """Tells the passes of one fit to end: by a flag, a deadline or Ctrl-C."""

    def __init__(self, seconds: float | None = None, on_main_thread: bool = False) -> None: ...

    def stop(self) -> None:
        """End every pass that holds this token."""

    def poll(self) -> bool:
        """Whether to end now."""

    @property
    def stopped(self) -> bool: ...

class Stopped(Exception):
    pass

def cpu() -> str:
    """The instruction set in use."""

def available_cpus() -> list[str]:
    """The instruction sets that this machine can run."""

def loss_value(name: str, m: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """The loss of every agreement m."""

def loss_slope(name: str, m: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """The derivative of the loss; at a kink the lecture notes' choice."""

def loss_slope_low(name: str, m: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """The lower end of the interval of slopes."""

def loss_slope_high(name: str, m: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """The upper end of the interval of slopes."""

def loss_curvature(name: str, m: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """The second derivative of the loss."""

def loss_conjugate(name: str, u: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """The convex conjugate, sup over m of u m - loss(m)."""

def loss_fenchel_gap(name: str, m: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], alpha: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """Every row's share of the duality gap."""

def loss_dual_value(name: str, alpha: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """Every row's share of the dual objective."""

def loss_best_alpha(name: str, m: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """The dual variable at which a row's share of the gap is 0."""

def multiply(block: Block, w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, z: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')] | None, a: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, v: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')] | None, token: StopToken) -> None:
    """
    z = X w and v += X'a in one reading of the block; either pair may be None.
    """

class Inspection:
    """What inspect found."""

    @property
    def bad_row(self) -> int: ...

    @property
    def bad_column(self) -> int: ...

    @property
    def bad_value(self) -> float: ...

    @property
    def overflow_row(self) -> int: ...

    @property
    def largest_norm2(self) -> float: ...

def inspect(block: Block, norm2: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], token: StopToken) -> Inspection:
    """Squared norms of the rows, and the first value that is not finite."""

class CertificateTerms:
    """Sums of certificate_terms."""

    @property
    def loss(self) -> float: ...

    @property
    def gap(self) -> float: ...

    @property
    def dual(self) -> float: ...

    @property
    def balance(self) -> float: ...

    @property
    def largest_score(self) -> float: ...

def certificate_terms(loss: str, z: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], sign: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], b: float, alpha: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: float) -> CertificateTerms:
    """
    Losses, duality gap, dual value and balance of scored rows; alpha counts times scale.
    """

def offset_derivatives(loss: str, z: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], sign: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], b: float) -> tuple:
    """Slope and curvature of the total loss in the offset."""

def hinge_offset(z: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], sign: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple:
    """The interval of offsets that minimise the total hinge loss."""

class DualSweepRecord:
    """What one sweep over a block saw."""

    @property
    def lowest(self) -> float: ...

    @property
    def highest(self) -> float: ...

    @property
    def gap(self) -> float: ...

    @property
    def visited(self) -> int: ...

    @property
    def moved(self) -> int: ...

    @property
    def settled(self) -> int: ...

    @property
    def complete(self) -> bool: ...

def dual_sweep(block: Block, loss: str, sign: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], norm2: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], alpha: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], active: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], b: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], gamma: float, order: tuple, limits: tuple, token: StopToken) -> DualSweepRecord:
    """
    Visit every active row of the block once; order is (seed, pass, block), limits are those of shrinking.
    """
