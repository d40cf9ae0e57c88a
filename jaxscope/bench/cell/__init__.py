"""The plan of a benchmark cell: its sections, sizes, inputs, and the functions that are timed."""
