"""Models as ONNX files."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin import __version__
from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.model.calibration import Calibration, Curve, IsotonicCurve, SigmoidCurve
from maxmargin.model.files import linear_model, plain_labels
from maxmargin.model.model import LinearModel
from maxmargin.rows.disk.atomic import replacing
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
    own = "softmax" if linear.multi_class == "softmax" else "logistic"
    curves = linear.calibration or (own if linear.has_probabilities else None)
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
        "multi_class": model.multi_class if model.is_joint else "",
        "C": "" if model.C is None else repr(float(model.C)),
        "certificate": "" if model.certificate is None else str(model.certificate),
        "calibration": "" if model.calibration is None else str(model.calibration),
        "feature_names": "" if model.feature_names is None else json.dumps(model.feature_names),
        "encoding": "" if model.encoding is None else json.dumps(model.encoding.to_fields()),
    }
    return {f"maxmargin.{name}": text for name, text in notes.items() if text}


# ------------------------------------------------------------------------------------------------
# A linear classifier as a graph of ONNX's standard operators, all of which exist for float32 and float64.
#
# ::
#
#     X ─ MatMul, Add ─ scores ─┬─ GreaterOrEqual 0 or ArgMax ─ Gather from the classes ─ label
#                               └─ curve, Softmax ───────────── probabilities
#
# Formulas are those of ``LinearModel`` and ``Calibration``, written so that nothing overflows to NaN.

INPUT, LABEL, SCORES, PROBABILITIES = "X", "label", "scores", "probabilities"


@dataclass(frozen=True)
class Node:
    """One operator: what it takes, what its result is called, and its settings."""

    operator: str
    inputs: tuple[str, ...]
    output: str
    settings: dict[str, Any]


@dataclass
class Graph:
    """Operators in the order of their evaluation, and the arrays that they take besides the input.

    Attributes
    ----------
    dtype : float32 or float64
        The type of every number that is computed.
    n_scores : int
        Columns of scores: 1 for two classes.
    nodes : list of Node
    constants : dict of name to array
    outputs : list of str
        "label", "scores" and, where the model has them, "probabilities".
    """

    dtype: np.dtype[Any]
    n_scores: int = 1
    nodes: list[Node] = field(default_factory=list)
    constants: dict[str, NDArray[Any]] = field(default_factory=dict)
    outputs: list[str] = field(default_factory=list)

    def constant(self, value: Any, dtype: Any = None) -> str:
        """Return the name of a constant, rounded to the graph's type of number unless told otherwise."""
        name = f"constant_{len(self.constants)}"
        self.constants[name] = np.asarray(value, dtype=self.dtype if dtype is None else dtype)
        return name

    def add(self, operator: str, *inputs: str, output: str | None = None, **settings: Any) -> str:
        """Append an operator; return the name of its result."""
        name = f"{operator.lower()}_{len(self.nodes)}" if output is None else output
        self.nodes.append(Node(operator, inputs, name, settings))
        if output is not None:
            self.outputs.append(output)
        return name


def classifier_graph(
    coef: NDArray[np.float64],
    intercept: NDArray[np.float64],
    classes: NDArray[Any],
    dtype: np.dtype[Any],
    *,
    curves: Calibration | str | None,
) -> Graph:
    """Return the graph of a classifier of two classes or more.

    Parameters
    ----------
    coef, intercept, classes
        As `LinearModel` has them; classes are booleans, int64, float64 or text.
    dtype : float32 or float64
    curves : Calibration, "logistic", "softmax" or None
        Where probabilities come from.
    """
    graph = Graph(dtype, n_scores=coef.shape[0])
    product = graph.add("MatMul", INPUT, graph.constant(np.ascontiguousarray(coef.T)))
    columns = graph.add("Add", product, graph.constant(intercept))
    if graph.n_scores == 1:
        flat = graph.constant([-1], np.int64)
        scores = graph.add("Reshape", columns, flat, output=SCORES)
        is_positive = graph.add("GreaterOrEqual", scores, graph.constant(0.0))
        chosen = graph.add("Cast", is_positive, to=np.dtype(np.int64))
    else:
        scores = graph.add("Identity", columns, output=SCORES)
        chosen = graph.add("ArgMax", scores, axis=1, keepdims=0)  # the first of equal ones, as NumPy's
    graph.add("Gather", graph.constant(classes, classes.dtype), chosen, output=LABEL, axis=0)
    if curves is not None:
        add_probabilities(graph, columns, curves)
    order = (LABEL, SCORES, PROBABILITIES)
    graph.outputs.sort(key=order.index)
    return graph


