"""Profiler sessions, and the time inside a program."""
