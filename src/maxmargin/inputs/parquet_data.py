"""A Parquet data set, by name: what a fit on a cluster is told of it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, cast

from maxmargin.errors import InvalidParameter
from maxmargin.inputs.settings import ReadSettings
from maxmargin.results.encoding import Encoding

__all__ = ["ParquetData"]


@dataclass(frozen=True, eq=False)
class ParquetData:
    """A Parquet data set that the workers of a Dask cluster read themselves.

    Nothing is read here: the workers read their own row groups, keep them during the fit, and read them again
    when they are lost. Row groups are the blocks of the rows. Text columns become 0/1 columns, as in
    `load_data`; the data set is looked through once for their categories.

    Parameters
    ----------
    paths : path-like, or list of them
        Files or folders as the workers see them, or URLs such as ``s3://bucket/folder``. Of a folder all
        files are taken, in the order of their names, but those that begin with ``_`` or ``.``.
    label : str or int, optional
        The column with the labels, by name or number; without it a column called label, class, target or y.
    weight : str or int, optional
        The column with the weights of the rows.
    filesystem : fsspec or pyarrow file system, optional
        Where the paths are; by default the workers' own disks, or what the URL says.
    drop : list of str or int
        Columns to leave out.
    categories : list of str or int
        Columns of numbers that stand for categories.
    encoding : Encoding, optional
        How an earlier table was read; with it missing values are replaced by those of that table.
    unknown : "refuse" or "zeros"
        With an encoding: what becomes of categories that it does not know.
    block_rows : int, optional
        Join neighbouring row groups of a file up to so many rows: small ones cost more than they are worth.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np, pyarrow.parquet
    >>> from dask.distributed import Client
    >>> from maxmargin import LinearSVM, ParquetData
    >>> x = np.random.default_rng(0).normal(size=1000)
    >>> table = pyarrow.table({"length": x, "kind": np.where(x > 0.3, "long", "short")})
    >>> with TemporaryDirectory() as folder, Client(processes=False, dashboard_address=":0") as client:
    ...     pyarrow.parquet.write_table(table, folder + "/part-0.parquet", row_group_size=250)
    ...     model = LinearSVM().fit(ParquetData(folder, label="kind"), client=client)
    >>> model.classes_.tolist(), model.certificate_.relative_gap <= 1e-4
    (['long', 'short'], True)
    """

    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
    _: KW_ONLY
    label: str | int | None = None
    weight: str | int | None = None
    filesystem: Any = None
    drop: Sequence[str | int] = ()
    categories: Sequence[str | int] = ()
    encoding: Encoding | None = None
    unknown: str = "refuse"
    block_rows: int | None = None

    def __post_init__(self) -> None:
        given = [self.paths] if isinstance(self.paths, str | os.PathLike) else self.paths
        if not isinstance(given, Sequence) or not all(isinstance(p, str | os.PathLike) for p in given):
            raise InvalidParameter(f"paths must be a path, or a list of paths; got paths={self.paths!r}")
        if not given:
            raise InvalidParameter("paths is an empty list; name at least one file or folder")
        system = self.filesystem
        if system is not None and not any(hasattr(system, m) for m in ("open_input_file", "_strip_protocol")):
            raise InvalidParameter(
                f"filesystem must be one of fsspec or pyarrow.fs; got a {type(system).__name__}"
            )
        object.__setattr__(self, "paths", tuple(self._for_workers(os.fspath(path)) for path in given))
        self.settings()  # refuses what is wrong with the others
        rows = self.block_rows
        if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int) or rows < 1):
            raise InvalidParameter(f"block_rows must be a positive whole number; got block_rows={rows!r}")

    def _for_workers(self, path: str) -> str:
        # Workers have another current folder.
        is_local = self.filesystem is None and "://" not in path
        return os.path.abspath(path) if is_local else path

    def settings(self) -> ReadSettings:
        """Return what readers of tables are told.

        Examples
        --------
        >>> ParquetData("rows.parquet", label="kind").settings().label
        'kind'
        """
        return ReadSettings(
            format="parquet",
            label=self.label,
            weight=self.weight,
            drop=self.drop,
            categories=self.categories,
            encoding=self.encoding,
            unknown=self.unknown,
            n_jobs=1,
        )

    def __str__(self) -> str:
        first, *others = cast("tuple[str, ...]", self.paths)
        return f"{first} and {len(others)} more" if others else str(first)
