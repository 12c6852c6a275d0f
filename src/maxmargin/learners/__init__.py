"""Methods that are more, or less, than a convex problem and a certified solver."""
