"""Residuals, checkpoints and Jacobians of a differentiated program."""
