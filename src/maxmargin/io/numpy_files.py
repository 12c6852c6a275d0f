"""Data sets in NumPy's files: a table as ``.npy``; ``X`` and ``y``, or SciPy's sparse rows, as ``.npz``."""

from __future__ import annotations

import io
import math
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import IO, Any, BinaryIO, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from maxmargin.data import Data
from maxmargin.errors import FileFormatError, InvalidInput, InvalidParameter, Setting
from maxmargin.io.saved_columns import ABOUT, About, about_from, about_to, label_array, remembered
from maxmargin.io.settings import ReadSettings, not_for
from maxmargin.io.tables.columns import FoundColumns, RowRefusal, TextColumn, category_text
from maxmargin.io.tables.encode import as_numbers, encode_table
from maxmargin.io.tables.roles import Header, Roles, assign_roles
from maxmargin.rows.disk.arrays import has_only_letters

__all__ = [
    "Archive",
    "check_size",
    "damage_named",
    "read_npy",
    "read_npz",
    "read_shape",
    "usable",
    "write_npy",
    "write_npz",
]


SPARSE = ("data", "indices", "indptr", "shape")
NAMES_OF_X = ("X", "x", "features")
NAMES_OF_Y = ("y", "labels", "label", "target")
WEIGHT = "sample_weight"


def read_npy(content: bytes, source: str, settings: ReadSettings) -> Data:
    """Return the data set in an ``.npy`` file: a table, whose last column is the label by default."""
    array = checked_table(array_of(content, source), "the array", source)
    header = Header(source, array.shape[1])
    roles = assign_roles(header, settings)
    label = None if roles.label is None else array[:, roles.label].copy()
    weight = None if roles.weight is None else array[:, roles.weight].copy()
    return encode_table(roles, columns_of(array, roles, label, weight), settings, RowRefusal(header), "npy")


def read_npz(content: bytes, source: str, settings: ReadSettings) -> Data:
    """Return the data set in an ``.npz`` file: the arrays X and y, or a sparse matrix of SciPy's with y.

    ``sample_weight`` and ``feature_names`` are taken where they are there.
    """
    arrays = Archive(content, source)
    about = about_from(str(arrays[ABOUT]), source) if ABOUT in arrays else About()
    y = labels_in(arrays, settings, source)
    weight = weights_in(arrays, settings)
    names = names_in(arrays)
    if all(name in arrays for name in SPARSE):
        data = sparse_data(arrays, settings, source, y, weight, names)
    else:
        data = dense_data(arrays, settings, source, y, weight, names)
    return remembered(replace(data, label=about.label, weight=None), about)


# ---------------------------------------------------------------- what is in an archive


def labels_in(arrays: Archive, settings: ReadSettings, source: str) -> NDArray[Any] | None:
    """Return the labels; None where nobody needs them."""
    name = label_name_in(arrays, settings, source)
    if name is None:
        return None
    y = arrays[name]
    return y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y


def label_name_in(arrays: Archive, settings: ReadSettings, source: str) -> str | None:
    """Return which array has the labels; None where nobody needs them."""
    if isinstance(settings.label, int):
        raise InvalidParameter(
            f"{{setting}}: in {source} the label is an array",
            parameter="label",
            value=settings.label,
            remedy="give its name",
        )
    candidates = NAMES_OF_Y if settings.label is None else (settings.label,)
    found = [name for name in candidates if name in arrays]
    if found:
        return found[0]
    if settings.label is None and settings.encoding is not None:
        return None
    wanted = f'"{candidates[0]}"' + (" with the labels" if settings.label is None else "")
    raise FileFormatError(
        f"there is no array {wanted}; its arrays are {listed(arrays)}.",
        source,
        remedy="{label} names another one",
        label=Setting("label", ...),
    )


def weights_in(arrays: Archive, settings: ReadSettings) -> NDArray[Any] | None:
    """Return the weights; None where every row counts once."""
    name = weight_name_in(arrays, settings)
    return None if name is None else arrays[name]


def weight_name_in(arrays: Archive, settings: ReadSettings) -> str | None:
    """Return which array has the weights; None where every row counts once."""
    name = WEIGHT if settings.weight is None else str(settings.weight)
    if name in arrays:
        return name
    if settings.weight is not None:
        raise InvalidParameter(
            f"{{setting}}: the arrays are {listed(arrays)}", parameter="weight", value=settings.weight
        )
    return None


