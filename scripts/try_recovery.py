"""Try how fits to stored rows survive kills, interrupts, full disks, damaged files and forged stores.

``python scripts/try_recovery.py`` ends fits at random moments, damages and forges what they left, runs them
again, and holds the outcome against that of a fit that nobody disturbed:

- a fit that was ended goes on to the same bits, or starts afresh: there is no other answer;
- a file that is damaged is refused in one line with exit code 2, or makes no difference;
- a file that is forged, checksums and all, never makes a certificate say what is not so;
- links, pipes and files of other users in a store are left alone, and so is what they lead to;
- nothing is left behind, and nothing hangs: each trial runs in a process of its own.

A table counts what was tried and what failed. Ends with 1 if something did.
"""

from __future__ import annotations

import argparse
import copy
import gc
import hashlib
import json
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin import load_model, store_data, train
from maxmargin.cli.program import main as program
from maxmargin.errors import UnreadableFile
from maxmargin.rows.disk.records import HEADER_BYTES, pack, packed_length, unpack
from maxmargin.rows.disk.rows import DiskRows

SECONDS_OF_SILENCE = 300  # after which a process is taken to hang; none takes more than a few
SETTINGS = {"C": 1e-2, "tol": 1e-9, "n_jobs": 2}
SOLVERS = [("hinge", "interior_point"), ("hinge", "semismooth_newton"), ("logistic", "newton")]
NOBODY = 65534


@dataclass
class Kind:
    """One kind of trial: how many there were, and what went wrong."""

    name: str
    tried: int = 0
    faults: list[str] = field(default_factory=list)

    def count(self, fault: str) -> None:
        self.tried += 1
        if fault:
            self.faults.append(fault)
            print(f"FAULT  {self.name}: {fault}", flush=True)


# ---------------------------------------------------------------------- processes


@dataclass
class Ended:
    """How a process ended: what it answered (nothing if it was ended), and its status."""

    answers: list[str]
    status: int
    seconds: float

    def __str__(self) -> str:
        return f"status {self.status}, answer {self.answers[-1][:300] if self.answers else 'none'!r}"


def in_a_process(
    work: Callable[[Callable[[str], None]], None], signal_number: int = 0, after: float = 0.0
) -> Ended:
    """Do some work in a process of its own, and perhaps send it a signal after so many seconds.

    The work is handed a function by which it answers.
    """
    reader, writer = os.pipe()
    began = time.perf_counter()
    child = os.fork()
    if child == 0:
        os.close(reader)
        code = 70
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, 1)
            work(lambda answer: write_line(writer, answer))
            code = 0
            gc.collect()
            for thread in threading.enumerate():  # which may still hold rows, and their files
                if thread is not threading.main_thread():
                    thread.join(10)
        except KeyboardInterrupt:
            code = 130
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 1
        except BaseException as error:
            with suppress(OSError):
                write_line(writer, f"{type(error).__name__}: {error}")
        finally:
            os._exit(code)
    os.close(writer)
    if signal_number:
        time.sleep(after)
        with suppress(ProcessLookupError):
            os.kill(child, signal_number)
    said = b""
    while select.select([reader], [], [], SECONDS_OF_SILENCE)[0]:
        piece = os.read(reader, 1 << 16)
        if not piece:
            break
        said += piece
    else:
        os.kill(child, signal.SIGKILL)
        said += b"it hangs\n"
    os.close(reader)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return Ended(said.decode(errors="replace").splitlines(), status, time.perf_counter() - began)


def write_line(descriptor: int, text: str) -> None:
    """Write a text as one line."""
    os.write(descriptor, text.replace("\n", " ").encode(errors="replace") + b"\n")


# ---------------------------------------------------------------------- rows and fits


def stored(folder: Path, n: int, d: int, rng: np.random.Generator, sparse: bool = False) -> Path:
    """Store rows of two overlapping classes."""
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 0] - X[:, -1] + 2 * rng.normal(size=n) > 0, "yes", "no")
    X *= (rng.random((n, d)) < 0.5) if sparse else 1.0
    weights = rng.integers(1, 3, n).astype(float)
    store_data([(sp.csr_array(X) if sparse else X, y, weights)], folder)
    return folder


