"""The sections of the report, one per module."""