# ---------------------------------------------------------------- probabilities


def add_probabilities(graph: Graph, columns: str, curves: Calibration | str) -> None:
    """Append what turns columns of scores into a probability for each class."""
    if isinstance(curves, str):
        if graph.n_scores == 1:
            sigmoid_pair(graph, columns)
        elif curves == "softmax":
            softmax_of_scaled(graph, columns, 1.0)
        else:
            graph.add("Softmax", log_sigmoid(graph, columns), output=PROBABILITIES, axis=1)
    elif curves.kind == "temperature" and graph.n_scores > 1:
        softmax_of_scaled(graph, columns, 1.0 / curves.temperature)
    elif curves.kind == "isotonic":
        isotonic(graph, columns, curves.curves)
    else:
        sigmoids(graph, columns, curves.curves)


def sigmoids(graph: Graph, columns: str, curves: tuple[Curve, ...]) -> None:
    """σ(slope · score + offset) of each column; with several, scaled to add up to 1."""
    slopes = [curve.slope for curve in curves if isinstance(curve, SigmoidCurve)]
    offsets = [curve.offset for curve in curves if isinstance(curve, SigmoidCurve)]
    scaled = graph.add("Mul", columns, graph.constant(slopes))
    moved = within_floats(graph, graph.add("Add", scaled, graph.constant(offsets)))
    if graph.n_scores == 1:
        sigmoid_pair(graph, moved)
    else:
        graph.add("Softmax", log_sigmoid(graph, moved), output=PROBABILITIES, axis=1)


def sigmoid_pair(graph: Graph, column: str) -> None:
    """σ(−z) and σ(z), not by the operator Sigmoid: a runtime's may round small ones to 0."""
    both = graph.add("Concat", graph.add("Neg", column), column, axis=1)
    graph.add("Exp", log_sigmoid(graph, both), output=PROBABILITIES)


def log_sigmoid(graph: Graph, columns: str) -> str:
    """Log σ(z) = min(z, 0) − log(1 + exp(−|z|)); its softmax is σ over the sum of σ, never 0/0."""
    below = graph.add("Min", columns, graph.constant(0.0))
    small = graph.add("Exp", graph.add("Neg", graph.add("Abs", columns)))
    rest = graph.add("Log", graph.add("Add", small, graph.constant(1.0)))
    return graph.add("Sub", below, rest)


def softmax_of_scaled(graph: Graph, columns: str, slope: float) -> None:
    """softmax(slope · score), the largest score first made 0: the product cannot overflow to inf − inf."""
    largest = graph.add("ReduceMax", columns, axes=[1], keepdims=1)
    below = graph.add("Mul", graph.add("Sub", columns, largest), graph.constant(slope))
    graph.add("Softmax", within_floats(graph, below), output=PROBABILITIES, axis=1)


def within_floats(graph: Graph, columns: str) -> str:
    """Keep numbers where sums and differences of them are finite."""
    largest = 1e300 if graph.dtype == np.float64 else 1e30
    return graph.add("Clip", columns, graph.constant(-largest), graph.constant(largest))


def isotonic(graph: Graph, columns: str, curves: tuple[Curve, ...]) -> None:
    """The curve of each column; with several, scaled to add up to 1."""
    found = []
    for k, curve in enumerate(curves):
        assert isinstance(curve, IsotonicCurve)
        column = columns
        if len(curves) > 1:
            column = graph.add("Gather", columns, graph.constant([k], np.int64), axis=1)
        found.append(interpolated(graph, column, curve))
    if len(found) == 1:
        other = graph.add("Sub", graph.constant(1.0), found[0])
        graph.add("Concat", other, found[0], output=PROBABILITIES, axis=1)
        return
    joined = graph.add("Concat", *found, axis=1)
    total = graph.add("ReduceSum", joined, graph.constant([1], np.int64), keepdims=1)
    graph.add("Div", joined, total, output=PROBABILITIES)


