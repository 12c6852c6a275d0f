"""The few colours of a film: one set for all of its pictures, or areas would change colour between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.displays.style import TINT, faint, palette

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["in_few_colours"]

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
