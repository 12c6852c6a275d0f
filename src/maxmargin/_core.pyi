"""
Compiled kernels of maxmargin: rows, losses, passes over rows, text readers, and checksums.
"""

from collections.abc import Sequence
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray


class Block:
    """Rows in place: a dense array of any strides, or a CSR matrix."""

    @overload
    def __init__(self, x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], is_bfloat16: bool = False) -> None: ...

    @overload
    def __init__(self, values: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], n_columns: int) -> None: ...

    @property
    def n_rows(self) -> int: ...

    @property
    def n_columns(self) -> int: ...

    @property
    def owned_bytes(self) -> int:
        """Memory of a condensed block; 0 if rows are read in place."""

    def condensed(self, token: StopToken) -> Block | None:
        """
        The same rows as patterns of 0/1 columns and dense columns, or None if that does not pay.
        """

class CsrStructure:
    """What check_csr found."""

    @property
    def bad_row(self) -> int: ...

    @property
    def bad_column(self) -> int: ...

    @property
    def bad_starts(self) -> bool: ...

    @property
    def repeats(self) -> bool: ...

def check_csr(indices: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], n_columns: int) -> CsrStructure:
    """
    Look for entries outside the matrix, and for columns that a row names twice.
    """

class StopToken:
    """Tells the passes of one fit to end: by a flag, a deadline or Ctrl-C."""

    def __init__(self, seconds: float | None = None, on_main_thread: bool = False) -> None: ...

    def stop(self) -> None:
        """End every pass that holds this token."""

    def reserve(self, seconds: float) -> None:
        """
        End that much before the deadline, but not in the first half of the time.
        """

    def poll(self) -> bool:
        """Whether to end now; raises what a signal handler raised."""

    def interrupt_highs(self, kind: object, message: object, output: object, input: object, data: object | None) -> None:
        """
        A callback for HiGHS: end its run if this token says so. What a signal handler raises, the
        next poll hands on: nothing may be raised through HiGHS. Python could not do that: handlers
        run before the first line of a function.
        """

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

def multiply_many(block: Block, w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_outputs: int, z: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], token: StopToken) -> None:
    """
    z = X W', one reading of the block for all outputs; W and z are given row after row.
    """

class Inspection:
    """What inspect found; rows that there are none of are -1."""

    def __init__(self, n_rows: int = 0, bad_row: int = -1, bad_column: int = -1, bad_value: float = 0.0, overflow_row: int = -1, largest_norm2: float = 0.0) -> None: ...

    @property
    def n_rows(self) -> int: ...

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

    def __add__(self, arg: Inspection, /) -> Inspection: ...

    def __reduce__(self) -> tuple: ...

def inspect(block: Block, norm2: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], token: StopToken) -> Inspection:
    """Squared norms of the rows, and the first value that is not finite."""

class DualSweepRecord:
    """What one sweep over a block saw."""

    def __init__(self, lowest: float = 0.0, highest: float = 0.0, gap: float = 0.0, visited: int = 0, moved: int = 0, complete: bool = True) -> None: ...

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
    def complete(self) -> bool: ...

    def __add__(self, arg: DualSweepRecord, /) -> DualSweepRecord: ...

    def __reduce__(self) -> tuple: ...

class SweepState:
    """What the sweeps of one fit share: u, κ and the offset's settings."""

    def __init__(self, u: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], center: float = 0.0, gamma: float = 0.0, mean_norm2: float = 0.0) -> None: ...

    @property
    def balance(self) -> float: ...

    @balance.setter
    def balance(self, arg: float, /) -> None: ...

    @property
    def mean_dot(self) -> float: ...

    @mean_dot.setter
    def mean_dot(self, arg: float, /) -> None: ...

    @property
    def center(self) -> float: ...

    @center.setter
    def center(self, arg: float, /) -> None: ...

    @property
    def gamma(self) -> float: ...

def dual_sweep(block: Block, loss: str, state: SweepState, sign: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], norm2: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], mean_score: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, alpha: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], bound_visits: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], skips: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], order: tuple, token: StopToken) -> DualSweepRecord:
    """
    Visit every row of the block that is not skipped; order is (seed, pass, block).
    """

