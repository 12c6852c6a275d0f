"""The program: which command is meant, and how it ends.

Commands are modules of this package, imported when they are named, and import what they need when they run,
so that ``--help`` answers at once.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import io
import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from maxmargin import __version__
from maxmargin.cli.codes import BROKEN_PIPE, EXIT_CODES, INTERRUPTED, OUR_MISTAKE, REFUSED, UNTOLD
from maxmargin.cli.ending_signals import EndingSignals, ending_as_ctrl_c
from maxmargin.cli.option_words import as_options
from maxmargin.cli.voice import Voice, discard
from maxmargin.errors import MaxMarginError

__all__ = ["COMMANDS", "build_parser", "main"]

# Each is a module of this package with a function add_NAME, in which - is written as _.
COMMANDS = (
    "train",
    "predict",
    "evaluate",
    "certify",
    "path",
    "loo",
    "inspect",
    "convert",
    "report",
    "play",
    "demo",
    "liblinear-train",
    "liblinear-predict",
    "completion",
    "version",
)

EPILOG = f"Each command has its own help with examples: maxmargin train --help\n\n{EXIT_CODES}"


def main(arguments: Sequence[str] | None = None, *, ends_process: bool = False) -> int:
    """Run the command that the arguments name and return the exit code."""
    prepare_streams()
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words:
        build_parser().print_help(sys.stderr)
        return REFUSED
    voice = Voice(json="--json" in words, command=words[0] if words[0] in COMMANDS else "")
    try:
        chosen = read_words(words)
        voice.quiet, voice.json = getattr(chosen, "quiet", False), getattr(chosen, "json", False)
        with ending_as_ctrl_c(ends_process=ends_process) as signals:
            code = signals.code(run_command(chosen, voice, signals))
        voice.finish(code)
        sys.stdout.flush()
        return code
    except UsageError as error:
        voice.refuse(str(error))
        voice.finish(REFUSED)
        return REFUSED
    except KeyboardInterrupt as error:  # while the words were read, or after the command's own end
        voice.break_off("interrupted", error)
        voice.finish(INTERRUPTED)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has seen enough.
        discard(sys.stdout)
        return BROKEN_PIPE
    except OSError as error:
        voice.note(f"maxmargin: error: {in_words(error)}{what_is_there(voice)}")
        discard(sys.stdout)
        return UNTOLD if voice.written else REFUSED


def prepare_streams() -> None:
    """Make the standard streams usable whatever they are."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by whoever started the program
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - until the end
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a minus sign or an umlaut must not end a fit.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def run_command(chosen: argparse.Namespace, voice: Voice, signals: EndingSignals) -> int:
    """Run a command; whatever ends it early becomes one line and an exit code."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.simplefilter("ignore", ResourceWarning)  # of files that Ctrl-C left to Python to close
            warnings.showwarning = lambda message, *_, **__: voice.warn(str(message))
            chosen.began = time.perf_counter()
            code: int = chosen.run(chosen, voice)
            return code
    except BrokenPipeError:
        raise
    except KeyboardInterrupt as error:
        voice.break_off("interrupted; nothing was written", error)
        return INTERRUPTED
    except MaxMarginError as error:
        voice.refuse(as_options(str(error), vars(chosen)), error)
    except MemoryError as error:
        has_memory = getattr(chosen, "memory", "") is None  # the option, which was not given
        instead = "; --memory SIZE reads them from disk" if has_memory else ""
        voice.refuse(f"not enough memory for these data{instead}", error)
    except OSError as error:
        voice.refuse(in_words(error) + what_is_there(voice), error)
        return UNTOLD if voice.written else REFUSED
    except Exception as error:
        if signals.are_behind(error):
            voice.break_off("interrupted; nothing was written", error)
            return INTERRUPTED
        told = f"this is a mistake in maxmargin, please report it: {type(error).__name__}: {error}"
        voice.refuse(told, error)
        return OUR_MISTAKE
    return REFUSED


def what_is_there(voice: Voice) -> str:
    """Say which files were written before the output failed."""
    names = " and ".join(voice.written)
    return f"; {names} {'was' if len(voice.written) == 1 else 'were'} written before" if names else ""


def in_words(error: OSError) -> str:
    """Say what is wrong with a file, or with the output, which has no name."""
    if error.filename:
        return f"{error.filename}: {error.strerror}"
    if error.errno in (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EFBIG):
        return f"the output cannot be written: {error.strerror}"
    return str(error)


# ---------------------------------------------------------------- reading the words


class UsageError(Exception):
    """Words that do not make a command."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors take one line, like all others.

    A command whose options are none that argparse can read sets `rewrite`, which gets the words first.
    """

    rewrite: Callable[[Sequence[str]], Sequence[str]] | None = None

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Read the words."""
        words = self.rewrite(args) if self.rewrite is not None and args is not None else args
        return super().parse_known_args(words, namespace)

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print help or a version; argparse would keep to itself that there is no room for it."""
        if file is sys.stdout:
            file.write(message)
            file.flush()
        else:
            super()._print_message(message, file)

    def error(self, message: str) -> NoReturn:
        """Leave it to the program to say so."""
        raise UsageError(f"{message} (see {self.prog} --help)")


def read_words(words: Sequence[str]) -> argparse.Namespace:
    """Return the command and its options."""
    name = words[0]
    if not name.startswith("-") and name not in COMMANDS:
        raise UsageError(f'there is no command "{name}"{nearest(name, COMMANDS)} (see maxmargin --help)')
    # Help lists all commands; a command needs no other.
    chosen, left_over = build_parser((name,) if name in COMMANDS else COMMANDS).parse_known_args(words)
    unknown = place(left_over, chosen)
    if unknown:
        parser = chosen.parser
        options = [option for action in parser._actions for option in action.option_strings]
        hint = nearest(unknown[0].split("=")[0], options) if unknown[0].startswith("-") else ""
        parser.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
    return chosen


def place(words: Sequence[str], chosen: argparse.Namespace) -> list[str]:
    """Give words that are left over to the files that may be left out; return those nobody wants.

    argparse decides on such a file when it sees the first option: in ``train DATA --C 2 MODEL`` it would
    not take MODEL.
    """
    if not words or any(word.startswith("-") and word != "-" for word in words):
        return list(words)
    parser, remaining = chosen.parser, list(words)
    for action in parser._actions:
        is_free = action.nargs == "?" and not action.option_strings
        if is_free and remaining and getattr(chosen, action.dest) is action.default:
            setattr(chosen, action.dest, parser._get_values(action, [remaining.pop(0)]))
    return remaining


def nearest(word: str, known: Sequence[str]) -> str:
    """Return a hint at what may have been meant."""
    import difflib

    close = difflib.get_close_matches(word, known, n=1, cutoff=0.7)
    return f"; did you mean {close[0]}?" if close else ""


def build_parser(names: Sequence[str] = COMMANDS) -> argparse.ArgumentParser:
    """Return the parser of these commands."""
    parser = Parser(
        prog="maxmargin",
        description="Linear classifiers whose distance from the optimum is certified.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"maxmargin {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in names:
        add_one(commands, name)
    return parser


def add_one(commands: Any, name: str) -> None:
    """Have a command's module describe it."""
    identifier = name.replace("-", "_")
    module = importlib.import_module(f"maxmargin.cli.commands.{identifier}")
    getattr(module, f"add_{identifier}")(commands)
    parser = commands.choices[name]
    parser.set_defaults(parser=parser)
