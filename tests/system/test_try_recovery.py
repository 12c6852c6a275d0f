"""`scripts/try_recovery.py`: it sees what is wrong, and finds nothing wrong here."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "try_recovery.py"


def tried(**counts):
    """Run the script, and return the numbers of its table."""
    words = [f"--{name}={count}" for name, count in counts.items()]
    ended = subprocess.run([sys.executable, SCRIPT, *words], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    rows = [line.rsplit(maxsplit=2) for line in ended.stdout.splitlines() if line[-1:].isdigit()]
    return {name: (int(count.replace(",", "")), int(failed)) for name, count, failed in rows}


@pytest.mark.slow
def test_a_few_of_each_kind():
    few = {"kills": 3, "terminations": 2, "interrupts": 2, "stores": 3, "errors": 3, "levels": 2}
    table = tried(**few, files=8, forged=14)
    assert len(table) >= 13
    assert all(count > 0 or name == "full disks" for name, (count, _) in table.items())
    assert {failed for _, failed in table.values()} == {0}


@pytest.mark.slow
def test_many_of_each_kind():
    many = {"kills": 40, "terminations": 20, "interrupts": 20, "stores": 20, "errors": 60, "levels": 12}
    assert {failed for _, failed in tried(**many, files=300).values()} == {0}


def test_it_sees_what_is_wrong(tmp_path):
    spec = importlib.util.spec_from_file_location("try_recovery", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = script  # dataclasses look their module up
    try:
        spec.loader.exec_module(script)
        folder = tmp_path / "rows"
        (folder / "fits").mkdir(parents=True)
        assert script.judged(script.Ended(["a"], 0, 1.0), "a", folder) == ""
        assert "got status 0" in script.judged(script.Ended(["b"], 0, 1.0), "a", folder)
        assert "got status 70" in script.judged(script.Ended([], 70, 1.0), "a", folder)
        (folder / "fits" / "0123").mkdir()
        (tmp_path / ".rows.0123456789ab.part").mkdir()
        found = script.judged(script.Ended(["a"], 0, 1.0), "a", folder)
        assert found == "left behind: ['fits/0123', '.rows.0123456789ab.part']"
    finally:
        del sys.modules[spec.name]
