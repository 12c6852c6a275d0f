"""Sources that are read piece by piece and unpacked meanwhile: nothing is lost, and damage is always told."""

import bz2
import gzip
import io
import lzma
import os
import threading
import tracemalloc

import pytest
from covering import every_value
from damage import memory_bounded
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin import load_data
from maxmargin.errors import FileFormatError, InvalidParameter
from maxmargin.io.open import HEAD_BYTES, OpenSource, open_source

PACKERS = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress}


class OnlyRead:
    """An open file that has nothing but read, and gives little at a time."""

    def __init__(self, content):
        self._file = io.BytesIO(content)

    def read(self, size=-1):
        return self._file.read(min(size, 1000) if size >= 0 else -1)


def pieces_of(source, size):
    buffer = bytearray(size)
    with memoryview(buffer) as view:
        while n := source.readinto(view):
            yield bytes(view[:n])


@every_value(
    n_bytes=[0, 1, 1000, HEAD_BYTES - 1, HEAD_BYTES, HEAD_BYTES + 1, 300_000],
    opened=[io.BytesIO, OnlyRead, lambda content: io.BufferedReader(io.BytesIO(content))],
    pack=[bytes, *PACKERS.values()],
)
def test_the_content_whatever_the_way(pack, opened, n_bytes):
    content = os.urandom(n_bytes // 2).hex().encode() + b"x" * (n_bytes % 2)
    source = OpenSource(opened(pack(content)), "text")
    assert source.head == content[:HEAD_BYTES]
    assert b"".join(pieces_of(source, 7777)) == content
    assert OpenSource(opened(pack(content)), "text").read_all() == content


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz"])
def test_files_are_unpacked_and_their_length_known_if_they_are_plain(tmp_path, suffix):
    content = b"some words\n" * 20_000
    pack = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}[suffix]
    path = tmp_path / f"words{suffix}"
    path.write_bytes(pack(content))
    for read in (lambda source: b"".join(pieces_of(source, 10_000)), OpenSource.read_all):
        with open_source(path) as source:
            assert source.n_bytes == (None if suffix else len(content))
            assert read(source) == content


def test_a_pipe_is_read_to_its_end(tmp_path):
    pipe = tmp_path / "words.gz"
    os.mkfifo(pipe)
    content = os.urandom(100_000).hex().encode()
    writer = threading.Thread(target=pipe.write_bytes, args=[gzip.compress(content)])
    writer.start()
    with open_source(pipe) as source:
        found = b"".join(pieces_of(source, 5000))
    writer.join()
    assert found == content


@pytest.mark.parametrize("name", PACKERS)
@settings(deadline=None, max_examples=20)
@given(data=st.data())
def test_a_packed_source_cut_short_is_damaged_and_stays_so(name, data):
    packed = PACKERS[name](b"1 1:1 2:2\n" * 9_000)
    packed = packed[: data.draw(st.integers(8, len(packed) - 1))]
    with pytest.raises(FileFormatError) as caught:
        list(pieces_of(OpenSource(io.BytesIO(packed), "rows.svm"), 10_000))
    assert caught.value.message.startswith(f"the {name} file is damaged or cut short")
    with pytest.raises(FileFormatError):
        OpenSource(io.BytesIO(packed), "rows.svm").read_all()


def test_once_damaged_always_damaged():
    content = os.urandom(200_000).hex().encode()
    source = OpenSource(io.BytesIO(gzip.compress(content)[:-50]), "rows.svm")
    with pytest.raises(FileFormatError):
        list(pieces_of(source, 10_000))
    for look in (lambda: source.readinto(memoryview(bytearray(9))), source.look_for_damage):
        with pytest.raises(FileFormatError, match="damaged or cut short"):
            look()


def test_damage_at_the_end_is_found_without_reading_on():
    content = os.urandom(200_000).hex().encode()
    spoiled = bytearray(gzip.compress(content))
    spoiled[-6] ^= 1  # of the checksum
    with pytest.raises(FileFormatError, match="CRC check failed"):
        OpenSource(io.BytesIO(bytes(spoiled)), "rows.svm").look_for_damage()
    OpenSource(io.BytesIO(gzip.compress(content)), "rows.svm").look_for_damage()
    OpenSource(io.BytesIO(content), "rows.svm").look_for_damage()