def bits(coef: Any, intercept: Any) -> str:
    """Return a digest that tells models apart by a single bit."""
    return hashlib.sha256(np.asarray(coef).tobytes() + np.asarray(intercept).tobytes()).hexdigest()


def fit(folder: Path, loss: str, solver: str) -> Callable[[Callable[[str], None]], None]:
    """Return the work of a fit, which answers with the bits of its model."""

    def work(answer: Callable[[str], None]) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = train(folder, loss=loss, solver=solver, **SETTINGS)
        assert model.certificate.relative_gap <= SETTINGS["tol"], model.certificate
        answer(bits(model.coef, model.intercept))

    return work


def command(folder: Path, loss: str, solver: str) -> Callable[[Callable[[str], None]], None]:
    """Return the work of the same fit by the program, which writes its model beside the rows."""
    out = folder.with_suffix(".model")
    words = ["train", folder, out, "--memory", "1GB", "--loss", loss, "--solver", solver, "--quiet"]
    words += ["--C", SETTINGS["C"], "--tol", SETTINGS["tol"], "--jobs", SETTINGS["n_jobs"]]

    def work(answer: Callable[[str], None]) -> None:
        code = program([str(word) for word in words])
        if code:
            raise SystemExit(code)
        model = load_model(out)
        answer(bits(model.coef, model.intercept))

    return work


def left_behind(folder: Path) -> list[str]:
    """Return what should be gone when a fit is over."""
    fits = folder / "fits"
    inside = [f"fits/{path.name}" for path in fits.iterdir()] if fits.is_dir() else []
    return inside + [path.name for path in folder.parent.glob(".*.part*")]


def judged(ended: Ended, expected: str, folder: Path) -> str:
    """Return what is wrong with a fit that came to its end; nothing if all is well."""
    if ended.status != 0 or ended.answers != [expected]:
        return f"expected {expected[:12]}…, got {ended}"
    left = left_behind(folder)
    return f"left behind: {left}" if left else ""


# ---------------------------------------------------------------------- kills and interrupts


def try_signals(kind: Kind, number: int, count: int, place: Path, rng: np.random.Generator) -> None:
    """End fits at random moments, up to three times in a row, and let them come to their end."""
    cases = []
    for loss, solver in SOLVERS:
        for way in (fit, command):
            folder = stored(place / f"{kind.name}-{solver}-{way.__name__}".replace(" ", "-"), 12_000, 8, rng)
            work = way(folder, loss, solver)
            calm = in_a_process(work)
            assert calm.status == 0, calm
            cases.append((folder, work, calm))
    while kind.tried < count:
        folder, work, calm = cases[kind.tried % len(cases)]
        for _ in range(int(rng.integers(1, 4))):
            in_a_process(work, number, rng.uniform(0.0, 1.1 * calm.seconds))
            kind.count("")
        fault = judged(in_a_process(work), calm.answers[-1], folder)
        if fault:
            kind.count(fault)
            shutil.rmtree(folder / "fits", ignore_errors=True)


def try_kills_while_storing(kind: Kind, count: int, place: Path, rng: np.random.Generator) -> None:
    """Kill processes that store the rows of a table, and store them: no draft may stay."""
    place.mkdir()
    X = rng.normal(size=(20_000, 6)).round(3)
    lines = [",".join([*map(str, row), "ab"[int(row[0] > 0)]]) for row in X.tolist()]
    (place / "t.csv").write_text("a,b,c,d,e,f,y\n" + "\n".join(lines) + "\n")
    words = ["train", place / "t.csv", place / "t.model", "--memory", "1GB", "--quiet", "--tol", "0.1"]

    def work(answer: Callable[[str], None]) -> None:
        answer(str(program([str(word) for word in words])))

    calm = in_a_process(work)
    while kind.tried < count:
        shutil.rmtree(place / "t.csv.maxmargin-rows", ignore_errors=True)
        for _ in range(3):
            in_a_process(work, signal.SIGKILL, rng.uniform(0.0, 1.1 * calm.seconds))
            kind.count("")
        ended = in_a_process(work)
        left = left_behind(place / "t.csv.maxmargin-rows")
        if ended.answers != ["0"] or left:
            kind.count(f"{ended}; left behind: {left}")


