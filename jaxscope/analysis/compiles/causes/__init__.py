"""Causes of a compilation: its smallest additive difference to an earlier one, in words."""