def names_in(arrays: Archive) -> tuple[str, ...]:
    """Return the names of the columns, if there are any."""
    if "feature_names" not in arrays:
        return ()
    names = as_text(arrays["feature_names"])
    return tuple(names.tolist()) if names.ndim == 1 and names.dtype.kind == "U" else ()


def listed(arrays: Archive) -> str:
    """Return the names of the arrays in quotes."""
    return ", ".join(f'"{name}"' for name in arrays.names[:12]) or "none at all"


# ---------------------------------------------------------------- rows


def check_is_table(shape: tuple[int, ...], dtype: np.dtype[Any], what: str, source: str) -> None:
    """Refuse an array that is no table of real numbers, and say what it is."""
    if len(shape) != 2 or dtype.kind not in "biuf" or shape[1] == 0:
        raise FileFormatError(
            f"{what} must be a table of numbers (two dimensions); it has shape {shape} and holds {dtype}",
            source,
        )


def checked_table(array: NDArray[Any], what: str, source: str) -> NDArray[Any]:
    """Return a table of real numbers, or an error that says what it is instead."""
    check_is_table(array.shape, array.dtype, what, source)
    is_usual = array.dtype.kind != "f" or array.dtype.itemsize in (4, 8)
    return array if is_usual else array.astype(np.float32 if array.dtype.itemsize == 2 else np.float64)


def dense_data(
    arrays: Archive,
    settings: ReadSettings,
    source: str,
    y: NDArray[Any] | None,
    weight: NDArray[Any] | None,
    names: tuple[str, ...],
) -> Data:
    """Return dense rows, through the same checks as those of any table."""
    name = name_of_x(arrays, source)
    X = checked_table(arrays[name], f'"{name}"', source)
    check_lengths(X.shape[0], shape_of(y), shape_of(weight), source)
    roles = roles_beside(X.shape[1], y is not None, weight is not None, names, settings, source)
    label = None if y is None else label_column(y)
    found = columns_of(X, roles, label, weight)
    return encode_table(roles, found, settings, RowRefusal(roles.header), "npz")


def name_of_x(arrays: Archive, source: str) -> str:
    """Return which array has the features."""
    named = [name for name in NAMES_OF_X if name in arrays]
    if not named:
        raise FileFormatError(f'there is no array "X"; its arrays are {listed(arrays)}', source)
    return named[0]


def roles_beside(
    n_columns: int,
    has_label: bool,
    has_weight: bool,
    names: tuple[str, ...],
    settings: ReadSettings,
    source: str,
) -> Roles:
    """Return what columns are for; labels and weights are columns of their own, behind those of X."""
    n_beside = has_label + has_weight
    if len(names) == n_columns:
        names = (*names, *(f"array {number + 1} beside X" for number in range(n_beside)))
    else:
        names = ()
    label = n_columns if has_label else None
    weight = n_columns + n_beside - 1 if has_weight else None
    header = Header(source, n_columns + n_beside, names)
    return assign_roles(header, replace(settings, label=label, weight=weight))


def shape_of(array: Any) -> tuple[int, ...] | None:
    """Return the shape of an array, None where there is none."""
    return None if array is None else array.shape


def check_lengths(
    n_rows: int, labels: tuple[int, ...] | None, weights: tuple[int, ...] | None, source: str
) -> None:
    """Refuse labels and weights of shapes that are not one for each row."""
    for shape, what in ((labels, "labels"), (weights, "weights")):
        if shape is not None and shape != (n_rows,):
            raise FileFormatError(f"X has {n_rows:,} rows and the {what} have shape {shape}", source)


def columns_of(
    array: NDArray[Any],
    roles: Roles,
    label: NDArray[Any] | TextColumn | None,
    weight: NDArray[Any] | None,
) -> FoundColumns:
    """Return the columns of a table of numbers, some of which may stand for categories."""
    number_places = tuple(feature.place for feature in roles.read if feature.kind != "categories")
    is_whole = number_places == tuple(range(array.shape[1]))
    return FoundColumns(
        n_rows=len(array),
        numbers=array if is_whole else array[:, list(number_places)],
        number_places=number_places,
        texts={
            feature.place: texts_of(array[:, feature.place])
            for feature in roles.read
            if feature.kind == "categories"
        },
        label=label,
        weight=weight,
    )


