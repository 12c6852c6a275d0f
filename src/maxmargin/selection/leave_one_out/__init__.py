"""Which rows are wrong when they are left out, exactly, without a fit for each."""
