"""``maxmargin completion``: what a shell needs to complete commands, options, choices and files."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from maxmargin.cli.codes import DONE
from maxmargin.cli.options import STANDARD, add_command, add_common

if TYPE_CHECKING:
    from maxmargin.cli.console import Console

__all__ = ["SHELLS"]


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
        help="print a completion script for a shell",
        description="Print a script by which a shell completes commands, options, choices and files.",
        examples=EXAMPLES,
    )
    parser.add_argument("shell", choices=SHELLS, help="the shell")
    add_common(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Describe all commands to the shell, in its own language."""
    from maxmargin.cli.program import build_parser
    from maxmargin.cli.streams import write_text

    script = {"bash": bash_script, "zsh": zsh_script, "fish": fish_script}[arguments.shell](
        described(build_parser())
    )
    if not console.json:
        write_text([script.rstrip("\n"), "\n"], STANDARD)
    console.add_fields({"shell": arguments.shell, "script": script})
    return DONE


def described(parser: argparse.ArgumentParser) -> list[Any]:
    """Return the commands with their options, from the same parsers that read them."""
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
    """Return what follows an option: nothing, one of its choices, a file, or a free value."""
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


# ------------------------------------------------------------------------------------------------
# The commands in the languages of shells.


class Option(NamedTuple):
    """An option by its names, and what follows it: "nothing", a "choice" of words, a "file" or a "value"."""

    names: tuple[str, ...]
    about: str
    kind: str
    words: tuple[str, ...]


class Command(NamedTuple):
    """A command with its options; words that it takes in a place of their own, and whether it takes files."""

    name: str
    about: str
    options: tuple[Option, ...]
    words: tuple[str, ...]
    takes_files: bool


# ---------------------------------------------------------------- bash

_BASH = """\
# Completion of maxmargin for bash, also the old one of macOS: source <(maxmargin completion bash)
_maxmargin() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" name
    COMPREPLY=()
    # bash takes --loss=hinge for three words
    if [[ "$word" == "=" ]]; then
        word=""
    elif [[ "$before" == "=" && $COMP_CWORD -ge 2 ]]; then
        before="${{COMP_WORDS[COMP_CWORD-2]}}"
    fi
    if [[ $COMP_CWORD -eq 1 ]]; then
        COMPREPLY=($(compgen -W "{commands} --help --version" -- "$word"))
        return
    fi
    case "${{COMP_WORDS[1]}} $before" in
{values}
    esac
    case "${{COMP_WORDS[1]}}" in
{places}
        *) return ;;
    esac
    # Names with spaces are kept whole.
    type compopt > /dev/null 2>&1 && compopt -o filenames 2> /dev/null
    while IFS= read -r name; do
        COMPREPLY+=("$name")
    done < <(compgen -f -- "$word")
}}
complete -F _maxmargin maxmargin
"""


def bash_script(commands: Sequence[Command]) -> str:
    """Return a function for bash that looks at the command and the word before."""
    values, places = [], []
    for command in commands:
        for option in command.options:
            cases = "|".join(f'"{command.name} {name}"' for name in option.names)
            if option.kind == "choice":
                values.append(f"        {cases}) {_bash_words(option.words)} ;;")
            elif option.kind == "value":
                values.append(f"        {cases}) return ;;")
        names = [max(option.names, key=len) for option in command.options]
        options = f'[[ "$word" == -* ]] && {{ {_bash_words(names)}; }}'
        lines = [f"        {command.name})", f"            {options}"]
        if command.words:
            lines.append(f"            {_bash_words(command.words)}")
        if not command.takes_files:
            lines.append("            return")
        places += [*lines, "            ;;"]
    return _BASH.format(
        commands=" ".join(command.name for command in commands),
        values="\n".join(values),
        places="\n".join(places),
    )


def _bash_words(words: Sequence[str]) -> str:
    return f'COMPREPLY=($(compgen -W "{" ".join(words)}" -- "$word")); return'


# ---------------------------------------------------------------- zsh

_ZSH = """\
#compdef maxmargin
# Completion of maxmargin for zsh: maxmargin completion zsh > ~/.zfunc/_maxmargin, a folder in $fpath
_maxmargin() {{
    local -a commands
    commands=(
{commands}
    )
    if (( CURRENT == 2 )); then
        _describe -t commands command commands
        return
    fi
    shift words
    (( CURRENT-- ))
    case "$words[1]" in
{cases}
    esac
}}
_maxmargin "$@"
"""


def zsh_script(commands: Sequence[Command]) -> str:
    """Return a function for zsh that hands each command's options to _arguments."""
    listed = "\n".join(
        f"        {_quoted(f'{command.name}:{_without_colons(command.about)}')}" for command in commands
    )
    cases = []
    for command in commands:
        parts = [_zsh_option(name, option) for option in command.options for name in option.names]
        if command.words:
            parts.append(_quoted(f"1:which:({' '.join(command.words)})"))
        elif command.takes_files:
            parts.append(_quoted("*:file:_files"))
        joined = " \\\n                ".join(parts)
        cases.append(f"        {command.name})\n            _arguments {joined}\n            ;;")
    return _ZSH.format(commands=listed, cases="\n".join(cases))


def _zsh_option(name: str, option: Option) -> str:
    about = option.about.replace("[", "(").replace("]", ")")
    after = {
        "nothing": "",
        "choice": f":choice:({' '.join(option.words)})",
        "file": ":file:_files",
        "value": ":value: ",
    }[option.kind]
    return _quoted(f"{name}[{_without_colons(about)}]{after}")


def _without_colons(text: str) -> str:
    return text.replace(":", "\\:")


# ---------------------------------------------------------------- fish


def fish_script(commands: Sequence[Command]) -> str:
    """Return the completions of fish, a line for each command and option."""
    lines = [
        "# Completion of maxmargin for fish: into ~/.config/fish/completions/maxmargin.fish",
        "complete -c maxmargin -f",
    ]
    for command in commands:
        start = f"complete -c maxmargin -n {_fish_quoted(f'__fish_seen_subcommand_from {command.name}')}"
        about = _fish_quoted(command.about)
        lines.append(f"complete -c maxmargin -n __fish_use_subcommand -a {command.name} -d {about}")
        for option in command.options:
            names = " ".join(_fish_name(name) for name in option.names)
            after = {
                "nothing": "",
                "choice": f" -x -a {_fish_quoted(' '.join(option.words))}",
                "file": " -r -F",
                "value": " -x",
            }[option.kind]
            lines.append(f"{start} {names}{after} -d {_fish_quoted(option.about)}")
        if command.words:
            lines.append(f"{start} -a {_fish_quoted(' '.join(command.words))}")
        elif command.takes_files:
            lines.append(f"{start} -F")
    return "\n".join(lines) + "\n"


def _fish_name(name: str) -> str:
    if name.startswith("--"):
        return f"-l {name[2:]}"
    return f"-s {name[1:]}" if len(name) == 2 else f"-o {name[1:]}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
