"""Smooth losses, logistic and squared hinge, on dense tables: who gets to the optimum, and when.

    python benchmarks/smooth.py            # covtype and generated rows; writes results/
    python benchmarks/smooth.py --short    # small generated tables; prints only

An entrant has reached the target ε when its objective is at most (1 + ε) times the best certified bound of
its own problem; maxmargin must also certify it. The offset is not penalised, except by LIBLINEAR, LinearSVC
and Snap ML, for whose problem the bound is computed as well. Peers are run at a ladder of their own
tolerances, and the cheapest that reaches ε counts. Everyone gets the rows in the form that suits it best
(dense or CSR; the values are rounded to float32 once, so that float32 and float64 hold the same numbers) and
two cores if it can use them; peers that call BLAS are tried with one and with two of its threads, and the
faster counts. Those who get there are run in turn, several times; times are medians of wall-clock seconds.
Who is not there when the time given (60 seconds, unless --cap says otherwise) is over, is published with
what it had reached.
"""

from __future__ import annotations

from collections.abc import Iterator

from support.contest_script import Case, main
from support.entrants import logistic_peers, ours, squared_hinge_peers
from support.generated import covtype_like, overlapping
from support.problems import covtype

TITLE = "Logistic and squared hinge loss on dense tables"


def cases(short: bool, has_data: bool) -> Iterator[Case]:
    """Yield name, rows, labels, loss, C, target, entrants."""
    if short or not has_data:
        table = ("generated, like covtype", *covtype_like(20_000 if short else 581_012))
    else:
        table = ("covtype", *covtype())
    own = ours(1e-6, "dense32", "dense64", "csr32")
    yield *table, "logistic", 1.0, 1e-6, [own, *logistic_peers()]
    yield *table, "squared_hinge", 1.0, 1e-6, [own, *squared_hinge_peers()]
    rows = 20_000 if short else 200_000
    X, y = overlapping(rows, 50)
    yield f"generated, {rows:,} × 50", X, y, "logistic", 10.0, 1e-6, [own, *logistic_peers()]


if __name__ == "__main__":
    main("smooth", TITLE, __doc__, cases)
