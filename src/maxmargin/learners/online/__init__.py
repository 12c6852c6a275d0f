"""Online learners: one example at a time."""
