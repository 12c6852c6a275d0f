"""The program: which command is meant, and how it ends.

Exit codes: 0 done; 2 refused, with one line that says why; 130 interrupted. Commands import what they need
when they run, so that ``--help`` answers at once.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any, NoReturn

from maxmargin import __version__
from maxmargin.cli.demo import add_demo
from maxmargin.cli.play import add_play
from maxmargin.cli.predict import add_predict
from maxmargin.cli.report import add_report
from maxmargin.cli.train import add_train
from maxmargin.cli.version import add_version
from maxmargin.errors import MaxMarginError

__all__ = ["main"]

REFUSED = 2
INTERRUPTED = 130  # 128 + SIGINT, as shells count
BROKEN_PIPE = 141  # 128 + SIGPIPE

COMMANDS = (add_train, add_predict, add_report, add_play, add_demo, add_version)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name and return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a minus sign or an umlaut must not end a fit.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    chosen = build_parser().parse_args(arguments)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = show_warning
            code: int = chosen.run(chosen)
            sys.stdout.flush()
            return code
    except BrokenPipeError:
        # Whoever read our output has seen enough; Python must not complain about it on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except KeyboardInterrupt:
        print("\nmaxmargin: interrupted; nothing was written", file=sys.stderr)
        return INTERRUPTED
    except MaxMarginError as error:
        return refuse(str(error))
    except MemoryError:
        return refuse("not enough memory for these data")
    except OSError as error:
        return refuse(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except Exception as error:
        return refuse(f"this is a mistake in maxmargin, please report it: {type(error).__name__}: {error}")


def refuse(message: str) -> int:
    """Say on one line why nothing was done."""
    print(f"maxmargin: error: {' '.join(message.split())}", file=sys.stderr)
    return REFUSED


def show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Show a warning as the sentence it is, without the place in the program that it came from."""
    print(f"maxmargin: warning: {message}", file=sys.stderr)


class Parser(argparse.ArgumentParser):
    """A parser whose errors take one line, like all others."""

    def error(self, message: str) -> NoReturn:
        """End the program with exit code 2."""
        refuse(f"{message} (see {self.prog} --help)")
        raise SystemExit(REFUSED)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = Parser(
        prog="maxmargin",
        description="Linear classifiers whose distance from the optimum is certified.",
        epilog="Each command has its own help: maxmargin train --help",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"maxmargin {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for add_command in COMMANDS:
        add_command(commands)
    return parser
