"""From a problem to a solution: one method a module, one loop for all."""