def try_errors(kind: Kind, count: int, place: Path, rng: np.random.Generator) -> None:
    """Raise an error at some visit of a block, in a process that lives on and fits again."""
    cases = []
    for loss, solver in SOLVERS:
        folder = stored(place / f"errors-{solver}", 9_000, 5, rng)
        work = fit(folder, loss, solver)

        def counted(answer: Callable[[str], None], work: Any = work) -> None:
            with visited(lambda number: None) as count:
                work(answer)
            answer(str(count[0]))

        calm = in_a_process(counted)
        cases.append((folder, work, calm.answers[0], int(calm.answers[1])))
    errors = [MemoryError(), KeyboardInterrupt(), OSError(28, "No space left on device")]
    while kind.tried < count:
        folder, work, expected, n_visits = cases[kind.tried % len(cases)]
        error, at = errors[int(rng.integers(3))], int(rng.integers(1, n_visits + 1))

        def broken(answer: Callable[[str], None], work: Any = work, at: int = at, error: Any = error) -> None:
            def end(n: int) -> None:
                if n == at:
                    raise type(error)(*error.args)  # one that takes its frames with it

            with visited(end), suppress(MemoryError, KeyboardInterrupt, UnreadableFile):
                work(lambda said: None)
            work(answer)

        fault = judged(in_a_process(broken), expected, folder)
        kind.count(fault and f"{error!r} at visit {at} of {n_visits}: {fault}")


@contextmanager
def visited(seen: Callable[[int], Any]) -> Iterator[list[int]]:
    """Have every visit of a block reported before it is made, with its number; yield the last one's."""
    visit, count = DiskRows._visit, [0]

    def watched(self: DiskRows, *arguments: Any) -> Any:
        count[0] += 1
        seen(count[0])
        return visit(self, *arguments)

    DiskRows._visit = watched  # type: ignore[method-assign]
    try:
        yield count
    finally:
        DiskRows._visit = visit  # type: ignore[method-assign]


# ---------------------------------------------------------------------- full disks


def try_little_room(kind: Kind, count: int, place: Path, rng: np.random.Generator) -> None:
    """Let no file grow beyond a size, from next to nothing to what a fit needs."""
    for level in range(count):
        loss, solver = SOLVERS[level % len(SOLVERS)]
        folder = stored(place / f"level-{level}", 12_000, 8, rng)
        work = fit(folder, loss, solver)
        calm = in_a_process(work)
        room = int(100_000 * 30 ** (level / count))

        def limited(answer: Callable[[str], None], work: Any = work, room: int = room) -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
            with suppress(UnreadableFile):
                work(answer)

        kind.count(refused_then_goes_on(in_a_process(limited), work, calm, folder))
        shutil.rmtree(folder)


def try_full_disks(kind: Kind, count: int, place: Path, rng: np.random.Generator) -> None:
    """Fit on a disk of memory that is full at some level; only root can mount one."""
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", place], capture_output=True, check=False).returncode:
        print("no disk of memory can be mounted here: full disks are not tried", flush=True)
        return
    try:
        for level in range(count):
            loss, solver = SOLVERS[level % len(SOLVERS)]
            folder = stored(place / "rows", 12_000, 8, rng)
            work = fit(folder, loss, solver)
            calm = in_a_process(work)
            used = sum(path.stat().st_blocks * 512 for path in folder.rglob("*"))
            remount(place, used + int(20_000 * 150 ** (level / count)))

            def limited(answer: Callable[[str], None], work: Any = work) -> None:
                with suppress(UnreadableFile):
                    work(answer)

            ended = in_a_process(limited)
            remount(place, 1 << 30)
            kind.count(refused_then_goes_on(ended, work, calm, folder))
            shutil.rmtree(folder)
    finally:
        subprocess.run(["umount", place], check=True)


