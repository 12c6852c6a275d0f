"""Reports to look at, and what is inside them."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import maxmargin as mm
from maxmargin.datasets import breast_cancer

__all__ = [
    "Tumours",
    "chart_data",
    "plain_text",
    "report_of",
    "tumour_report",
    "tumours",
    "two_classes",
]


class Tumours(NamedTuple):
    X: Any
    y: Any
    X_test: Any
    y_test: Any
    names: list[str]

    @property
    def train(self):
        return self.X, self.y

    @property
    def test(self):
        return self.X_test, self.y_test


def tumours() -> Tumours:
    """Every third one held out, in the units of the others."""
    data = breast_cancer()
    held = np.arange(len(data.y)) % 3 == 0
    X = (data.X - data.X[~held].mean(axis=0)) / data.X[~held].std(axis=0)
    return Tumours(X[~held], data.y[~held], X[held], data.y[held], list(data.feature_names))


def tumour_report(folder: Path, **settings: Any) -> Path:
    data = tumours()
    model = mm.LinearSVM(C=0.3, calibrate="sigmoid").fit(*data.train)
    return mm.report(
        model,
        *data.train,
        **{"test": data.test, "feature_names": data.names, "path": folder / "report.html", **settings},
    )


def two_classes(n: int = 200, d: int = 4, seed: int = 0) -> tuple[Any, Any]:
    """Rows of two classes, yes and no, that overlap."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X @ rng.normal(size=d) + 0.5 * rng.normal(size=n) > 0, "yes", "no")
    return X, y


def report_of(model: Any, X: Any, y: Any, folder: Path, **settings: Any) -> str:
    """Write a report and return what is in the file."""
    file = mm.report(model, X, y, path=folder / "report.html", **{"max_time": 20, **settings})
    return file.read_text(encoding="utf-8")


def chart_data(page: str, name: str) -> Any:
    """Return what a chart's script gets."""
    found = re.search(rf'id="{name}-data">(.*?)</script>', page, re.DOTALL)
    return json.loads(found.group(1))


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.hidden = 0

    def handle_starttag(self, tag, attrs):
        self.hidden += tag in ("script", "style")

    def handle_endtag(self, tag):
        self.hidden -= tag in ("script", "style")

    def handle_data(self, data):
        if not self.hidden:
            self.words.append(data)


def plain_text(page: str) -> str:
    """Return what a reader sees, in one line with ordinary spaces."""
    parser = _Words()
    parser.feed(page)
    return " ".join(" ".join(parser.words).split())
