"""Linear classifiers whose distance from the optimum is certified.

Public names are loaded when they are first used, so that importing the package costs next to nothing.
Their types are in ``__init__.pyi``.
"""

import importlib

__version__ = "0.1.0"

# name: module that defines it
_PUBLIC = {
    "Armijo": "maxmargin.solvers.step_rules",
    "C_from": "maxmargin.core.objective",
    "CacheWarning": "maxmargin.errors",
    "Calibration": "maxmargin.model.calibration",
    "CalibrationWarning": "maxmargin.errors",
    "ChangedDefaultWarning": "maxmargin.errors",
    "Certificate": "maxmargin.core.certificate.record",
    "CoefficientsDisplay": "maxmargin.displays.coefficients",
    "ConstantStep": "maxmargin.solvers.step_rules",
    "ConvergenceDisplay": "maxmargin.displays.convergence",
    "ConvergenceWarning": "maxmargin.errors",
    "DegenerateModelWarning": "maxmargin.errors",
    "Data": "maxmargin.data",
    "DescentDisplay": "maxmargin.displays.descent",
    "DescentTrace": "maxmargin.learners.trace",
    "Encoding": "maxmargin.encoding",
    "ExponentialLossClassifier": "maxmargin.estimators.exact",
    "HardMarginSVM": "maxmargin.estimators.exact",
    "HingeSGD": "maxmargin.estimators.online_learners",
    "LambdaGridDisplay": "maxmargin.displays.lambda_grid",
    "LeastAbsoluteClassifier": "maxmargin.estimators.exact",
    "LeastSquaresClassifier": "maxmargin.estimators.exact",
    "LeaveOneOut": "maxmargin.selection.leave_one_out.record",
    "LeaveOneOutDisplay": "maxmargin.displays.leave_one_out",
    "LeaveOneOutWarning": "maxmargin.errors",
    "LinearClassifier": "maxmargin.estimators.convex",
    "LinearModel": "maxmargin.model.model",
    "LinearProgramSeparator": "maxmargin.estimators.exact",
    "LinearSVM": "maxmargin.estimators.convex",
    "LinearSVMCV": "maxmargin.estimators.cv",
    "LogisticRegression": "maxmargin.estimators.convex",
    "LogisticRegressionCV": "maxmargin.estimators.cv",
    "LogisticSGD": "maxmargin.estimators.online_learners",
    "LossDisplay": "maxmargin.displays.loss",
    "MarginBoundaryDisplay": "maxmargin.displays.margin_boundary",
    "MarginHistogramDisplay": "maxmargin.displays.margin_histogram",
    "MarginProjectionDisplay": "maxmargin.displays.margin_projection",
    "MissingClassWarning": "maxmargin.errors",
    "OneOverLambdaT": "maxmargin.solvers.step_rules",
    "OneOverSqrtT": "maxmargin.solvers.step_rules",
    "OneOverT": "maxmargin.solvers.step_rules",
    "Path": "maxmargin.selection.path.record",
    "Pegasos": "maxmargin.estimators.online_learners",
    "Perceptron": "maxmargin.estimators.online_learners",
    "RegularizationPathDisplay": "maxmargin.displays.regularization_path",
    "Reliability": "maxmargin.model.reliability",
    "ReliabilityDisplay": "maxmargin.displays.reliability",
    "Separability": "maxmargin.separation.record",
    "SeparatorsDisplay": "maxmargin.displays.separators",
    "SkippedLines": "maxmargin.errors",
    "Trace": "maxmargin.learners.trace",
    "TraceDisplay": "maxmargin.displays.trace",
    "ZeroOneClassifier": "maxmargin.estimators.exact",
    "certify": "maxmargin.model.certify",
    "compare": "maxmargin.model.compare",
    "empirical_risk": "maxmargin.losses.risk",
    "export_onnx": "maxmargin.interop.onnx",
    "fit_reference_margin": "maxmargin.fit.reference_margin",
    "gradient_descent": "maxmargin.learners.descent",
    "guarantees": "maxmargin.selection.guarantees.guarantees",
    "leave_one_out": "maxmargin.selection.leave_one_out.leave_one_out",
    "load_data": "maxmargin.io.load",
    "ParquetData": "maxmargin.io.tables.parquet",
    "RowStore": "maxmargin.rows.disk.store",
    "open_store": "maxmargin.rows.disk.store",
    "store_data": "maxmargin.io.store",
    "load_model": "maxmargin.model.files",
    "losses": "",
    "mistake_bound": "maxmargin.learners.theory.mistake_bound",
    "radon_partition": "maxmargin.learners.theory.shattering",
    "reference_margin": "maxmargin.losses.reference_margin",
    "regularization_path": "maxmargin.selection.path.path",
    "reliability": "maxmargin.model.reliability",
    "report": "maxmargin.reporting.build",
    "sample_complexity": "maxmargin.learners.theory.sample_complexity",
    "save_data": "maxmargin.io.save",
    "save_model": "maxmargin.model.files",
    "separability": "maxmargin.separation.separability",
    "shatters": "maxmargin.learners.theory.shattering",
    "suspects": "maxmargin.selection.suspects",
    "train": "maxmargin.fit.train",
    "vc_dimension": "maxmargin.learners.theory.shattering",
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