class MomentumProducts:
    """Products of step, direction and u."""

    @property
    def step_step(self) -> float: ...

    @property
    def step_direction(self) -> float: ...

    @property
    def direction_direction(self) -> float: ...

    @property
    def u_step(self) -> float: ...

    @property
    def u_direction(self) -> float: ...

def momentum_products(u: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], start: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], direction: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> MomentumProducts:
    """Put u - start into start; return the products."""

def momentum_direction(step: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], a: float, b: float, direction: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """Put a step + b direction into direction."""

def momentum_trial(u: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], direction: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], length: float, correction: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> float:
    """
    Put u + length direction + correction into correction; return its square.
    """

def momentum_accept(trial: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], step: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], u: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], direction: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """Put trial into u, and all that u has moved by into direction."""

def solve_on_face(block: Block, signed_scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], normal: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, offset_square: float, gradient: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], most: int, token: StopToken) -> tuple:
    """
    Best dual values of free rows by conjugate gradients; returns (iterations, whether it is unbounded).
    """

class CertificateTerms:
    """Sums of certificate_terms."""

    def __init__(self, loss: float = 0.0, gap: float = 0.0, dual: float = 0.0, balance: float = 0.0) -> None: ...

    @property
    def loss(self) -> float: ...

    @property
    def gap(self) -> float: ...

    @property
    def dual(self) -> float: ...

    @property
    def balance(self) -> float: ...

    def __add__(self, arg: CertificateTerms, /) -> CertificateTerms: ...

    def __reduce__(self) -> tuple: ...

def certificate_terms(loss: str, z: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], sign: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], b: float, alpha: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> CertificateTerms:
    """Losses, duality gap, dual value and balance of scored rows."""

def mixed_losses(loss: str, first: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], second: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], sign: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: tuple[float, float], shares: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], totals: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    totals += total losses of the mixtures of two points, given the scores of both.
    """

class OffsetDerivatives:
    """Slope and curvature of the total loss in the offset."""

    def __init__(self, slope: float = 0.0, curvature: float = 0.0) -> None: ...

    @property
    def slope(self) -> float: ...

    @property
    def curvature(self) -> float: ...

    def __add__(self, arg: OffsetDerivatives, /) -> OffsetDerivatives: ...

    def __reduce__(self) -> tuple: ...

def offset_derivatives(loss: str, z: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], sign: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], b: float) -> OffsetDerivatives:
    """Slope and curvature of the total loss in the offset."""

def largest_score(z: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> float:
    """The largest |z| of rows that cost anything."""

def hinge_offset(z: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], sign: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple:
    """The interval of offsets that minimise the total hinge loss."""

def breakpoints_between(z: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], sign: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], low: float, high: float) -> tuple:
    """
    (cost below, at low, at high, inside; the next breakpoint above; those inside with their costs).
    """

def select_offset(points: Annotated[NDArray[numpy.float64], dict(shape=(None, 2), order='C', device='cpu')], below: float, next: float, target: float, tie: float) -> tuple:
    """
    The interval that begins where the running cost reaches the target; rearranges the points.
    """

class ClassCosts:
    """Total cost of each sign, and the rows that cost anything."""

    def __init__(self, positive: float = 0.0, negative: float = 0.0, n_live: int = 0) -> None: ...

    @property
    def positive(self) -> float: ...

    @property
    def negative(self) -> float: ...

    @property
    def n_live(self) -> int: ...

    def __add__(self, arg: ClassCosts, /) -> ClassCosts: ...

    def __reduce__(self) -> tuple: ...

    @property
    def total(self) -> float:
        """The cost of all rows."""

def class_costs(sign: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> ClassCosts:
    """Total cost of each sign."""

class DualBalance:
    """Sums of the duals of each sign, and the room for a change."""

    def __init__(self, positive: float = 0.0, negative: float = 0.0, room: float = 0.0) -> None: ...

    @property
    def positive(self) -> float: ...

    @property
    def negative(self) -> float: ...

    @property
    def room(self) -> float: ...

    def __add__(self, arg: DualBalance, /) -> DualBalance: ...

    def __reduce__(self) -> tuple: ...

def clamp_dual(alpha: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], sign: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], bounded: bool, reach: float, feasible: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> DualBalance:
    """Move duals into their interval: [0, c] if bounded, else [0, reach √c]."""

def correct_dual(alpha: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], sign: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], bounded: bool, share: float, factors: tuple[float, float]) -> DualBalance:
    """
    Change duals in place: rows inside their bounds by a share, or each sign by its factor.
    """

class DualSums:
    """Σ α, Σ s α and Σ α²/c."""

    def __init__(self, linear: float = 0.0, balance: float = 0.0, square: float = 0.0) -> None: ...

    @property
    def linear(self) -> float: ...

    @property
    def balance(self) -> float: ...

    @property
    def square(self) -> float: ...

    def __add__(self, arg: DualSums, /) -> DualSums: ...

    def __reduce__(self) -> tuple: ...

def score_and_pull(block: Block, w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], z: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], sign: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], alpha: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], v: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], token: StopToken) -> DualSums:
    """z = X w and v += X'(s α) in one reading, with sums."""

