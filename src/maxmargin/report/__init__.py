"""The report: one page about a model for somebody who was not there.

The package shares its name with the function that users call, so it can be called itself:
``maxmargin.report(model, X, y)`` works whichever of the two was imported first. What it takes and writes
is told in `maxmargin.report.build`.

Examples
--------
>>> from tempfile import TemporaryDirectory
>>> import maxmargin
>>> X, y = [[0.0], [1.0], [3.0], [4.0]], ["low", "low", "high", "high"]
>>> with TemporaryDirectory() as folder:
...     maxmargin.report(maxmargin.train(X, y), X, y, path=f"{folder}/small.html").name
'small.html'
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maxmargin.report.build import report as report

__all__ = ["report"]


def __getattr__(name: str) -> Any:
    if name == "report":
        from maxmargin.report.build import report

        return report
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class _CallablePackage(ModuleType):
    def __call__(self, *arguments: Any, **settings: Any) -> Any:
        from maxmargin.report.build import report

        return report(*arguments, **settings)


sys.modules[__name__].__class__ = _CallablePackage
