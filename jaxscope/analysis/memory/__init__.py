"""XLA's memory plan, live arrays and possible donations."""