class PreciseTerms:
    """Sums of precise_terms; pairs are a high and a low part."""

    def __init__(self, loss: tuple[float, float] = (0.0, 0.0), dual: tuple[float, float] = (0.0, 0.0), balance: tuple[float, float] = (0.0, 0.0), total: float = 0.0, least_agreement: float = float('inf'), least_score: float = float('inf'), most_score: float = float('-inf'), least_positive: float = float('inf'), most_negative: float = float('-inf'), furthest2: float = 0.0) -> None: ...

    @property
    def loss(self) -> tuple[float, float]: ...

    @property
    def dual(self) -> tuple[float, float]: ...

    @property
    def balance(self) -> tuple[float, float]: ...

    @property
    def total(self) -> float: ...

    @property
    def least_agreement(self) -> float: ...

    @property
    def least_score(self) -> float: ...

    @property
    def most_score(self) -> float: ...

    @property
    def least_positive(self) -> float: ...

    @property
    def most_negative(self) -> float: ...

    @property
    def furthest2(self) -> float: ...

    def __add__(self, arg: PreciseTerms, /) -> PreciseTerms: ...

    def __reduce__(self) -> tuple: ...

def precise_terms(loss: str, block: Block, w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], b: float, origin: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], sign: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], alpha: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], v_high: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], v_low: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], token: StopToken) -> PreciseTerms:
    """Losses, dual value and balance in twice the precision; v += X'(s α)."""

def precise_norm2(high: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], low: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], shift: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], factor: tuple[float, float]) -> tuple[float, float]:
    """
    Σ (high + low − factor · shift)² in twice the precision, as a high and a low part.
    """

def implied_pull(loss: str, block: Block, z: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], sign: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], b: float, v: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], token: StopToken) -> float:
    """v += X'p for p = −s c ℓ′(m), the pull of each row; returns Σ p."""

def crc32(bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> int:
    """The CRC-32 of these bytes, as zip has it."""

def joined_crc32(first: int, second: int, second_bytes: int) -> int:
    """
    The CRC-32 of two pieces from those of each; the second has so many bytes.
    """

def feasible_class_duals(label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], given: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], duals: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], mass: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Put the nearest c (e_label − α) with α in the simplex into duals; mass += Σ c α.
    """

def move_class_duals(label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], shrink: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], fill: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], duals: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """
    Have each class give up a share of its α, which goes to classes in the proportions `fill`.
    """

def smoothed_class_hinge(label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], z: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], b: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], centre: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], sigma: float, duals: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], balance: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], curvature: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')] | None) -> float:
    """
    The hinge at z + b smoothed about duals: fill its own duals, add up their sum and the Hessian in b; returns its value.
    """

def curve_class_duals(label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], duals: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], sigma: float, u: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """Replace changes of scores by those of the smoothed hinge's slopes."""