def remount(place: Path, n_bytes: int) -> None:
    """Let a disk of memory have another size."""
    subprocess.run(["mount", "-o", f"remount,size={n_bytes}", place], check=True)


def refused_then_goes_on(ended: Ended, work: Any, calm: Ended, folder: Path) -> str:
    """Return what is wrong with a fit that had too little room, or with the next one that has enough."""
    if ended.status != 0 or ended.answers not in ([], calm.answers):
        return f"on a full disk: {ended}"
    return judged(in_a_process(work), calm.answers[-1], folder)


# ---------------------------------------------------------------------- damaged and forged files

INTERESTING = [0, 1, 0x7F, 0xFF, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63, 2**64 - 1]
VALUES: list[Any] = [None, True, 0, -1, 3, 2**31, 2**63, 10**400, 0.5, 1e308, float("nan"), float("inf")]
VALUES += ["", "x", "\ud800", "<U400000000", "O", "../../x", [], [[]], {}, [None], {"": None}]
VALUES += [
    [0] * 999,
    [[[[[["a"]]]]]],
    ["a", "a"],
    {"array": ["<f8", [2**40], "C"]},
    {"array": ["<f8", [-1], "C"]},
]

# Of a file's content, a place in it and some other bytes.
EDITS: list[Callable[[bytes, int, bytes], bytes]] = [
    lambda content, place, some: content[:place] + some + content[place + len(some) :],
    lambda content, place, some: content[:place] + bytes([content[place] ^ 0x10]) + content[place + 1 :],
    lambda content, place, some: content[:place] + some + content[place:],
    lambda content, place, some: content[:place] + content[place + len(some) :],
    lambda content, place, some: content[:place],
    lambda content, place, some: content[:place] + 3 * content[place : place + 100] + content[place + 100 :],
]


def damaged(content: bytes, rng: np.random.Generator) -> bytes:
    """Return a file's content with some bytes changed, inserted, removed, repeated or cut off."""
    for _ in range(int(rng.integers(1, 4))):
        some = rng.bytes(int(rng.integers(1, 9)))
        if rng.random() < 0.3:
            some = INTERESTING[int(rng.integers(len(INTERESTING)))].to_bytes(8, "little")[: len(some)]
        if content:
            edit = EDITS[int(rng.integers(len(EDITS)))]
            content = edit(content, int(rng.integers(len(content))), some)
    return content


def places_in(tree: Any) -> list[tuple[Any, Any]]:
    """Return every place in a tree, as the list or dictionary and the key."""
    inside = enumerate(tree) if isinstance(tree, list) else tree.items() if isinstance(tree, dict) else ()
    found = []
    for key, part in inside:
        found += [(tree, key), *places_in(part)]
    return found


def changed(tree: Any, rng: np.random.Generator) -> Any:
    """Return a tree in which some values are others, also inside its arrays."""
    for _ in range(int(rng.integers(1, 4))):
        places = places_in(tree)
        if not places:
            break
        inner, key = places[int(rng.integers(len(places)))]
        value = inner[key]
        if isinstance(value, np.ndarray) and value.size and rng.random() < 0.8:
            value = value.copy()
            value.reshape(-1)[int(rng.integers(value.size))] *= type(value.flat[0])(rng.choice([0, 2, 3]))
            inner[key] = value
        elif type(value) is float and rng.random() < 0.8:
            inner[key] = value * float(rng.choice([0.0, -1.0, 0.5, 1 + 1e-6, 2.0, 1e10, np.nan, np.inf]))
        else:
            inner[key] = copy.deepcopy(VALUES[int(rng.integers(len(VALUES)))])
    return tree


