"""Reading LIBSVM text as a process sees it: Ctrl-C, memory, files that change or break under the reader."""

import gzip
import os
import signal
import subprocess
import sys
import threading

import pytest

import maxmargin.io.libsvm as libsvm_parts
from maxmargin import load_data
from maxmargin.errors import FileFormatError, UnreadableFile
from maxmargin.io.open import OpenSource

LINES = b"".join(
    b"%+d %s\n" % ((-1) ** k, b" ".join(b"%d:1" % j for j in range(k % 7 + 1, 120, 9))) for k in range(2000)
)

READ = "import sys; from maxmargin import load_data; load_data(sys.argv[1], n_jobs=int(sys.argv[2]))"


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_ends_the_reading_of_a_text_without_end(tmp_path, n_jobs):
    pipe = tmp_path / "endless.svm"
    os.mkfifo(pipe)
    command = [sys.executable, "-c", READ, str(pipe), str(n_jobs)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    writing = threading.Event()
    writer = threading.Thread(target=write_for_ever, args=[pipe, writing])
    writer.start()
    writing.wait(60)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    writer.join()
    assert errors.rstrip().endswith("KeyboardInterrupt")


def write_for_ever(pipe, writing):
    """Write until nobody reads any more; say when much has been read."""
    with pipe.open("wb", buffering=0) as file:
        try:
            for number in range(10**9):
                file.write(LINES)
                if number == 100:
                    writing.set()
        except BrokenPipeError:
            pass


MEASURE = """
import sys
from pathlib import Path
from maxmargin import load_data

def resident(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(name)).split()[1])

load_data(sys.argv[2], n_jobs=2)
Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
before = resident("VmRSS")
data = load_data(sys.argv[1], n_jobs=2)
result = sum(array.nbytes for array in (data.X.data, data.X.indices, data.X.indptr, data.y))
print((resident("VmHWM") - before) / result)
"""


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="needs Linux's /proc")
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_memory_is_little_more_than_the_result(tmp_path, suffix):
    (tmp_path / "few.svm").write_bytes(LINES)
    path = tmp_path / f"many.svm{suffix}"
    packed = gzip.compress(LINES, 1) if suffix else LINES
    with path.open("wb") as file:
        for _ in range(300):
            file.write(packed)
    command = [sys.executable, "-c", MEASURE, str(path), str(tmp_path / "few.svm")]
    ratio = float(subprocess.run(command, check=True, capture_output=True, timeout=120).stdout)
    assert 1 < ratio < 1.5


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(libsvm_parts, "SMALLEST_PIECE", 2**12)
    monkeypatch.setattr(libsvm_parts, "LARGEST_PIECE", 2**12)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("length", [0, 20_000])
def test_a_file_that_is_cut_while_it_is_read(tmp_path, monkeypatch, small_pieces, n_jobs, length):
    path = tmp_path / "rows.svm"
    path.write_bytes(LINES)
    n_reads = []

    def cut_then_read(source, buffer):
        n_reads.append(len(buffer))
        if len(n_reads) == 4:
            os.truncate(path, length)
        return readinto(source, buffer)

    readinto = OpenSource.readinto
    monkeypatch.setattr(OpenSource, "readinto", cut_then_read)
    with pytest.raises(UnreadableFile, match="rows.svm was changed while it was being read"):
        load_data(path, n_jobs=n_jobs)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_damage_is_told_rather_than_the_line_it_made(tmp_path, small_pieces, n_jobs):
    path = tmp_path / "rows.svm.gz"
    spoiled = LINES.replace(b" 1:1 ", b" 1:? ")
    path.write_bytes(gzip.compress(spoiled)[:-5])
    with pytest.raises(FileFormatError, match="the gzip file is damaged or cut short"):
        load_data(path, n_jobs=n_jobs)
    path.write_bytes(gzip.compress(spoiled))
    with pytest.raises(FileFormatError, match='line 1, column 4: expected index:value, found "1:\\?"'):
        load_data(path, n_jobs=n_jobs)