def class_hinge_terms(label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], z: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], b: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], duals: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], balance: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> tuple:
    """
    balance += Σ r; returns Σ c loss at z + b, Σ r_label, Σ |r| and the largest |z|.
    """

def class_softmax_terms(label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], z: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], b: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], duals: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], balance: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> tuple:
    """
    balance += Σ r; returns Σ c loss at z + b, Σ c entropy, Σ |r| and the largest |z|, for softmax.
    """

def class_softmax_losses(label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], z: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], b: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], balance: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> float:
    """balance += Σ c (p − e_label); returns Σ c loss at z + b, for softmax."""

def class_hinge_hessian(block: Block, label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], duals: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], sigma: float, shift: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, hessian: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], token: StopToken) -> None:
    """
    The lower triangle of the smoothed hinge's Hessian in (w₁, b₁, w₂, b₂, …).
    """

def class_sweep(block: Block, W: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], balance: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], center: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], gamma: float, worthwhile: float, is_softmax: bool, label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], norm2: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], duals: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], calm: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], skips: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], in_use: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], rests: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], order: tuple, token: StopToken) -> DualSweepRecord:
    """
    Set the duals of every active row to their best, in the order named by (seed, pass, block).
    """

def weighted_gram(block: Block, h: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], shift: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, G: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], single: bool, token: StopToken) -> None:
    """
    G += sum of h (x - shift, 1)(x - shift, 1)' over the rows of the block; shift may be None.
    """

def descend_l1_quadratic(H: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], r: float, x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], q: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], share: float, most_sweeps: int, token: StopToken) -> tuple:
    """
    Minimise a quadratic with the Hessian H plus r |x|, from x with the gradient q, in place; return by how much it was lowered, and the sweeps.
    """

def descend_l1_columns(columns: Block, h: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], ridge: float, r: float, g: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], offset: tuple[float, float] | None, share: float, most_sweeps: int, token: StopToken) -> tuple:
    """
    The same by the columns of data, each a row of the block, weighted by h, from the gradient g; `offset` has its slope and its stiffness, or is None. Return by how much it was lowered, the sweeps, and the change of the offset.
    """

class NotFactorised(ValueError):
    pass

class Factor:
    """A factorised symmetric positive definite matrix."""

    def __init__(self, M: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None:
        """
        Reads the lower triangle; a row with a diagonal of 0 counts as one of the unit matrix.
        """

    @property
    def size(self) -> int: ...

    @property
    def ridge(self) -> float:
        """
        What had to be added to the diagonal of the matrix scaled to a unit diagonal, mostly 0.
        """

    @property
    def smallest_pivot(self) -> float:
        """
        Of the matrix scaled to a unit diagonal; near 1e-16, a column depends on others.
        """

    def solve(self, rhs: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """M^-1 rhs as a new array."""

    def solve_rows(self, rhs: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """
        M^-1 times each row of rhs, without refinement, as the rows of a new array.
        """

    def lower(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """The lower triangle L with LL' = M, as a new array."""

    def quadratic_forms(self, block: Block, shift: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, chosen: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, forms: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], token: StopToken) -> None:
        """
        Write (x - shift, 1)' M^-1 (x - shift, 1) for the rows whose `chosen` is not 0.
        """

    def quadratic_form_max(self, block: Block, shift: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, token: StopToken, cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> float:
        """
        The largest (x - shift, 1)' M^-1 (x - shift, 1) over the rows of the block that cost anything.
        """

class NearRows:
    """A hinge fit from which rows are left out, by its rows near the margin."""

    def __init__(self, rows: object, sign: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], alpha: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], agreement: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], distance: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_near: int, n_free: int, balance: float, constant: float, has_free_offset: bool, largest_norm: float) -> None:
        """
        order: the rows that cost anything, first the n_free free ones, then others to n_near, then the rest by `distance` from the margin. balance: sum of s alpha. constant: added to products of rows.
        """

    def make(self, token: StopToken) -> bool:
        """Make the system; False if the free rows depend on each other."""

    def remove(self, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], new_cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], changes: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], offset_changes: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], solved: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu')], token: StopToken) -> None:
        """
        Write, for each row that loses cost, the changes of s alpha of the near rows and of the row itself if it is not near, and of a free offset.
        """

    def prove(self, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], new_cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], changes: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], offset_changes: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], token: StopToken) -> None:
        """
        Write of each such point: agreement of its row, gap, change of the balance, squared length of the change of w, error of the offset, and the cost below and above the offset.
        """

