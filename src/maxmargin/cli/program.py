"""The program: parsing the command, running it, and its exit code.

Commands are modules of this package, imported when they are named, and import what they need when they run,
so that ``--help`` answers at once.
"""

from __future__ import annotations

import argparse
import errno
import functools
import importlib
import io
import os
import shlex
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import PurePath
from types import FrameType
from typing import Any, NoReturn

from maxmargin import __version__
from maxmargin.cli.codes import BROKEN_PIPE, EXIT_CODES, INTERNAL_ERROR, INTERRUPTED, OUTPUT_FAILED, REFUSED
from maxmargin.cli.console import Console, discard
from maxmargin.errors import MaxMarginError, Setting

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
    console = Console(json="--json" in words, command=words[0] if words[0] in COMMANDS else "")
    try:
        chosen = parse_arguments(words)
        console.quiet, console.json = getattr(chosen, "quiet", False), getattr(chosen, "json", False)
        with ending_as_ctrl_c(ends_process=ends_process) as signals:
            code = signals.code(run_command(chosen, console, signals))
        console.finish(code)
        sys.stdout.flush()
        return code
    except UsageError as error:
        console.error(str(error))
        console.finish(REFUSED)
        return REFUSED
    except KeyboardInterrupt as error:  # while the words were read, or after the command's own end
        console.interrupted("interrupted", error)
        console.finish(INTERRUPTED)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has closed the pipe.
        discard(sys.stdout)
        return BROKEN_PIPE
    except OSError as error:
        console.print_stderr(f"maxmargin: error: {in_words(error)}{what_is_there(console)}")
        discard(sys.stdout)
        return OUTPUT_FAILED if console.written else REFUSED


def prepare_streams() -> None:
    """Make the standard streams usable whatever they are."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by the parent process
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - until the end
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a minus sign or an umlaut must not end a fit.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def run_command(chosen: argparse.Namespace, console: Console, signals: EndingSignals) -> int:
    """Run a command; whatever ends it early becomes one line and an exit code."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.simplefilter("ignore", ResourceWarning)  # of files that Ctrl-C left to Python to close
            warnings.showwarning = lambda message, *_, **__: console.warn(message)
            console.spell, console.has = option_spelling(chosen.parser)
            chosen.began = time.perf_counter()
            code: int = chosen.run(chosen, console)
            return code
    except BrokenPipeError:
        raise
    except KeyboardInterrupt as error:
        console.interrupted("interrupted; nothing was written", error)
        return INTERRUPTED
    except MaxMarginError as error:
        console.error(error, error)
    except MemoryError as error:
        has_memory = getattr(chosen, "memory", "") is None  # the option, which was not given
        instead = "; --memory SIZE reads them from disk" if has_memory else ""
        console.error(f"not enough memory for these data{instead}", error)
    except OSError as error:
        console.error(in_words(error) + what_is_there(console), error)
        return OUTPUT_FAILED if console.written else REFUSED
    except Exception as error:
        if signals.are_behind(error):
            console.interrupted("interrupted; nothing was written", error)
            return INTERRUPTED
        console.error(
            f"this is a mistake in maxmargin, please report it: {type(error).__name__}: {error}", error
        )
        return INTERNAL_ERROR
    return REFUSED


def what_is_there(console: Console) -> str:
    """Return a clause on the files that were written before the output failed."""
    names = " and ".join(console.written)
    return f"; {names} {'was' if len(console.written) == 1 else 'were'} written before" if names else ""


def in_words(error: OSError) -> str:
    """Return a message about a file, or about the output, which has no name."""
    if error.filename:
        return f"{error.filename}: {error.strerror}"
    if error.errno in (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EFBIG):
        return f"the output cannot be written: {error.strerror}"
    return str(error)


# ---------------------------------------------------------------- reading the words


class UsageError(Exception):
    """Arguments that are not a valid command."""


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
        """Raise `UsageError`, which the program prints."""
        raise UsageError(f"{message} (see {self.prog} --help)")


