"""``maxmargin version``: what is running here."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from maxmargin.cli.codes import DONE
from maxmargin.cli.options import add_command, add_common

if TYPE_CHECKING:
    from maxmargin.cli.console import Voice


def add_version(commands: Any) -> None:
    """Describe the command to the parser."""
    parser = add_command(
        commands,
        "version",
        help="say which versions and which instruction set are in use",
        description="Say which versions and which instruction set are in use; worth quoting in a bug report.",
        examples="  maxmargin version\n  maxmargin version --json\n",
    )
    add_common(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, voice: Voice) -> int:
    """Print the versions."""
    import platform

    import numpy
    import scipy

    from maxmargin import __version__
    from maxmargin._core import available_cpus, cpu

    python = platform.python_version()
    voice.say(f"maxmargin {__version__}")
    voice.say(f"instruction set {cpu()} (this machine can run {', '.join(available_cpus())})")
    voice.say(f"Python {python}, NumPy {numpy.__version__}, SciPy {scipy.__version__}")
    voice.say(f"{platform.system()} {platform.machine()}")
    voice.result(
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
