"""``maxmargin play``: the interactive page for lectures."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from maxmargin.cli.codes import DONE
from maxmargin.cli.options import add_command, add_common, whole_number

if TYPE_CHECKING:
    from maxmargin.cli.console import Console


HIGHEST_PORT = 65535


def add_play(commands: Any) -> None:
    """Describe the command to the parser."""
    parser = add_command(
        commands,
        "play",
        help="open a page to move points and watch the fits",
        description="Open a local page to place and move points of two classes and watch every fit with its "
        "certificate, and the steps of the lectures' learners. Nothing leaves this machine.",
        examples="  maxmargin play\n  maxmargin play --port 8080 --no-browser\n",
    )
    parser.add_argument("--port", type=whole_number, default=0, help="the port on 127.0.0.1 (a free one)")
    parser.add_argument(
        "--no-browser",
        action="store_true",
        help="print the address, for a browser of your choice",
    )
    add_common(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Serve until Ctrl-C, the normal way to end it."""
    import threading
    import webbrowser

    from maxmargin.errors import InvalidParameter
    from maxmargin.play.server import Playground

    if not 0 <= arguments.port <= HIGHEST_PORT:
        raise InvalidParameter(f"--port must be between 0 and {HIGHEST_PORT}; got {arguments.port}")
    if arguments.quiet and arguments.no_browser and not arguments.json:
        raise InvalidParameter(
            "--quiet with --no-browser would show the address nowhere; leave one of them out"
        )
    try:
        opened = Playground(arguments.port)
    except OSError as error:
        raise InvalidParameter(
            f"--port {arguments.port} cannot be used: {error.strerror}; without --port a free one is taken"
        ) from None
    with opened as playground:
        console.print(f"playground: {playground.access.url}")
        console.print("The address is for this machine and this run only. Ctrl-C ends it.")
        console.add_fields({"url": playground.access.url})
        console.finish(DONE)  # a machine needs the address now, not when it is over
        try:
            if not arguments.no_browser:
                # A browser in a terminal returns only when it is left, and has to be answered until then.
                threading.Thread(target=webbrowser.open, args=[playground.access.url], daemon=True).start()
            playground.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            console.print()
            console.print("playground closed")
    return DONE