def with_changed_json(content: bytes, rng: np.random.Generator) -> bytes:
    """Return a JSON text with other values."""
    return json.dumps(changed(json.loads(content), rng)).encode()


def with_changed_records(content: bytes, rng: np.random.Generator) -> bytes:
    """Return packed records of which one has other values, and the right checksum."""
    begin = content.index(b"\n") + 1 if content.startswith(b"maxmargin") else 0
    entries, place = [], begin
    while place + HEADER_BYTES <= len(content):
        length = packed_length(content[place : place + HEADER_BYTES])
        entries.append(content[place : place + length])
        place += length
    chosen = int(rng.integers(len(entries)))
    with suppress(TypeError):  # what cannot be written is left as it was
        entries[chosen] = pack(changed(unpack(entries[chosen]), rng))
    return content[:begin] + b"".join(entries)


def try_damage(
    kind: Kind,
    count: int,
    template: Path,
    names: list[str],
    forge: Callable[[bytes, np.random.Generator], bytes],
    run: Callable[[Path], str],
    rng: np.random.Generator,
) -> None:
    """Damage copies of a template and run something on each; `run` returns what is wrong with the outcome."""
    while kind.tried < count:
        seed, first = int(rng.integers(2**32)), kind.tried
        n_cases = min(100, count - first)

        def work(
            answer: Callable[[str], None],
            seed: int = seed,
            n_cases: int = n_cases,
            place: str = str(template),
        ) -> None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            drawn = np.random.default_rng(seed)
            for number in range(n_cases):
                signal.alarm(SECONDS_OF_SILENCE)
                place = template.with_name(f"{template.name}-copy-{os.getpid()}")
                shutil.copytree(template, place)
                path = place / names[int(drawn.integers(len(names)))]
                times = path.stat()
                path.write_bytes(forge(path.read_bytes(), drawn))
                if drawn.random() < 0.5:  # as if nobody had written to it
                    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
                try:
                    fault = run(place)
                except Exception as error:
                    fault = f"{type(error).__name__}: {error}"
                answer(fault and f"seed {seed}, case {number}, {path.name}: {fault}")
                shutil.rmtree(place)

        ended = in_a_process(work)
        for said in ended.answers:
            kind.count(said)
        if ended.status != 0 or len(ended.answers) != n_cases:
            kind.count(f"seed {seed}, case {len(ended.answers)}: the process ended with {ended.status}")
        for path in template.parent.glob(f"{template.name}-copy-*"):
            shutil.rmtree(path)


def refused_or_the_same(expected: str) -> Callable[[Path], str]:
    """Return a judge of what the program does with damaged rows: it refuses them, or they are the same."""

    def run(folder: Path) -> str:
        out = folder.parent / f"{folder.name}.model"
        words = [
            "train",
            folder,
            out,
            "--memory",
            "1GB",
            "--loss",
            "logistic",
            "--solver",
            "newton",
            "--quiet",
        ]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code = program([str(word) for word in words])
        if code == 2:
            return "refused, and a model was written" if out.exists() else ""
        if code not in (0, 1):
            return f"exit code {code}"
        model = load_model(out)
        out.unlink()
        hidden = expected == ""
        return "" if hidden or bits(model.coef, model.intercept) == expected else "other bits"

    return run


