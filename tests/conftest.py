"""Settings of the whole suite: property tests draw the same examples every time and have no time limit."""

from hypothesis import settings

settings.register_profile("maxmargin", deadline=None, derandomize=True)
settings.load_profile("maxmargin")
