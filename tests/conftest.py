"""Settings of the whole suite: property tests draw the same examples every time and have no time limit.

New examples, and many more of them: ``HYPOTHESIS_PROFILE=thorough make test``.
"""

import os

import pytest
from hypothesis import settings

settings.register_profile("maxmargin", deadline=None, derandomize=True)
settings.register_profile("thorough", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "maxmargin"))


@pytest.fixture
def close_figures():
    """Leave no figure of a test behind."""
    from matplotlib import pyplot as plt

    yield
    plt.close("all")
