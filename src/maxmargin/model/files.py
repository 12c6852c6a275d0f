"""Models in files: what predicts, what proves, how it was made; no code.

The container is that of ``io.models`` (JSON and plain arrays). The history of a fit (``histories``) and
warm starts are not stored: the first would make files of two equal fits differ, the second belong to the
rows.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin import __version__
from maxmargin.core.certificate.record import Certificate
from maxmargin.core.objective import MULTI_CLASS
from maxmargin.core.solution import Plan, Status
from maxmargin.data import Data
from maxmargin.encoding import Encoding
from maxmargin.errors import InvalidInput, InvalidParameter, ModelFileError
from maxmargin.io.liblinear import LiblinearModel, begins_as_liblinear_model, read_liblinear_model
from maxmargin.io.load import load_data
from maxmargin.io.models import read_model, write_model
from maxmargin.model.calibration import Calibration
from maxmargin.model.liblinear import from_liblinear
from maxmargin.model.model import LinearModel, Support
from maxmargin.model.reading import read_rows_for

__all__ = [
    "linear_model",
    "load_model",
    "model_from",
    "plain_labels",
    "readable_model",
    "rows_from",
    "save_model",
]


KIND = "linear"
OFFSETS = ("free", "penalized", "none")
PLAIN_KINDS = "biufU"

Header = Mapping[str, Any]
Arrays = Mapping[str, NDArray[Any]]


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model to a file; it appears whole or not at all.

    The format is documented: JSON and plain arrays, which need neither this package nor Python.

    Parameters
    ----------
    model : LinearModel or fitted estimator
        What ``train`` returned, or an estimator of this package.
    path : path-like
        Where to write; the usual ending is ``.model``.

    Raises
    ------
    InvalidInput
        For labels that are neither numbers nor text, and for a name that ends in ``.onnx``.
    UnreadableFile, MissingFile
        For a path that cannot be written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from maxmargin import load_model, save_model, train
    >>> model = train([[0.0], [1.0], [3.0], [4.0]], ["low", "low", "high", "high"])
    >>> with TemporaryDirectory() as folder:
    ...     save_model(model, Path(folder) / "a.model")
    ...     load_model(Path(folder) / "a.model").predict([[0.5], [3.5]]).tolist()
    ['low', 'high']
    """
    linear = linear_model(model, "save_model")
    if os.fspath(path).lower().endswith(".onnx"):
        raise InvalidInput(f"{path}: this would not be an ONNX file; export_onnx writes one")
    header: dict[str, Any] = {
        "kind": KIND,
        "written_by": f"maxmargin {__version__}",
        "loss": linear.loss,
        "C": linear.C,
        "offset": linear.offset,
        "intercept_scaling": linear.intercept_scaling,
        "tol": linear.tol,
        "intercept_intervals": [[float(low), float(high)] for low, high in linear.intercept_intervals],
        "certificates": [_certificate_fields(proof) for proof in linear.certificates],
        "statuses": [status.name.lower() for status in linear.statuses],
        "plans": [
            {"solver": plan.solver, "reason": plan.reason, "about": plan.about} for plan in linear.plans
        ],
        "n_iter": [int(count) for count in linear.n_iter],
        "feature_names": None if linear.feature_names is None else [str(n) for n in linear.feature_names],
        "scheme": linear.scheme,
        "label": linear.label,
    }
    arrays = {"coef": linear.coef, "intercept": linear.intercept, "classes": plain_labels(linear.classes)}
    if linear.support is not None:
        arrays["support_indices"] = linear.support.indices.astype(np.int64)
        arrays["support_dual_coef"] = linear.support.dual_coef
        arrays["support_n_free"] = linear.support.n_free.astype(np.int64)
    if linear.class_weight is not None:
        header["class_weight"] = _class_weight_fields(linear)
    if linear.is_weighted:
        header["sample_weight"] = {"column": linear.weight}
    version = 1
    # A version that cannot read these should refuse the file, not drop the probabilities, misread columns,
    # take one problem of all classes for one of each or another penalty for its own.
    if linear.calibration is not None:
        header["calibration"], version = linear.calibration.to_fields(), 2
    if linear.encoding is not None:
        header["encoding"], version = linear.encoding.to_fields(), 3
    if linear.is_joint:
        header["multi_class"], version = linear.multi_class, 4
    if linear.l1_ratio > 0:
        header["l1_ratio"], version = float(linear.l1_ratio), 5
    write_model(path, header, arrays, version=version)


