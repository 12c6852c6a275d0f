"""Pages of documentation as tests: Python examples and commands are run in order, in one folder."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

from maxmargin.cli.program import main

# "within 0.003 %" of the optimum, "467 % above" it, and values of objective and bound
DISTANCE = re.compile(r"within (\S+) %(?= of)|(\S+) %(?= above)|(?:(?<=objective )|(?<=bound ))([-+.e\d]*\d)")

# A gap that is rounding is a few units of the last digit or none, as the order of sums has it.
TO_ROUNDING = re.compile(r"within\s+rounding\s+\(\S+\s+%\)\s+of")
ROUNDING = 1e-9  # in per cent

ITERATIONS = re.compile(r"after [\d,]+ iterations?|#iter = \d+")

# Commands that wait for somebody.
NOT_RUN = ("$ maxmargin play",)


def run_page(page: Path, folder: Path) -> doctest.TestResults:
    """Run everything on a page in an empty folder, and report what does not give what the page says."""
    test = doctest.DocTestParser().get_doctest(
        with_commands_as_examples(page.read_text(encoding="utf-8")),
        {"__name__": "__main__", "run_command": run_command},
        page.name,
        str(page),
        0,
    )
    with contextlib.chdir(folder), pictures_closed():
        return doctest.DocTestRunner(
            Checker(), optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
        ).run(test)


def run_docstrings(module: str) -> doctest.TestResults:
    """Run the examples in a module's docstrings, and report what does not give what they say."""
    runner = doctest.DocTestRunner(Checker(), optionflags=doctest.NORMALIZE_WHITESPACE)
    with pictures_closed():
        for test in doctest.DocTestFinder().find(importlib.import_module(module)):
            runner.run(test)
    return runner.summarize(verbose=False)


@contextlib.contextmanager
def pictures_closed() -> Iterator[None]:
    """Leave no figure open behind examples that draw."""
    try:
        yield
    finally:
        if "matplotlib.pyplot" in sys.modules:
            sys.modules["matplotlib.pyplot"].close("all")


class Checker(doctest.OutputChecker):
    """Compares what an example gives with what the page says: to the letter, but for the course of a fit.

    That changes with the processor's instructions. A gap counts as the same if it is not much larger than
    the page says, or rounding; values of the objective, and the distance of somebody else's coefficients,
    roughly; the number of iterations is free.
    """

    def check_output(self, want: str, got: str, flags: int) -> bool:
        """Return whether they agree."""
        want, got = (ITERATIONS.sub("after some iterations", text) for text in (want, got))
        if super().check_output(want, got, flags):
            return True
        want, got = (TO_ROUNDING.sub("within 0 % of", text) for text in (want, got))
        said, found = (DISTANCE.findall(text) for text in (want, got))
        if not said or len(said) != len(found):
            return False
        if not super().check_output(DISTANCE.sub("…", want), DISTANCE.sub("…", got), flags):
            return False
        return all(_is_near(one, other) for one, other in zip(said, found, strict=True))


def _is_near(said: tuple[str, ...], found: tuple[str, ...]) -> bool:
    for kind, *numbers in zip(("within", "above", "value"), said, found, strict=True):
        if not all(numbers):
            if any(numbers):
                return False
            continue
        before, after = (float(number.replace(",", "")) for number in numbers)
        if kind == "within" and after > max(10 * before, ROUNDING):
            return False
        if kind != "within" and abs(after - before) > 0.05 * abs(before):
            return False
    return True


def with_commands_as_examples(text: str) -> str:
    """Return a page, line for line, in which ``$ maxmargin …`` is an example that Python can run.

    Commands of other programs, which need not be installed, stay text. A fence ends what is expected.
    """
    lines = []
    is_console = False
    for line in text.splitlines():
        if line.startswith("```"):
            is_console = line == "```console"
            lines.append("")
        elif is_console and line.startswith("$ maxmargin ") and not line.startswith(NOT_RUN):
            lines.append(f">>> run_command({line.removeprefix('$ maxmargin ')!r})")
        elif is_console and line.startswith("$ "):
            lines.append("")
        else:
            lines.append(line)
    return "\n".join(lines)


def run_command(arguments: str) -> None:
    """Run ``maxmargin`` with these arguments; what it says to a terminal is what is expected."""
    words = shlex.split(arguments, comments=True)
    into = words.index(">") if ">" in words else None
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.redirect_stderr(sys.stdout))
        if into is not None:
            file = stack.enter_context(open(words[into + 1], "w", encoding="utf-8"))
            stack.enter_context(contextlib.redirect_stdout(file))
            words = words[:into]
        main(words)


def has_examples(page: Path) -> bool:
    """Return whether there is anything to run on a page."""
    text = with_commands_as_examples(page.read_text(encoding="utf-8"))
    return bool(doctest.DocTestParser().get_examples(text))
