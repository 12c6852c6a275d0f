"""The public names: which they are, that type checkers see them, and that importing the package is cheap."""

import ast
import inspect
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

import maxmargin

STUB = Path(__file__).parents[2] / "src" / "maxmargin" / "__init__.pyi"

PUBLIC = [
    "Armijo",
    "C_from",
    "CacheWarning",
    "Calibration",
    "CalibrationWarning",
    "Certificate",
    "ChangedDefaultWarning",
    "CoefficientsDisplay",
    "ConstantStep",
    "ConvergenceDisplay",
    "ConvergenceWarning",
    "Data",
    "DegenerateModelWarning",
    "DescentDisplay",
    "DescentTrace",
    "Encoding",
    "ExponentialLossClassifier",
    "HardMarginSVM",
    "HingeSGD",
    "LambdaGridDisplay",
    "LeastAbsoluteClassifier",
    "LeastSquaresClassifier",
    "LeaveOneOut",
    "LeaveOneOutDisplay",
    "LeaveOneOutWarning",
    "LinearClassifier",
    "LinearModel",
    "LinearProgramSeparator",
    "LinearSVM",
    "LinearSVMCV",
    "LogisticRegression",
    "LogisticRegressionCV",
    "LogisticSGD",
    "LossDisplay",
    "MarginBoundaryDisplay",
    "MarginHistogramDisplay",
    "MarginProjectionDisplay",
    "MissingClassWarning",
    "OneOverLambdaT",
    "OneOverSqrtT",
    "OneOverT",
    "ParquetData",
    "Path",
    "Pegasos",
    "Perceptron",
    "RegularizationPathDisplay",
    "Reliability",
    "ReliabilityDisplay",
    "RowStore",
    "Separability",
    "SeparatorsDisplay",
    "SkippedLines",
    "Trace",
    "TraceDisplay",
    "ZeroOneClassifier",
    "certify",
    "compare",
    "empirical_risk",
    "export_onnx",
    "fit_reference_margin",
    "gradient_descent",
    "guarantees",
    "leave_one_out",
    "load_data",
    "load_model",
    "losses",
    "mistake_bound",
    "open_store",
    "radon_partition",
    "reference_margin",
    "regularization_path",
    "reliability",
    "report",
    "sample_complexity",
    "save_data",
    "save_model",
    "separability",
    "shatters",
    "store_data",
    "suspects",
    "train",
    "vc_dimension",
]

HEAVY = ("numpy", "scipy", "sklearn", "matplotlib", "pyarrow", "pandas", "maxmargin._core")


def in_fresh_python(code: str) -> str:
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return result.stdout.strip()


def test_public_names_are_pinned():
    assert maxmargin.__all__ == PUBLIC


def test_public_names_are_found_and_documented():
    listed = dir(maxmargin)
    assert [name for name in PUBLIC if listed.count(name) != 1] == []
    assert [name for name in PUBLIC if len(inspect.getdoc(getattr(maxmargin, name))) <= 30] == []


def test_public_names_are_in_the_list_of_their_module():
    homes = {name: inspect.getmodule(getattr(maxmargin, name)) for name in PUBLIC if name != "losses"}
    assert [name for name, home in homes.items() if name not in home.__all__] == []


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'LinearSVC'"):
        maxmargin.LinearSVC  # noqa: B018 - looking it up is the test


def test_stub_has_the_same_names_from_the_same_modules():
    imports = [node for node in ast.parse(STUB.read_text()).body if isinstance(node, ast.ImportFrom)]
    seen = {alias.asname: node.module for node in imports for alias in node.names}
    assert seen == {name: module or "maxmargin" for name, module in maxmargin._PUBLIC.items()}


def test_import_is_lazy():
    code = f"import sys, maxmargin; print([name for name in {HEAVY} if name in sys.modules])"
    assert in_fresh_python(code) == "[]"


def test_import_costs_next_to_nothing():
    code = "import time; t = time.process_time(); import maxmargin; print(time.process_time() - t)"
    seconds = [float(in_fresh_python(code)) for _ in range(5)]
    assert statistics.median(seconds) < 0.1  # CPU time beyond Python's own; about 0.003 s is usual
