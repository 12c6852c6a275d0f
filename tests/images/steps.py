"""Pictures of learning step by step."""

from images.picture import Picture

__all__ = ["STEPS"]

STEPS: dict[str, Picture] = {}
