"""The command line: ``maxmargin train``, ``predict``, ``play``, ``demo``, ``version``."""

from maxmargin.cli.program import main

__all__ = ["main"]
