"""One section of the report a module."""
