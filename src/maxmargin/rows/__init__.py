"""Where the rows are: solvers ask for two kinds of pass and never learn it."""

from maxmargin.rows.base import Array, Rows, RowVector
from maxmargin.rows.inner import inner
from maxmargin.rows.memory import MemoryRows

__all__ = ["Array", "MemoryRows", "RowVector", "Rows", "inner"]
