"""Profiler sessions, and the time inside programs."""
