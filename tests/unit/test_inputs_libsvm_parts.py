"""LIBSVM text in pieces and on several threads: the same rows, the same errors; lines that are left out."""

import io
import pickle
import threading
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

import maxmargin.io.libsvm as libsvm_parts
import maxmargin.io.lines as whole_lines
from maxmargin import SkippedLines, load_data
from maxmargin.errors import FileFormatError
from maxmargin.io.lines import WholeLines


@pytest.fixture(params=[1, 2, 3, 8])
def n_jobs(request):
    return request.param


@pytest.fixture
def small_pieces(monkeypatch):
    """Pieces of so few bytes that even a short text has many of them."""
    monkeypatch.setattr(libsvm_parts, "SMALLEST_PIECE", 64)
    monkeypatch.setattr(libsvm_parts, "LARGEST_PIECE", 64)


def many_lines(n, seed=0):
    """Lines of all lengths, with comments, blank lines and both kinds of line breaks among them."""
    rng = np.random.default_rng(seed)
    for i in range(n):
        columns = np.flatnonzero(rng.random(40) < rng.random() ** 3) + 1
        pairs = " ".join(f"{j}:{rng.normal():.{rng.integers(1, 18)}g}" for j in columns)
        yield f"{rng.integers(-2, 3)} {pairs}".encode() + (b"\r\n" if i % 3 else b"\n")
        if i % 7 == 0:
            yield b"# a comment: 9:9\n\n"


def written(path, lines):
    path.write_bytes(b"".join(lines))
    return path


def test_the_same_rows_whatever_the_threads(tmp_path, small_pieces, n_jobs):
    path = written(tmp_path / "rows.svm", many_lines(400))
    data = load_data(path, n_jobs=n_jobs)
    X, y = load_svmlight_file(str(path))
    np.testing.assert_array_equal(data.X.indptr, X.indptr)
    np.testing.assert_array_equal(data.X.indices, X.indices)
    np.testing.assert_array_equal(data.X.data.view(np.uint64), X.data.view(np.uint64))
    np.testing.assert_array_equal(data.y, y)


def test_index_zero_in_the_last_line_moves_all_columns(tmp_path, small_pieces, n_jobs):
    lines = [*many_lines(100), b"1 0:1"]
    data = load_data(written(tmp_path / "rows.svm", lines), n_jobs=n_jobs)
    X, _ = load_svmlight_file(io.BytesIO(b"".join(lines)), zero_based=True)
    assert data.scheme == "libsvm-zero-based"
    np.testing.assert_array_equal(data.X.indices, X.indices)


def test_a_wide_index_in_the_middle_widens_all(tmp_path, small_pieces, n_jobs):
    lines = [*many_lines(50), b"1 4000000000:1\n", *many_lines(50, seed=1)]
    data = load_data(written(tmp_path / "rows.svm", lines), n_jobs=n_jobs)
    X, _ = load_svmlight_file(io.BytesIO(b"".join(lines).replace(b"4000000000:", b"100:")))
    assert (data.X.indices.dtype, data.X.indptr.dtype) == (np.int64, np.int64)
    np.testing.assert_array_equal(data.X.indices, np.where(X.indices == 99, 3_999_999_999, X.indices))
    np.testing.assert_array_equal(data.X.indptr, X.indptr)


@pytest.mark.parametrize("place", [0, 10, 200, 399])
def test_the_first_error_of_the_text_is_told(tmp_path, small_pieces, n_jobs, place):
    lines = [b"1 1:1 2:2\n"] * 400
    for k in range(place, 400, 3):
        lines[k] = b"1 1:1 2:x%d\n" % k
    with pytest.raises(FileFormatError) as caught:
        load_data(written(tmp_path / "rows.svm", lines), n_jobs=n_jobs)
    assert (caught.value.line, caught.value.column) == (place + 1, 7)
    assert caught.value.message == f'expected index:value, found "2:x{place}"'


def test_an_error_leaves_no_thread_behind(tmp_path, small_pieces):
    path = written(tmp_path / "rows.svm", [*many_lines(200), b"spam\n", *many_lines(200)])
    with pytest.raises(FileFormatError):
        load_data(path, n_jobs=4)
    assert not [thread for thread in threading.enumerate() if "maxmargin" in thread.name]


def test_a_line_longer_than_a_piece(tmp_path, small_pieces, n_jobs):
    pairs = " ".join(f"{j}:{j}" for j in range(1, 5000))
    data = load_data(written(tmp_path / "rows.svm", [f"1\n2 {pairs}\n3 1:1".encode()]), n_jobs=n_jobs)
    assert data.X.shape == (3, 4999)
    np.testing.assert_array_equal(data.X.data[:-1], np.arange(1, 5000))


def test_what_has_no_line_breaks_is_not_read_for_ever(tmp_path, small_pieces, n_jobs, monkeypatch):
    monkeypatch.setattr(whole_lines, "LONGEST_LINE", 1000)
    path = written(tmp_path / "rows.svm", [b"1 1:1\n", b"2 " + b" " * 5000])
    with pytest.raises(FileFormatError, match="a line is longer than 1 GiB, from byte 6 on"):
        load_data(path, n_jobs=n_jobs)
    path = written(tmp_path / "rows.svm", [b"x 1:1\n", b"2 " + b" " * 5000])
    with pytest.raises(FileFormatError, match="line 1, column 1: expected a number as label"):
        load_data(path, n_jobs=n_jobs)


