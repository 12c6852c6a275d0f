"""The regularisation path: certified weights for every C of a range."""
