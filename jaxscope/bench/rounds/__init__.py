"""Paired rounds: timed calls, time limits and the state of the machine."""
