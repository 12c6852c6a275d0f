"""The steps of an online learner as an animation: a GIF, or a page with buttons."""

from __future__ import annotations

import base64
import html
import io
import json
import textwrap
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.displays.step_boundary import draw_boundary, near_name
from maxmargin.displays.style import MARKERS, TINT, faint, ink, palette, side_colours, tidy
from maxmargin.errors import InvalidParameter
from maxmargin.presentation.palette import css_variables
from maxmargin.rows.disk.atomic import replacing

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from PIL.Image import Image

    from maxmargin.displays.trace import TraceDisplay

__all__ = ["TraceAnimation"]


MOST_FRAMES = 60
HEIGHT = 4.9  # inches
TEXT = 0.13  # share of the height for the sentence above, and about as much for the legend below


class TraceAnimation:
    """Pictures of a trace, one per step, each with its step in words; made by `TraceDisplay.animate`.

    In a notebook it shows itself.

    Attributes
    ----------
    steps : list of int
        The step t of every picture.
    texts : list of str
        What each step did.

    Examples
    --------
    >>> from maxmargin import Perceptron, TraceDisplay
    >>> model = Perceptron(fit_intercept=False, trace=True).fit([[2.0, 1.0], [1.0, -1.0]], [1, -1])
    >>> film = TraceDisplay.from_estimator(model).animate()
    >>> film.steps
    [0, 1, 2, 4]
    >>> print(film.texts[1])
    t=1, example 0: y(θ·x) = 0 ≤ 0, a mistake; θ ← (0, 0) + (2, 1) = (2, 1)
    >>> film.to_html().startswith("<!doctype html>")
    True
    """

    def __init__(self, display: TraceDisplay, *, steps: Any = None, seconds_per_step: float = 0.6) -> None:
        if not seconds_per_step > 0:
            raise InvalidParameter.must_be("seconds_per_step", "a positive number", seconds_per_step)
        self.display = display
        self.seconds_per_step = float(seconds_per_step)
        trace = display.trace
        chosen = display.steps if steps is None else np.array([display._last(int(t)) for t in steps])
        if len(chosen) == 0:
            raise InvalidParameter("steps must name at least one step; got none")
        if steps is None and len(chosen) > MOST_FRAMES:
            chosen = chosen[np.unique(np.linspace(0, len(chosen) - 1, MOST_FRAMES).round().astype(int))]
        self.steps = [int(t) for t in chosen]
        self.texts = ["The start." if t < trace.first else trace.explain(t) for t in self.steps]

    def save(self, path: str | Path, *, dots_per_inch: int = 100) -> Path:
        """Write a ``.gif`` or ``.html`` file, completely or not at all; the same trace gives the same bytes.

        Parameters
        ----------
        path : str or Path
        dots_per_inch : int

        Returns
        -------
        Path
        """
        path = Path(path)
        if path.suffix.lower() == ".gif":
            content = self._gif(dots_per_inch)
        elif path.suffix.lower() in (".html", ".htm"):
            content = self.to_html(dots_per_inch=dots_per_inch).encode()
        else:
            raise InvalidParameter(f"an animation is saved as .gif or .html; got path={str(path)!r}")
        with replacing(path) as file:
            file.write(content)
        return path

    def to_html(self, *, dots_per_inch: int = 100) -> str:
        """Return a self-contained page with buttons and a slider."""
        pictures = [_as_png(image) for image in self._images(dots_per_inch, with_text=False)]
        template = files("maxmargin.displays").joinpath("assets/animation.html").read_text(encoding="utf-8")
        frames = [
            {"src": "data:image/png;base64," + base64.b64encode(picture).decode("ascii"), "text": text}
            for picture, text in zip(pictures, self.texts, strict=True)
        ]
        # "</script>" inside a string would end the script.
        data = json.dumps(frames, ensure_ascii=False).replace("<", "\\u003c")
        return Template(template).substitute(
            colours=css_variables(),
            title=html.escape(f"{self.display.trace.method.title}, step by step"),
            summary=html.escape(str(self.display.trace)),
            frames=data,
            last=len(frames) - 1,
            milliseconds=round(1000 * self.seconds_per_step),
            first=frames[0]["src"],
            text=html.escape(self.texts[0]),
        )

    def _repr_html_(self) -> str:
        page = html.escape(self.to_html(dots_per_inch=80))
        return (
            f'<iframe srcdoc="{page}" title="animation" sandbox="allow-scripts" '
            'style="width:100%;max-width:60rem;height:40rem;border:0"></iframe>'
        )

    # ------------------------------------------------------------ the pictures

    def _gif(self, dots_per_inch: int) -> bytes:
        images = self._images(dots_per_inch, with_text=True)
        pause = round(1000 * self.seconds_per_step)
        buffer = io.BytesIO()
        images[0].save(
            buffer,
            format="GIF",
            save_all=True,
            append_images=images[1:],
            duration=[pause] * (len(images) - 1) + [max(pause, 2000)],  # time to look at the end
            loop=0,
        )
        return buffer.getvalue()

    def _images(self, dots_per_inch: int, *, with_text: bool) -> list[Image]:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        from PIL import Image

        has_boundary = self.display.trace.replay.X.shape[1] == 2
        figure = Figure(figsize=(9.2 if has_boundary else 5.2, HEIGHT), dpi=dots_per_inch)
        canvas: Any = FigureCanvasAgg(figure)
        images = []
        for t, text in zip(self.steps, self.texts, strict=True):
            figure.clear()
            self._draw(figure, t, text if with_text else "", has_boundary)
            canvas.draw()
            images.append(Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB"))
        return in_few_colours(images)

    def _draw(self, figure: Figure, t: int, text: str, has_boundary: bool) -> None:
        """Draw one picture; everything keeps its place from one to the next."""
        top = 1 - TEXT if text else 0.97
        bottom, height = 0.25, top - 0.25
        width = 0.41 if has_boundary else 0.82
        panels = [figure.add_axes((0.08 + k * 0.5, bottom, width, height)) for k in range(1 + has_boundary)]
        if has_boundary:
            draw_boundary(panels[0], self.display.trace, t)
            tidy(panels[0])
        self.display.ax_ = panels[-1]
        self.display._draw_weights(t)
        tidy(panels[-1])
        if text:
            wrapped = textwrap.fill(text, 118 if has_boundary else 64)
            figure.text(0.08 if has_boundary else 0.04, 0.985, wrapped, va="top", fontsize=9, color=ink())
        _legend(figure, panels[-1], near_name(self.display.trace))


def _legend(figure: Figure, ax: Axes, near: str) -> None:
    """Write one legend for all pictures, so that nothing jumps."""
    from matplotlib.lines import Line2D

    def mark(name: str, marker: str, colour: Any, *, filled: bool = True) -> Line2D:
        face = colour if filled else "none"
        return Line2D([], [], linestyle="", marker=marker, color=colour, markerfacecolor=face, label=name)

    colours = side_colours()
    handles: list[Artist] = [
        mark("+ example; a step because of a mistake", MARKERS[1], colours[1]),
        mark("− example; a step because of a mistake", MARKERS[-1], colours[-1]),
        mark(f"hollow: {near}", "o", ink(), filled=False),
        mark("start", "s", ink()),
        mark("now", "*", ink()),
    ]
    handles += [
        handle
        for handle in ax.get_legend_handles_labels()[0]
        if "no training errors" in str(handle.get_label())
    ]
    figure.legend(
        handles=handles,
        loc="lower center",
        ncols=2 if figure.get_figwidth() < 7 else 3,
        frameon=False,
        fontsize=8.5,
    )


def _as_png(image: Image) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, format="PNG", optimize=True)
    return buffer.getvalue()


