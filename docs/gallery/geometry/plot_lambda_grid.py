"""
The same data at a small and a large λ
======================================

λ is the weight of ½‖θ‖², which is small if the margin is wide. At a small λ a few examples near the
boundary decide; a large λ widens the margin until many are inside it. Examples on the margin or inside are
circled.
"""

import numpy as np

import maxmargin as mm

rng = np.random.default_rng(3)
y = np.repeat(["healthy", "ill"], 45)
X = rng.normal(size=(90, 2)) + np.outer(y == "ill", [2.2, 1.3])
mm.LambdaGridDisplay.from_estimator(mm.LinearSVM(), X, y, lams=(0.01, 0.1, 1.0))
