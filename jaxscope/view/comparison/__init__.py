"""A comparison: the answer, tables, warnings and pictures."""
