"""Damaged files of every format through the command line: python scripts/fuzz_readers.py [--count N].

Each file is a good one with bytes overwritten, inserted, removed, repeated or cut off, or with other values
in its JSON, and goes through a command in a process of its own with little memory and time. It must end as
the command line promises: with exit code 0, 1 or 2, in code 2 with one line, never with a traceback, a
signal, or for lack of memory. Prints how many files of each kind were tried and how many failed; failing ones
are kept to look at, and make the exit code 1.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import resource
import shutil
import signal
import struct
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"  # its own takes a gigabyte of addresses at once

from damage import EDITS, INTERESTING, archive_of, changed, damaged, entries_of

SECONDS = 20  # of processor time for one file
MEMORY = 1 << 30  # bytes, beyond what the program itself takes
TEXTS = [b"9" * 20, b"-1", b"1e999", b"nan", b"\0\0\0\0", b"\xff\xff", b"PK\x05\x06", b"\n" * 5]
TEXTS += [b",,,,", b'"', b":", b"\x1b[2J"]
VALUES = [None, True, 0, -1, 2**31, 2**63, 10**400, 0.5, 1e308, 5e-324, "", "x", "\x1b[2J", [], {}, [[]]]
LIBSVM = b"1 1:0.5 3:4e-300 # x\n-1 2:5\r\n1 1:-1\n-1 3:2\n"
CSV = b'height;kind;"a b"\n2;tall;0.5\n-1;small;1e3\n0.1;tall;0.5\n3;small;1e3\n'
LIBLINEAR = b"solver_type L2R_LR\nnr_class 3\nlabel 1 -1 7\nnr_feature 2\nbias 1\nw\n1 2 3\n4 5 6\n7 8 9\n"

Command = list[str]


def main() -> int:
    """Try every reader and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=500, help="files of each kind (500)")
    parser.add_argument("--seed", type=int, default=0, help="of the damage (0)")
    parser.add_argument("--only", action="append", metavar="READER", help="a kind to try; may be given again")
    parser.add_argument("--keep", type=Path, help="where failing files go (a new folder)")
    arguments = parser.parse_args()
    import_everything()
    n_failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        in_child(lambda: make_files(folder), folder)
        print(f"{'reader':<12}{'tried':>8}{'failed':>8}{'refused':>9}{'seconds':>9}", flush=True)
        for reader, (names, commands) in READERS.items():
            if arguments.only and reader not in arguments.only:
                continue
            began, codes, failed = time.perf_counter(), [], 0
            for number in range(arguments.count):
                drawn = random.Random(f"{arguments.seed} {reader} {number}")
                good = drawn.choice(names)
                content = spoiled((folder / "good" / good).read_bytes(), drawn)
                command = drawn.choice(commands)
                fault, code = attempt(folder, good, content, command)
                codes.append(code)
                if fault:
                    failed += 1
                    kept = keep(arguments, f"{reader}-{number}-{good}", content)
                    print(f"{kept}: maxmargin {' '.join(command)}: {fault}", flush=True)
            seconds = time.perf_counter() - began
            print(f"{reader:<12}{len(codes):>8}{failed:>8}{codes.count(2):>9}{seconds:>9.1f}", flush=True)
            n_failed += failed
    return 1 if n_failed else 0


# ---------------------------------------------------------------- what is read, and by which commands

