"""A profiler's trace as data: operations, their times, and shares of overlapping time."""
