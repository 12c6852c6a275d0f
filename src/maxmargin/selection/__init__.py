"""Choosing with proof: the path over C, leave-one-out, cross-validation, calibration, guarantees."""
