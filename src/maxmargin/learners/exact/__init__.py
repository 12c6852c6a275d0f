"""Learners whose optimum is found and proved directly: hard margin, least squares, fewest errors, …"""
