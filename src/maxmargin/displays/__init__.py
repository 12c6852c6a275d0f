"""Pictures of models, in scikit-learn's convention: ``from_…``, ``plot``, ``ax_`` and ``figure_``."""
