"""From a function to a compiled program and its description."""