@pytest.mark.parametrize("name", PACKERS)
def test_a_small_file_that_unpacks_to_much_takes_little_memory(name):
    packed = PACKERS[name](bytes(30_000_000))
    assert len(packed) < 40_000
    tracemalloc.start()
    n_bytes = sum(map(len, pieces_of(OpenSource(io.BytesIO(packed), "zeros"), 10_000)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert n_bytes == 30_000_000
    assert peak < 12_000_000  # of which xz takes 8 MiB to remember what it has unpacked


def test_what_is_no_source_is_refused():
    with pytest.raises(InvalidParameter, match="an open file must be binary"):
        OpenSource(io.StringIO("1 1:1"), "rows.svm")
    with pytest.raises(InvalidParameter, match="the source must be a file, an open binary file or a table"):
        open_source(7).__enter__()


@pytest.mark.parametrize(("suffix", "pack"), [(".bz2", bz2.compress), (".xz", lzma.compress)])
def test_a_small_file_that_unpacks_to_a_large_one_takes_little_memory(tmp_path, monkeypatch, suffix, pack):
    monkeypatch.setattr("maxmargin.io.open.USUAL_ROOM", 2**20)
    monkeypatch.setattr("maxmargin.io.open.LARGEST_GROWTH", 100)
    monkeypatch.setattr("maxmargin.io.open.PIECE_BYTES", 2**16)
    path = tmp_path / f"a.csv{suffix}"
    path.write_bytes(25 * pack(b"1,2,3\n" * 200_000))  # packed one after the other, which both formats allow
    load_data(written(tmp_path / f"b.csv{suffix}", pack(b"1,2,3\n2,3,4\n" * 50_000)), label=2)
    tracemalloc.start()
    with pytest.raises(FileFormatError, match="decompresses to more than 100 times its size"):
        load_data(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12 * 2**20 + 100 * path.stat().st_size


def written(path, content):
    path.write_bytes(content)
    return path


# ---------------------------------------------------------------- several packed streams in one file

TWICE = b"1 1:1 2:2\n" * 9_000


@every_value(n_rows=[0, 1, 9_000, 100_000], name=PACKERS)
def test_streams_one_behind_the_other_are_all_read(name, n_rows):
    packed = PACKERS[name](TWICE) + PACKERS[name](b"") + PACKERS[name](b"2 1:1 2:2\n" * n_rows)
    expected = TWICE + b"2 1:1 2:2\n" * n_rows
    assert OpenSource(OnlyRead(packed), "rows.svm").read_all() == expected
    assert b"".join(pieces_of(OpenSource(io.BytesIO(packed), "rows.svm"), 7777)) == expected


@every_value(position=[0, 1, 2], name=PACKERS)
def test_a_damaged_second_stream_does_not_make_the_file_shorter(name, position):
    spoiled = bytearray(PACKERS[name](TWICE))
    spoiled[position] ^= 255
    assert_damaged(name, PACKERS[name](TWICE) + spoiled)


@every_value(behind=[b"x", b"\n", b"BZ", b"garbage" * 20_000, b"\0\0\0\0x"], name=PACKERS)
def test_what_is_behind_a_stream_and_none_is_damage(name, behind):
    assert_damaged(name, PACKERS[name](TWICE) + behind)


def test_another_packing_behind_a_stream_is_damage():
    assert_damaged("xz", lzma.compress(TWICE) + lzma.compress(TWICE, lzma.FORMAT_ALONE))
    assert_damaged("bzip2", bz2.compress(TWICE) + lzma.compress(TWICE))


@pytest.mark.parametrize("n_zeros", [4, 8, 65536, 200_000])
def test_xz_may_be_padded_with_zeros_in_fours(n_zeros):
    padded = lzma.compress(TWICE) + bytes(n_zeros)
    assert OpenSource(io.BytesIO(padded), "rows.svm").read_all() == TWICE
    assert OpenSource(OnlyRead(padded + lzma.compress(b"3\n")), "rows.svm").read_all() == TWICE + b"3\n"
    assert_damaged("xz", padded + b"\0")
    assert_damaged("xz", padded + b"\0\0" + lzma.compress(TWICE))


def assert_damaged(name, packed):
    """All ways to read it say so."""
    for read in (OpenSource.read_all, OpenSource.look_for_damage, lambda source: list(pieces_of(source, 99))):
        with pytest.raises(FileFormatError, match=f"the {name} file is damaged or cut short"):
            read(OpenSource(OnlyRead(bytes(packed)), "rows.svm"))


@pytest.mark.parametrize("pack", [bytes, *PACKERS.values()], ids=["plain", *PACKERS])
def test_a_size_that_is_stated_and_not_there_takes_no_memory(pack):
    source = OpenSource(io.BytesIO(pack(b"few")), "text")
    with memory_bounded(20_000_000):
        assert source.read(2**40) == b"few"
