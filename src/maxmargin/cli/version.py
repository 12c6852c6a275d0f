"""``maxmargin version``: what is running here."""

from __future__ import annotations

import argparse
from typing import Any

__all__ = ["add_version"]


def add_version(commands: Any) -> None:
    """Describe the command to the parser."""
    parser = commands.add_parser(
        "version",
        help="say which versions and which instruction set are in use",
        description="Say which versions and which instruction set are in use; worth quoting in a bug report.",
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the versions."""
    import platform

    import numpy
    import scipy

    from maxmargin import __version__
    from maxmargin._core import available_cpus, cpu

    print(f"maxmargin {__version__}")
    print(f"instruction set {cpu()} (this machine can run {', '.join(available_cpus())})")
    print(f"Python {platform.python_version()}, NumPy {numpy.__version__}, SciPy {scipy.__version__}")
    print(f"{platform.system()} {platform.machine()}")
    return 0
