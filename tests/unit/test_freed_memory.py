"""Memory that passes free on a Dask worker."""

import os
import platform
import subprocess
import sys

import pytest

COUNTING = """
import resource
import numpy as np
from maxmargin.rows.dask.worker import give_back_freed_memory, keep_freed_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(50):
        np.ones(1 << 17)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

faults()
told = [faults()]
for change in (keep_freed_memory, give_back_freed_memory):
    change()
    faults()
    told.append(faults())
print(*told)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the setting is glibc's")
@pytest.mark.parametrize("threshold", ["65536", None], ids=["as Dask sets it", "not set"])
def test_freed_memory_is_used_again_while_it_is_kept(threshold):
    kept = {name: value for name, value in os.environ.items() if name != "MALLOC_TRIM_THRESHOLD_"}
    environment = kept if threshold is None else {**kept, "MALLOC_TRIM_THRESHOLD_": threshold}
    done = subprocess.run(
        [sys.executable, "-c", COUNTING], env=environment, check=True, capture_output=True, text=True
    )
    before, during, after = map(int, done.stdout.split())
    if threshold is None:  # the system's own rule is left alone
        assert max(before, during, after) < 1000
    else:
        assert during < 0.1 * before
        assert after > 0.5 * before
