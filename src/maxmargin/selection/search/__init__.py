"""The search for C: by cross-validation or by leave-one-out."""
