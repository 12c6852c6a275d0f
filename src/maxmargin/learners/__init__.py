"""Learners that solve problems of their own: online, by exact arithmetic, and the theory of learning."""