def texts_of(numbers: NDArray[Any]) -> TextColumn:
    """Return numbers as categories."""
    values, inverse = np.unique(numbers, return_inverse=True)
    codes = inverse.reshape(-1).astype(np.int32)
    codes[np.isnan(as_numbers(numbers))] = -1
    return TextColumn(codes, [category_text(value) for value in values.tolist()])


def label_column(y: NDArray[Any]) -> NDArray[Any] | TextColumn:
    """Return labels as they are, or as text."""
    if y.dtype.kind not in "SU":
        return y
    texts, codes = np.unique(as_text(y), return_inverse=True)
    return TextColumn(codes.reshape(-1).astype(np.int32), texts.tolist())


def as_text(array: NDArray[Any]) -> NDArray[Any]:
    """Return bytes as text."""
    return np.char.decode(array, "utf-8", "backslashreplace") if array.dtype.kind == "S" else array


def sparse_data(
    arrays: Archive,
    settings: ReadSettings,
    source: str,
    y: NDArray[Any] | None,
    weight: NDArray[Any] | None,
    names: tuple[str, ...],
) -> Data:
    """Return sparse rows, whose parts fit each other."""
    check_is_sparse(settings, source)
    X = sparse_rows(arrays, source)
    check_lengths(X.shape[0], shape_of(y), shape_of(weight), source)
    names = sparse_names(X.shape[1], names, settings, source)
    checked = labels_alone(X.shape[0], y, weight, settings, source)
    return replace(checked, X=X, feature_names=names or None, label=None)


def check_is_sparse(settings: ReadSettings, source: str) -> None:
    """Refuse settings that sparse rows do not have."""
    for setting in ("drop", "categories"):
        if getattr(settings, setting):
            raise not_for(setting, "tables", f"{source} holds sparse rows")
    if settings.missing != "refuse":
        raise not_for("missing", "tables", f"{source} holds sparse rows")


def sparse_names(
    n_columns: int, names: tuple[str, ...], settings: ReadSettings, source: str
) -> tuple[str, ...]:
    """Return the names of so many columns, none where there are none; refuse what was not expected."""
    wanted = settings.n_columns if settings.encoding is None else settings.encoding.n_features
    if wanted is not None and n_columns != wanted:
        raise FileFormatError(f"expected {wanted} columns beside the label, found {n_columns}", source)
    names = names if len(names) == n_columns else ()
    if settings.encoding is not None and names and names != settings.encoding.feature_names:
        raise FileFormatError("its columns have other names than the features of the encoding", source)
    return names


def labels_alone(
    n_rows: int,
    y: NDArray[Any] | None,
    weight: NDArray[Any] | None,
    settings: ReadSettings,
    source: str,
    *,
    first_row: int = 0,
    is_batch: bool = False,
) -> Data:
    """Return rows without columns: labels and weights are checked as those of any table are."""
    bare = Header(source, 2, ("y", WEIGHT))
    roles = Roles(bare, (), None if y is None else 0, None if weight is None else 1)
    label = None if y is None else label_column(y)
    found = FoundColumns(n_rows, np.empty((n_rows, 0)), (), {}, label, weight)
    any_width = replace(settings, n_columns=None)
    return encode_table(roles, found, any_width, RowRefusal(bare, first_row), "npz", is_batch=is_batch)


def kind_of_sparse(arrays: Archive, source: str) -> str:
    """Return how a sparse matrix is stored: by rows or by columns."""
    kind = str(as_text(arrays["format"]).item()) if "format" in arrays else "csr"
    if kind not in ("csr", "csc"):
        raise FileFormatError(f'a sparse matrix of kind "{kind}"; save it as CSR (matrix.tocsr())', source)
    return kind


