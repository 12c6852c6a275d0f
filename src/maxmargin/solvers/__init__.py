"""From a problem to a solution: one method a file, one loop for all."""
