"""A problem, and the proof of how well a point solves it."""

from maxmargin.problem.certificate import examine
from maxmargin.problem.examination import Examination
from maxmargin.problem.problem import Offset, Problem

__all__ = ["Examination", "Offset", "Problem", "examine"]
