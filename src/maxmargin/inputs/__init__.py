"""Data sets and models in files."""

from maxmargin.inputs.load import load_data
from maxmargin.inputs.models import read_model, write_model
from maxmargin.inputs.save import save_data

__all__ = ["load_data", "read_model", "save_data", "write_model"]
