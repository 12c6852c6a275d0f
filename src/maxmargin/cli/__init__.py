"""The command line: ``maxmargin train``, ``predict`` and the other commands, one a file."""

from maxmargin.cli.program import main

__all__ = ["main"]
