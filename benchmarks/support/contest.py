"""A contest: every entrant at its cheapest setting that reaches the target, then all of them in turn."""

from __future__ import annotations

import json
import os
import selectors
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from support.entrants import Entrant
from support.judge import Judge
from support.worker import save_rows

__all__ = ["Contest", "Entry", "Task"]

SLOW = 10.0  # seconds; what takes longer runs in the first rounds only
ROUNDS_OF_THE_SLOW = 2


@dataclass(frozen=True)
class Task:
    """Rows, labels of ±1, a loss, C, and the share of the optimum that is to be reached."""

    name: str
    X: Any
    y: np.ndarray
    loss: str
    C: float
    target: float


@dataclass
class Entry:
    """What one entrant achieved; `seconds` is the median of its runs in turn at the setting that counts."""

    title: str
    offset: str
    package: str
    form: str = ""
    threads: int = 0
    setting: dict[str, Any] = field(default_factory=dict)
    reached: bool = False
    excess: float | None = None
    seconds: float | None = None
    runs: list[float] = field(default_factory=list)
    tries: int = 0
    search_seconds: float = 0.0
    remarks: dict[str, Any] = field(default_factory=dict)
    note: str = ""


class Process:
    """A worker and the pipe to it."""

    def __init__(self, folder: Path, entrant: Entrant, variant: tuple[str, int], task: Task) -> None:
        form, threads = variant
        request = {
            "peer": entrant.peer,
            "form": form,
            "loss": task.loss,
            "C": task.C,
            "offset": entrant.offset,
        }
        here = Path(__file__).parents[1]
        limits = {
            name: str(threads) for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
        }
        self.child = subprocess.Popen(
            [sys.executable, "-m", "support.worker", str(folder), json.dumps(request)],
            cwd=here,
            env={**os.environ, **limits},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.failure = self.receive(120.0).get("failed", "")

    def receive(self, cap: float) -> dict[str, Any]:
        """Return the next reply; {"late": True} after the cap, whereupon the process is ended."""
        assert self.child.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self.child.stdout, selectors.EVENT_READ)
            ready = selector.select(cap)
        line = self.child.stdout.readline() if ready else ""
        if line:
            return dict(json.loads(line))
        self.close()
        return (
            {"failed": "its process ended"} if ready else {"late": True, "failed": f"no result in {cap:g} s"}
        )

    def fit(self, setting: dict[str, Any], cap: float) -> dict[str, Any]:
        if self.child.poll() is not None:
            return {"failed": self.failure or "its process ended"}
        assert self.child.stdin is not None
        self.child.stdin.write(json.dumps(setting) + "\n")
        self.child.stdin.flush()
        return self.receive(cap)

    def close(self) -> None:
        self.child.kill()
        self.child.wait()


@dataclass
class Contest:
    """One task and everybody who solves it.

    Attributes
    ----------
    cap : float
        Seconds that an entrant may spend on looking for its setting, and on one fit.
    rounds : int
        How often everyone who got there is run again, in turn.
    """

    task: Task
    judge: Judge
    cap: float = 60.0
    rounds: int = 5
    processes: dict[str, Process] = field(default_factory=dict)

    def hold(self, entrants: list[Entrant], thorough: bool = True) -> dict[str, Any]:
        """Return a line for the results: the task and an entry for each entrant."""
        task = self.task
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            save_rows(folder, task.X, task.y)
            try:
                entries = [self.enter(folder, entrant, thorough) for entrant in entrants]
                self.repeat(entries)
            finally:
                for process in self.processes.values():
                    process.close()
        values = task.X.nnz if hasattr(task.X, "nnz") else task.X.size
        return {
            "task": task.name,
            "rows": task.X.shape[0],
            "columns": task.X.shape[1],
            "values": int(values),
            "loss": task.loss,
            "C": task.C,
            "target": task.target,
            "cap": self.cap,
            "bounds_within": self.judge.looseness(),
            "entries": [asdict(entry) for entry in entries],
        }

    def enter(self, folder: Path, entrant: Entrant, thorough: bool) -> Entry:
        """Try the variants; keep the fastest that reaches the target, with its process."""
        best: Entry | None = None
        ladder = steps = entrant.ladder if thorough else entrant.ladder[1::2] or entrant.ladder
        for variant in entrant.variants if thorough else entrant.variants[:1]:
            process = Process(folder, entrant, variant, self.task)
            entry = self.climb(process, entrant, variant, ladder)
            if best is None or (entry.reached and (entry.seconds or 0) < (best.seconds or 0)):
                if best is not None:
                    self.processes[entrant.title].close()
                best, self.processes[entrant.title] = entry, process
            else:
                process.close()
            if not best.reached:
                break  # the most accurate variant comes first
            ladder = steps[steps.index(best.setting) :]
        assert best is not None
        print(f"  {best.title}: {brief(best)}", flush=True)
        return best

    def climb(
        self, process: Process, entrant: Entrant, variant: tuple[str, int], ladder: tuple[dict[str, Any], ...]
    ) -> Entry:
        """Take the ladder's settings in turn until one reaches the target or the time is over."""
        entry = Entry(entrant.title, entrant.offset, entrant.package, *variant)
        if process.failure:
            entry.note = f"not available ({first_line(process.failure)})"
            return entry
        began = time.perf_counter()
        for setting in ladder:
            reply = process.fit(self.within_cap(entrant, setting), self.cap)
            entry.tries += 1
            if "failed" in reply:
                entry.note = first_line(reply["failed"])
                break
            excess = self.judge.excess(np.array(reply.pop("coef")), reply.pop("intercept"), entrant.offset)
            if entry.excess is None or excess < entry.excess:
                entry.excess, entry.setting, entry.seconds = excess, setting, reply.pop("seconds")
                entry.remarks = reply
                # ours has to know that it got there; a peer only has to be there
                entry.reached = max(excess, reply.get("gap", 0.0)) <= self.task.target
            if entry.reached or time.perf_counter() - began > self.cap:
                break
        entry.search_seconds = time.perf_counter() - began
        return entry

    def within_cap(self, entrant: Entrant, setting: dict[str, Any]) -> dict[str, Any]:
        """Return the setting; ours can be told when to stop, and then says how far it got."""
        return {**setting, "max_time": 0.8 * self.cap} if entrant.peer == "maxmargin" else setting

    def repeat(self, entries: list[Entry]) -> None:
        for number in range(self.rounds):
            for entry in entries:
                is_slow = (entry.seconds or 0.0) > SLOW
                if entry.reached and not (is_slow and number >= ROUNDS_OF_THE_SLOW):
                    reply = self.processes[entry.title].fit(entry.setting, 2 * self.cap)
                    entry.runs += [reply["seconds"]] if "seconds" in reply else []
        for entry in entries:
            entry.seconds = statistics.median(entry.runs) if entry.runs else entry.seconds


def first_line(message: str) -> str:
    """Return the beginning of a message, fit for a cell of a table."""
    return message.strip().split("\n")[0][:80].replace("|", "/")


def brief(entry: Entry) -> str:
    if entry.excess is None or entry.seconds is None:
        return entry.note
    word = "reached" if entry.reached else "not reached"
    return f"{word}, {entry.excess:.1e} off in {entry.seconds:.3f} s {entry.setting} {entry.note}"
