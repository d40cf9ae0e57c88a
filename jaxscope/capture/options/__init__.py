"""Options of a run, and refusals."""
