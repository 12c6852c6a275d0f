"""A function in a process of its own, which says what it found line by line, and is ended after a time.

    python -m support.alone support.on_dask:passes '{"rows": ..., ...}'

The function takes the task and a function to say a line with; the first line says that it is ready: what came
before is start-up and loading, and has a limit of its own. What else it has started ends with it.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any

__all__ = ["run_alone"]


def run_alone(
    function: str, task: dict[str, Any], *, cap: float, start: float = 180.0, threads: int = 1
) -> tuple[list[dict[str, Any]], str | None]:
    """Return what the function said, and what went wrong, if anything did.

    Parameters
    ----------
    cap : float
        Seconds from the first line on.
    start : float
        Seconds up to the first line.
    threads : int
        Of libraries that are told by the environment.
    """
    limits = {f"{name}_NUM_THREADS": str(threads) for name in ("OPENBLAS", "OMP", "MKL")}
    process = subprocess.Popen(
        [sys.executable, "-m", "support.alone", function, json.dumps(task)],
        cwd=Path(__file__).parents[1],
        env={**os.environ, **limits},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,  # so that what it starts can be ended with it
    )
    said: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    threading.Thread(target=hear, args=(process.stdout, said), daemon=True).start()
    lines: list[dict[str, Any]] = []
    deadline = time.monotonic() + start
    try:
        while True:
            try:
                line = said.get(timeout=max(deadline - time.monotonic(), 0.0))
            except queue.Empty:
                return lines, f"ended after {cap:g} s" if lines else f"not ready within {start:g} s"
            if line is None:
                return lines, None if process.wait() == 0 else f"ended with code {process.returncode}"
            found = json.loads(line)
            if "failed" in found:
                return lines, found["failed"]
            if not lines:
                deadline = time.monotonic() + cap
            lines.append(found)
    finally:
        end(process)


def hear(stream: Any, said: queue.SimpleQueue[str | None]) -> None:
    for line in stream:
        if line.startswith("{"):
            said.put(line)
    said.put(None)


def end(process: subprocess.Popen[str]) -> None:
    """End the process and everything in its session."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def main() -> None:
    replies = os.fdopen(os.dup(1), "w")  # some packages print: what they say goes to stderr
    os.dup2(2, 1)

    def say(**line: Any) -> None:
        print(json.dumps(line), file=replies, flush=True)

    module, name = sys.argv[1].split(":")
    try:
        getattr(importlib.import_module(module), name)(json.loads(sys.argv[2]), say)
    except Exception as problem:  # whatever a package does
        traceback.print_exc()
        say(failed=f"{type(problem).__name__}: {str(problem).splitlines()[0] if str(problem) else ''}"[:200])


if __name__ == "__main__":
    main()
