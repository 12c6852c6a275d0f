"""Damage to files, drawn by hypothesis: bytes anywhere, values in JSON, and what a reader may cost then."""

from __future__ import annotations

import copy
import io
import json
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

from hypothesis import strategies as st

# Numbers that sizes, counts and places in a file may become.
INTERESTING = [0, 1, 7, 0x7F, 0xFF, 0x7FFF, 0xFFFF]
INTERESTING += [2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1]


def overwritten(content: bytes, place: int, piece: bytes) -> bytes:
    return content[:place] + piece + content[place + len(piece) :]


def inserted(content: bytes, place: int, piece: bytes) -> bytes:
    return content[:place] + piece + content[place:]


def removed(content: bytes, place: int, piece: bytes) -> bytes:
    return content[:place] + content[place + 1 + len(piece) :]


def cut(content: bytes, place: int, piece: bytes) -> bytes:
    return content[:place]


def repeated(content: bytes, place: int, piece: bytes) -> bytes:
    return content[:place] + content[place : place + 200] * (1 + len(piece)) + content[place + 200 :]


def swapped(content: bytes, place: int, piece: bytes) -> bytes:
    first, second = content[place : place + 16], content[place + 16 : place + 32]
    return content[:place] + second + first + content[place + 32 :]


EDITS = [overwritten, overwritten, overwritten, inserted, removed, cut, repeated, swapped]

pieces = st.one_of(
    st.binary(min_size=1, max_size=8),
    st.builds(
        lambda number, size: struct.pack("<Q", number)[:size],
        st.sampled_from(INTERESTING),
        st.sampled_from([1, 2, 4, 8]),
    ),
    st.sampled_from([b"9" * 20, b"-1", b"1e999", b"nan", b"\0\0\0\0", b"\xff\xff", b"PK\x05\x06", b"\n" * 5]),
)

edits = st.lists(
    st.tuples(st.sampled_from(EDITS), st.floats(0, 1, exclude_max=True), pieces), min_size=1, max_size=4
)


def damaged(content: bytes, chosen: list[tuple[Callable[..., bytes], float, bytes]]) -> bytes:
    """Return the content after edits whose places are shares of its length."""
    for edit, share, piece in chosen:
        content = edit(content, int(share * len(content)), piece)
    return content


# ---------------------------------------------------------------- JSON

json_values = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, -1, 1, 3, 2**31, 2**63, -(2**63), 10**400, 0.5, -0.5, 1e308, 5e-324]),
    st.sampled_from(["", "x", "hinge", "balanced", "\0", "ü" * 100, "../../etc/passwd", "nan", "1"]),
    st.sampled_from([{"$float": "nan"}, {"$float": "inf"}, {"$float": 1}, {}, [], [[]], [None], {"": None}]),
    st.sampled_from([[0] * 1000, [[[[[[[[1]]]]]]]], ["a", "a"], {"kind": "linear"}]),
)

changes = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), json_values), min_size=1, max_size=3)


def places_in(value: Any, parents: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the way to every value inside."""
    found = []
    children = dict(enumerate(value)) if isinstance(value, list) else value
    for key, child in children.items() if isinstance(children, dict) else ():
        found += [(*parents, key), *places_in(child, (*parents, key))]
    return found


def changed(tree: Any, chosen: list[tuple[float, Any]]) -> Any:
    """Return the tree with other values in some places, which are shares of their number."""
    tree = copy.deepcopy(tree)
    for share, value in chosen:
        places = places_in(tree)
        if not places:
            break
        *way, last = places[int(share * len(places))]
        inner = tree
        for key in way:
            inner = inner[key]
        inner[last] = copy.deepcopy(value)
    return tree


# ---------------------------------------------------------------- archives whose checksums are right


def entries_of(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def archive_of(entries: dict[str, bytes], **settings: Any) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", **settings) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return file.getvalue()


def with_changed_json(content: bytes, name: str, chosen: list[tuple[float, Any]]) -> bytes:
    """Return an archive in which some values of a JSON entry are others."""
    entries = entries_of(content)
    entries[name] = json.dumps(changed(json.loads(entries[name]), chosen)).encode()
    return archive_of(entries)


# ---------------------------------------------------------------- what reading costs


@contextmanager
def memory_bounded(n_bytes: int):
    """Fail if the block asks for more memory than this at any time, used or not."""
    tracemalloc.start()
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= n_bytes, f"{peak:,} bytes of memory, {n_bytes:,} allowed"
