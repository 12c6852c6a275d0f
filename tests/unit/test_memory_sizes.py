"""Amounts of memory, and whether a file fits."""

import gzip
import mmap
import os

import numpy as np
import pandas as pd
import pytest
from covering import each_row

import maxmargin.io.memory as estimate
from maxmargin.errors import InvalidParameter
from maxmargin.io.memory import (
    available_memory,
    held_memory,
    is_too_large,
    memory_text,
    memory_to_fit,
    parse_memory,
)
from maxmargin.io.settings import ReadSettings


@each_row(
    ("text", "expected"),
    [
        ("500MB", 500 * 10**6),
        ("500 mb", 500 * 10**6),
        ("1.5GiB", 3 * 2**29),
        ("64M", 64 * 10**6),
        ("64Mi", 64 * 2**20),
        (".5G", 5 * 10**8),
        ("2T", 2 * 10**12),
        ("900kB", 900_000),
        (12345, 12345),
    ],
)
def test_amounts_are_read(text, expected):
    assert parse_memory(text) == expected


@each_row("text", ["", "500", "MB", "-5MB", "1e9B", "5 apples", "0MB", 0, -3, True, None, 1.5, "5MBs"])
def test_what_is_no_amount_is_refused(text):
    with pytest.raises(InvalidParameter, match="memory must be"):
        parse_memory(text)


@each_row("n_bytes", [1, 999, 10**3, 1234567, 9_960_000, 5 * 10**8, 10**10, 3 * 10**13])
def test_what_is_said_can_be_read(n_bytes):
    said = memory_text(n_bytes)
    if not said.endswith("bytes"):
        assert parse_memory(said.replace(",", "")) == pytest.approx(n_bytes, rel=0.05)


def test_the_system_is_asked():
    before = held_memory()
    kept = mmap.mmap(-1, 40 << 20, mmap.MAP_PRIVATE)  # memory that the process did not have before
    kept.write(b"x" * len(kept))
    assert held_memory() - before > 0.9 * len(kept)
    assert 0 < available_memory() < os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def files(folder):
    random = np.random.default_rng(0)
    X = random.normal(size=(20_000, 20)).round(4)
    y = np.arange(20_000) % 2
    frame = pd.DataFrame(X, columns=[f"c{k}" for k in range(20)]).assign(y=y)
    frame.to_csv(folder / "a.csv", index=False)
    (folder / "a.csv.gz").write_bytes(gzip.compress((folder / "a.csv").read_bytes()))
    frame.to_parquet(folder / "a.parquet")
    frame.to_feather(folder / "a.feather", compression="uncompressed")
    np.save(folder / "a.npy", frame.to_numpy())
    np.savez(folder / "a.npz", X=X, y=y)
    lines = (" ".join(f"{k + 1}:{value}" for k, value in enumerate(row)) for row in X)
    (folder / "a.svm").write_text("\n".join(f"{label} {line}" for label, line in zip(y, lines, strict=True)))
    return sorted(path for path in folder.iterdir())


@pytest.mark.slow
def test_estimates_are_of_the_right_order(tmp_path, monkeypatch):
    """At least the numbers themselves, and no more than some copies of them and the text."""
    monkeypatch.setattr(estimate, "SMALL", 0)
    numbers = 20_000 * 21 * 8
    for path in files(tmp_path):
        needed = memory_to_fit(path, ReadSettings())
        assert numbers <= needed <= 6 * numbers + 100 * 20_000, path.name
        assert is_too_large(path, ReadSettings(), needed)
        assert not is_too_large(path, ReadSettings(), 2 * needed)


def test_small_and_unreadable_files_always_fit(tmp_path):
    (tmp_path / "a.csv").write_text("a,y\n1,0\n")
    assert memory_to_fit(tmp_path / "a.csv", ReadSettings()) == 0
    assert memory_to_fit(tmp_path / "missing.csv", ReadSettings()) == 0
    for name in ("a.parquet", "a.npz", "a.csv.gz", "unknown"):
        with (tmp_path / name).open("wb") as file:
            file.truncate(20 << 20)
        assert memory_to_fit(tmp_path / name, ReadSettings()) == 0


def test_a_table_takes_as_much_memory_whatever_its_separator(tmp_path):
    usual, other = tmp_path / "usual.csv", tmp_path / "other.txt"
    usual.write_text("1,2,3\n" * 2_000_000)
    other.write_text("1|2|3\n" * 2_000_000)
    assert memory_to_fit(other, ReadSettings(separator="|")) == memory_to_fit(usual, ReadSettings()) > 0