def sparse_rows(arrays: Archive, source: str) -> Any:
    """Return the CSR array that SciPy's `save_npz` wrote."""
    from scipy.sparse import csc_array, csr_array

    kind = kind_of_sparse(arrays, source)
    values, indices, starts, shape = (arrays[name] for name in SPARSE)
    is_possible = shape.shape == (2,) and shape.dtype.kind in "iu" and values.dtype.kind in "biuf"
    if not is_possible or indices.dtype.kind not in "iu" or starts.dtype.kind not in "iu":
        raise FileFormatError("the parts of the sparse matrix are no matrix", source)
    n_rows, n_columns = (int(length) for length in shape)
    n_lines, width = (n_rows, n_columns) if kind == "csr" else (n_columns, n_rows)
    is_consistent = (
        min(n_rows, n_columns) > 0
        and starts.shape == (n_lines + 1,)
        and indices.ndim == values.ndim == 1
        and starts[0] == 0
        and int(starts[-1]) == len(indices) == len(values)
        and bool((starts[1:] >= starts[:-1]).all())
        and (len(indices) == 0 or (int(indices.min()) >= 0 and int(indices.max()) < width))
    )
    if not is_consistent:
        raise FileFormatError("the sparse matrix is damaged: its parts do not fit each other", source)
    if not np.isfinite(values).all():
        row = int(np.searchsorted(starts, int(np.argmin(np.isfinite(values))), side="right")) - 1
        where = f"{'row' if kind == 'csr' else 'column'} {row} (counted from 0)"
        raise FileFormatError(f"{where}: expected finite numbers, found NaN or infinity", source)
    made = (csr_array if kind == "csr" else csc_array)((values, indices, starts), shape=(n_rows, n_columns))
    return made.tocsr()


# ------------------------------------------------------------------------------------------------
# Arrays in NumPy's files, checked before anything is made of them. Nothing in a file is ever executed.

# Deflate makes 258 bytes of two bits at best: what claims to grow more is no real file.
LARGEST_GROWTH = 1032
USUAL_PACKING = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# What zipfile and NumPy raise; a way of packing that zipfile does not know is a RuntimeError too.
BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    KeyError,
    OSError,
    OverflowError,
    RecursionError,
    RuntimeError,
    SyntaxError,
    tokenize.TokenError,
    TypeError,
    ValueError,
)


def array_of(content: bytes, source: str) -> NDArray[Any]:
    """Return the array in an ``.npy`` file."""
    with damage_named("an .npy file", source):
        return read_array(io.BytesIO(content), len(content), source)


class Archive:
    """The arrays in an ``.npz`` file, each read when it is asked for."""

    def __init__(self, content: bytes | BinaryIO, source: str) -> None:
        self._source = source
        file = io.BytesIO(content) if isinstance(content, bytes) else content
        with damage_named("an .npz file", source):
            self._zip = zipfile.ZipFile(file)
            entries = self._zip.infolist()
        self._entries = {entry.filename.removesuffix(".npy"): entry for entry in entries}
        if len(self._entries) < len(entries):
            raise FileFormatError("two arrays in it have the same name", source)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the arrays."""
        return tuple(self._entries)

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def __getitem__(self, name: str) -> NDArray[Any]:
        file, size = self.open(name)
        with damage_named(f'"{name}" in an .npz file', self._source), file:
            return read_array(file, size, f'"{name}" of {self._source}')

    def open(self, name: str) -> tuple[IO[bytes], int]:
        """Return one of the arrays as an open file, and the file's size."""
        entry = self._entries[name]
        if entry.compress_type not in USUAL_PACKING:
            raise FileFormatError(f'"{name}" is packed in a way that NumPy does not use', self._source)
        if entry.file_size > LARGEST_GROWTH * (entry.compress_size + 1):
            raise FileFormatError(f'"{name}" claims a size that it cannot have', self._source)
        with damage_named(f'"{name}" in an .npz file', self._source):
            return self._zip.open(entry), entry.file_size


class Shape(NamedTuple):
    """What the header of an array says."""

    shape: tuple[int, ...]
    is_fortran: bool
    dtype: np.dtype[Any]

    @property
    def n_bytes(self) -> int:
        """The size of the array itself."""
        return math.prod(self.shape) * self.dtype.itemsize


def read_shape(file: Any, source: str) -> Shape:
    """Read the header of an array of numbers or text from an open file; what it declares must be one."""
    version = npy.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise FileFormatError(f".npy files of version {version[0]}.{version[1]} hold no plain table", source)
    read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, is_fortran, dtype = read_header(file)
    if dtype.hasobject:
        raise FileFormatError(
            "it holds Python objects, and to read those is to run a program; save numbers or text", source
        )
    if dtype.names is not None or dtype.kind not in "biufSU" or dtype.itemsize == 0:
        raise FileFormatError(f"expected numbers or text, found {dtype}", source)
    if any(length < 0 for length in shape):
        raise FileFormatError(f"a shape cannot be {shape}", source)
    return Shape(shape, is_fortran, dtype)


def check_size(wanted: int, there: int, source: str) -> None:
    """Refuse an array of another size than the file has room for."""
    if wanted != there:
        raise FileFormatError(
            f"an array of {wanted:,} bytes is promised and {there:,} are there: damaged or cut short", source
        )


