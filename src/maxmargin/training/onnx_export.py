"""Models as ONNX files."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import InvalidInput
from maxmargin.inputs.onnx_graph import classifier_graph
from maxmargin.inputs.onnx_models import write_onnx
from maxmargin.training.files import linear_model, plain_labels
from maxmargin.training.model import LinearModel
from maxmargin.validation import check_choice

__all__ = ["export_onnx"]

DTYPES = ("float32", "float64")


def export_onnx(model: Any, path: str | os.PathLike[str], *, dtype: str = "float32") -> None:
    """Write a model as an ONNX file, which predicts anywhere without maxmargin or Python.

    The file takes ``X``, a dense array of shape (rows, d), and gives ``label``, one class a row; ``scores``,
    as `decision_function` returns them; and ``probabilities``, as `predict_proba` returns them, if the model
    has any. The certificate, the names of the columns and what else is known is in its metadata.

    Parameters
    ----------
    model : LinearModel or fitted estimator
        What ``train`` or ``load_model`` returned, or an estimator of this package.
    path : path-like
        Where to write; the usual ending is ``.onnx``.
    dtype : "float32" or "float64"
        The type of X and of every number in the file. float32 is what most runtimes are made for; a score
        then has about 7 digits of the terms it is the sum of, so that rows next to the boundary may
        fall on its other side. float64 gives the scores of this package to rounding.

    Raises
    ------
    InvalidInput
        For a model of fewer than two classes, or one with weights that float32 cannot hold.
    InvalidParameter
        Where the onnx package, ``pip install 'maxmargin[onnx]'``, is missing.
    UnreadableFile, MissingFile
        For a path that cannot be written.

    Notes
    -----
    An ONNX file does not check its input: NaN in X gives some label, where `predict` would refuse it.

    It takes features, not tables. For a model of a table with categories or replaced values, d counts a
    feature for each category, in the order of ``feature_names``, 1 where a row has it and 0 elsewhere; how
    the columns of the table became features is in the file's metadata as ``maxmargin.encoding``, in JSON.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np, onnxruntime
    >>> from maxmargin import export_onnx, train
    >>> model = train([[0.0], [1.0], [3.0], [4.0]], ["low", "low", "high", "high"])
    >>> with TemporaryDirectory() as folder:
    ...     export_onnx(model, Path(folder) / "a.onnx")
    ...     session = onnxruntime.InferenceSession(Path(folder) / "a.onnx")
    >>> session.run(["label"], {"X": np.array([[0.5], [3.5]], dtype=np.float32)})[0].tolist()
    ['low', 'high']
    """
    check_choice("dtype", dtype, DTYPES)
    linear = linear_model(model, "export_onnx")
    if len(linear.classes) < 2:
        raise InvalidInput("an ONNX file needs a model of two classes or more; this one knows fewer.")
    kind = np.dtype(dtype)
    _check_range(linear, kind)
    curves = linear.calibration or ("logistic" if linear.has_probabilities else None)
    graph = classifier_graph(linear.coef, linear.intercept, _classes(linear), kind, curves=curves)
    write_onnx(path, graph, _notes(linear), repr(linear).strip("<>"))


def _check_range(model: LinearModel, kind: np.dtype[Any]) -> None:
    """Refuse weights that would become infinite."""
    largest = max(np.abs(model.coef).max(initial=0.0), np.abs(model.intercept).max(initial=0.0))
    if largest > np.finfo(kind).max:
        raise InvalidInput(
            f"a weight of {largest:.3g} is beyond what float32 can hold; export with dtype='float64'."
        )


def _classes(model: LinearModel) -> NDArray[Any]:
    """Return the classes as one of the types that every runtime can look up."""
    classes = plain_labels(model.classes)
    if classes.dtype.kind == "u" and int(classes.max()) > np.iinfo(np.int64).max:
        raise InvalidInput(f"the class {classes.max()} is beyond the whole numbers of an ONNX file.")
    kinds: dict[str, Any] = {"i": np.int64, "u": np.int64, "f": np.float64}
    return classes.astype(kinds.get(classes.dtype.kind, classes.dtype))


def _notes(model: LinearModel) -> dict[str, str]:
    """Return what the file should tell besides its numbers."""
    notes = {
        "loss": model.loss,
        "C": "" if model.C is None else repr(float(model.C)),
        "certificate": "" if model.certificate is None else str(model.certificate),
        "calibration": "" if model.calibration is None else str(model.calibration),
        "feature_names": "" if model.feature_names is None else json.dumps(model.feature_names),
        "encoding": "" if model.encoding is None else json.dumps(model.encoding.to_fields()),
    }
    return {f"maxmargin.{name}": text for name, text in notes.items() if text}
