"""``maxmargin completion``: what a shell needs to complete commands, options, choices and files."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from maxmargin.cli.codes import DONE
from maxmargin.cli.options import STANDARD, add_command, add_common

if TYPE_CHECKING:
    from maxmargin.cli.voice import Voice

__all__ = ["SHELLS", "add_completion"]

SHELLS = ("bash", "zsh", "fish")

EXAMPLES = """\
  maxmargin completion bash >> ~/.bashrc          for bash, from now on
  source <(maxmargin completion bash)             … in this terminal only
  maxmargin completion zsh > ~/.zfunc/_maxmargin  a folder in zsh's $fpath
  maxmargin completion fish > ~/.config/fish/completions/maxmargin.fish
"""


def add_completion(commands: Any) -> None:
    """Describe the command to the parser."""
    parser = add_command(
        commands,
        "completion",
        help="print what a shell needs to complete commands",
        description="Print what a shell needs to complete commands, options, choices and files.",
        examples=EXAMPLES,
    )
    parser.add_argument("shell", choices=SHELLS, help="which shell")
    add_common(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, voice: Voice) -> int:
    """Describe all commands to the shell, in its own language."""
    from maxmargin.cli.completion_scripts import bash_script, fish_script, zsh_script
    from maxmargin.cli.program import build_parser
    from maxmargin.cli.streams import write_text

    script = {"bash": bash_script, "zsh": zsh_script, "fish": fish_script}[arguments.shell](described(build_parser()))
    if not voice.json:
        write_text([script.rstrip("\n"), "\n"], STANDARD)
    voice.result({"shell": arguments.shell, "script": script})
    return DONE


def described(parser: argparse.ArgumentParser) -> list[Any]:
    """Return the commands with their options, from the same parsers that read them."""
    from maxmargin.cli.completion_scripts import Command, Option

    found = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    about = {choice.dest: choice.help or "" for choice in found._choices_actions}
    commands = []
    for name, one in found.choices.items():
        options = tuple(
            Option(tuple(action.option_strings), text_of(action.help), kind_of(action), words_of(action))
            for action in one._actions
            if action.option_strings and action.help != argparse.SUPPRESS
        )
        places = [action for action in one._actions if not action.option_strings]
        words = tuple(word for action in places for word in words_of(action))
        takes_files = any(not action.choices for action in places)
        commands.append(Command(name, text_of(about.get(name)), options, words, takes_files))
    return commands


def kind_of(action: argparse.Action) -> str:
    """Return what follows an option: nothing, one of its choices, a file, or what nobody can guess."""
    from pathlib import Path

    from maxmargin.cli.options import file_name

    if action.nargs == 0:
        return "nothing"
    if words_of(action):
        return "choice"
    return "file" if action.type in (file_name, Path) else "value"


def words_of(action: argparse.Action) -> tuple[str, ...]:
    """Return the choices, or words that may stand in place of a number."""
    from maxmargin.cli.fitting import folds, strength

    if action.choices:
        return tuple(str(choice) for choice in action.choices)
    if action.dest == "class_weight":
        return ("balanced",)
    if action.type is strength:
        return ("auto",)
    return ("loo",) if action.type is folds else ()


def text_of(text: str | None) -> str:
    """Return a help text as argparse prints it."""
    return (text or "").replace("%%", "%")
