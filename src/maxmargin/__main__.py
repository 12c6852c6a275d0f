"""``python -m maxmargin`` is ``maxmargin``."""

import sys

from maxmargin.cli import run

if __name__ == "__main__":
    sys.exit(run())