def load_model(path: str | os.PathLike[str]) -> LinearModel:
    """Read a model from a file, without executing anything in it.

    Parameters
    ----------
    path : path-like
        A file that ``save_model`` or ``maxmargin train`` wrote; or one of LIBLINEAR's, which says how to
        predict but neither C nor how near the optimum it is.

    Returns
    -------
    LinearModel
        The same numbers, bit for bit; what is known of the fit and its rows besides, ``histories``,
        ``warm_starts``, ``agreement_counts`` and ``degenerate``, is not in the file.

    Raises
    ------
    ModelFileError
        For a file that is no model, is damaged, or was written by a newer maxmargin.
    MissingFile, UnreadableFile
        For a file that is not there or cannot be read.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from maxmargin import load_model, save_model, train
    >>> with TemporaryDirectory() as folder:
    ...     save_model(train([[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1], C=10), Path(folder) / "a.model")
    ...     load_model(Path(folder) / "a.model")
    <LinearModel: hinge, C = 10, 1 column, classes -1, 1;
    within rounding (1e-13 %) of the optimum (objective 0.5, bound 0.5), by duality>
    """
    if begins_as_liblinear_model(path):
        return from_liblinear(read_liblinear_model(path))
    header, arrays = read_model(path)
    if header.get("kind") != KIND:
        raise ModelFileError(f"holds a model of kind {header.get('kind')!r:.80}, not {KIND!r}", path)
    try:
        return _model(header, arrays)
    except KeyError as error:
        raise ModelFileError(f"the model file is damaged ({error} is missing)", path) from None
    except (TypeError, ValueError, OverflowError) as error:
        # However long the wrong value is.
        raise ModelFileError(f"the model file is damaged ({error!s:.200})", path) from None


# ---------------------------------------------------------------- writing


def linear_model(model: Any, asking: str) -> LinearModel:
    """Return the model itself, or that of a fitted estimator."""
    found = model.to_model() if hasattr(model, "to_model") else model
    if isinstance(found, LinearModel):
        return found
    raise InvalidInput(
        f"{asking} takes what train returned or a fitted estimator of maxmargin; got {type(model).__name__}"
    )


def _certificate_fields(proof: Certificate) -> dict[str, Any]:
    return {
        "kind": proof.kind,
        "objective": float(proof.objective),
        "bound": float(proof.bound),
        "rounding": float(proof.rounding),
        "residuals": {name: float(value) for name, value in proof.residuals.items()},
    }


def _class_weight_fields(model: LinearModel) -> Any:
    """Return "balanced", or a weight for each class in their order: JSON has no labels as keys."""
    if isinstance(model.class_weight, Mapping):
        return [float(model.class_weight.get(label, 1.0)) for label in model.classes.tolist()]
    return model.class_weight


def plain_labels(classes: NDArray[Any]) -> NDArray[Any]:
    """Return the classes as numbers or text; labels that came as Python objects are one of these."""
    if classes.dtype.kind in PLAIN_KINDS:
        return classes
    values = classes.tolist()
    kinds = {type(value) for value in values}
    plain = np.array(values) if len(kinds) == 1 and kinds <= {bool, int, float, str} else classes
    if plain.dtype.kind not in PLAIN_KINDS or plain.tolist() != values:
        raise InvalidInput(
            f"classes that are neither numbers nor text cannot be kept in a model file; got {values[0]!r}"
        )
    return plain


# ---------------------------------------------------------------- reading: ValueError says what is wrong


def _model(header: Header, arrays: Arrays) -> LinearModel:
    coef, intercept, classes = _floats(arrays, "coef", 2), _floats(arrays, "intercept", 1), arrays["classes"]
    n_outputs = coef.shape[0]
    if classes.ndim != 1 or n_outputs != (len(classes) if len(classes) > 2 else 1):
        raise ValueError(f"{len(classes)} classes with weights of shape {coef.shape}")
    if len(set(classes.tolist())) != len(classes):
        raise ValueError("two classes have the same label")
    if intercept.shape != (n_outputs,):
        raise ValueError(f"weights of shape {coef.shape} with an intercept of shape {intercept.shape}")
    offset = _typed(header, "offset", str)
    if offset not in OFFSETS:
        raise ValueError(f"offset {offset!r}")

    loss = _typed(header, "loss", str)
    multi_class = _multi_class(header, loss, n_outputs)
    n_problems = n_outputs if multi_class == "one_vs_rest" else 1

    def each(name: str, make: Callable[[Any], Any], count: int = n_problems) -> list[Any]:
        """Return one entry per problem; without certificates, as of a classifier that was given, or none."""
        entries = [make(entry) for entry in _typed(header, name, list)]
        if len(entries) != count and (entries or header["certificates"]):
            raise ValueError(f"{len(entries)} {name} for {count} problems")
        return entries

    return LinearModel(
        coef=coef,
        intercept=intercept,
        classes=classes,
        loss=loss,
        multi_class=multi_class,
        C=None if header["C"] is None else _above_zero(header, "C"),
        offset=offset,
        intercept_scaling=_above_zero(header, "intercept_scaling"),
        l1_ratio=_share(header.get("l1_ratio", 0.0)),
        tol=_above_zero(header, "tol"),
        class_weight=_class_weight(header, classes),
        is_weighted=_sample_weight(header) is not None,
        intercept_intervals=each("intercept_intervals", _interval, n_outputs),
        certificates=each("certificates", _certificate),
        statuses=each("statuses", _status),
        plans=each("plans", _plan),
        n_iter=each("n_iter", int),
        support=_support(arrays, n_outputs),
        calibration=_calibration(header, n_outputs),
        feature_names=_names(header, coef.shape[1]),
        scheme=_optional(header, "scheme", str),
        label=_optional(header, "label", str | int),
        weight=_optional(_sample_weight(header) or {}, "column", str | int),
        encoding=_encoding(header, coef.shape[1]),
    )


