"""Compare a picture with the one that somebody has looked at and kept.

The same if no small patch of it differs by more than a few grey levels on average. A line that is a pixel
aside passes; a mark, a line, a letter or a tinted area that is missing does not (test_images.py).
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.image import imread, imsave
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter

mpl.use("Agg")

KEPT = Path(__file__).parent / "baseline"
DIFFERING = Path(__file__).parents[2] / "build" / "images"

# Another minor release may set letters or ticks elsewhere, so the test tools ask for this one.
DRAWN_WITH = "3.11"

DOTS_PER_INCH = 80
LOOK = {"font.family": "DejaVu Sans", "savefig.dpi": DOTS_PER_INCH, "figure.dpi": DOTS_PER_INCH}

# Side of a patch in pixels: the grey levels (of 255) by which it may differ, on average over the patch. The
# small patch is about as large as a mark; the large one sees a pale tint.
TOLERANCE = {5: 20.0, 15: 7.0}

Pixels = NDArray[np.float64]


@contextlib.contextmanager
def one_look() -> Iterator[None]:
    """Draw with matplotlib's own defaults and the font that comes with it, whatever the user has set."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(LOOK)
        yield


def pixels(figure: Figure) -> Pixels:
    """Return red, green and blue of every pixel of the figure, from 0 to 255."""
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=DOTS_PER_INCH, format="raw")
    width, height = figure.canvas.get_width_height(physical=True)
    scale = DOTS_PER_INCH / figure.dpi
    shape = (round(height * scale), round(width * scale), 4)
    return np.frombuffer(drawn.getvalue(), dtype=np.uint8).reshape(shape)[:, :, :3].astype(np.float64)


def save(figure: Figure, path: Path) -> None:
    """Save the figure as a small PNG without any date or version in it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    small = {"optimize": True, "compress_level": 9}
    figure.savefig(path, dpi=DOTS_PER_INCH, metadata={"Software": None}, pil_kwargs=small)


def read(path: Path) -> Pixels:
    """Return red, green and blue of every pixel, from 0 to 255."""
    return np.asarray(imread(path)[:, :, :3], dtype=np.float64) * 255.0


def unlike(one: Pixels, other: Pixels) -> Pixels:
    """Return by how much each pixel differs from what is nearest to it, in colour, within a pixel's reach.

    Thin lines snap to whole pixels, so that the last digit of a number may put one beside its place.
    """
    height, width, _ = one.shape
    around = np.pad(other, ((1, 1), (1, 1), (0, 0)), mode="edge")
    shifted = (around[i : i + height, j : j + width] for i in range(3) for j in range(3))
    return np.minimum.reduce([np.abs(one - each).max(axis=2) for each in shifted])


def largest_differences(one: Pixels, other: Pixels) -> dict[int, float]:
    """Return, for patches of each size, how much the most different one differs."""
    difference = np.maximum(unlike(one, other), unlike(other, one))
    return {side: float(uniform_filter(difference, side, mode="constant").max()) for side in TOLERANCE}


def is_same(one: Pixels, other: Pixels) -> bool:
    """Whether the two have one size and no patch differs beyond what is tolerated."""
    if one.shape != other.shape:
        return False
    if np.abs(one - other).max() <= min(TOLERANCE.values()):  # then no patch differs by more
        return True
    found = largest_differences(one, other)
    return all(found[side] <= allowed for side, allowed in TOLERANCE.items())


def assert_same_picture(figure: Figure, name: str) -> None:
    """Compare with the kept picture of this name; with MAXMARGIN_NEW_IMAGES set, keep it instead."""
    kept = KEPT / f"{name}.png"
    if os.environ.get("MAXMARGIN_NEW_IMAGES"):
        keep(figure, kept)
        return
    assert kept.exists(), f"there is no {kept.name} in tests/images/baseline: make images, and look at it"
    drawn, expected = pixels(figure), read(kept)
    if is_same(drawn, expected):
        return
    save(figure, DIFFERING / f"{name}-drawn.png")
    imsave(DIFFERING / f"{name}-kept.png", expected / 255.0)
    if drawn.shape != expected.shape:
        raise AssertionError(
            f"{name} is {drawn.shape[1]} × {drawn.shape[0]} pixels, the kept picture {expected.shape[1]} × "
            f"{expected.shape[0]}; both are in build/images. If the new one is right: make images"
        )
    difference = 1.0 - np.abs(drawn - expected).max(axis=2) / 255.0
    imsave(DIFFERING / f"{name}-difference.png", difference, cmap="gray")
    found = largest_differences(drawn, expected)
    raise AssertionError(
        f"{name} differs from its kept picture: patches of {tuple(found)} pixels by "
        f"{tuple(round(level) for level in found.values())} grey levels, at most "
        f"{tuple(TOLERANCE.values())} are allowed. See {name}-drawn, -kept and -difference.png in "
        "build/images; if the new one is right: make images"
    )


def keep(figure: Figure, kept: Path) -> None:
    """Replace the kept picture unless it is the same, so that only real changes show in the history."""
    if not (kept.exists() and is_same(pixels(figure), read(kept))):
        save(figure, kept)
