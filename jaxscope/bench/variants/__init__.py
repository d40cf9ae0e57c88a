"""A program changed in one way: built beside the original, compared with it, and timed."""