TABLES = [
    ["inspect", "FILE"],
    ["train", "FILE", "out.model", "--max-time", "1"],
    ["train", "FILE", "out.model", "--max-time", "1", "--memory", "200MB"],
    ["convert", "FILE", "out.npz"],
    ["loo", "FILE", "--max-time", "1"],
]
TEXT_TABLES = [*TABLES, ["inspect", "FILE", "--skip-bad-lines"], ["inspect", "FILE", "--missing", "mean"]]
WRITTEN = ["--decimal", ",", "--comment", "#", "--na", "x", "--encoding"]
DIALECTS = [
    ["inspect", "FILE", "--separator", ";", *WRITTEN, "latin-1"],
    ["inspect", "FILE", "--skip-bad-lines", *WRITTEN, "utf-16"],
]
READERS: dict[str, tuple[list[str], list[Command]]] = {
    "libsvm": (["a.svm"], TEXT_TABLES),
    "csv": (["a.csv"], TEXT_TABLES + DIALECTS),
    "parquet": (["a.parquet", "plain.parquet"], TABLES),
    "arrow": (["a.arrow", "stream.arrow", "packed.arrow"], TABLES),
    "npz": (["a.npz", "sparse.npz"], TABLES),
    "npy": (["a.npy"], TABLES),
    "model": (
        ["hinge.model", "logistic.model", "table.model"],
        [
            ["inspect", "FILE"],
            ["predict", "good/a.svm", "FILE", "out.txt"],
            ["evaluate", "FILE", "good/a.svm"],
            ["certify", "FILE", "good/a.svm", "--max-time", "1"],
            ["report", "FILE", "good/a.svm", "-o", "out.html", "--max-time", "1"],
            ["convert", "FILE", "out.json"],
            ["convert", "FILE", "out.liblinear"],
        ],
    ),
    "liblinear": (
        ["l.liblinear"],
        [
            ["inspect", "FILE"],
            ["liblinear-predict", "good/a.svm", "FILE", "out.txt"],
            ["certify", "FILE", "good/a.svm", "--C", "1", "--max-time", "1"],
            ["convert", "FILE", "out.model"],
        ],
    ),
    "cache": (["a.svm.maxmargin-cache"], [["train", "a.svm", "out.model", "--cache", "--max-time", "1"]]),
}