# ------------------------------------------------------------------------------------------------
# The few colours of a GIF: one palette for all frames, or areas would change colour between them.

Colours = NDArray[np.uint8]

SHADES = 12  # from an ink to a paper: what is left of the edges of lines and letters


def in_few_colours(pictures: list[Image]) -> list[Image]:
    """Return the pictures in the colours of the displays and their mixtures with the paper."""
    colours = _colours()
    return [_nearest(picture, colours) for picture in pictures]


def _nearest(picture: Image, colours: Colours) -> Image:
    """Replace each colour by the nearest one; Pillow's own search is content with one nearby."""
    from PIL import Image

    pixels = np.asarray(picture, dtype=np.int64)
    as_one = (pixels[..., 0] << 16) + (pixels[..., 1] << 8) + pixels[..., 2]
    packed, place = np.unique(as_one, return_inverse=True)
    seen = np.column_stack([packed >> 16, packed >> 8 & 255, packed & 255])
    apart = ((seen[:, None, :] - colours.astype(np.int64)[None, :, :]) ** 2).sum(axis=2)
    numbers = apart.argmin(axis=1).astype(np.uint8)[place].reshape(pixels.shape[:2])
    found = Image.frombytes("P", picture.size, numbers.tobytes())
    found.putpalette(colours.tobytes())
    return found


def _colours() -> Colours:
    """Return red, green and blue of each colour, from 0 to 255."""
    from matplotlib import rcParams
    from matplotlib.colors import to_rgb

    known = palette()
    look: Any = rcParams

    def rgb(colour: Any) -> NDArray[np.float64]:
        return np.array(to_rgb(colour), dtype=np.float64)

    sheet, around = rgb(look["axes.facecolor"]), rgb(look["figure.facecolor"])
    tinted = sheet + faint(TINT) * (rgb(known.proved) - sheet)
    names = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color")
    inks = [rgb(colour) for colour in (*(look[name] for name in names), known.positive, known.negative)]
    shares = np.linspace(0.0, 1.0, SHADES)[:, None]
    mixed = [paper + shares * (ink - paper) for paper in (sheet, around, tinted) for ink in inks]
    return np.unique(np.round(255 * np.concatenate(mixed)).astype(np.uint8), axis=0)
