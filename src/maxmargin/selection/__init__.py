"""Choosing between models with proof: path, leave-one-out, folds, calibration, guarantees."""
