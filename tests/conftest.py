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
settings.register_profile("maxmargin", patient, derandomize=True, max_examples=50)
settings.register_profile("all", patient, derandomize=True)
settings.register_profile("thorough", patient, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "maxmargin"))

# A shell that starts the suite in the background has it ignore Ctrl-C, and so would every program that a test
# starts and interrupts.
if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    and threading.current_thread() is threading.main_thread()
):
    signal.signal(signal.SIGINT, signal.default_int_handler)


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
