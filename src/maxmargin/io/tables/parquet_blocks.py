"""The blocks of a Parquet data set: found by the workers, and read by them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from maxmargin.data import Data
from maxmargin.deadline import Deadline
from maxmargin.errors import FileFormatError, InvalidInput, MaxMarginError
from maxmargin.io.settings import ReadSettings
from maxmargin.io.tables.parquet import (
    FileLook,
    ParquetData,
    ReadBlock,
    categories_of,
    columns_to_look_at,
    files_of,
    joined_values,
    look_at,
    refuse_too_many,
    settings_for_parts,
)
from maxmargin.io.tables.roles import no_labels
from maxmargin.rows.dask.blocks import DaskBlocks
from maxmargin.rows.dask.cluster import refuse_other_versions, run_anywhere
from maxmargin.rows.dask.timeouts import WorkerTimeouts

__all__ = ["parquet_blocks"]


TASKS_PER_THREAD = 4  # so that one large file does not keep the others waiting


def parquet_blocks(source: ParquetData, client: Any, deadline: Deadline | None = None) -> DaskBlocks:
    """Return the blocks of a data set: some row groups of a file each, in order.

    `Stopped` is raised if that is not done by the deadline.
    """
    deadline = deadline or Deadline()
    timeouts = WorkerTimeouts(client, deadline)
    token = deadline.token()
    workers = timeouts.workers(token)
    if not workers:
        raise MaxMarginError("the Dask client has no workers; start some, then fit")
    refuse_other_versions(timeouts, list(workers), token)
    system, settings = source.filesystem, source.settings()
    (files,) = run_anywhere(timeouts, files_of, [(source.paths, system)], token)
    portions = list(_portions(files, TASKS_PER_THREAD * sum(workers.values())))
    looked = run_anywhere(timeouts, look_at, [(p, system) for p in portions], token)
    looks = [look for part in looked for look in part]
    _refuse_other_columns(looks)
    schema = looks[0].schema
    texts = columns_to_look_at(schema, settings)
    found: dict[str, Any] = {}
    if texts:
        asked = [(p, system, texts, settings) for p in portions]
        for part in run_anywhere(timeouts, categories_of, asked, token):
            for name, values in part.items():
                found[name] = joined_values([found[name], values] if name in found else [values])
                refuse_too_many(name, found[name])
    example, known = settings_for_parts(schema, found, str(source), settings)
    if example.y is None:
        raise no_labels(str(source))
    # A label that was found by its name is named for every block.
    known = replace(known, label=example.label)
    columns = _columns_of(schema, known)
    parts = [
        ReadBlock(look.path, system, groups, first, rows, columns, known)
        for look in looks
        for groups, first, rows in _joined(look.group_rows, source.block_rows)
    ]
    if not parts:
        raise InvalidInput(f"{source} holds columns but no rows.")
    names = example.feature_names
    return DaskBlocks(
        parts,
        feature_names=None if names is None else list(names),
        label=example.label,
        weight=example.weight,
        encoding=example.encoding,
        size=_size(example, sum(part.n_rows for part in parts)),
    )


def _size(example: Data, n_rows: int) -> tuple[int, int]:
    """Return the rows and their bytes, by rows that have the same columns."""
    X = example.X
    if isinstance(X, np.ndarray):
        return n_rows, n_rows * X.shape[1] * X.itemsize
    return n_rows, n_rows * X.nnz * (X.data.itemsize + X.indices.itemsize) // X.shape[0]


def _portions(files: list[str], count: int) -> Iterator[list[str]]:
    size = -(-len(files) // count)
    for first in range(0, len(files), size):
        yield files[first : first + size]


def _refuse_other_columns(looks: list[FileLook]) -> None:
    first = looks[0]
    for look in looks[1:]:
        if look.schema.names != first.schema.names:
            unshared = sorted(set(look.schema.names) ^ set(first.schema.names))
            what = f"{', '.join(unshared)} only in one of them" if unshared else "they are in another order"
            raise FileFormatError(f"the columns are not those of {first.path}: {what}", look.path)
        for ours, theirs in zip(first.schema, look.schema, strict=True):
            if ours.type != theirs.type:
                raise FileFormatError(
                    f'the column "{ours.name}" is of type {theirs.type}, in {first.path} of type {ours.type}',
                    look.path,
                )


def _columns_of(schema: Any, settings: ReadSettings) -> tuple[str, ...] | None:
    """Return the columns to read; None for all of them."""
    roles = {settings.label, settings.weight} - {None}
    is_by_number = any(isinstance(role, int) for role in roles)  # which fewer columns would change
    if settings.encoding is None or is_by_number or len(set(schema.names)) < len(schema.names):
        return None
    wanted = roles | {column.name for column in settings.encoding.columns if column.kind != "dropped"}
    return tuple(name for name in schema.names if name in wanted)


def _joined(group_rows: Sequence[int], most: int | None) -> Iterator[tuple[tuple[int, ...], int, int]]:
    """Yield row groups with their first row and number of rows, neighbours together up to `most` rows."""
    groups: list[int] = []
    first = rows = 0
    for group, count in enumerate(group_rows):
        if groups and (most is None or rows + count > most):
            yield tuple(groups), first, rows
            groups, first, rows = [], first + rows, 0
        if count > 0:
            groups.append(group)
            rows += count
    if groups:
        yield tuple(groups), first, rows
