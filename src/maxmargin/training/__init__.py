"""Everything a fit is, without scikit-learn: labels, costs, one-vs-rest, the model and its proof."""