class NewtonSums:
    """Sums of newton_evaluate."""

    def __init__(self, loss: float = 0.0, slope: float = 0.0, curvature: float = 0.0) -> None: ...

    @property
    def loss(self) -> float: ...

    @property
    def slope(self) -> float: ...

    @property
    def curvature(self) -> float: ...

    def __add__(self, arg: NewtonSums, /) -> NewtonSums: ...

    def __reduce__(self) -> tuple: ...

def newton_evaluate(block: Block, loss: str, w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], b: float, sign: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], z: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], h: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')] | None, gradient: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], gram: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')] | None, shift: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, single: bool, token: StopToken) -> NewtonSums:
    """
    Scores, the sum of losses with its slope and curvature in the offset, the gradient (added) and, unless gram is None, the Hessian's Gram matrix (added), in one reading of the block.
    """

def hessian_product(block: Block, h: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], d: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], e: float, product: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], token: StopToken) -> float:
    """product += X'h(X d + e); returns the sum of h(X d + e)."""

def hessian_diagonal(block: Block, h: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], squares: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], sums: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], token: StopToken) -> None:
    """squares += sum of h x^2 and sums += sum of h x, column by column."""

class LineSums:
    """Losses at one point of a line, with slope and curvature along it."""

    def __init__(self, loss: float = 0.0, slope: float = 0.0, curvature: float = 0.0) -> None: ...

    @property
    def loss(self) -> float: ...

    @property
    def slope(self) -> float: ...

    @property
    def curvature(self) -> float: ...

    def __add__(self, arg: LineSums, /) -> LineSums: ...

    def __reduce__(self) -> tuple: ...

def line_sums(loss: str, z: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], sign: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], b: float, to: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], to_b: float, t: float) -> LineSums:
    """
    The sum of losses, its slope and its curvature in t, at the share t of the way from the scores z to others.
    """

class PredictionSums:
    """
    The rows' share of the gap, the error of the prediction, and by how much clipping changed it.
    """

    def __init__(self, gap: float = 0.0, error: float = 0.0, clipped: float = 0.0) -> None: ...

    @property
    def gap(self) -> float: ...

    @property
    def error(self) -> float: ...

    @property
    def clipped(self) -> float: ...

    def __add__(self, arg: PredictionSums, /) -> PredictionSums: ...

    def __reduce__(self) -> tuple: ...

def predicted_duals(loss: str, z: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], sign: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], b: float, h: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], to: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], to_b: float, alpha: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> PredictionSums:
    """
    Fill alpha with the duals that the quadratic model at the scores z predicts at others; returns the rows' share of the duality gap there, by how much it missed the duals of those scores, and by how much clipping changed it.
    """

def softmax_gradient(block: Block, W: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], b: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], single: bool, gradient: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')] | None, balance: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], token: StopToken) -> float:
    """
    gradient += Σ r xᵀ and balance += Σ r for the residuals r = c (p − e_label) of softmax; returns Σ c loss.
    """

def softmax_hessian_product(block: Block, W: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], b: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], D: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], e: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], single: bool, product: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], product_b: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], token: StopToken) -> None:
    """
    product += Σ q xᵀ and product_b += Σ q with q = c p ∘ (u − p·u), u = D x + e, for softmax.
    """

def softmax_probabilities(block: Block, W: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], b: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], single: bool, p: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], token: StopToken) -> None:
    """p = the softmax of W x + b for every row, in single precision."""

def softmax_curvature_product(block: Block, p: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], D: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], e: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], single: bool, product: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], product_b: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], token: StopToken) -> None:
    """
    The product of softmax_hessian_product with probabilities p that were kept.
    """

def output_scores(block: Block, W: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], b: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], single: bool, z: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], token: StopToken) -> None:
    """z = W x + b for every row."""