_PLAN_FIELDS = ("solver", "reason", "about")


def _floats(arrays: Arrays, name: str, n_dimensions: int) -> NDArray[np.float64]:
    array = arrays[name]
    if array.dtype != np.float64 or array.ndim != n_dimensions or not np.isfinite(array).all():
        raise ValueError(f"{name} must hold finite float64 numbers in {n_dimensions} dimensions")
    return array


def _typed(fields: Mapping[str, Any], name: str, kind: type) -> Any:
    if not isinstance(fields[name], kind):
        raise ValueError(f"{name} must be a {kind.__name__}; found {fields[name]!r}")
    return fields[name]


def _optional(fields: Mapping[str, Any], name: str, kind: Any) -> Any:
    value = fields.get(name)
    if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
        raise ValueError(f"{name} is {value!r}")
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"expected a number, found {value!r}")
    return float(value)


def _share(value: Any) -> float:
    share = _number(value)
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"l1_ratio is {share!r}")
    return share


def _above_zero(fields: Mapping[str, Any], name: str) -> float:
    value = _number(fields[name])
    if not value > 0:
        raise ValueError(f"{name} must be above 0; found {value!r}")
    return value


def _interval(entry: Any) -> tuple[float, float]:
    low, high = (_number(end) for end in entry)
    if not low <= high:
        raise ValueError(f"an interval from {low!r} to {high!r}")
    return low, high


def _certificate(entry: Any) -> Certificate:
    residuals = {str(name): _number(value) for name, value in _typed(entry, "residuals", dict).items()}
    objective, bound, rounding = (
        _number(entry["objective"]),
        _number(entry["bound"]),
        _number(entry.get("rounding", 0.0)),  # which old files do not have
    )
    return Certificate(_typed(entry, "kind", str), objective, bound, rounding, residuals)


def _plan(entry: Any) -> Plan:
    solver, reason, about = (str(entry[name]) for name in _PLAN_FIELDS)
    return Plan(solver, reason, about)


def _status(entry: Any) -> Status:
    name = str(entry).upper()
    if name not in Status.__members__:
        raise ValueError(f"status {entry!r}")
    return Status[name]


def _support(arrays: Arrays, n_outputs: int) -> Support | None:
    if "support_indices" not in arrays:
        return None
    indices, n_free = arrays["support_indices"], arrays["support_n_free"]
    dual_coef = _floats(arrays, "support_dual_coef", 2)
    if indices.dtype.kind != "i" or n_free.dtype.kind != "i" or n_free.shape != (n_outputs,):
        raise ValueError("the support vectors are not whole numbers, one count per problem")
    if indices.ndim != 1 or dual_coef.shape != (n_outputs, len(indices)):
        raise ValueError(f"{indices.size} support vectors with duals of shape {dual_coef.shape}")
    return Support(indices.astype(np.intp), dual_coef, n_free.astype(np.intp))


def _calibration(header: Header, n_outputs: int) -> Calibration | None:
    fields = _optional(header, "calibration", dict)
    return None if fields is None else Calibration.from_fields(fields, n_outputs)


def _multi_class(header: Header, loss: str, n_outputs: int) -> str:
    """Return the form of three or more classes; only one problem of all of them is named in a file."""
    value = _optional(header, "multi_class", str)
    if value is None:
        return "one_vs_rest"
    if value not in MULTI_CLASS.get(loss, ()) or value == "one_vs_rest" or n_outputs == 1:
        raise ValueError(f"multi_class {value!r} with {loss} loss and {max(n_outputs, 2)} classes")
    return str(value)


