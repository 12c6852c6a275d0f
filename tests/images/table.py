"""All pictures, by the name of their file in baseline/; the contracts run over them too.

A new display is a line in one of the three tables, then ``make images``, then a look at the picture.
"""

from images.curves import CURVES
from images.picture import Picture
from images.shapes import SHAPES
from images.steps import STEPS

__all__ = ["PICTURES"]

PICTURES: dict[str, Picture] = {**SHAPES, **CURVES, **STEPS}
