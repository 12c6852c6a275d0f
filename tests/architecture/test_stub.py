"""The committed types of the compiled module are those of the module that was built."""

import subprocess
import sys
from pathlib import Path

STUB = Path(__file__).parents[2] / "src" / "maxmargin" / "_core.pyi"


def test_stub_is_current(tmp_path):
    fresh = tmp_path / "_core.pyi"
    command = [sys.executable, "-m", "nanobind.stubgen", "-q", "-m", "maxmargin._core", "-o", fresh]
    subprocess.run(command, check=True)
    assert STUB.read_text() == fresh.read_text(), "the bindings changed: run `make stub`"
