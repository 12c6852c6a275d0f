"""The import rules of pyproject.toml hold, and cover every package."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINTER = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]


def test_import_contracts_are_kept():
    command = [Path(sys.executable).with_name("lint-imports"), "--no-logo", "--no-cache"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("contract", LINTER["contracts"], ids=lambda contract: contract["name"])
def test_no_contract_has_exemptions(contract):
    assert "ignore_imports" not in contract
    assert "exhaustive_ignores" not in contract
