"""Reasons to doubt a measured row: its rounds, its results, its program."""