def precise_outputs(block: Block, W: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], b: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], origin: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], duals: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], z: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], V_high: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], V_low: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], balance: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], token: StopToken) -> float:
    """
    z = W x + b of rows that cost anything, rounded once; V += Σ r xᵀ and balance += Σ r in twice the precision; returns the largest ‖x − origin‖².
    """

def combine_outputs(block: Block, r: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], single: bool, V: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], token: StopToken) -> None:
    """V += Σ r xᵀ, with one row of r for each row."""

def softmax_hessian(block: Block, W: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], b: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], shift: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, single: bool, hessian: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], token: StopToken) -> None:
    """
    hessian += Σ c (diag p − p pᵀ) ⊗ x̃ x̃ᵀ with x̃ = (x − shift, 1), for softmax.
    """

def softmax_certificate(block: Block, W: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], b: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], dual_W: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], dual_b: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], shrink: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], fill: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], V: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], balance: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], token: StopToken) -> tuple:
    """
    V += Σ r xᵀ and balance += Σ r for the duals r = c (e_label − α); returns Σ c loss, Σ c entropy(α), Σ |r| and the largest |W x|.
    """

def left_out_gradients(block: Block, loss: str, sign: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], z: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], b: float, size: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], core: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], left_out: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], gradient: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], least: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], token: StopToken) -> None:
    """
    For every point (w, b) the gradient of the losses over all rows but the one left out (added), and how far rows are from what a bound around the point must not reach (lowered).
    """

class PointSums:
    """What interior_move added up at the new point."""

    def __init__(self, loss: float = 0.0, gap: float = 0.0, dual: float = 0.0, balance: float = 0.0, complementarity: float = 0.0) -> None: ...

    @property
    def loss(self) -> float: ...

    @property
    def gap(self) -> float: ...

    @property
    def dual(self) -> float: ...

    @property
    def balance(self) -> float: ...

    @property
    def complementarity(self) -> float: ...

    def __add__(self, arg: PointSums, /) -> PointSums: ...

    def __reduce__(self) -> tuple: ...

class StepSums:
    """How long a step may be, and what it does to the complementarity."""

    def __init__(self, largest_ratio: float = 0.0, first: float = 0.0, second: float = 0.0) -> None: ...

    @property
    def largest_ratio(self) -> float: ...

    @property
    def first(self) -> float: ...

    @property
    def second(self) -> float: ...

    def __add__(self, arg: StepSums, /) -> StepSums: ...

    def __reduce__(self) -> tuple: ...

def interior_centre(e: float, cost: float, mu: float) -> tuple:
    """(alpha, beta, t, xi) of the central path for a given margin."""

def interior_move(block: Block, sign: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], state: tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]], along: tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]] | None, step: float, mu: float, w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], offset: float, after: tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]], dual_sum: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], predictor_side: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], matrix: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')] | None, shift: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, token: StopToken) -> PointSums:
    """
    Move every row along a direction, or to the central path, and assemble the next system.
    """

def interior_predict(block: Block, sign: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], state: tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]], dw: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], offset: float, alpha: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], centring: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], second_order: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], token: StopToken) -> StepSums:
    """
    The predictor's directions, and what the corrector's right-hand side is made of.
    """

def interior_correct(block: Block, sign: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], state: tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]], dw: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], offset: float, along: tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]], target: float, trial: float, pull_back: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], token: StopToken) -> StepSums:
    """
    The corrector's directions, and the right-hand side of Gondzio's first corrector.
    """

def interior_refine(block: Block, sign: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], state: tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]], dw: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], offset: float, along: tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]], better: tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]], target: float, trial: float, next_trial: float, pull_back: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], token: StopToken) -> StepSums:
    """One of Gondzio's correctors, and the right-hand side of the next."""

