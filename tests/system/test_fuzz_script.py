"""A short run of scripts/fuzz_readers.py: damaged files of every kind end as the command line promises."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "fuzz_readers.py"
READERS = ["libsvm", "csv", "parquet", "arrow", "npz", "npy", "model", "liblinear", "cache"]


@pytest.mark.slow
@pytest.mark.fuzz
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs processes with a limit of memory")
def test_a_few_damaged_files_of_every_kind(tmp_path):
    command = [sys.executable, str(SCRIPT), "--count", "6", "--keep", str(tmp_path / "kept")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    counts = [line.split()[:3] for line in done.stdout.splitlines()[1:]]
    assert counts == [[reader, "6", "0"] for reader in READERS]
