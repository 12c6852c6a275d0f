"""Mistake bounds, shattering and sample complexity."""
