"""Files that pages carry within themselves: style sheets, scripts and uPlot, which draws the charts."""

from __future__ import annotations

from importlib.resources import files

from maxmargin.presentation.palette import css_variables

__all__ = ["asset", "charts_script", "page_style"]


def asset(name: str) -> str:
    """Return the text of a file in this folder, for instance ``"pages.css"`` or ``"uplot/LICENSE"``."""
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


def page_style(*names: str) -> str:
    """Return the style sheet of a page: colours, what all pages share, and the named files.

    Examples
    --------
    >>> "--ink" in page_style()
    True
    """
    return "\n".join([css_variables(), asset("pages.css"), *map(asset, names)])


def charts_script() -> str:
    """Return uPlot, with its licence on top.

    Examples
    --------
    >>> charts_script().splitlines()[1]
    'uPlot 1.6.32'
    """
    return f"/*\nuPlot 1.6.32\n\n{asset('uplot/LICENSE').strip()}\n*/\n{asset('uplot/uPlot.iife.min.js')}"