def test_a_pair_cut_in_the_middle_is_an_error(tmp_path, n_jobs):
    whole = b"1 1:0.5 3:2\n-1 2:1 3:"
    for end in ("", "\n", "\r\n"):
        with pytest.raises(FileFormatError, match='line 2, column 8: expected index:value, found "3:"'):
            load_data(written(tmp_path / "rows.svm", [whole, end.encode()]), n_jobs=n_jobs)


# ---------------------------------------------------------------- whole lines


class Drip(io.RawIOBase):
    """A stream that gives a few bytes at a time, as a slow pipe does."""

    def __init__(self, content, most):
        self._content = io.BytesIO(content)
        self._most = most

    def readinto(self, buffer):
        return self._content.readinto(memoryview(buffer)[: self._most])


@settings(deadline=None)
@given(
    content=st.binary(max_size=60) | st.text("ab\n\r", max_size=60).map(str.encode),
    piece_bytes=st.integers(2, 40),
    most=st.integers(1, 9),
)
def test_pieces_are_whole_lines_and_nothing_is_lost(content, piece_bytes, most):
    lines = WholeLines(Drip(content, most), "text", piece_bytes)
    buffers, pieces = [bytearray(), bytearray()], []
    while (piece := lines.take(buffers[len(pieces) % 2])) is not None:
        pieces.append(bytes(piece))
        piece.release()
    assert all(piece.endswith(b"\n") for piece in pieces)
    expected = content.removeprefix(b"\xef\xbb\xbf")
    joined = b"".join(pieces)
    assert joined == (expected if expected.endswith(b"\n") or not content else expected + b"\n")
    assert lines.take(bytearray()) is None


# ---------------------------------------------------------------- lines that are left out


def read_with_warnings(path, **settings):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return load_data(path, skip_bad_lines=True, **settings), caught


def test_bad_lines_are_left_out_counted_and_told(tmp_path, small_pieces, n_jobs):
    lines = list(many_lines(300))
    bad = [b"x 1:1\n", b"1 2:1 1:1\n", b"1 1:nan\n", b"1 1:1 5\n", b"1,2 1:1\n", b"1 qid:3 1:1\n"]
    spoiled = []
    for k, line in enumerate(lines):
        spoiled += [line, bad[k // 20 % len(bad)]] if k % 20 == 19 else [line]
    n_bad = len(spoiled) - len(lines)
    first = 1 + sum(line.count(b"\n") for line in spoiled[: spoiled.index(bad[0])])
    data, caught = read_with_warnings(written(tmp_path / "rows.svm", spoiled), n_jobs=n_jobs)
    X, y = load_svmlight_file(io.BytesIO(b"".join(lines)))
    np.testing.assert_array_equal(data.X.toarray(), X.toarray())
    np.testing.assert_array_equal(data.y, y)
    assert [warning.category for warning in caught] == [SkippedLines]
    assert caught[0].message.n_lines == n_bad
    assert caught[0].filename == __file__
    assert str(caught[0].message) == (
        f"{tmp_path / 'rows.svm'}: {n_bad} lines were skipped; the first is line {first}, column 1: "
        'expected a number as label, found "x"'
    )


def test_what_a_bad_line_held_counts_for_nothing(tmp_path):
    path = written(tmp_path / "rows.svm", [b"1 1:1 2:2\n", b"1 0:1 9:1 x\n", b"1 99:1 1:1\n"])
    data, caught = read_with_warnings(path)
    assert data.X.shape == (1, 2)
    assert data.scheme == "libsvm"
    assert caught[0].message.n_lines == 2


def test_rows_that_are_too_wide_are_bad_lines(tmp_path):
    path = written(tmp_path / "rows.svm", [b"1 1:1 2:2\n", b"1 1:1 3:1\n", b"1 2:1\n"])
    data, caught = read_with_warnings(path, n_columns=2)
    assert data.X.shape == (2, 2)
    assert "line 2, column 7: index 3 is beyond the 2 columns expected" in str(caught[0].message)


def test_without_a_good_line_nothing_is_read(tmp_path):
    path = written(tmp_path / "rows.svm", [b"a\n", b"b\n"])
    with pytest.raises(FileFormatError) as caught:
        load_data(path, skip_bad_lines=True)
    assert str(caught.value) == (
        f"{path}: the file has no rows; 2 lines were skipped; the first is line 1, column 1: "
        'expected a number as label, found "a"'
    )


def test_no_warning_without_a_bad_line(tmp_path):
    assert read_with_warnings(written(tmp_path / "rows.svm", many_lines(10)))[1] == []


def test_the_warning_survives_pickling():
    copy = pickle.loads(pickle.dumps(SkippedLines("2 lines were skipped", 2)))
    assert (str(copy), copy.n_lines) == ("2 lines were skipped", 2)
