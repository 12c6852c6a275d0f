"""``maxmargin play``: the playground for the lecture room."""

from __future__ import annotations

import argparse
from typing import Any

from maxmargin.cli.options import whole_number

__all__ = ["add_play"]

HIGHEST_PORT = 65535


def add_play(commands: Any) -> None:
    """Describe the command to the parser."""
    parser = commands.add_parser(
        "play",
        help="open a page on which points can be moved and fits watched",
        description="Open a local page on which points of two classes can be placed and moved, and every fit "
        "with its certificate and the steps of the lectures' learners watched. Nothing leaves this machine.",
        allow_abbrev=False,
    )
    parser.add_argument("--port", type=whole_number, default=0, help="of 127.0.0.1 (a free one)")
    parser.add_argument(
        "--no-browser",
        action="store_true",
        help="print the address, for a browser of your choice",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Serve until Ctrl-C, which is how it is meant to end."""
    import threading
    import webbrowser

    from maxmargin.errors import InvalidParameter
    from maxmargin.play import Playground

    if not 0 <= arguments.port <= HIGHEST_PORT:
        raise InvalidParameter(f"--port must be between 0 and {HIGHEST_PORT}; got {arguments.port}")
    with Playground(arguments.port) as playground:
        print(f"playground: {playground.access.url}", flush=True)
        print("The address is for this machine and this run only. Ctrl-C ends it.", flush=True)
        try:
            if not arguments.no_browser:
                # A browser in a terminal returns only when it is left, and has to be answered until then.
                threading.Thread(target=webbrowser.open, args=[playground.access.url], daemon=True).start()
            playground.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            print("\nplayground closed", flush=True)
    return 0
