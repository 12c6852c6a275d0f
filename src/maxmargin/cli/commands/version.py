"""``maxmargin version``: what is running here."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from maxmargin.cli.codes import DONE
from maxmargin.cli.options import add_command, add_common

if TYPE_CHECKING:
    from maxmargin.cli.console import Console


def add_version(commands: Any) -> None:
    """Describe the command to the parser."""
    parser = add_command(
        commands,
        "version",
        help="print versions and the instruction set in use",
        description="Print the versions and the instruction set in use; please quote them in a bug report.",
        examples="  maxmargin version\n  maxmargin version --json\n",
    )
    add_common(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Print the versions."""
    import platform

    import numpy
    import scipy

    from maxmargin import __version__
    from maxmargin._core import available_cpus, cpu

    python = platform.python_version()
    console.print(f"maxmargin {__version__}")
    console.print(f"instruction set {cpu()} (this machine can run {', '.join(available_cpus())})")
    console.print(f"Python {python}, NumPy {numpy.__version__}, SciPy {scipy.__version__}")
    console.print(f"{platform.system()} {platform.machine()}")
    console.add_fields(
        {
            "maxmargin": __version__,
            "instruction_set": cpu(),
            "instruction_sets": available_cpus(),
            "python": python,
            "numpy": numpy.__version__,
            "scipy": scipy.__version__,
            "system": platform.system(),
            "machine": platform.machine(),
        }
    )
    return DONE