def parse_arguments(words: Sequence[str]) -> argparse.Namespace:
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
    """Assign arguments that are left over to optional files; return those that fit nowhere.

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
    """Add a command to the parser by its module."""
    identifier = name.replace("-", "_")
    module = importlib.import_module(f"maxmargin.cli.commands.{identifier}")
    getattr(module, f"add_{identifier}")(commands)
    parser = commands.choices[name]
    parser.set_defaults(parser=parser)


# ------------------------------------------------------------------------------------------------
# Signals that end a program: a command ends by them as it does by Ctrl-C, with nothing half-written left.

_MADE_OF_IT = (ImportError, KeyboardInterrupt)
ENDING_SIGNALS = ("SIGTERM", "SIGHUP")  # by kill, and by a terminal that is closed


class EndingSignals:
    """Which signal came first, if any did, and whether Ctrl-C was pressed."""

    def __init__(self) -> None:
        self.came: int | None = None
        self.pressed = False

    def take(self, number: int, frame: FrameType | None) -> None:
        """Do what Ctrl-C does; a second signal must not disturb the clean-up after the first."""
        if self.came is None:
            self.came = number
            raise KeyboardInterrupt

    def press(self, number: int, frame: FrameType | None) -> None:
        """Do what Python does at Ctrl-C, and remember it: C code may make another error of it."""
        self.pressed = True
        raise KeyboardInterrupt

    def are_behind(self, error: Exception) -> bool:
        """Return whether an error is what became of Ctrl-C while modules were loaded.

        NumPy then reports that it cannot be imported, and Python that a class cannot be made.
        """
        has_come = self.pressed or self.came is not None
        return has_come and isinstance(error if error.__cause__ is None else error.__cause__, _MADE_OF_IT)

    def code(self, code: int) -> int:
        """Return the exit code of a command, which names the signal if it was one that ended it."""
        return 128 + self.came if code == INTERRUPTED and self.came is not None else code


@contextmanager
def ending_as_ctrl_c(*, ends_process: bool = False) -> Iterator[EndingSignals]:
    """Take signals while a command runs; one that is taken or ignored already (nohup) stays so.

    Where the process ends with the command, those that follow the first are ignored until its very end.
    """
    signals = EndingSignals()
    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():  # in others Python takes none
        for number in (getattr(signal, name) for name in ENDING_SIGNALS if hasattr(signal, name)):
            if signal.getsignal(number) is signal.SIG_DFL:
                before[number] = signal.signal(number, signals.take)
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            before[signal.SIGINT] = signal.signal(signal.SIGINT, signals.press)
    try:
        yield signals
    finally:
        if not (ends_process and signals.came is not None):
            for number, handler in before.items():
                signal.signal(number, handler)


# ------------------------------------------------------------------------------------------------
# Errors and warnings of the library, in which parameters become the options that set them.

# Options whose names are not those of the library's parameters.
OTHER_NAMES = {"n_jobs": "jobs", "cache": "cache_folder", "text_encoding": "encoding"}


def option_spelling(
    parser: argparse.ArgumentParser,
) -> tuple[Callable[[Setting], str], Callable[[Setting], bool]]:
    """Return how a parameter is written as an option, and whether the command has that option.

    Options that the command does not have are those of ``train``, which made the model or could have.

    Examples
    --------
    >>> from maxmargin.errors import InvalidParameter, MaxMarginError
    >>> parser = argparse.ArgumentParser()
    >>> _ = parser.add_argument("--max-time"), parser.add_argument("--category", dest="categories")
    >>> spelling = option_spelling(parser)
    >>> error = InvalidParameter.must_be("max_time", "a positive number", -1.0, or_none=True)
    >>> error.render(*spelling, or_none="")
    '--max-time must be a positive number; got --max-time -1'
    >>> columns = Setting("categories", ["sex of dog"]), Setting("drop", ["name"])
    >>> MaxMarginError("use {category}", category=columns[0]).render(*spelling)
    "use --category 'sex of dog'"
    >>> MaxMarginError("no number", remedy="use {drop}", drop=columns[1]).render(*spelling)
    'no number'
    """
    own = options_by_parameter(parser)

    @functools.cache
    def known() -> dict[str, str]:
        train: Any = build_parser(("train",))._subparsers
        return {**options_by_parameter(train._group_actions[0].choices["train"]), **own}

    def spell(setting: Setting) -> str:
        option = known().get(setting.name)
        if option is None:
            return str(setting)
        has_value = setting.value is not NotImplemented and setting.value is not ...
        return f"{option} {option_value(setting)}" if has_value else option

    return spell, lambda setting: setting.name in own


def options_by_parameter(parser: argparse.ArgumentParser) -> dict[str, str]:
    """Return the options of a command by the parameters of the library that they set."""
    by_name = {action.dest: action.option_strings[-1] for action in parser._actions if action.option_strings}
    renamed = {name: by_name[option] for name, option in OTHER_NAMES.items() if option in by_name}
    return {**by_name, **renamed}


def option_value(setting: Setting) -> str:
    """Return a value as it is written after an option."""
    value = setting.value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return " ".join(shlex.quote(str(one)) for one in value)
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    return shlex.quote(str(value)) if isinstance(value, str | PurePath) else setting.text or str(value)
