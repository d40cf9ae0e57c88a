"""A comparison for people: the answer, tables, warnings and pictures."""
