"""ONNX files: a classifier that other programs and machines run without maxmargin or Python."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin import __version__
from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.inputs.atomic_file import replacing
from maxmargin.inputs.onnx_graph import INPUT, LABEL, PROBABILITIES, SCORES, Graph

__all__ = ["write_onnx"]

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
