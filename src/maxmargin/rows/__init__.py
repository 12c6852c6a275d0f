"""Where the rows are. Solvers ask for two kinds of pass over them, and never learn where that is."""
