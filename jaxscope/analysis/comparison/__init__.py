"""Statistics of a benchmark."""