def make_files(folder: Path) -> int:
    """Write a good file of each kind."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.feather as feather
    import pyarrow.parquet as pq
    from scipy.sparse import csr_array, save_npz

    from maxmargin.cli import main as run

    good = folder / "good"
    good.mkdir()
    os.chdir(folder)
    columns = {
        "height": [2.0, -1.0, 0.5, 1.0],
        "kind": ["tall", "small", "tall", "wide"],
        "count": [1, 2, 3, 4],
        "label": ["a", "b", "a", "b"],
    }
    table = pa.table(columns)
    (good / "a.svm").write_bytes(LIBSVM)
    (good / "a.csv").write_bytes(CSV)
    pq.write_table(table, good / "a.parquet")
    pq.write_table(table, good / "plain.parquet", compression="none", use_dictionary=False)
    feather.write_feather(table, good / "a.arrow", compression="uncompressed")
    feather.write_feather(table, good / "packed.arrow", compression="zstd")
    with pa.ipc.new_stream(good / "stream.arrow", table.schema) as stream:
        stream.write_table(table)
    labels = np.array(["a", "b", "a"])
    np.savez(good / "a.npz", X=np.arange(6.0).reshape(3, 2), y=labels)
    sparse = csr_array(np.array([[0.0, 1.5], [2.0, 0.0], [0.0, 0.0]]))
    save_npz(good / "sparse.npz", sparse, compressed=True)
    with_labels = entries_of((good / "sparse.npz").read_bytes())
    with_labels["y.npy"] = entries_of((good / "a.npz").read_bytes())["y.npy"]
    (good / "sparse.npz").write_bytes(archive_of(with_labels))
    np.save(good / "a.npy", np.arange(12.0).reshape(4, 3) % 2)
    (good / "l.liblinear").write_bytes(LIBLINEAR)
    for words in (
        "train good/a.svm good/hinge.model --calibrate sigmoid",
        "train good/a.svm good/logistic.model --loss logistic",
        "train good/a.csv good/table.model",
    ):
        run([*words.split(), "-q"])
    shutil.copy(good / "a.svm", folder / "a.svm")
    for _ in range(2):
        run(["train", "a.svm", "out.model", "--cache", "-q"])
    shutil.copy(folder / "a.svm.maxmargin-cache", good / "a.svm.maxmargin-cache")
    return 0


# ---------------------------------------------------------------- damage


def spoiled(content: bytes, drawn: random.Random) -> bytes:
    """Return the content with a few edits; of an archive often within an entry, where checksums are right."""
    if content.startswith(b"PK") and drawn.random() < 0.7:
        entries = entries_of(content)
        name = drawn.choice(sorted(entries))
        if name.endswith(".json") and drawn.random() < 0.7:
            tree = json.loads(entries[name])
            chosen = [(drawn.random(), drawn.choice(VALUES)) for _ in range(drawn.randint(1, 3))]
            entries[name] = json.dumps(changed(tree, chosen)).encode()
        else:
            entries[name] = damaged(entries[name], edits(drawn))
        return archive_of(entries)
    return damaged(content, edits(drawn))


def edits(drawn: random.Random) -> list[tuple[Callable[..., bytes], float, bytes]]:
    """Draw what tests/damage.py draws with hypothesis."""
    return [(drawn.choice(EDITS), drawn.random(), piece(drawn)) for _ in range(drawn.randint(1, 4))]


def piece(drawn: random.Random) -> bytes:
    """Draw some bytes: any, a number that a size may become, or text that means something."""
    kind = drawn.randrange(3)
    if kind == 0:
        return drawn.randbytes(drawn.randint(1, 8))
    if kind == 1:
        return struct.pack("<Q", drawn.choice(INTERESTING))[: drawn.choice([1, 2, 4, 8])]
    return drawn.choice(TEXTS)


# ---------------------------------------------------------------- one file


def attempt(folder: Path, good: str, content: bytes, command: Command) -> tuple[str, int]:
    """Run a command on the content; return what is wrong with how it ended, or nothing, and the exit code."""
    file = folder / (good if good.endswith("-cache") else f"bad-{good}")
    file.write_bytes(content)
    words = [file.name if word == "FILE" else word for word in command]

    def run() -> int:
        from maxmargin.cli import main as run_command

        os.chdir(folder)
        limit = resource.RLIM_INFINITY if sys.platform == "darwin" else own_size() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        try:
            return run_command(words)
        except SystemExit as end:
            return int(end.code or 0)

    code, said = in_child(run, folder)
    for left in folder.glob("*.maxmargin-rows"):
        shutil.rmtree(left)
    if code < 0:
        return f"ended by {signal.Signals(-code).name}", code
    if code not in (0, 1, 2):
        return f"exit code {code}: {said[-300:]}", code
    if "Traceback" in said or "encountered in" in said:
        return said[-300:], code
    errors = [line for line in said.splitlines() if line.startswith("maxmargin: error: ")]
    if code == 2 and len(errors) != 1:
        return f"{len(errors)} lines say why: {said[-300:]}", code
    if "not enough memory" in said:
        return said[-300:], code
    if any(ord(letter) < 32 and letter != "\n" for letter in said):
        return f"control characters: {said[-300:]!r}", code
    return "", code


def in_child(work: Callable[[], int], folder: Path) -> tuple[int, str]:
    """Do something in a child process; return its exit code, or minus a signal, and its standard error."""
    with (folder / "said").open("w+b") as said:
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            code = 99
            try:
                os.dup2(os.open(os.devnull, os.O_RDWR), 0)
                os.dup2(0, 1)
                os.dup2(said.fileno(), 2)
                sys.stdin, sys.stdout = io.TextIOWrapper(io.FileIO(0)), open(1, "w", encoding="utf-8")  # noqa: SIM115
                sys.stderr = open(2, "w", encoding="utf-8")  # noqa: SIM115
                code = work()
                sys.stdout.flush()
                sys.stderr.flush()
            except BaseException:
                traceback.print_exc()
                sys.stderr.flush()
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        said.seek(0)
        return os.waitstatus_to_exitcode(status), said.read().decode(errors="replace")


def own_size() -> int:
    """Return the addresses that this process has, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def keep(arguments: argparse.Namespace, name: str, content: bytes) -> Path:
    """Put a failing file where it can be looked at."""
    if arguments.keep is None:
        arguments.keep = Path(tempfile.mkdtemp(prefix="fuzzed-"))
    arguments.keep.mkdir(exist_ok=True)
    (arguments.keep / name).write_bytes(content)
    return Path(arguments.keep / name)


def import_everything() -> None:
    """Import what the commands do, so that each child begins at once."""
    for name in modules():
        try:
            __import__(name)
        except ImportError:  # an extra that is not installed
            continue


def modules() -> Iterator[str]:
    """Yield the names of all modules of the package, and of what they import when they run."""
    import pkgutil

    import maxmargin

    yield from ("pyarrow.parquet", "pyarrow.ipc", "pyarrow.csv", "scipy.sparse", "scipy.optimize", "jinja2")
    for found in pkgutil.walk_packages(maxmargin.__path__, "maxmargin."):
        if not found.name.endswith("__main__"):
            yield found.name


if __name__ == "__main__":
    sys.exit(main())
