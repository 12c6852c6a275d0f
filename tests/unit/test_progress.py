"""What `verbose=1` shows, in a terminal and in a log; tests/system/test_notebook.py looks at a notebook."""

import io
import itertools
import math
import os

import pytest

from maxmargin.core.solution import Progress
from maxmargin.model.progress import Ticker


class Tty(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


class OldTty(Tty):
    encoding = "latin-1"


def progress(gap, label="", seconds=1.0):
    return Progress(seconds, 12.0, 3, 1.0, 1.0, gap, label)


@pytest.fixture
def at_once(monkeypatch):
    for screen in ("Terminal", "Log"):
        monkeypatch.setattr(f"maxmargin.model.progress.{screen}.patience", 0.0)


def shown(stream, gaps, label=""):
    ticker = Ticker(1e-4, stream)
    for gap in gaps:
        ticker(progress(gap, label))
    ticker.close()
    return stream.getvalue()


@pytest.mark.usefixtures("at_once")
def test_a_terminal_has_one_line_that_fills_up():
    text = shown(Tty(), [math.inf, 1.0, 1e-2, 1e-4])
    assert text.startswith("\r")
    assert text.count("\n") == 1
    lines = text.strip("\n").split("\r")[1:]
    assert [line.count("█") for line in lines] == [0, 0, 10, 20]
    assert lines[2].rstrip() == (
        "██████████░░░░░░░░░░    1.0 s, 12 passes: within 1.0 % of the optimum (goal 0.010 %)"
    )
    # Each line covers what was left of the one before.
    assert all(len(line) >= len(before.rstrip()) for before, line in itertools.pairwise(lines))


@pytest.mark.usefixtures("at_once")
def test_a_gap_that_grows_shows_no_progress_and_a_new_class_starts_again():
    stream = Tty()
    ticker = Ticker(1e-4, stream)
    for gap, label in ((1e-2, "class a"), (1.0, "class a"), (1e-4, "class a"), (1e-2, "class b")):
        ticker(progress(gap, label))
    lines = stream.getvalue().split("\r")[1:]
    assert [line.count("█") for line in lines] == [0, 0, 20, 0]


@pytest.mark.usefixtures("at_once")
def test_a_terminal_without_those_letters():
    text = shown(OldTty(), [1.0, 1e-4])
    text.encode("ascii")
    assert "#" * 20 in text


@pytest.mark.usefixtures("at_once")
def test_a_narrow_terminal_shows_the_beginning_of_the_line(monkeypatch):
    monkeypatch.setattr(Tty, "fileno", lambda self: 2)
    monkeypatch.setattr(os, "get_terminal_size", lambda number: os.terminal_size((40, 24)))
    lines = shown(Tty(), [1.0, 1e-4]).strip("\n").split("\r")[1:]
    assert [len(line) for line in lines] == [39, 39]
    assert lines[1].endswith("1.0 s, 12 passe")


@pytest.mark.usefixtures("at_once")
def test_a_log_has_a_line_each_time():
    assert shown(io.StringIO(), [1.0, 1e-4], "class a").splitlines() == [
        "class a:    1.0 s, 12 passes: within 100 % of the optimum (goal 0.010 %)",
        "class a:    1.0 s, 12 passes: within 0.010 % of the optimum (goal 0.010 %)",
    ]


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("stream", [Tty, io.StringIO])
def test_a_label_is_shown_and_not_obeyed(stream):
    text = shown(stream(), [1.0], "class \x1b[2J")
    assert "class \\x1b[2J: " in text
    assert "\x1b" not in text


def test_it_does_not_chatter_but_shows_the_end():
    lines = shown(io.StringIO(), [1.0, 0.5, 0.2, 0.1]).splitlines()
    assert len(lines) == 2  # the first at once, the others before anybody had read it
    assert "within 10.0 %" in lines[1]


def test_a_fit_that_showed_nothing_ends_without_a_word():
    assert shown(Tty(), []) == ""
