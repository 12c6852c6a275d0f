"""The sections of a report, one a file: each turns evidence into words, charts and tables."""
