"""A solver is asked about the losses that it says it solves, and no others.

The scale of a penalised offset is tried on a few problems; on all of them it is tried by `make test-all`.
"""

import pytest
from catalogue import LOSSES, PROBLEMS, SOLVERS

SCALED = "penalized, scale 5"
WITH_SCALE = ("overlapping", "C = 1e3", "d > n", "n > d", "far from the origin", "imbalance 1:1000", "sparse")
assert set(WITH_SCALE) <= set(PROBLEMS)


@pytest.hookimpl(tryfirst=True)  # before the slow ones are left out
def pytest_collection_modifyitems(config, items):
    asked, not_asked = [], []
    for item in items:
        settings = item.callspec.params if hasattr(item, "callspec") else {}
        solver, loss = settings.get("solver"), settings.get("loss")
        is_other = solver in SOLVERS and loss in LOSSES and loss not in SOLVERS[solver].needs.losses
        (not_asked if is_other else asked).append(item)
        name = settings.get("name")
        if settings.get("offset") == SCALED and name in PROBLEMS and name not in WITH_SCALE:
            item.add_marker(pytest.mark.slow)
    if not_asked:
        config.hook.pytest_deselected(items=not_asked)
        items[:] = asked
