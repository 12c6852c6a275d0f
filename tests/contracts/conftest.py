"""A solver is asked about the losses that it says it solves, and no others."""

import pytest
from catalogue import LOSSES, SOLVERS, solves


@pytest.hookimpl(tryfirst=True)  # before the slow ones are left out
def pytest_collection_modifyitems(config, items):
    asked, not_asked = [], []
    for item in items:
        settings = item.callspec.params if hasattr(item, "callspec") else {}
        solver, loss = settings.get("solver"), settings.get("loss")
        is_other = solver in SOLVERS and loss in LOSSES and not solves(solver, loss)
        (not_asked if is_other else asked).append(item)
    if not_asked:
        config.hook.pytest_deselected(items=not_asked)
        items[:] = asked
