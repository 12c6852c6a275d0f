"""``python -m maxmargin`` is ``maxmargin``."""

import sys

from maxmargin.cli import main

if __name__ == "__main__":
    sys.exit(main())
