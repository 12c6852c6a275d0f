"""A process that fits on command: it loads the rows once, then answers one line of JSON with another.

    python -m support.worker FOLDER '{"peer": ..., "form": ..., "loss": ..., "C": ..., "offset": ...}'

Every contestant has its own process, so that threads can be set before anything is imported, a fit that
takes too long can be ended, and a package that changes others (or crashes) changes nothing here.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from support.peers import PEERS, Peer

__all__ = ["load_rows", "save_rows"]


def save_rows(folder: Path, X: Any, y: np.ndarray) -> None:
    if sp.issparse(X):
        sp.save_npz(folder / "rows.npz", X, compressed=False)
    else:
        np.save(folder / "rows.npy", X)
    np.save(folder / "labels.npy", y)


def load_rows(folder: Path, form: str) -> tuple[Any, np.ndarray]:
    """Return rows in the form "dense32", "dense64", "csr32" or "csr64" (the number is that of the values)."""
    number = np.float32 if form.endswith("32") else np.float64
    if (folder / "rows.npz").exists():
        X: Any = sp.csr_matrix(sp.load_npz(folder / "rows.npz"))
    else:
        X = np.load(folder / "rows.npy")
    if form.startswith("dense"):
        X = np.ascontiguousarray(X.toarray() if sp.issparse(X) else X, dtype=number)
    else:
        X = sp.csr_matrix(X, dtype=number)
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, np.load(folder / "labels.npy")


def answer(peer: Peer, setting: dict[str, Any]) -> dict[str, Any]:
    began, cpu = time.perf_counter(), time.process_time()
    model = peer.fit(**setting)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    w, b, remarks = peer.read(model)
    return {"seconds": seconds, "cpu": cpu, "coef": w.tolist(), "intercept": b, **remarks}


def main() -> None:
    replies = os.fdopen(os.dup(1), "w")  # some packages print: what they say goes to stderr
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    task = json.loads(sys.argv[2])
    try:
        X, y = load_rows(Path(sys.argv[1]), task["form"])
        peer = PEERS[task["peer"]](X, y, task["loss"], task["C"], task["offset"])
        reply: dict[str, Any] = {"ready": True}
    except Exception as problem:  # whatever a package does when it is imported
        reply = {"failed": f"{type(problem).__name__}: {problem}"}
    print(json.dumps(reply), file=replies, flush=True)
    if "failed" in reply:
        return
    for line in sys.stdin:
        try:
            reply = answer(peer, json.loads(line))
        except Exception as problem:
            reply = {"failed": f"{type(problem).__name__}: {problem}"}
        print(json.dumps(reply), file=replies, flush=True)


if __name__ == "__main__":
    main()