@dataclass(frozen=True)
class Truth:
    """Rows in memory, by which the claims of a fit are judged."""

    X: np.ndarray
    sign: np.ndarray
    weights: np.ndarray
    loss: str
    optimum: float
    bits: str = ""

    def judge(self, folder: Path, solver: str) -> str:
        """Fit, and return what is wrong with the model's certificate."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = train(folder, loss=self.loss, solver=solver, **SETTINGS)
        if self.bits:
            return "" if bits(model.coef, model.intercept) == self.bits else "other bits"
        margins = self.sign * (self.X @ model.coef[0] + model.intercept[0])
        losses = np.maximum(0, 1 - margins) if self.loss == "hinge" else np.logaddexp(0, -margins)
        value = 0.5 * float(model.coef[0] @ model.coef[0]) + SETTINGS["C"] * float(self.weights @ losses)
        proof = model.certificate
        if abs(value - proof.objective) > 1e-9 * value:
            return f"objective {value}, certified as {proof.objective}"
        if proof.bound > self.optimum * (1 + 1e-9):
            return f"bound {proof.bound} above the optimum {self.optimum}"
        return ""


def try_all_damage(kinds: dict[str, Kind], count: int, place: Path, rng: np.random.Generator) -> None:
    """Damage and forge every file that a store has, or that an ended fit left in it."""
    place.mkdir()
    dense, sparse = stored(place / "dense", 300, 3, rng), stored(place / "sparse", 300, 5, rng, sparse=True)
    calm = train(dense, loss="logistic")
    same = refused_or_the_same(bits(calm.coef, calm.intercept))
    arrays = ["X.npy", "labels.npy", "weights.npy"]
    parts = ["values.npy", "columns.npy", "starts.npy", "labels.npy", "weights.npy"]
    anything = refused_or_the_same("")
    half = count // 2
    try_damage(kinds["rows.json"], half, dense, ["rows.json"], with_changed_json, same, rng)
    try_damage(kinds["rows.json"], 3 * count // 4, dense, ["rows.json"], damaged, same, rng)
    try_damage(kinds["rows.json"], count, sparse, ["rows.json"], with_changed_json, anything, rng)
    try_damage(kinds["arrays"], half, dense, arrays, damaged, anything, rng)
    try_damage(kinds["arrays"], count, sparse, parts, damaged, anything, rng)

    for loss, solver, name in (
        ("hinge", "semismooth_newton", "passes"),
        ("logistic", "dual_descent", "0.state"),
    ):
        folder = stored(place / solver, 500, 4, rng)
        store_rows = (
            np.load(folder / "X.npy"),
            np.load(folder / "labels.npy"),
            np.load(folder / "weights.npy"),
        )
        X, labels, weights = store_rows
        model = train(folder, loss=loss, solver=solver, **SETTINGS)
        truth = (X, 2 * labels - 1, weights, loss, model.certificate.objective)
        honest = Truth(*truth)
        exact = honest if solver == "dual_descent" else Truth(*truth, bits(model.coef, model.intercept))
        with suppress(_Ended), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            train(folder, loss=loss, solver=solver, **SETTINGS, watch=_end)
        (left,) = (folder / "fits").iterdir()
        path = f"fits/{left.name}/{name}"
        kind = kinds["journal" if name == "passes" else "checkpoint"]
        run = partial(exact.judge, solver=solver)
        try_damage(kind, half, folder, [path], damaged, run, rng)
        run = partial(honest.judge, solver=solver)
        try_damage(kind, count, folder, [path], with_changed_records, run, rng)
        if name == "passes":
            vectors = [f"fits/{left.name}/{file.name}" for file in left.iterdir() if file.stat().st_size]
            vectors.remove(path)
            run = partial(exact.judge, solver=solver)
            try_damage(kinds["vectors"], count, folder, vectors, damaged, run, rng)


class _Ended(BaseException):
    pass


def _end(progress: Any) -> None:
    raise _Ended


# ---------------------------------------------------------------------- stores that somebody else prepared


def try_forged_stores(kind: Kind, count: int, place: Path, rng: np.random.Generator) -> None:
    """Put links, pipes, folders and files of others where a fit writes; what they lead to must stay."""
    place.mkdir()
    loss, solver = "logistic", "newton"
    template = stored(place / "template", 9_000, 4, rng)
    calm = in_a_process(fit(template, loss, solver))
    with suppress(_Ended):
        train(template, loss=loss, solver=solver, **SETTINGS, watch=_end)
    (left,) = (template / "fits").iterdir()
    names = ["fits", f"fits/{left.name}", *(f"fits/{left.name}/{path.name}" for path in left.iterdir())]
    ways = ["link to a folder", "link to a file", "link to nowhere", "hard link", "pipe", "folder"]
    ways += ["file of another user"] if os.geteuid() == 0 else []
    cases = [(name, way) for name in names for way in ways]
    for number in rng.permutation(len(cases))[:count]:
        name, way = cases[number]
        folder, precious = place / "forged", place / "precious"
        shutil.copytree(template, folder)
        precious.mkdir()
        (precious / "letter.txt").write_text("keep me")
        forge(folder / name, way, precious)
        ended = in_a_process(fit(folder, loss, solver))
        kept = [path.name for path in precious.iterdir()], (precious / "letter.txt").read_text()
        fault = "" if kept == (["letter.txt"], "keep me") else f"it did harm: {kept}"
        if ended.answers != calm.answers or ended.status != 0:
            fault = str(ended)
        kind.count(fault and f"{name} as {way}: {fault}")
        shutil.rmtree(folder)
        shutil.rmtree(precious)


def forge(path: Path, way: str, precious: Path) -> None:
    """Put something else in the place of a file or a folder."""
    if way == "file of another user":
        os.chown(path, NOBODY, NOBODY)
        return
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    if way == "hard link":
        path.hardlink_to(precious / "letter.txt")
    elif way == "pipe":
        os.mkfifo(path)
    elif way == "folder":
        path.mkdir()
    else:
        places = {"a folder": precious, "a file": precious / "letter.txt", "nowhere": "/nowhere/at/all"}
        path.symlink_to(places[way.removeprefix("link to ")])


# ---------------------------------------------------------------------- the whole


def try_all(arguments: argparse.Namespace, place: Path) -> list[Kind]:
    """Try every kind as often as was asked for."""
    rng = np.random.default_rng(arguments.seed)
    kinds: list[Kind] = []

    def kind(name: str) -> Kind:
        kinds.append(Kind(name))
        return kinds[-1]

    try_signals(kind("kill -9"), signal.SIGKILL, arguments.kills, place, rng)
    try_signals(kind("SIGTERM"), signal.SIGTERM, arguments.terminations, place, rng)
    try_signals(kind("Ctrl-C"), signal.SIGINT, arguments.interrupts, place, rng)
    try_kills_while_storing(kind("kill -9 while storing"), arguments.stores, place / "storing", rng)
    try_errors(kind("errors in a pass"), arguments.errors, place, rng)
    try_little_room(kind("no file beyond a size"), arguments.levels, place, rng)
    try_full_disks(kind("full disks"), arguments.levels, place / "disk", rng)
    files = {
        name: kind(f"fuzz: {name}") for name in ("rows.json", "arrays", "journal", "vectors", "checkpoint")
    }
    try_all_damage(files, arguments.files, place / "damage", rng)
    try_forged_stores(kind("forged stores"), arguments.forged, place / "forged", rng)
    return kinds


def main(words: list[str] | None = None) -> int:
    """Try, print the table, and return 1 if something failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for name, count, what in (
        ("kills", 120, "kill -9 of fits"),
        ("terminations", 60, "SIGTERM"),
        ("interrupts", 60, "Ctrl-C"),
        ("stores", 60, "kill -9 while rows are stored"),
        ("errors", 200, "errors raised in a pass"),
        ("levels", 12, "levels of full disks, of each of two kinds"),
        ("files", 2000, "damaged or forged files for each reader"),
        ("forged", 1000, "forged stores, of which there are fewer"),
    ):
        parser.add_argument(f"--{name}", type=int, default=count, help=f"{what} ({count})")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as place:
        kinds = try_all(arguments, Path(place))
    print(f"{'kind':<28}{'tried':>8}{'failed':>8}")
    for kind in kinds:
        print(f"{kind.name:<28}{kind.tried:>8,}{len(kind.faults):>8,}")
    return int(any(kind.faults for kind in kinds))


if __name__ == "__main__":
    sys.exit(main())
