"""Settings of the whole suite: property tests draw the same examples every time, however long it takes.

``make test-all`` draws more of them. New examples, and very many: ``HYPOTHESIS_PROFILE=thorough make test``.
"""

import os
import signal
import sys
import threading

import pytest
from hypothesis import HealthCheck, settings

# No time limits, which a busy machine would miss.
patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("maxmargin", patient, derandomize=True, max_examples=30)
settings.register_profile("all", patient, derandomize=True)
settings.register_profile("thorough", patient, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "maxmargin"))

# Nobody looks at the profiles of the clusters of tests, whose idle processes need not wake up all the time.
# Programs that tests start have the same settings.
os.environ.update(
    DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL="1s",
    DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL="10s",
    DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED="False",
    DASK_DISTRIBUTED__WORKER__MEMORY__MONITOR_INTERVAL="1s",
)

# A shell that starts the suite in the background has it ignore Ctrl-C, and so would every program that a test
# starts and interrupts.
if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    and threading.current_thread() is threading.main_thread()
):
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc):
    """Do not even make the slow cases where they are not run: there are more of them than of the others."""
    if metafunc.config.option.markexpr != "not slow":
        return
    marks = metafunc.definition.own_markers
    for place, mark in enumerate(marks):
        if mark.name == "parametrize" and not isinstance(mark.kwargs.get("ids"), list | tuple):
            names, cases, *others = mark.args
            cases = list(cases)
            quick = [case for case in cases if not _is_slow(case)]
            marks[place] = pytest.mark.parametrize(names, quick or cases, *others, **mark.kwargs).mark


def _is_slow(case):
    return any(mark.name == "slow" for mark in getattr(case, "marks", ()))


@pytest.fixture(scope="session")
def two_workers():
    """A client of a Dask cluster of two processes, for tests that leave their workers alive and well."""
    from reference.clusters import processes

    with processes(2) as client:
        yield client


@pytest.fixture(autouse=True)
def close_figures():
    """Leave no figure of a test behind."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
