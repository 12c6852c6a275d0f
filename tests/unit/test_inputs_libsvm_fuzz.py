"""Any bytes into the LIBSVM reader: numbers as scikit-learn reads them, nothing but rows or a clear error."""

import io
import json
import math
import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from maxmargin.errors import FileFormatError, SkippedLines
from maxmargin.io.load import load_data

pytestmark = pytest.mark.fuzz

# ---------------------------------------------------------------- the same numbers

spelled = st.from_regex(r"\A[-+]?([0-9]{1,25}(\.[0-9]{0,25})?|\.[0-9]{1,25})([eE][-+]?[0-9]{1,3})?\Z")
from_bits = st.integers(0, 2**64 - 1).map(lambda bits: float(np.uint64(bits).view(np.float64)))
written = st.one_of(
    from_bits.filter(math.isfinite).flatmap(
        lambda number: st.sampled_from([repr(number), f"{number:.16e}", f"{number:.3e}", f"{number:+.17G}"])
    ),
    st.floats(0, 2.3e-308).map(repr),  # numbers that are too small to have all their digits
    st.decimals(-1000, 1000, places=6).map(str),
    st.integers(0, 10**19).map(lambda digits: f"{digits / 10**6:.6f}"),
    st.tuples(st.integers(2**53 - 20, 2**53 + 20), st.integers(-25, 25)).map(
        lambda pair: f"{pair[0]}e{pair[1]}"
    ),
    spelled,
)
numbers = written.filter(lambda text: math.isfinite(float(text)))


@settings(deadline=None)
@given(drawn=st.lists(numbers, min_size=1, max_size=12))
def test_numbers_are_scikit_learns_bit_for_bit(drawn):
    pairs = " ".join(f"{column}:{number}" for column, number in enumerate(drawn, start=1))
    text = "".join(f"{label} {pairs}\n" for label in drawn).encode()
    data = load_data(io.BytesIO(text), format="libsvm", zero_based=False)
    X, y = load_svmlight_file(io.BytesIO(text), zero_based=False)
    np.testing.assert_array_equal(data.X.indptr, X.indptr)
    np.testing.assert_array_equal(data.X.indices, X.indices)
    np.testing.assert_array_equal(data.X.data.view(np.uint64), X.data.view(np.uint64))
    np.testing.assert_array_equal(data.y.view(np.uint64), y.view(np.uint64))


# ---------------------------------------------------------------- rows or an error, whatever the bytes

COMMON = ["1", "-1", "+1", "0", "1:1", "2:0.5", "0:1", "#", "\n", "\r\n", "\t"]
ODD = ["3:x", "5:", ":5", "qid:3", "nan", "1:inf", "1e400", "4:1e-400", "\ufeff", "é"]
LARGE = [f"{index}:1" for index in (2**31 - 1, 2**31, 10**18 - 1, 10**18, 2**63, 2**64 + 1)]
tokens = st.sampled_from([*COMMON, *ODD, *LARGE])
likely = st.lists(tokens, max_size=30).map(" ".join).map(str.encode)
mixed = st.lists(likely | st.binary(max_size=8), max_size=6).map(b"".join)


@settings(deadline=None)
@given(
    content=st.binary(max_size=200) | likely | mixed,
    zero_based=st.sampled_from([True, False, "auto"]),
    n_columns=st.none() | st.integers(1, 6),
    skip_bad_lines=st.booleans(),
)
def test_rows_or_an_error_with_its_place(content, zero_based, n_columns, skip_bad_lines):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SkippedLines)
            data = load_data(
                io.BytesIO(content),
                format="libsvm",
                zero_based=zero_based,
                n_columns=n_columns,
                skip_bad_lines=skip_bad_lines,
            )
    except FileFormatError as error:
        told = error.message
        is_placed = error.line is not None and error.column is not None
        is_packed = "damaged or cut short" in told
        assert is_placed or told.startswith(("the file has no rows", "no row has an index")) or is_packed
        return
    n_lines = content.count(b"\n") + 1
    assert data.n_rows <= n_lines
    assert n_columns is None or data.n_columns == n_columns
    assert data.X.indices.size == 0 or 0 <= data.X.indices.min() <= data.X.indices.max() < data.n_columns
    assert np.isfinite(data.X.data).all()
    assert np.isfinite(data.y).all()


# ---------------------------------------------------------------- a small file takes little memory

WITHIN = 256 * 2**20  # bytes beyond what the process has after its imports
PROGRAM = f"""
import io, json, resource, sys
import maxmargin, scipy.sparse
from maxmargin import load_data
from maxmargin.errors import FileFormatError
texts = json.load(sys.stdin)
load_data(io.BytesIO(b"1 1:1\\n" * 100_000), format="libsvm", n_jobs=2)
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + {WITHIN}
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
for text in texts:
    try:
        data = load_data(io.BytesIO(text.encode()), format="libsvm", n_jobs=2)
        print(data.X.shape, data.X.indices.dtype)
    except FileFormatError as error:
        print(error.message)
"""
SMALL_FILES = {
    f"1 {10**18 - 1}:1\n2 1:1\n": f"(2, {10**18 - 1}) int64",
    f"1 {10**18}:1\n": f'the index is too large, found "{10**18}:1"',
    f"1 {2**63}:1\n": f'the index is too large, found "{2**63}:1"',
    f"1 {2**64 + 1}:1\n": f'the index is too large, found "{2**64 + 1}:1"',
    "1 50000000000:1\n": "(1, 50000000000) int64",  # as a row of doubles 400 GB
    "1 1:1\n2 2147483647:1\n": "(2, 2147483647) int32",
    "1 " + "9" * 100_000 + ":1\n": 'the index is too large, found "' + "9" * 40 + '…"',
    "1 1:" + "9" * 100_000 + "\n": 'the value is too large for a double, found "1:' + "9" * 38 + '…"',
    "1 1:0." + "0" * 100_000 + "1\n": "(1, 1) int32",
}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc and RLIMIT_AS")
def test_a_small_file_takes_little_memory():
    command = [sys.executable, "-c", PROGRAM]
    texts = json.dumps(list(SMALL_FILES))
    run = subprocess.run(command, input=texts, capture_output=True, text=True, timeout=120)
    assert run.stderr == ""
    assert run.stdout.splitlines() == list(SMALL_FILES.values())
