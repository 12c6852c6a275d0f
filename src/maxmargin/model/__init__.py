"""A fitted model without scikit-learn: what it minimises, its certificate, its evaluation and its files."""