def interior_least_products(sign: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], state: tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]], along: tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]], steps: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], means: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], least: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    The smallest complementarity product after each step, as a share of its mean times cost.
    """

def interior_smooth_slope(sign: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], state: tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]], change: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], step: float, mu: float) -> float:
    """The slope of the smoothed loss along a change of the scores."""

def row_gram(block: Block, first: int, last: int, products: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], token: StopToken) -> None:
    """
    Fill products[k, j] and products[j, k] with x_k . x_j for first <= k < last and j <= k.
    """

class RemovalPath:
    """The optimum of a hinge problem, from which rows can be left out."""

    def __init__(self, products: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], sign: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], alpha: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], agreement: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], b: float, constant: float, residual2: float, rounding: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], product_error: float, has_free_offset: bool, n_watched: int) -> None:
        """
        products: x . x of all pairs of rows, plus a constant; residual2: |w - sum of s alpha x|^2; rounding: how far each agreement may be off; product_error: the same of a product, as a share; n_watched: how many rows, the first ones, are near the margin.
        """

    def alpha(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """
        The dual point, moved so that the free rows are independent; the weights are the same.
        """

    @property
    def n_free(self) -> int: ...

    def follow(self, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], new_cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], stop_below: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], agreement: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], error_bound: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], is_out: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu')], token: StopToken) -> None:
        """
        Lower the cost of one row after another, each from the full fit; write its agreement then and a bound of the error of that. A row whose agreement falls below stop_below is followed no further: it is not out, and its left-out agreement is at most the one written.
        """

class Band:
    """Rows near the margin of a hinge fit; all others are held."""

    def __init__(self, table: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], sign: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], alpha: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], agreement: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], b: float, held: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], held_balance: float, held_gap: float, objective: float, offset_reach: float, has_free_offset: bool) -> None: ...

    def decide(self, x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], sign: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], alpha: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], agreement: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], place: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], reach: float, max_steps: int, decisions: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu')], steps: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], token: StopToken) -> bool:
        """
        Write 1 for rows that are certainly right when left out, else 0; False if it was stopped.
        """

    def solve(self, x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], sign: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], alpha: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], agreement: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], place: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], a: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], w: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], b: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], token: StopToken) -> int:
        """Solve each left-out problem on the band; returns how many were solved."""

class OnlineSettings:
    """How an online learner steps and chooses its rows."""

    def __init__(self, step: tuple[float, float, float], *, threshold: float = 0.0, lam: float = 0.0, has_offset: bool = False, counts_updates: bool = False, arrangement: str = 'given') -> None: ...

class OnlineState:
    """The weights scale * v, the offset, and the counts."""

    def __init__(self, v: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], u: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')] | None = None) -> None: ...

    @property
    def numbers(self) -> tuple[float, float, float, float, int, int]:
        """
        scale, its sum, offset, its sum, visits and updates: what it takes, with v and u, to go on
        """

    @numbers.setter
    def numbers(self, arg: tuple[float, float, float, float, int, int], /) -> None: ...

    @property
    def visits(self) -> int: ...

    @property
    def updates(self) -> int: ...

    def weights(self, averaged: bool, theta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> float:
        """
        Write the weights, or their average over all visits, into theta; return the offset.
        """

class OnlineTrace:
    """Where to write down every visit."""

    def __init__(self, row: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')], agreement: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], updated: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], step: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

def online_sweep(block: Block, rule: str, settings: OnlineSettings, state: OnlineState, sign: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], norm2: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, stretch: tuple[int, int, int, int, int], updated_rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')] | None, trace: OnlineTrace | None, token: StopToken) -> None:
    """
    Visit rows one by one; stretch is (seed, pass, first position, most visits, most updates).
    """

class ProximalSums:
    """Sums of proximal_move."""

    def __init__(self, loss: float = 0.0, alpha: float = 0.0, balance: float = 0.0, gap: float = 0.0, moved: float = 0.0, free: int = 0) -> None: ...

    @property
    def loss(self) -> float: ...

    @property
    def alpha(self) -> float: ...

    @property
    def balance(self) -> float: ...

    @property
    def gap(self) -> float: ...

    @property
    def moved(self) -> float: ...

    @property
    def free(self) -> int: ...

    def __add__(self, arg: ProximalSums, /) -> ProximalSums: ...

    def __reduce__(self) -> tuple: ...

def proximal_excess(block: Block, w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], b: float, sign: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], excess: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], token: StopToken) -> None:
    """excess = s(x·w + b) - 1."""

def proximal_move(block: Block, step: float, before: float, after: float, new_anchor: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')] | None, shift: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, sign: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], anchor: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], excess: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], change: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], v: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], gram: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')] | None, token: StopToken) -> ProximalSums:
    """
    Move the excesses, change the stiffness, renew the anchors; add what changes to v, and the Gram matrix of the free rows to gram.
    """

def proximal_direction(block: Block, dw: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], db: float, stiffness: float, steps: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], sign: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], anchor: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], excess: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], change: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], slopes: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], token: StopToken) -> None:
    """
    change = s(x·dw + db), and the slopes of the rows' terms at some steps along it.
    """

def proximal_slopes(stiffness: float, steps: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], anchor: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], excess: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], change: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], slopes: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """The slopes alone."""

def proximal_alpha(stiffness: float, cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], anchor: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], excess: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], alpha: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """The multipliers of the rows."""

class CsvDialect:
    """
    How a text table is written: between fields, in numbers, before a comment (a line break: there are none), and what stands for missing values, None for the usual signs.
    """

    def __init__(self, separator: str, decimal: str = '.', comment: str = '\n', missing: Sequence[str] | None = None) -> None: ...

def read_csv_record(source: bytes | bytearray | memoryview, start: int, dialect: CsvDialect) -> tuple[list[bytes], int]:
    """
    The fields of the record at start, and where the next one starts; no fields at the end.
    """

def read_csv(source: bytes | bytearray | memoryview, start: int, dialect: CsvDialect, kinds: str, names: Sequence[str], skip_bad_records: bool, token: StopToken) -> tuple[NDArray[numpy.float64], NDArray[numpy.int64], NDArray[numpy.int64], list[tuple[NDArray[numpy.float64 | numpy.int32], list[bytes] | None]], NDArray[numpy.int64], int, list[tuple[str, int, int]]]:
    """
    The records from start on: numbers, how many texts and numbers their columns have, the other columns, where records start, how many were left out and what is wrong with some of them. A letter says what each field is: - nothing, n a number, g a number unless many are text, t text, e numbers or text.
    """

def end_of_whole_csv_records(source: bytes | bytearray | memoryview, dialect: CsvDialect) -> int:
    """
    Where the last record ends that cannot go on behind the end of the text.
    """

def csv_field_position(source: bytes | bytearray | memoryview, start: int, dialect: CsvDialect, field: int) -> tuple[int, int]:
    """Line and column of a field of the record at start."""

class ReadError(ValueError):
    """Text that cannot be read; its args are (message, line, column)."""

class LibsvmPart:
    """Some lines of LIBSVM text, parsed; for use again."""

    def __init__(self) -> None: ...

    def parse(self, text: bytes | bytearray | memoryview, table: LibsvmTable, token: StopToken) -> None:
        """
        Read whole lines by the table's settings; several parts can be parsed at once.
        """

class LibsvmPlace:
    """Where a part goes in a table."""

class LibsvmTable:
    """The rows of LIBSVM text, put together from parts."""

    def __init__(self, zero_based: bool | None, n_columns: int | None, skip_bad_lines: bool, n_bytes: int | None) -> None: ...

    def reserve(self, part: LibsvmPart) -> LibsvmPlace:
        """
        Make room for the next part; ReadError for a line that cannot be read. By one thread.
        """

    def fill(self, part: LibsvmPart, place: LibsvmPlace) -> None:
        """Write a part to its place; several at once."""

    def finish(self) -> tuple[NDArray[numpy.float64], NDArray[numpy.int32 | numpy.int64], NDArray[numpy.int32 | numpy.int64], NDArray[numpy.float64], int, bool]:
        """
        All rows as (values, columns, row starts, labels, n_columns, zero_based); once.
        """

    @property
    def n_bad_lines(self) -> int:
        """How many lines were skipped."""

    @property
    def first_bad_line(self) -> tuple[str, int, int] | None:
        """The first of them as (message, line, column)."""
