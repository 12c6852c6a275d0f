"""Linear classifiers whose distance from the optimum is certified.

Public names are loaded when they are first used, so that importing the package costs next to nothing.
Their types are in ``__init__.pyi``.
"""

import importlib

__version__ = "0.1.0"

# name: module that defines it
_PUBLIC = {
    "Armijo": "maxmargin.solvers.step_rules",
    "C_from": "maxmargin.training.scales",
    "CacheWarning": "maxmargin.errors",
    "Calibration": "maxmargin.results.calibration",
    "CalibrationWarning": "maxmargin.errors",
    "Certificate": "maxmargin.results.certificate",
    "CoefficientsDisplay": "maxmargin.displays.coefficients",
    "ConstantStep": "maxmargin.solvers.step_rules",
    "ConvergenceDisplay": "maxmargin.displays.convergence",
    "ConvergenceWarning": "maxmargin.errors",
    "Data": "maxmargin.results.data",
    "DescentDisplay": "maxmargin.displays.descent",
    "DescentTrace": "maxmargin.results.descent",
    "Encoding": "maxmargin.results.encoding",
    "ExponentialLossClassifier": "maxmargin.estimators.exponential",
    "HardMarginSVM": "maxmargin.estimators.hard_margin",
    "HingeSGD": "maxmargin.estimators.hinge_sgd",
    "LambdaGridDisplay": "maxmargin.displays.lambda_grid",
    "LeastAbsoluteClassifier": "maxmargin.estimators.least_absolute",
    "LeastSquaresClassifier": "maxmargin.estimators.least_squares",
    "LeaveOneOut": "maxmargin.results.leave_one_out",
    "LeaveOneOutDisplay": "maxmargin.displays.leave_one_out",
    "LeaveOneOutWarning": "maxmargin.errors",
    "LinearClassifier": "maxmargin.estimators.linear_classifier",
    "LinearModel": "maxmargin.training.model",
    "LinearProgramSeparator": "maxmargin.estimators.linear_program",
    "LinearSVM": "maxmargin.estimators.linear_svm",
    "LinearSVMCV": "maxmargin.estimators.linear_svm_cv",
    "LogisticRegression": "maxmargin.estimators.logistic_regression",
    "LogisticRegressionCV": "maxmargin.estimators.logistic_regression_cv",
    "LogisticSGD": "maxmargin.estimators.logistic_sgd",
    "LossDisplay": "maxmargin.displays.loss",
    "MarginBoundaryDisplay": "maxmargin.displays.margin_boundary",
    "MarginHistogramDisplay": "maxmargin.displays.margin_histogram",
    "MarginProjectionDisplay": "maxmargin.displays.margin_projection",
    "MissingClassWarning": "maxmargin.errors",
    "OneOverLambdaT": "maxmargin.solvers.step_rules",
    "OneOverSqrtT": "maxmargin.solvers.step_rules",
    "OneOverT": "maxmargin.solvers.step_rules",
    "Path": "maxmargin.results.path",
    "Pegasos": "maxmargin.estimators.pegasos",
    "Perceptron": "maxmargin.estimators.perceptron",
    "RegularizationPathDisplay": "maxmargin.displays.regularization_path",
    "Reliability": "maxmargin.results.reliability",
    "ReliabilityDisplay": "maxmargin.displays.reliability",
    "Separability": "maxmargin.results.separability",
    "SeparatorsDisplay": "maxmargin.displays.separators",
    "SkippedLines": "maxmargin.errors",
    "Trace": "maxmargin.results.trace",
    "TraceDisplay": "maxmargin.displays.trace",
    "ZeroOneClassifier": "maxmargin.estimators.zero_one",
    "certify": "maxmargin.training.certify",
    "compare": "maxmargin.training.compare",
    "empirical_risk": "maxmargin.losses.risk",
    "export_onnx": "maxmargin.training.onnx_export",
    "fit_reference_margin": "maxmargin.training.reference_margin",
    "gradient_descent": "maxmargin.learners.gradient_descent",
    "guarantees": "maxmargin.training.guarantees",
    "leave_one_out": "maxmargin.training.leave_one_out",
    "load_data": "maxmargin.inputs.load",
    "ParquetData": "maxmargin.inputs.parquet_data",
    "RowStore": "maxmargin.inputs.row_store",
    "open_store": "maxmargin.inputs.row_store",
    "store_data": "maxmargin.inputs.store",
    "load_model": "maxmargin.training.files",
    "losses": "",
    "mistake_bound": "maxmargin.learners.mistake_bound",
    "radon_partition": "maxmargin.learners.shattering",
    "reference_margin": "maxmargin.losses.reference_margin",
    "regularization_path": "maxmargin.training.regularization_path",
    "reliability": "maxmargin.training.reliability",
    "report": "maxmargin.reporting.build",
    "sample_complexity": "maxmargin.learners.sample_complexity",
    "save_data": "maxmargin.inputs.save",
    "save_model": "maxmargin.training.files",
    "separability": "maxmargin.learners.separability",
    "shatters": "maxmargin.learners.shattering",
    "suspects": "maxmargin.training.suspects",
    "train": "maxmargin.training.train",
    "vc_dimension": "maxmargin.learners.shattering",
}

__all__ = sorted(_PUBLIC)


def __getattr__(name: str) -> object:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'maxmargin' has no attribute {name!r}")
    module = _PUBLIC[name]
    found = (
        getattr(importlib.import_module(module), name)
        if module
        else importlib.import_module(f"{__name__}.{name}")
    )
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
