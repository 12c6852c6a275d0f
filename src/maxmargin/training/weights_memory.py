"""Whether the weights of so many columns fit into memory at all.

A file of a few bytes may name column 2,000,000,000. Without a look beforehand a system that promises more
memory than it has would end the process in the middle of the fit.
"""

from __future__ import annotations

from maxmargin.errors import InvalidInput
from maxmargin.inputs.memory_sizes import available_memory, memory_text

__all__ = ["check_weights_fit"]

FEW = 10_000_000  # columns that nobody need ask about
VECTORS = 4  # of the weights' length that every solver has at least


def check_weights_fit(n_columns: int, n_classes: int) -> None:
    """Refuse rows of so many columns that the weights of all classes cannot be held.

    Parameters
    ----------
    n_columns, n_classes : int
        Of the rows; two classes have one vector of weights.
    """
    if n_columns <= FEW:
        return
    needed = 8 * n_columns * (VECTORS + (n_classes if n_classes > 2 else 0))
    available = available_memory()
    if needed > available:
        raise InvalidInput(
            f"X has {n_columns:,} columns: their weights take {memory_text(needed)} or more, and "
            f"{memory_text(available)} of memory are there. If one index is too large, number columns anew"
        )