def _class_weight(header: Header, classes: NDArray[Any]) -> str | dict[Any, float] | None:
    value = _optional(header, "class_weight", str | list)
    if value is None or value == "balanced":
        return value  # type: ignore[no-any-return]
    weights = [_number(weight) for weight in value] if isinstance(value, list) else []
    if len(weights) != len(classes) or not all(0 <= weight < math.inf for weight in weights):
        raise ValueError(f"class_weight must be 'balanced' or a weight for each of {len(classes)} classes")
    return dict(zip(classes.tolist(), weights, strict=True))


def _sample_weight(header: Header) -> Header | None:
    """Return what is known of the rows' weights; None where each row counted once."""
    weights: Header | None = _optional(header, "sample_weight", dict)
    return weights


def _encoding(header: Header, n_columns: int) -> Encoding | None:
    fields = _optional(header, "encoding", dict)
    encoding = None if fields is None else Encoding.from_fields(fields)
    if encoding is not None and encoding.n_features != n_columns:
        raise ValueError(f"an encoding of {encoding.n_features} features for {n_columns} columns")
    return encoding


def _names(header: Header, n_columns: int) -> list[str] | None:
    names: list[str] | None = _optional(header, "feature_names", list)
    if names is not None and (len(names) != n_columns or not all(isinstance(name, str) for name in names)):
        raise ValueError(f"feature_names must name each of the {n_columns} columns")
    return names


# ------------------------------------------------------------------------------------------------
# A model as text, numbers and lists: what another program needs to make the same predictions.

_RULE = {
    1: "score = intercept + Σ weight · value; the class of the score where it is ≥ 0, else the other one",
    2: "score of each class = intercept + Σ weight · value; the class with the largest score",
}


def readable_model(model: LinearModel) -> dict[str, Any]:
    """Return what a model predicts by, and what is known of it.

    Examples
    --------
    >>> from maxmargin import train
    >>> found = readable_model(train([[0.0], [1.0], [3.0], [4.0]], ["low", "low", "top", "top"], C=10))
    >>> found["scores"], found["classes"]
    ([{'class': 'top', 'intercept': -2.0, 'weights': [1.0]}], ['low', 'top'])
    """
    # As files have them: 1, not 1.0.
    classes = [
        int(one) if isinstance(one, float) and one.is_integer() else one for one in model.classes.tolist()
    ]
    scored = classes[-1:] if model.coef.shape[0] == 1 else classes
    return {
        "rule": _RULE[1 if model.coef.shape[0] == 1 else 2],
        "classes": classes,
        "features": model.feature_names,
        "scores": [
            {"class": label, "intercept": float(intercept), "weights": weights.tolist()}
            for label, intercept, weights in zip(scored, model.intercept, model.coef, strict=True)
        ],
        "label": model.label,
        "scheme": model.scheme,
        "encoding": None if model.encoding is None else model.encoding.to_fields(),
        "loss": model.loss,
        "multi_class": model.multi_class if len(model.classes) > 2 else None,
        "C": model.C,
        "offset": model.offset,
        "certificate_in_words": None if model.certificate is None else str(model.certificate),
        "probabilities": None if model.calibration is None else model.calibration.to_fields(),
    }


# ------------------------------------------------------------------------------------------------
# A model and its rows by the names of their files, for functions that look at both.

FILE = (str, os.PathLike)


def model_from(given: Any) -> Any:
    """Return what a model file holds, ours or LIBLINEAR's; what is no file's name is returned as it is."""
    if not isinstance(given, FILE):
        return given
    return read_liblinear_model(given) if begins_as_liblinear_model(given) else load_model(given)


def rows_from(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """Return X, y and the rows' weights, where X may be a file or what `load_data` returned.

    A file is read as the model needs it: a LIBLINEAR model's columns count from 1, a table's are found by
    their names.
    """
    if not isinstance(X, (Data, *FILE)):
        if y is None:
            raise InvalidInput("y is missing; only files and what load_data returned bring their labels")
        return X, y, sample_weight
    if y is not None:
        raise InvalidParameter("the data have their own labels; leave y out")
    if isinstance(X, FILE):
        X = _read(model, Path(X))
    if X.sample_weight is not None and sample_weight is not None:
        raise InvalidParameter("the data have their own weights; leave sample_weight out")
    return X.X, X.y, X.sample_weight if sample_weight is None else sample_weight


def _read(model: Any, path: Path) -> Data:
    if isinstance(model, LiblinearModel):
        return load_data(path, n_columns=model.n_columns, zero_based=False)
    if not isinstance(model, LinearModel):
        return load_data(path)
    rows = read_rows_for(model, path, own_weights=True)
    if rows.y is None:
        raise InvalidInput(f"{path} has no labels: it has as many columns as the model, and no more")
    return Data(rows.X, rows.y, sample_weight=rows.sample_weight)
