"""The command line: ``maxmargin train``, ``predict``, ``report``, ``play``, ``demo``, ``version``."""

from maxmargin.cli.program import main

__all__ = ["main"]
