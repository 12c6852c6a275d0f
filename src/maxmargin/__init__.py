"""Linear classifiers whose distance from the optimum is certified.

Public names are loaded when they are first used, so that importing the package costs next to nothing.
Their types are in ``__init__.pyi``.
"""

import importlib

__version__ = "0.1.0"

# name: module that defines it
_PUBLIC = {
    "C_from": "maxmargin.training.scales",
    "Certificate": "maxmargin.results.certificate",
    "ConvergenceWarning": "maxmargin.errors",
    "LinearModel": "maxmargin.training.model",
    "load_data": "maxmargin.inputs.load",
    "losses": "",
    "reference_margin": "maxmargin.losses.reference_margin",
    "empirical_risk": "maxmargin.losses.risk",
    "save_data": "maxmargin.inputs.save",
    "train": "maxmargin.training.train",
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
    return sorted([*globals(), *__all__])
