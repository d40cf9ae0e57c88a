"""The options of the magics."""
