"""Break the package on purpose, one place at a time, and see whether the quick tests notice.

``python scripts/try_mutations.py scripts/mutations.toml`` makes each change of the list, runs the tests
named with it until one fails, and puts the file back. It prints which changes were caught and which survived,
and ends with 1 if one did. A survivor is a behaviour that no test describes. Compiled code is built anew with
``make build``; use a clone that nobody else works in.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTEST = [
    sys.executable,
    "-m",
    "pytest",
    "-q",
    "-x",
    "-n",
    "0",
    "--no-header",
    "--tb=no",
    "-p",
    "no:cacheprovider",
]


@dataclass(frozen=True)
class Mutation:
    """A text that occurs once in a file, what stands there instead, and the tests that ought to notice."""

    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    @property
    def path(self) -> Path:
        return ROOT / self.file

    @property
    def is_compiled(self) -> bool:
        return self.file.startswith("cpp/")

    def __str__(self) -> str:
        return f"{self.file}: {' '.join(self.old.split())}  →  {' '.join(self.new.split())}"


def mutations_in(path: Path) -> list[Mutation]:
    """Return the changes of a list; tests stand with each group of files."""
    groups = tomllib.loads(path.read_text())["group"]
    return [
        Mutation(change["file"], change["old"], change["new"], tuple(group["tests"]))
        for group in groups
        for change in group["changes"]
    ]


def problem_with(mutation: Mutation) -> str | None:
    """Return why a change cannot be made."""
    count = mutation.path.read_text().count(mutation.old) if mutation.path.exists() else 0
    return None if count == 1 else f"the text to change is there {count} times"


def failure_with(mutation: Mutation, seconds: float) -> str | None:
    """Return the first test that fails with the change, or why none could be run; None where all pass."""
    whole = mutation.path.read_text()
    try:
        mutation.path.write_text(whole.replace(mutation.old, mutation.new))
        if mutation.is_compiled:
            build()
        result = subprocess.run(
            [*PYTEST, *mutation.tests], cwd=ROOT, capture_output=True, text=True, check=False, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        return f"the tests had not ended after {seconds:.0f} seconds"
    except subprocess.CalledProcessError:
        return "it does not compile"
    finally:
        mutation.path.write_text(whole)
    if result.returncode == 0:
        return None
    failed = [line for line in result.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failed[0] if failed else f"pytest ended with {result.returncode}: {result.stdout[-500:]}"


def build() -> None:
    """Compile what changed."""
    subprocess.run(["make", "--silent", "build"], cwd=ROOT, check=True, capture_output=True)


def main() -> int:
    """Try every change of the list, or those of the files whose names are given."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "list", type=Path, help="TOML with groups of changes: tests, and file, old and new of each"
    )
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="changes of files whose path has this in it"
    )
    parser.add_argument(
        "--seconds", type=float, default=1800.0, help="for the tests of one change (default: 1800)"
    )
    given = parser.parse_args()
    chosen = [mutation for mutation in mutations_in(given.list) if given.only in mutation.file]
    survivors = 0
    for mutation in chosen:
        failure = problem_with(mutation)
        if failure is not None:
            survivors += 1
            print(f"NOT MADE  {mutation}\n          {failure}", flush=True)
            continue
        failure = failure_with(mutation, given.seconds)
        survivors += failure is None
        print(f"{'SURVIVED' if failure is None else 'caught'}  {mutation}", flush=True)
        if failure is not None:
            print(f"        {failure}", flush=True)
    if any(mutation.is_compiled for mutation in chosen):
        build()
    print(f"{len(chosen) - survivors} of {len(chosen)} caught")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