def read_array(file: IO[bytes], size: int, source: str) -> NDArray[Any]:
    """Return the array in an open file of this many bytes; what it declares must be what is there."""
    found = read_shape(file, source)
    check_size(found.n_bytes, size - file.tell(), source)
    flat = np.empty(math.prod(found.shape), dtype=found.dtype)
    read_all(file, flat, source)
    return usable(flat, source).reshape(found.shape, order="F" if found.is_fortran else "C")


def usable(array: NDArray[Any], source: str) -> NDArray[Any]:
    """Return an array with numbers as this machine has them, and text that is text."""
    if array.dtype.kind == "U" and not has_only_letters(array):
        raise FileFormatError("its text contains invalid characters: damaged", source)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def read_all(file: IO[bytes], flat: NDArray[Any], source: str) -> None:
    """Fill the array from the file, to its end and not beyond."""
    if flat.nbytes:
        target = memoryview(flat.view(np.uint8).data)
        done = 0
        while done < len(target):
            piece = file.read(min(len(target) - done, 1 << 24))
            if not piece:
                raise FileFormatError("the file ends in the middle of an array", source)
            target[done : done + len(piece)] = piece
            done += len(piece)
    if file.read(1):  # and the checksum of a packed array is compared at its end
        raise FileFormatError("the array goes on behind its end", source)


@contextmanager
def damage_named(kind: str, source: str) -> Iterator[None]:
    """Turn what the readers of NumPy and of ZIP files raise into our error."""
    try:
        yield
    except FileFormatError:
        raise
    except BROKEN as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise FileFormatError(f"not {kind}, or damaged or cut short ({reason})", source) from None


# ------------------------------------------------------------------------------------------------
# A data set as one of NumPy's files.

# Sparse rows that are written as a table fill so many values at most, some 1 GB.
MOST_VALUES = 1 << 27


class OneWay:
    """A file that is written from its beginning to its end: a packed file, like a pipe, knows no way back."""

    def __init__(self, file: IO[bytes]) -> None:
        self.write, self.flush = file.write, file.flush
        self.read = file.read  # by which NumPy tells a file from a path


def write_npz(data: Data, file: IO[bytes]) -> None:
    """Write the arrays X and y; of sparse rows the parts that SciPy's `load_npz` reads, and y."""
    arrays: dict[str, Any] = {}
    if hasattr(data.X, "tocsr"):
        rows = data.X.tocsr()
        arrays |= {"format": np.array(b"csr"), "shape": np.array(rows.shape)}
        arrays |= {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr}
        arrays["_is_array"] = np.array(True)  # which SciPy takes for a sparse array, not a matrix
    else:
        arrays["X"] = np.asarray(data.X)
    arrays["y"] = label_array(data)
    if data.sample_weight is not None:
        arrays["sample_weight"] = data.sample_weight
    if data.feature_names is not None:
        names = np.array(data.feature_names, dtype=str)
        if names.tolist() != list(data.feature_names):  # NumPy drops zeros at the end of a text
            raise InvalidInput("a name that ends in a zero byte cannot be written")
        arrays["feature_names"] = names
    if data.label is not None or data.encoding is not None:
        arrays[ABOUT] = np.array(about_to(data))
    np.savez(OneWay(file), **arrays)


def write_npy(data: Data, file: IO[bytes]) -> None:
    """Write one table, its last column the labels."""
    if data.sample_weight is not None:
        raise InvalidInput("an .npy file has no place for sample weights; write an .npz file")
    y = label_array(data)
    if y.dtype.kind == "U":
        raise InvalidInput(f'an .npy file holds numbers, and "{y[0]}" is none; write an .npz file')
    if hasattr(data.X, "toarray") and data.n_rows * data.n_columns > MOST_VALUES:
        raise InvalidInput("these sparse rows would be too large as a table; write an .npz file")
    X = np.asarray(data.X.toarray() if hasattr(data.X, "toarray") else data.X)
    # The rows keep their type if the labels, which are often small whole numbers, fit into it.
    with np.errstate(over="ignore", invalid="ignore"):
        fits = np.array_equal(y.astype(X.dtype).astype(y.dtype), y)
    dtype = X.dtype if fits else np.result_type(X, y)
    table = np.empty((data.n_rows, data.n_columns + 1), dtype=dtype)
    table[:, :-1] = X
    table[:, -1] = y
    np.save(file, table, allow_pickle=False)
