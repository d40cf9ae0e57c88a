"""Inputs and results of a run: leaves, pytrees, NNX objects, mutation."""
