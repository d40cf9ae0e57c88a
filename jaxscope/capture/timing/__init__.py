"""Timed calls, transfers and measured peaks."""
