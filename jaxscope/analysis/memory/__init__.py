"""XLA's memory plan, live arrays and donation."""