def interpolated(graph: Graph, column: str, curve: IsotonicCurve) -> str:
    """np.interp: the piece is found by bisection, written out as one comparison for each halving.

    Memory stays at a few numbers a row, however many knots there are.
    """
    scores = curve.scores.astype(graph.dtype)
    is_last = np.append(scores[1:] > scores[:-1], True)  # rounding may have joined neighbours
    scores, values = scores[is_last], curve.probabilities[is_last].astype(graph.dtype)
    # Piece j lies between starts[j] and ends[j]; the first and the last are constant, whatever their ends.
    starts, ends = np.r_[0, scores[:-1], 0], np.r_[1, scores[1:], 1]
    low, high = np.r_[values[0], values], np.r_[values, values[-1]]
    n_halvings = len(scores).bit_length()
    beyond = np.full(2**n_halvings - 1 - len(scores), np.inf, dtype=graph.dtype)
    knots = graph.constant(np.r_[scores, beyond])
    piece = graph.constant(0, np.int64)
    for halving in reversed(range(n_halvings)):
        # `piece` knots are known not to lie above the score; are 2^halving more?
        further = graph.add("Add", piece, graph.constant(2**halving, np.int64))
        last = graph.add("Sub", further, graph.constant(1, np.int64))
        is_beyond = graph.add("GreaterOrEqual", column, graph.add("Gather", knots, last, axis=0))
        piece = graph.add("Where", is_beyond, further, piece)
    piece = graph.add("Min", piece, graph.constant(len(scores), np.int64))  # an infinite score is beyond inf
    start, end, bottom, top = (
        graph.add("Gather", graph.constant(array), piece, axis=0) for array in (starts, ends, low, high)
    )
    share = graph.add("Div", graph.add("Sub", column, start), graph.add("Sub", end, start))
    inside = graph.add("Clip", share, graph.constant(0.0), graph.constant(1.0))
    return graph.add("Add", bottom, graph.add("Mul", inside, graph.add("Sub", top, bottom)))


# ------------------------------------------------------------------------------------------------
# ONNX files: a classifier that other programs and machines run without maxmargin or Python.

# Old enough for runtimes of the last years; operators have not changed for our purposes since.
OPERATORS = 17
CONTAINER = 8
LARGEST_BYTES = 2**31 - 2**20  # protobuf's limit for one message, with room for the rest


def write_onnx(path: str | os.PathLike[str], graph: Graph, notes: Mapping[str, str], about: str) -> None:
    """Write a graph as an ONNX file; it appears whole or not at all.

    Parameters
    ----------
    path : path-like
    graph : Graph
    notes : mapping of text to text
        Kept as the file's metadata.
    about : str
        A sentence for people who open the file.
    """
    onnx = imported()
    if sum(array.nbytes for array in graph.constants.values()) > LARGEST_BYTES:
        raise InvalidInput("the model is larger than the 2 GB that an ONNX file can hold.")
    number = onnx.helper.np_dtype_to_tensor_dtype(graph.dtype)
    label = onnx.helper.np_dtype_to_tensor_dtype(graph.constants[label_constant(graph)].dtype)
    n_columns = graph.constants[graph.nodes[0].inputs[1]].shape[0]
    shapes = {
        LABEL: (label, ["rows"]),
        SCORES: (number, ["rows"] if graph.n_scores == 1 else ["rows", graph.n_scores]),
        PROBABILITIES: (number, ["rows", max(2, graph.n_scores)]),
    }
    body = onnx.helper.make_graph(
        [made(onnx, node) for node in graph.nodes],
        "maxmargin",
        [onnx.helper.make_tensor_value_info(INPUT, number, ["rows", n_columns])],
        [onnx.helper.make_tensor_value_info(name, *shapes[name]) for name in graph.outputs],
        [onnx.numpy_helper.from_array(as_tensor(array), name) for name, array in graph.constants.items()],
    )
    model = onnx.helper.make_model(
        body,
        opset_imports=[onnx.helper.make_opsetid("", OPERATORS)],
        ir_version=CONTAINER,
        producer_name="maxmargin",
        producer_version=__version__,
        doc_string=about,
    )
    onnx.helper.set_model_props(model, dict(sorted(notes.items())))
    onnx.checker.check_model(model, full_check=True)
    with replacing(Path(path)) as file:
        file.write(model.SerializeToString(deterministic=True))


def imported() -> Any:
    """Return the onnx package, or say how to get it."""
    try:
        import onnx
    except ImportError:
        raise InvalidParameter("ONNX files need the onnx package: pip install 'maxmargin[onnx]'") from None
    return onnx


def label_constant(graph: Graph) -> str:
    """Return the name of the array of classes."""
    return next(node.inputs[0] for node in graph.nodes if node.output == LABEL)


def made(onnx: Any, node: Any) -> Any:
    """Return the operator as ONNX has it; types are numbers there."""
    settings = {
        name: onnx.helper.np_dtype_to_tensor_dtype(value) if isinstance(value, np.dtype) else value
        for name, value in node.settings.items()
    }
    return onnx.helper.make_node(node.operator, list(node.inputs), [node.output], node.output, **settings)


def as_tensor(array: Any) -> Any:
    """Return text as the objects that ONNX takes; numbers as they are."""
    return array.astype(object) if array.dtype.kind == "U" else array
