"""The directive ``command-help``: what a command of the program prints when it is asked for help."""

from __future__ import annotations

import argparse
import os
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

WIDTH = 92  # characters of a line of help: what fits a page


def setup(app: Sphinx) -> dict[str, bool]:
    """Make the directive known, and have the page read again whenever the site is built."""
    app.add_directive("command-help", CommandHelp)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class CommandHelp(Directive):
    """Show the help of the program, then that of every command under its own heading."""

    final_argument_whitespace: ClassVar[bool] = False

    def run(self) -> list[nodes.Node]:
        """Return the program's help, and one section a command."""
        from maxmargin.cli.program import build_parser

        env = self.state.document.settings.env
        env.note_reread()
        program = build_parser()
        sections = [self.section(name, parser) for name, parser in commands(program).items()]
        return [nodes.literal_block(text=help_text(program), language="text"), *sections]

    def section(self, name: str, parser: argparse.ArgumentParser) -> nodes.section:
        """Return the heading and the help text."""
        section = nodes.section(ids=[f"maxmargin-{name}"], names=[f"maxmargin {name}"])
        section += nodes.title(text=f"maxmargin {name}")
        section += nodes.literal_block(text=help_text(parser), language="text")
        self.state.document.note_explicit_target(section)
        return section


def commands(program: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parser of each command, in the program's order."""
    choices = next(action for action in program._actions if isinstance(action, argparse._SubParsersAction))
    return dict(choices.choices)


def help_text(parser: argparse.ArgumentParser) -> str:
    """Return the help as a terminal of our width would show it."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = str(WIDTH)
    try:
        return parser.format_help().rstrip()
    finally:
        if before is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = before
