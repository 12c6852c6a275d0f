"""The HTML report about a model."""
